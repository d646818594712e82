# cython: language_level=3
from libc.stdint cimport int32_t, uint8_t, uint16_t

from cython cimport view

from structsvm._dual.oracle cimport Oracle

cdef extern from "structsvm/problems/sequence/_sequence.h" nogil:
    void score_token_double(
        double* scores, const double* w, const int32_t* rows, const float* values, Py_ssize_t n,
        Py_ssize_t stride)
    void score_token_blocks(
        double* scores, const double* w, const int32_t* places, const int32_t* rows, const float* values,
        Py_ssize_t n, Py_ssize_t n_blocks)
    void join_rows(
        int32_t* rows, const uint16_t* low, const uint8_t* high, const uint8_t* top, Py_ssize_t n)
    int STRUCTSVM_LANES

cdef enum:
    UNKNOWN = -1            # as a gold label: any label will do
    FIRST_SET = -2          # and -2 - k: any label of set k
    BREAK = -1


cdef struct Sentence:
    Py_ssize_t n_tokens
    Py_ssize_t n_slots      # slots that still need it
    Py_ssize_t number       # in the call that added it; negative: the call of forget_rows that changed it
    int32_t* token_ptr      # one block of memory: everything below, and this
    int32_t* gold
    float* weights          # of its tokens, or NULL: all 1
    float* values           # or NULL: all 1
    uint16_t* low           # the rows, sorted within a token: their lowest two bytes,
    uint8_t* high           # the third one,
    uint8_t* top            # and the fourth one, or NULL if it is always 0


cdef class SequenceOracle(Oracle):
    cdef readonly object problem
    cdef readonly Py_ssize_t n_labels, stride
    cdef readonly Py_ssize_t offset             # of the first feature row in w; label history lies before it
    cdef readonly Py_ssize_t n_rows
    cdef Py_ssize_t n_pinned                    # rows
    cdef readonly Py_ssize_t n_stored           # sentences
    cdef Py_ssize_t n_slots, slots_capacity, n_free
    cdef Py_ssize_t forgettings                 # minus the number of calls of forget_rows
    cdef Sentence** of_slot                     # NULL where free
    cdef int32_t* token_of_slot
    cdef Py_ssize_t* free_slots
    cdef const double[:, ::view.contiguous] loss
    cdef object sets                            # bool [sets, labels]
    cdef const unsigned char[:, ::1] set_view
    cdef double* scores                         # of one token
    cdef int32_t* token_rows                    # of one token, see `rows_of`
    cdef Py_ssize_t most_rows                   # that there is room for
    cdef bint logging                           # whether predictions made before learning are kept, and
    cdef bint incomplete                        # whether gold labels among them are unknown
    cdef bint open                              # whether the last sentence has more tokens
    cdef int32_t* log                           # their pairs (right, found); BREAK before each sentence
    cdef Py_ssize_t n_log, log_capacity
    cdef object segments                        # of those that looks() has counted

    cdef const int32_t* rows_of(self, const Sentence* x, Py_ssize_t t) noexcept nogil
    cdef int note(self, const Sentence* x, Py_ssize_t t, Py_ssize_t found) except -1 nogil
    cdef int score(self, const double* w, const Sentence* x, Py_ssize_t t) except -1 nogil
    cdef void add_row(self, const double* w, Py_ssize_t row, float* scores) noexcept nogil
    cdef void pin(self) noexcept
    cdef bint permits(self, int32_t gold, Py_ssize_t y) noexcept nogil
    cdef double cost_of(self, int32_t gold, Py_ssize_t y) noexcept nogil
    cdef double weight_of(self, const Sentence* x, Py_ssize_t t) noexcept nogil
    cdef void emit_token(
        self, const Sentence* x, Py_ssize_t t, Py_ssize_t right, Py_ssize_t wrong) noexcept nogil
    cdef void emit_history(self, Py_ssize_t at, Py_ssize_t right, Py_ssize_t wrong) noexcept nogil
    cdef void renumber(self, Sentence* x, const int32_t* row_of, Py_ssize_t history) noexcept nogil
    cdef int make_room(self, Py_ssize_t n) except -1 nogil
    cdef int put(self, Sentence* x, Py_ssize_t t) except -1
    cdef int place(self, Sentence* x, list slots) except -1
    cdef void discard(self, Sentence* x) noexcept nogil
    cdef Sentence* copy(
        self, Py_ssize_t n_tokens, const long long* token_ptr, const int32_t* rows, const float* values,
        const int32_t* gold, const float* weights, Py_ssize_t number) except NULL nogil


cdef void* enough(void* block) except NULL nogil
