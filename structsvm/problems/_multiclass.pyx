# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The multiclass oracle: Phi(x, y) = Lambda(y) (x) x, all classes tried."""
from libc.stdint cimport int32_t
from libc.stdlib cimport calloc, free

from cython cimport view

from structsvm._dual.difference cimport Difference, pair_of
from structsvm.problems._inputs cimport Input, SparseInputs

import numpy as np


cdef class MulticlassOracle(SparseInputs):
    """argmax over the classes of loss[y, c] + <Lambda(c), scores>."""

    cdef Py_ssize_t n_classes
    cdef const double[:, ::view.contiguous] loss
    cdef const double[:, ::view.contiguous] output_features     # Lambda, a row per class
    cdef bint orthogonal                    # Lambda is the identity
    cdef Difference pair                    # of the output found last
    cdef double* class_scores
    cdef double* q

    def __init__(self, problem, n_inputs, loss, output_features):
        n_classes, width = np.shape(output_features)
        super().__init__(problem, n_inputs, width)
        self.n_classes = n_classes
        self.loss, self.output_features = loss, output_features
        self.orthogonal = problem.is_plain
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
        return self.set_entries(slot, self.best(slot, w, augmented))

    cdef int find_pair(self, Py_ssize_t slot, const double* w) except -1 nogil:
        cdef Input* x = &self.inputs[slot]
        cdef Py_ssize_t best = self.best(slot, w, True)
        if best == x.target[0] or not self.makes_pairs(x):
            return self.set_entries(slot, best)
        self.set_pair(x, best)
        return 0

    cdef Py_ssize_t best(self, Py_ssize_t slot, const double* w, bint augmented) noexcept nogil:
        """Return the class found; set its loss in `found`, but no difference yet."""
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
        self.found.n, self.found.pair = 0, NULL
        return best

    cdef int set_entries(self, Py_ssize_t slot, Py_ssize_t c) except -1 nogil:
        cdef Input* x = &self.inputs[slot]
        cdef Py_ssize_t r, y = x.target[0]
        if c != y:
            for r in range(self.width):
                self.q[r] = self.output_features[y, r] - self.output_features[c, r]
            self.emit(x, self.q)
        return 0

    cdef bint makes_pairs(self, Input* x) noexcept nogil:
        return self.orthogonal and not self.slack_rescaling and x.paired

    cdef void set_pair(self, Input* x, Py_ssize_t c) noexcept nogil:
        self.pair = pair_of(x.index, x.value, x.n, x.target[0], <int32_t>c)
        self.found.pair = &self.pair

    cdef int recall(self, Py_ssize_t slot, bint pair) except -1 nogil:
        """Turn a restored output into a pair again; refuse one that belongs to another pattern."""
        cdef Input* x
        cdef Py_ssize_t first, second
        if not 0 <= slot < self.n_slots or self.inputs[slot].value == NULL:
            with gil:
                raise ValueError("the saved training state is inconsistent: a support pattern is not stored")
        x = &self.inputs[slot]
        self.found.pair = NULL
        if not (pair and self.makes_pairs(x)):
            return 0
        if self.found.n == 2 * x.n:
            first, second = self.found.index[0] % self.width, self.found.index[1] % self.width
            self.set_pair(x, second if first == x.target[0] else first)
        if self.found.pair == NULL or not self.is_found():
            with gil:
                raise ValueError("the training state belongs to another data set")
        return 0

    cdef bint is_found(self) noexcept nogil:
        """Whether the entries of `found` are those of its pair."""
        cdef Py_ssize_t k, up, down
        cdef bint up_first = self.pair.plus < ~self.pair.minus
        for k in range(self.pair.n):
            up, down = 2 * k + (not up_first), 2 * k + up_first
            if (
                self.found.index[up] != self.pair.index[k] + self.pair.plus
                or self.found.index[down] != self.pair.index[k] + ~self.pair.minus
                or self.found.value[up] != self.pair.value[k] or self.found.value[down] != -self.pair.value[k]
            ):
                return False
        return self.pair.plus != ~self.pair.minus
