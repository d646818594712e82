# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""`Machine`: a kernel expansion f(x) = sum_s alpha_s k(x_s, x) + b that learns example by example.

Each algorithm says in `visit` what it does with an example. What they share is here: the set S of support
patterns with alpha, f and y, batches and blocks of examples, and the state as arrays.
"""
from structsvm.signals cimport check_signals

import numpy as np

from structsvm.kernels.kernel_cache import longer


cdef class Machine:

    def __init__(self, inputs, *, double cache_mb, uint64_t seed):
        self.rows = KernelRows(inputs, cache_mb)
        self.rng = seed
        self.alpha = self.f = self.y = self.upper = self.labels = self.uppers = np.zeros(0)

    # -- steps of the algorithms --------- --------------------------------------------------------

    cdef int visit(self, Py_ssize_t slot) except -1 nogil:
        """Learn from an example of the block."""
        return 0

    cdef double score(self, Py_ssize_t slot) noexcept nogil:
        """f of a pattern of the block, or of one that has become a support pattern; without the bias."""
        if self.rows.position[slot] >= 0:
            return self.f[self.rows.position[slot]]
        return self.rows.dot(self.rows.fresh(slot), &self.alpha[0])

    cdef Py_ssize_t insert(self, Py_ssize_t slot, double f) except -1 nogil:
        """Put a pattern of the block into S, with coefficient 0."""
        cdef Py_ssize_t p = self.rows.insert(slot)
        self.alpha[p], self.f[p] = 0, f
        self.y[p], self.upper[p] = self.labels[slot], self.uppers[slot]
        return p

    cdef int remove(self, Py_ssize_t p) except -1 nogil:
        """Remove a pattern with coefficient 0 from S; the last pattern takes its place."""
        self.rows.remove(p)
        cdef Py_ssize_t last = self.rows.n
        self.alpha[p], self.f[p] = self.alpha[last], self.f[last]
        self.y[p], self.upper[p] = self.y[last], self.upper[last]
        return 0

    cdef int change(self, Py_ssize_t p, double step) except -1 nogil:
        """alpha_p += step; updates f."""
        cdef char* row = self.rows.fetch(p)     # may raise: before anything has changed
        self.alpha[p] += step
        self.rows.add(&self.f[0], step, row)
        self.n_steps += 1
        return 0

    cdef void reserve(self, Py_ssize_t capacity):
        """Lengthen all arrays, alpha last: its length tells whether the others were lengthened."""
        self.f, self.y = longer(self.f, capacity), longer(self.y, capacity)
        self.upper = longer(self.upper, capacity)
        self.alpha = longer(self.alpha, capacity)

    # -- from Python ----------------------------------------------------------------------------

    def reorder(self, order):
        """Reorder S; patterns that are left out, whose coefficients are 0, are removed."""
        self.rows.reorder(order)
        for values in map(np.asarray, (self.alpha, self.f, self.y, self.upper)):
            values[:len(order)] = values[order]

    def start(self, labels, uppers):
        """Start with a batch: y = +1 or -1 and the bound on |alpha| of each example; S stays."""
        self.labels = np.ascontiguousarray(labels, dtype=np.float64)
        self.uppers = np.ascontiguousarray(uppers, dtype=np.float64)
        self.rows.start(len(labels))

    def learn(self, slots):
        """Visit a block of examples, a few dozen, in order; Ctrl-C can interrupt between two of them."""
        cdef const Py_ssize_t[::1] order = np.ascontiguousarray(slots, dtype=np.intp)
        cdef Py_ssize_t k
        check_signals()
        self.rows.begin_block(slots)
        if len(self.alpha) < self.rows.capacity:
            self.reserve(self.rows.capacity)
        with nogil:
            for k in range(order.shape[0]):
                if self.uppers[order[k]] > 0 and (
                        self.rows.position[order[k]] >= 0 or self.rows.fresh(order[k]) != NULL):
                    self.visit(order[k])
                    self.rows.settle()

    @property
    def coefficients(self) -> np.ndarray:
        """alpha of the support patterns."""
        return np.array(self.alpha[:self.rows.n])

    def state(self) -> dict:
        """Everything but the inputs, as arrays: the input of restore()."""
        cdef Py_ssize_t n = self.rows.n
        return {
            "alpha": np.array(self.alpha[:n]), "f": np.array(self.f[:n]), "y": np.array(self.y[:n]),
            "upper": np.array(self.upper[:n]), "diagonal": np.array(self.rows.diagonal[:n]),
            "scalars": np.array([self.bias, *self.scalars()]),
            "counters": np.array([self.n_steps, self.rows.n_kernels], dtype=np.int64),
            "rng": np.array([self.rng], dtype=np.uint64),
        }

    def restore(self, state: dict):
        """Load a state() into a new machine; the inputs must hold its support patterns, in order."""
        n = len(state["alpha"])
        self.rows.restore(n, state["diagonal"])
        self.reserve(self.rows.capacity)
        for array, name in ((self.alpha, "alpha"), (self.f, "f"), (self.y, "y"), (self.upper, "upper")):
            np.asarray(array)[:n] = state[name]
        self.bias = state["scalars"][0]
        self.n_steps, self.rows.n_kernels = state["counters"]
        self.rng = state["rng"][0]
        self.take_scalars(state["scalars"][1:])

    def scalars(self) -> list:
        """Numbers of the algorithm that belong to its state."""
        return []

    def take_scalars(self, values):
        """Load scalars(), and compute what follows from the state."""
