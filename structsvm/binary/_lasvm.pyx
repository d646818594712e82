# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""LASVM (Algorithms 11 to 13 of the thesis): SMO, as two operations on examples that come one by one.

    max_alpha  sum_i alpha_i y_i - sum_ij alpha_i alpha_j k_ij / 2
    with       sum_i alpha_i = 0,   A_i = min(0, C_i y_i) <= alpha_i <= B_i = max(0, C_i y_i)

g_i = y_i - sum_s alpha_s k(x_s, x_i) is its gradient; (i, j) is a tau-violating pair if alpha_i < B_i,
alpha_j > A_j and g_i - g_j > tau. The pair with the greatest difference is kept at hand.
"""
from libc.math cimport INFINITY
from libc.stdint cimport uint64_t

import numpy as np

from structsvm.binary._machine cimport Machine
from structsvm.signals cimport check_signals

from structsvm.kernels.kernel_cache import longer

cdef extern from "structsvm/binary/_smo.h" nogil:
    ctypedef struct Extremes:
        double highest, lowest
        Py_ssize_t i, j
    Py_ssize_t last_blatant(const double* alpha, const double* y, const double* f, double g_i, double g_j,
                            Py_ssize_t n)
    void extremes_single(Extremes* found, const float* rise, const float* fall, double* f, double step,
                         const char* x, const char* z, Py_ssize_t n)
    void extremes_double(Extremes* found, const float* rise, const float* fall, double* f, double step,
                         const char* x, const char* z, Py_ssize_t n)
    Py_ssize_t partner_single(const char* row, const double* diagonal, const float* fall, const double* f,
                              double g_i, double k_ii, Py_ssize_t n)
    Py_ssize_t partner_double(const char* row, const double* diagonal, const float* fall, const double* f,
                              double g_i, double k_ii, Py_ssize_t n)
    void axpy_single(double* y, double a, const float* x, Py_ssize_t n)
    void axpy_double(double* y, double a, const double* x, Py_ssize_t n)

cdef Py_ssize_t ALL = 2**62
cdef int MOST_REPROCESS = 100_000       # after one example, should delta_max be out of reach
cdef int STEPS_PER_POLL = 1000          # between two checks for Ctrl-C
SHRINK = 0.6                            # S is reordered if at most this share has to move


cdef class LaSVM(Machine):

    cdef readonly double dual
    cdef double tau, delta_max
    cdef Py_ssize_t i, j                    # the extreme pair in S, or -1
    cdef double g_i, g_j                    # infinite where there is none
    cdef float[::1] rise, fall              # y where alpha may rise (fall), else -inf (inf)
    cdef Py_ssize_t n_active                # steps use the first of S only; the others are inactive

    def __init__(self, inputs, *, double tau, double delta_max, double cache_mb, uint64_t seed):
        super().__init__(inputs, cache_mb=cache_mb, seed=seed)
        self.tau, self.delta_max, self.n_active = tau, delta_max, ALL
        self.rise = self.fall = np.zeros(0, np.float32)
        self.extremes()

    cdef int visit(self, Py_ssize_t slot) except -1 nogil:
        """An online iteration: PROCESS, then REPROCESS once, or until delta is below delta_max."""
        cdef int n
        self.process(slot)
        for n in range(1, MOST_REPROCESS):
            if not self.reprocess() or self.g_i - self.g_j <= self.delta_max:
                break
            if n % STEPS_PER_POLL == 0:
                with gil:
                    check_signals()
        return 0

    cdef int process(self, Py_ssize_t k) except -1 nogil:
        """PROCESS(k): put a fresh example into S if it violates, and move along that direction."""
        cdef double f, g
        cdef Py_ssize_t p
        if self.rows.position[k] >= 0:
            return 0
        f = self.score(k)
        g = self.labels[k] - f
        # The paper first adds it to S; without a violation it would be the next to leave.
        if (g - self.g_j if self.labels[k] > 0 else self.g_i - g) <= self.tau:
            return 0
        p = self.insert(k, f)
        self.limit(p)
        if self.y[p] > 0 and self.j >= 0:
            return self.search(p, self.j)
        if self.y[p] < 0 and self.i >= 0:
            return self.search(self.i, p)
        return self.extremes()      # no partner yet: the first examples start S

    cdef int reprocess(self) except -1 nogil:
        """REPROCESS: move along the most violating pair of S, then drop blatant non-support vectors."""
        cdef Py_ssize_t s
        cdef double g_i, g_j
        if self.g_i - self.g_j <= self.tau or self.i < 0 or self.j < 0:
            return 0
        self.search(self.i, self.j)
        g_i, g_j = self.g_i, self.g_j
        s = self.rows.n
        while s > 0:
            s = last_blatant(&self.alpha[0], &self.y[0], &self.f[0], g_i, g_j, s)
            if s >= 0:
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
        # Bounds are reached exactly: patterns at 0 leave S, patterns at C can only move back.
        self.alpha[i] = (self.upper[i] if self.y[i] > 0 else 0) if step == up else self.alpha[i] + step
        self.alpha[j] = (0 if self.y[j] > 0 else -self.upper[j]) if step == down else self.alpha[j] - step
        self.limit(i)
        self.limit(j)
        self.dual += step * gap - 0.5 * step * step * curvature
        self.n_steps += 1
        return self.moved(step, row_i, row_j)

    cdef void limit(self, Py_ssize_t p) noexcept nogil:
        """Set `rise` and `fall` of alpha_p."""
        cdef double y = self.y[p], alpha = self.alpha[p], upper = self.upper[p]
        self.rise[p] = <float>y if alpha < (upper if y > 0 else 0) else -INFINITY
        self.fall[p] = <float>y if alpha > (0 if y > 0 else -upper) else INFINITY

    cdef void limit_all(self) noexcept:
        cdef Py_ssize_t p
        for p in range(self.rows.n):
            self.limit(p)

    cdef int remove(self, Py_ssize_t p) except -1 nogil:
        Machine.remove(self, p)
        self.limit(p)
        return 0

    cdef void reserve(self, Py_ssize_t capacity):
        self.rise, self.fall = longer(self.rise, capacity), longer(self.fall, capacity)
        Machine.reserve(self, capacity)

    cdef int extremes(self) noexcept nogil:
        """i = argmax g with alpha < B, j = argmin g with alpha > A; the bias lies between their gradients."""
        return self.moved(0, NULL, NULL)

    cdef int moved(self, double step, const char* row_i, const char* row_j) noexcept nogil:
        """f += step (row_i - row_j), if there are rows, and the extremes after it, in one pass."""
        cdef Extremes found
        cdef Py_ssize_t n = min(self.n_active, self.rows.n)
        self.i = self.j = -1
        if n:
            if self.rows.single:
                extremes_single(&found, &self.rise[0], &self.fall[0], &self.f[0], step, row_i, row_j, n)
            else:
                extremes_double(&found, &self.rise[0], &self.fall[0], &self.f[0], step, row_i, row_j, n)
            self.i, self.j, self.g_i, self.g_j = found.i, found.j, found.highest, found.lowest
        # Without a partner any example violates.
        if self.i < 0:
            self.g_i = INFINITY
        if self.j < 0:
            self.g_j = -INFINITY
        if self.i >= 0 and self.j >= 0:
            self.bias = (self.g_i + self.g_j) / 2
        return 1

    # -- the finishing step ---------------------------------------------------------------------

    def finish(self, Py_ssize_t limit) -> bool:
        """Make at most `limit` REPROCESS; True if no pair violates any more.

        To second order, as libsvm takes them: fewer steps. They look only at those of S that could move: what
        is at C, and would have to leave it by more than the present gap, rests until the end.
        """
        cdef Py_ssize_t _
        check_signals()
        if self.delta <= self.tau:
            return True
        self.rest()
        alpha, f, dual = np.array(self.alpha[:self.n_active]), np.array(self.f[:self.n_active]), self.dual
        try:
            with nogil:
                self.extremes()
                for _ in range(limit):
                    if self.g_i - self.g_j <= self.tau or self.i < 0 or self.j < 0:
                        break
                    self.search(self.i, self.partner())
            self.wake(np.asarray(self.alpha)[:self.n_active] - alpha)
        except BaseException:       # of a kernel row, without which f is not known
            np.asarray(self.alpha)[:len(alpha)], np.asarray(self.f)[:len(f)], self.dual = alpha, f, dual
            self.limit_all()
            raise
        finally:
            self.n_active = ALL
            self.extremes()
        self.rows.settle()
        return self.delta <= self.tau

    cdef Py_ssize_t partner(self) except -1 nogil:
        """argmax_j (g_i - g_j)^2 / (k_ii + k_jj - 2 k_ij), the promised gain of a step, as in libsvm."""
        cdef char* row = self.rows.fetch(self.i)
        cdef double k_ii = self.rows.diagonal[self.i]
        cdef Py_ssize_t j
        if self.rows.single:
            j = partner_single(row, &self.rows.diagonal[0], &self.fall[0], &self.f[0], self.g_i, k_ii,
                               self.n_active)
        else:
            j = partner_double(row, &self.rows.diagonal[0], &self.fall[0], &self.f[0], self.g_i, k_ii,
                               self.n_active)
        return j if j >= 0 else self.j

    def rest(self):
        """Order S by whether alpha can move, and drop blatant non-support vectors, if this saves time."""
        cdef Py_ssize_t n = self.rows.n
        alpha, y, upper = np.asarray(self.alpha)[:n], np.asarray(self.y)[:n], np.asarray(self.upper)[:n]
        g = y - np.asarray(self.f)[:n]
        beyond = np.where(y > 0, g >= self.g_i, g <= self.g_j)      # at C, and the gradient raises alpha
        outside = np.where(y > 0, g <= self.g_j, g >= self.g_i)
        idle = np.where(alpha == 0, outside, beyond & (alpha == y * upper))
        moving = np.flatnonzero(~idle)
        last = int(moving.max()) + 1
        if len(moving) < SHRINK * last:
            last = len(moving)
            self.reorder(np.concatenate([moving, np.flatnonzero(idle & (alpha != 0))]))
            self.limit_all()
        self.n_active = last

    def wake(self, const double[::1] steps):
        """Update f of the inactive patterns after steps among the active ones."""
        cdef Py_ssize_t p, n = self.rows.n - self.n_active
        if n == 0:
            return
        change = np.zeros(n)
        cdef double[::1] total = change
        cdef char* row
        with nogil:
            for p in range(steps.shape[0]):
                if steps[p] != 0:
                    row = self.rows.fetch(p) + self.n_active * self.rows.size
                    if self.rows.single:
                        axpy_single(&total[0], steps[p], <float*>row, n)
                    else:
                        axpy_double(&total[0], steps[p], <double*>row, n)
        np.asarray(self.f)[self.n_active:self.rows.n] += change

    # -- from Python ----------------------------------------------------------------------------

    @property
    def delta(self) -> float:
        """g_i - g_j: the uncertainty about the bias."""
        return self.g_i - self.g_j if self.i >= 0 and self.j >= 0 else 0.0

    def scalars(self):
        return [self.dual]

    def take_scalars(self, values):
        self.dual = values[0]
        self.limit_all()
        self.extremes()
