# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The averaged tracking algorithms (Algorithms 15 and 16 of the thesis), with the quantities of their bounds.

After each new example, K steps of dual coordinate ascent on coefficients drawn at random among all examples
so far; the classifier of time t is that of the average of alpha over its K steps. With `process`, the new
example's own coefficient is optimized first.

    P_t(w) = ||w||^2 / 2 + C sum_i max(0, 1 - y_i <w, x_i>),      no bias, every example stays in S
"""
from libc.stdint cimport uint64_t

import numpy as np

from structsvm.kernels.kernel_cache import longer

from structsvm.rng cimport rng_below
from structsvm.binary._machine cimport Machine


cdef class Tracker(Machine):

    cdef readonly double dual
    cdef readonly double process_gain       # delta_T, the rise of the dual in PROCESS
    cdef readonly list primals              # P_t(w(mean alpha)) for each t
    cdef Py_ssize_t n_coordinate_steps      # K
    cdef bint with_process
    cdef double[::1] mean_alpha
    cdef double[::1] mean_f
    cdef Py_ssize_t unbooked                # steps since the last change of alpha, not yet in the means
    cdef double[::1] primal_room
    cdef Py_ssize_t n_primals

    def __init__(self, inputs, *, Py_ssize_t K, bint process, double cache_mb, uint64_t seed):
        super().__init__(inputs, cache_mb=cache_mb, seed=seed)
        self.n_coordinate_steps, self.with_process, self.primals = K, process, []
        self.mean_alpha = self.mean_f = np.zeros(0)

    cdef int visit(self, Py_ssize_t slot) except -1 nogil:
        cdef Py_ssize_t _, s, p = self.rows.position[slot]
        if p < 0:
            p = self.insert(slot, self.score(slot))
        if self.with_process:
            self.process_gain += self.ascend(p)
        for s in range(self.rows.n):
            self.mean_alpha[s] = self.mean_f[s] = 0
        self.unbooked = 0
        for _ in range(self.n_coordinate_steps):
            self.ascend(rng_below(&self.rng, self.rows.n))
            self.unbooked += 1
        self.book()
        self.primal_room[self.n_primals] = self.primal()
        self.n_primals += 1
        return 1

    cdef double ascend(self, Py_ssize_t i) except? -1 nogil:
        """One coordinate: alpha_i += max(-alpha_i, min(C - alpha_i, g_i / k_ii)); the rise of the dual."""
        cdef double g = 1 - self.y[i] * self.f[i], alpha = self.y[i] * self.alpha[i]
        cdef double own = self.rows.diagonal[i], room = self.upper[i] - alpha
        cdef double step = max(-alpha, room if g >= room * own else g / own)
        if step == 0:
            return 0
        self.book()
        self.change(i, self.y[i] * step)
        if step == -alpha:
            self.alpha[i] = 0
        g = step * (g - 0.5 * step * own)
        self.dual += g
        return g

    cdef void book(self) noexcept nogil:
        """Add to the means the steps in which alpha did not change, all at once."""
        cdef Py_ssize_t s
        cdef double part = <double>self.unbooked / self.n_coordinate_steps
        if self.unbooked:
            for s in range(self.rows.n):
                self.mean_alpha[s] += part * self.alpha[s]
                self.mean_f[s] += part * self.f[s]
        self.unbooked = 0

    cdef double primal(self) noexcept nogil:
        cdef double norm = 0, loss = 0
        cdef Py_ssize_t s
        for s in range(self.rows.n):
            norm += self.mean_alpha[s] * self.mean_f[s]
            loss += self.upper[s] * max(0.0, 1 - self.y[s] * self.mean_f[s])
        return norm / 2 + loss

    def learn(self, slots):
        self.primal_room, self.n_primals = np.zeros(len(slots)), 0
        try:
            super().learn(slots)
        finally:
            self.primals.extend(np.asarray(self.primal_room)[:self.n_primals].tolist())

    cdef void reserve(self, Py_ssize_t capacity):
        self.mean_alpha, self.mean_f = longer(self.mean_alpha, capacity), longer(self.mean_f, capacity)
        Machine.reserve(self, capacity)

    @property
    def coefficients(self):
        return np.array(self.mean_alpha[:self.rows.n])

    @property
    def largest_norm(self) -> float:
        """max k(x, x), which the bounds assume to be at most 1."""
        return float(np.max(self.rows.diagonal[:self.rows.n], initial=0.0))

    def state(self):
        means = np.array(self.mean_alpha[:self.rows.n])
        return dict(super().state(), mean_alpha=means, primals=np.array(self.primals))

    def restore(self, state):
        super().restore(state)
        np.asarray(self.mean_alpha)[:self.rows.n] = state["mean_alpha"]
        self.primals = state["primals"].tolist()

    def scalars(self):
        return [self.dual, self.process_gain]

    def take_scalars(self, values):
        self.dual, self.process_gain = values
