# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""A hash table of weights in cache lines."""
from libc.stdint cimport uint32_t, uintptr_t
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
        self.mask = <uint32_t>(n - 1)
        return 0

    cdef int reserve(self, Py_ssize_t more) except -1 nogil:
        """Make room for more features, so that at most half of the lines are used."""
        if 2 * (self.n_used + more) > <Py_ssize_t>self.mask + 1:
            with gil:
                self.grow(2 * (<Py_ssize_t>self.mask + 1))
        return 0

    cdef int grow(self, Py_ssize_t n) except -1:
        cdef void* base = self.base
        cdef Line* old = self.at
        cdef Py_ssize_t k, n_old = <Py_ssize_t>self.mask + 1
        self.allocate(n)
        for k in range(n_old):
            if old[k].tag:
                find(self.at, self.mask, old[k].tag)[0] = old[k]
        free(base)
        return 0

    def arrays(self) -> tuple:
        """The tags, sorted, and the weights of each, ACTIONS * CONTEXTS in a row."""
        cdef Py_ssize_t k, j, n = 0
        tags, weights = np.empty(self.n_used, np.uint32), np.empty((self.n_used, 15), np.float32)
        cdef uint32_t[::1] tag = tags
        cdef float[:, ::1] w = weights
        for k in range(<Py_ssize_t>self.mask + 1):
            if self.at[k].tag:
                tag[n] = self.at[k].tag
                for j in range(15):
                    w[n, j] = self.at[k].w[j]
                n += 1
        order = np.argsort(tags, kind="stable")
        return tags[order], weights[order]

    @classmethod
    def of(cls, const uint32_t[::1] tags, const float[:, ::1] weights):
        """The table of `arrays`."""
        cdef Py_ssize_t k, j, n = 1 << 10
        cdef Line* line
        if tags.shape[0] != weights.shape[0] or weights.shape[1] != 15:
            raise ValueError(f"{tags.shape[0]} tags for weights of {weights.shape[0]} features")
        while n < 2 * tags.shape[0]:
            n *= 2
        cdef Lines found = cls(n)
        for k in range(tags.shape[0]):
            line = find(found.at, found.mask, tags[k])
            if tags[k] == 0 or line.tag != 0:
                raise ValueError("a tag is zero or appears twice")
            line.tag = tags[k]
            for j in range(15):
                line.w[j] = weights[k, j]
        found.n_used = tags.shape[0]
        return found
