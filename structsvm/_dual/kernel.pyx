# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""`KernelDual`: the multiclass dual without w, by kernels between patterns.

The joint kernel is L(y, y') k(x, x'). For each support pattern it keeps beta (a value for each class), the
scores S(x, c) = sum_j,c' beta_jc' L(c, c') k(x_j, x) of all classes, which are its stored gradients. SMOSTEP
costs one pass over a row of the kernel matrix between support patterns, which `KernelRows` keeps.

New patterns are visited in blocks. Their scores are computed together; then every step updates them, as it
updates those of the support patterns.
"""
from libc.math cimport INFINITY
from libc.stdint cimport uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy

from cython cimport view

from structsvm._dual.dual cimport Dual, OPTIMIZE_BURST
from structsvm.kernels.kernel_cache cimport KernelRows

import numpy as np

from structsvm.kernels.functions import squared_norms
from structsvm.kernels.kept_values import KeptValues
from structsvm.machine import Unsupported
from structsvm.validation import diagonal_matrix

cdef extern from "structsvm/_dual/block.h" nogil:
    void prefetch_lines(const void* block, Py_ssize_t n_bytes)
    void prefetch_line(const void* at)
    void turned_single(char* columns, char** rows, Py_ssize_t width, Py_ssize_t n)
    void turned_double(char* columns, char** rows, Py_ssize_t width, Py_ssize_t n)
    void weighed_single(double* sums, const double* beta, Py_ssize_t n_classes, const char* columns,
                        Py_ssize_t width, Py_ssize_t n)
    void weighed_double(double* sums, const double* beta, Py_ssize_t n_classes, const char* columns,
                        Py_ssize_t width, Py_ssize_t n)
    void moved_single(double* up, double* down, double a, const char* x, Py_ssize_t n)
    void moved_double(double* up, double* down, double a, const char* x, Py_ssize_t n)


cdef Py_ssize_t BLOCK = 64  # patterns whose kernel rows are one matrix product
NO_WEIGHTS = "a kernel machine has no weight vector; use its support vectors"
COLUMNS = 512               # rows of other data that are scored at a time,
OTHERS = 256                # and of the training set


cdef class KernelDual(Dual):
    """maximise -sum beta Delta - beta' K beta / 2 with beta_iy <= C_i [y = y_i] and sum_y beta_iy = 0."""

    cdef readonly object oracle             # the store of the patterns: see `KernelPatterns`
    cdef double[::1] counts                 # its counts of predictions before learning
    cdef KernelRows rows                    # patterns, and kernels between support patterns
    cdef Py_ssize_t n_classes
    cdef const double[:, ::view.contiguous] loss
    cdef const double[:, ::view.contiguous] similarity      # L
    cdef bint plain                         # L is the identity
    cdef double kernel_cost                 # multiply-adds of one kernel value

    # Support patterns, by position.
    cdef Py_ssize_t capacity
    cdef double* beta                       # n_patterns x n_classes
    cdef double* scores                     # n_classes x capacity
    cdef double* upper
    cdef Py_ssize_t* label

    # The current batch.
    cdef Py_ssize_t[::1] labels
    cdef double[::1] uppers

    # The current block of patterns.
    cdef Py_ssize_t width                   # how many
    cdef char* columns                      # capacity x width: kernels with support patterns
    cdef double[::1] fresh                  # n_classes x width: scores

    def __init__(self, oracle, *, double C, double tau, double kappa, uint64_t seed, double cache_mb):
        problem = oracle.problem
        self.oracle = oracle
        self.counts = oracle.counts
        self.rows = KernelRows(oracle.inputs, cache_mb)
        self.loss = problem.loss_
        self.similarity = problem.similarity
        self.n_classes = self.loss.shape[0]
        self.C, self.tau, self.kappa, self.rng = C, tau, kappa, seed
        self.block = BLOCK
        self.kernel_cost = oracle.inputs.cost
        identity = diagonal_matrix(self.n_classes, 1.0, 0.0)
        self.plain = problem.is_plain or np.array_equal(self.similarity, identity)
        self.start([])

    def __dealloc__(self):
        free(self.beta)
        free(self.scores)
        free(self.upper)
        free(self.label)
        free(self.columns)

    # -- the three steps ------------------------------------------------------------------------

    cdef int process_new(self, Py_ssize_t slot) except -1 nogil:
        return 0 if self.rows.position[slot] >= 0 else self.cut(slot, self.tau)

    cdef int cut(self, Py_ssize_t slot, double epsilon) except -1 nogil:
        cdef Py_ssize_t c, p = self.rows.position[slot], best, q, y = self.labels[slot]
        cdef double v, best_v = 0
        if p >= 0:
            self.n_argmax += 1
            return self.move(p, True, epsilon)
        # A pattern that was a support pattern when the block began has no row: it waits for the next epoch.
        if self.rows.fresh(slot) == NULL or self.uppers[slot] == 0:
            return 0
        best, q = y, self.rows.pending[slot]
        self.n_argmax += 1
        self.cost += self.n_patterns * (self.kernel_cost + self.n_classes)
        for c in range(self.n_classes):
            v = self.loss[y, c] - self.fresh[y * self.width + q] + self.fresh[c * self.width + q]
            if v > best_v:
                best, best_v = c, v
        if self.counts[0]:
            self.counts[1] += 1
            self.counts[2] += self.loss[y, self.predicted(q)]
        if best_v <= max(epsilon, self.tau):
            return 0
        p = self.insert(slot)
        return self.settled(self.step(p, y, best, best_v))

    cdef Py_ssize_t predicted(self, Py_ssize_t q) noexcept nogil:
        """The class with the highest score for waiting pattern q."""
        cdef Py_ssize_t c, best = 0
        for c in range(self.n_classes):
            if self.fresh[c * self.width + q] > self.fresh[best * self.width + q]:
                best = c
        return best

    cdef int process_old(self, Py_ssize_t p) except -1 nogil:
        self.n_argmax += 1
        return self.move(p, True, -1)

    cdef int optimize(self, Py_ssize_t p) except -1 nogil:
        return self.move(p, False, -1)

    cdef int optimize_burst(self) except -1 nogil:
        cdef Py_ssize_t p = self.best_of_ten(False)
        return self.move(p, False, -1) if p >= 0 else 0

    cdef Py_ssize_t best_of_ten(self, bint all_classes) noexcept nogil:
        """Where OPTIMIZE or PROCESSOLD gains most in gradient, or -1; far cheaper than a step."""
        cdef Py_ssize_t k, p, best = -1
        cdef Py_ssize_t[OPTIMIZE_BURST] drawn
        cdef double gap, largest = self.tau
        if self.n_patterns == 0:
            return -1
        for k in range(OPTIMIZE_BURST):     # prefetch the coefficients of each while drawing the others
            drawn[k] = self.pick()
            prefetch_lines(self.beta + drawn[k] * self.n_classes, self.n_classes * sizeof(double))
            prefetch_line(&self.upper[drawn[k]])
        for k in range(OPTIMIZE_BURST):
            p = drawn[k]
            gap = self.gap_of(p, all_classes)
            if gap > largest:
                best, largest = p, gap
        self.n_argmax += OPTIMIZE_BURST if all_classes else 0
        return best

    cdef double gap_of(self, Py_ssize_t p, bint all_classes) noexcept nogil:
        """The gradient gain of a step of a support pattern, towards any class or its support outputs."""
        cdef Py_ssize_t c, y = self.label[p]
        cdef double v, least = INFINITY, most = -INFINITY, room
        cdef double* beta = self.beta + p * self.n_classes
        for c in range(self.n_classes):
            if beta[c] == 0 and not all_classes:
                continue
            v = self.loss[y, c] + self.scores[c * self.capacity + p]
            room = self.upper[p] - beta[c] if c == y else -beta[c]
            if v < least and room >= self.kappa * self.upper[p]:
                least = v
            most = max(most, v)
        self.cost += self.n_classes
        return most - least

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
        cdef char* row
        cdef double curvature, room, step, change
        cdef Py_ssize_t c, y = self.label[p], before = 0, after = 0
        curvature = self.rows.diagonal[p] * (
            self.similarity[a, a] + self.similarity[b, b] - 2 * self.similarity[a, b])
        room = self.upper[p] - beta[y] if a == y else -beta[a]
        step = min(gap / curvature, room) if curvature > 0 else room
        row = self.rows.fetch(p)
        if self.plain:
            self.shift(a, b, step, p, row)
        for c in range(self.n_classes):
            before += c != y and beta[c] != 0
            change = step * (self.similarity[c, a] - self.similarity[c, b])
            if change != 0:
                self.cost += self.n_patterns
                if not self.plain:
                    self.shift(c, -1, change, p, row)
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

    cdef void shift(self, Py_ssize_t a, Py_ssize_t b, double change, Py_ssize_t p, char* row) noexcept nogil:
        """Raise the scores of class a by change k(x, x_p) and lower those of b by it; b = -1: no class."""
        cdef char* column = self.columns + p * self.width * self.rows.size
        cdef double* up = self.scores + a * self.capacity
        cdef double* down = self.scores + b * self.capacity
        if b < 0:
            self.rows.add(up, change, row)
            self.rows.add_n(&self.fresh[a * self.width], change, column, self.width)
        elif self.rows.single:
            moved_single(up, down, change, row, self.n_patterns)
            moved_single(&self.fresh[a * self.width], &self.fresh[b * self.width], change, column, self.width)
        else:
            moved_double(up, down, change, row, self.n_patterns)
            moved_double(&self.fresh[a * self.width], &self.fresh[b * self.width], change, column, self.width)

    # -- the block ------------------------------------------------------------------------------

    cdef int turn_block(self) except -1:
        """Compute columns and scores of the block of `rows`."""
        cdef Py_ssize_t n = self.rows.n_block, k = self.n_classes, size = self.rows.size
        cdef double[::1] sums = np.zeros(k * n + 1)
        self.columns = <char*>allocated(realloc(self.columns, (self.rows.capacity * n + 1) * size))
        self.width, self.fresh = n, sums
        if n == 0:
            return 0
        if self.rows.single:
            turned_single(self.columns, self.rows.block_rows, n, self.n_patterns)
            weighed_single(&sums[0], self.beta, k, self.columns, n, self.n_patterns)
        else:
            turned_double(self.columns, self.rows.block_rows, n, self.n_patterns)
            weighed_double(&sums[0], self.beta, k, self.columns, n, self.n_patterns)
        if not self.plain:
            mixed = np.asarray(self.similarity) @ np.asarray(sums)[:k * n].reshape(k, n)
            self.fresh = np.append(mixed.ravel(), 0.0)
        return 0

    # -- the support set ------------------------------------------------------------------------

    cdef Py_ssize_t insert(self, Py_ssize_t slot) except -1 nogil:
        """Make a pattern of the block a support pattern."""
        cdef Py_ssize_t c, q = self.rows.pending[slot], p = self.rows.insert(slot)
        for c in range(self.n_classes):
            self.beta[p * self.n_classes + c] = 0
            self.scores[c * self.capacity + p] = self.fresh[c * self.width + q]
        for c in range(self.width):
            self.rows.put(self.columns, p * self.width + c, self.rows.block_kernel[q, c])
        self.upper[p], self.label[p] = self.uppers[slot], self.labels[slot]
        self.n_patterns = p + 1
        return p

    cdef int remove(self, Py_ssize_t p) except -1 nogil:
        """Fill the gap with the last support pattern."""
        cdef Py_ssize_t c, k = self.n_classes, last = self.n_patterns - 1, size = self.width * self.rows.size
        if p != last:
            memcpy(self.columns + p * size, self.columns + last * size, size)
            memcpy(self.beta + p * k, self.beta + last * k, k * sizeof(double))
            for c in range(k):
                self.scores[c * self.capacity + p] = self.scores[c * self.capacity + last]
            self.upper[p], self.label[p] = self.upper[last], self.label[last]
        self.n_patterns = last
        return self.rows.remove(p)

    cdef int settled(self, int moved) except -1 nogil:
        """End a step, after all arrays have been updated."""
        self.rows.settle()
        return moved

    cdef int grow(self, Py_ssize_t capacity) except -1:
        """Make room for more support patterns in all arrays; without memory nothing changes."""
        cdef Py_ssize_t c
        cdef double* scores
        self.beta = <double*>allocated(realloc(self.beta, self.n_classes * capacity * sizeof(double)))
        self.upper = <double*>allocated(realloc(self.upper, capacity * sizeof(double)))
        self.label = <Py_ssize_t*>allocated(realloc(self.label, capacity * sizeof(Py_ssize_t)))
        scores = <double*>allocated(malloc(self.n_classes * capacity * sizeof(double)))
        for c in range(self.n_classes if self.n_patterns else 0):
            memcpy(scores + c * capacity, self.scores + c * self.capacity, self.n_patterns * sizeof(double))
        free(self.scores)
        self.scores, self.capacity = scores, capacity
        return 0

    # -- from Python ----------------------------------------------------------------------------

    def start(self, labels):
        """Start with a batch of patterns, slots 0 .. n - 1; earlier support patterns stay, without a slot."""
        self.labels = np.array(labels, dtype=np.intp)
        self.uppers = np.zeros(len(labels))
        self.width, self.fresh = 0, np.zeros(1)
        self.rows.start(len(labels))

    def admit(self, slots, sample_weight):
        """Make the batch that was added last the training set."""
        self.start(self.oracle.take())
        self.uppers = self.C * np.asarray(sample_weight, dtype=np.float64)

    def dismiss(self, slots):
        """Remove the batch from the training set; support patterns stay."""
        self.oracle.release()
        self.start([])

    def prepare(self, slots):
        """Compute the kernel rows of those slots that are not support patterns."""
        self.width = 0      # if this fails, there is no block
        self.rows.begin_block(slots)
        if self.capacity < self.rows.capacity:
            self.grow(self.rows.capacity)
        self.turn_block()

    def polish(self) -> bool:
        """Make a step for each support pattern, on support patterns alone; False if the dual did not rise."""
        cdef Py_ssize_t k, p = -1, then
        cdef double before = self.dual
        with nogil:
            for k in range(self.n_patterns):
                then = self.best_of_ten(k % 4 == 0)
                if then >= 0:   # load its row during the step before
                    prefetch_lines(self.rows.rows[then], self.n_patterns * self.rows.size)
                if 0 <= p < self.n_patterns:
                    self.move(p, True, -1)
                p = then
        return self.dual > before

    @property
    def inputs(self):
        """The patterns and their kernels."""
        return self.rows.inputs

    @property
    def n_kernels(self) -> int:
        """Kernel values computed."""
        return self.rows.n_kernels

    @property
    def weights(self):
        """Raise Unsupported: w exists only implicitly."""
        raise Unsupported(NO_WEIGHTS)

    @property
    def n_weights(self):
        """Raise Unsupported: w exists only implicitly."""
        raise Unsupported(NO_WEIGHTS)

    @property
    def blocks(self):
        """None: w has no blocks."""
        return None

    def weights_at(self, places):
        """Raise Unsupported: w exists only implicitly."""
        raise Unsupported(NO_WEIGHTS)

    def forget_patterns(self, n):
        """Raise Unsupported: w is the sum of the support patterns."""
        raise Unsupported("a kernel machine cannot forget patterns")

    def forget_rows(self, row_of, stride):
        """Raise Unsupported: the inputs have a kernel, not features."""
        raise Unsupported("a kernel machine has no features to forget")

    @property
    def norm(self) -> float:
        """||w||^2."""
        return float(np.sum(self.coefficients() * self.support_scores()))

    def decision_function(self, X) -> np.ndarray:
        """Scores of checked rows, a column for each class."""
        inputs = self.rows.inputs
        X = X if X.dtype == inputs.dtype else X.astype(inputs.dtype)
        return np.concatenate([self.scores_of(X[at:at + COLUMNS]) for at in range(0, X.shape[0], COLUMNS)])

    def scores_of(self, X) -> np.ndarray:
        features = self.oracle.problem.output_features_
        values = self.rows.inputs.with_support(X, squared_norms(X))
        beta = self.coefficients()
        return values @ (beta if self.plain else beta @ features @ features.T).astype(values.dtype)

    def slacks(self, slots, bint counted=False) -> np.ndarray:
        """xi of each pattern; the scores of support patterns are known."""
        staged = self.oracle.staged
        if staged is not None and slots is staged[0]:   # other data, not admitted
            return self.slacks_at(self.decision_function(staged[1]), staged[2])
        labels = np.asarray(self.labels)
        position, xi = np.asarray(self.rows.position)[slots], np.zeros(len(slots))
        known, others = np.flatnonzero(position >= 0), np.flatnonzero(position < 0)
        xi[known] = self.slacks_at(self.support_scores()[position[known]], labels[slots[known]])
        if self.rows.kept is None:
            parts, n_values = self.scored(slots[others]), len(others) * self.rows.n
        else:
            parts, n_values = self.scanned(slots[others]), 0
        place = np.zeros(len(labels), dtype=np.intp)
        place[slots] = np.arange(len(slots))
        for part, scores, computed in parts:
            xi[place[part]] = self.slacks_at(scores, labels[part])
            n_values += computed
        if counted:
            self.n_argmax += len(others)
            self.rows.count(n_values)
        return xi

    def scored(self, slots):
        """Slots outside the support set with their scores, block by block."""
        inputs = self.rows.inputs
        for at in range(0, len(slots), OTHERS):
            part = slots[at:at + OTHERS]
            yield part, self.scores_of(inputs.batch[inputs.offset + part]), 0

    def scanned(self, slots):
        """The same as `scored`, with stored kernel values: see `KeptValues.scan`."""
        support = np.array(self.rows.slot[:self.rows.n])
        beta = self.coefficients()
        beta = beta if self.plain else beta @ np.asarray(self.similarity)
        return self.rows.kept.scan(slots, support, beta, self.rows.room)

    def keep_values(self):
        """Keep kernel values of other patterns too, if the cache has room, until the batch is dropped."""
        if np.all(np.asarray(self.rows.slot[:self.rows.n]) >= 0):     # earlier batches have no slots
            self.rows.kept = KeptValues(self.rows.inputs, len(self.labels))

    def drop_values(self):
        """Release the values of `keep_values`."""
        self.rows.kept = None

    def slacks_at(self, scores, labels) -> np.ndarray:
        """xi of patterns with these scores."""
        violations = np.asarray(self.loss)[labels] + scores - scores[np.arange(len(labels)), labels][:, None]
        return np.maximum(violations.max(axis=1), 0)

    def primal_bound(self) -> float:
        """The primal on support patterns alone, whose scores are known."""
        xi = self.slacks_at(self.support_scores(), self.support_labels())
        return self.norm / 2 + float(self.support_bounds() @ xi)

    def start_from(self, weights):
        """Raise Unsupported: there is no w to set."""
        raise Unsupported("a kernel machine has no weight vector: train it, or load a pickle")

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

    def support_bounds(self) -> np.ndarray:
        """C times the sample weight of each support pattern."""
        cdef Py_ssize_t n = self.n_patterns
        return np.array(<double[:n]>self.upper) if n else np.zeros(0)

    def state(self) -> dict:
        """Everything but the inputs, as arrays: what restore() needs to continue."""
        cdef Py_ssize_t n = self.n_patterns
        return {
            "beta": self.coefficients(),
            "scores": self.support_scores(),
            "labels": self.support_labels(),
            "upper": self.support_bounds(),
            "diagonal": np.array(self.rows.diagonal[:n]),
            "counters": np.array([self.n_argmax, self.n_steps, self.rows.n_kernels], dtype=np.int64),
            "objective": np.array([self.dual, self.cost], dtype=np.float64),
            "rng": np.array([self.rng], dtype=np.uint64),
        }

    def restore(self, state: dict):
        """Load a state() into a new machine; `inputs` must hold its support patterns, in order."""
        cdef Py_ssize_t p, c, n = len(state["labels"])
        cdef const double[:, ::1] beta = np.ascontiguousarray(state["beta"])
        cdef const double[:, ::1] scores = np.ascontiguousarray(state["scores"])
        cdef const double[::1] upper = state["upper"]
        cdef const Py_ssize_t[::1] labels = state["labels"]
        fits = beta.shape[0] == scores.shape[0] == upper.shape[0] == len(state["diagonal"]) == n
        if self.n_patterns or not fits or (
                n and (beta.shape[1] != self.n_classes or scores.shape[1] != self.n_classes
                       or not 0 <= np.min(labels) <= np.max(labels) < self.n_classes)):
            raise ValueError("the saved training state is inconsistent: its arrays do not fit each other")
        self.rows.restore(n, state["diagonal"])
        self.grow(self.rows.capacity)
        for p in range(n):
            for c in range(self.n_classes):
                self.beta[p * self.n_classes + c] = beta[p, c]
                self.scores[c * self.capacity + p] = scores[p, c]
                self.n_outputs += c != labels[p] and beta[p, c] != 0
            self.upper[p], self.label[p] = upper[p], labels[p]
        self.n_patterns = n
        self.n_argmax, self.n_steps, self.rows.n_kernels = state["counters"]
        self.dual, self.cost = state["objective"]
        self.rng = state["rng"][0]


cdef void* allocated(void* block) except NULL:
    if block == NULL:
        raise MemoryError("no memory for the kernel dual: use a smaller cache_size or fewer patterns")
    return block
