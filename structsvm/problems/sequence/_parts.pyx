# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Greedy labelling with labels made of parts: a label's score is the sum of the scores of its parts.

Weights: a row has a weight for each part. History: history[s, p, q] scores part q where the label s + 1
places before has the part p, p = n_parts if there is no such label. Parts that the right and the wrong label
share cancel, so a difference is as long as the labels differ.
"""
from libc.stdint cimport int32_t
from libc.stdlib cimport free, malloc

from structsvm.problems.sequence._oracles cimport GreedyOracle
from structsvm.problems.sequence._sentences cimport Sentence, enough

import numpy as np


cdef class Parts:
    """A `LabelParts` as compiled code reads it."""

    def __init__(self, parts):
        self.ptr, self.ids = parts.ptr, parts.ids
        self.parent, self.part, self.node = parts.parent, parts.part, parts.node
        self.tree.n_labels, self.tree.n_parts = parts.n_labels, parts.n_parts
        self.tree.n_nodes, self.tree.longest = len(parts.parent), parts.longest
        self.tree.ptr, self.tree.ids = &self.ptr[0], &self.ids[0]
        self.tree.parent, self.tree.part, self.tree.node = &self.parent[0], &self.part[0], &self.node[0]


cdef class PartsOracle(GreedyOracle):
    """One label at a time, given the true labels before it.

    The loss of a wrong label is 1, and `per_part` for each part that only one of both labels has.
    """

    cdef Parts parts
    cdef double per_part
    cdef double* nodes              # of the tree; the one before the first is its root
    cdef int32_t* changed           # the parts in which two labels differ
    cdef double* sign               # 1: the right label has it, -1: the wrong one

    def __init__(self, problem, parts, Py_ssize_t stride, Py_ssize_t order, double per_part):
        super().__init__(problem, parts.n_labels, stride, np.zeros((1, 1)), order, parts.n_parts)
        self.parts = Parts(parts)
        self.per_part = per_part
        self.nodes = 1 + <double*>enough(malloc((1 + self.parts.tree.n_nodes) * sizeof(double)))
        self.changed = <int32_t*>enough(malloc(2 * parts.longest * sizeof(int32_t)))
        self.sign = <double*>enough(malloc(2 * parts.longest * sizeof(double)))

    def __dealloc__(self):
        if self.nodes != NULL:
            free(self.nodes - 1)
        free(self.changed)
        free(self.sign)

    cdef int find(self, Py_ssize_t slot, const double* w, bint augmented) except -1 nogil:
        cdef Sentence* x = self.of_slot[slot]
        cdef Py_ssize_t t = self.token_of_slot[slot], s, k, y, right, wrong, row, n
        cdef const Tree* tree = &self.parts.tree
        cdef int32_t gold = x.gold[t]
        cdef double* scores = self.scores
        cdef const int32_t* rows
        self.score(w, x, t)
        for s in range(1, self.order + 1):
            for k in range(self.n_history(x, t, s)):
                row = self.history_row(x, t, s, k) * self.stride
                for y in range(self.stride):
                    scores[y] += w[row + y]
        self.found.cost = <double>self.stride * (x.token_ptr[t + 1] - x.token_ptr[t] + self.order)
        right = gold
        if gold < 0:
            add_nodes_double(tree, scores, self.nodes)
            right = self.best(gold, -1, 0)
        if augmented and self.per_part:
            for y in range(tree.n_parts):
                scores[y] += self.per_part
            for k in range(tree.ptr[right], tree.ptr[right + 1]):
                scores[tree.ids[k]] -= 2 * self.per_part
        add_nodes_double(tree, scores, self.nodes)
        wrong = self.best(-1, right, 1 if augmented else 0)
        self.found.n, self.found.loss = 0, 0
        if right == wrong or (gold < 0 and self.permits(gold, wrong)):
            return 0
        n = self.differences(right, wrong)
        self.found.loss = 1 + self.per_part * n
        self.reserve(n * (x.token_ptr[t + 1] - x.token_ptr[t] + self.order * tree.longest))
        for s in range(1, self.order + 1):
            for k in range(self.n_history(x, t, s)):
                self.emit_row(self.history_row(x, t, s, k), 1, n)
        rows = self.rows_of(x, t)
        for k in range(x.token_ptr[t + 1] - x.token_ptr[t]):
            row = self.offset // self.stride + rows[k]
            self.emit_row(row, 1 if x.values == NULL else x.values[x.token_ptr[t] + k], n)
        return 0

    cdef Py_ssize_t n_history(self, const Sentence* x, Py_ssize_t t, Py_ssize_t distance) noexcept nogil:
        """How many history rows the label some places before has: one for each part, or one for none."""
        cdef const Tree* tree = &self.parts.tree
        if t < distance or x.gold[t - distance] < 0:
            return 1
        return tree.ptr[x.gold[t - distance] + 1] - tree.ptr[x.gold[t - distance]]

    cdef Py_ssize_t history_row(
        self, const Sentence* x, Py_ssize_t t, Py_ssize_t distance, Py_ssize_t k
    ) noexcept nogil:
        cdef const Tree* tree = &self.parts.tree
        cdef Py_ssize_t before = tree.n_parts
        if t >= distance and x.gold[t - distance] >= 0:
            before = tree.ids[tree.ptr[x.gold[t - distance]] + k]
        return (distance - 1) * (tree.n_parts + 1) + before

    cdef Py_ssize_t best(self, int32_t gold, Py_ssize_t right, double bonus) noexcept nogil:
        """The first of the permitted labels with the highest score; all but `right` get a bonus."""
        cdef Py_ssize_t y, found = -1
        cdef double value, most = 0
        for y in range(self.n_labels):
            value = self.nodes[self.parts.tree.node[y]] + (bonus if y != right else 0)
            if (found < 0 or value > most) and (gold == -1 or self.permits(gold, y)):
                found, most = y, value
        return found

    cdef Py_ssize_t differences(self, Py_ssize_t right, Py_ssize_t wrong) noexcept nogil:
        """The parts that only one of both labels has, in order, into `changed` and `sign`."""
        cdef const Tree* tree = &self.parts.tree
        cdef Py_ssize_t i = tree.ptr[right], j = tree.ptr[wrong], n = 0
        cdef bint from_right
        while i < tree.ptr[right + 1] or j < tree.ptr[wrong + 1]:
            if i < tree.ptr[right + 1] and j < tree.ptr[wrong + 1] and tree.ids[i] == tree.ids[j]:
                i += 1
                j += 1
                continue
            from_right = j == tree.ptr[wrong + 1] or (
                i < tree.ptr[right + 1] and tree.ids[i] < tree.ids[j])
            self.changed[n] = tree.ids[i if from_right else j]
            self.sign[n] = 1 if from_right else -1
            i += from_right
            j += not from_right
            n += 1
        return n

    cdef void emit_row(self, Py_ssize_t row, double value, Py_ssize_t n) noexcept nogil:
        """Append a row: the parts in which the labels differ."""
        cdef Py_ssize_t k, at = self.found.n
        for k in range(n):
            self.found.index[at + k] = <int32_t>(row * self.stride + self.changed[k])
            self.found.value[at + k] = value * self.sign[k]
        self.found.n += n
