# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The multiclass oracle: Phi(x, y) = Lambda(y) (x) x, all classes tried."""
from libc.stdlib cimport calloc, free

from structsvm.problems._inputs cimport Input, SparseInputs

import numpy as np


cdef class MulticlassOracle(SparseInputs):
    """argmax over the classes of loss[y, c] + <Lambda(c), scores>."""

    cdef Py_ssize_t n_classes
    cdef const double[:, ::1] loss
    cdef const double[:, ::1] output_features     # Lambda, a row per class
    cdef bint orthogonal                    # Lambda is the identity
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
        if best != y:
            for r in range(self.width):
                self.q[r] = self.output_features[y, r] - self.output_features[best, r]
            self.emit(x, self.q)
        return 0
