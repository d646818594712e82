# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The forward-backward algorithm of a linear chain: log Z, and the expected labels and pairs of labels.

It keeps exponentials, scaled at each token so that they sum to 1.
"""
from libc.math cimport exp, log
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memset

cdef extern from "structsvm/problems/sequence/_forward.h" nogil:
    void add_pairs(
        double* pairs, const double* previous, const double* after, Py_ssize_t n_labels, Py_ssize_t stride)

cdef enum:
    LANES = 8


cdef class Chain:
    """Subclasses fill `emission` and say in `spend` what becomes of the probabilities of a token."""

    def __init__(self, Py_ssize_t n_labels):
        cdef Py_ssize_t k
        self.n_labels = n_labels
        self.stride = (n_labels + LANES - 1) // LANES * LANES
        cdef Py_ssize_t size = self.stride * sizeof(double)
        self.after = <double*>calloc(2, size)
        self.table = <double*>calloc(n_labels, size)
        self.turned = <double*>calloc(n_labels, size)
        self.pairs = <double*>calloc(n_labels, size)
        self.share = <double*>calloc(1, size)
        self.ones = <double*>calloc(1, size)
        if (self.after == NULL or self.table == NULL or self.turned == NULL or self.pairs == NULL
                or self.share == NULL or self.ones == NULL):
            raise MemoryError(f"no memory for pairs of {n_labels} labels")
        for k in range(self.stride):
            self.ones[k] = 1
        self.widen(1)

    def __dealloc__(self):
        free(self.emission)
        free(self.forward)
        free(self.after)
        free(self.table)
        free(self.turned)
        free(self.pairs)
        free(self.share)
        free(self.ones)

    cdef int widen(self, Py_ssize_t n_tokens) except -1 nogil:
        """Make room for sentences of this many tokens."""
        cdef double* block
        cdef Py_ssize_t size = n_tokens * self.stride * sizeof(double)
        if n_tokens <= self.room:
            return 0
        block = <double*>realloc(self.emission, size)
        if block != NULL:
            self.emission = block
            block = <double*>realloc(self.forward, size)
        if block == NULL:
            with gil:
                raise MemoryError(f"no memory for a sentence of {n_tokens} tokens")
        self.forward, self.room = block, n_tokens
        return 0

    cdef void tabulate(self, const double* pairs, Py_ssize_t width, double scale) noexcept nogil:
        """Fill the tables of exp(weight) for pairs of labels; a label has a row of `width` weights."""
        cdef Py_ssize_t p, y, n = self.n_labels
        self.highest = pairs[0]
        for p in range(n):
            for y in range(n):
                self.highest = max(self.highest, pairs[p * width + y])
        self.highest *= scale
        memset(self.table, 0, n * self.stride * sizeof(double))
        memset(self.turned, 0, n * self.stride * sizeof(double))
        for p in range(n):
            for y in range(n):
                if self.barred == NULL or self.barred[p * self.stride + y] == 0:
                    self.table[p * self.stride + y] = exp(pairs[p * width + y] * scale - self.highest)
                    self.turned[y * self.stride + p] = self.table[p * self.stride + y]

    cdef double forwards(self, Py_ssize_t n) noexcept nogil:
        """Fill `forward`; return log Z, without what was subtracted from the scores.

        The result is not finite if no labelling is possible.
        """
        cdef Py_ssize_t t, y, stride = self.stride
        cdef double total = 0, logs = 0
        cdef double* row = self.forward
        for y in range(stride):
            row[y] = self.emission[y]
            total += row[y]
        for t in range(n):
            if t:
                row += stride
                total = forward_step(
                    row, row - stride, self.table, self.emission + t * stride, self.n_labels, stride)
            logs += log(total)
            for y in range(stride):
                row[y] /= total
        return logs

    cdef void backwards(self, Py_ssize_t first, Py_ssize_t n, double sign, double* out) noexcept nogil:
        """Spend sign times the probabilities of the labels of each token, and add up those of pairs.

        first: the number of the first token, for `spend`.
        """
        cdef Py_ssize_t t, y, stride = self.stride
        cdef double total
        cdef double* after = self.after
        cdef double* before = self.after + stride
        cdef double* row
        for y in range(stride):
            after[y] = 1
        for t in range(n - 1, -1, -1):
            row = self.forward + t * stride
            total = 0
            for y in range(stride):
                self.share[y] = row[y] * after[y]
                total += self.share[y]
            for y in range(stride):
                self.share[y] *= sign / total
            self.spend(first + t, out)
            if t == 0:
                return
            for y in range(stride):
                after[y] *= self.emission[t * stride + y]
            forward_step(before, after, self.turned, self.ones, self.n_labels, stride)
            total = 0
            for y in range(stride):
                total += row[y - stride] * before[y]
            for y in range(stride):
                after[y] *= sign / total
                before[y] /= total
            add_pairs(self.pairs, row - stride, after, self.n_labels, stride)
            after, before = before, after

    cdef void spend(self, Py_ssize_t token, double* out) noexcept nogil:
        """Use `share`, the probabilities of the labels of a token times a factor."""

    cdef void clear_pairs(self) noexcept nogil:
        memset(self.pairs, 0, self.n_labels * self.stride * sizeof(double))

    cdef void add_expected_pairs(self, double* out, Py_ssize_t width) noexcept nogil:
        """Add the sums over pairs of labels to rows of `width`, and clear them."""
        cdef Py_ssize_t p, y
        for p in range(self.n_labels):
            for y in range(self.n_labels):
                out[p * width + y] += self.pairs[p * self.stride + y] * self.table[p * self.stride + y]
        self.clear_pairs()
