"""`Optimizer`: the base class, with the training set, the passes over it and the training curve."""

from __future__ import annotations

import copy
import time
from typing import Any, Self

import numpy as np

from structsvm._dual.schedules import shuffled
from structsvm.guard import reads, training
from structsvm.machine import Inputs, Machine, Outputs, Patterns, SampleWeight, Unsupported
from structsvm.optimizers import saved
from structsvm.optimizers.curve import MOST_POINTS, Point
from structsvm.optimizers.results import NO_SLOTS, NO_WEIGHTS, Results
from structsvm.options import check_options
from structsvm.problem import Problem
from structsvm.training import Report, passes, wants_primal
from structsvm.validation import (
    as_data,
    check_count,
    check_sample_weight,
    check_seed,
    n_patterns,
    refuse_token_weights,
)

SLICE_SECONDS = 0.05  # between two checks for Ctrl-C and calls of the callback
UNSAVED = ("_machine", "_held", "_weight", "_guard", "callback")


class Optimizer(Results):
    """Base of all optimizers. With C_i = C times the sample weight, they solve

        min_w  ||w||^2 / 2 + sum_i C_i xi_i,   xi_i = max_y H_i(y),   d_i(y) = Phi(x_i, y_i) - Phi(x_i, y)

        rescaling="margin": H_i(y) = Delta(y_i, y) - <w, d_i(y)>
        rescaling="slack":  H_i(y) = Delta(y_i, y) (1 - <w, d_i(y)>)

    With slack="l2" the objective has C_i xi_i^2 / 2 instead of C_i xi_i, and sqrt(Delta) instead of Delta, as
    in Tsochantaridis' thesis. The C of the thesis is our C times the number of examples.

    An optimizer owns a `Machine`, which learns, and chooses the steps of this machine. Subclasses list their
    options, see `structsvm.options`. They may override `_space`, where w is stored, or only `_new_machine`
    (default: a `LinearDual`); `_visit`, which handles the next few patterns (default: one step each); and
    `_pass`, which makes a pass and looks whether training has converged. `training.passes` makes the passes
    of `fit`.
    """

    C: float = 1.0
    tau: float = 1e-10
    kappa: float = 1e-10
    rescaling: str = "margin"
    slack: str = "l1"
    epochs: int | None = 1
    points = 20  # of the training curve, in each epoch
    uses_losses = True

    def __post_init__(self) -> None:
        self.curve_: list[Point] = []
        self.epochs_done = 0
        self.elapsed = 0.0  # seconds of training
        self._seed = 0
        self._seen = 0  # patterns of the current epoch
        self._new_data = False  # True until an epoch visits the training set

    def validate(self) -> None:
        """Raise ValueError if an option is out of range."""
        check_options(self)

    # -- training -------------------------------------------------------------------------------

    def fit(self, X: Inputs, y: Outputs, sample_weight: SampleWeight = None) -> Self:
        """Train from scratch on a data set, and keep it for `primal` and `gap`.

        Bad input raises an error and changes nothing. If training is interrupted (by Ctrl-C, or an exception
        in a callback or in the problem), the new model keeps what it has learned: you can predict with it and
        continue training.
        """
        with training(self):
            self._receive(*as_data(X, y), sample_weight, fresh=True)
            self._run()
        return self

    def begin(self, X: Inputs, y: Outputs, sample_weight: SampleWeight = None) -> Self:
        """Receive a data set to train on from scratch, one pass at a time, with `epoch`."""
        with training(self):
            self._receive(*as_data(X, y), sample_weight, fresh=True)
        return self

    def continue_fit(self) -> Self:
        """Train again on the data set of `fit`, from the current solution, with the current options."""
        self.validate()
        if not self.holds_data:
            raise ValueError("no training data held (fit keeps it, partial_fit does not): call fit")
        with training(self):
            self._run()
        return self

    def take(self, X: Inputs, y: Outputs, sample_weight: SampleWeight = None) -> Self:
        """Replace the data set for more passes with `epoch`; support patterns of the old one stay."""
        with training(self):
            self._receive(*as_data(X, y), sample_weight, fresh=not self.is_started)
        return self

    def epoch(self) -> bool:
        """Make one more pass over the data set, in random order; True if training should end."""
        self._fitted()
        with training(self):
            return self._pass()

    def partial_fit(self, X: Inputs, y: Outputs, sample_weight: SampleWeight = None) -> Self:
        """Make one pass over more data, in the given order, and keep only the support patterns."""
        with training(self):
            self._receive(*as_data(X, y), sample_weight, fresh=not self.is_started)
            try:
                self._epoch(self._held)
            finally:
                self._release()
        return self

    def _receive(self, X: Inputs, y: Outputs, sample_weight: SampleWeight, *, fresh: bool) -> None:
        """Check everything, then change the state."""
        self.validate()
        weight = check_sample_weight(sample_weight, n_patterns(X), self.C)
        if not self.uses_losses:
            refuse_token_weights(y, type(self).__name__)
        if fresh:
            problem = self._prepared(X, y)
            oracle = self._new_oracle(problem)
            slots = oracle.add(X, y)
            seed = check_seed(self.random_state)  # the last check, because it advances a random generator
            machine = self._new_machine(oracle, seed)
            self.problem, self._machine, self._seed, self._held = problem, machine, seed, NO_SLOTS
            self._reset()
        else:
            slots = self._machine.oracle.add(X, y)
        self._hold(slots, weight)

    def _prepared(self, X: Inputs, y: Outputs) -> Problem:
        """The problem prepared for the data: a copy, as another optimizer may prepare it for other data."""
        if type(self.problem).prepare is Problem.prepare:
            return self.problem
        problem = copy.copy(self.problem)
        problem.prepare(X, y)
        return problem

    def _new_oracle(self, problem: Problem) -> Patterns:
        """A new `Patterns` for a problem; the machine may need more of it."""
        return self._space.oracle(problem, rescaling=self.rescaling, slack=self.slack)

    def _new_machine(self, oracle: Patterns, seed: int) -> Machine:
        """A machine that has learned nothing."""
        return self._space.machine(oracle, C=self.C, tau=self.tau, kappa=self.kappa, seed=seed)

    def _reset(self) -> None:
        """Forget the progress of earlier training."""
        self.curve_, self.epochs_done, self.elapsed = [], 0, 0.0

    def _hold(self, slots: np.ndarray, weight: np.ndarray) -> None:
        """Make `slots` the training set; `weight` has a value for each pattern."""
        machine = self._machine
        weight = machine.oracle.slot_weights(slots, weight)
        self._release()
        self._held, self._weight, self._new_data = slots, weight, True
        machine.admit(slots, weight)

    def _release(self) -> None:
        """Release the training set, except for support patterns."""
        held, self._held, self._weight = self._held, NO_SLOTS, NO_WEIGHTS  # first, in case of Ctrl-C
        if len(held):
            self._machine.dismiss(held)

    # -- passes ---------------------------------------------------------------------------------

    def _run(self) -> Report[None]:
        """Make the passes of `fit`."""
        return passes(_Claimed(self), epochs=self._most_epochs)

    @property
    def _most_epochs(self) -> int:
        """The largest number of passes of `fit`."""
        return self.epochs or 1

    def _pass(self) -> bool:
        """Make a pass over the training set in random order; True if training should end."""
        return self._epoch(self._shuffled())

    def unconverged(self) -> str:
        """Why the last pass is not enough and what to do; empty if the number of passes is the only limit."""
        return ""

    def _epoch(self, order: np.ndarray) -> bool:
        """Make a pass over `order`; True if training should end."""
        block = self._machine.block
        start, at, size, reported = time.perf_counter(), 0, block or 16, 0.0
        points = min(self.points, len(order))
        ends = [round(len(order) * (k + 1) / points) for k in range(points)]
        begun, self._seen = self.elapsed, 0
        self._machine.oracle.watch(self._new_data)
        self._new_data = False
        for end in ends:
            while at < end:
                slice_start = time.perf_counter()
                stop = min(end, at + size)
                self._visit(order[at:stop])
                self._seen = at = stop
                now = time.perf_counter()
                size = block or max(1, int(size * min(4.0, SLICE_SECONDS / max(now - slice_start, 1e-9))))
                self.elapsed = begun + now - start
                if self.callback and now - reported > 4 * SLICE_SECONDS:
                    reported = now
                    if self.callback(self._point()):
                        return True
            self.curve_.append(self._point())
        if len(self.curve_) > MOST_POINTS:  # after many small partial_fit
            self.curve_ = self.curve_[::2]
        wanted = self.holds_data and wants_primal(self.callback)
        last = self._point(self.primal() if wanted else np.nan)
        self.epochs_done += 1
        return bool(self.callback and self.callback(last))

    def _visit(self, order: np.ndarray) -> None:
        """Learn from the next few patterns; Ctrl-C and the callback are handled between two calls."""
        self._machine.visit(order)

    def _shuffled(self) -> np.ndarray:
        """The training set in the random order of this epoch."""
        starts = self._machine.oracle.groups(self._held)
        if starts is None:
            return shuffled(self._seed, self.epochs_done, self._held)
        order = shuffled(self._seed, self.epochs_done, np.arange(len(starts)))
        sizes = np.diff(np.append(starts, len(self._held)))[order]
        skipped = np.repeat(starts[order] - np.append(0, np.cumsum(sizes)[:-1]), sizes)
        return self._held[skipped + np.arange(len(self._held))]

    def _point(self, primal: float = np.nan) -> Point:
        machine = self._machine
        return Point(
            self.elapsed, self.epochs_done, self._seen, float(machine.dual), primal,
            int(machine.n_patterns), int(machine.n_vectors), int(machine.n_argmax), machine.oracle.looks(),
        )  # fmt: skip

    def continue_curve(self, other: Optimizer) -> None:
        """Append to the training curve of another optimizer, whose training this one continues."""
        self.curve_, self.elapsed = list(other.curve_), other.elapsed

    # -- saved states ---------------------------------------------------------------------------

    def start_from(self, weights: np.ndarray) -> Self:
        """Start from the weights of a model whose training state is not available."""
        self.validate()
        with training(self):
            seed = check_seed(self.random_state)
            machine = self._new_machine(self._new_oracle(self.problem), seed)
            machine.start_from(weights)
            self._machine, self._held, self._weight = machine, NO_SLOTS, NO_WEIGHTS
            self._set_progress({"progress": np.array([seed, 0], np.int64)})
        return self

    def forget(self, *, patterns: int = 0, rows: np.ndarray | None = None) -> Self:
        """Drop the training set, the first support patterns and some rows of w.

        Patterns are mostly sorted by age, the oldest first. What they taught stays in w, so `dual_` and
        `gap()` no longer bound anything.

        Parameters
        ----------
        rows
            A mask of the rows of w to keep; a row has `problem.stride` weights. The other rows are dropped as
            if no pattern had ever used their features.
        """
        machine = self._fitted()
        check_count(patterns=patterns)
        row_of = None if rows is None else self._new_rows(np.asarray(rows))
        with training(self):
            if patterns:
                machine.forget_patterns(0)  # a machine that refuses it must refuse before anything changes
            if row_of is not None:
                machine.forget_rows(row_of, self.problem.stride)  # before the patterns, for the same reason
            if patterns:
                machine.forget_patterns(patterns)
            self._release()
        return self

    def _new_rows(self, keep: np.ndarray) -> np.ndarray:
        """The new number of each row of w, or -1; raise if these rows cannot be kept or dropped."""
        stride, history = self.problem.stride, self.problem.history
        if not stride:
            raise Unsupported(f"{type(self.problem).__name__} cannot forget features")
        n = max(self.n_weights_, self._fitted().oracle.n_weights) // stride
        if keep.dtype != bool or keep.ndim != 1 or len(keep) < n:
            raise ValueError(f"rows must be a boolean array for the {n} rows of w")
        if not keep[:history].all():
            raise ValueError(f"rows must keep the first {history} rows, which hold the label history")
        numbers: np.ndarray = np.where(keep, np.cumsum(keep) - 1, -1).astype(np.int32)
        return numbers

    @reads
    def state(self) -> dict[str, np.ndarray]:
        """The training state as arrays for `resume`: what the machine learned, and its support patterns."""
        return saved.arrays(self._fitted(), self._held) | self._progress()

    def resume(
        self,
        state: dict[str, np.ndarray],
        X: Inputs = None,
        y: Outputs = None,
        sample_weight: SampleWeight = None,
    ) -> Self:
        """Continue from a `state`; given its data set, `epoch` continues as if training had never stopped."""
        with training(self):
            self.validate()
            oracle = self._new_oracle(self.problem)
            machine = self._new_machine(oracle, 0)
            held = NO_SLOTS if X is None else oracle.add(X, y)
            weight = NO_WEIGHTS if X is None else check_sample_weight(sample_weight, n_patterns(X), self.C)
            saved.restore(machine, state, held)
            self._set_progress(state)
            self._machine, self._held, self._weight = machine, NO_SLOTS, NO_WEIGHTS
            self._hold(held, weight)
            self._new_data = self.epochs_done == 0
        return self

    def _progress(self) -> dict[str, np.ndarray]:
        """The part of a training state that does not belong to the machine."""
        arrays, _ = saved.PROGRESS.write({"progress": np.array([self._seed, self.epochs_done], np.int64)})
        return arrays

    def _set_progress(self, state: dict[str, np.ndarray]) -> None:
        seed, epochs = saved.read(saved.PROGRESS, state)["progress"].tolist()
        if epochs >= 2**31:
            raise ValueError("the training state has an impossible number of epochs")
        self._reset()
        self._seed, self.epochs_done = seed, epochs

    @reads
    def __getstate__(self) -> dict[str, Any]:
        """The state for pickles: everything that training needs, except the training set and the callback."""
        state = {k: v for k, v in vars(self).items() if k not in UNSAVED}
        if self.is_started:
            state["_saved"] = saved.contents(self._fitted())
        return state

    def __setstate__(self, state: dict[str, np.ndarray]) -> None:
        vars(self).update(state, callback=None, _machine=None, _held=NO_SLOTS, _weight=NO_WEIGHTS)
        if "_saved" in state:
            dual, rows = vars(self).pop("_saved")
            oracle = self._new_oracle(self.problem)
            slots = saved.add_rows(oracle, rows)  # first: kernel machines need their inputs
            machine = self._new_machine(oracle, 0)
            machine.restore(dict(dual, slots=slots))
            self._machine = machine


class _Claimed:
    """An optimizer as a `Learner` of `fit`, which has claimed it for its thread, as `epoch` does."""

    def __init__(self, optimizer: Optimizer) -> None:
        self._optimizer = optimizer

    def epoch(self) -> bool:
        return self._optimizer._pass()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._optimizer, name)
