# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""`Blocks`: a w with mostly zero entries, in blocks that are allocated when they are first written.

A block has eight weights: the smallest row of a sequence problem, and a cache line. Training a tagger writes
only a tenth to a fifth of the blocks. An index is a position in w, and a place is a position in memory. A
support output keeps places, in the order of their indices. So it is added to w, and multiplied with it, as if
w were an array, and all sums are rounded in the same way.
"""
from libc.stdint cimport int32_t, uint32_t
from libc.string cimport memcpy

import numpy as np


cdef class Blocks:
    """w of any length; the places of the first `pinned` weights are their indices.

    The arrays have room for all blocks and are filled from the beginning. The operating system gives them
    memory only when they are written.
    """

    def __init__(self, Py_ssize_t pinned):
        self.zeros = pinned >> SHIFT
        self.n_places = self.zeros + 1
        self.cell_array, self.place_array, self.origin_array = np.zeros(0), np.zeros(0), np.zeros(0)
        self.grow(pinned)

    def grow(self, Py_ssize_t n_weights):
        """Make w at least this long; new weights are zero."""
        cdef Py_ssize_t n = max(1, (n_weights + BLOCK - 1) >> SHIFT), old = len(self.place_array)
        cdef Py_ssize_t pinned = self.zeros, used = self.n_places
        cdef double[::1] cells
        cdef int32_t[::1] places, origins
        if n_weights > 2**31 - 2 * BLOCK:
            raise ValueError(f"w cannot have more than 2**31 weights, got {n_weights}")
        self.n_weights = max(self.n_weights, n_weights)
        if n <= old:
            return
        if used > pinned + 1:
            n *= 2                      # so that many small steps cost little
        place_array = np.full(n, pinned, np.int32)
        cell_array, origin_array = np.zeros((n + 1) * BLOCK), np.empty(n + 1, np.int32)
        place_array[:pinned] = origin_array[:pinned] = np.arange(pinned)
        if old:
            cell_array[:used * BLOCK] = self.cell_array[:used * BLOCK]
            place_array[:old] = self.place_array
            origin_array[:used] = self.origin_array[:used]
        cells, places, origins = cell_array, place_array, origin_array
        self.cells, self.places, self.origins = &cells[0], &places[0], &origins[0]
        self.cell_array, self.place_array, self.origin_array = cell_array, place_array, origin_array

    cdef void locate(self, const int32_t* indices, int32_t* places, Py_ssize_t n) noexcept nogil:
        """The places of some indices, to read from."""
        cdef Py_ssize_t k
        for k in range(n):
            places[k] = self.places[indices[k] >> SHIFT] << SHIFT | indices[k] & (BLOCK - 1)

    cdef void settle(self, int32_t* indices, Py_ssize_t n) noexcept nogil:
        """Replace indices by places to write to."""
        cdef Py_ssize_t k
        cdef int32_t block
        for k in range(n):
            block = indices[k] >> SHIFT
            if self.places[block] == self.zeros:
                self.places[block], self.origins[self.n_places] = self.n_places, block
                self.n_places += 1
        self.locate(indices, indices, n)

    cdef void name(self, const int32_t* places, int32_t* indices, Py_ssize_t n) noexcept nogil:
        """The indices of some places."""
        cdef Py_ssize_t k
        for k in range(n):
            if places[k] >> SHIFT < self.zeros:
                indices[k] = places[k]
            else:
                indices[k] = self.origins[places[k] >> SHIFT] << SHIFT | places[k] & (BLOCK - 1)

    cdef double at(self, Py_ssize_t index) noexcept nogil:
        return self.cells[(<Py_ssize_t>self.places[index >> SHIFT] << SHIFT) + (index & (BLOCK - 1))]

    def take(self, wanted) -> np.ndarray:
        """Some entries of w: those of a slice or of an array of indices."""
        cdef Py_ssize_t k, start, step, n, whole
        cdef const long long[::1] indices
        cdef double[::1] found
        if isinstance(wanted, slice):
            start, _, step = wanted.indices(self.n_weights)
            result = np.empty(len(range(*wanted.indices(self.n_weights))))
            found, n = result, len(result)
            whole = n >> SHIFT << SHIFT if step == 1 and start % BLOCK == 0 else 0
            with nogil:
                for k in range(whole >> SHIFT):
                    memcpy(&found[k << SHIFT],
                           self.cells + (<Py_ssize_t>self.places[(start >> SHIFT) + k] << SHIFT),
                           BLOCK * sizeof(double))
                for k in range(whole, n):
                    found[k] = self.at(start + k * step)
            return result
        wanted = np.require(wanted, np.int64, "C")
        if not 0 <= wanted.min(initial=0) <= wanted.max(initial=-1) < self.n_weights and wanted.size:
            raise IndexError(f"an index is not one of the {self.n_weights} weights")
        result, indices = np.empty(wanted.shape), wanted.reshape(-1)
        found = result.reshape(-1)
        with nogil:
            for k in range(indices.shape[0]):
                found[k] = self.at(indices[k])
        return result

    def rows(self, Py_ssize_t n_rows, Py_ssize_t stride, Py_ssize_t width, dtype) -> tuple:
        """The first rows of w, each `stride` long, as ptr and cells of `SparseRows` for `width` labels.

        dtype: that of the cells. Rows that w does not have are empty.
        """
        if n_rows < 0 or stride < 1 or not 0 <= width <= stride or stride % BLOCK:
            raise ValueError(f"{n_rows} rows of {stride} weights cannot have {width} labels")
        cdef Py_ssize_t row, n = min(n_rows, self.n_weights // stride)
        ptr = np.zeros(n_rows + 1, np.uint32)
        cdef uint32_t[::1] at = ptr
        cdef Cell[::1] to
        with nogil:
            for row in range(n):
                at[row + 1] = at[row] + <uint32_t>self.copy_row(row * stride, width, NULL)
        ptr[n + 1:] = ptr[n]
        cells = np.empty(ptr[n], dtype)
        to = cells
        with nogil:
            for row in range(n):
                if at[row] < at[row + 1]:
                    self.copy_row(row * stride, width, &to[at[row]])
        return ptr, cells

    cdef Py_ssize_t copy_row(self, Py_ssize_t first, Py_ssize_t width, Cell* to) noexcept nogil:
        """Copy the weights of a row that are not zero in float32; return how many there are."""
        cdef Py_ssize_t block, y, n = 0
        cdef const double* weights
        cdef float value
        for block in range((width + BLOCK - 1) >> SHIFT):
            if self.places[(first >> SHIFT) + block] == self.zeros:
                continue
            weights = self.cells + (<Py_ssize_t>self.places[(first >> SHIFT) + block] << SHIFT)
            for y in range(min(BLOCK, width - (block << SHIFT))):
                value = <float>weights[y]
                if value != 0:
                    if to != NULL:
                        to[n].label, to[n].value = <uint32_t>((block << SHIFT) + y), value
                    n += 1
        return n

    def put(self, const double[::1] weights):
        """Replace the first weights by others."""
        cdef Py_ssize_t k
        cdef int32_t place
        for k in range(weights.shape[0]):
            place = <int32_t>k
            if weights[k] != 0:
                self.settle(&place, 1)
            elif self.at(k) != 0:
                self.locate(&place, &place, 1)
            else:
                continue
            self.cells[place] = weights[k]

    def without(self, Py_ssize_t pinned, const int32_t[::1] row_of, Py_ssize_t stride) -> Blocks:
        """A copy without some of the rows, each `stride` long; row_of: their new numbers, or -1."""
        cdef Blocks result = Blocks(pinned)
        cdef Py_ssize_t block, width = stride >> SHIFT
        cdef Py_ssize_t n = min(self.n_weights >> SHIFT, row_of.shape[0] * width)
        cdef int32_t row, index
        result.grow(stride * np.count_nonzero(np.asarray(row_of)[:n // width] >= 0))
        for block in range(n):
            row = row_of[block // width]
            if row >= 0 and self.places[block] != self.zeros:
                index = <int32_t>((row * width + block % width) << SHIFT)
                result.settle(&index, 1)
                memcpy(result.cells + index, self.cells + (<Py_ssize_t>self.places[block] << SHIFT),
                       BLOCK * sizeof(double))
        return result

    @property
    def norm(self) -> float:
        """||w||^2."""
        used = self.cell_array[:self.n_places * BLOCK]
        return used @ used
