# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The kernel perceptron, its budget variant and the passive-aggressive algorithm (Algorithms 2 to 4)."""
from libc.stdint cimport uint64_t

from structsvm.binary._machine cimport Machine

import numpy as np

from structsvm.kernels.kernel_cache import longer


cdef class OnlinePerceptron(Machine):
    """Where y f(x) <= margin, alpha += y times the weight of x; aggressive: y min(C, (1 - y f(x)) / k(x, x)).

    Beyond the budget, the support vector that is classified best without itself leaves. With `average`, the
    coefficients are the mean of alpha over all visits: a change at visit t counts for 1 - (t - 1) / visits.
    """

    cdef double margin
    cdef bint aggressive, average
    cdef Py_ssize_t budget
    cdef double visits
    cdef double[::1] missed                 # sum of the changes of alpha, each times the visits before it

    def __init__(
        self, inputs, *, double margin, bint aggressive, Py_ssize_t budget, double cache_mb, uint64_t seed,
        bint average=False,
    ):
        super().__init__(inputs, cache_mb=cache_mb, seed=seed)
        self.margin, self.aggressive, self.budget, self.average = margin, aggressive, budget, average
        self.missed = np.zeros(0)

    cdef int visit(self, Py_ssize_t slot) except -1 nogil:
        cdef double y = self.labels[slot], f = self.score(slot), size = self.uppers[slot]
        cdef Py_ssize_t p = self.rows.position[slot]
        self.visits += 1
        if y * f > self.margin:
            return 0
        if self.aggressive:
            size = self.rows.diagonal[p] if p >= 0 else self.rows.own(slot)
            if size <= 0:
                return 0        # no step along a zero vector changes f
            size = min(self.uppers[slot], (1 - y * f) / size)
            if size <= 0:
                return 0
        if p < 0:
            p = self.insert(slot, f)
            self.missed[p] = 0
        self.change(p, y * size)
        self.missed[p] += y * size * (self.visits - 1)
        if self.rows.n > self.budget:
            p = self.most_redundant()
            self.change(p, -self.alpha[p])
            self.remove(p)
        return 1

    cdef Py_ssize_t most_redundant(self) noexcept nogil:
        """argmax y_i (f(x_i) - alpha_i k(x_i, x_i))."""
        cdef Py_ssize_t s, best = 0
        cdef double value, most = 0
        for s in range(self.rows.n):
            value = self.y[s] * (self.f[s] - self.alpha[s] * self.rows.diagonal[s])
            if s == 0 or value > most:
                best, most = s, value
        return best

    cdef void reserve(self, Py_ssize_t capacity):
        self.missed = longer(self.missed, capacity)
        Machine.reserve(self, capacity)

    @property
    def coefficients(self) -> np.ndarray:
        """alpha of the support patterns, averaged if `average` is set."""
        cdef Py_ssize_t n = self.rows.n
        alpha = np.array(self.alpha[:n])
        return alpha - np.asarray(self.missed)[:n] / self.visits if self.average and self.visits else alpha

    def state(self) -> dict:
        missed = {"missed": np.array(self.missed[:self.rows.n])} if self.average else {}
        return super().state() | missed

    def restore(self, state: dict):
        super().restore(state)
        if self.average:
            np.asarray(self.missed)[:self.rows.n] = state["missed"]

    def scalars(self) -> list:
        return [self.visits] if self.average else []

    def take_scalars(self, values):
        if self.average:
            if not 0 <= values[0] < 2**53:
                raise ValueError(f"the number of visits is {values[0]}")
            self.visits = values[0]
