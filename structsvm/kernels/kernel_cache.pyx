# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""`KernelRows`: support patterns and the rows of the kernel matrix between them that a cache holds.

New patterns come in blocks: their rows against all support patterns are one matrix product. Rows follow the
support set as it grows and shrinks, so that k(x_i, x_j) is computed once while both are in it. A row that
was evicted from the cache, which is the one unused for longest, is computed again when it is needed.

A new support pattern has a whole row; into the rows of the others its values are copied later, many at a
time, since each lies somewhere else in memory. Until then row p ends at filled[p] > p. Its missing values
are in later rows, which are in the cache: before one of them is evicted, all rows are completed.

While whole rows of all support patterns fit into the cache, all are completed with each block. After
that, only rows that are fetched are completed; the others keep their length until a row must be evicted.

A slot is a pattern of the current batch, a position one of the support patterns.
"""
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy

import numpy as np

cdef extern from "structsvm/kernels/rows.h" nogil:
    double dot_single(const float* row, const double* x, Py_ssize_t n)
    double dot_double(const double* row, const double* x, Py_ssize_t n)
    void filled_single(char* row, char** rows, Py_ssize_t p, Py_ssize_t start, Py_ssize_t n)
    void filled_double(char* row, char** rows, Py_ssize_t p, Py_ssize_t start, Py_ssize_t n)
    void replaced_single(char** rows, const Py_ssize_t* filled, Py_ssize_t p, Py_ssize_t last)
    void replaced_double(char** rows, const Py_ssize_t* filled, Py_ssize_t p, Py_ssize_t last)
    void axpy_single(double* y, double a, const float* x, Py_ssize_t n)
    void axpy_double(double* y, double a, const double* x, Py_ssize_t n)
    void gather_single(char* row, const char* whole, const Py_ssize_t* source, Py_ssize_t n)
    void gather_double(char* row, const char* whole, const Py_ssize_t* source, Py_ssize_t n)


cdef Py_ssize_t SPARE = 64      # initial room for support patterns

cdef extern from "structsvm/kernels/rbf.h" nogil:
    int rbf_row(float* values, float norm, const float* norms, float gamma, Py_ssize_t n)


cdef class KernelRows:

    def __init__(self, inputs, double cache_mb):
        self.inputs = inputs
        self.single = inputs.dtype == np.float32
        self.size = sizeof(float) if self.single else sizeof(double)
        self.cache_bytes = cache_mb * 2**20
        self.diagonal = np.zeros(0)
        self.slot = np.zeros(0, np.intp)
        self.used = np.zeros(0, np.int64)
        self.filled = np.zeros(0, np.intp)
        self.length = np.zeros(0, np.intp)
        self.start(0)

    def __dealloc__(self):
        cdef Py_ssize_t p
        for p in range(self.n):
            free(self.rows[p])
        self.clear_block()
        free(self.rows)

    # -- values ---------------------------------------------------------------------------------

    cdef char* fetch(self, Py_ssize_t p) except NULL nogil:
        """The row of a support pattern; it stays in memory until two others have been fetched."""
        self.now += 1
        self.used[p] = self.now
        if self.rows[p] == NULL:
            with gil:
                self.compute_row(p)
        elif self.filled[p] < self.n:
            if not self.fill(p):
                with gil:
                    allocated(NULL)
            self.make_room()
        return self.rows[p]

    cdef bint fill(self, Py_ssize_t p) noexcept nogil:
        """Complete a row with the values in later ones; False if there is no memory for it."""
        cdef char* row
        cdef Py_ssize_t length
        if self.length[p] < self.n:
            length = self.roomy()
            row = <char*>realloc(self.rows[p], length * self.size)
            if row == NULL:
                return False
            self.n_bytes += (length - self.length[p]) * self.size
            self.rows[p], self.length[p] = row, length
        self.complete(self.rows[p], p)
        self.filled[p] = self.n
        return True

    cdef void complete(self, char* row, Py_ssize_t p) noexcept nogil:
        """Copy what is missing of row p into `row`."""
        if self.single:
            filled_single(row, self.rows, p, self.filled[p], self.n)
        else:
            filled_double(row, self.rows, p, self.filled[p], self.n)

    cdef void fill_all(self) noexcept:
        """Complete all rows; evict those that do not fit into memory."""
        cdef Py_ssize_t p
        for p in range(self.n):     # in order: see make_room
            if self.rows[p] != NULL and self.filled[p] < self.n and not self.fill(p):
                self.drop(p)

    cdef Py_ssize_t roomy(self) noexcept nogil:
        """The length of a new row, with room for future patterns if the cache is large enough."""
        return self.capacity if self.fits() else min(self.capacity, self.n + SPARE)

    cdef bint fits(self) noexcept nogil:
        """Whether the cache is large enough for whole rows of all support patterns."""
        return self.capacity * <double>self.capacity * self.size <= self.cache_bytes

    cdef void drop(self, Py_ssize_t p) noexcept nogil:
        """Evict a row."""
        if self.rows[p] != NULL:
            self.n_rows -= 1
            self.n_bytes -= self.length[p] * self.size
            free(self.rows[p])
            self.rows[p] = NULL

    cdef char* fresh(self, Py_ssize_t slot) noexcept nogil:
        """The row of a pattern of the block, or NULL."""
        return self.block_rows[self.pending[slot]] if self.pending[slot] >= 0 else NULL

    cdef double own(self, Py_ssize_t slot) noexcept nogil:
        """k(x, x) of a pattern of the block."""
        return self.block_kernel[self.pending[slot], self.pending[slot]]

    cdef double get(self, char* row, Py_ssize_t at) noexcept nogil:
        return (<float*>row)[at] if self.single else (<double*>row)[at]

    cdef void put(self, char* row, Py_ssize_t at, double value) noexcept nogil:
        if self.single:
            (<float*>row)[at] = <float>value
        else:
            (<double*>row)[at] = value

    cdef double dot(self, char* row, const double* x) noexcept nogil:
        """sum of row[s] x[s] over the support patterns."""
        return dot_single(<float*>row, x, self.n) if self.single else dot_double(<double*>row, x, self.n)

    cdef void add(self, double* y, double a, char* row) noexcept nogil:
        """y[s] += a row[s] for the support patterns."""
        self.add_n(y, a, row, self.n)

    cdef void add_n(self, double* y, double a, char* row, Py_ssize_t n) noexcept nogil:
        if self.single:
            axpy_single(y, a, <float*>row, n)
        else:
            axpy_double(y, a, <double*>row, n)

    # -- the support set ------------------------------------------------------------------------

    cdef Py_ssize_t insert(self, Py_ssize_t slot) except -1 nogil:
        """Make a pattern of the block the last support pattern."""
        cdef Py_ssize_t q, r = self.pending[slot], p = self.n
        cdef char* row = self.block_rows[r]
        with gil:
            self.tell_inputs("insert", p, slot)
        for q in range(self.n_block):
            if self.block_rows[q] != NULL:
                self.put(self.block_rows[q], p, self.block_kernel[q, r])
        self.diagonal[p], self.slot[p], self.position[slot] = self.block_kernel[r, r], slot, p
        self.rows[p], self.block_rows[r], self.pending[slot] = row, NULL, -1
        self.length[p] = self.block_length
        self.n_bytes += self.block_length * self.size
        self.now += 1
        self.used[p] = self.now
        self.n += 1
        self.filled[p] = self.n
        self.n_rows += 1
        self.make_room()
        return p

    cdef int remove(self, Py_ssize_t p) except -1 nogil:
        """Fill the gap with the last support pattern, in all rows too."""
        cdef Py_ssize_t q, last = self.n - 1
        if self.slot[p] >= 0:
            self.position[self.slot[p]] = -1
        self.drop(p)
        if p != last:
            if self.single:
                replaced_single(self.rows, &self.filled[0], p, last)
            else:
                replaced_double(self.rows, &self.filled[0], p, last)
        for q in range(self.n_block if p != last else 0):
            if self.block_rows[q] != NULL:
                self.put(self.block_rows[q], p, self.get(self.block_rows[q], last))
        if p != last:
            self.diagonal[p], self.used[p] = self.diagonal[last], self.used[last]
            self.slot[p], self.filled[p] = self.slot[last], self.filled[last]
            self.rows[p], self.rows[last], self.length[p] = self.rows[last], NULL, self.length[last]
            if self.slot[p] >= 0:
                self.position[self.slot[p]] = p
        self.n = last
        for q in range(last):
            self.filled[q] = min(self.filled[q], last)
        with gil:
            self.tell_inputs("remove", p, last)
        return 0

    cdef int settle(self) except -1 nogil:
        """End a step, after all arrays have been updated, and raise an interruption that came during it."""
        if self.interrupted:
            self.interrupted = False
            with gil:
                interrupt, self.interrupt = self.interrupt, None
                raise interrupt
        return 0

    cdef void make_room(self) noexcept nogil:
        """Evict the rows unused for longest if the cache is full; the last two always stay."""
        cdef Py_ssize_t p, n_kept = self.n_rows
        cdef double total, mark
        cdef int64_t oldest
        if self.n_bytes <= self.cache_bytes:
            return
        while n_kept > 2 and n_kept * <double>self.roomy() * self.size > self.cache_bytes * 15 / 16:
            total, oldest = 0, self.now
            for p in range(self.n):
                if self.rows[p] != NULL and self.used[p] >= 0:
                    total += self.used[p]
                    oldest = min(oldest, self.used[p])
            mark = oldest + (total / n_kept - oldest) / 8
            for p in range(self.n):
                if self.rows[p] != NULL and 0 <= self.used[p] <= mark and self.used[p] < self.now - 1:
                    self.used[p] = -1
                    n_kept -= 1
        for p in range(self.n):     # in order: only rows before p can miss values of row p
            if self.rows[p] != NULL and (self.used[p] < 0 or (self.filled[p] < self.n and not self.fill(p))):
                self.used[p] = 0
                self.drop(p)

    def tell_inputs(self, change, *arguments):
        """Apply a change of the support set to the inputs; Ctrl-C waits until this is done."""
        try:
            getattr(self.inputs, change)(*arguments)
        except KeyboardInterrupt as interrupt:
            getattr(self.inputs, change)(*arguments)    # a second call changes nothing
            self.interrupt = interrupt
            self.interrupted = True

    def compute_row(self, Py_ssize_t p):
        """Compute an evicted row again."""
        values = np.ascontiguousarray(self.inputs.row(p), dtype=self.inputs.dtype)
        cdef const unsigned char[::1] source = values.view(np.uint8)
        cdef Py_ssize_t length = self.roomy()
        cdef char* row = <char*>allocated(malloc(length * self.size))
        memcpy(row, &source[0], self.n * self.size)
        self.hold(p, row, length)
        self.n_kernels += self.n
        self.make_room()

    cdef void hold(self, Py_ssize_t p, char* row, Py_ssize_t length) noexcept:
        """Put a complete row into the cache."""
        self.rows[p], self.filled[p], self.length[p] = row, self.n, length
        self.n_bytes += length * self.size
        self.n_rows += 1

    # -- from Python ----------------------------------------------------------------------------

    def start(self, Py_ssize_t n_slots):
        """Start with a batch of patterns; earlier support patterns stay, without a slot."""
        cdef Py_ssize_t p
        self.clear_block()
        self.kept = None
        self.position = np.full(n_slots, -1, dtype=np.intp)
        self.pending = np.full(n_slots, -1, dtype=np.intp)
        for p in range(self.n):
            self.slot[p] = -1

    def begin_block(self, slots):
        """Compute the rows of the next patterns that are not support patterns."""
        cdef Py_ssize_t k, n
        self.clear_block()
        chosen = np.asarray(slots, dtype=np.intp)
        chosen = chosen[np.asarray(self.position)[chosen] < 0]
        n = len(chosen)
        if self.n + n > self.capacity:
            self.grow(max(self.n + n, self.capacity + self.capacity // 2))
        if self.fits():
            self.fill_all()
        if n == 0:
            return
        if self.kept is None:
            (rows, kernel), computed = self.inputs.block(chosen), n * self.n
        else:
            support = np.array(self.slot[:self.n])
            rows, computed = self.kept.rows(chosen, support)
            kernel = self.inputs.among(chosen)
            self.kept.add(chosen, support, rows, self.room)
        self.n_kernels += computed + n * n
        self.block_kernel = np.ascontiguousarray(kernel, dtype=np.float64).reshape(n, n)
        self.block_slots = chosen
        self.block_rows = <char**>allocated(calloc(n, sizeof(char*)))
        self.n_block = n
        self.block_length = max(self.n + n, self.roomy())
        cdef const unsigned char[:, ::1] source = None
        if self.n:
            source = np.ascontiguousarray(rows, dtype=self.inputs.dtype).reshape(n, -1).view(np.uint8)
        for k in range(n):
            self.block_rows[k] = <char*>allocated(malloc(self.block_length * self.size))
            if self.n:
                memcpy(self.block_rows[k], &source[k, 0], self.n * self.size)
            self.pending[self.block_slots[k]] = k

    cdef void clear_block(self) noexcept:
        cdef Py_ssize_t k
        for k in range(self.n_block):
            free(self.block_rows[k])
            self.pending[self.block_slots[k]] = -1
        free(self.block_rows)
        self.block_rows = NULL
        self.n_block = 0

    cdef int grow(self, Py_ssize_t capacity) except -1:
        """Make room for support patterns, while there is no block; without memory nothing changes."""
        cdef Py_ssize_t p
        cdef char** rows
        self.diagonal, self.slot = longer(self.diagonal, capacity), longer(self.slot, capacity)
        self.used, self.filled = longer(self.used, capacity), longer(self.filled, capacity)
        self.length = longer(self.length, capacity)
        rows = <char**>allocated(realloc(self.rows, capacity * sizeof(char*)))
        self.rows = rows
        for p in range(self.n, capacity):
            rows[p] = NULL
        self.capacity = capacity
        return 0

    def restore(self, Py_ssize_t n, diagonal):
        """Load a support set whose patterns the inputs hold already; rows are computed when used."""
        self.grow(n + SPARE)
        self.n = n
        np.asarray(self.diagonal)[:n] = diagonal
        self.slot[:n] = -1

    def reorder(self, order):
        """Reorder the support patterns in one pass over the rows; those that are left out are removed."""
        cdef const Py_ssize_t[::1] source = np.ascontiguousarray(order, dtype=np.intp)
        cdef Py_ssize_t k, p, n = source.shape[0]
        inputs = self.inputs.reordered(order)
        place = np.full(self.n, -1, dtype=np.intp)
        place[order] = np.arange(n)
        cdef const Py_ssize_t[::1] target = place
        cdef char[::1] whole = np.empty(self.n * self.size, dtype=np.int8)
        cdef char** rows = <char**>allocated(calloc(n + SPARE, sizeof(char*)))
        cdef char* row
        cdef char* old
        self.clear_block()
        for p in range(self.n):     # in order: only rows before p can miss values of row p
            row = <char*>malloc((n + SPARE) * self.size) if self.rows[p] != NULL and target[p] >= 0 else NULL
            if row != NULL:
                rows[target[p]] = row
                old = self.rows[p]
                if self.filled[p] < self.n:
                    old = &whole[0]
                    memcpy(old, self.rows[p], self.filled[p] * self.size)
                    self.complete(old, p)
                if self.single:
                    gather_single(row, old, &source[0], n)
                else:
                    gather_double(row, old, &source[0], n)
            self.drop(p)
            if self.slot[p] >= 0:
                self.position[self.slot[p]] = -1
        self.n = n
        for values in map(np.asarray, (self.diagonal, self.slot, self.used)):
            values[:n] = values[order]
        self.grow(n + SPARE)
        for k in range(n):
            if rows[k] != NULL:
                self.hold(k, rows[k], n + SPARE)
            if self.slot[k] >= 0:
                self.position[self.slot[k]] = k
        free(rows)
        self.make_room()
        self.tell_inputs("take", inputs)

    def forget(self):
        """Release all rows, as restore() does: this object and its copy from a file then continue alike."""
        cdef Py_ssize_t p
        self.clear_block()
        for p in range(self.n):
            self.drop(p)
        self.now = 0
        self.used[:] = 0
        self.grow(self.n + SPARE)

    def cached(self) -> dict:
        """The rows in the cache and when they were used, so that copies continue alike."""
        cdef Py_ssize_t k = 0, p
        self.fill_all()
        self.make_room()
        values = np.empty((self.n_rows, self.n), dtype=self.inputs.dtype)
        cdef unsigned char[:, ::1] target = values.view(np.uint8)
        positions = np.zeros(self.n_rows, dtype=np.intp)
        for p in range(self.n):
            if self.rows[p] != NULL:
                memcpy(&target[k, 0], self.rows[p], self.n * self.size)
                positions[k] = p
                k += 1
        return {"positions": positions, "values": values, "lengths": np.asarray(self.length)[positions],
                "used": np.array(self.used[:self.n]), "now": self.now, "capacity": self.capacity}

    def take_cached(self, positions, values, lengths, used, now, capacity):
        """Load the rows that cached() returned for another object with the same support patterns."""
        cdef Py_ssize_t p, length
        cdef const unsigned char[::1] source
        cdef char* row
        if values.shape != (len(positions), self.n) or len(used) != self.n or capacity < self.n:
            raise ValueError(f"rows of shape {values.shape} for {self.n} support patterns")
        values = np.ascontiguousarray(values, self.inputs.dtype)
        self.grow(capacity)
        np.asarray(self.used)[:self.n] = used
        self.now = now
        for p, length, taken in zip(positions, lengths, values, strict=True):
            if not 0 <= p < self.n <= length <= self.capacity or self.rows[p] != NULL:
                raise ValueError(f"no row can be that of support pattern {p}")
            source = taken.view(np.uint8)
            row = <char*>allocated(malloc(length * self.size))
            memcpy(row, &source[0], self.n * self.size)
            self.hold(p, row, length)

    def count(self, Py_ssize_t n_values):
        """Count kernel values that were computed elsewhere."""
        self.n_kernels += n_values

    @property
    def room(self) -> float:
        """Bytes of the cache that the rows of support patterns leave free."""
        return self.cache_bytes - self.n_bytes


def rbf_single(float[:, ::1] values, const float[::1] norms_a, const float[::1] norms_b, float gamma) -> bool:
    """exp(-gamma ||a - b||^2) in place of the inner products; False if one of them is not a number."""
    cdef Py_ssize_t k
    cdef bint finite = True
    if norms_a.shape[0] != values.shape[0] or norms_b.shape[0] != values.shape[1]:
        raise ValueError("each row and each column needs its norm")
    with nogil:
        for k in range(values.shape[0] if values.shape[1] else 0):
            finite &= rbf_row(&values[k, 0], norms_a[k], &norms_b[0], gamma, values.shape[1])
    return finite


def longer(array, n):
    """A copy with room for n values, zero where new."""
    values = np.asarray(array)[:n]
    result = np.zeros(n, dtype=values.dtype)
    result[:len(values)] = values
    return result


cdef void* allocated(void* block) except NULL:
    if block == NULL:
        raise MemoryError("not enough memory for kernel rows; use a smaller cache_size or fewer patterns")
    return block
