# cython: language_level=3
"""A hash table of weights: what one feature adds to the scores is in one cache line."""
from libc.stdint cimport int32_t, uint32_t, uint64_t

cdef enum:
    ACTIONS = 3
    CONTEXTS = 5        # weights that always count, and those of four contexts, such as distances


cdef struct Line:
    uint32_t tag        # of the feature; 0 for a free line
    float w[15]         # CONTEXTS * ACTIONS


cdef inline Line* find(Line* lines, uint32_t mask, uint32_t tag) noexcept nogil:
    """The line of a feature, or the free line where it would go."""
    cdef uint32_t at = tag & mask
    while lines[at].tag != tag and lines[at].tag != 0:
        at = (at + 1) & mask
    return lines + at


cdef class Lines:
    cdef void* base
    cdef Line* at
    cdef uint32_t mask
    cdef readonly Py_ssize_t n_used

    cdef int allocate(self, Py_ssize_t n) except -1
    cdef int reserve(self, Py_ssize_t more) except -1 nogil
    cdef int grow(self, Py_ssize_t n) except -1
