# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""`LinearShard`: the part of a dual that belongs to some of the patterns, for CoCoA+ (Ma et al. 2015).

All K shards start a round from the same w. Each one makes steps on its own patterns, as if the others would
change w in the same direction: with sigma = K it multiplies the curvature of a step and the change of its
own copy of w by sigma. At the end of the round, the changes divided by sigma are added up, which gives the
mean of the copies. The sum of the shards' coefficients is then feasible, w is exactly theirs, and the dual
cannot have decreased.

A shard notes the blocks of w that it changes, so that a round costs as much as it changed. A block is eight
weights, the smallest row of a sequence problem and a line of the cache. If w is in `Blocks`, each shard has
its own places for them; after `agree`, all shards have places for the same blocks.
"""
from libc.stdint cimport INT32_MAX, int32_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from structsvm._dual.blocks cimport BLOCK, SHIFT
from structsvm._dual.difference cimport Difference, difference_add, is_pair
from structsvm._dual.linear cimport LinearDual, Output
from structsvm._dual.oracle cimport Oracle

import numpy as np

cdef extern from "structsvm/_dual/vector.h" nogil:
    void prefetch_line(const void* at)

cdef enum:
    AHEAD = 16          # entries whose memory is fetched before they are needed


cdef struct Copy:
    double* w
    const uint64_t* touched
    const int32_t* peers


cdef class LinearShard(LinearDual):
    """A `LinearDual` whose w is a copy: `changes` or `add_up` ends a round.

    dense: keep w in an array even if most of it stays zero, so that shards can share it, see `use`.
    """

    cdef uint64_t[::1] touched          # a bit for each place: few enough to stay in a fast cache
    cdef Py_ssize_t n_words             # of them
    cdef Py_ssize_t round               # its number, from 1
    cdef tuple arrays                   # of `save_old`:
    cdef double* saved                  # the blocks that this round has changed, as they were, or NULL
    cdef int32_t* saved_places          # their places
    cdef Py_ssize_t n_saved
    cdef Py_ssize_t n_own               # the blocks that `changes` has reported, until `adopt`
    cdef int32_t[::1] peer_array        # by place of the first shard, the place here; see `agree`
    cdef Py_ssize_t n_common            # places that `agree` knows

    def __init__(
        self, Oracle oracle, *, double C, double tau, double kappa, uint64_t seed, double sigma, n_weights=0,
        bint dense=False,
    ):
        super().__init__(oracle, C=C, tau=tau, kappa=kappa, seed=seed, n_weights=n_weights, dense=dense)
        self.sigma, self.round = sigma, 1

    def grow(self, Py_ssize_t n_weights):
        LinearDual.grow(self, n_weights)
        cdef Py_ssize_t n = (self.most_places() >> 6) + 1
        if n > self.n_words:
            self.n_words, self.touched = n, np.zeros(n, np.uint64)
            self.round += 1
            self.n_common = 0
            if self.blocks is not None:     # takes memory only where `agree` writes
                self.peer_array = np.empty(n << 6, np.int32)
            if self.saved != NULL:
                self.save_old()

    cdef Py_ssize_t most_places(self):
        """The largest number of places of w: one for each block, and one for zeros."""
        return (self.n_weights + BLOCK - 1 >> SHIFT) + 1

    cdef Py_ssize_t count_places(self) noexcept:
        return self.n_weights + BLOCK - 1 >> SHIFT if self.blocks is None else self.blocks.n_places

    def forget_rows(self, const int32_t[::1] row_of, Py_ssize_t stride):
        LinearDual.forget_rows(self, row_of, stride)
        self.n_common = 0

    def use(self, double[::1] weights not None):
        """Store w in this array from now on; dense shards that run in turn can share an array."""
        if weights.shape[0] < self.n_weights or self.blocks is not None:
            raise ValueError(f"{weights.shape[0]} weights, but a dense shard needs {self.n_weights}")
        self.array, self.w = np.asarray(weights), &weights[0]
        self.oracle.attach(self.array)

    def save_old(self):
        """Begin a round, and save each block as it was then, for `changes`; w must have whole blocks.

        There is room for all blocks, but only those that a round saves take memory.
        """
        cdef int32_t[::1] places = np.empty(self.most_places(), np.int32)
        cdef double[::1] values = np.empty(self.most_places() << SHIFT)
        self.arrays = places, values
        self.saved, self.saved_places, self.n_saved, self.n_own = &values[0], &places[0], 0, 0
        self.clear()    # the saved blocks must be the touched ones

    cdef void shift(self, double step, Output* out) noexcept nogil:
        if out.round != self.round:
            out.round = self.round
            self.touch(&out.d)
        difference_add(self.w, self.sigma * step, &out.d)

    cdef void touch(self, const Difference* d) noexcept nogil:
        """Mark the blocks of a difference before this round changes w there."""
        cdef Py_ssize_t k
        for k in range(d.n):
            if is_pair(d):
                self.touch_block(<uint32_t>(d.index[k] + d.plus) >> SHIFT)
                self.touch_block(<uint32_t>(d.index[k] + ~d.minus) >> SHIFT)
            else:
                self.touch_block(<uint32_t>d.index[k] >> SHIFT)

    cdef inline void touch_block(self, uint32_t place) noexcept nogil:
        cdef uint64_t* touched = &self.touched[0]
        if not touched[place >> 6] >> (place & 63) & 1:     # without the test, each store waits for a load
            touched[place >> 6] |= <uint64_t>1 << (place & 63)
            if self.saved != NULL:
                self.save_block(place)

    cdef void save_block(self, Py_ssize_t place) noexcept nogil:
        self.saved_places[self.n_saved] = <int32_t>place
        memcpy(self.saved + (self.n_saved << SHIFT), self.w + (place << SHIFT), BLOCK * sizeof(double))
        self.n_saved += 1

    def changes(self):
        """End a round: the indices of the weights that it changed, in order, and the changes over sigma."""
        cdef Py_ssize_t k, j, n = 0, at, first
        cdef double change, share = 1 / self.sigma
        names = np.asarray(self.arrays[0])[:self.n_saved]
        if self.blocks is not None:
            names = self.blocks.origin_array[names]
        cdef const int32_t[::1] name = names
        cdef const Py_ssize_t[::1] order = np.argsort(names)
        indices, values = np.empty(self.n_saved << SHIFT, np.int32), np.empty(self.n_saved << SHIFT)
        cdef int32_t[::1] index = indices
        cdef double[::1] value = values
        with nogil:
            for k in range(self.n_saved):
                if k + AHEAD < self.n_saved:
                    at = order[k + AHEAD]
                    prefetch_line(self.saved + (at << SHIFT))
                    prefetch_line(self.w + (<Py_ssize_t>self.saved_places[at] << SHIFT))
                at = order[k]
                first = <Py_ssize_t>self.saved_places[at] << SHIFT
                for j in range(BLOCK):      # most weights of a block do not change
                    change = self.w[first + j] - self.saved[(at << SHIFT) + j]
                    if change != 0:
                        index[n], value[n] = name[at] << SHIFT | <int32_t>j, change * share
                        n += 1
            self.n_own, self.n_saved = self.n_saved, 0
        self.clear()
        return indices[:n].copy(), values[:n].copy()

    def clear(self):
        """Begin a round: the shard has changed no block."""
        self.round += 1
        self.touched[:(self.count_places() >> 6) + 1] = 0

    def adopt(self, indices, changes):
        """Undo the changes that `changes` has reported, and add those of all shards, with increasing indices.

        w[indices] + changes is rounded here as everywhere else, so all copies of w stay equal.
        """
        cdef const int32_t[::1] index = checked_indices(indices, changes, self.n_weights)
        cdef const double[::1] change = np.require(changes, np.float64, "CA")
        cdef Py_ssize_t k, n = index.shape[0]
        cdef int32_t place
        with nogil:
            for k in range(self.n_own):
                if k + AHEAD < self.n_own:
                    prefetch_line(self.w + (<Py_ssize_t>self.saved_places[k + AHEAD] << SHIFT))
                memcpy(self.w + (<Py_ssize_t>self.saved_places[k] << SHIFT), self.saved + (k << SHIFT),
                       BLOCK * sizeof(double))
            self.n_own = 0
            for k in range(n):
                place = index[k]
                if self.blocks is not None:
                    if k + AHEAD < n:
                        prefetch_line(
                            self.w + (<Py_ssize_t>self.blocks.places[index[k + AHEAD] >> SHIFT] << SHIFT))
                    self.blocks.settle(&place, 1)
                self.w[place] += change[k]

    def block_norms(self) -> np.ndarray:
        """The squared norm of the block at each place, with room for all places."""
        result = np.zeros(self.most_places() + 1)
        cells = self.array if self.blocks is None else self.blocks.cell_array[:self.blocks.n_places * BLOCK]
        whole = len(cells) >> SHIFT
        np.square(cells[:whole * BLOCK]).reshape(-1, BLOCK).sum(axis=1, out=result[:whole])
        result[whole] = np.square(cells[whole * BLOCK:]).sum()
        return result


def agree(list shards, each):
    """Add the blocks of each shard to all others, and record which places belong to the same block.

    each: calls a function with the numbers from 0 to n - 1, perhaps in threads.
    """
    cdef LinearShard shard, first = shards[0]
    if first.blocks is None:
        return
    ends = [shard.blocks.n_places for shard in shards]
    each(lambda k: learn_blocks(shards[k], shards, ends), len(shards))
    each(lambda k: learn_places(shards[k], first), len(shards))
    for shard in shards:
        shard.n_common = shard.blocks.n_places


cdef int learn_blocks(LinearShard shard, list shards, list ends) except -1:
    """Add the blocks that the other shards have added since the last call, in the same order."""
    cdef LinearShard other
    cdef Py_ssize_t place, end
    cdef int32_t index
    for other, end in zip(shards, ends):
        if other is not shard:
            with nogil:
                for place in range(other.n_common, end):
                    if place + AHEAD < end:
                        prefetch_line(shard.blocks.places + other.blocks.origins[place + AHEAD])
                    if place != other.blocks.zeros:
                        index = other.blocks.origins[place] << SHIFT
                        shard.blocks.settle(&index, 1)
    return 0


cdef int learn_places(LinearShard shard, LinearShard first) except -1:
    """Record at which place a shard stores each new block of the first shard."""
    cdef Py_ssize_t place
    with nogil:
        for place in range(first.n_common, first.blocks.n_places):
            shard.peer_array[place] = (
                shard.blocks.zeros if place == first.blocks.zeros
                else shard.blocks.places[first.blocks.origins[place]])
    return 0


def checked_indices(indices, values, Py_ssize_t n_weights):
    """The indices as an array; ValueError if they do not increase, or do not fit values and weights."""
    index = np.require(indices, np.int32, "CA")     # arrays from a network may not be
    if len(values) != len(index) or len(index) and not (
            0 <= index[0] and index[len(index) - 1] < n_weights and np.all(np.diff(index) > 0)):
        raise ValueError("the changes do not fit the weights")
    return index


def put_weights(double[::1] w, indices, values) -> float:
    """w[indices] = values, for increasing indices; returns by how much ||w||^2 / 2 has grown."""
    cdef const int32_t[::1] index = checked_indices(indices, values, w.shape[0])
    cdef const double[::1] value = np.require(values, np.float64, "CA")
    cdef Py_ssize_t k, n = index.shape[0]
    cdef double growth = 0, old
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


cdef inline Py_ssize_t place_in(const Copy* copy, Py_ssize_t place) noexcept nogil:
    """The place in a copy of the block at a place of the first shard."""
    return place if copy.peers == NULL else copy.peers[place]


cdef inline bint is_touched(const Copy* copy, Py_ssize_t place) noexcept nogil:
    return copy.touched[place >> 6] >> (place & 63) & 1


cdef inline bint any_touched(const Copy* copies, Py_ssize_t n, Py_ssize_t place) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(n):
        if is_touched(&copies[k], place_in(&copies[k], place)):
            return True
    return False


cdef double average(
    double** own, const char* changed, Py_ssize_t n, Py_ssize_t size, double* norm,
) noexcept nogil:
    """Make all copies of a block their mean; return by how much ||w||^2 / 2 has grown."""
    cdef Py_ssize_t k, j, base = 0
    cdef double[BLOCK] total
    cdef double growth, new = 0
    while base < n - 1 and changed[base]:      # a copy that has not changed, if there is one
        base += 1
    for j in range(size):
        total[j] = 0
    for k in range(n):
        if changed[k]:
            for j in range(size):
                total[j] += own[k][j] - own[base][j]
    for j in range(size):
        total[j] = own[base][j] + total[j] * (1.0 / n)
        new += total[j] * total[j]
    for k in range(n):
        for j in range(size):
            own[k][j] = total[j]
    growth, norm[0] = (new - norm[0]) / 2, new
    return growth


def add_up(double[::1] norms, list shards, Py_ssize_t part=0, Py_ssize_t parts=1) -> float:
    """Make one of several parts of w the mean of its copies in all shards; the shards are added in order.

    Call `agree` before, and `LinearShard.clear` when all parts are done. norms: the squared norm of the block
    at each place of the first shard. Returns by how much ||w||^2 / 2 has grown.
    """
    cdef LinearShard shard, leader = shards[0]
    cdef Py_ssize_t k, place, at, n = len(shards), n_places = leader.count_places()
    cdef Py_ssize_t n_cells = leader.n_weights if leader.blocks is None else n_places << SHIFT
    cdef Py_ssize_t low = n_places * part // parts, high = n_places * (part + 1) // parts, fetched = low
    cdef double growth = 0
    cdef Copy* copies = <Copy*>malloc(n * sizeof(Copy))
    cdef double** own = <double**>malloc(n * sizeof(double*))
    cdef char* changed = <char*>malloc(n)
    if copies == NULL or own == NULL or changed == NULL:
        free(copies)
        free(own)
        free(changed)
        raise MemoryError
    for k, shard in enumerate(shards):
        copies[k].w, copies[k].touched, copies[k].peers = shard.w, &shard.touched[0], NULL
        if k and shard.blocks is not None:
            copies[k].peers = &shard.peer_array[0]
    with nogil:
        for place in range(low, high):
            while fetched < min(place + AHEAD, high):   # the loop below waits for memory
                if any_touched(copies, n, fetched):
                    for k in range(n):
                        prefetch_line(copies[k].w + (place_in(&copies[k], fetched) << SHIFT))
                fetched += 1
            if any_touched(copies, n, place):
                for k in range(n):
                    at = place_in(&copies[k], place)
                    own[k], changed[k] = copies[k].w + (at << SHIFT), is_touched(&copies[k], at)
                growth += average(own, changed, n, min(BLOCK, n_cells - (place << SHIFT)), &norms[place])
    free(copies)
    free(own)
    free(changed)
    return growth
