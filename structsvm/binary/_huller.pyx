# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The Huller (Algorithms 9 and 10 of the thesis): the nearest points X_P and X_N of two convex hulls.

    min ||X_P - X_N||^2,   X_P = sum of |alpha_i| x_i over the positive examples, X_N over the negative ones,
                           sum |alpha_i| = 1 for each

The hyperplane halfway between them is that of the hard-margin SVM.
"""
from libc.math cimport INFINITY
from libc.stdint cimport uint64_t

from structsvm.rng cimport rng_below
from structsvm.binary._machine cimport Machine


cdef class Huller(Machine):

    cdef double pp, nn, pn                  # ||X_P||^2, ||X_N||^2 and <X_P, X_N>
    cdef Py_ssize_t n_positive, n_negative

    def __init__(self, inputs, *, double cache_mb, uint64_t seed):
        super().__init__(inputs, cache_mb=cache_mb, seed=seed)

    cdef int visit(self, Py_ssize_t slot) except -1 nogil:
        """PROCESS an example that is not a support vector, then REPROCESS one that is, drawn at random."""
        if self.rows.position[slot] < 0:
            self.update(-1, slot)
        if self.n_positive and self.n_negative:
            self.update(rng_below(&self.rng, self.rows.n), -1)
        return 0

    cdef int update(self, Py_ssize_t p, Py_ssize_t slot) except -1 nogil:
        """HULLERUPDATE: move X_P or X_N on the line to an example, support vector p or a fresh one."""
        cdef char* row = self.rows.fetch(p) if p >= 0 else self.rows.fresh(slot)
        cdef double sign = self.y[p] if p >= 0 else self.labels[slot]
        cdef double kk = self.rows.diagonal[p] if p >= 0 else self.rows.own(slot)
        cdef double alpha = sign * self.alpha[p] if p >= 0 else 0
        cdef double kp = 0, kn = 0, own, other, norm, length, step
        cdef Py_ssize_t s
        for s in range(self.rows.n):
            if self.y[s] > 0:
                kp += self.alpha[s] * self.rows.get(row, s)
            else:
                kn -= self.alpha[s] * self.rows.get(row, s)
        cdef double lowest = -alpha / (1 - alpha) if alpha < 1 else -INFINITY       # there alpha is 0
        if (self.n_positive if sign > 0 else self.n_negative) == 0:
            step = 1                                        # the first example of its class is its hull
        else:
            own, other, norm = (kp, kn, self.pp) if sign > 0 else (kn, kp, self.nn)
            length = norm + kk - 2 * own                    # ||X - x_k||^2
            if length <= 1e-12 * (norm + kk):
                return 0
            step = min(1.0, max(lowest, (norm - self.pn - own + other) / length))
        if step == 0:
            return 0
        self.move(sign, step, kp, kn, kk)
        if p < 0:
            p = self.insert(slot, 0)
            self.n_positive += sign > 0
            self.n_negative += sign < 0
        for s in range(self.rows.n):
            if self.y[s] == sign:
                self.alpha[s] *= 1 - step
        self.alpha[p] = 0 if step == lowest else sign * ((1 - step) * alpha + step)
        self.n_steps += 1
        return self.sweep(sign) if step == 1 else self.leave(p) if step == lowest else 0

    cdef void move(self, double sign, double step, double kp, double kn, double kk) noexcept nogil:
        """Equations (4.9) and (4.10)."""
        cdef double rest = 1 - step
        if sign > 0:
            self.pp = rest * rest * self.pp + 2 * step * rest * kp + step * step * kk
            self.pn = rest * self.pn + step * kn
        else:
            self.nn = rest * rest * self.nn + 2 * step * rest * kn + step * step * kk
            self.pn = rest * self.pn + step * kp
        self.bias = (self.nn - self.pp) / 2

    cdef int leave(self, Py_ssize_t p) except -1 nogil:
        self.n_positive -= self.y[p] > 0
        self.n_negative -= self.y[p] < 0
        return self.remove(p)

    cdef int sweep(self, double sign) except -1 nogil:
        """The nearest point is an example: remove all others of its class."""
        cdef Py_ssize_t s
        for s in range(self.rows.n - 1, -1, -1):
            if self.y[s] == sign and self.alpha[s] == 0:
                self.leave(s)
        return 0

    @property
    def distance(self) -> float:
        """||X_P - X_N||, the width of the margin."""
        return max(self.pp + self.nn - 2 * self.pn, 0.0) ** 0.5

    def scalars(self):
        return [self.pp, self.nn, self.pn]

    def take_scalars(self, values):
        self.pp, self.nn, self.pn = values
        cdef Py_ssize_t s
        self.n_positive = self.n_negative = 0
        for s in range(self.rows.n):
            self.n_positive += self.y[s] > 0
            self.n_negative += self.y[s] < 0
