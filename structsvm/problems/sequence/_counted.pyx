# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Viterbi by the number of wrong labels: exact for a loss that depends on it, in every form of the problem.

Margin rescaling with L1 slacks does not need this if the loss is a sum over tokens. A product with the
loss, its root and the 0/1 loss of a sentence are not such sums. The search therefore keeps the best labelling
for each number of wrong labels, up to a limit, and the most violated one is among them (thesis 4.4.2).
"""
from libc.math cimport INFINITY
from libc.stdint cimport int32_t
from libc.stdlib cimport free, realloc

from structsvm.problems.sequence._sentences cimport Sentence
from structsvm.problems.sequence._oracles cimport ExactOracle, poll, tokens_per_poll

import numpy as np


cdef class CountedOracle(ExactOracle):
    """The loss is the number of wrong labels, up to a limit: 1 for the 0/1 loss of whole sentences."""

    cdef Py_ssize_t limit
    cdef double* strata             # tokens x labels x counts
    cdef int32_t* before            # label and count of the token before, in one number
    cdef Py_ssize_t strata_room

    def __init__(self, problem, Py_ssize_t n_labels, Py_ssize_t stride, barred, barred_end, Py_ssize_t limit):
        super().__init__(problem, n_labels, stride, problem.loss_, barred, barred_end)
        self.limit = limit

    def __dealloc__(self):
        free(self.strata)
        free(self.before)

    def configure(self, *, rescaling, slack):
        self.slack_rescaling, self.squared = rescaling == "slack", slack == "l2"

    def add(self, X, y) -> np.ndarray:
        check_known(y.codes)
        return super().add(X, y)

    def add_rows(self, sentence_ptr, token_ptr, rows, codes, *args, **kwargs) -> np.ndarray:
        check_known(codes)
        return super().add_rows(sentence_ptr, token_ptr, rows, codes, *args, **kwargs)

    cdef int find(self, Py_ssize_t slot, const double* w, bint augmented) except -1 nogil:
        cdef Sentence* x = self.of_slot[slot]
        cdef Py_ssize_t t, y, s, counts = min(x.n_tokens, self.limit) + 1, last = 0, most = 0
        cdef Py_ssize_t next_poll = tokens_per_poll(self.n_labels * counts, self.stride)
        cdef double value, gold, worst = -INFINITY
        cdef double* end
        if not augmented:
            return ExactOracle.find(self, slot, w, augmented)
        self.widen(x.n_tokens)
        self.widen_strata(x.n_tokens * self.n_labels * counts)
        for t in range(x.n_tokens):
            if t == next_poll:
                next_poll += tokens_per_poll(self.n_labels * counts, self.stride)
                poll()
            self.score(w, x, t)
            self.extend(x, w, t, counts)
            self.truth[t] = x.gold[t]
        end = self.strata + (x.n_tokens - 1) * self.n_labels * counts
        # Nothing wrong: that is the right labelling and no other.
        gold = end[x.gold[x.n_tokens - 1] * counts] + self.barred_end[x.gold[x.n_tokens - 1]]
        for y in range(self.n_labels):
            for s in range(counts):
                value = self.violation(<double>s, gold - end[y * counts + s] - self.barred_end[y])
                if end[y * counts + s] > -INFINITY and value > worst:
                    worst, last, most = value, y, s
        if worst == -INFINITY:
            with gil:
                raise ValueError("no labelling has a finite score; weights must be finite")
        s = most
        for t in range(x.n_tokens - 1, -1, -1):
            self.answer[t] = <int32_t>last
            if t:
                s += last * counts
                s = self.before[t * self.n_labels * counts + s]
                last, s = s // counts, s % counts
        self.emit(x)
        self.found.loss = most
        self.found.cost = <double>self.stride * x.token_ptr[x.n_tokens] + (
            <double>x.n_tokens * self.n_labels * self.n_labels * counts)
        return 0

    cdef void extend(
        self, const Sentence* x, const double* w, Py_ssize_t t, Py_ssize_t counts
    ) noexcept nogil:
        """The best labellings that end at token t, from those that end before it."""
        cdef Py_ssize_t p, y, s, at, wrong, row = self.n_labels * counts
        cdef double* here = self.strata + t * row
        cdef double* previous = here - row
        cdef int32_t* back = self.before + t * row
        cdef double step, value
        for s in range(row):
            here[s] = -INFINITY
        for y in range(self.n_labels):
            wrong = y != x.gold[t]
            if t == 0:
                here[y * counts + wrong] = (
                    self.scores[y] + w[self.n_labels * self.stride + y] + self.barred[self.n_labels, y])
                continue
            for p in range(self.n_labels):
                step = self.scores[y] + w[p * self.stride + y] + self.barred[p, y]
                for s in range(counts):
                    at = y * counts + min(s + wrong, counts - 1)
                    value = previous[p * counts + s] + step
                    if value > here[at]:
                        here[at], back[at] = value, <int32_t>(p * counts + s)

    cdef int widen_strata(self, Py_ssize_t n) except -1 nogil:
        cdef double* strata
        cdef int32_t* before
        if n <= self.strata_room:
            return 0
        n += n // 2
        strata = <double*>realloc(self.strata, n * sizeof(double))
        if strata != NULL:
            self.strata = strata
        before = <int32_t*>realloc(self.before, n * sizeof(int32_t))
        if before != NULL:
            self.before = before
        if strata == NULL or before == NULL:
            with gil:
                raise MemoryError(f"no memory for {n} labellings")
        self.strata_room = n
        return 0


def check_known(codes):
    """Refuse tokens without their right label, which is looked up by its code."""
    if np.min(codes, initial=0) < 0:
        raise ValueError("a loss that counts wrong labels needs the right label of every token")
