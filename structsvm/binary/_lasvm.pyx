# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""LASVM (Algorithms 11 to 13 of the thesis): SMO, as two operations on examples that come one by one.

    max_alpha  sum_i alpha_i y_i - sum_ij alpha_i alpha_j k_ij / 2
    with       sum_i alpha_i = 0,   A_i = min(0, C_i y_i) <= alpha_i <= B_i = max(0, C_i y_i)

g_i = y_i - sum_s alpha_s k(x_s, x_i) is its gradient; (i, j) is a tau-violating pair if alpha_i < B_i,
alpha_j > A_j and g_i - g_j > tau. The pair with the greatest difference is kept at hand.
"""
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY
from libc.stdint cimport uint64_t

from structsvm.binary._machine cimport Machine

cdef int MOST_REPROCESS = 100_000       # after one example, should delta_max be out of reach
cdef int STEPS_PER_POLL = 1000          # between two looks at Ctrl-C


cdef class LaSVM(Machine):

    cdef readonly double dual
    cdef double tau, delta_max
    cdef Py_ssize_t i, j                    # the extreme pair in S, or -1
    cdef double g_i, g_j                    # infinite where there is none

    def __init__(self, inputs, *, double tau, double delta_max, double cache_mb, uint64_t seed):
        super().__init__(inputs, cache_mb=cache_mb, seed=seed)
        self.tau, self.delta_max = tau, delta_max
        self.extremes()

    cdef int visit(self, Py_ssize_t slot) except -1 nogil:
        """An online iteration: PROCESS, then REPROCESS once, or until delta is below delta_max."""
        cdef int n
        self.process(slot)
        for n in range(1, MOST_REPROCESS):
            if not self.reprocess(False) or self.g_i - self.g_j <= self.delta_max:
                break
            if n % STEPS_PER_POLL == 0:
                with gil:
                    PyErr_CheckSignals()
        return 0

    cdef int process(self, Py_ssize_t k) except -1 nogil:
        """PROCESS(k): put a fresh example into S if it violates, and move along that direction."""
        cdef double f, g
        cdef Py_ssize_t p
        if self.rows.position[k] >= 0:
            return 0
        f = self.score(k)
        g = self.labels[k] - f
        # The paper puts it into S first; one that does not violate would be the next to leave it.
        if (g - self.g_j if self.labels[k] > 0 else self.g_i - g) <= self.tau:
            return 0
        p = self.insert(k, f)
        if self.y[p] > 0 and self.j >= 0:
            return self.search(p, self.j)
        if self.y[p] < 0 and self.i >= 0:
            return self.search(self.i, p)
        return self.extremes()      # no partner yet: the first examples seed S

    cdef int reprocess(self, bint second_order) except -1 nogil:
        """REPROCESS: move along the most violating pair of S, then drop blatant non-support vectors.

        Or, to second order, along the pair of i that promises the greatest rise of the dual.
        """
        cdef Py_ssize_t s
        cdef double g_i, g_j
        if self.g_i - self.g_j <= self.tau or self.i < 0 or self.j < 0:
            return 0
        self.search(self.i, self.partner(self.i) if second_order else self.j)
        g_i, g_j = self.g_i, self.g_j
        for s in range(self.rows.n - 1, -1, -1):
            if self.alpha[s] == 0 and (
                    self.y[s] - self.f[s] >= g_i if self.y[s] < 0 else self.y[s] - self.f[s] <= g_j):
                self.i = self.j = -1
                self.remove(s)
        return self.extremes() if self.i < 0 else 1

    cdef int search(self, Py_ssize_t i, Py_ssize_t j) except -1 nogil:
        """The direction search: alpha_i += step, alpha_j -= step, while the dual rises and the box allows."""
        cdef char* row_i = self.rows.fetch(i)
        cdef char* row_j = self.rows.fetch(j)
        cdef double gap = (self.y[i] - self.f[i]) - (self.y[j] - self.f[j])
        cdef double curvature = self.rows.diagonal[i] + self.rows.diagonal[j] - 2 * self.rows.get(row_i, j)
        cdef double up = (self.upper[i] if self.y[i] > 0 else 0) - self.alpha[i]
        cdef double down = self.alpha[j] - (0 if self.y[j] > 0 else -self.upper[j])
        cdef double step = min(up, down)
        if gap < step * curvature:
            step = gap / curvature
        # Bounds are reached exactly: what is zero leaves S, what is at C can move one way only.
        self.alpha[i] = (self.upper[i] if self.y[i] > 0 else 0) if step == up else self.alpha[i] + step
        self.alpha[j] = (0 if self.y[j] > 0 else -self.upper[j]) if step == down else self.alpha[j] - step
        self.rows.add(&self.f[0], step, row_i)
        self.rows.add(&self.f[0], -step, row_j)
        self.dual += step * gap - 0.5 * step * step * curvature
        self.n_steps += 1
        return self.extremes()

    cdef Py_ssize_t partner(self, Py_ssize_t i) except -1 nogil:
        """argmax (g_i - g_j)^2 / (k_ii + k_jj - 2 k_ij) with alpha_j > A_j, as libsvm has it."""
        cdef char* row = self.rows.fetch(i)
        cdef bint single = self.rows.single
        cdef Py_ssize_t s, best = self.j
        cdef double gap, curvature, k_ii = self.rows.diagonal[i], most = 0
        for s in range(self.rows.n):
            gap = self.g_i - self.y[s] + self.f[s]
            if gap > 0 and self.alpha[s] > (0 if self.y[s] > 0 else -self.upper[s]):
                curvature = (<float*>row)[s] if single else (<double*>row)[s]
                curvature = max(k_ii + self.rows.diagonal[s] - 2 * curvature, 1e-12)
                if gap * gap > most * curvature:
                    best, most = s, gap * gap / curvature
        return best

    cdef int extremes(self) noexcept nogil:
        """i = argmax g with alpha < B, j = argmin g with alpha > A; the bias lies between their gradients."""
        cdef Py_ssize_t s
        cdef double g
        self.i = self.j = -1
        self.g_i, self.g_j = -INFINITY, INFINITY
        for s in range(self.rows.n):
            g = self.y[s] - self.f[s]
            if g > self.g_i and self.alpha[s] < (self.upper[s] if self.y[s] > 0 else 0):
                self.i, self.g_i = s, g
            if g < self.g_j and self.alpha[s] > (0 if self.y[s] > 0 else -self.upper[s]):
                self.j, self.g_j = s, g
        # Without a partner any example violates.
        if self.i < 0:
            self.g_i = INFINITY
        if self.j < 0:
            self.g_j = -INFINITY
        if self.i >= 0 and self.j >= 0:
            self.bias = (self.g_i + self.g_j) / 2
        return 1

    # -- from Python ----------------------------------------------------------------------------

    def finish(self, Py_ssize_t limit) -> bool:
        """At most `limit` REPROCESS, to second order, which takes fewer; whether none violates any more."""
        cdef Py_ssize_t _
        with nogil:
            for _ in range(limit):
                if not self.reprocess(True):
                    break
                self.rows.settle()
        return self.delta <= self.tau

    @property
    def delta(self) -> float:
        """g_i - g_j: the uncertainty about the bias, and what PROCESS goes by."""
        return self.g_i - self.g_j if self.i >= 0 and self.j >= 0 else 0.0

    def scalars(self):
        return [self.dual]

    def take_scalars(self, values):
        self.dual = values[0]
        self.extremes()
