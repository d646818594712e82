# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Labels for sequences from finished float32 weights: Viterbi, greedy, margins, n-best, forced labels.

A `Decoder` is read-only once made, so any number of threads may use it; all work is done without the GIL.
"""
from libc.math cimport INFINITY, exp, log
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from structsvm.problems.sequence._chain cimport forward_step
from structsvm.problems.sequence._oracles cimport (
    Cell, Rows, Span, pause, poll, score_sentence, tokens_per_poll, viterbi_step)
from structsvm.problems.sequence._parts cimport Parts, Tree, add_nodes_float

import numpy as np

from structsvm.files.sparse_weights import SparseRows

cdef float FORBIDDEN = -1e30
cdef double TINY = 1e-250   # a smaller sum of exponentials may have lost some of them
MOST_EXTENDED = 1 << 20     # extended paths that `n_best` compares at a time
WIDE = 0.125    # rows with weights for a greater share of the labels are added eight labels at a time
SPAN = np.dtype([("start", np.uint32), ("count", np.int32)])


cdef struct Scratch:
    float* lattice          # tokens x stride: scores of labels
    float* best             # tokens x stride: of the best path up to a label
    float* after            # stride x 2: of the best path behind a label
    int32_t* back
    float* table            # labels x stride: the transitions to one token, where its bigrams change them
    float* nodes            # scores of the tree of parts, after that of its root
    int32_t* sets           # tokens: their sets of candidates, or NULL
    uint8_t* single         # tokens: whether the set has only one label
    const int32_t* ids      # tokens x kinds: the bigrams of the sentence, or NULL
    const int32_t* rows_of  # numbers x (n_labels + 1): their rows
    const double* steps     # from `exponentials`, or NULL
    double highest          # the number subtracted there
    double* sums            # stride x 2: of exponentials, and their summands
    double missing          # see `mix`


cdef class Decoder:
    """Finds labels for `Sequences` with the weights of a `SequenceProblem`.

    weights: `SparseRows`, or an array of rows x stride. dense: keep an array as it is instead of dropping
    its zeros, which pays for the weights of a few sentences. candidates: a `Candidates`, for labels made of
    parts: labelling is exact among the candidates of each token.
    """

    cdef readonly Py_ssize_t n_labels, stride, order, n_rows
    cdef readonly bint greedy
    cdef Parts parts                        # of the labels, or None
    cdef const int32_t[::1] distances       # of the labels before that bigrams look at
    cdef readonly object source             # SparseRows: the label history, then the features
    cdef Py_ssize_t first                   # of its rows that is a feature's
    cdef Rows rows                          # the features' rows, in the arrays below
    cdef const float[:, ::1] wide
    cdef const uint64_t[::1] cells, spans
    cdef const float[:, ::1] history
    cdef const float[::1] last              # penalty of a label that may not come last
    cdef const float[:, ::1] follow         # penalties of transitions, if greedy; else in `history`
    cdef const int32_t[::1] set_of          # rows: the set of candidates of a feature, or -1; or None
    cdef const int32_t[::1] label_ptr, set_labels, node_ptr, set_nodes      # of each set

    def __init__(self, problem, weights, *, bint dense=False, candidates=None):
        if not isinstance(weights, SparseRows):
            weights = np.asarray(weights).reshape(-1, problem.stride)
            if not dense:
                weights = SparseRows.from_dense(weights, problem.width)
        self.source, self.first = weights, problem.history
        self.n_rows = len(weights) - self.first
        if self.n_rows < 0:
            raise ValueError(f"{len(weights)} rows of weights, and {self.first} are those of labels before")
        self.n_labels, self.stride, self.order = problem.n_labels, problem.stride, problem.order
        self.greedy = problem.inference == "greedy"
        self.parts = None if problem.parts is None else Parts(problem.parts)
        self.distances = np.array(problem.bigrams, dtype=np.int32)
        self.follow = np.require(problem.barred, requirements="A")
        self.last = np.require(problem.barred_end, requirements="A")
        self._arrange_candidates(problem, candidates)
        history = self._arrange_dense() if dense else self._arrange()
        self.history = history if self.greedy else history + problem.barred
        self.rows.stride = self.stride
        self.rows.wide = &self.wide[0, 0] if self.wide.shape[0] else NULL
        self.rows.cells = <const Cell*>&self.cells[0] if self.cells.shape[0] else NULL
        self.rows.spans = <const Span*>&self.spans[0] if self.spans.shape[0] else NULL

    def _arrange_candidates(self, problem, candidates):
        """Find the nodes of the tree that the labels of each set need."""
        self.set_of = None
        if candidates is None or not len(candidates):
            return
        if self.parts is None:
            raise ValueError("only labels made of parts can have candidates")
        candidates.check(self.n_rows, self.n_labels)
        set_of = np.full(self.n_rows, -1, np.int32)
        set_of[candidates.rows] = np.arange(len(candidates))
        ends = np.append(0, np.cumsum(candidates.sizes, dtype=np.int32)).astype(np.int32)
        node, parent = problem.parts.node, problem.parts.parent
        nodes = []
        for start, end in zip(ends, ends[1:]):
            used = set()
            for n in node[candidates.labels[start:end]].tolist():
                while n >= 0 and n not in used:
                    used.add(n)
                    n = int(parent[n])
            nodes.append(sorted(used))      # a parent has a lower number than its children
        self.label_ptr, self.set_labels = ends, np.require(candidates.labels, requirements="CA")
        self.node_ptr = np.cumsum([0, *map(len, nodes)], dtype=np.int32)
        self.set_nodes = np.array([n for used in nodes for n in used], np.int32)
        self.set_of = set_of

    def _arrange_dense(self):
        """Arrange all rows as wide ones; return those of the label history."""
        table = np.zeros((len(self.source), self.stride), np.float32)
        width = self.n_labels if self.parts is None else self.parts.tree.n_parts
        table[:, :width] = self.source[:, :width]
        self.source, self.wide, self.cells = table, table[self.first:], np.zeros(0, np.uint64)
        spans = np.empty(self.n_rows, SPAN)
        spans["start"], spans["count"] = np.arange(self.n_rows), -1
        self.spans = spans.view(np.uint64)
        return table[:self.first]

    def _arrange(self):
        """Copy rows with many weights to wide ones, keep the others; return those of the label history."""
        counts = self.source.counts[self.first:]
        is_wide = counts > WIDE * self.stride
        wide = np.zeros((np.count_nonzero(is_wide), self.stride), np.float32)
        spans = np.empty(self.n_rows, SPAN)
        spans["start"], spans["count"] = self.source.ptr[self.first:len(self.source)], counts
        self.cells = self.source.cells.view(np.uint64)
        if len(wide):
            self._fill(np.flatnonzero(is_wide) + self.first, wide)
            spans["start"][is_wide], spans["count"][is_wide] = np.arange(len(wide)), -1
        self.wide, self.spans = wide, spans.view(np.uint64)
        history = np.zeros((self.first, self.stride), np.float32)
        history[:, :self.source.n_labels] = self.source[:self.first]
        return history

    cdef _fill(self, const int64_t[::1] rows, float[:, ::1] wide):
        """Copy the weights of some rows to wide ones."""
        cdef const uint32_t[::1] ptr = self.source.ptr
        cdef Py_ssize_t row, k
        cdef Cell cell
        with nogil:
            for row in range(rows.shape[0]):
                for k in range(ptr[rows[row]], ptr[rows[row] + 1]):
                    memcpy(&cell, &self.cells[k], sizeof(Cell))
                    wide[row, cell.label] = cell.value

    def labels(self, X, Py_ssize_t start=0, stop=None, *, forced=None, margins=None, out=None) -> np.ndarray:
        """Write the labels of sentences start .. stop - 1 to `out`, and the margins to `margins`.

        forced: the label that each token must get, or -1. margins: by how much the score of the best
        labelling falls if the token must get another label (greedy: how far the second label is behind);
        infinite if no other label is possible.
        """
        cdef Py_ssize_t end = len(X.sentence_ptr) - 1 if stop is None else stop
        result = np.zeros(len(X.token_ptr) - 1, dtype=np.int32) if out is None else out
        self.check(X, forced)
        if not 0 <= start <= end <= len(X.sentence_ptr) - 1:
            raise ValueError(f"sentences {start} to {end} are not among the {len(X.sentence_ptr) - 1} given")
        for name, array in (("margins", margins), ("out", result)):
            if array is not None and len(array) != len(X.token_ptr) - 1:
                raise ValueError(f"{name} must have {len(X.token_ptr) - 1} places, one for each token")
        self.run(X, start, end, forced, result, margins, None, 1)
        return result

    def marginals(self, X, double temperature=1.0) -> np.ndarray:
        """tokens x labels, float32: the probability of each label at each token.

        The probability of a labelling is proportional to exp(score / temperature), and that of a label is the
        sum over all labellings with it. Greedy inference knows only the probability of a label given the
        labels that it has chosen before.
        """
        if not temperature > 0:
            raise ValueError(f"temperature must be greater than 0, got {temperature}")
        if self.parts is not None:
            raise ValueError("labels that share the weights of their parts have no probabilities")
        self.check(X, None)
        result = np.zeros((len(X.token_ptr) - 1, self.n_labels), dtype=np.float32)
        answer = np.zeros(len(X.token_ptr) - 1, np.int32)
        self.run(X, 0, len(X.sentence_ptr) - 1, None, answer, None, result, 1 / temperature)
        return result

    cdef int run(
        self, X, Py_ssize_t start, Py_ssize_t end, const int32_t[::1] forced, int32_t[::1] answer,
        float[::1] margins, float[:, ::1] probable, double scale
    ) except -1:
        """Label checked sentences; write margins and probabilities of scores times `scale` unless None."""
        cdef const int32_t[::1] rows = X.rows
        cdef const long long[::1] token_ptr = X.token_ptr, sentence_ptr = X.sentence_ptr
        cdef const float[::1] values = X.values
        cdef Py_ssize_t s, t, n, next_poll
        cdef Py_ssize_t longest = np.diff(X.sentence_ptr[start:end + 1]).max(initial=0)
        cdef const int32_t* row = &rows[0] if rows.shape[0] else NULL
        cdef const float* value = &values[0] if values is not None and values.shape[0] else NULL
        cdef const int32_t[:, ::1] ids = None, rows_of = None
        cdef const double[:, ::1] steps = None
        cdef Scratch scratch
        if longest == 0:
            return 0
        if probable is not None and not self.greedy and X.bigrams is None:
            steps = self.exponentials(scale)
        self.allocate(&scratch, longest)
        if steps is not None:
            scratch.steps = &steps[0, 0]
            scratch.highest = scale * float(np.max(self.history[:self.n_labels, :self.n_labels]))
        if X.bigrams is not None:
            ids, rows_of = X.bigrams.ids, X.bigrams.rows
            scratch.rows_of = &rows_of[0, 0] if rows_of.shape[0] else NULL
        next_poll = sentence_ptr[start] + tokens_per_poll(self.n_labels, self.stride)
        try:
            with nogil:
                for s in range(start, end):
                    t, n = sentence_ptr[s], sentence_ptr[s + 1] - sentence_ptr[s]
                    if n == 0:
                        continue
                    if t > next_poll or probable is not None:
                        next_poll = t + tokens_per_poll(self.n_labels, self.stride)
                        poll()
                    scratch.ids = NULL if ids is None else &ids[t, 0]
                    self.sentence(
                        &scratch, n, &token_ptr[t], row, value, NULL if forced is None else &forced[t],
                        &answer[t], NULL if margins is None else &margins[t])
                    if probable is not None:
                        if not self.greedy:
                            self.sum_products(&scratch, n, scale)
                        self.normalise(&scratch, n, scale if self.greedy else 1, &probable[t, 0])
        finally:
            release(&scratch)
        return 0

    cdef exponentials(self, double scale):
        """exp(transition * scale - the highest one), the same transposed, and a row of ones."""
        n = self.n_labels
        steps = np.zeros((2 * n + 1, self.stride))
        moves = np.asarray(self.history, np.float64)[:n, :n] * scale
        steps[:n, :n] = np.exp(moves - moves.max())
        steps[n:2 * n, :n], steps[2 * n] = steps[:n, :n].T, 1
        return steps

    cdef int sum_products(self, Scratch* scratch, Py_ssize_t n, double scale) except -1 nogil:
        """Replace `lattice` by the log of the sum of exp(score * scale) of all paths with each label."""
        cdef Py_ssize_t t, y, stride = self.stride
        cdef Py_ssize_t part = tokens_per_poll(16 * self.n_labels, stride)      # an exponential for each pair
        cdef float* best = scratch.best
        cdef float* after = scratch.after
        cdef float* before = scratch.after + stride
        cdef const float* step
        for y in range(stride):
            before[y] = self.history[self.n_labels, y]
        if scratch.ids != NULL:
            for y in range(self.distances.shape[0]):
                self.add_bigram(scratch, 0, y, self.n_labels, before)
        for y in range(self.n_labels):
            best[y] = <float>((before[y] + scratch.lattice[y]) * scale)
            after[y] = <float>(self.last[y] * scale)
        for t in range(1, n):
            if t % part == 0:
                poll()
            step = self.transitions(scratch, t)
            if scratch.steps != NULL:
                self.mix(scratch, best + (t - 1) * stride, NULL, 0, scale)
            for y in range(self.n_labels):
                best[t * stride + y] = <float>(
                    self.sum_of(scratch, y, best + (t - 1) * stride, step + y, stride, NULL, scale)
                    + scratch.lattice[t * stride + y] * scale)
            recentre(best + t * stride, self.n_labels)
        for t in range(n - 1, -1, -1):
            if t % part == 0:
                poll()
            if t:                                       # `before`: what follows each label of token t - 1
                step = self.transitions(scratch, t)
                if scratch.steps != NULL:
                    self.mix(scratch, after, scratch.lattice + t * stride, 1, scale)
                for y in range(self.n_labels):
                    before[y] = <float>self.sum_of(
                        scratch, y, after, step + y * stride, 1, scratch.lattice + t * stride, scale)
                recentre(before, self.n_labels)
            for y in range(self.n_labels):
                scratch.lattice[t * stride + y] = best[t * stride + y] + after[y]
            after, before = before, after
        return 0

    cdef void mix(
        self, Scratch* scratch, const float* logs, const float* scores, Py_ssize_t backward, double scale
    ) noexcept nogil:
        """Fill `sums`: for each label y, the sum over k of exp(logs[k] + scores[k] * scale) * steps[k, y].

        They lack the factor exp(`missing`).
        """
        cdef Py_ssize_t k, n = self.n_labels
        cdef double* weights = scratch.sums + self.stride
        cdef double top = -INFINITY
        for k in range(n):
            weights[k] = logs[k] + (0 if scores == NULL else scores[k]) * scale
            top = max(top, weights[k])
        for k in range(n):
            weights[k] = exp(weights[k] - top)
        forward_step(
            scratch.sums, weights, scratch.steps + backward * n * self.stride,
            scratch.steps + 2 * n * self.stride, n, self.stride)
        scratch.missing = top + scratch.highest

    cdef double sum_of(
        self, Scratch* scratch, Py_ssize_t y, const float* logs, const float* step, Py_ssize_t stride,
        const float* scores, double scale
    ) noexcept nogil:
        """The same as `log_sum`, if possible from the `sums`."""
        if scratch.steps != NULL and scratch.sums[y] > TINY:
            return scratch.missing + log(scratch.sums[y])
        return log_sum(logs, step, stride, scores, self.n_labels, scale)

    cdef int normalise(self, Scratch* scratch, Py_ssize_t n, double scale, float* out) except -1 nogil:
        """Turn the logarithms in `lattice` into probabilities."""
        cdef Py_ssize_t t, y
        cdef double top, total
        cdef const float* scores
        for t in range(n):
            pause(t)
            scores = scratch.lattice + t * self.stride
            top, total = scores[0], 0
            for y in range(1, self.n_labels):
                top = max(top, <double>scores[y])
            for y in range(self.n_labels):
                total += exp((scores[y] - top) * scale)
            for y in range(self.n_labels):
                out[t * self.n_labels + y] = <float>(exp((scores[y] - top) * scale) / total)
        return 0

    def check(self, X, forced):
        """Check the arrays, because compiled code indexes with them."""
        if len(X.rows) and not 0 <= X.rows.min() <= X.rows.max() < self.n_rows:
            raise ValueError(f"a feature row lies outside the {self.n_rows} rows of the model")
        if bool(self.distances.shape[0]) != (X.bigrams is not None):
            raise ValueError("the sentences must have bigram features if and only if the model has them")
        if X.bigrams is not None:
            X.bigrams.check(len(X.token_ptr) - 1, self.distances.shape[0], self.n_labels)
            if X.bigrams.rows.max(initial=-1) >= self.n_rows:
                raise ValueError(f"a bigram's row lies outside the {self.n_rows} rows of the model")
        if forced is not None and (
                len(forced) != len(X.token_ptr) - 1 or np.max(forced, initial=-1) >= self.n_labels):
            raise ValueError("forced labels must have one value for each token: a label of the model, or -1")

    cdef int allocate(self, Scratch* scratch, Py_ssize_t n) except -1:
        scratch.lattice = <float*>malloc(n * self.stride * sizeof(float))
        scratch.best = <float*>malloc(n * self.stride * sizeof(float))
        scratch.after = <float*>malloc(2 * self.stride * sizeof(float))
        scratch.back = <int32_t*>malloc(n * self.stride * sizeof(int32_t))
        scratch.table = <float*>malloc(self.n_labels * self.stride * sizeof(float))
        scratch.nodes, scratch.sets, scratch.single = NULL, NULL, NULL
        if self.parts is not None:
            scratch.nodes = <float*>malloc((1 + self.parts.tree.n_nodes) * sizeof(float))
        if self.set_of is not None:
            scratch.sets = <int32_t*>malloc(n * sizeof(int32_t))
            scratch.single = <uint8_t*>malloc(n)
        scratch.ids = scratch.rows_of = NULL
        scratch.steps = NULL
        scratch.sums = <double*>malloc(2 * self.stride * sizeof(double))
        if (scratch.lattice == NULL or scratch.best == NULL or scratch.after == NULL or scratch.back == NULL
                or scratch.table == NULL or scratch.sums == NULL
                or (self.parts is not None and scratch.nodes == NULL)
                or (self.set_of is not None and (scratch.sets == NULL or scratch.single == NULL))):
            release(scratch)
            raise MemoryError(f"no memory to label a sentence of {n} tokens")
        return 0

    cdef int sentence(
        self, Scratch* scratch, Py_ssize_t n, const long long* token_ptr, const int32_t* rows,
        const float* values, const int32_t* forced, int32_t* answer, float* margins
    ) except -1 nogil:
        cdef Py_ssize_t t, y, part = tokens_per_poll(self.n_labels, self.stride)
        cdef float* scores
        memset(scratch.lattice, 0, n * self.stride * sizeof(float))
        if scratch.sets != NULL:
            self.find_sets(scratch, n, token_ptr, rows)
        score_sentence(scratch.lattice, &self.rows, rows, values, token_ptr, min(n, part), scratch.single)
        t = part
        while t < n:
            poll()
            score_sentence(
                scratch.lattice + t * self.stride, &self.rows, rows, values, token_ptr + t, min(n - t, part),
                NULL if scratch.single == NULL else scratch.single + t)
            t += part
        if self.parts is not None:
            return self.choose_parts(scratch, n, forced, answer, margins)
        for t in range(n):
            scores = scratch.lattice + t * self.stride
            if forced != NULL and forced[t] >= 0:
                for y in range(self.n_labels):
                    if y != forced[t]:
                        scores[y] = FORBIDDEN
        if self.greedy:
            self.choose(scratch, n, answer, margins)
        else:
            self.viterbi(scratch, n, answer)
            if margins != NULL:
                self.max_marginals(scratch, n, answer, margins)
        return 0

    cdef void add_bigram(
        self, const Scratch* scratch, Py_ssize_t t, Py_ssize_t kind, Py_ssize_t before, float* scores
    ) noexcept nogil:
        """Add the weights of one kind of bigram of a token for each label, given the previous label."""
        cdef Py_ssize_t y
        cdef Span span
        cdef const float* wide
        cdef const Cell* cell
        cdef int32_t row = scratch.ids[t * self.distances.shape[0] + kind]
        if row >= 0:
            row = scratch.rows_of[row * (self.n_labels + 1) + before]
        if row < 0:
            return
        span = self.rows.spans[row]
        wide, cell = self.rows.wide + span.start * self.stride, self.rows.cells + span.start
        if span.count < 0:
            for y in range(self.stride):
                scores[y] += wide[y]
        else:
            for y in range(span.count):
                scores[cell[y].label] += cell[y].value

    cdef const float* transitions(self, const Scratch* scratch, Py_ssize_t t) noexcept nogil:
        """labels x stride: the scores of the transitions to a token, exact inference."""
        cdef Py_ssize_t k, p
        if scratch.ids == NULL:
            return &self.history[0, 0]
        memcpy(scratch.table, &self.history[0, 0], self.n_labels * self.stride * sizeof(float))
        for k in range(self.distances.shape[0]):
            for p in range(self.n_labels):
                self.add_bigram(scratch, t, k, p, scratch.table + p * self.stride)
        return scratch.table

    cdef int choose(self, Scratch* scratch, Py_ssize_t n, int32_t* answer, float* margins) except -1 nogil:
        """Choose one label after another, given the previous ones."""
        cdef Py_ssize_t t, s, y, best, before
        cdef const float* row
        cdef float* scores
        cdef float second
        for t in range(n):
            pause(t)
            scores = scratch.lattice + t * self.stride
            for s in range(1, self.order + 1):
                before = answer[t - s] if t >= s else self.n_labels
                row = &self.history[(s - 1) * (self.n_labels + 1) + before, 0]
                for y in range(self.stride):
                    scores[y] += row[y]
            if scratch.ids != NULL:
                for s in range(self.distances.shape[0]):
                    before = t - self.distances[s]
                    self.add_bigram(scratch, t, s, answer[before] if before >= 0 else self.n_labels, scores)
            row = &self.follow[answer[t - 1] if t else self.n_labels, 0]
            best, second = 0, 2 * FORBIDDEN
            for y in range(self.n_labels):
                scores[y] += row[y]
                if t == n - 1:
                    scores[y] += self.last[y]
                if scores[y] > scores[best]:
                    best = y
            answer[t] = <int32_t>best
            if margins != NULL:
                for y in range(self.n_labels):
                    if y != best and scores[y] > second:
                        second = scores[y]
                margins[t] = lead(scores[best], second)
        return 0

    cdef int choose_parts(
        self, Scratch* scratch, Py_ssize_t n, const int32_t* forced, int32_t* answer, float* margins
    ) except -1 nogil:
        """The same for labels made of parts."""
        cdef const Tree* tree = &self.parts.tree
        cdef Py_ssize_t t, s, k, best
        cdef float* scores
        cdef float* nodes = scratch.nodes + 1
        cdef float most, second
        for t in range(n):
            pause(t)
            k = -1 if scratch.sets == NULL else scratch.sets[t]
            if scratch.sets != NULL and scratch.single[t]:
                best, most, second = self.set_labels[self.label_ptr[k]], 0, 2 * FORBIDDEN
            else:
                scores = scratch.lattice + t * self.stride
                for s in range(1, self.order + 1):
                    self.add_history(s, answer[t - s] if t >= s else -1, scores)
                if k < 0:
                    add_nodes_float(tree, scores, nodes)
                    best = best_of(tree, nodes, NULL, self.n_labels, &most, &second)
                else:
                    add_some_nodes(
                        tree, scores, nodes, &self.set_nodes[self.node_ptr[k]],
                        self.node_ptr[k + 1] - self.node_ptr[k])
                    best = best_of(tree, nodes, &self.set_labels[self.label_ptr[k]],
                                   self.label_ptr[k + 1] - self.label_ptr[k], &most, &second)
            if forced != NULL and forced[t] >= 0:
                best, second = forced[t], 2 * FORBIDDEN
            answer[t] = <int32_t>best
            if margins != NULL:
                margins[t] = lead(most, second)
        return 0

    cdef void find_sets(
        self, Scratch* scratch, Py_ssize_t n, const long long* token_ptr, const int32_t* rows
    ) noexcept nogil:
        """Find the set of candidates of each token: that of its first feature that has one."""
        cdef Py_ssize_t t, k
        cdef int32_t found, other
        for t in range(n):
            found = -1
            for k in range(token_ptr[t], token_ptr[t + 1]):
                other = self.set_of[rows[k]]
                if other >= 0 and (found < 0 or other < found):
                    found = other
            scratch.sets[t] = found
            scratch.single[t] = found >= 0 and self.label_ptr[found + 1] - self.label_ptr[found] == 1

    cdef void add_history(self, Py_ssize_t distance, Py_ssize_t before, float* scores) noexcept nogil:
        """Add the weights of the parts of an earlier label; -1: there is none."""
        cdef const Tree* tree = &self.parts.tree
        cdef Py_ssize_t y, k, first = (distance - 1) * (tree.n_parts + 1)
        cdef const float* row
        if before < 0:
            row = &self.history[first + tree.n_parts, 0]
            for y in range(self.stride):
                scores[y] += row[y]
            return
        for k in range(tree.ptr[before], tree.ptr[before + 1]):
            row = &self.history[first + tree.ids[k], 0]
            for y in range(self.stride):
                scores[y] += row[y]

    cdef int viterbi(self, Scratch* scratch, Py_ssize_t n, int32_t* answer) except -1 nogil:
        cdef Py_ssize_t t, y, at, stride = self.stride, winner = 0
        cdef Py_ssize_t next_poll = tokens_per_poll(self.n_labels, stride)
        cdef float* best = scratch.best
        for y in range(stride):
            best[y] = scratch.lattice[y] + self.history[self.n_labels, y]
        if scratch.ids != NULL:
            for y in range(self.distances.shape[0]):
                self.add_bigram(scratch, 0, y, self.n_labels, best)
        for t in range(1, n):
            if t == next_poll:
                next_poll += tokens_per_poll(self.n_labels, stride)
                poll()
            at = t * stride
            viterbi_step(best + at, scratch.back + at, best + at - stride,
                         self.transitions(scratch, t), self.n_labels, stride)
            for y in range(stride):
                best[at + y] += scratch.lattice[at + y]
            if t & 15 == 0:
                recentre(best + at, self.n_labels)
        best += (n - 1) * stride
        for y in range(self.n_labels):
            best[y] += self.last[y]
            if best[y] > best[winner]:
                winner = y
        for t in range(n - 1, -1, -1):
            answer[t] = <int32_t>winner
            if t:
                winner = scratch.back[t * stride + winner]
        return 0

    cdef int max_marginals(
        self, Scratch* scratch, Py_ssize_t n, const int32_t* answer, float* margins
    ) except -1 nogil:
        """The best score with a token's label less that without it: a pass from behind over `best`."""
        cdef Py_ssize_t t, y, q, stride = self.stride, part = tokens_per_poll(self.n_labels, stride)
        cdef float* after = scratch.after               # best continuation behind token t, by its label
        cdef float* before = scratch.after + stride     # the same for token t - 1
        cdef float* best
        cdef const float* step
        cdef float value, other
        for y in range(stride):
            after[y] = 0                                # `best` of the last token already holds `last`
        for t in range(n - 1, -1, -1):
            best = scratch.best + t * stride
            other = 2 * FORBIDDEN
            for y in range(self.n_labels):
                if y != answer[t] and best[y] + after[y] > other:
                    other = best[y] + after[y]
            margins[t] = lead(best[answer[t]] + after[answer[t]], other)
            if t == 0:
                return 0
            if t % part == 0:
                poll()
            step = self.transitions(scratch, t)
            for y in range(self.n_labels):
                before[y] = 4 * FORBIDDEN
                for q in range(self.n_labels):
                    value = step[y * stride + q] + scratch.lattice[t * stride + q] + after[q]
                    if t == n - 1:
                        value += self.last[q]
                    if value > before[y]:
                        before[y] = value
            after, before = before, after
        return 0

    def n_best(self, X, Py_ssize_t sentence, Py_ssize_t n, *, forced=None):
        """The n best labellings of a sentence, as (score, labels), best first; exact inference only."""
        if self.greedy:
            raise ValueError("n-best labels require exact inference; a greedy tagger follows only one path")
        cdef Py_ssize_t first = X.sentence_ptr[sentence], t, y, p, k
        cdef Py_ssize_t length = X.sentence_ptr[sentence + 1] - first
        if length == 0:
            return [(0.0, np.zeros(0, np.int32))]
        lattice = self.lattice(X, sentence, forced)
        plain = np.asarray(self.history)[:, :self.n_labels]
        scores = (lattice[0] + self.with_bigrams(plain, X, first)[self.n_labels])[:, None]  # labels x paths
        backs = []
        for t in range(1, length):
            paths = scores.shape[1]
            transitions = self.with_bigrams(plain, X, first + t)
            kept = min(n, scores.size)
            order = np.empty((kept, self.n_labels), np.int64)
            best = np.empty((self.n_labels, kept))
            width = max(1, MOST_EXTENDED // scores.size)
            for y in range(0, self.n_labels, width):    # extend every (previous label, path) by some labels
                extended = scores[:, :, None] + transitions[:self.n_labels, None, y:y + width]
                extended = extended.reshape(scores.size, -1)
                order[:, y:y + width] = np.argsort(-extended, axis=0, kind="stable")[:kept]
                best[y:y + width] = np.take_along_axis(extended, order[:, y:y + width], axis=0).T
            scores = best + lattice[t][:, None]
            backs.append((order // paths, order % paths))
        final = (scores + np.asarray(self.last)[:, None]).ravel()
        result = []
        for k in np.argsort(-final, kind="stable")[:n]:
            if final[k] < 0.5 * FORBIDDEN:
                break
            y, p = divmod(int(k), scores.shape[1])
            path = np.empty(length, dtype=np.int32)
            for t in range(length - 1, -1, -1):
                path[t] = y
                if t:
                    y, p = int(backs[t - 1][0][p, y]), int(backs[t - 1][1][p, y])
            result.append((float(final[k]), path))
        return result

    def with_bigrams(self, transitions, X, Py_ssize_t token) -> np.ndarray:
        """The transitions to a token, (n_labels + 1) x n_labels, with what its bigrams add to them."""
        if X.bigrams is None:
            return transitions
        transitions = transitions.astype(np.float64)
        for number in X.bigrams.ids[token]:
            rows = X.bigrams.rows[number] if number >= 0 else np.full(self.n_labels + 1, -1)
            known = (rows >= 0)[:, None]
            transitions = transitions + (np.where(known, self.feature_rows(rows), 0) if known.any() else 0)
        return transitions

    def feature_rows(self, rows) -> np.ndarray:
        """The weights of some features, rows x labels; -1 stands for a row to skip."""
        picked = self.source[np.maximum(rows, 0) + self.first]
        if self.parts is None:
            return picked[:, :self.n_labels]
        starts = np.asarray(self.parts.ptr)[:self.n_labels]
        return np.add.reduceat(picked[:, np.asarray(self.parts.ids)], starts, axis=1)

    def lattice(self, X, Py_ssize_t sentence, forced=None) -> np.ndarray:
        """Scores of the labels of each token of a sentence by its features alone."""
        self.check(X, forced)
        first, stop = X.sentence_ptr[sentence], X.sentence_ptr[sentence + 1]
        result = np.zeros((stop - first, self.n_labels))
        for t in range(first, stop):
            part = slice(X.token_ptr[t], X.token_ptr[t + 1])
            picked = self.feature_rows(X.rows[part]).astype(np.float64)
            result[t - first] = (picked if X.values is None else picked * X.values[part][:, None]).sum(axis=0)
            if forced is not None and forced[t] >= 0:
                result[t - first, np.arange(self.n_labels) != forced[t]] = FORBIDDEN
        return result


cdef inline void add_some_nodes(
    const Tree* tree, const float* parts, float* nodes, const int32_t* wanted, Py_ssize_t n
) noexcept nogil:
    """The same as `add_nodes_float` for some nodes, in increasing order and with all their parents."""
    cdef Py_ssize_t k
    (nodes - 1)[0] = 0                  # the parent of a root
    for k in range(n):
        nodes[wanted[k]] = nodes[tree.parent[wanted[k]]] + parts[tree.part[wanted[k]]]


cdef inline Py_ssize_t best_of(
    const Tree* tree, const float* nodes, const int32_t* labels, Py_ssize_t n, float* most, float* second
) noexcept nogil:
    """The first of the labels (NULL: all) with the highest score, its score, and that of the next."""
    cdef Py_ssize_t k, y, best = 0 if labels == NULL else labels[0]
    cdef float value
    most[0], second[0] = nodes[tree.node[best]], 2 * FORBIDDEN
    for k in range(1, n):
        y = k if labels == NULL else labels[k]
        value = nodes[tree.node[y]]
        if value > most[0]:
            best, second[0], most[0] = y, most[0], value
        elif value > second[0]:
            second[0] = value
    return best


cdef inline float lead(float best, float other) noexcept nogil:
    """The margin between two scores; infinite if the second one belongs to a forbidden label."""
    return INFINITY if other < FORBIDDEN / 2 else best - other


cdef inline void recentre(float* scores, Py_ssize_t n) noexcept nogil:
    """Subtract the highest score: sums over a long sentence lose the digits that tell labels apart."""
    cdef Py_ssize_t y
    cdef float top = scores[0]
    for y in range(1, n):
        top = max(top, scores[y])
    if top > 0.5 * FORBIDDEN:           # or else some labels are less forbidden than others
        for y in range(n):
            scores[y] -= top


cdef double log_sum(
    const float* logs, const float* step, Py_ssize_t stride, const float* scores, Py_ssize_t n, double scale
) noexcept nogil:
    """The logarithm of the sum of exp(logs[k] + (step[k * stride] + scores[k]) * scale)."""
    cdef Py_ssize_t k, turn
    cdef double value, top = -INFINITY, total = 0
    for turn in range(2):
        for k in range(n):
            value = logs[k] + (step[k * stride] + (0 if scores == NULL else scores[k])) * scale
            if turn:
                total += exp(value - top)
            elif value > top:
                top = value
    return top + log(total)


cdef void release(Scratch* scratch) noexcept nogil:
    free(scratch.lattice)
    free(scratch.best)
    free(scratch.after)
    free(scratch.back)
    free(scratch.table)
    free(scratch.sums)
    free(scratch.nodes)
    free(scratch.sets)
    free(scratch.single)
