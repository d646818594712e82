# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Oracles: given a pattern and w, the output that violates its constraint most, as a sparse difference.

`Oracle` is what the optimizer calls, without the GIL; built-in problems subclass it in Cython.
`PythonOracle` calls problems written in Python.
"""
from libc.math cimport sqrt
from libc.stdint cimport int32_t
from libc.stdlib cimport free, realloc

import numpy as np

from structsvm.machine import Unsupported
from structsvm.problem import Problem, sparse_vector


cdef class Oracle:
    """Holds patterns by slot and finds outputs for them."""

    def __cinit__(self):
        self.pinned = -1

    def __dealloc__(self):
        free(self.found.index)
        free(self.found.value)

    def __reduce__(self):
        raise TypeError("an oracle holds raw memory: pickle the optimizer or the estimator instead")

    def configure(self, *, rescaling, slack):
        """Choose margin or slack rescaling and L1 or L2 slacks; refuse what the argmax cannot do."""
        self.slack_rescaling = rescaling == "slack"
        self.squared = slack == "l2"

    def attach(self, weights):
        """Note the array that holds w; called whenever it is replaced."""

    def groups(self, slots):
        """Where the groups of slots begin that are visited together; None if each slot is its own group."""
        return None

    def sizes(self, slots) -> np.ndarray:
        """About how long a visit of each slot takes, in any unit."""
        return np.ones(len(slots))

    def slot_weights(self, slots, sample_weight) -> np.ndarray:
        """The weight of each slot, where not every sample has exactly one."""
        return sample_weight

    def add(self, X, y) -> np.ndarray:
        """Store patterns and return their slots; either all of them are valid and stored, or none."""
        raise Unsupported(f"{type(self).__name__} cannot store patterns")

    def rows(self, slots) -> dict:
        """The stored patterns of some slots, as the arguments of add_rows."""
        raise Unsupported(f"{type(self).__name__} cannot store patterns")

    def add_rows(self, **rows) -> np.ndarray:
        """Store patterns as rows() gave them, and return their slots."""
        raise Unsupported(f"{type(self).__name__} cannot store patterns")

    @property
    def n_shards(self) -> int:
        """The number of parts that own the patterns."""
        return 1

    def discard(self, const Py_ssize_t[::1] slots):
        """Free slots that no training set holds."""
        cdef Py_ssize_t k
        for k in range(slots.shape[0]):
            self.drop(slots[k])

    def forget_rows(self, row_of):
        """Remove features from all stored patterns, and renumber the others; see `shortened`."""
        raise Unsupported(f"{type(self).__name__} cannot forget features")

    def watch(self, on: bool):
        """Start counting predictions made before learning, from zero; or stop counting."""
        self.watching, self.unseen, self.n_looks, self.looks_loss = on, False, 0, 0

    def looks(self) -> tuple:
        """The number of predictions counted since `watch`, and the sum of their losses."""
        return self.n_looks, self.looks_loss

    cdef void expect(self, bint new) noexcept nogil:
        """Set whether the next pattern is new: nothing has been learned from it yet."""
        self.unseen = self.watching and new

    cdef void tally(self, double loss) noexcept nogil:
        self.unseen = False
        self.n_looks += 1
        self.looks_loss += loss

    cdef int find(self, Py_ssize_t slot, const double* w, bint augmented) except -1 nogil:
        """Fill `found` with argmax_y of the violation, or of the plain score if not augmented.

        If the pattern is unseen and a plain prediction costs little more, pass this prediction to tally().
        """
        self.found.loss = 0
        self.found.n = 0
        self.found.cost = 0
        return 0

    cdef int find_pair(self, Py_ssize_t slot, const double* w) except -1 nogil:
        """Loss-augmented `find` for a dual that takes pairs: `found` may hold a pair instead of entries."""
        return self.find(slot, w, True)

    cdef int recall(self, Py_ssize_t slot, bint pair) except -1 nogil:
        """Check `found`, the entries of a saved output; turn it into a pair if find_pair() would."""
        return 0

    cdef int drop(self, Py_ssize_t slot) except -1 nogil:
        return 0

    cdef int reserve(self, Py_ssize_t n) except -1 nogil:
        """Make room for n entries in `found`."""
        cdef int32_t* index
        cdef double* value
        if n <= self.capacity:
            return 0
        n += n // 2
        index = <int32_t*>realloc(self.found.index, n * sizeof(int32_t))
        if index != NULL:
            self.found.index = index
        value = <double*>realloc(self.found.value, n * sizeof(double))
        if value != NULL:
            self.found.value = value
        if index == NULL or value == NULL:
            with gil:
                raise MemoryError(f"no memory for a difference of {n} entries")
        self.capacity = n
        return 0

    cdef double scaled_loss(self, double loss) noexcept nogil:
        return sqrt(loss) if self.squared else loss

    cdef double violation(self, double loss, double margin) noexcept nogil:
        """H(y) of Tsochantaridis' Algorithm 3, for a margin <w, Phi(x_i, y_i) - Phi(x_i, y)>."""
        loss = self.scaled_loss(loss)
        return loss * (1 - margin) if self.slack_rescaling else loss - margin


cdef class PythonOracle(Oracle):
    """For problems written in Python: it acquires the GIL and calls the problem."""

    def __init__(self, problem):
        self.problem = problem
        self.n_weights = checked_size(problem)
        if type(problem).candidates is Problem.candidates and type(problem).argmax is Problem.argmax:
            problem.candidates(None)  # raises: there is no way to find an output
        # An argmax of the user's own may leave the output space; the enumerating default cannot.
        self.guarded = any(
            getattr(type(problem), name) is not getattr(Problem, name)
            for name in ("argmax", "loss_augmented_argmax", "most_violated"))
        self.weights = None
        self.patterns = []
        self.free_slots = []

    def configure(self, *, rescaling, slack):
        kind = type(self.problem)
        searches = (kind.candidates is not Problem.candidates
                    or kind.most_violated is not Problem.most_violated)
        if (rescaling != "margin" or slack != "l1") and not searches:
            raise TypeError(
                f"{kind.__name__} must define candidates(x) or most_violated(x, y, w, violation) for "
                f"{rescaling} rescaling with {slack.upper()} slacks: its loss_augmented_argmax is for margin "
                "rescaling with L1 slacks")
        super().configure(rescaling=rescaling, slack=slack)

    def attach(self, weights):
        self.weights = weights.view()
        self.weights.flags.writeable = False

    def add(self, X, y) -> np.ndarray:
        # Rows of an array are views, which would keep all of it alive for one support pattern.
        X, y = [x.copy() if isinstance(x, np.ndarray) else x for x in X], list(y)
        if len(X) != len(y):
            raise ValueError(f"X has {len(X)} patterns but y has {len(y)} outputs")
        stored = []
        for position, (x, output) in enumerate(zip(X, y, strict=True)):
            if not self.problem.contains(x, output):
                raise ValueError(f"y[{position}] = {output!r} is not one of the outputs of its pattern")
            stored.append((x, output, sparse_vector(self.problem.joint_feature(x, output), self.n_weights)))
        return self.add_rows(stored)

    def add_rows(self, list patterns) -> np.ndarray:
        """Store patterns as rows() gave them."""
        slots = np.empty(len(patterns), dtype=np.intp)
        for position, pattern in enumerate(patterns):
            if self.free_slots:
                slots[position] = self.free_slots.pop()
                self.patterns[slots[position]] = pattern
            else:
                slots[position] = len(self.patterns)
                self.patterns.append(pattern)
        return slots

    @property
    def n_stored(self) -> int:
        """The number of stored patterns."""
        return len(self.patterns) - len(self.free_slots)

    def rows(self, slots) -> dict:
        """The stored patterns of some slots, as the arguments of add_rows."""
        return {"patterns": [self.patterns[slot] for slot in slots]}

    cdef int find(self, Py_ssize_t slot, const double* w, bint augmented) except -1 nogil:
        with gil:
            self.ask(slot, augmented)
        return 0

    cdef int drop(self, Py_ssize_t slot) except -1 nogil:
        with gil:
            self.patterns[slot] = None
            self.free_slots.append(slot)
        return 0

    def ask(self, Py_ssize_t slot, bint augmented):
        """Fill `found` from the problem's own argmax."""
        x, y, truth = self.patterns[slot]
        answer = self.answer(x, y, truth, augmented)
        if self.guarded and not self.problem.contains(x, answer):
            raise ValueError(
                f"the problem's argmax returned {answer!r}, which is not an output of its pattern")
        cdef double loss = checked_loss(self.problem, y, answer)
        cdef Py_ssize_t k, n_truth = len(truth[0])
        index, value = sparse_vector(self.problem.joint_feature(x, answer), self.n_weights)
        cdef const int32_t[::1] plus_index = truth[0], minus_index = index
        cdef const double[::1] plus_value = truth[1], minus_value = value
        cdef Py_ssize_t n = n_truth + minus_index.shape[0]
        self.reserve(n)
        for k in range(n_truth):
            self.found.index[k] = plus_index[k]
            self.found.value[k] = plus_value[k]
        for k in range(minus_index.shape[0]):
            self.found.index[n_truth + k] = minus_index[k]
            self.found.value[n_truth + k] = -minus_value[k]
        self.found.n = n
        self.found.loss = loss
        self.found.cost = n

    def answer(self, x, y, truth, bint augmented):
        """The problem's argmax, that of its violation for slack rescaling and L2 slacks."""
        if not augmented:
            return self.problem.argmax(x, self.weights)
        if not (self.slack_rescaling or self.squared):
            return self.problem.loss_augmented_argmax(x, y, self.weights)
        score = truth[1] @ self.weights[truth[0]]

        def violation(c):
            margin = score - self.problem.score(x, c, self.weights)
            return self.violation(checked_loss(self.problem, y, c), margin)

        return self.problem.most_violated(x, y, self.weights, violation)


def checked_size(problem) -> int:
    """problem.n_features; ValueError if int32 indices cannot address that many."""
    size = getattr(problem, "n_features", None)
    if not isinstance(size, (int, np.integer)) or not 0 < size < 2**31:
        raise ValueError(
            f"{type(problem).__name__}.n_features must be a number from 1 to 2**31 - 1, got {size!r}")
    return int(size)


def checked_loss(problem, y, other) -> float:
    """loss(y, other); ValueError if it is negative or not a number."""
    loss = float(problem.loss(y, other))
    if not 0 <= loss < np.inf:
        raise ValueError(f"loss({y!r}, {other!r}) = {loss}: a loss must be finite and at least 0")
    return loss
