"""Conditional random fields: the weights that make the right labels most probable.

Minimise over w:  f(w) = sum_i -log p(y_i | x_i; w) + c1 |w|_1 + c2 |w|^2

where p(y | x; w) is proportional to exp(w . Phi(x, y)) over all labellings y of a sentence x. This is the
objective of CRFsuite. Stochastic gradient steps come first [Bottou 2010]: the mean of their w is near the
minimum after a few passes; if f is not below f(0) there, for example because features of very different
scales let every rate diverge, L-BFGS starts from zeros. It begins with the
diagonal of the Hessian, because features of very different frequencies need very different steps. With an
L1 term it is OWL-QN [Andrew & Gao 2007]. For c1 = 0, f is strongly convex with the constant 2 c2, so f(w) -
min f is at most |grad f(w)|^2 / (4 c2): see `CRF.gap`.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np

from structsvm.files import SparseRows
from structsvm.problems.sequence import SequenceLabels, SequenceProblem, Sequences
from structsvm.problems.sequence._likelihood import Likelihood
from structsvm.validation import check_count, check_number, refuse_token_weights

SAMPLE = 500  # sentences on which the rate of the stochastic steps is chosen
RATES = [0.1 * 2.0**k for k in range(-5, 6)]
SNAPSHOTS = 25  # of w in each pass, whose mean is closer to the minimum than the last one
MOST_TRIALS = 40  # of a line search
FLAT = 1e-3  # added to the curvature
DECREASE = 1e-4  # the share of the expected decrease that a step must reach
PLAUSIBLE = 10.0  # times delta * f: the largest decrease that f may still promise when L-BFGS has converged
MOST_ITERATIONS = 2**31 - 1  # CRFsuite's default


class Progress(NamedTuple):
    """A point of the training: after a pass of stochastic steps, or after an iteration of L-BFGS.

    objective: f(w); for a stochastic pass an estimate, from the losses before each step. norm: |grad f(w)|,
    nan for a stochastic pass. trials: of the line search. step: its length.
    """

    number: int
    seconds: float
    objective: float
    norm: float
    w: np.ndarray
    trials: int = 0
    step: float = 1.0


class CRF:
    """A linear-chain conditional random field over the features and labels of sentences.

    Parameters
    ----------
    n_labels : the number of labels.
    c1, c2 : the coefficients of the L1 norm and of the squared L2 norm of w.
    passes : of stochastic steps before L-BFGS, for c1 = 0 < c2.
    max_iterations : of L-BFGS; 0 for none.
    delta, period : L-BFGS stops when f has improved by less than this share over so many iterations.
    epsilon : or when |grad f(w)| is below epsilon * |w|.
        `converged_` tells whether training has reached the minimum by one of these two tests. For the first
        one, the decrease that the gradient and the diagonal of the Hessian promise must be small too.
    memories : the number of updates with which L-BFGS approximates the curvature.
    all_states, all_transitions : also learn weights for pairs of a feature and a label, or of two labels,
        that do not occur together.
    min_count : drop pairs of a feature and a label whose values sum up to less.
    callback : called with each `Progress`; training stops when it returns True.
    """

    def __init__(
        self,
        n_labels: int,
        *,
        c1: float = 0.0,
        c2: float = 1.0,
        passes: int = 5,
        max_iterations: int = 1000,
        delta: float = 1e-4,
        period: int = 5,
        epsilon: float = 1e-5,
        memories: int = 6,
        all_states: bool = False,
        all_transitions: bool = False,
        min_count: float = 0.0,
        random_state: int = 0,
        callback: Callable[[Progress], object] | None = None,
    ) -> None:
        check_number(c1=c1, c2=c2, delta=delta, epsilon=epsilon, min_count=min_count)
        check_count(max_iterations=max_iterations, high=MOST_ITERATIONS)
        check_count(passes=passes)
        check_count(period=period, memories=memories, low=1)
        self.n_labels = n_labels
        self.c1, self.c2 = float(c1), float(c2)
        self.passes, self.max_iterations = passes, max_iterations
        self.delta, self.period, self.epsilon, self.memories = delta, period, epsilon, memories
        self.all_states, self.all_transitions, self.min_count = all_states, all_transitions, min_count
        self.random_state = random_state
        self.callback = callback
        self.progress: list[tuple[int, float, float, float]] = []  # number, seconds, objective, norm
        self.converged_ = False

    def fit(self, X: Sequences, y: SequenceLabels) -> Self:
        """Train from scratch; Ctrl-C ends the training with an exception."""
        SequenceProblem(self.n_labels).check_arrays(X, y)
        refuse_token_weights(y, type(self).__name__)
        ptr, labels = self._cells(X, y)
        self.n_rows = len(ptr) - 1
        self.ptr_, self.labels_ = ptr, labels
        self._likelihood = Likelihood(X, y, self.n_labels, ptr, labels)
        self._fixed = self._unseen_pairs(y)
        self._free = np.concatenate([np.ones(len(labels), bool), ~self._fixed])
        self._start = time.perf_counter()
        self.w_ = np.zeros(self._likelihood.n_weights)
        stopped = self.passes > 0 and not self.c1 and self.c2 > 0 and self._descend_stochastically()
        start = self._objective(self.w_)
        if self.w_.any() and not start[0] < self._objective_of_zeros():
            self.w_ = np.zeros_like(self.w_)
            start = self._objective(self.w_)
        if self.max_iterations and not stopped:
            self._descend(*start)
        return self

    def _cells(self, X: Sequences, y: SequenceLabels) -> tuple[np.ndarray, np.ndarray]:
        """The cells of each feature: where they begin, and their labels."""
        L, n_rows = self.n_labels, int(X.rows.max(initial=-1)) + 1
        if self.all_states:
            return np.arange(n_rows + 1) * L, np.tile(np.arange(L, dtype=np.int32), n_rows)
        code = np.repeat(y.codes, np.diff(X.token_ptr))
        found = [X.rows[code >= 0].astype(np.int64) * L + code[code >= 0]]
        values = np.ones(len(X.rows)) if X.values is None else X.values
        weights = [values[code >= 0]]
        for k, members in enumerate(y.sets):
            for label in np.flatnonzero(members).tolist():
                found.append(X.rows[code == -2 - k].astype(np.int64) * L + label)
                weights.append(values[code == -2 - k])
        pairs, place = np.unique(np.concatenate(found), return_inverse=True)
        if self.min_count > 0:
            pairs = pairs[np.bincount(place, np.concatenate(weights), len(pairs)) >= self.min_count]
        rows, labels = np.divmod(pairs, L)
        return np.searchsorted(rows, np.arange(n_rows + 1)), labels.astype(np.int32)

    def _unseen_pairs(self, y: SequenceLabels) -> np.ndarray:
        """Whether two labels never follow one another; pairs with an open annotation count as seen."""
        L = self.n_labels
        inside = np.ones(len(y.codes), bool)
        inside[y.sentence_ptr[:-1][np.diff(y.sentence_ptr) > 0]] = False
        follow = np.flatnonzero(inside)
        before, after = y.codes[follow - 1], y.codes[follow]
        unseen = np.ones((L, L), bool)
        known = (before >= 0) & (after >= 0)
        unseen[before[known], after[known]] = False
        if self.all_transitions or not known.all():
            unseen[:] = False
        return unseen.reshape(-1)

    def _descend_stochastically(self) -> bool:
        """Several passes of steps; True if the callback stops the training."""
        likelihood, n = self._likelihood, len(self._likelihood.X)
        rng = np.random.default_rng(self.random_state)
        decay, fixed = 2 * self.c2 / n, self._fixed.view(np.uint8)
        sample = rng.permutation(n)[:SAMPLE]

        def outcome(rate: float) -> float:
            w = np.zeros_like(self.w_)
            first = likelihood.steps(w, sample, rate, decay, 0.0, fixed)
            loss = likelihood.steps(w, sample[: len(sample) // 4 + 1], rate, decay, float(len(sample)), fixed)
            value = loss + decay / 2 * float(w @ w) * len(sample)
            return value if np.isfinite(first) and np.isfinite(value) else np.inf

        rate = min(RATES, key=outcome)
        w, mean, taken = np.zeros_like(self.w_), np.zeros_like(self.w_), 0
        for number in range(self.passes):
            order, loss = rng.permutation(n), 0.0
            for part in np.array_split(order, SNAPSHOTS):
                loss += likelihood.steps(w, part, rate, decay, float(n * number), fixed)
                if number >= self.passes // 3:
                    taken += 1
                    mean += (w - mean) / taken
            self.w_ = mean if taken else w
            if self._report(loss + self.c2 * float(w @ w), np.nan):
                return True
        return False

    def _objective_of_zeros(self) -> float:
        """f(0): the probability of each allowed label is then the same."""
        y = self._likelihood.y
        allowed = np.array([*(int(np.sum(members)) for members in reversed(y.sets)), self.n_labels, 1])
        return float(np.log(self.n_labels / allowed[np.minimum(y.codes, 0) - 1]).sum())

    def _objective(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """f(w) without its L1 term, and its gradient."""
        value, gradient = self._likelihood.gradient(w)
        gradient *= self._free
        return value + self.c2 * float(w @ w), gradient + 2 * self.c2 * w

    def _pseudo_gradient(self, w: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """The steepest of the subgradients, with the L1 term."""
        if not self.c1:
            return gradient
        at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - self.c1, 0)
        found: np.ndarray = np.where(w != 0, gradient + self.c1 * np.sign(w), at_zero) * self._free
        return found

    def _descend(self, value: float, gradient: np.ndarray) -> None:
        """L-BFGS, or OWL-QN with an L1 term, from the objective without this term and its gradient."""
        w = self.w_
        value += self.c1 * float(np.abs(w).sum())
        steepest = self._pseudo_gradient(w, gradient)
        updates: deque[tuple[np.ndarray, np.ndarray, float]] = deque(maxlen=self.memories)
        inverse = self._inverse_curvature()
        values = [value]
        for _ in range(self.max_iterations):
            norm = float(np.linalg.norm(steepest))
            if norm <= self.epsilon * max(1.0, float(np.linalg.norm(w))):
                self.converged_ = True
                return
            direction = _direction(steepest, updates, inverse)
            if self.c1:
                direction[direction * steepest >= 0] = 0
            step = 1.0
            found = self._search(w, value, steepest, direction, step)
            if found is None:
                if not updates:
                    return
                updates.clear()  # rounding has spoilt the approximation
                continue
            new, value, new_gradient, trials, step = found
            change, bend = new - w, new_gradient - gradient
            if (curvature := float(change @ bend)) > 0:
                updates.append((change, bend, curvature))
            self.w_ = w = new
            gradient = new_gradient
            steepest = self._pseudo_gradient(w, gradient)
            if self._report(value, float(np.linalg.norm(steepest)), trials, step):
                return
            values.append(value)
            if len(values) > self.period and values[-1 - self.period] - value < self.delta * value:
                promised = float(steepest @ (self._inverse_curvature() * steepest)) / 2
                self.converged_ = promised <= PLAUSIBLE * self.delta * value
                return

    def _inverse_curvature(self) -> np.ndarray:
        """The inverse of the diagonal of the Hessian."""
        found: np.ndarray = 1 / (self._likelihood.curvature(self.w_) + 2 * self.c2 + FLAT)
        return found

    def _search(
        self, w: np.ndarray, value: float, steepest: np.ndarray, direction: np.ndarray, step: float
    ) -> tuple[np.ndarray, float, np.ndarray, int, float] | None:
        """A point along the direction that decreases f enough; None if rounding leaves no such point."""
        orthant = np.where(w != 0, np.sign(w), -np.sign(steepest)) if self.c1 else None
        for trial in range(1, MOST_TRIALS):
            new = w + step * direction
            if orthant is not None:
                new[new * orthant < 0] = 0
            found, gradient = self._objective(new)
            found += self.c1 * float(np.abs(new).sum())
            if found <= value + DECREASE * float(steepest @ (new - w)):
                return new, found, gradient, trial, step
            step /= 2
        return None

    def _report(self, objective: float, norm: float, trials: int = 0, step: float = 1.0) -> bool:
        """Record a point and pass it to the callback; return True if training should stop."""
        seconds = time.perf_counter() - self._start
        self.progress.append((len(self.progress) + 1, seconds, objective, norm))
        point = Progress(len(self.progress), seconds, objective, norm, self.w_, trials, step)
        return bool(self.callback is not None and self.callback(point))

    def objective(self) -> float:
        """f(w)."""
        return self._objective(self.w_)[0] + self.c1 * float(np.abs(self.w_).sum())

    def gap(self) -> float:
        """An upper bound of f(w) - min f; nan with an L1 term, without L2 or if labels are missing."""
        if self.c1 or not self.c2 or (self._likelihood.y.codes < 0).any():
            return np.nan
        gradient = self._objective(self.w_)[1]
        return float(gradient @ gradient) / (4 * self.c2)

    def weight_rows(self, n_rows: int) -> SparseRows:
        """The weights as the rows of a model: previous labels, the start of a sentence, n_rows features."""
        L, n = self.n_labels, len(self.labels_)
        with np.errstate(over="ignore"):
            w = self.w_.astype(np.float32)
        if not np.isfinite(w).all():
            raise ValueError("a weight is too large for the model; raise c2 or scale the values of features")
        history = SparseRows.from_dense(np.vstack([w[n:].reshape(L, L), np.zeros((1, L), np.float32)]))
        values = w[:n]
        keep = values != 0
        rows = np.repeat(np.arange(self.n_rows), np.diff(self.ptr_))[keep]
        counts = np.bincount(rows, minlength=n_rows)
        return SparseRows.of(
            np.concatenate([history.counts, counts]),
            np.concatenate([history.cells["label"], self.labels_[keep]]),
            np.concatenate([history.cells["value"], values[keep]]), L,
        )  # fmt: skip


def _direction(
    gradient: np.ndarray, updates: deque[tuple[np.ndarray, np.ndarray, float]], inverse: np.ndarray
) -> np.ndarray:
    """-H times the gradient, by the two-loop recursion; H approximates the inverse curvature.

    inverse: that of the diagonal at the start, from which H begins.
    """
    direction = -gradient
    factors = []
    for change, bend, curvature in reversed(updates):
        factors.append(float(change @ direction) / curvature)
        direction -= factors[-1] * bend
    direction *= inverse
    if updates:
        _, bend, curvature = updates[-1]
        direction *= curvature / float(bend @ (inverse * bend))
    for (change, bend, curvature), factor in zip(updates, reversed(factors), strict=True):
        direction += (factor - float(bend @ direction) / curvature) * change
    return direction
