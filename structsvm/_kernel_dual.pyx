# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""`KernelDual`: the multiclass dual without w, by kernels between patterns.

The joint kernel is L(y, y') k(x, x'). For each support pattern it keeps beta (a value for each class), the
scores S(x, c) = sum_j,c' beta_jc' L(c, c') k(x_j, x) of all classes, which are its stored gradients, and, as
far as the cache allows, its row of the kernel matrix between support patterns. SMOSTEP then costs one pass
over that row.

New patterns come in blocks: their rows against all support patterns are one matrix product. Rows follow
the support set as it grows and shrinks, so that k(x_i, x_j) is computed once while both are in it.
"""
from libc.math cimport INFINITY
from libc.stdint cimport uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy

from structsvm._dual cimport Dual

import numpy as np

cdef extern from "_vector.h" nogil:
    void axpy_single(double* y, double a, const float* x, Py_ssize_t n)
    void axpy_double(double* y, double a, const double* x, Py_ssize_t n)
    void accumulate_single(double* y, const double* b, Py_ssize_t width, const float* x, Py_ssize_t n)
    void accumulate_double(double* y, const double* b, Py_ssize_t width, const double* x, Py_ssize_t n)


cdef class KernelDual(Dual):
    """maximise -sum beta Delta - beta' K beta / 2 with beta_iy <= C_i [y = y_i] and sum_y beta_iy = 0."""

    cdef readonly object inputs             # a structsvm.kernels.Inputs: patterns and their kernels
    cdef readonly long long n_kernels       # kernel values computed
    cdef Py_ssize_t n_classes
    cdef const double[:, ::1] loss
    cdef const double[:, ::1] similarity          # L
    cdef bint single                        # rows hold float32, not float64
    cdef Py_ssize_t size                    # bytes of a kernel value
    cdef double cache_bytes
    cdef double kernel_cost                 # multiply-adds of one kernel value

    # Support patterns, by position.
    cdef Py_ssize_t capacity
    cdef double* beta                       # n_patterns x n_classes
    cdef double* scores                     # n_classes x capacity
    cdef double* upper
    cdef double* diagonal
    cdef Py_ssize_t* slot                   # in the current batch, or -1
    cdef Py_ssize_t* label
    cdef char** rows                        # or NULL where evicted
    cdef long long* used                    # when the row was last used
    cdef long long now
    cdef Py_ssize_t n_rows

    # The current batch and block.
    cdef Py_ssize_t[::1] position           # of a slot, or -1
    cdef Py_ssize_t[::1] labels
    cdef double[::1] uppers
    cdef Py_ssize_t[::1] pending            # of a slot in the block, or -1
    cdef char** block_rows
    cdef double[:, ::1] block_kernel
    cdef Py_ssize_t[::1] block_slots
    cdef Py_ssize_t n_block
    cdef double[::1] fresh                  # scores of a new pattern
    cdef bint interrupted                   # by Ctrl-C, which waits until a step is complete
    cdef object interrupt

    def __init__(
        self, inputs, loss, similarity, *, double C, double tau, double kappa, uint64_t seed, double cache_mb
    ):
        self.inputs = inputs
        self.loss = np.ascontiguousarray(loss, dtype=np.float64)
        self.similarity = np.ascontiguousarray(similarity, dtype=np.float64)
        self.n_classes = self.loss.shape[0]
        self.C, self.tau, self.kappa, self.rng = C, tau, kappa, seed
        self.single = inputs.dtype == np.float32
        self.size = sizeof(float) if self.single else sizeof(double)
        self.cache_bytes = cache_mb * 2**20
        self.kernel_cost = inputs.cost
        self.fresh = np.zeros(2 * self.n_classes)
        self.block_kernel = np.zeros((0, 0))
        self.start([])

    def __dealloc__(self):
        cdef Py_ssize_t p
        for p in range(self.n_patterns):
            free(self.rows[p])
        self.clear_block()
        free(self.beta)
        free(self.scores)
        free(self.upper)
        free(self.diagonal)
        free(self.slot)
        free(self.label)
        free(self.rows)
        free(self.used)

    # -- the three steps ------------------------------------------------------------------------

    cdef int process_new(self, Py_ssize_t slot) except -1 nogil:
        return 0 if self.position[slot] >= 0 else self.cut(slot, self.tau)

    cdef int cut(self, Py_ssize_t slot, double epsilon) except -1 nogil:
        cdef Py_ssize_t c, p = self.position[slot], best, y = self.labels[slot]
        cdef double v, best_v = 0
        if p >= 0:
            self.n_argmax += 1
            return self.move(p, True, epsilon)
        # One that was a support pattern when the block began has no row there: it waits for the next epoch.
        if self.pending[slot] < 0 or self.uppers[slot] == 0:
            return 0
        self.score_new(slot)
        best = y
        for c in range(self.n_classes):
            v = self.loss[y, c] - self.fresh[y] + self.fresh[c]
            if v > best_v:
                best, best_v = c, v
        if best_v <= max(epsilon, self.tau):
            return 0
        p = self.insert(slot)
        return self.settled(self.step(p, y, best, best_v))

    cdef int process_old(self, Py_ssize_t p) except -1 nogil:
        self.n_argmax += 1
        return self.move(p, True, -1)

    cdef int optimize(self, Py_ssize_t p) except -1 nogil:
        return self.move(p, False, -1)

    cdef int move(self, Py_ssize_t p, bint all_classes, double epsilon) except -1 nogil:
        """The steepest feasible step of a support pattern, towards any class or its support outputs only.

        With epsilon >= 0 only towards a class that exceeds the slack of the support outputs by more than it.
        """
        cdef Py_ssize_t c, a = -1, b = -1, y = self.label[p]
        cdef double v, va = INFINITY, vb = -INFINITY, slack = 0, room
        cdef double* beta = self.beta + p * self.n_classes
        for c in range(self.n_classes):
            if beta[c] == 0 and not all_classes:
                continue
            v = self.loss[y, c] - self.scores[y * self.capacity + p] + self.scores[c * self.capacity + p]
            room = self.upper[p] - beta[c] if c == y else -beta[c]
            if v < va and room >= self.kappa * self.upper[p]:
                a, va = c, v
            if v > vb:
                b, vb = c, v
            if beta[c] != 0:
                slack = max(slack, v)
        self.cost += self.n_classes
        self.last_gap = vb - va if a >= 0 and (epsilon < 0 or vb > slack + epsilon) else 0
        return self.settled(self.step(p, a, b, self.last_gap)) if self.last_gap > self.tau else 0

    cdef int step(self, Py_ssize_t p, Py_ssize_t a, Py_ssize_t b, double gap) except -1 nogil:
        """SMOSTEP: beta_a += step, beta_b -= step; a support pattern left without coefficients is removed."""
        cdef double* beta = self.beta + p * self.n_classes
        cdef double* scores
        cdef double curvature, room, step, change
        cdef Py_ssize_t c, y = self.label[p], before = 0, after = 0
        curvature = self.diagonal[p] * (
            self.similarity[a, a] + self.similarity[b, b] - 2 * self.similarity[a, b])
        room = self.upper[p] - beta[y] if a == y else -beta[a]
        step = min(gap / curvature, room) if curvature > 0 else room
        self.fetch(p)
        for c in range(self.n_classes):
            before += c != y and beta[c] != 0
            change = step * (self.similarity[c, a] - self.similarity[c, b])
            if change != 0:
                scores = self.scores + c * self.capacity
                if self.single:
                    axpy_single(scores, change, <float*>self.rows[p], self.n_patterns)
                else:
                    axpy_double(scores, change, <double*>self.rows[p], self.n_patterns)
                self.cost += self.n_patterns
        beta[b] -= step
        beta[a] = 0 if step == room and a != y else beta[a] + step
        beta[y] = 0
        for c in range(self.n_classes):
            if c != y:
                after += beta[c] != 0
                beta[y] -= beta[c]
        self.n_outputs += after - before
        self.dual += step * gap - 0.5 * step * step * curvature
        self.n_steps += 1
        if after == 0:
            self.remove(p)
        return 1

    # -- rows of the kernel matrix --------------------------------------------------------------

    cdef int score_new(self, Py_ssize_t slot) except -1 nogil:
        """Scores of all classes for a pattern of the block, into `fresh`."""
        cdef Py_ssize_t c, d
        cdef char* row = self.block_rows[self.pending[slot]]
        cdef double* sums = &self.fresh[self.n_classes]
        for c in range(self.n_classes):
            sums[c] = 0
        if self.single:
            accumulate_single(sums, self.beta, self.n_classes, <float*>row, self.n_patterns)
        else:
            accumulate_double(sums, self.beta, self.n_classes, <double*>row, self.n_patterns)
        for c in range(self.n_classes):
            self.fresh[c] = 0
            for d in range(self.n_classes):
                self.fresh[c] += self.similarity[c, d] * sums[d]
        self.n_argmax += 1
        self.cost += self.n_patterns * (self.kernel_cost + self.n_classes)
        return 0

    cdef int fetch(self, Py_ssize_t p) except -1 nogil:
        """See that the row of a support pattern is in the cache."""
        self.now += 1
        self.used[p] = self.now
        if self.rows[p] == NULL:
            with gil:       # not booked as cost: the schedule shall not depend on the size of the cache
                self.compute_row(p)
        return 0

    def compute_row(self, Py_ssize_t p):
        """Compute an evicted row again."""
        values = np.ascontiguousarray(self.inputs.row(p), dtype=self.inputs.dtype)
        cdef const unsigned char[::1] source = values.view(np.uint8)
        self.n_kernels += self.n_patterns
        self.make_room(1)
        self.rows[p] = <char*>allocated(malloc(self.capacity * self.size))
        memcpy(self.rows[p], &source[0], self.n_patterns * self.size)
        self.n_rows += 1

    cdef void make_room(self, Py_ssize_t more) noexcept nogil:
        """Evict the rows unused for longest until `more` fit into the cache; the one in use stays."""
        cdef Py_ssize_t p, oldest
        while self.n_rows and (self.n_rows + more) * <double>self.capacity * self.size > self.cache_bytes:
            oldest = -1
            for p in range(self.n_patterns):
                if self.rows[p] != NULL and self.used[p] != self.now and (
                        oldest < 0 or self.used[p] < self.used[oldest]):
                    oldest = p
            if oldest < 0:
                return
            free(self.rows[oldest])
            self.rows[oldest] = NULL
            self.n_rows -= 1

    cdef void put(self, char* row, Py_ssize_t at, double value) noexcept nogil:
        if self.single:
            (<float*>row)[at] = <float>value
        else:
            (<double*>row)[at] = value

    cdef double get(self, char* row, Py_ssize_t at) noexcept nogil:
        return (<float*>row)[at] if self.single else (<double*>row)[at]

    # -- the support set ------------------------------------------------------------------------

    cdef Py_ssize_t insert(self, Py_ssize_t slot) except -1 nogil:
        """Make a pattern of the block a support pattern: its row becomes a column of all others."""
        cdef Py_ssize_t c, q, r = self.pending[slot], p = self.n_patterns
        cdef char* row
        if p == self.capacity:
            with gil:
                self.grow(2 * self.capacity + 64)
        row = self.block_rows[r]
        with gil:
            self.tell_inputs("insert", p, slot)
        for q in range(p):
            if self.rows[q] != NULL:
                self.put(self.rows[q], p, self.get(row, q))
        for q in range(self.n_block):
            if self.block_rows[q] != NULL:
                self.put(self.block_rows[q], p, self.block_kernel[q, r])
        for c in range(self.n_classes):
            self.beta[p * self.n_classes + c] = 0
            self.scores[c * self.capacity + p] = self.fresh[c]
        self.upper[p], self.slot[p], self.label[p] = self.uppers[slot], slot, self.labels[slot]
        self.diagonal[p] = self.block_kernel[r, r]
        self.rows[p] = row
        self.block_rows[r] = NULL
        self.used[p] = self.now
        self.position[slot] = p
        self.n_patterns += 1
        self.make_room(1)
        self.n_rows += 1
        return p

    cdef int remove(self, Py_ssize_t p) except -1 nogil:
        """Fill the gap with the last support pattern, in all rows too."""
        cdef Py_ssize_t c, q, k = self.n_classes, last = self.n_patterns - 1, slot = self.slot[p]
        if slot >= 0:
            self.position[slot] = -1
        free(self.rows[p])      # never NULL: only a step removes, and it has fetched the row
        self.rows[p] = NULL
        self.n_rows -= 1
        for q in range(self.n_patterns):
            if self.rows[q] != NULL:
                self.put(self.rows[q], p, self.get(self.rows[q], last))
        for q in range(self.n_block):
            if self.block_rows[q] != NULL:
                self.put(self.block_rows[q], p, self.get(self.block_rows[q], last))
        if p != last:
            memcpy(self.beta + p * k, self.beta + last * k, k * sizeof(double))
            for c in range(k):
                self.scores[c * self.capacity + p] = self.scores[c * self.capacity + last]
            self.upper[p], self.slot[p], self.label[p] = self.upper[last], self.slot[last], self.label[last]
            self.diagonal[p], self.used[p] = self.diagonal[last], self.used[last]
            self.rows[p] = self.rows[last]
            if self.slot[p] >= 0:
                self.position[self.slot[p]] = p
        self.n_patterns = last
        with gil:
            self.tell_inputs("remove", p, last)
        return 0

    def tell_inputs(self, change, position, other):
        """Have the inputs follow the support set; Ctrl-C, which Python code hears, has to wait."""
        try:
            getattr(self.inputs, change)(position, other)
        except KeyboardInterrupt as interrupt:
            getattr(self.inputs, change)(position, other)   # doing it twice does no harm
            self.interrupt = interrupt
            self.interrupted = True

    cdef int settled(self, int moved) except -1 nogil:
        """The end of a step, when all books agree: now an interruption is passed on."""
        if self.interrupted:
            self.interrupted = False
            with gil:
                interrupt, self.interrupt = self.interrupt, None
                raise interrupt
        return moved

    def grow(self, Py_ssize_t capacity):
        """Make room for more support patterns in all arrays and rows; without memory nothing changes."""
        cdef Py_ssize_t c, q
        cdef double* scores
        self.beta = <double*>allocated(realloc(self.beta, self.n_classes * capacity * sizeof(double)))
        self.upper = <double*>allocated(realloc(self.upper, capacity * sizeof(double)))
        self.diagonal = <double*>allocated(realloc(self.diagonal, capacity * sizeof(double)))
        self.slot = <Py_ssize_t*>allocated(realloc(self.slot, capacity * sizeof(Py_ssize_t)))
        self.label = <Py_ssize_t*>allocated(realloc(self.label, capacity * sizeof(Py_ssize_t)))
        self.rows = <char**>allocated(realloc(self.rows, capacity * sizeof(char*)))
        self.used = <long long*>allocated(realloc(self.used, capacity * sizeof(long long)))
        for q in range(self.n_patterns):
            if self.rows[q] != NULL:
                self.rows[q] = <char*>allocated(realloc(self.rows[q], capacity * self.size))
        for q in range(self.n_block):
            if self.block_rows[q] != NULL:
                self.block_rows[q] = <char*>allocated(realloc(self.block_rows[q], capacity * self.size))
        scores = <double*>allocated(malloc(self.n_classes * capacity * sizeof(double)))
        for c in range(self.n_classes if self.n_patterns else 0):
            memcpy(scores + c * capacity, self.scores + c * self.capacity, self.n_patterns * sizeof(double))
        free(self.scores)
        self.scores, self.capacity = scores, capacity
        self.make_room(0)

    # -- from Python ----------------------------------------------------------------------------

    def start(self, labels):
        """Begin with a batch of patterns, slots 0 .. n - 1; earlier support patterns stay, without a slot."""
        cdef Py_ssize_t p
        self.clear_block()
        self.labels = np.array(labels, dtype=np.intp)
        self.uppers = np.zeros(len(labels))
        self.position = np.full(len(labels), -1, dtype=np.intp)
        self.pending = np.full(len(labels), -1, dtype=np.intp)
        for p in range(self.n_patterns):
            self.slot[p] = -1

    def weigh(self, sample_weight):
        """Give the patterns of the batch their weights: they have none before."""
        self.uppers = self.C * np.asarray(sample_weight, dtype=np.float64)

    def begin_block(self, const Py_ssize_t[::1] slots):
        """Compute the rows of the patterns to come next, those that are no support patterns."""
        cdef Py_ssize_t k, n
        self.clear_block()
        if self.capacity == 0:
            self.grow(64)
        chosen = np.array([slot for slot in slots if self.position[slot] < 0], dtype=np.intp)
        n = len(chosen)
        if n == 0:
            return
        rows, kernel = self.inputs.block(chosen)
        rows = np.ascontiguousarray(rows, dtype=self.inputs.dtype)
        self.n_kernels += n * self.n_patterns + n * n
        self.block_kernel = np.ascontiguousarray(kernel, dtype=np.float64).reshape(n, n)
        self.block_slots = chosen
        self.block_rows = <char**>allocated(malloc((n + 1) * sizeof(char*)))
        cdef const unsigned char[:, ::1] source = None
        if self.n_patterns:
            source = rows.reshape(n, -1).view(np.uint8)
        for k in range(n):
            self.block_rows[k] = <char*>allocated(malloc(self.capacity * self.size))
            self.n_block = k + 1
            if self.n_patterns:
                memcpy(self.block_rows[k], &source[k, 0], self.n_patterns * self.size)
            self.pending[self.block_slots[k]] = k

    cdef void clear_block(self) noexcept:
        cdef Py_ssize_t k
        for k in range(self.n_block):
            free(self.block_rows[k])
            self.pending[self.block_slots[k]] = -1
        free(self.block_rows)
        self.block_rows = NULL
        self.n_block = 0

    def batch_labels(self) -> np.ndarray:
        """The classes of the current batch."""
        return np.array(self.labels)

    def count(self, Py_ssize_t n):
        """Book n argmax calls whose kernel rows were computed outside the steps."""
        self.n_argmax += n
        self.n_kernels += n * self.n_patterns

    def coefficients(self) -> np.ndarray:
        """beta, a row for each support pattern and a column for each class."""
        cdef Py_ssize_t n = self.n_patterns, k = self.n_classes
        return np.array(<double[:n, :k]>self.beta) if n else np.zeros((0, k))

    def support_scores(self) -> np.ndarray:
        """S of each support pattern and class: the stored gradients."""
        cdef Py_ssize_t n = self.n_patterns, k = self.n_classes, m = self.capacity
        return np.array(<double[:k, :m]>self.scores)[:, :n].T if n else np.zeros((0, k))

    def support_labels(self) -> np.ndarray:
        """The true class of each support pattern."""
        cdef Py_ssize_t n = self.n_patterns
        return np.array(<Py_ssize_t[:n]>self.label) if n else np.zeros(0, np.intp)

    def state(self) -> dict:
        """Everything but the inputs, as arrays: what restore() needs to go on."""
        cdef Py_ssize_t n = self.n_patterns
        return {
            "beta": self.coefficients(),
            "scores": self.support_scores(),
            "labels": self.support_labels(),
            "upper": np.array(<double[:n]>self.upper) if n else np.zeros(0),
            "diagonal": np.array(<double[:n]>self.diagonal) if n else np.zeros(0),
            "counters": np.array([self.n_argmax, self.n_steps, self.n_kernels], dtype=np.int64),
            "objective": np.array([self.dual, self.cost], dtype=np.float64),
            "rng": np.array([self.rng], dtype=np.uint64),
        }

    def restore(self, state: dict):
        """Take up a state() again; `inputs` must hold its support patterns, in order."""
        cdef Py_ssize_t p, c, n = len(state["labels"])
        cdef const double[:, ::1] beta = np.ascontiguousarray(state["beta"])
        cdef const double[:, ::1] scores = np.ascontiguousarray(state["scores"])
        cdef const double[::1] upper = state["upper"], diagonal = state["diagonal"]
        cdef const Py_ssize_t[::1] labels = state["labels"]
        fits = beta.shape[0] == scores.shape[0] == upper.shape[0] == diagonal.shape[0] == n
        if self.n_patterns or not fits or (
                n and (beta.shape[1] != self.n_classes or scores.shape[1] != self.n_classes
                       or not 0 <= np.min(labels) <= np.max(labels) < self.n_classes)):
            raise ValueError("the saved training state is inconsistent: its arrays do not fit each other")
        self.grow(n + 64)
        for p in range(n):
            for c in range(self.n_classes):
                self.beta[p * self.n_classes + c] = beta[p, c]
                self.scores[c * self.capacity + p] = scores[p, c]
                self.n_outputs += c != labels[p] and beta[p, c] != 0
            self.upper[p], self.diagonal[p], self.label[p] = upper[p], diagonal[p], labels[p]
            self.slot[p], self.rows[p], self.used[p] = -1, NULL, 0      # rows are computed when used
        self.n_patterns = n
        self.n_argmax, self.n_steps, self.n_kernels = state["counters"]
        self.dual, self.cost = state["objective"]
        self.rng = state["rng"][0]


cdef void* allocated(void* block) except NULL:
    if block == NULL:
        raise MemoryError("no memory for the kernel dual: use a smaller cache_size or fewer patterns")
    return block
