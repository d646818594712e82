# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""`LinearShard`: the part of a dual that belongs to some of the patterns, for CoCoA+ (Ma et al. 2015).

All K shards start a round from the same w. Each one makes steps on its own patterns, as if the others would
change w in the same direction: with sigma = K it multiplies the curvature of a step and the change of its
own copy of w by sigma. At the end of the round, the changes divided by sigma are added up, which gives the
mean of the copies. The sum of the shards' coefficients is then feasible, w is exactly theirs, and the dual
cannot have decreased.

A shard notes the blocks of w that it changes, so that a round costs as much as it changed. A block is eight
weights, the smallest row of a sequence problem and a line of the cache.
"""
from libc.stdint cimport INT32_MAX, int32_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from structsvm._dual.blocks cimport BLOCK, SHIFT
from structsvm._dual.difference cimport Difference, difference_add
from structsvm._dual.linear cimport LinearDual
from structsvm._dual.oracle cimport Oracle

import numpy as np

cdef extern from "structsvm/_dual/vector.h" nogil:
    void prefetch_line(const void* at)

cdef enum:
    AHEAD = 16          # entries whose memory is fetched before they are needed


cdef struct Copy:
    double* w
    uint64_t* touched


cdef class LinearShard(LinearDual):
    """A `LinearDual` whose w is a copy: `changes` or `add_up` ends a round."""

    cdef uint64_t[::1] touched          # a bit for each block: few enough to stay in a fast cache
    cdef Py_ssize_t n_words             # of them
    cdef tuple arrays                   # of `save_old`:
    cdef double* saved                  # the blocks that this round has changed, as they were, or NULL
    cdef int32_t* saved_blocks          # their numbers
    cdef Py_ssize_t n_saved

    def __init__(
        self, Oracle oracle, *, double C, double tau, double kappa, uint64_t seed, double sigma, n_weights=0
    ):
        super().__init__(      # in an array, which can be added up
            oracle, C=C, tau=tau, kappa=kappa, seed=seed, n_weights=n_weights, dense=True)
        self.sigma = sigma

    def grow(self, Py_ssize_t n_weights):
        LinearDual.grow(self, n_weights)
        cdef Py_ssize_t n = (self.n_weights >> SHIFT + 6) + 1
        if n > self.n_words:
            self.n_words, self.touched = n, np.zeros(n, np.uint64)
            if self.saved != NULL:
                self.save_old()

    def use(self, double[::1] weights not None):
        """Keep w in this array from now on; shards that run in turn can share one."""
        if weights.shape[0] < len(self.weights):
            raise ValueError(f"{weights.shape[0]} weights, but the shard needs {len(self.weights)}")
        self.weights, self.w = np.asarray(weights), &weights[0]
        self.oracle.attach(self.weights)

    def save_old(self):
        """Save a block as it was at the beginning of a round, for `changes`; w must have whole blocks.

        There is room for all blocks, but only those that a round saves take memory.
        """
        cdef int32_t[::1] blocks = np.empty((len(self.weights) >> SHIFT) + 1, np.int32)
        cdef double[::1] values = np.empty(len(self.weights) + BLOCK)
        self.arrays = blocks, values
        self.saved, self.saved_blocks = &values[0], &blocks[0]

    cdef void shift(self, double step, const Difference* d) noexcept nogil:
        cdef Py_ssize_t k
        cdef uint32_t block
        cdef uint64_t* touched = &self.touched[0]
        for k in range(d.n):
            block = <uint32_t>d.index[k] >> SHIFT
            if not touched[block >> 6] >> (block & 63) & 1:     # a store after each load would wait for it
                touched[block >> 6] |= <uint64_t>1 << (block & 63)
                if self.saved != NULL:
                    self.save_block(block)
        difference_add(self.w, self.sigma * step, d)

    cdef void save_block(self, Py_ssize_t block) noexcept nogil:
        self.saved_blocks[self.n_saved] = <int32_t>block
        memcpy(self.saved + (self.n_saved << SHIFT), self.w + (block << SHIFT), BLOCK * sizeof(double))
        self.n_saved += 1

    def changes(self):
        """End a round: the indices of the weights that it changed, in order, and the changes over sigma."""
        cdef Py_ssize_t k, j, n = 0, at, first
        cdef double change, share = 1 / self.sigma
        cdef const Py_ssize_t[::1] order = np.argsort(np.asarray(self.arrays[0])[:self.n_saved])
        indices, values = np.empty(self.n_saved << SHIFT, np.int32), np.empty(self.n_saved << SHIFT)
        cdef int32_t[::1] index = indices
        cdef double[::1] value = values
        with nogil:
            for k in range(self.n_saved):
                if k + AHEAD < self.n_saved:
                    at = order[k + AHEAD]
                    prefetch_line(self.saved + (at << SHIFT))
                    prefetch_line(self.w + (<Py_ssize_t>self.saved_blocks[at] << SHIFT))
                at = order[k]
                first = <Py_ssize_t>self.saved_blocks[at] << SHIFT
                for j in range(BLOCK):      # most weights of a block stay as they were
                    change = self.w[first + j] - self.saved[(at << SHIFT) + j]
                    if change != 0:
                        index[n], value[n] = <int32_t>(first + j), change * share
                        n += 1
            self.n_saved = 0
        self.touched[:] = 0
        return indices[:n].copy(), values[:n].copy()

    def count_touched(self) -> int:
        """The number of blocks of w that the shard has changed in this round."""
        return int(np.unpackbits(np.asarray(self.touched).view(np.uint8)).sum())


def put_weights(double[::1] w, indices, values) -> float:
    """w[indices] = values, for increasing indices; returns by how much ||w||^2 / 2 has grown."""
    cdef const int32_t[::1] index = np.require(indices, np.int32, "CA")     # arrays from a network may not be
    cdef const double[::1] value = np.require(values, np.float64, "CA")
    cdef Py_ssize_t k, n = index.shape[0]
    cdef double growth = 0, old
    if value.shape[0] != n or n and not (
            0 <= index[0] and index[n - 1] < w.shape[0] and np.all(np.diff(index) > 0)):
        raise ValueError("the changes do not fit the weights")
    with nogil:
        for k in range(n):
            if k + AHEAD < n:
                prefetch_line(&w[index[k + AHEAD]])
            old = w[index[k]]
            w[index[k]] = value[k]
            growth += (value[k] - old) * (value[k] + old) / 2
    return growth


def sparse_sum(list vectors):
    """The sum of sparse vectors, each given by sorted indices and values; they are added in order."""
    aligned = [
        (np.require(indices, np.int32, "CA"), np.require(values, np.float64, "CA"))
        for indices, values in vectors]
    if any(len(indices) != len(values) for indices, values in aligned):
        raise ValueError("a sparse vector must have as many values as indices")
    total = aligned[0]
    for other in aligned[1:]:
        total = sum_of_two(*total, *other)
    return total


def sum_of_two(
    const int32_t[::1] index_a, const double[::1] value_a, const int32_t[::1] index_b,
    const double[::1] value_b,
):
    """The sum of two sparse vectors."""
    cdef Py_ssize_t i = 0, j = 0, n = 0, n_a = index_a.shape[0], n_b = index_b.shape[0]
    cdef int32_t a, b
    indices, values = np.empty(n_a + n_b, np.int32), np.empty(n_a + n_b)
    cdef int32_t[::1] index = indices
    cdef double[::1] value = values
    with nogil:
        while i < n_a or j < n_b:
            a = index_a[i] if i < n_a else INT32_MAX
            b = index_b[j] if j < n_b else INT32_MAX
            index[n], value[n] = min(a, b), 0
            if a <= b:
                value[n] = value_a[i]
                i += 1
            if b <= a:
                value[n] += value_b[j]
                j += 1
            n += 1
    return indices[:n], values[:n]


def add_up(double[::1] norms, list shards, Py_ssize_t part=0, Py_ssize_t parts=1) -> float:
    """Make one of several parts of w the mean of its copies in all shards; the shards are added in order.

    norms: the squared norm of each block. Returns by how much ||w||^2 / 2 has grown.
    """
    cdef Py_ssize_t k, word, bit, first, size, j, base, n = len(shards), n_weights = len(shards[0].weights)
    cdef Py_ssize_t n_words = (n_weights >> SHIFT + 6) + 1
    cdef Py_ssize_t low = n_words * part // parts, high = n_words * (part + 1) // parts
    cdef uint64_t union
    cdef double growth = 0, share = 1.0 / n, norm
    cdef double[BLOCK] total
    cdef double* own
    cdef LinearShard shard
    cdef Copy* copies = <Copy*>malloc(n * sizeof(Copy))
    if copies == NULL:
        raise MemoryError
    for k, shard in enumerate(shards):
        copies[k].w, copies[k].touched = shard.w, &shard.touched[0]
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
                    for k in range(n):
                        prefetch_line(copies[k].w + first)
            for bit in range(64):
                if not union >> bit & 1:
                    continue
                first = (word << 6 | bit) << SHIFT
                size = min(BLOCK, n_weights - first)
                base = 0        # a shard that has not changed the block, if there is one
                while base < n - 1 and copies[base].touched[word] >> bit & 1:
                    base += 1
                own = copies[base].w + first
                for j in range(size):
                    total[j] = 0
                for k in range(n):
                    if copies[k].touched[word] >> bit & 1:
                        for j in range(size):
                            total[j] += copies[k].w[first + j] - own[j]
                norm = 0
                for j in range(size):
                    total[j] = own[j] + total[j] * share
                    norm += total[j] * total[j]
                growth += (norm - norms[word << 6 | bit]) / 2
                norms[word << 6 | bit] = norm
                for k in range(n):
                    for j in range(size):
                        copies[k].w[first + j] = total[j]
            for k in range(n):
                copies[k].touched[word] = 0
    free(copies)
    return growth
