# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The base of all sequence oracles: sentences kept by slot, scores of tokens, differences of labels.

Weights: first the label history, then the rows of the input features, each row `stride` labels long.

The right label of an unlabelled token, or of one with several allowed labels, is the best allowed one.
"""
from libc.stdint cimport int32_t, uint8_t, uint16_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy

import numpy as np

from structsvm.problems.sequence.problem import SequenceLabels, Sequences

cdef enum:
    PINNED = 16     # one of this many rows is pinned
    MANY = 1024     # features of a token that are sorted by a heap; insertion takes quadratic time

cdef extern from "structsvm/_dual/vector.h" nogil:
    void prefetch_line(const void* at)


cdef class SequenceOracle(Oracle):
    """Sentences of sparse tokens, by slot."""

    def __init__(self, problem, Py_ssize_t n_labels, Py_ssize_t stride, Py_ssize_t history, loss):
        self.problem = problem
        self.n_labels, self.stride, self.offset = n_labels, stride, history * stride
        self.pin()
        self.loss = loss
        self.sets = {}
        self.set_view = np.zeros((0, n_labels), dtype=np.uint8)
        self.n_weights = self.offset
        self.scores = <double*>calloc(stride, sizeof(double))
        if self.scores == NULL:
            raise MemoryError(f"no memory for {n_labels} scores")

    def __dealloc__(self):
        cdef Py_ssize_t slot
        for slot in range(self.n_slots):
            if self.of_slot[slot] != NULL:
                self.drop(slot)
        free(self.of_slot)
        free(self.token_of_slot)
        free(self.free_slots)
        free(self.scores)
        free(self.token_rows)
        free(self.log)

    def configure(self, *, rescaling, slack):
        if rescaling != "margin" or slack != "l1":
            raise ValueError("this sequence problem supports only margin rescaling and L1 slacks: "
                             "Viterbi cannot maximise a product with the loss, nor its root")
        super().configure(rescaling=rescaling, slack=slack)

    def add(self, X, y) -> np.ndarray:
        """Store sentences: X has rows, token_ptr, sentence_ptr and values; y has codes, sets and weights."""
        self.problem.check_sequences(X, y)
        X = self.taken(X, y)
        self.n_rows = max(self.n_rows, int(np.max(X.rows, initial=-1)) + 1)
        self.n_weights = self.offset + self.n_rows * self.stride
        self.pin()
        return self.add_rows(
            X.sentence_ptr, X.token_ptr, X.rows, y.codes, X.values, y.sets, weights=y.weights)

    cdef void pin(self) noexcept:
        """Choose the rows whose weights have the places of an array, unless a dual already uses w in blocks.

        Frequent features mostly occur early. Their rows fill up anyway, and are read faster in one piece.
        """
        if self.places == NULL:
            self.n_pinned = self.n_rows // PINNED
            self.pinned = self.offset + self.n_pinned * self.stride

    def taken(self, X, y):
        """The sentences as this kind of oracle stores them."""
        return X

    def slot_weights(self, const Py_ssize_t[::1] slots, const double[::1] sample_weight) -> np.ndarray:
        """The weight of each slot that the last add() gave out: of its sentence, times that of its tokens."""
        result = np.empty(slots.shape[0])
        cdef double[::1] weight = result
        cdef Py_ssize_t k
        for k in range(slots.shape[0]):
            weight[k] = sample_weight[self.of_slot[slots[k]].number]
            weight[k] *= self.weight_of(self.of_slot[slots[k]], self.token_of_slot[slots[k]])
        return result

    def intern(self, codes, sets) -> np.ndarray:
        """Codes with the sets of allowed labels renumbered as this oracle knows them."""
        codes = np.array(codes, dtype=np.int32)
        if not len(sets):
            return codes
        number = np.array([
            self.sets.setdefault(np.asarray(one, dtype=bool).tobytes(), len(self.sets)) for one in sets])
        self.set_view = np.frombuffer(b"".join(self.sets), dtype=np.uint8).reshape(-1, self.n_labels)
        several = codes <= FIRST_SET
        codes[several] = FIRST_SET - number[FIRST_SET - codes[several]]
        return codes

    def add_rows(
        self, sentence_ptr, token_ptr, rows, codes, values=None, sets=(), places=None, weights=None
    ) -> np.ndarray:
        """Store sentences; the slots are those of all patterns to learn from, or of some places."""
        if places is not None:
            X = Sequences(rows, token_ptr, sentence_ptr, values)
            self.problem.check_stored(X, SequenceLabels(codes, sentence_ptr, list(sets), weights), places)
            self.n_rows = max(self.n_rows, int(np.max(rows, initial=-1)) + 1)
            self.n_weights = self.offset + self.n_rows * self.stride
            self.pin()
        codes = self.intern(codes, sets)
        cdef const long long[::1] sentence_at = np.require(sentence_ptr, np.int64, "CA")
        cdef const long long[::1] token_at = np.require(token_ptr, np.int64, "CA")
        cdef const int32_t[::1] row_at = np.require(rows, np.int32, "CA")
        cdef const float[::1] value_at = None if values is None else np.require(values, np.float32, "CA")
        cdef const int32_t[::1] gold_at = np.require(codes, np.int32, "CA")
        cdef const float[::1] weight_at = None if weights is None else np.require(weights, np.float32, "CA")
        cdef const int32_t* row = &row_at[0] if row_at.shape[0] else NULL
        cdef const float* value = &value_at[0] if value_at is not None and value_at.shape[0] else NULL
        cdef const int32_t* gold = &gold_at[0] if gold_at.shape[0] else NULL
        cdef const float* weight = &weight_at[0] if weight_at is not None and weight_at.shape[0] else NULL
        cdef Py_ssize_t s, t, first, n, n_sentences = sentence_at.shape[0] - 1
        cdef Sentence** stored = <Sentence**>enough(malloc((n_sentences + 1) * sizeof(Sentence*)))
        slots = []
        try:
            with nogil:
                for s in range(n_sentences):
                    first, n = sentence_at[s], sentence_at[s + 1] - sentence_at[s]
                    stored[s] = self.copy(
                        n, &token_at[first], row + token_at[first],
                        value + token_at[first] if value else NULL, gold + first,
                        weight + first if weight else NULL, s)
            for s in range(n_sentences if places is None else 0):
                self.place(stored[s], slots)
            for s, t in () if places is None else places:
                slots.append(self.put(stored[s], t))
            for s in range(n_sentences):
                if stored[s].n_slots == 0:
                    self.discard(stored[s])
        finally:
            free(stored)
        return np.array(slots, dtype=np.intp)

    cdef int place(self, Sentence* x, list slots) except -1:
        """Slots for the patterns of a sentence that training can learn from."""
        raise TypeError("defined by the kinds of sequence oracle")

    cdef Sentence* copy(
        self, Py_ssize_t n_tokens, const long long* token_ptr, const int32_t* rows, const float* values,
        const int32_t* gold, const float* weights, Py_ssize_t number
    ) except NULL nogil:
        """A copy in one block of memory, with the rows of each token in order."""
        cdef Py_ssize_t t, k, most = 0, n = token_ptr[n_tokens] - token_ptr[0]
        cdef bint long_rows = False
        cdef Sentence* x
        cdef float* block
        for k in range(n):
            long_rows |= rows[k] >> 24 != 0
        for t in range(n_tokens):
            most = max(most, token_ptr[t + 1] - token_ptr[t])
        self.make_room(most)
        x = <Sentence*>malloc(sizeof(Sentence))
        if x != NULL:
            x.token_ptr = <int32_t*>malloc(
                (2 * n_tokens + 1) * sizeof(int32_t) + (n_tokens * sizeof(float) if weights else 0)
                + n * (3 + long_rows + (sizeof(float) if values else 0)))
        if x == NULL or x.token_ptr == NULL:
            free(x)
            with gil:
                raise MemoryError(f"no memory for a sentence of {n_tokens} tokens")
        x.n_tokens, x.n_slots, x.number = n_tokens, 0, number
        x.gold = x.token_ptr + n_tokens + 1
        x.weights = <float*>(x.gold + n_tokens) if weights else NULL
        block = x.weights + n_tokens if weights else <float*>(x.gold + n_tokens)
        x.values = block if values else NULL
        x.low = <uint16_t*>(block + n) if values else <uint16_t*>block
        x.high = <uint8_t*>(x.low + n)
        x.top = x.high + n if long_rows else NULL
        if n_tokens:
            memcpy(x.gold, gold, n_tokens * sizeof(int32_t))
        if n_tokens and weights:
            memcpy(x.weights, weights, n_tokens * sizeof(float))
        if n and values:
            memcpy(x.values, values, n * sizeof(float))
        x.token_ptr[0] = 0
        for t in range(n_tokens):
            x.token_ptr[t + 1] = <int32_t>(token_ptr[t + 1] - token_ptr[0])
            k, most = x.token_ptr[t], x.token_ptr[t + 1] - x.token_ptr[t]
            if most:
                memcpy(self.token_rows, rows + k, most * sizeof(int32_t))
            sort_rows(self.token_rows, x.values + k if values else NULL, most)
            for k in range(most):
                put_row(x, x.token_ptr[t] + k, self.token_rows[k])
        self.n_stored += 1
        return x

    cdef int make_room(self, Py_ssize_t n) except -1 nogil:
        """Make room for the rows of a token, for `rows_of`."""
        if n > self.most_rows or self.token_rows == NULL:
            self.token_rows = <int32_t*>enough(realloc(self.token_rows, (n + 1) * sizeof(int32_t)))
            self.most_rows = n
        return 0

    cdef const int32_t* rows_of(self, const Sentence* x, Py_ssize_t t) noexcept nogil:
        """The rows of a token, valid until the next call."""
        cdef Py_ssize_t first = x.token_ptr[t]
        join_rows(self.token_rows, x.low + first, x.high + first, NULL if x.top == NULL else x.top + first,
                  x.token_ptr[t + 1] - first)
        return self.token_rows

    cdef void discard(self, Sentence* x) noexcept nogil:
        free(x.token_ptr)
        free(x)
        self.n_stored -= 1

    def rows(self, const Py_ssize_t[::1] slots) -> dict:
        """The sentences of some slots, each once, as the arguments of add_rows."""
        cdef Py_ssize_t k, n, m
        cdef Sentence* x
        cdef int32_t[::1] joined
        number, places = {}, []
        tokens, rows, values, codes, sentence_ptr, token_ptr = 0, [], [], [], [0], [np.zeros(1, np.int64)]
        weights = []
        cdef bint plain = True, even = True
        at = 0
        for k in range(slots.shape[0]):
            x = self.of_slot[slots[k]]
            if <size_t>x not in number:
                number[<size_t>x] = len(number)
                n, m = x.n_tokens, x.token_ptr[x.n_tokens]
                tokens += n
                sentence_ptr.append(tokens)
                token_ptr.append(np.array(<int32_t[:n + 1]>x.token_ptr)[1:].astype(np.int64) + at)
                codes.append(np.array(<int32_t[:n]>x.gold))
                weights.append(
                    np.array(<float[:n]>x.weights) if x.weights != NULL else np.ones(n, np.float32))
                even &= x.weights == NULL
                if m:
                    rows.append(np.empty(m, np.int32))
                    joined = rows[len(rows) - 1]
                    join_rows(&joined[0], x.low, x.high, x.top, m)
                    values.append(
                        np.array(<float[:m]>x.values) if x.values != NULL else np.ones(m, np.float32))
                    plain &= x.values == NULL
                at += m
            places.append((number[<size_t>x], self.token_of_slot[slots[k]]))
        return {
            "sentence_ptr": np.array(sentence_ptr, dtype=np.int64),
            "token_ptr": np.concatenate(token_ptr),
            "rows": np.concatenate([np.zeros(0, np.int32), *rows]),
            "values": None if plain else np.concatenate(values),
            "weights": None if even else np.concatenate(weights),
            "codes": np.concatenate([np.zeros(0, np.int32), *codes]),
            "sets": np.array(self.set_view, dtype=bool),
            "places": np.array(places, dtype=np.int64).reshape(-1, 2),
        }

    def forget_rows(self, const int32_t[::1] row_of):
        """Remove features from all sentences, in place; row_of begins with the rows of the label history."""
        cdef Py_ssize_t slot, row, n = 0, history = self.offset // self.stride
        cdef Sentence* x
        self.forgettings -= 1
        if row_of.shape[0] < history + self.n_rows:
            raise ValueError(
                f"{row_of.shape[0]} rows for {history} of the history and {self.n_rows} features")
        for slot in range(self.n_slots):
            x = self.of_slot[slot]
            if x != NULL and x.number != self.forgettings:      # once, however many slots it has
                self.renumber(x, &row_of[history], history)
                x.number = self.forgettings
        for row in range(self.n_rows):
            n += row_of[history + row] >= 0
        self.n_rows, self.n_weights = n, self.offset + n * self.stride
        self.places = NULL
        self.pin()

    cdef void renumber(self, Sentence* x, const int32_t* row_of, Py_ssize_t history) noexcept nogil:
        """Renumber the rows of a sentence, counting the history too; rows without a number are dropped."""
        cdef Py_ssize_t t, k, n = 0, start = 0, stop
        cdef const int32_t* rows
        for t in range(x.n_tokens):
            stop = x.token_ptr[t + 1]
            x.token_ptr[t] = <int32_t>start     # until its rows are read
            rows = self.rows_of(x, t)
            x.token_ptr[t] = <int32_t>n
            for k in range(start, stop):
                if row_of[rows[k - start]] >= 0:
                    put_row(x, n, <int32_t>(row_of[rows[k - start]] - history))
                    if x.values != NULL:
                        x.values[n] = x.values[k]
                    n += 1
            start = stop
        x.token_ptr[x.n_tokens] = <int32_t>n

    cdef int put(self, Sentence* x, Py_ssize_t t) except -1:
        """A slot for a token (or sentence)."""
        cdef Py_ssize_t slot, capacity = self.slots_capacity
        if self.n_free:
            self.n_free -= 1
            slot = self.free_slots[self.n_free]
        else:
            if self.n_slots == capacity:
                capacity = 2 * capacity + 256
                self.of_slot = <Sentence**>enough(realloc(self.of_slot, capacity * sizeof(Sentence*)))
                self.token_of_slot = <int32_t*>enough(realloc(self.token_of_slot, capacity * sizeof(int32_t)))
                self.free_slots = <Py_ssize_t*>enough(realloc(self.free_slots, capacity * sizeof(Py_ssize_t)))
                self.slots_capacity = capacity
            slot = self.n_slots
            self.n_slots += 1
        self.of_slot[slot], self.token_of_slot[slot] = x, <int32_t>t
        x.n_slots += 1
        return slot

    cdef int drop(self, Py_ssize_t slot) except -1 nogil:
        cdef Sentence* x = self.of_slot[slot]
        self.of_slot[slot] = NULL
        self.free_slots[self.n_free] = slot
        self.n_free += 1
        x.n_slots -= 1
        if x.n_slots == 0:
            self.discard(x)
        return 0

    # -- predictions made before learning -------------------------------------------------------

    def watch(self, on: bool):
        super().watch(on)
        self.logging, self.incomplete, self.open = on and self.problem.count is not None, False, False
        self.n_log, self.segments = 0, np.zeros(3)

    def looks(self) -> tuple:
        """The numbers of tokens and errors; with segments, also of the true, predicted and correct ones.

        The segments of a sentence count after its last token, if all its tokens are labelled.
        """
        cdef Py_ssize_t k
        if not self.logging or self.incomplete:
            return self.n_looks, self.looks_loss
        pairs = np.zeros((0, 2), np.int32)
        if self.n_log:
            pairs = np.array(<int32_t[:2 * self.n_log]>self.log).reshape(-1, 2)
        breaks = np.flatnonzero(pairs[:, 0] == BREAK)
        end = breaks.max() if self.open else len(pairs)
        breaks = breaks[breaks < end]
        for k in range(2 * (self.n_log - end)):
            self.log[k] = self.log[2 * end + k]
        self.n_log -= end
        tokens = pairs[:end][pairs[:end, 0] != BREAK]
        sentence_ptr = np.append(breaks - np.arange(len(breaks)), len(tokens))
        self.segments += self.problem.count(tokens[:, 0], tokens[:, 1], sentence_ptr)
        return (self.n_looks, self.looks_loss, *self.segments.tolist())

    cdef int note(self, const Sentence* x, Py_ssize_t t, Py_ssize_t found) except -1 nogil:
        """Count the label that was predicted for a token before learning from it."""
        cdef Py_ssize_t capacity
        if x.gold[t] != UNKNOWN:
            self.tally(not self.permits(x.gold[t], found))
        if not self.logging or self.incomplete:
            return 0
        if x.gold[t] < 0:
            self.incomplete = True
            return 0
        if self.n_log + 2 > self.log_capacity:
            capacity = 2 * self.log_capacity + 1024
            with gil:
                self.log = <int32_t*>enough(realloc(self.log, 2 * capacity * sizeof(int32_t)))
            self.log_capacity = capacity  # last: without memory, the old block stays
        if not self.open:
            self.log[2 * self.n_log] = BREAK
            self.n_log += 1
        self.log[2 * self.n_log], self.log[2 * self.n_log + 1] = x.gold[t], <int32_t>found
        self.n_log += 1
        self.open = t + 1 < x.n_tokens
        return 0

    # -- scores and differences -----------------------------------------------------------------

    cdef int score(self, const double* w, const Sentence* x, Py_ssize_t t) except -1 nogil:
        """Scores of the labels of a token by its features alone."""
        cdef Py_ssize_t y, n = x.token_ptr[t + 1] - x.token_ptr[t], middle = n
        cdef const int32_t* rows = self.rows_of(x, t)
        cdef const float* values = NULL if x.values == NULL else x.values + x.token_ptr[t]
        cdef const int32_t* places = self.places + self.offset // STRUCTSVM_LANES
        cdef Py_ssize_t n_blocks = self.stride // STRUCTSVM_LANES
        for y in range(self.stride):
            self.scores[y] = 0
        if self.places != NULL:
            while middle > 0 and rows[middle - 1] >= self.n_pinned:     # rows are sorted
                middle -= 1
                prefetch_line(places + rows[middle] * n_blocks)
        score_token_double(self.scores, w + self.offset, rows, values, middle, self.stride)
        if middle < n:
            score_token_blocks(
                self.scores, w, places, rows + middle, NULL if values == NULL else values + middle,
                n - middle, n_blocks)
        return 0

    cdef void add_row(self, const double* w, Py_ssize_t row, float* scores) noexcept nogil:
        """Add the weights of a feature to the scores of the labels."""
        cdef Py_ssize_t y, at = self.offset + row * self.stride
        for y in range(self.stride):
            if self.places == NULL:
                scores[y] += <float>w[at + y]
            else:
                scores[y] += <float>w[
                    self.places[(at + y) // STRUCTSVM_LANES] * STRUCTSVM_LANES + y % STRUCTSVM_LANES]

    cdef bint permits(self, int32_t gold, Py_ssize_t y) noexcept nogil:
        return gold == y or gold == UNKNOWN or (gold <= FIRST_SET and self.set_view[FIRST_SET - gold, y])

    cdef double weight_of(self, const Sentence* x, Py_ssize_t t) noexcept nogil:
        """The weight of the pattern of a token."""
        return 1 if x.weights == NULL else x.weights[t]

    cdef double cost_of(self, int32_t gold, Py_ssize_t y) noexcept nogil:
        """The loss of answering y: nothing if it is allowed, else that of the nearest allowed label."""
        cdef Py_ssize_t g
        cdef double least = -1
        if gold >= 0:
            return self.loss[gold, y]
        if not self.permits(gold, y):
            for g in range(self.n_labels):
                if self.permits(gold, g) and (least < 0 or self.loss[g, y] < least):
                    least = self.loss[g, y]
        return max(least, 0)

    cdef void emit_token(
        self, const Sentence* x, Py_ssize_t t, Py_ssize_t right, Py_ssize_t wrong
    ) noexcept nogil:
        """Append the features of a token: plus for the right label, minus for the wrong one."""
        cdef Py_ssize_t k, at = self.found.n
        cdef double value = 1
        cdef int32_t base
        cdef const int32_t* rows = self.rows_of(x, t)
        for k in range(x.token_ptr[t + 1] - x.token_ptr[t]):
            base = <int32_t>(self.offset + rows[k] * self.stride)
            if x.values != NULL:
                value = x.values[x.token_ptr[t] + k]
            self.found.index[at], self.found.value[at] = <int32_t>(base + right), value
            self.found.index[at + 1], self.found.value[at + 1] = <int32_t>(base + wrong), -value
            at += 2
        self.found.n = at

    cdef void emit_history(self, Py_ssize_t at, Py_ssize_t right, Py_ssize_t wrong) noexcept nogil:
        """Append a history row: plus at the right label, minus at the wrong one."""
        cdef Py_ssize_t n = self.found.n
        self.found.index[n], self.found.value[n] = <int32_t>(at * self.stride + right), 1
        self.found.index[n + 1], self.found.value[n + 1] = <int32_t>(at * self.stride + wrong), -1
        self.found.n += 2


cdef inline void put_row(Sentence* x, Py_ssize_t k, int32_t row) noexcept nogil:
    x.low[k], x.high[k] = <uint16_t>(row & 0xFFFF), <uint8_t>(row >> 16 & 0xFF)
    if x.top != NULL:
        x.top[k] = <uint8_t>(row >> 24)


cdef void sort_rows(int32_t* rows, float* values, Py_ssize_t n) noexcept nogil:
    """Insertion sort: a token has a few dozen features. Differences, made of them over and over, need it."""
    cdef Py_ssize_t i, j
    cdef int32_t row
    cdef float value = 1
    if n > MANY:
        heap_sort(rows, values, n)
        return
    for i in range(1, n):
        row, j = rows[i], i
        if values:
            value = values[i]
        while j > 0 and rows[j - 1] > row:
            rows[j] = rows[j - 1]
            if values:
                values[j] = values[j - 1]
            j -= 1
        rows[j] = row
        if values:
            values[j] = value


cdef void heap_sort(int32_t* rows, float* values, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(n // 2 - 1, -1, -1):
        sift(rows, values, k, n)
    for k in range(n - 1, 0, -1):
        rows[0], rows[k] = rows[k], rows[0]
        if values:
            values[0], values[k] = values[k], values[0]
        sift(rows, values, 0, k)


cdef inline void sift(int32_t* rows, float* values, Py_ssize_t root, Py_ssize_t n) noexcept nogil:
    """Let a row sink to its place in a heap whose largest row comes first."""
    cdef Py_ssize_t child = 2 * root + 1
    while child < n:
        if child + 1 < n and rows[child + 1] > rows[child]:
            child += 1
        if rows[child] <= rows[root]:
            return
        rows[root], rows[child] = rows[child], rows[root]
        if values:
            values[root], values[child] = values[child], values[root]
        root, child = child, 2 * child + 1


cdef void* enough(void* block) except NULL nogil:
    if block == NULL:
        with gil:
            raise MemoryError("no memory for the sentences")
    return block
