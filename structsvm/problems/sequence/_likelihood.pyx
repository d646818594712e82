# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The likelihood of labels under a linear-chain conditional random field, and its gradient.

A weight belongs to a feature and a label (a cell) or to two labels in a row. The cells of feature r are
``ptr[r]`` to ``ptr[r + 1]``, sorted by label; the weights of pairs of labels follow those of the cells. The
forward-backward algorithm keeps exponentials, scaled at each token so that they sum to 1.
"""
from libc.math cimport exp, log
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from structsvm.problems.sequence._oracles cimport poll

import numpy as np

cdef extern from "structsvm/problems/sequence/_forward.h" nogil:
    double forward_step(
        double* next, const double* previous, const double* table, const double* weight,
        Py_ssize_t n_labels, Py_ssize_t stride)
    void add_pairs(
        double* pairs, const double* previous, const double* after, Py_ssize_t n_labels, Py_ssize_t stride)

cdef enum:
    LANES = 8


cdef class Likelihood:
    """Computes -log p(y | x), summed over sentences, and its gradient; or learns by stochastic steps.

    X, y : `Sequences` and `SequenceLabels`. A token may have any label, or any of a set: the likelihood is
        then that of all labellings that agree with the annotation.
    ptr, labels : the cells of each feature.
    """

    cdef readonly Py_ssize_t n_labels, n_cells
    cdef Py_ssize_t stride, longest
    cdef readonly object X, y
    cdef const int32_t[::1] rows, codes, cell_label
    cdef const long long[::1] token_ptr, sentence_ptr
    cdef const int64_t[::1] ptr
    cdef const float[::1] values
    cdef const uint8_t[:, ::1] allowed     # sets x labels
    cdef double* emission       # tokens x stride: exp(score), or 0 for labels that are not allowed
    cdef double* forward        # tokens x stride
    cdef double* after          # stride x 2
    cdef double* table          # labels x stride: exp(weight of a pair)
    cdef double* turned         # the same, transposed
    cdef double* pairs          # labels x stride: sums of forward times backward
    cdef double* share          # stride: the probabilities of a token's labels
    cdef double* ones           # stride
    cdef double highest         # weight of a pair
    cdef bint curved            # sum p (1 - p) instead of p

    def __init__(self, X, y, Py_ssize_t n_labels, ptr, labels):
        cdef Py_ssize_t k
        self.X, self.y = X, y
        self.n_labels, self.n_cells = n_labels, len(labels)
        self.stride = (n_labels + LANES - 1) // LANES * LANES
        self.ptr, self.cell_label = np.require(ptr, np.int64, "CA"), np.require(labels, np.int32, "CA")
        if len(X.rows) and not 0 <= X.rows.min() <= X.rows.max() < len(ptr) - 1:
            raise ValueError(f"a feature row lies outside the {len(ptr) - 1} rows")
        if ptr[0] != 0 or ptr[len(ptr) - 1] != len(labels) or (np.diff(ptr) < 0).any():
            raise ValueError("the cells of the features are inconsistent")
        if len(labels) and not 0 <= np.min(labels) <= np.max(labels) < n_labels:
            raise ValueError("a cell has a label that does not exist")
        self.rows, self.values = X.rows, X.values
        self.token_ptr, self.sentence_ptr = X.token_ptr, X.sentence_ptr
        self.codes = np.require(y.codes, np.int32, "CA")
        if len(y.codes) and (np.max(y.codes) >= n_labels or np.min(y.codes) < -1 - len(y.sets)):
            raise ValueError("unknown labels")
        allowed = np.zeros((len(y.sets) + 1, n_labels), np.uint8)
        for k in range(len(y.sets)):
            allowed[k, y.sets[k]] = 1
        allowed[len(y.sets)] = 1
        self.allowed = allowed
        self.longest = int(np.diff(X.sentence_ptr).max(initial=0))
        cdef Py_ssize_t stride = self.stride * sizeof(double)
        self.emission = <double*>malloc(max(1, self.longest) * stride)
        self.forward = <double*>malloc(max(1, self.longest) * stride)
        self.after = <double*>malloc(2 * stride)
        self.table = <double*>malloc(n_labels * stride)
        self.turned = <double*>malloc(n_labels * stride)
        self.pairs = <double*>malloc(n_labels * stride)
        self.share = <double*>malloc(stride)
        self.ones = <double*>malloc(stride)
        if (self.emission == NULL or self.forward == NULL or self.after == NULL or self.table == NULL
                or self.turned == NULL or self.pairs == NULL or self.share == NULL or self.ones == NULL):
            raise MemoryError()
        for k in range(self.stride):
            self.ones[k] = 1

    def __dealloc__(self):
        free(self.emission)
        free(self.forward)
        free(self.after)
        free(self.table)
        free(self.turned)
        free(self.pairs)
        free(self.share)
        free(self.ones)

    @property
    def n_weights(self):
        return self.n_cells + self.n_labels * self.n_labels

    cdef void tabulate(self, const double* pairs, double scale) noexcept nogil:
        """Fill the tables of exp(weight) for pairs of labels."""
        cdef Py_ssize_t p, y, n = self.n_labels
        self.highest = pairs[0]
        for p in range(n * n):
            self.highest = max(self.highest, pairs[p])
        self.highest *= scale
        memset(self.table, 0, n * self.stride * sizeof(double))
        memset(self.turned, 0, n * self.stride * sizeof(double))
        for p in range(n):
            for y in range(n):
                self.table[p * self.stride + y] = exp(pairs[p * n + y] * scale - self.highest)
                self.turned[y * self.stride + p] = self.table[p * self.stride + y]

    cdef double score(self, Py_ssize_t first, Py_ssize_t n, const double* w, double scale) noexcept nogil:
        """Fill `emission`; return what log Z lacks then, less the score of the right labels, if known."""
        cdef Py_ssize_t t, k, c, y, gold, before = -1
        cdef double value, top, total = 0
        cdef double* scores
        memset(self.emission, 0, n * self.stride * sizeof(double))
        for t in range(n):
            scores = self.emission + t * self.stride
            for k in range(self.token_ptr[first + t], self.token_ptr[first + t + 1]):
                value = scale if self.values is None else scale * self.values[k]
                for c in range(self.ptr[self.rows[k]], self.ptr[self.rows[k] + 1]):
                    scores[self.cell_label[c]] += value * w[c]
            top = scores[0]
            for y in range(1, self.n_labels):
                top = max(top, scores[y])
            gold = self.codes[first + t]
            total += top
            if gold >= 0:
                total -= scores[gold]
            if t and gold >= 0 and before >= 0:
                total -= scale * w[self.n_cells + before * self.n_labels + gold]
            before = gold
            for y in range(self.n_labels):
                scores[y] = exp(scores[y] - top)
        return total + (n - 1) * self.highest

    cdef double forwards(self, Py_ssize_t n) noexcept nogil:
        """Fill `forward`; return log Z, without what was subtracted from the scores."""
        cdef Py_ssize_t t, y, stride = self.stride
        cdef double total = 0, logs = 0
        cdef double* row = self.forward
        for y in range(stride):
            row[y] = self.emission[y]
            total += row[y]
        for t in range(n):
            if t:
                row += stride
                total = forward_step(
                    row, row - stride, self.table, self.emission + t * stride, self.n_labels, stride)
            logs += log(total)
            for y in range(stride):
                row[y] /= total
        return logs

    cdef void backwards(
        self, Py_ssize_t first, Py_ssize_t n, double sign, double* cells
    ) noexcept nogil:
        """Add sign times the expected counts to the gradient of the cells, and to `pairs`."""
        cdef Py_ssize_t t, k, c, y, stride = self.stride
        cdef double total, value
        cdef double* after = self.after
        cdef double* before = self.after + stride
        cdef double* row
        for y in range(stride):
            after[y] = 1
        for t in range(n - 1, -1, -1):
            row = self.forward + t * stride
            total = 0
            for y in range(stride):
                self.share[y] = row[y] * after[y]
                total += self.share[y]
            for y in range(stride):
                self.share[y] *= sign / total
                if self.curved:
                    self.share[y] *= 1 - self.share[y]
            for k in range(self.token_ptr[first + t], self.token_ptr[first + t + 1]):
                value = 1 if self.values is None else self.values[k]
                if self.curved:
                    value *= value
                for c in range(self.ptr[self.rows[k]], self.ptr[self.rows[k] + 1]):
                    cells[c] += value * self.share[self.cell_label[c]]
            if t == 0:
                return
            for y in range(stride):
                after[y] *= self.emission[t * stride + y]
            forward_step(before, after, self.turned, self.ones, self.n_labels, stride)
            total = 0
            for y in range(stride):
                total += row[y - stride] * before[y]
            for y in range(stride):
                after[y] *= sign / total
                before[y] /= total
            add_pairs(self.pairs, row - stride, after, self.n_labels, stride)
            after, before = before, after

    cdef void restrict(self, Py_ssize_t first, Py_ssize_t n) noexcept nogil:
        """Set the emission of labels that the annotation excludes to 0."""
        cdef Py_ssize_t t, y
        cdef int32_t code
        for t in range(n):
            code = self.codes[first + t]
            for y in range(self.n_labels):
                if y != code and (code >= 0 or not self.allowed[self.allowed.shape[0] - 1 if code == -1
                                                                else -2 - code, y]):
                    self.emission[t * self.stride + y] = 0

    cdef bint is_labelled(self, Py_ssize_t first, Py_ssize_t n) noexcept nogil:
        """Whether each token has one right label."""
        cdef Py_ssize_t t
        for t in range(n):
            if self.codes[first + t] < 0:
                return False
        return True

    cdef void observe(self, Py_ssize_t first, Py_ssize_t n, double sign, double* out) noexcept nogil:
        """Add sign times the counts of the right labels to the gradient."""
        cdef Py_ssize_t t, k, c
        cdef double value
        cdef int32_t gold
        for t in range(n):
            gold = self.codes[first + t]
            for k in range(self.token_ptr[first + t], self.token_ptr[first + t + 1]):
                value = sign if self.values is None else sign * self.values[k]
                for c in range(self.ptr[self.rows[k]], self.ptr[self.rows[k] + 1]):
                    if self.cell_label[c] == gold:
                        out[c] += value
                        break
            if t:
                out[self.n_cells + self.codes[first + t - 1] * self.n_labels + gold] += sign

    cdef double expect(
        self, Py_ssize_t first, Py_ssize_t n, double sign, const double* w, double scale, double* out
    ) noexcept nogil:
        """Add sign times the gradient of log Z, less that of the right labels, to `out`; return the loss.

        `out` may be w itself. The sums over pairs of labels are left in `pairs`.
        """
        cdef double rest = self.score(first, n, w, scale)
        cdef double loss = self.forwards(n)
        self.backwards(first, n, sign, out)
        if self.is_labelled(first, n):
            self.observe(first, n, -sign, out)
            return loss + rest
        self.restrict(first, n)
        loss -= self.forwards(n)
        self.backwards(first, n, -sign, out)
        return loss

    cdef void add_expected_pairs(self, double* out) noexcept nogil:
        """Add the sums over pairs of labels to the gradient, and clear them."""
        cdef Py_ssize_t p, y
        for p in range(self.n_labels):
            for y in range(self.n_labels):
                out[self.n_cells + p * self.n_labels + y] += (
                    self.pairs[p * self.stride + y] * self.table[p * self.stride + y])
        memset(self.pairs, 0, self.n_labels * self.stride * sizeof(double))

    def gradient(self, const double[::1] w not None):
        """The negative log-likelihood at w, infinite where it overflows, and its gradient."""
        self.check(w)
        result = np.zeros(self.n_weights)
        cdef double[::1] out = result
        cdef double total = 0
        cdef Py_ssize_t s, first
        with nogil:
            memset(self.pairs, 0, self.n_labels * self.stride * sizeof(double))
            self.tabulate(&w[self.n_cells], 1)
            for s in range(self.sentence_ptr.shape[0] - 1):
                first = self.sentence_ptr[s]
                if self.sentence_ptr[s + 1] > first:
                    poll()
                    total += self.expect(first, self.sentence_ptr[s + 1] - first, 1, &w[0], 1, &out[0])
            self.add_expected_pairs(&out[0])
        return (total if np.isfinite(total) else np.inf), result

    def curvature(self, const double[::1] w not None):
        """About the diagonal of the Hessian at w: exact for features that occur once in a sentence."""
        self.check(w)
        result = np.zeros(self.n_weights)
        cdef double[::1] out = result
        cdef Py_ssize_t s, first, n
        self.curved = True
        try:
            with nogil:
                memset(self.pairs, 0, self.n_labels * self.stride * sizeof(double))
                self.tabulate(&w[self.n_cells], 1)
                for s in range(self.sentence_ptr.shape[0] - 1):
                    first, n = self.sentence_ptr[s], self.sentence_ptr[s + 1] - self.sentence_ptr[s]
                    if n:
                        poll()
                        self.score(first, n, &w[0], 1)
                        self.forwards(n)
                        self.backwards(first, n, 1, &out[0])
                self.add_expected_pairs(&out[0])
        finally:
            self.curved = False
        return result

    def steps(
        self, double[::1] w not None, const long long[::1] order not None, double rate, double decay,
        double number, const uint8_t[::1] fixed not None,
    ):
        """One stochastic step for each sentence of `order`; return the sum of the losses before the steps.

        Step t subtracts rate / (1 + decay * rate * t) times the gradient of the sentence's loss and of
        decay / 2 * |w|^2; `number` is the t of the first one. fixed: pairs of labels whose weight stays 0.
        """
        self.check(w)
        cdef double scale = 1, total = 0, step
        cdef Py_ssize_t s, k, first, n, pairs = self.n_labels * self.n_labels
        if fixed.shape[0] != pairs or (order.shape[0] and not (
                0 <= np.min(order) <= np.max(order) < self.sentence_ptr.shape[0] - 1)):
            raise ValueError("the order or the fixed pairs do not match the sentences or the labels")
        with nogil:
            memset(self.pairs, 0, self.n_labels * self.stride * sizeof(double))
            for s in range(order.shape[0]):
                first = self.sentence_ptr[order[s]]
                n = self.sentence_ptr[order[s] + 1] - first
                step = rate / (1 + decay * rate * (number + s))
                if n:
                    poll()
                    self.tabulate(&w[self.n_cells], scale)
                    total += self.expect(first, n, -step / scale, &w[0], scale, &w[0])
                    self.add_expected_pairs(&w[0])
                    for k in range(pairs):
                        if fixed[k]:
                            w[self.n_cells + k] = 0
                scale *= max(0.0, 1 - step * decay)
                if scale < 1e-6:
                    for k in range(w.shape[0]):
                        w[k] *= scale
                    scale = 1
            for k in range(w.shape[0]):
                w[k] *= scale
        return total if np.isfinite(total) else np.inf

    def check(self, w):
        """Compiled code trusts the number of weights."""
        if len(w) != self.n_weights:
            raise ValueError(f"{len(w)} weights instead of {self.n_weights}")
