# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""`LinearShard`: the part of a dual that belongs to some of the patterns, for CoCoA+ (Ma et al. 2015).

All K shards start a round from the same w. Each one makes steps on its own patterns, as if the others would
change w in the same direction: with sigma = K it multiplies the curvature of a step and the change of its own
copy of w by sigma. At the end of the round, the changes divided by sigma are added up. The sum of the shards'
coefficients is then feasible, w is exactly theirs, and the dual cannot have decreased.

A shard notes the blocks of w that it changes, so that a round costs as much as it changed. A block is eight
weights, the smallest row of a sequence problem.
"""
from libc.stdint cimport int32_t, uint32_t, uint64_t

from structsvm._dual.difference cimport Difference, difference_add
from structsvm._dual.linear cimport LinearDual
from structsvm._dual.oracle cimport Oracle

import numpy as np

cdef enum:
    SHIFT = 3
    BLOCK = 1 << SHIFT


cdef class LinearShard(LinearDual):
    """A `LinearDual` whose w is a copy: `changes` ends a round, `adopt` brings the sum of all shards."""

    cdef uint64_t[::1] touched          # a bit for each block: few enough to stay in the fastest cache
    cdef int32_t[::1] place             # of a touched block in `before`
    cdef double[:, ::1] before          # what the touched blocks held; memory never written costs nothing
    cdef int32_t[::1] blocks            # the result of `changes`
    cdef double[:, ::1] change
    cdef Py_ssize_t n_blocks, n_touched, n_weights

    def __init__(self, Oracle oracle, *, double C, double tau, double kappa, uint64_t seed, double sigma):
        super().__init__(oracle, C=C, tau=tau, kappa=kappa, seed=seed)
        self.sigma = sigma

    def grow(self, Py_ssize_t n_weights):
        LinearDual.grow(self, n_weights)
        self.n_weights = len(self.weights)
        cdef Py_ssize_t n = (self.n_weights + BLOCK - 1) // BLOCK
        if n > self.n_blocks:
            self.n_blocks, self.n_touched = n, 0
            self.touched = np.zeros(n // 64 + 1, np.uint64)
            self.place, self.blocks = np.empty(n, np.int32), np.empty(n, np.int32)
            self.before, self.change = np.empty((n, BLOCK)), np.empty((n, BLOCK))

    cdef void shift(self, double step, const Difference* d) noexcept nogil:
        cdef Py_ssize_t k
        cdef uint32_t block
        cdef const uint64_t* touched = &self.touched[0]
        for k in range(d.n):
            block = <uint32_t>d.index[k] >> SHIFT
            if not touched[block >> 6] >> (block & 63) & 1:
                self.note(block)
        difference_add(self.w, self.sigma * step, d)

    cdef void note(self, uint32_t block) noexcept nogil:
        cdef Py_ssize_t k, first = <Py_ssize_t>block * BLOCK
        self.touched[block >> 6] |= <uint64_t>1 << (block & 63)
        self.place[block] = <int32_t>self.n_touched
        for k in range(min(BLOCK, self.n_weights - first)):
            self.before[self.n_touched, k] = self.w[first + k]
        self.n_touched += 1

    def changes(self) -> tuple:
        """The blocks of w that the shard has changed since `adopt`, in order, and the changes over sigma.

        Both arrays are valid until the next call.
        """
        cdef Py_ssize_t block, k, first, n = 0
        with nogil:
            for block in range(self.n_blocks):      # in order, so that w is read from beginning to end
                if not self.touched[block >> 6] >> (block & 63) & 1:
                    continue
                first = block * BLOCK
                self.blocks[n] = <int32_t>block
                for k in range(BLOCK):
                    self.change[n, k] = (
                        (self.w[first + k] - self.before[self.place[block], k]) / self.sigma
                        if first + k < self.n_weights else 0)
                n += 1
        self.touched[:] = 0
        self.n_touched = 0
        return np.asarray(self.blocks)[:n], np.asarray(self.change)[:n]

    def adopt(self, const int32_t[::1] blocks, const double[:, ::1] values):
        """Set blocks of w to what all shards agree on."""
        cdef Py_ssize_t m, k, first
        with nogil:
            for m in range(blocks.shape[0]):
                first = <Py_ssize_t>blocks[m] * BLOCK
                for k in range(min(BLOCK, self.n_weights - first)):
                    self.w[first + k] = values[m, k]


def add_changes(double[::1] w, list changes, Py_ssize_t part=0, Py_ssize_t parts=1) -> tuple:
    """Add the changes of all shards to one of several parts of w, in the order of the shards.

    Returns the changed blocks, their new values, and by how much ||w||^2 / 2 has grown.
    """
    cdef const int32_t[::1] blocks
    cdef const double[:, ::1] change
    cdef Py_ssize_t m, k, first, n = w.shape[0], n_blocks = (n + BLOCK - 1) // BLOCK
    cdef Py_ssize_t low = n_blocks * part // parts, high = n_blocks * (part + 1) // parts
    cdef double growth = 0
    mask = np.zeros(high - low, np.uint8)
    cdef unsigned char[::1] seen = mask
    for touched, values in changes:
        own = slice(*np.searchsorted(touched, [low, high]))
        blocks, change = touched[own], values[own]
        with nogil:
            for m in range(blocks.shape[0]):
                first = <Py_ssize_t>blocks[m] * BLOCK
                for k in range(min(BLOCK, n - first)):
                    if not seen[blocks[m] - low]:
                        growth -= w[first + k] * w[first + k] / 2
                    w[first + k] += change[m, k]
                seen[blocks[m] - low] = 1
    union = (np.flatnonzero(mask) + low).astype(np.int32)
    result = np.zeros((len(union), BLOCK))
    cdef double[:, ::1] now = result
    blocks = union
    with nogil:
        for m in range(blocks.shape[0]):
            first = <Py_ssize_t>blocks[m] * BLOCK
            for k in range(min(BLOCK, n - first)):
                now[m, k] = w[first + k]
                growth += now[m, k] * now[m, k] / 2
    return union, result, growth
