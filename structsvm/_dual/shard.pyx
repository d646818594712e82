# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""`LinearShard`: the part of a dual that belongs to some of the patterns, for CoCoA+ (Ma et al. 2015).

All K shards start a round from the same w. Each one makes steps on its own patterns, as if the others would
change w in the same direction: with sigma = K it multiplies the curvature of a step and the change of its own
copy of w by sigma. At the end of the round, the changes divided by sigma are added up. The sum of the shards'
coefficients is then feasible, w is exactly theirs, and the dual cannot have decreased.

A shard notes the blocks of w that it changes, so that a round costs as much as it changed. A block is eight
weights, the smallest row of a sequence problem and a line of the cache.
"""
from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport free, malloc

from structsvm._dual.difference cimport Difference, difference_add
from structsvm._dual.linear cimport LinearDual
from structsvm._dual.oracle cimport Oracle

import numpy as np

cdef extern from "structsvm/_dual/vector.h" nogil:
    void prefetch_line(const void* at)

cdef enum:
    SHIFT = 3
    BLOCK = 1 << SHIFT


cdef struct Copy:
    double* w
    uint64_t* touched


cdef class LinearShard(LinearDual):
    """A `LinearDual` whose w is a copy: `touched_blocks` or `add_up` ends a round."""

    cdef uint64_t[::1] touched          # a bit for each block: few enough to stay in a fast cache
    cdef Py_ssize_t n_words             # of them

    def __init__(self, Oracle oracle, *, double C, double tau, double kappa, uint64_t seed, double sigma):
        super().__init__(oracle, C=C, tau=tau, kappa=kappa, seed=seed)
        self.sigma = sigma

    def grow(self, Py_ssize_t n_weights):
        LinearDual.grow(self, n_weights)
        cdef Py_ssize_t n = (len(self.weights) >> SHIFT + 6) + 1
        if n > self.n_words:
            self.n_words, self.touched = n, np.zeros(n, np.uint64)

    cdef void shift(self, double step, const Difference* d) noexcept nogil:
        cdef Py_ssize_t k
        cdef uint32_t block
        cdef uint64_t* touched = &self.touched[0]
        for k in range(d.n):
            block = <uint32_t>d.index[k] >> SHIFT
            if not touched[block >> 6] >> (block & 63) & 1:     # a store after each load would wait for it
                touched[block >> 6] |= <uint64_t>1 << (block & 63)
        difference_add(self.w, self.sigma * step, d)

    def touched_words(self):
        """A bit for each block of w, set if the shard has changed it in this round."""
        return np.asarray(self.touched)

    def touched_blocks(self):
        """The numbers of the blocks of w that the shard has changed since the last call, in order."""
        bits = np.unpackbits(np.asarray(self.touched).astype("<u8").view(np.uint8), bitorder="little")
        self.touched[:] = 0
        return np.flatnonzero(bits).astype(np.int32)


def add_up(double[::1] w, list shards, Py_ssize_t part=0, Py_ssize_t parts=1) -> float:
    """Add what all shards have learned to one of several parts of w, and copy the sum to the shards.

    Shards are added in their order. Returns by how much ||w||^2 / 2 has grown.
    """
    cdef Py_ssize_t k, word, bit, first, size, j, n = len(shards), n_weights = w.shape[0]
    cdef Py_ssize_t n_words = (n_weights >> SHIFT + 6) + 1
    cdef Py_ssize_t low = n_words * part // parts, high = n_words * (part + 1) // parts
    cdef uint64_t union
    cdef double growth = 0, share
    cdef double[BLOCK] total
    cdef LinearShard shard
    cdef Copy* copies = <Copy*>malloc(n * sizeof(Copy))
    if copies == NULL:
        raise MemoryError
    for k, shard in enumerate(shards):
        copies[k].w, copies[k].touched, share = shard.w, &shard.touched[0], 1 / shard.sigma
    with nogil:
        for word in range(low, high):
            union = 0
            for k in range(n):
                union |= copies[k].touched[word]
            if not union:
                continue
            for bit in range(64):       # what follows waits for memory: fetch a whole word of blocks at once
                if union >> bit & 1:
                    first = (word << 6 | bit) << SHIFT
                    prefetch_line(&w[first])
                    for k in range(n):
                        prefetch_line(copies[k].w + first)
            for bit in range(64):
                if not union >> bit & 1:
                    continue
                first = (word << 6 | bit) << SHIFT
                size = min(BLOCK, n_weights - first)
                for j in range(size):
                    total[j] = w[first + j]
                for k in range(n):
                    if copies[k].touched[word] >> bit & 1:
                        for j in range(size):
                            total[j] += (copies[k].w[first + j] - w[first + j]) * share
                for j in range(size):
                    growth += (total[j] - w[first + j]) * (total[j] + w[first + j]) / 2
                    w[first + j] = total[j]
                for k in range(n):
                    for j in range(size):
                        copies[k].w[first + j] = total[j]
            for k in range(n):
                copies[k].touched[word] = 0
    free(copies)
    return growth
