# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Oracles of sequence labelling: exact (Viterbi, a pattern is a sentence) and greedy (a pattern is a token).

Their weights begin with the label history. Exact: history[p, y] scores label y after label p, p = n_labels at
the start. Greedy of order k: history[s, p, y] scores label y where the label s + 1 places before is p,
p = n_labels if there is no such label.
"""
from libc.stdint cimport int32_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy

import numpy as np

from structsvm.problems.sequence._sentences cimport UNKNOWN, Sentence, SequenceOracle, enough

from structsvm.problems.sequence.bigrams import with_gold_rows

cdef float FORBIDDEN = -1e30


cdef class ExactOracle(SequenceOracle):
    """Viterbi over whole sentences, with the loss added to the scores of wrong labels."""

    def __init__(self, problem, Py_ssize_t n_labels, Py_ssize_t stride, loss, barred, barred_end):
        super().__init__(problem, n_labels, stride, n_labels + 1, loss)
        self.barred = np.require(barred, np.float32, "CA")
        self.barred_end = np.require(barred_end, np.float32, "CA")
        self.transitions = <float*>enough(malloc((n_labels + 1) * stride * sizeof(float)))

    def __dealloc__(self):
        free(self.lattice)
        free(self.masked)
        free(self.best)
        free(self.back)
        free(self.transitions)
        free(self.answer)
        free(self.truth)

    cdef int place(self, Sentence* x, list slots) except -1:
        cdef Py_ssize_t t
        for t in range(x.n_tokens):
            if x.gold[t] != UNKNOWN:
                slots.append(self.put(x, 0))
                return 0
        return 0

    def sizes(self, const Py_ssize_t[::1] slots) -> np.ndarray:
        """The tokens of each sentence."""
        cdef Py_ssize_t k
        return np.array([self.of_slot[slots[k]].n_tokens for k in range(slots.shape[0])], dtype=np.float64)

    cdef double weight_of(self, const Sentence* x, Py_ssize_t t) noexcept nogil:
        """The mean weight of the tokens with labels."""
        cdef Py_ssize_t k, n = 0
        cdef double total = 0
        if x.weights == NULL:
            return 1
        for k in range(x.n_tokens):
            if x.gold[k] != UNKNOWN:
                total += x.weights[k]
                n += 1
        return total / n if total > 0 else 1

    cdef double share(self, const Sentence* x, Py_ssize_t t) noexcept nogil:
        """The weight of a token by the mean weight of its sentence."""
        return 1 if x.weights == NULL else x.weights[t] / self.mean

    cdef int widen(self, Py_ssize_t n_tokens) except -1 nogil:
        if n_tokens <= self.room:
            return 0
        with gil:
            n_tokens += n_tokens // 2
            self.lattice = <float*>enough(realloc(self.lattice, n_tokens * self.stride * sizeof(float)))
            self.masked = <float*>enough(realloc(self.masked, n_tokens * self.stride * sizeof(float)))
            self.best = <float*>enough(realloc(self.best, n_tokens * self.stride * sizeof(float)))
            self.back = <int32_t*>enough(realloc(self.back, n_tokens * self.stride * sizeof(int32_t)))
            self.answer = <int32_t*>enough(realloc(self.answer, n_tokens * sizeof(int32_t)))
            self.truth = <int32_t*>enough(realloc(self.truth, n_tokens * sizeof(int32_t)))
            self.room = n_tokens
        return 0

    cdef int find(self, Py_ssize_t slot, const double* w, bint augmented) except -1 nogil:
        cdef Sentence* x = self.of_slot[slot]
        cdef Py_ssize_t t, y, next_poll = tokens_per_poll(self.n_labels, self.stride)
        cdef bint partial = False
        cdef float* scores
        cdef const double* loss
        cdef double share
        self.widen(x.n_tokens)
        self.mean = self.weight_of(x, 0)
        for t in range((self.n_labels + 1) * self.stride):
            self.transitions[t] = <float>w[t] + (&self.barred[0, 0])[t]
        for t in range(x.n_tokens):
            if t == next_poll:
                next_poll += tokens_per_poll(self.n_labels, self.stride)
                poll()
            self.score(w, x, t)
            for y in range(self.stride):
                self.lattice[t * self.stride + y] = <float>self.scores[y]
            partial |= x.gold[t] < 0
        self.found.cost = <double>self.stride * (x.token_ptr[x.n_tokens] + x.n_tokens * self.n_labels)
        if partial:
            self.complete(x)
        else:
            memcpy(self.truth, x.gold, x.n_tokens * sizeof(int32_t))
        for t in range(x.n_tokens if augmented else 0):
            pause(t)
            scores, share = self.lattice + t * self.stride, self.share(x, t)
            if x.gold[t] >= 0:
                loss = &self.loss[x.gold[t], 0]
                for y in range(self.n_labels):
                    scores[y] += <float>(share * loss[y])
            else:
                for y in range(self.n_labels):
                    scores[y] += <float>(share * self.cost_of(x.gold[t], y))
        self.viterbi(self.lattice, x.n_tokens, self.answer)
        self.emit(x)
        return self.first_look(x, augmented) if self.unseen else 0

    cdef int first_look(self, const Sentence* x, bint augmented) except -1 nogil:
        """Count the prediction without the loss: the gold labels, if they win even with the loss."""
        cdef Py_ssize_t t, y
        if augmented and self.found.n:
            for t in range(x.n_tokens):
                pause(t)
                for y in range(self.n_labels):
                    self.lattice[t * self.stride + y] -= <float>(
                        self.share(x, t) * self.cost_of(x.gold[t], y))
            self.viterbi(self.lattice, x.n_tokens, self.answer)
        for t in range(x.n_tokens):
            self.note(x, t, self.answer[t])
        self.unseen = False
        return 0

    cdef int complete(self, const Sentence* x) except -1 nogil:
        """The best labels that the annotation allows, into `truth`."""
        cdef Py_ssize_t t, y
        for t in range(x.n_tokens):
            pause(t)
            for y in range(self.n_labels):
                self.masked[t * self.stride + y] = (
                    self.lattice[t * self.stride + y] if self.permits(x.gold[t], y) else FORBIDDEN)
        return self.viterbi(self.masked, x.n_tokens, self.truth)

    cdef const float* entering(self, Py_ssize_t t) noexcept nogil:
        """(n_labels + 1) x stride: scores of the transitions to a token; the last row is for the first."""
        return self.transitions

    cdef int viterbi(self, const float* lattice, Py_ssize_t n, int32_t* path) except -1 nogil:
        """The best path through the lattice."""
        cdef Py_ssize_t t, y, last = 0, stride = self.stride
        cdef Py_ssize_t next_poll = tokens_per_poll(self.n_labels, stride)
        cdef float* best = self.best
        cdef const float* start = self.entering(0) + self.n_labels * stride
        for y in range(stride):
            best[y] = lattice[y] + start[y]
        for t in range(1, n):
            if t == next_poll:
                next_poll += tokens_per_poll(self.n_labels, stride)
                poll()
            viterbi_step(best + t * stride, self.back + t * stride, best + (t - 1) * stride, self.entering(t),
                         self.n_labels, stride)
            for y in range(stride):
                best[t * stride + y] += lattice[t * stride + y]
        best += (n - 1) * stride
        for y in range(self.n_labels):
            best[y] += self.barred_end[y]
            if best[y] > best[last]:
                last = y
        for t in range(n - 1, -1, -1):
            path[t] = <int32_t>last
            if t:
                last = self.back[t * stride + last]
        return 0

    cdef int emit(self, const Sentence* x) except -1 nogil:
        """The difference between `truth` and `answer`, and its loss."""
        cdef Py_ssize_t t, right, wrong, before_right = self.n_labels, before_wrong = self.n_labels
        self.found.n, self.found.loss = 0, 0
        self.reserve(2 * (x.token_ptr[x.n_tokens] + x.n_tokens))
        for t in range(x.n_tokens):
            pause(t)
            right, wrong = self.truth[t], self.answer[t]
            if right != wrong:
                self.emit_token(x, t, right, wrong)
                self.found.loss += self.share(x, t) * self.cost_of(x.gold[t], wrong)
            if right != wrong or before_right != before_wrong:
                self.found.index[self.found.n] = <int32_t>(before_right * self.stride + right)
                self.found.value[self.found.n] = 1
                self.found.index[self.found.n + 1] = <int32_t>(before_wrong * self.stride + wrong)
                self.found.value[self.found.n + 1] = -1
                self.found.n += 2
            before_right, before_wrong = right, wrong
        return 0


cdef class GreedyOracle(SequenceOracle):
    """One label at a time, given the true labels before it."""

    def __init__(
        self, problem, Py_ssize_t n_labels, Py_ssize_t stride, loss, Py_ssize_t order, Py_ssize_t n_parts
    ):
        super().__init__(problem, n_labels, stride, order * (n_parts + 1), loss)
        self.order = order
        self.barred = np.require(problem.barred, np.float32, "CA")

    def __dealloc__(self):
        free(self.path)

    cdef int place(self, Sentence* x, list slots) except -1:
        cdef Py_ssize_t t
        for t in range(x.n_tokens):
            if x.gold[t] != UNKNOWN:
                slots.append(self.put(x, t))
        return 0

    cdef void discard(self, Sentence* x) noexcept nogil:
        if x == self.looked:  # another sentence may get its address
            self.looked = NULL
        SequenceOracle.discard(self, x)

    def watch(self, on: bool):
        super().watch(on)
        self.looked = NULL

    def groups(self, const Py_ssize_t[::1] slots) -> np.ndarray:
        """The first slot of each sentence; its tokens are visited together, in order."""
        cdef Py_ssize_t k
        starts = [0]
        for k in range(1, slots.shape[0]):
            if self.of_slot[slots[k]] != self.of_slot[slots[k - 1]]:
                starts.append(k)
        return np.array(starts, dtype=np.intp)

    def taken(self, X, y):
        """The previous labels are the true ones, so a bigram feature is an ordinary feature."""
        if X.bigrams is None:
            return X
        return with_gold_rows(X, y.codes, self.problem.bigrams, self.n_labels)

    cdef Py_ssize_t history(self, const Sentence* x, Py_ssize_t t, Py_ssize_t distance) noexcept nogil:
        """The history row of the label some places before; an unknown label counts as none."""
        cdef Py_ssize_t before = self.n_labels
        if t >= distance and x.gold[t - distance] >= 0:
            before = x.gold[t - distance]
        return (distance - 1) * (self.n_labels + 1) + before

    cdef int find(self, Py_ssize_t slot, const double* w, bint augmented) except -1 nogil:
        cdef Sentence* x = self.of_slot[slot]
        cdef Py_ssize_t t = self.token_of_slot[slot], s, y, right = -1, wrong = 0
        cdef int32_t gold = x.gold[t]
        cdef double* scores = self.scores
        cdef const double* row
        cdef double value, worst = 0
        if self.unseen:
            self.first_look(w, x, t)
        self.score(w, x, t)
        for s in range(1, self.order + 1):
            row = w + self.history(x, t, s) * self.stride
            for y in range(self.n_labels):
                scores[y] += row[y]
        self.found.cost = <double>self.stride * (x.token_ptr[t + 1] - x.token_ptr[t] + self.order)
        if gold >= 0:
            right = gold
            wrong = best_label(scores, &self.loss[gold, 0] if augmented else NULL, self.n_labels)
        else:
            for y in range(self.n_labels):
                if self.permits(gold, y) and (right < 0 or scores[y] > scores[right]):
                    right = y
                value = scores[y] + (self.cost_of(gold, y) if augmented else 0)
                if y == 0 or value > worst:
                    wrong, worst = y, value
        self.found.n, self.found.loss = 0, 0
        if right == wrong:
            return 0
        self.found.loss = self.cost_of(gold, wrong)
        self.reserve(2 * (x.token_ptr[t + 1] - x.token_ptr[t] + self.order))
        for s in range(1, self.order + 1):
            self.emit_history(self.history(x, t, s), right, wrong)
        self.emit_token(x, t, right, wrong)
        return 0

    cdef int first_look(self, const double* w, const Sentence* x, Py_ssize_t at) except -1 nogil:
        """Label the sentence as the decoder does, before learning from it, and count the predictions."""
        cdef Py_ssize_t t, s, y, row, best
        cdef bint known = x == self.looked and at > self.looked_token
        self.looked, self.looked_token, self.unseen = x, at, False
        if known:
            return 0
        if x.n_tokens > self.room:
            with gil:
                self.path = <int32_t*>enough(realloc(self.path, 2 * x.n_tokens * sizeof(int32_t)))
                self.room = 2 * x.n_tokens
        for t in range(x.n_tokens):
            pause(t)
            self.score(w, x, t)
            for s in range(1, self.order + 1):
                row = (s - 1) * (self.n_labels + 1) + (self.path[t - s] if t >= s else self.n_labels)
                for y in range(self.n_labels):
                    self.scores[y] += w[row * self.stride + y]
            row = self.path[t - 1] if t else self.n_labels
            for y in range(self.n_labels):
                self.scores[y] += self.barred[row, y]
            best = best_label(self.scores, NULL, self.n_labels)
            self.path[t] = <int32_t>best
            self.note(x, t, best)
        return 0


cdef Py_ssize_t best_label(const double* scores, const double* loss, Py_ssize_t n) noexcept nogil:
    """The first of the labels with the highest score, losses added where there are some."""
    cdef Py_ssize_t y, best = 0
    cdef double value, most = scores[0] + loss[0] if loss else scores[0]
    for y in range(1, n):
        value = scores[y] + loss[y] if loss else scores[y]
        if value > most:
            best, most = y, value
    return best
