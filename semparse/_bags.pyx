# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Algorithms 23 and 24 of Bordes' thesis: the ambiguous dual step, and labelling a sentence with a bag.

Scores are S(x, l) = sum over the active features f of x of w[f, l]; label 0 is the empty one.
"""

from libc.stdint cimport uint64_t
from libc.stdlib cimport free, malloc

from structsvm.rng cimport rng_below

import numpy as np

cdef enum:
    RANDOM, LEFT_RIGHT, ORDER_FREE

STRATEGIES = {"random": RANDOM, "left-right": LEFT_RIGHT, "order-free": ORDER_FREE}
BUSY = "this parser is being trained in another thread; wait until training ends, or train a copy"


def _restored(C, state):
    learner = BagLearner(C, 0)
    learner.set_state(*state)
    return learner


cdef class BagLearner:
    """Weights of features and labels, with their running sum, and the two algorithms on them."""

    cdef double[:, ::1] w
    cdef double[:, ::1] drift  # sum of (steps so far) * change: w - drift / steps is the average
    cdef public long long steps
    cdef public double C
    cdef uint64_t rng
    cdef int n_labels
    cdef bint busy  # a thread is labelling without the GIL: w must stay where it is

    def __init__(self, double C, uint64_t seed):
        self.C = C
        self.rng = 2 * seed + 1
        self.steps = 1
        self.n_labels = 0
        self.w = np.zeros((0, 0))
        self.drift = np.zeros((0, 0))

    def grow(self, int n_features, int n_labels):
        """Make room for features and labels."""
        if self.busy:
            raise RuntimeError(BUSY)
        if n_features > self.w.shape[0] or n_labels > self.w.shape[1]:
            shape = (max(2 * self.w.shape[0], n_features), max(2 * self.w.shape[1], n_labels))
            for name, old in (("w", np.asarray(self.w)), ("drift", np.asarray(self.drift))):
                new = np.zeros(shape)
                new[:old.shape[0], :old.shape[1]] = old
                if name == "w":
                    self.w = new
                else:
                    self.drift = new
        self.n_labels = max(self.n_labels, n_labels)

    def state(self):
        """The weights and their drift, of the labels in use."""
        return (np.array(self.w[:, :self.n_labels]), np.array(self.drift[:, :self.n_labels]),
                np.array([self.steps, self.n_labels], np.int64), np.array([self.rng], np.uint64))

    def set_state(self, double[:, ::1] w, double[:, ::1] drift, long long[::1] counts,
                  uint64_t[::1] rng):
        if self.busy:
            raise RuntimeError(BUSY)
        if counts.shape[0] != 2 or rng.shape[0] != 1 or counts[0] < 1 or not 0 <= counts[1] <= w.shape[1]:
            raise ValueError("the counts do not fit the weights")
        if w.shape[0] != drift.shape[0] or w.shape[1] != drift.shape[1]:
            raise ValueError("the weights and their drift differ in shape")
        self.w, self.drift = w, drift
        self.steps, self.n_labels, self.rng = counts[0], counts[1], rng[0]

    def __reduce__(self):
        return _restored, (self.C, self.state())

    cdef int _check_ids(self, const int[::1] ids) except -1:
        cdef Py_ssize_t k
        for k in range(ids.shape[0]):
            if not 0 <= ids[k] < self.w.shape[0]:
                raise IndexError(f"feature {ids[k]} is not one of {self.w.shape[0]}")
        return 0

    cdef int _check_sentence(self, const long long[::1] ptr, const int[::1] groups, const int[:, ::1] bag,
                             Py_ssize_t n_ids) except -1:
        cdef Py_ssize_t i, n = ptr.shape[0] - 1
        if n < 0 or ptr[0] != 0 or ptr[n] != n_ids or groups.shape[0] != n or bag.shape[1] < self.n_labels:
            raise ValueError("the arrays of the sentence do not fit together")
        for i in range(n):
            if ptr[i] > ptr[i + 1] or not 0 <= groups[i] < bag.shape[0]:
                raise ValueError("the arrays of the sentence do not fit together")
        return 0

    cdef void _scores(self, const int[::1] ids, Py_ssize_t first, Py_ssize_t last,
                      double* out) noexcept nogil:
        cdef Py_ssize_t k, label
        for label in range(self.n_labels):
            out[label] = 0
        for k in range(first, last):
            for label in range(self.n_labels):
                out[label] += self.w[ids[k], label]

    def scores(self, const int[::1] ids, bint averaged):
        """Scores of all labels for one pattern, from the last or from the averaged weights."""
        cdef double[::1] out = np.zeros(self.n_labels)
        cdef Py_ssize_t k, label
        self._check_ids(ids)
        for k in range(ids.shape[0]):
            for label in range(self.n_labels):
                out[label] += self.w[ids[k], label]
                if averaged:
                    out[label] -= self.drift[ids[k], label] / self.steps
        return np.asarray(out)

    def dual_step(self, const int[::1] ids, const unsigned char[::1] inside):
        """Algorithm 23 on one pattern; returns (loss, step size, coefficients q of the labels)."""
        cdef double[::1] q = np.zeros(self.n_labels), s = np.zeros(self.n_labels)
        cdef double loss = 0
        self._check_ids(ids)
        if inside.shape[0] != self.n_labels:
            raise ValueError(f"inside has {inside.shape[0]} entries for {self.n_labels} labels")
        self._scores(ids, 0, ids.shape[0], &s[0])
        cdef double alpha = self._dual_step(ids, 0, ids.shape[0], &inside[0], &s[0], &q[0], &loss)
        return loss, alpha, np.asarray(q)

    cdef double _dual_step(self, const int[::1] ids, Py_ssize_t first, Py_ssize_t last,
                           const unsigned char* inside, const double* s, double* q,
                           double* loss) noexcept nogil:
        """With scores s: the mean pairwise loss, its direction q, and the clipped step along it."""
        cdef Py_ssize_t a, b, k, n_in = 0, n_pairs
        cdef double norm = 0, alpha
        for a in range(self.n_labels):
            q[a] = 0
            n_in += inside[a]
        n_pairs = n_in * (self.n_labels - n_in)
        loss[0] = 0
        if not n_pairs:
            return 0
        for a in range(self.n_labels):
            if not inside[a]:
                continue
            for b in range(self.n_labels):
                if not inside[b] and s[a] - s[b] < 1:
                    loss[0] += 1 - s[a] + s[b]
                    q[a] += 1
                    q[b] -= 1
        loss[0] /= n_pairs
        for a in range(self.n_labels):
            q[a] /= n_pairs
            norm += q[a] * q[a]
        norm *= last - first  # each active feature is 1
        if norm == 0:
            return 0
        alpha = min(loss[0] / norm, self.C)
        for k in range(first, last):
            for a in range(self.n_labels):
                self.w[ids[k], a] += alpha * q[a]
                self.drift[ids[k], a] += alpha * q[a] * self.steps
        return alpha

    cdef int _best(self, const double* s) noexcept nogil:
        """The label with the highest score, a random one of equals."""
        cdef int label, best = 0, equal = 1
        for label in range(1, self.n_labels):
            if s[label] > s[best]:
                best = label
                equal = 1
            elif s[label] == s[best]:
                equal += 1
                if rng_below(&self.rng, equal) == 0:
                    best = label
        return best

    def label(self, const int[::1] ids, const long long[::1] ptr, const int[::1] groups, int[:, ::1] bag,
              int strategy, bint spare):
        """Algorithm 24: label the positions of a sentence with what their bags hold, learning on the way.

        Position i has features ids[ptr[i]:ptr[i+1]] and may take the labels l with bag[groups[i], l] > 0; a
        label taken is removed from the bag. With `spare`, a bag with nothing left allows the empty label.
        Returns the labels, -1 where none was accepted.
        """
        cdef Py_ssize_t n = ptr.shape[0] - 1
        if self.busy:
            raise RuntimeError(BUSY)
        self._check_ids(ids)
        self._check_sentence(ptr, groups, bag, ids.shape[0])
        cdef int[::1] out = np.full(n, -1, np.int32)
        cdef Py_ssize_t size = max(self.n_labels, 1)
        cdef double* s = <double*>malloc(2 * size * sizeof(double))
        cdef unsigned char* inside = <unsigned char*>malloc(size)
        cdef int* order = <int*>malloc(max(n, 1) * sizeof(int))
        if s == NULL or inside == NULL or order == NULL:
            free(s)
            free(inside)
            free(order)
            raise MemoryError()
        self.busy = True
        with nogil:
            self._label(ids, ptr, groups, bag, strategy, spare, out, n, s, inside, order)
        self.busy = False
        free(s)
        free(inside)
        free(order)
        return np.asarray(out)

    cdef void _label(self, const int[::1] ids, const long long[::1] ptr, const int[::1] groups,
                     int[:, ::1] bag, int strategy, bint spare, int[::1] out, Py_ssize_t n, double* s,
                     unsigned char* inside, int* order) noexcept nogil:
        cdef Py_ssize_t unlabelled = n, tried, current = 0
        cdef int i, best
        cdef double loss
        cdef bint success = True
        while unlabelled and success:
            success = False
            self._order(out, n, current, strategy, order)
            for tried in range(unlabelled):
                if strategy == ORDER_FREE:
                    self._surest_first(ids, ptr, order, tried, unlabelled, s)
                i = order[tried]
                self._scores(ids, ptr[i], ptr[i + 1], s)
                best = self._best(s)
                self._allowed(bag, groups[i], spare, inside)
                self.steps += 1
                if inside[best]:
                    if bag[groups[i], best] > 0:
                        bag[groups[i], best] -= 1
                    out[i] = best
                    unlabelled -= 1
                    current = i
                    success = True
                    break
                self._dual_step(ids, ptr[i], ptr[i + 1], inside, s, s + self.n_labels, &loss)

    cdef void _allowed(self, int[:, ::1] bag, int group, bint spare, unsigned char* inside) noexcept nogil:
        cdef int label, n_in = 0
        for label in range(self.n_labels):
            inside[label] = bag[group, label] > 0
            n_in += inside[label]
        if spare and not n_in:
            inside[0] = 1

    cdef void _order(self, const int[::1] out, Py_ssize_t n, Py_ssize_t current, int strategy,
                     int* order) noexcept nogil:
        """The unlabelled positions: shuffled, or from the current one on and around."""
        cdef Py_ssize_t k, j, m = 0
        cdef int held
        for k in range(n):
            j = (current + k) % n if strategy == LEFT_RIGHT else k
            if out[j] < 0:
                order[m] = <int>j
                m += 1
        if strategy == RANDOM:
            for k in range(m - 1, 0, -1):
                j = <Py_ssize_t>rng_below(&self.rng, k + 1)
                held = order[k]
                order[k] = order[j]
                order[j] = held

    cdef void _surest_first(self, const int[::1] ids, const long long[::1] ptr, int* order, Py_ssize_t tried,
                            Py_ssize_t unlabelled, double* s) noexcept nogil:
        """Bring forward the position, of those not yet tried, whose best label scores highest."""
        cdef Py_ssize_t k, surest = tried
        cdef double score, highest = 0
        cdef int i, label, held
        for k in range(tried, unlabelled):
            i = order[k]
            self._scores(ids, ptr[i], ptr[i + 1], s)
            score = s[0]
            for label in range(1, self.n_labels):
                score = max(score, s[label])
            if k == tried or score > highest:
                highest = score
                surest = k
        held = order[tried]
        order[tried] = order[surest]
        order[surest] = held
