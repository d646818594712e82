# cython: language_level=3
"""A hash table of weights: what one feature adds to the scores is in one cache line."""
from libc.stdint cimport int32_t, uint32_t, uint64_t

cdef enum:
    ACTIONS = 3
    CONTEXTS = 5        # weights that always count, and those of four contexts, such as distances


cdef struct Line:
    uint32_t tag        # of the feature; 0 for a free line
    float w[15]         # CONTEXTS * ACTIONS


cdef struct Sum:            # of the updates of ACTIONS weights, for averages
    uint32_t next           # where the next sums of this feature are, and the context of these: see `total`
    float w[3]


cdef inline uint64_t place(uint32_t tag, uint64_t size) noexcept nogil:
    """Where to look for a feature first: the tables are in the order of tags."""
    return tag * size >> 32


cdef inline Line* find(Line* lines, uint64_t size, uint32_t tag) noexcept nogil:
    """The line of a feature, or the free line where it would go."""
    cdef uint64_t at = place(tag, size)
    while lines[at].tag != tag and lines[at].tag != 0:
        at += 1
        if at == size:
            at = 0
    return lines + at


cdef class Lines:
    cdef void* base
    cdef Line* at
    cdef uint64_t size
    cdef readonly Py_ssize_t n_used
    cdef uint32_t* first        # for each line, where its first sums are, or 0; NULL if nothing was learned
    cdef Sum* sums              # most features have few of them
    cdef Py_ssize_t n_sums, room

    cdef int allocate(self, Py_ssize_t n, bint learning) except -1
    cdef int reserve(self, Py_ssize_t more) except -1 nogil
    cdef int grow(self, Py_ssize_t n) except -1
    cdef float* total(self, const Line* line, int context) except NULL nogil
    cdef int more_sums(self) except -1
