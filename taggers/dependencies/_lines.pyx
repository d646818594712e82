# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""A hash table of weights in cache lines."""
from libc.stdint cimport uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport calloc, free, realloc

import numpy as np

cdef enum:
    MOST = 1 << 29      # sums
    STEP = 1 << 16      # lines after which a table that is copied becomes shorter


cdef class Lines:
    """Features by their 32-bit tags, and 15 weights of each."""

    def __cinit__(self, Py_ssize_t n=1 << 10):
        self.n_sums = 1
        self.allocate(n, False)

    def __dealloc__(self):
        free(self.base)
        free(self.first)
        free(self.sums)

    cdef int allocate(self, Py_ssize_t n, bint learning) except -1:
        cdef void* base = calloc(n + 1, sizeof(Line))
        cdef uint32_t* first = <uint32_t*>calloc(n, sizeof(uint32_t)) if learning else NULL
        if base == NULL or learning and first == NULL:
            free(base)
            free(first)
            raise MemoryError(f"no memory for {n} features")
        self.base, self.first = base, first
        self.at = <Line*>((<uintptr_t>base + 63) & ~<uintptr_t>63)
        self.size = <uint64_t>n
        return 0

    cdef int reserve(self, Py_ssize_t more) except -1 nogil:
        """Make room to learn more features, so that at most two thirds of the lines are used."""
        if 3 * (self.n_used + more) > 2 * <Py_ssize_t>self.size:
            with gil:
                self.grow(self.size + (self.size >> 1))
        elif self.first == NULL:
            with gil:
                self.grow(self.size)
        return 0

    cdef int grow(self, Py_ssize_t n) except -1:
        """Copy all lines to a larger table, from the end, and free the end of the old table meanwhile.

        The new table has the same order, so the two never take much more memory than the new one.
        """
        cdef void* base = self.base
        cdef void* shorter
        cdef uint32_t* first = self.first
        cdef Line* old = self.at
        cdef Line* line
        cdef Py_ssize_t k, offset = <char*>old - <char*>base
        k = <Py_ssize_t>self.size
        self.allocate(n, True)
        while k > 0:
            k -= 1
            if old[k].tag:
                line = find(self.at, self.size, old[k].tag)
                line[0] = old[k]
                if first != NULL:
                    self.first[line - self.at] = first[k]
            if k % STEP == 0:
                shorter = realloc(base, (k + 1) * sizeof(Line))
                if shorter != NULL:
                    base, old = shorter, <Line*>(<char*>shorter + offset)
        free(base)
        free(first)
        return 0

    cdef float* total(self, const Line* line, int context) except NULL nogil:
        """The sums of the weights of one context; the next call can move them."""
        if self.n_sums >= self.room:
            with gil:
                self.more_sums()
        cdef uint32_t* link = self.first + (line - self.at)
        while link[0]:
            if link[0] & 7 == <uint32_t>context:
                return self.sums[link[0] >> 3].w
            link = &self.sums[link[0] >> 3].next
        link[0] = <uint32_t>self.n_sums << 3 | <uint32_t>context
        cdef Sum* sums = self.sums + self.n_sums
        sums.next, sums.w[0], sums.w[1], sums.w[2] = 0, 0, 0, 0
        self.n_sums += 1
        return sums.w

    cdef int more_sums(self) except -1:
        cdef Py_ssize_t room = 1024 + self.room + (self.room >> 1)
        cdef void* longer = realloc(self.sums, room * sizeof(Sum)) if room < MOST else NULL
        if longer == NULL:
            raise MemoryError(f"no memory for the averages of {self.n_used} features")
        self.sums, self.room = <Sum*>longer, room
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

    def averaged(self, const uint32_t[::1] tags, float steps) -> np.ndarray:
        """The averages of the weights of some features of this table, ACTIONS * CONTEXTS in a row."""
        cdef Py_ssize_t k, j
        weights = np.empty((tags.shape[0], 15), np.float32)
        cdef float[:, ::1] w = weights
        cdef const Line* line
        cdef const float* sums
        cdef uint32_t link
        for k in range(tags.shape[0]):
            line = find(self.at, self.size, tags[k])
            for j in range(15):
                w[k, j] = line.w[j]
            link = self.first[line - self.at] if self.first != NULL else 0
            while link:
                sums = self.sums[link >> 3].w
                for j in range(ACTIONS):
                    w[k, ACTIONS * (link & 7) + j] -= sums[j] / steps
                link = self.sums[link >> 3].next
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
