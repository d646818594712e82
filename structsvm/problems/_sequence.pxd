# cython: language_level=3
from libc.stdint cimport int32_t, uint32_t

from structsvm._oracle cimport Oracle

cdef extern from "_sequence.h" nogil:
    int STRUCTSVM_LANES
    void score_token_double(
        double* scores, const double* w, const int32_t* rows, const float* values, Py_ssize_t n,
        Py_ssize_t stride)
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
        const long long* token_ptr, Py_ssize_t n_tokens)
    void viterbi_step(
        float* next, int32_t* back, const float* previous, const float* transitions, Py_ssize_t n_labels,
        Py_ssize_t stride)

cdef enum:
    UNKNOWN = -1            # as a gold label: any label will do
    FIRST_SET = -2          # and -2 - k: any label of set k


cdef struct Sentence:
    Py_ssize_t n_tokens
    Py_ssize_t n_slots      # slots that still need it
    Py_ssize_t number       # in the call that added it
    int32_t* token_ptr      # one block of memory: everything below, and this
    int32_t* rows           # sorted within a token
    float* values           # or NULL: all 1
    int32_t* gold


cdef class SequenceOracle(Oracle):
    cdef readonly object problem
    cdef readonly Py_ssize_t n_labels, stride
    cdef readonly Py_ssize_t offset             # of the first feature row in w; label history lies before it
    cdef readonly Py_ssize_t n_rows
    cdef readonly Py_ssize_t n_stored           # sentences
    cdef Py_ssize_t n_slots, slots_capacity, n_free
    cdef Sentence** of_slot                     # NULL where free
    cdef int32_t* token_of_slot
    cdef Py_ssize_t* free_slots
    cdef const double[:, ::1] loss
    cdef object sets                            # bool [sets, labels]
    cdef const unsigned char[:, ::1] set_view
    cdef double* scores                         # of one token

    cdef int score(self, const double* w, const Sentence* x, Py_ssize_t t) except -1 nogil
    cdef bint permits(self, int32_t gold, Py_ssize_t y) noexcept nogil
    cdef double cost_of(self, int32_t gold, Py_ssize_t y) noexcept nogil
    cdef void emit_token(
        self, const Sentence* x, Py_ssize_t t, Py_ssize_t right, Py_ssize_t wrong) noexcept nogil
    cdef void emit_history(self, Py_ssize_t at, Py_ssize_t right, Py_ssize_t wrong) noexcept nogil
    cdef int put(self, Sentence* x, Py_ssize_t t) except -1
    cdef int place(self, Sentence* x, list slots) except -1
    cdef void discard(self, Sentence* x) noexcept nogil
    cdef Sentence* copy(
        self, Py_ssize_t n_tokens, const long long* token_ptr, const int32_t* rows, const float* values,
        const int32_t* gold, Py_ssize_t number) except NULL


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

    cdef int widen(self, Py_ssize_t n_tokens) except -1 nogil
    cdef void complete(self, const Sentence* x) noexcept nogil
    cdef const float* entering(self, Py_ssize_t t) noexcept nogil
    cdef void viterbi(self, const float* lattice, Py_ssize_t n, int32_t* path) noexcept nogil
    cdef int emit(self, const Sentence* x) except -1 nogil
