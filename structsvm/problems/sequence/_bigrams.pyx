# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Exact inference whose transitions depend on the input: `ExactOracle` with the features of `Bigrams`."""
from libc.stdint cimport int32_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy

from structsvm._dual.oracle cimport Oracle
from structsvm.problems.sequence._sentences cimport Sentence, SequenceOracle
from structsvm.problems.sequence._oracles cimport ExactOracle

import numpy as np

from structsvm.problems.sequence.bigrams import Bigrams


cdef class BigramOracle(ExactOracle):
    """Viterbi with a table of transitions for each token."""

    cdef Py_ssize_t kinds                       # bigram features that a token can have
    cdef const int32_t[:, ::1] rows_of          # numbers x (n_labels + 1), -1 where there is no row
    cdef int32_t** ids_of_slot                  # tokens x kinds
    cdef Py_ssize_t slots_with_ids              # how many of them there is room for
    cdef float* table                           # the transitions of one token
    cdef const int32_t* ids                     # of the sentence at hand
    cdef const double* w

    def __init__(self, problem, Py_ssize_t n_labels, Py_ssize_t stride, loss, barred, barred_end):
        super().__init__(problem, n_labels, stride, loss, barred, barred_end)
        self.kinds = len(problem.bigrams)
        self.rows_of = np.zeros((0, n_labels + 1), np.int32)
        self.table = <float*>malloc((n_labels + 1) * stride * sizeof(float))
        if self.table == NULL:
            raise MemoryError(f"no memory for the transitions of {n_labels} labels")

    def __dealloc__(self):
        cdef Py_ssize_t slot
        for slot in range(self.slots_with_ids):
            free(self.ids_of_slot[slot])
        free(self.ids_of_slot)
        free(self.table)
        self.slots_with_ids = 0

    def add(self, X, y) -> np.ndarray:
        slots = super().add(X, y)
        self.know(X.bigrams.rows)
        self.keep(slots, X.sentence_ptr, X.bigrams.ids)
        return slots

    def add_rows(
        self, sentence_ptr, token_ptr, rows, codes, values=None, sets=(), places=None, bigram_ids=None,
        bigram_rows=None, weights=None,
    ) -> np.ndarray:
        if places is not None:
            Bigrams(bigram_ids, bigram_rows).check(len(token_ptr) - 1, self.kinds, self.n_labels)
            self.problem.check_size(bigram_rows)
        slots = super().add_rows(sentence_ptr, token_ptr, rows, codes, values, sets, places, weights)
        if places is not None:
            self.know(bigram_rows)
            self.keep(slots, sentence_ptr, bigram_ids)
        return slots

    def forget_rows(self, row_of):
        Oracle.forget_rows(self, row_of)    # refused: numbers of bigrams are rows too

    def know(self, rows):
        """Load the rows of all numbers; numbers are only added, so the longer table is the newer one."""
        if len(rows) < self.rows_of.shape[0]:
            return
        self.rows_of = np.array(rows, np.int32, order="C")
        self.n_rows = max(self.n_rows, int(np.max(rows, initial=-1)) + 1)
        self.n_weights = self.offset + self.n_rows * self.stride

    def keep(self, const Py_ssize_t[::1] slots, sentence_ptr, bigram_ids):
        """Store the numbers of the sentences that have these slots."""
        cdef const int32_t[::1] numbers = np.append(np.asarray(bigram_ids, np.int32).reshape(-1), np.int32(0))
        cdef const long long[::1] start = np.require(sentence_ptr, np.int64, "CA")
        cdef Py_ssize_t k, slot, s, size
        cdef int32_t* stored
        cdef void* grown
        if self.slots_capacity > self.slots_with_ids:
            grown = realloc(self.ids_of_slot, self.slots_capacity * sizeof(int32_t*))
            if grown == NULL:
                raise MemoryError("no memory for the sentences")
            self.ids_of_slot = <int32_t**>grown
            for slot in range(self.slots_with_ids, self.slots_capacity):
                self.ids_of_slot[slot] = NULL
            self.slots_with_ids = self.slots_capacity
        for k in range(slots.shape[0]):
            s = self.of_slot[slots[k]].number
            size = self.kinds * (start[s + 1] - start[s]) * sizeof(int32_t)
            stored = <int32_t*>malloc(size)
            if stored == NULL:
                raise MemoryError("no memory for the sentences")
            memcpy(stored, &numbers[self.kinds * start[s]], size)
            self.ids_of_slot[slots[k]] = stored

    def rows(self, const Py_ssize_t[::1] slots) -> dict:
        cdef Py_ssize_t k, n
        ids = [np.zeros(0, np.int32)]
        for k in range(slots.shape[0]):
            n = self.kinds * self.of_slot[slots[k]].n_tokens
            ids.append(np.array(<int32_t[:n]>self.ids_of_slot[slots[k]]))
        ids = np.concatenate(ids).reshape(-1, self.kinds)
        return super().rows(slots) | {"bigram_ids": ids, "bigram_rows": np.array(self.rows_of)}

    cdef int drop(self, Py_ssize_t slot) except -1 nogil:
        if slot < self.slots_with_ids:
            free(self.ids_of_slot[slot])
            self.ids_of_slot[slot] = NULL
        return SequenceOracle.drop(self, slot)

    cdef int find(self, Py_ssize_t slot, const double* w, bint augmented) except -1 nogil:
        self.w, self.ids = w, self.ids_of_slot[slot]
        ExactOracle.find(self, slot, w, augmented)
        self.found.cost += (
            <double>self.stride * self.n_labels * self.of_slot[slot].n_tokens * (self.kinds + 1))
        return 0

    cdef void add_weights(self, Py_ssize_t t, Py_ssize_t before, float* scores) noexcept nogil:
        """Add the weights of the bigrams of a token for each label, given the previous label."""
        cdef Py_ssize_t k
        cdef int32_t number, row
        for k in range(self.kinds):
            number = self.ids[t * self.kinds + k]
            row = self.rows_of[number, before] if number >= 0 else -1
            if row >= 0:
                self.add_row(self.w, row, scores)

    cdef const float* entering(self, Py_ssize_t t) noexcept nogil:
        cdef Py_ssize_t p, first = 0 if t else self.n_labels, stop = self.n_labels if t else self.n_labels + 1
        memcpy(self.table + first * self.stride, self.transitions + first * self.stride,
               (stop - first) * self.stride * sizeof(float))
        for p in range(first, stop):
            self.add_weights(t, p, self.table + p * self.stride)
        return self.table

    cdef int emit(self, const Sentence* x) except -1 nogil:
        cdef Py_ssize_t t, k, right, wrong, before_right = self.n_labels, before_wrong = self.n_labels
        cdef int32_t number
        ExactOracle.emit(self, x)
        self.reserve(self.found.n + 2 * self.kinds * x.n_tokens)
        for t in range(x.n_tokens):
            right, wrong = self.truth[t], self.answer[t]
            if right != wrong or before_right != before_wrong:
                for k in range(self.kinds):
                    number = self.ids[t * self.kinds + k]
                    if number >= 0:
                        self.emit_one(self.rows_of[number, before_right], right, 1)
                        self.emit_one(self.rows_of[number, before_wrong], wrong, -1)
            before_right, before_wrong = right, wrong
        return 0

    cdef void emit_one(self, int32_t row, Py_ssize_t label, double value) noexcept nogil:
        if row >= 0:
            self.found.index[self.found.n] = <int32_t>(self.offset + row * self.stride + label)
            self.found.value[self.found.n] = value
            self.found.n += 1
