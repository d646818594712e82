# cython: language_level=3
from libc.stdint cimport int32_t, uint8_t, uint32_t

from structsvm.signals cimport check_signals
from structsvm.problems.sequence._sentences cimport Sentence, SequenceOracle

cdef extern from "structsvm/problems/sequence/_sequence.h" nogil:
    int STRUCTSVM_LANES
    ctypedef struct Cell "structsvm_cell":
        uint32_t label
        float value
    ctypedef struct Span "structsvm_span":
        uint32_t start
        int32_t count
    ctypedef struct Rows "structsvm_rows":
        const Span* spans
        const Cell* cells
        const float* wide
        Py_ssize_t stride
    void score_sentence(
        float* lattice, const Rows* weights, const int32_t* rows, const float* values,
        const long long* token_ptr, Py_ssize_t n_tokens, const uint8_t* skip)
    void viterbi_step(
        float* next, int32_t* back, const float* previous, const float* transitions, Py_ssize_t n_labels,
        Py_ssize_t stride)


cdef inline Py_ssize_t tokens_per_poll(Py_ssize_t n_labels, Py_ssize_t stride) noexcept nogil:
    """Tokens of a long sentence to decode between two checks for Ctrl-C: about 50 ms of work."""
    return max(1, 50_000_000 // (stride * (n_labels + 16)))


cdef inline int poll() except -1 nogil:
    with gil:
        check_signals()
    return 0


cdef inline int pause(Py_ssize_t t) except -1 nogil:
    """Check for Ctrl-C at every 65,536th token, in a loop that costs little per token."""
    return poll() if t & 0xFFFF == 0xFFFF else 0


cdef class ExactOracle(SequenceOracle):
    cdef float* lattice             # scores of all tokens, tokens x stride
    cdef float* masked              # the same, labels that the annotation rules out forbidden
    cdef float* best                # of paths that end in a label, tokens x stride
    cdef int32_t* back
    cdef float* transitions         # a float32 copy, with forbidden ones marked
    cdef int32_t* answer
    cdef int32_t* truth
    cdef Py_ssize_t room
    cdef const float[:, ::1] barred             # 0, or FORBIDDEN: (n_labels + 1) x stride
    cdef const float[::1] barred_end
    cdef double mean                # weight of the tokens of the sentence

    cdef int widen(self, Py_ssize_t n_tokens) except -1 nogil
    cdef double share(self, const Sentence* x, Py_ssize_t t) noexcept nogil
    cdef int complete(self, const Sentence* x) except -1 nogil
    cdef const float* entering(self, Py_ssize_t t) noexcept nogil
    cdef int viterbi(self, const float* lattice, Py_ssize_t n, int32_t* path) except -1 nogil
    cdef int emit(self, const Sentence* x) except -1 nogil
    cdef int first_look(self, const Sentence* x, bint augmented) except -1 nogil


cdef class GreedyOracle(SequenceOracle):
    cdef Py_ssize_t order
    cdef const float[:, ::1] barred             # 0, or FORBIDDEN: (n_labels + 1) x stride
    cdef int32_t* path                          # the labels that `first_look` predicted
    cdef Py_ssize_t room
    cdef const Sentence* looked                 # the last sentence, and the token of its last slot
    cdef Py_ssize_t looked_token

    cdef int first_look(self, const double* w, const Sentence* x, Py_ssize_t at) except -1 nogil

    cdef Py_ssize_t history(self, const Sentence* x, Py_ssize_t t, Py_ssize_t distance) noexcept nogil
