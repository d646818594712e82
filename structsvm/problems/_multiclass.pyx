# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The multiclass oracle: Phi(x, y) = Lambda(y) (x) x, all classes tried."""
from libc.stdint cimport int32_t
from libc.stdlib cimport calloc, free

from structsvm._dual.difference cimport Difference, pair_of
from structsvm.problems._inputs cimport Input, SparseInputs

import numpy as np


cdef class MulticlassOracle(SparseInputs):
    """argmax over the classes of loss[y, c] + <Lambda(c), scores>."""

    cdef Py_ssize_t n_classes
    cdef const double[:, ::1] loss
    cdef const double[:, ::1] output_features     # Lambda, a row per class
    cdef bint orthogonal                    # Lambda is the identity
    cdef Difference pair                    # of the output found last
    cdef double* class_scores
    cdef double* q

    def __init__(self, problem, n_inputs, loss, output_features):
        n_classes, width = np.shape(output_features)
        super().__init__(problem, n_inputs, width)
        self.n_classes = n_classes
        self.loss = np.ascontiguousarray(loss, dtype=np.float64)
        self.output_features = np.ascontiguousarray(output_features, dtype=np.float64)
        self.orthogonal = n_classes == width and np.array_equal(output_features, np.eye(width))
        self.class_scores = <double*>calloc(self.n_classes, sizeof(double))
        self.q = <double*>calloc(self.width, sizeof(double))
        if self.class_scores == NULL or self.q == NULL:
            raise MemoryError(f"no memory for {n_classes} scores")

    def __dealloc__(self):
        free(self.class_scores)
        free(self.q)

    def n_targets(self) -> int:
        return self.n_classes

    def check_targets(self, pointers, targets):
        if (np.diff(pointers) != 1).any():
            raise ValueError("each stored pattern must have one target")

    cdef int find(self, Py_ssize_t slot, const double* w, bint augmented) except -1 nogil:
        cdef Input* x = &self.inputs[slot]
        cdef Py_ssize_t c, r, best = 0, plain = 0, y = x.target[0]
        cdef double value, best_value = 0
        cdef double* scores = self.scores
        self.project(x, w)
        if not self.orthogonal:
            scores = self.class_scores
            for c in range(self.n_classes):
                scores[c] = 0
                for r in range(self.width):
                    scores[c] += self.output_features[c, r] * self.scores[r]
            self.found.cost += self.n_classes * self.width
        for c in range(self.n_classes):
            value = self.violation(self.loss[y, c], scores[y] - scores[c]) if augmented else scores[c]
            if c == 0 or value > best_value:
                best, best_value = c, value
            if scores[c] > scores[plain]:
                plain = c
        if self.unseen:
            self.tally(self.loss[y, plain])
        self.found.loss = self.loss[y, best] if augmented else 0
        self.found.n = 0
        if self.makes_pairs():
            self.set_pair(x, best)
        elif best != y:
            for r in range(self.width):
                self.q[r] = self.output_features[y, r] - self.output_features[best, r]
            self.emit(x, self.q)
        return 0

    cdef bint makes_pairs(self) noexcept nogil:
        return self.pairs and self.orthogonal and not self.slack_rescaling

    cdef void set_pair(self, Input* x, Py_ssize_t c) noexcept nogil:
        self.pair = pair_of(x.index, x.value, 0 if c == x.target[0] else x.n, x.target[0], <int32_t>c)
        self.found.pair = &self.pair

    cdef int recall(self, Py_ssize_t slot) except -1 nogil:
        """Turn a restored output into a pair again; refuse one that is not of this pattern."""
        cdef Input* x
        cdef Py_ssize_t c = -1, k, y
        if not self.makes_pairs():
            return 0
        if not 0 <= slot < self.n_slots or self.inputs[slot].value == NULL:
            with gil:
                raise ValueError("the saved training state is inconsistent: a support pattern is not stored")
        x = &self.inputs[slot]
        y = x.target[0]
        for k in range(self.found.n):
            if self.found.index[k] % self.width != y:
                c = self.found.index[k] % self.width
        for k in range(self.n_classes if c < 0 else 0):     # x is zero: any class with this loss
            if k != y and self.scaled_loss(self.loss[y, k]) == self.found.loss:
                c = k
        if c < 0:
            with gil:
                raise ValueError("the saved training state is inconsistent: a support output has no class")
        if not self.is_found(x, c):
            with gil:
                raise ValueError("the training state belongs to another data set")
        self.set_pair(x, c)
        return 0

    cdef bint is_found(self, Input* x, Py_ssize_t c) noexcept nogil:
        """Whether the entries of `found` are those of the pair of x and class c."""
        cdef Py_ssize_t k, n = 0, y = x.target[0]
        cdef double value
        for k in range(x.n):
            if x.value[k] == 0:
                continue
            value = x.value[k] if y < c else -x.value[k]
            if n + 2 > self.found.n or (
                self.found.index[n] != x.index[k] + min(y, c) or self.found.value[n] != value
                or self.found.index[n + 1] != x.index[k] + max(y, c) or self.found.value[n + 1] != -value
            ):
                return False
            n += 2
        return n == self.found.n
