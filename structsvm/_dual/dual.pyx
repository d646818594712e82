# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""`Dual`: the three steps of LaRank, which `LinearDual` (with w) and `KernelDual` (with scores) spell out."""

from libc.stdint cimport int32_t
from libc.string cimport memmove, memset

from structsvm.signals cimport check_signals
from structsvm.rng cimport rng_below

import numpy as np

# Multiply-adds between two checks for Ctrl-C: 5 ms, or 100 ms if w is not in a cache.
cdef double COST_PER_POLL = 1e7
cdef double LEAST_MARGIN = 3e-4     # of a hard-margin problem, in units of the largest ||d|| / Delta
NOT_SEPARABLE = (
    f"the training set is not separable with a margin of at least {LEAST_MARGIN:g} times the largest "
    "difference of joint features; use a finite C")
cdef Py_ssize_t LONG = 1_000_000    # entries of a difference, after which we check for Ctrl-C within a step


cdef class Dual:
    """A dual objective that PROCESSNEW, PROCESSOLD and OPTIMIZE increase; a step returns 1 if it moved."""

    def __reduce__(self):
        raise TypeError("a dual holds raw memory: use its state() and restore()")

    cdef int process_new(self, Py_ssize_t slot) except -1 nogil:
        """PROCESSNEW: unless it is a support pattern, step from its true output to its most violated one."""
        return 0

    cdef int process_old(self, Py_ssize_t position) except -1 nogil:
        """PROCESSOLD: step along the steepest feasible direction of a support pattern, over all outputs."""
        return 0

    cdef int optimize(self, Py_ssize_t position) except -1 nogil:
        """OPTIMIZE: the same over the support outputs of the pattern only."""
        return 0

    cdef int optimize_burst(self) except -1 nogil:
        """Ten OPTIMIZE, all drawn first: support patterns lie all over memory, and are fetched together."""
        cdef Py_ssize_t[OPTIMIZE_BURST] drawn
        cdef int k, stage
        if self.n_patterns == 0:
            return 0
        for k in range(OPTIMIZE_BURST):
            drawn[k] = self.pick()
        for stage in range(3):
            for k in range(OPTIMIZE_BURST):
                self.prefetch(drawn[k], stage)
        self.prefetch(drawn[0], 3)
        for k in range(OPTIMIZE_BURST):
            if k + 1 < OPTIMIZE_BURST and drawn[k + 1] < self.n_patterns:
                self.prefetch(drawn[k + 1], 3)
            if drawn[k] < self.n_patterns:      # a step before may have removed a pattern
                self.optimize(drawn[k])
                self.poll()
        return 0

    cdef void prefetch(self, Py_ssize_t position, int stage) noexcept nogil:
        """Prefetch the memory of a support pattern; each stage prefetches what the next stage reads."""

    cdef int cut(self, Py_ssize_t slot, double epsilon) except -1 nogil:
        """Step towards the pattern's most violated output if it exceeds the current slack by epsilon.

        With a negative epsilon every visit makes the best step there is, as PROCESSNEW or PROCESSOLD.
        """
        return 0

    def prepare(self, slots):
        """Prepare a visit of these slots; called before their first step."""

    def visit(self, const Py_ssize_t[::1] slots):
        """The passive-aggressive algorithm: one step for each visit, of the size that maximises the dual.

        On later visits of a support pattern its own coefficients move too.
        """
        cdef Py_ssize_t k
        self.prepare(slots)
        with nogil:
            for k in range(slots.shape[0]):
                self.cut(slots[k], -1)
                self.poll()

    @property
    def n_vectors(self) -> int:
        """Pairs (pattern, output) with a non-zero coefficient, true outputs included."""
        return self.n_outputs + self.n_patterns

    def primal_bound(self) -> float:
        """A lower bound of the primal, if there is one that costs less than the primal itself."""
        return -np.inf

    cdef int poll(self) except -1 nogil:
        """Check the limit between two steps, and check for Ctrl-C after much computation."""
        if self.limit > 0 and self.dual > self.limit:
            with gil:
                raise ValueError(NOT_SEPARABLE)
        if self.cost - self.polled > COST_PER_POLL:
            self.polled = self.cost
            with gil:
                check_signals()
        return 0

    cdef int pause(self, Py_ssize_t n) except -1 nogil:
        """Check for Ctrl-C within a step, after a pass over n entries of a difference, if n is large."""
        if n > LONG:
            with gil:
                check_signals()
        return 0

    cdef void require_margin(self, double norm, double loss) noexcept nogil:
        """Lower the limit for a constraint <w, d> >= loss of a hard-margin problem; norm: ||d||^2.

        No dual value exceeds ||w||^2 / 2 for any w that satisfies all constraints; the margin is 1 / ||w||.
        A constraint with loss 0 sets no scale: if w satisfies it, so does every multiple of w.
        """
        if norm > 0 and loss * loss > 0:
            self.limit = min(self.limit, loss * loss / (2 * LEAST_MARGIN * LEAST_MARGIN * norm))

    cdef Py_ssize_t pick(self) noexcept nogil:
        """A support pattern drawn at random, or -1 if there is none."""
        return rng_below(&self.rng, self.n_patterns) if self.n_patterns else -1


def lengthened(array, Py_ssize_t n):
    """The array with zeros up to length n. It may be part of a longer one: small steps cost little.

    To be used on arrays that it made itself, and on those that own their memory.
    """
    whole = array if array.base is None else array.base
    if n > len(whole):
        whole = np.zeros(2 * n if len(array) else n)
        whole[:len(array)] = array
    return whole[:n]


def shortened(array, const int32_t[::1] row_of, Py_ssize_t stride):
    """Move the rows of an array, each `stride` long, to their new numbers; return the part that they fill.

    row_of: the new number of each row, in the same order, or -1 to drop it. The rest of the array becomes
    zero, so that `lengthened` can use it again.
    """
    cdef double[::1] w = array
    cdef Py_ssize_t row, end = 0, n_rows = w.shape[0] // stride
    if w.shape[0] % stride or n_rows > row_of.shape[0]:
        raise ValueError(f"{row_of.shape[0]} rows of {stride} for {w.shape[0]} weights")
    for row in range(n_rows):
        if row_of[row] >= 0:
            memmove(&w[end * stride], &w[row * stride], stride * sizeof(double))
            end += 1
    if end < n_rows:
        memset(&w[end * stride], 0, (n_rows - end) * stride * sizeof(double))
    return array[:end * stride]
