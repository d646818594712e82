# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""`GramDual`: the linear dual for inputs that are known only by their kernel matrix K.

The oracle gets inputs by number: input r has one feature, row r of the weights, with a weight for each of
`stride` labels. A difference d then has an entry for each (input, label) in which two outputs differ. With

    <d, d'> = sum of d[r, y] d'[s, y] K[r, s]  over inputs r, s and labels y

every form of the dual in `LinearDual` is a kernel machine. In place of w it keeps the scores K A of
the inputs, A = sum alpha d, which the oracle reads as weights: a step adds rows of K to them. The first
`offset` weights, the transitions of sequences, belong to no input. Their kernel is eta^2 [same transition].

A step costs n multiply-adds for each entry of its differences, and the whole matrix must be in memory.
"""
from libc.math cimport INFINITY
from libc.stdint cimport uint64_t

from structsvm._dual.difference cimport Difference, difference_add
from structsvm._dual.dual cimport Dual
from structsvm._dual.linear cimport LinearDual, Output
from structsvm._dual.oracle cimport Oracle

import numpy as np

from structsvm._dual.kernel import NO_WEIGHTS
from structsvm.machine import Unsupported

INDEFINITE = "the kernel is not positive semi-definite: it gives a vector a negative squared length"
cdef double ROUNDING = 1e-9
cdef Py_ssize_t ROWS = 128      # inputs whose weights stay in the fastest cache


cdef double entry(const Difference* d, Py_ssize_t k) noexcept nogil:
    """The value of an entry."""
    return 1 if k < d.plus else -1 if k < d.minus else d.value[k - d.minus]


cdef void add_strided(
    double* w, Py_ssize_t stride, double a, const double* row, Py_ssize_t start, Py_ssize_t stop
) noexcept nogil:
    """w[r * stride] += a row[r] for r from start to stop."""
    cdef Py_ssize_t r
    for r in range(start, stop):
        w[r * stride] += a * row[r]


cdef class GramDual(LinearDual):
    """maximise sum alpha Delta - A' K A / 2 with alpha >= 0, sum_y alpha_iy <= C_i and A = sum alpha d."""

    cdef const double[:, ::1] gram
    cdef Py_ssize_t offset, stride
    cdef double eta2
    cdef object sums                    # A
    cdef double* A
    cdef double largest                 # value on the diagonal
    cdef bint indefinite                # a squared length was negative

    def __init__(
        self, Oracle oracle, gram, *, Py_ssize_t offset, Py_ssize_t stride, double eta, double C, double tau,
        double kappa, uint64_t seed,
    ):
        self.gram = gram
        if self.gram.shape[0] != self.gram.shape[1] or offset < 0 or stride < 1:
            raise ValueError(
                f"invalid kernel matrix of shape {np.shape(gram)}, offset {offset} or stride {stride}")
        self.offset, self.stride, self.eta2 = offset, stride, eta * eta
        self.largest = max(self.eta2, np.max(np.diagonal(gram), initial=0))
        self.sums = np.zeros(offset + len(gram) * stride)
        cdef double[::1] view = self.sums
        self.A = &view[0] if len(view) else NULL
        super().__init__(
            oracle, C=C, tau=tau, kappa=kappa, seed=seed, n_weights=len(self.sums), dense=True)
        self.takes_pairs = False

    cdef void shift(self, double step, Output* out) noexcept nogil:
        cdef const Difference* d = &out.d
        cdef Py_ssize_t k, at, start = 0, n = self.gram.shape[0]
        difference_add(self.A, step, d)
        while start < n:    # in blocks that stay in the cache, because the weights of a label are far apart
            for k in range(d.n):
                at = d.index[k] - self.offset
                if at >= 0:
                    add_strided(
                        self.w + self.offset + at % self.stride, self.stride, step * entry(d, k),
                        &self.gram[at // self.stride, 0], start, min(start + ROWS, n))
                elif start == 0:
                    self.w[d.index[k]] += self.eta2 * step * entry(d, k)
            start += ROWS
        self.cost += d.n * n

    cdef double inner(self, const Difference* a, const Difference* b) noexcept nogil:
        cdef Py_ssize_t j, k, at, other
        cdef double total = 0
        for j in range(a.n):
            at = a.index[j] - self.offset
            for k in range(b.n):
                other = b.index[k] - self.offset
                if at < 0 or other < 0:
                    total += self.eta2 * entry(a, j) * entry(b, k) if at == other else 0
                elif at % self.stride == other % self.stride:
                    total += entry(a, j) * entry(b, k) * self.gram[at // self.stride, other // self.stride]
        if a == b and total < -ROUNDING * a.n * a.n * self.largest:
            self.indefinite = True
        return total

    cdef int poll(self) except -1 nogil:
        if self.indefinite or not self.dual < INFINITY:
            with gil:
                raise ValueError(INDEFINITE)
        return Dual.poll(self)

    # -- from Python ----------------------------------------------------------------------------

    def grow(self, Py_ssize_t n_weights):
        if n_weights > len(self.sums):
            raise ValueError(f"{n_weights} weights, but the kernel matrix has inputs for {len(self.sums)}")
        LinearDual.grow(self, len(self.sums))

    @property
    def norm(self) -> float:
        """||w||^2."""
        return float(self.sums @ self.array)

    @property
    def n_kernels(self) -> int:
        """Kernel values computed."""
        return self.gram.shape[0] ** 2

    @property
    def weights(self):
        """Raise Unsupported: w exists only implicitly."""
        raise Unsupported(NO_WEIGHTS)

    @property
    def n_weights(self):
        """Raise Unsupported: w exists only implicitly."""
        raise Unsupported(NO_WEIGHTS)

    def weights_at(self, places):
        """Raise Unsupported: w exists only implicitly."""
        raise Unsupported(NO_WEIGHTS)

    def coefficients(self) -> np.ndarray:
        """A, in the order of the weights: w = sum of A[r, y] Phi(input r, y)."""
        return self.sums.copy()

    def start_from(self, weights):
        """Raise Unsupported: there is no w to set."""
        raise Unsupported("a kernel machine has no weight vector: train it, or load a pickle")

    def forget_rows(self, row_of, stride):
        """Raise Unsupported: the inputs have a kernel, not features."""
        raise Unsupported("a kernel machine has no features to forget")

    def restore(self, state: dict):
        """Load a state() into a new machine; the oracle must hold the support patterns in its slots."""
        cdef Py_ssize_t position, k
        if len(state["weights"]) != len(self.sums):
            raise ValueError("the saved training state is inconsistent with the kernel matrix")
        LinearDual.restore(self, state)
        for position in range(self.n_patterns):
            for k in range(self.patterns[position].n):
                difference_add(self.A, self.patterns[position].outputs[k].alpha,
                               &self.patterns[position].outputs[k].d)
