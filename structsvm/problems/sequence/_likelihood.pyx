# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The likelihood of labels under a linear-chain conditional random field, and its gradient.

A weight belongs to a feature and a label (a cell) or to two labels in a row. The cells of feature r are
``ptr[r]`` to ``ptr[r + 1]``, sorted by label; the weights of pairs of labels follow those of the cells.
"""
from libc.math cimport exp
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset

from structsvm.problems.sequence._chain cimport Chain
from structsvm.problems.sequence._oracles cimport poll

import numpy as np


cdef class Likelihood(Chain):
    """Computes -log p(y | x), summed over sentences, and its gradient; or learns by stochastic steps.

    X, y : `Sequences` and `SequenceLabels`. A token may have any label, or any of a set: the likelihood is
        then that of all labellings that agree with the annotation.
    ptr, labels : the cells of each feature.
    """

    cdef readonly Py_ssize_t n_cells
    cdef readonly object X, y
    cdef const int32_t[::1] rows, codes, cell_label
    cdef const long long[::1] token_ptr, sentence_ptr
    cdef const int64_t[::1] ptr
    cdef const float[::1] values
    cdef const uint8_t[:, ::1] allowed     # sets x labels
    cdef bint curved                       # sum p (1 - p) instead of p

    def __init__(self, X, y, Py_ssize_t n_labels, ptr, labels):
        cdef Py_ssize_t k
        super().__init__(n_labels)
        self.X, self.y, self.n_cells = X, y, len(labels)
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
        self.widen(int(np.diff(X.sentence_ptr).max(initial=0)))

    @property
    def n_weights(self):
        return self.n_cells + self.n_labels * self.n_labels

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

    cdef void spend(self, Py_ssize_t token, double* out) noexcept nogil:
        """Add the shares of the labels of a token to its cells."""
        cdef Py_ssize_t k, c, y
        cdef double value
        if self.curved:
            for y in range(self.stride):
                self.share[y] *= 1 - self.share[y]
        for k in range(self.token_ptr[token], self.token_ptr[token + 1]):
            value = 1 if self.values is None else self.values[k]
            if self.curved:
                value *= value
            for c in range(self.ptr[self.rows[k]], self.ptr[self.rows[k] + 1]):
                out[c] += value * self.share[self.cell_label[c]]

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

    def gradient(self, const double[::1] w not None):
        """The negative log-likelihood at w, infinite where it overflows, and its gradient."""
        self.check(w)
        result = np.zeros(self.n_weights)
        cdef double[::1] out = result
        cdef double total = 0
        cdef Py_ssize_t s, first
        with nogil:
            self.clear_pairs()
            self.tabulate(&w[self.n_cells], self.n_labels, 1)
            for s in range(self.sentence_ptr.shape[0] - 1):
                first = self.sentence_ptr[s]
                if self.sentence_ptr[s + 1] > first:
                    poll()
                    total += self.expect(first, self.sentence_ptr[s + 1] - first, 1, &w[0], 1, &out[0])
            self.add_expected_pairs(&out[self.n_cells], self.n_labels)
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
                self.clear_pairs()
                self.tabulate(&w[self.n_cells], self.n_labels, 1)
                for s in range(self.sentence_ptr.shape[0] - 1):
                    first, n = self.sentence_ptr[s], self.sentence_ptr[s + 1] - self.sentence_ptr[s]
                    if n:
                        poll()
                        self.score(first, n, &w[0], 1)
                        self.forwards(n)
                        self.backwards(first, n, 1, &out[0])
                self.add_expected_pairs(&out[self.n_cells], self.n_labels)
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
            self.clear_pairs()
            for s in range(order.shape[0]):
                first = self.sentence_ptr[order[s]]
                n = self.sentence_ptr[order[s] + 1] - first
                step = rate / (1 + decay * rate * (number + s))
                if n:
                    poll()
                    self.tabulate(&w[self.n_cells], self.n_labels, scale)
                    total += self.expect(first, n, -step / scale, &w[0], scale, &w[0])
                    self.add_expected_pairs(&w[self.n_cells], self.n_labels)
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
