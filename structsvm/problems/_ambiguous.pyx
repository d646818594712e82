# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The oracle of ambiguous supervision: the mean pairwise hinge between a bag of labels and all others."""
from libc.stdlib cimport calloc, free, qsort

from structsvm.problems._inputs cimport Input, SparseInputs

import numpy as np


cdef int descending(const void* a, const void* b) noexcept nogil:
    cdef double x = (<const double*>a)[0], y = (<const double*>b)[0]
    return -1 if x > y else 1 if x < y else 0


cdef Py_ssize_t count_close(const double* sorted_down, Py_ssize_t n, double shift) noexcept nogil:
    """How many of n values, sorted downwards, exceed -1 once shifted."""
    cdef Py_ssize_t low = 0, high = n, middle
    while low < high:
        middle = (low + high) // 2
        if sorted_down[middle] + shift > -1:
            low = middle + 1
        else:
            high = middle
    return low


cdef class AmbiguousOracle(SparseInputs):
    """Equation (6.6) of Bordes' thesis in O(|Y| log |Y|): the c of the max, as loss and q (x) x."""

    cdef double* sorted_bag         # scores of the bag's labels, downwards
    cdef double* sorted_rest
    cdef double* q
    cdef char* in_bag

    def __init__(self, problem, n_inputs, n_classes):
        super().__init__(problem, n_inputs, n_classes)
        self.sorted_bag = <double*>calloc(self.width, sizeof(double))
        self.sorted_rest = <double*>calloc(self.width, sizeof(double))
        self.q = <double*>calloc(self.width, sizeof(double))
        self.in_bag = <char*>calloc(self.width, sizeof(char))
        if self.sorted_bag == NULL or self.sorted_rest == NULL or self.q == NULL or self.in_bag == NULL:
            raise MemoryError(f"no memory for {n_classes} labels")

    def __dealloc__(self):
        free(self.sorted_bag)
        free(self.sorted_rest)
        free(self.q)
        free(self.in_bag)

    def configure(self, *, rescaling, slack):
        if rescaling != "margin" or slack != "l1":
            raise ValueError("ambiguous bags support only margin rescaling and L1 slacks: "
                             "their hinge is already a mean over pairs of labels")
        super().configure(rescaling=rescaling, slack=slack)

    def check_targets(self, pointers, targets):
        bag = np.repeat(np.arange(len(pointers) - 1), np.diff(pointers))
        if len(np.unique(bag * self.width + targets)) < len(targets):
            raise ValueError("a stored bag has a label twice")

    cdef int find(self, Py_ssize_t slot, const double* w, bint augmented) except -1 nogil:
        cdef Input* x = &self.inputs[slot]
        cdef Py_ssize_t k, n_bag = x.n_targets, n_rest = self.width - x.n_targets
        self.found.loss = 0
        self.found.n = 0
        self.found.cost = 0
        if n_bag == 0 or n_rest == 0:
            return 0
        for k in range(self.width):
            self.in_bag[k] = 0
        for k in range(n_bag):
            self.in_bag[x.target[k]] = 1
        self.project(x, w)
        if augmented:
            self.pairwise(n_bag, n_rest)
        elif not self.plain(n_bag):
            return 0
        return self.emit(x, self.q)

    cdef void pairwise(self, Py_ssize_t n_bag, Py_ssize_t n_rest) noexcept nogil:
        """q_a = #{b: s_a - s_b < 1} / Z in the bag, q_b = -#{a: s_a - s_b < 1} / Z outside; loss: sum q_a."""
        cdef Py_ssize_t k, bag = 0, rest = 0
        cdef double pairs = <double>n_bag * n_rest
        for k in range(self.width):
            if self.in_bag[k]:
                # Negated, so that both counts below test the same rounded number, s_b - s_a.
                self.sorted_bag[bag] = -self.scores[k]
                bag += 1
            else:
                self.sorted_rest[rest] = self.scores[k]
                rest += 1
        qsort(self.sorted_bag, n_bag, sizeof(double), descending)
        qsort(self.sorted_rest, n_rest, sizeof(double), descending)
        for k in range(self.width):
            if self.in_bag[k]:
                self.q[k] = count_close(self.sorted_rest, n_rest, -self.scores[k]) / pairs
                self.found.loss += self.q[k]
            else:
                self.q[k] = -count_close(self.sorted_bag, n_bag, self.scores[k]) / pairs

    cdef bint plain(self, Py_ssize_t n_bag) noexcept nogil:
        """The perceptron's difference: mean of the bag against the winner; False if that is in the bag."""
        cdef Py_ssize_t k, best = 0
        for k in range(1, self.width):
            if self.scores[k] > self.scores[best]:
                best = k
        for k in range(self.width):
            self.q[k] = 1.0 / n_bag if self.in_bag[k] else 0
        self.q[best] -= 1
        return not self.in_bag[best]
