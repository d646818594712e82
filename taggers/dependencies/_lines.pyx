# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""A hash table of weights in cache lines."""
from libc.stdint cimport uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport calloc, free

import numpy as np


cdef class Lines:
    """Features by their 32-bit tags, and 15 weights of each."""

    def __cinit__(self, Py_ssize_t n=1 << 10):
        self.allocate(n)

    def __dealloc__(self):
        free(self.base)

    cdef int allocate(self, Py_ssize_t n) except -1:
        self.base = calloc(n + 1, sizeof(Line))
        if self.base == NULL:
            raise MemoryError(f"no memory for {n} features")
        self.at = <Line*>((<uintptr_t>self.base + 63) & ~<uintptr_t>63)
        self.size = <uint64_t>n
        return 0

    cdef int reserve(self, Py_ssize_t more) except -1 nogil:
        """Make room for more features, so that at most two thirds of the lines are used."""
        if 3 * (self.n_used + more) > 2 * <Py_ssize_t>self.size:
            with gil:
                self.grow(self.size + (self.size >> 1))
        return 0

    cdef int grow(self, Py_ssize_t n) except -1:
        cdef void* base = self.base
        cdef Line* old = self.at
        cdef Py_ssize_t k, n_old = <Py_ssize_t>self.size
        self.allocate(n)
        for k in range(n_old):
            if old[k].tag:
                find(self.at, self.size, old[k].tag)[0] = old[k]
        free(base)
        return 0

    @property
    def tags(self) -> np.ndarray:
        """The features, sorted."""
        cdef Py_ssize_t k, n = 0
        tags = np.empty(self.n_used, np.uint32)
        cdef uint32_t[::1] tag = tags
        for k in range(<Py_ssize_t>self.size):
            if self.at[k].tag:
                tag[n] = self.at[k].tag
                n += 1
        tags.sort()
        return tags

    def rows(self, const uint32_t[::1] tags) -> np.ndarray:
        """The weights of some features, ACTIONS * CONTEXTS in a row; those of others are 0."""
        cdef Py_ssize_t k, j
        weights = np.empty((tags.shape[0], 15), np.float32)
        cdef float[:, ::1] w = weights
        cdef const Line* line
        for k in range(tags.shape[0]):
            line = find(self.at, self.size, tags[k])
            for j in range(15):
                w[k, j] = line.w[j]
        return weights

    @classmethod
    def of(cls, const uint32_t[::1] tags, const uint32_t[::1] ptr, const uint32_t[:] places,
           const float[:] values):
        """The table of some features: tags[k] has the weights values[j] at places[j] of its row, for j from
        ptr[k] on."""
        cdef Py_ssize_t k, j
        cdef Line* line
        if ptr.shape[0] != tags.shape[0] + 1 or places.shape[0] != values.shape[0]:
            raise ValueError(f"{tags.shape[0]} tags for weights of {ptr.shape[0] - 1} features")
        cdef Lines found = cls(max(1 << 10, tags.shape[0] + tags.shape[0] * 5 // 8))
        for k in range(tags.shape[0]):
            line = find(found.at, found.size, tags[k])
            if tags[k] == 0 or line.tag != 0:
                raise ValueError("a tag is zero or appears twice")
            line.tag = tags[k]
            for j in range(ptr[k], ptr[k + 1]):
                if places[j] < 15:
                    line.w[places[j]] = values[j]
        found.n_used = tags.shape[0]
        return found
