# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The kernel perceptron, its budget variant and the passive-aggressive algorithm (Algorithms 2 to 4)."""
from libc.stdint cimport uint64_t

from structsvm.binary._machine cimport Machine


cdef class OnlinePerceptron(Machine):
    """Where y f(x) <= margin, alpha += y times the weight of x; aggressive: y min(C, (1 - y f(x)) / k(x, x)).

    Beyond the budget, the support vector that is classified best without itself leaves.
    """

    cdef double margin
    cdef bint aggressive
    cdef Py_ssize_t budget

    def __init__(
        self, inputs, *, double margin, bint aggressive, Py_ssize_t budget, double cache_mb, uint64_t seed
    ):
        super().__init__(inputs, cache_mb=cache_mb, seed=seed)
        self.margin, self.aggressive, self.budget = margin, aggressive, budget

    cdef int visit(self, Py_ssize_t slot) except -1 nogil:
        cdef double y = self.labels[slot], f = self.score(slot), size = self.uppers[slot]
        cdef Py_ssize_t p = self.rows.position[slot]
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
        self.change(p, y * size)
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
