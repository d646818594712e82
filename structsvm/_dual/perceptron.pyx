# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The structured perceptron [Collins 2002]: the same oracle without the loss, and no dual."""

from structsvm.signals cimport check_signals
from structsvm._dual.oracle cimport Found, Oracle
from structsvm._dual.sparse cimport add_to, canonical, dot_dense

import numpy as np

from structsvm._dual.dual import lengthened, shortened
from structsvm.machine import Unsupported
from structsvm.validation import LARGEST_COUNT

cdef Py_ssize_t LOOKS_PER_POLL = 256


cdef class PerceptronWeights:
    """w and the sum of all its past values, kept lazily: an update costs the size of its difference."""

    C = 1.0
    squared = False
    blocks = None
    dual = float("nan")
    block = 0

    def __init__(self, Oracle oracle, *, bint average):
        self.oracle, self.average = oracle, average
        self.last = np.zeros(oracle.n_weights)
        self.moments = np.zeros(oracle.n_weights)
        self.sample_weight = np.zeros(0)
        self.wrong = np.zeros(0, dtype=np.uint8)
        self.held = np.zeros(0, dtype=np.uint8)
        oracle.attach(self.last)

    def __reduce__(self):
        raise TypeError("the weights hold an oracle: use their state() and restore()")

    def visit(self, const Py_ssize_t[::1] slots):
        """Visit patterns in order."""
        cdef double[::1] w = self.last, moments = self.moments
        cdef const double[::1] sample_weight = self.sample_weight
        cdef unsigned char[::1] wrong = self.wrong
        cdef Oracle oracle = self.oracle
        cdef Found* found
        cdef double step
        cdef Py_ssize_t k
        with nogil:
            for k in range(slots.shape[0]):
                oracle.expect(True)
                oracle.find(slots[k], &w[0], False)
                # A right answer may come as Phi - Phi, entry by entry.
                oracle.found.n = canonical(oracle.found.index, oracle.found.value, oracle.found.n)
                step = sample_weight[slots[k]]
                if oracle.found.n and step > 0:
                    found = &oracle.found
                    add_to(&w[0], step, found.index, found.value, found.n)
                    add_to(&moments[0], step * self.n_seen, found.index, found.value, found.n)
                    self.n_updates += 1
                    self.n_wrong += not wrong[slots[k]]
                    wrong[slots[k]] = 1
                self.n_seen += 1

    @property
    def weights(self) -> np.ndarray:
        """w, or its mean over all patterns seen, each counted after its update; do not write to it."""
        return self.weights_at(slice(None)) if self.average else self.last

    @property
    def n_weights(self) -> int:
        """The length of w."""
        return len(self.last)

    def weights_at(self, places) -> np.ndarray:
        """Some entries of `weights`."""
        last = self.last[places]
        return last - self.moments[places] / max(self.n_seen, 1) if self.average else last

    @property
    def norm(self) -> float:
        """||w||^2."""
        w = self.weights
        return w @ w

    @property
    def n_patterns(self) -> int:
        """Patterns that were misclassified at least once."""
        return self.n_wrong

    @property
    def n_vectors(self) -> int:
        """Updates."""
        return self.n_updates

    @property
    def n_argmax(self) -> int:
        """Patterns seen: each asks for one argmax."""
        return self.n_seen

    def grow(self, Py_ssize_t n_weights):
        """Make w at least this long; new entries are zero."""
        if n_weights > len(self.last):
            # Assigned together: if memory runs out for the second array, the first must not change.
            self.last, self.moments = lengthened(self.last, n_weights), lengthened(self.moments, n_weights)
            self.oracle.attach(self.last)

    def start_from(self, weights):
        """Set w, as if it had always been this one."""
        self.grow(len(weights))
        self.last[:] = weights

    def admit(self, slots, sample_weight):
        """Add slots of the oracle to the training set, with their sample weights."""
        self.grow(self.oracle.n_weights)
        missing = max(slots, default=-1) + 1 - len(self.wrong)
        if missing > 0:
            more = np.zeros(missing, dtype=np.uint8)
            # Assigned together: Ctrl-C may interrupt np.append, and all three must keep the same length.
            self.sample_weight, self.wrong, self.held = (
                np.append(self.sample_weight, more), np.append(self.wrong, more), np.append(self.held, more))
        self.sample_weight[slots] = sample_weight
        self.wrong[slots] = 0
        self.held[slots] = 1

    def dismiss(self, const Py_ssize_t[::1] slots):
        """Remove slots from the training set."""
        cdef unsigned char[::1] held = self.held
        cdef Py_ssize_t k
        for k in range(slots.shape[0]):
            # Once only, and only if admitted: Ctrl-C may have come before that, or after it was dismissed.
            if slots[k] < held.shape[0] and held[slots[k]]:
                held[slots[k]] = 0
                self.oracle.drop(slots[k])

    def primal_bound(self) -> float:
        """No lower bound of the primal."""
        return -np.inf

    def forget_patterns(self, n):
        """Raise Unsupported: there are no support patterns."""
        raise Unsupported("a Perceptron cannot forget patterns: it keeps none")

    def forget_rows(self, row_of, Py_ssize_t stride):
        """Drop rows of w, each `stride` long; row_of: see `shortened`."""
        self.oracle.forget_rows(row_of)
        self.last = shortened(self.last, row_of, stride)
        self.moments = shortened(self.moments, row_of, stride)
        self.oracle.attach(self.last)

    def slacks(self, const Py_ssize_t[::1] slots, bint counted=False) -> np.ndarray:
        """xi of each pattern, with margin rescaling; `counted` makes no difference."""
        self.grow(self.oracle.n_weights)
        weights, result = self.weights, np.empty(slots.shape[0])
        cdef const double[::1] w = weights
        cdef double[::1] xi = result
        cdef Oracle oracle = self.oracle
        cdef Py_ssize_t k
        oracle.attach(weights)
        try:
            with nogil:
                for k in range(slots.shape[0]):
                    if k % LOOKS_PER_POLL == LOOKS_PER_POLL - 1:
                        with gil:
                            check_signals()
                    oracle.find(slots[k], &w[0], True)
                    xi[k] = max(0, oracle.found.loss - dot_dense(
                        &w[0], oracle.found.index, oracle.found.value, oracle.found.n))
        finally:
            oracle.attach(self.last)
        return result

    def state(self) -> dict:
        """The input of restore(), as arrays."""
        return {
            "weights": self.last.copy(),
            "moments": self.moments.copy(),
            "counters": np.array([self.n_seen, self.n_updates, self.n_wrong], dtype=np.int64),
        }

    def restore(self, state: dict):
        """Load a state() into a new machine."""
        if not all(0 <= count <= LARGEST_COUNT for count in state["counters"].tolist()):
            raise ValueError("the counters of the training state are out of range")
        self.grow(len(state["weights"]))
        self.last[:], self.moments[:] = state["weights"], state["moments"]
        self.n_seen, self.n_updates, self.n_wrong = state["counters"]
