"""`Optimizer`: the base class, with data, one pass, the training curve, results and saved states."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Self

import numpy as np

from structsvm._dual.schedules import shuffled
from structsvm.files.sparse_weights import CELL, SparseRows
from structsvm.guard import reads, training
from structsvm.machine import Machine, Patterns, Unsupported
from structsvm.options import check_options, is_function, option, unchecked, with_options
from structsvm.problem import Problem
from structsvm.spaces.base import Space
from structsvm.spaces.linear import LINEAR
from structsvm.training import Report, passes, wants_primal
from structsvm.validation import (
    as_data,
    check_count,
    check_sample_weight,
    check_seed,
    n_patterns,
)

MOST_POINTS = 10_000  # of a whole curve; beyond that, every second point is dropped
SLICE_SECONDS = 0.05  # between two checks for Ctrl-C and calls of the callback
UNSAVED = ("_machine", "_held", "_weight", "_guard", "callback")
READ = 1 << 18  # weights to read at a time, because a copy of all of them is large
NO_SLOTS, NO_WEIGHTS = np.empty(0, np.intp), np.empty(0)


class NotFittedError(ValueError, AttributeError):
    """A method was called that needs a trained model."""


class Point(NamedTuple):
    """A point of a training curve.

    primal: nan if it was not computed. If a callback's attribute `primal` is true, it is computed at the
    end of every epoch; this takes one argmax for each pattern.

    looks: the number of predictions that this pass made before it learned from them, the sum of their losses,
    and other counts of the problem. It is filled only in the first pass over new data.
    """

    seconds: float
    epoch: int
    seen: int
    dual: float
    primal: float
    n_support_patterns: int
    n_support_vectors: int
    n_argmax: int
    looks: tuple[float, ...] = ()

    @property
    def progressive(self) -> float:
        """The mean loss of the predictions that this pass made before learning; nan if there are none.

        PROCESSNEW predicts before it learns, so in the first pass over new data this is an honest estimate
        that needs no held-out data. For sequences it is the share of wrong tokens.
        """
        return self.looks[1] / self.looks[0] if self.looks and self.looks[0] else np.nan


Callback = Callable[[Point], Any]


@with_options
class OptimizerOptions:
    """The options that all optimizers have."""

    problem: Problem = option(kw_only=False, valid=unchecked, help="The structure that is learned.")
    random_state: Any = option(
        default=0, valid=unchecked, help="A seed, a NumPy generator, or None for a random one."
    )
    callback: Callback | None = option(
        default=None, valid=is_function,
        help="A function of a `Point`, called several times a second. If it returns a true value, training "
        "ends.",
    )  # fmt: skip


@with_options
class SVMOptions:
    """The options of the optimizers of a dual."""

    C: float = option(
        default=1.0, above=0,
        help="The weight of the slacks: a larger value fits the training data more closely.",
    )  # fmt: skip
    rescaling: str = option(
        default="margin", choices=("margin", "slack"), help="What the loss of an output rescales."
    )
    slack: str = option(default="l1", choices=("l1", "l2"), help="Whether slacks count as such or squared.")


class Optimizer(OptimizerOptions):
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

    def __post_init__(self) -> None:
        self.curve_: list[Point] = []
        self.epochs_done = 0
        self.elapsed = 0.0  # seconds of training
        self._seed = 0
        self._seen = 0  # patterns of the current epoch
        self._new_data = False  # True until an epoch visits the training set
        self._machine: Machine | None = None
        self._held, self._weight = NO_SLOTS, NO_WEIGHTS  # the training set: slots of the machine

    def validate(self) -> None:
        """Raise ValueError if an option is out of range."""
        check_options(self)

    @property
    def _space(self) -> Space:
        """Where w is stored."""
        return LINEAR

    # -- training -------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train from scratch on a data set, and keep it for `primal` and `gap`.

        Bad input raises an error and changes nothing. If training is interrupted (by Ctrl-C, or an exception
        in a callback or in the problem), the new model keeps what it has learned: you can predict with it and
        continue training.
        """
        with training(self):
            self._receive(*as_data(X, y), sample_weight, fresh=True)
            self._run()
        return self

    def begin(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
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

    def take(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Replace the data set for more passes with `epoch`; support patterns of the old one stay."""
        with training(self):
            self._receive(*as_data(X, y), sample_weight, fresh=not self.is_started)
        return self

    def epoch(self) -> bool:
        """Make one more pass over the data set, in random order; True if training should end."""
        self._fitted()
        with training(self):
            return self._pass()

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Make one pass over more data, in the given order, and keep only the support patterns."""
        with training(self):
            self._receive(*as_data(X, y), sample_weight, fresh=not self.is_started)
            try:
                self._epoch(self._held)
            finally:
                self._release()
        return self

    def _receive(self, X: Any, y: Any, sample_weight: Any, *, fresh: bool) -> None:
        """Check everything, then change the state."""
        self.validate()
        weight = check_sample_weight(sample_weight, n_patterns(X), self.C)
        if fresh:
            problem = self._prepared(X, y)
            oracle = self._new_oracle(problem)
            slots = oracle.add(X, y)
            seed = check_seed(self.random_state)  # the last check, because it advances a random generator
            machine = self._new_machine(oracle, seed)
            self.problem, self._machine, self._seed, self._held = problem, machine, seed, NO_SLOTS
            self._reset()
        else:
            slots = self._fitted().oracle.add(X, y)
        self._hold(slots, weight)

    def _prepared(self, X: Any, y: Any) -> Problem:
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
        machine = self._fitted()
        weight = machine.oracle.slot_weights(slots, weight)
        self._release()
        self._held, self._weight, self._new_data = slots, weight, True
        machine.admit(slots, weight)

    def _release(self) -> None:
        """Release the training set, except for support patterns."""
        held, self._held, self._weight = self._held, NO_SLOTS, NO_WEIGHTS  # first, in case of Ctrl-C
        if len(held):
            self._fitted().dismiss(held)

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
        block = self._fitted().block
        start, at, size, reported = time.perf_counter(), 0, block or 16, 0.0
        points = min(self.points, len(order))
        ends = [round(len(order) * (k + 1) / points) for k in range(points)]
        begun, self._seen = self.elapsed, 0
        self._fitted().oracle.watch(self._new_data)
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
        self._fitted().visit(order)

    def _shuffled(self) -> np.ndarray:
        """The training set in the random order of this epoch."""
        starts = self._fitted().oracle.groups(self._held)
        if starts is None:
            return shuffled(self._seed, self.epochs_done, self._held)
        order = shuffled(self._seed, self.epochs_done, np.arange(len(starts)))
        sizes = np.diff(np.append(starts, len(self._held)))[order]
        skipped = np.repeat(starts[order] - np.append(0, np.cumsum(sizes)[:-1]), sizes)
        return self._held[skipped + np.arange(len(self._held))]

    def _point(self, primal: float = np.nan) -> Point:
        return Point(
            self.elapsed, self.epochs_done, self._seen, self.dual_, primal,
            self.n_support_patterns_, self.n_support_vectors_, self.n_argmax_,
            self._fitted().oracle.looks(),
        )  # fmt: skip

    def continue_curve(self, other: Optimizer) -> None:
        """Append to the training curve of another optimizer, whose training this one continues."""
        self.curve_, self.elapsed = list(other.curve_), other.elapsed

    # -- results --------------------------------------------------------------------------------

    @property
    def is_started(self) -> bool:
        """Whether the optimizer can predict, because it has seen data or `start_from` has set its weights."""
        return self._machine is not None

    @property
    def holds_data(self) -> bool:
        """Whether the training set is available, as after `fit` but not after `partial_fit`."""
        return len(self._held) > 0

    @reads
    def predict(self, X: Iterable[Any] | Any) -> Any:
        """The best output for each pattern."""
        return self._space.predict(self.problem, self._fitted(), X)

    @property
    @reads
    def weights_(self) -> np.ndarray:
        """A copy of w."""
        return self._fitted().weights.copy()

    @reads
    def weights_at(self, places: Any) -> np.ndarray:
        """Some entries of w, without copying the others; valid until the next training step."""
        return self._fitted().weights_at(places)

    @reads
    def weight_rows(self, n_rows: int, stride: int, n_labels: int) -> SparseRows:
        """The first rows of w in float32, `stride` weights each; rows beyond the end of w are empty."""
        blocks = self._fitted().blocks
        if blocks is not None:
            ptr, cells = blocks.rows(n_rows, stride, n_labels, CELL)
            return SparseRows(ptr, cells, n_labels).checked()
        end = min(self.n_weights_ // stride, n_rows)
        step = max(READ // stride, 1)
        parts = (
            self.weights_at(slice(start * stride, min(start + step, end) * stride)).reshape(-1, stride)
            for start in range(0, end, step)
        )
        return SparseRows.from_blocks(parts, n_rows, n_labels)

    @property
    @reads
    def n_weights_(self) -> int:
        """The length of w."""
        return self._fitted().n_weights

    def primal(
        self, X: Iterable[Any] | None = None, y: Iterable[Any] | None = None, sample_weight: Any = None
    ) -> float:
        """||w||^2 / 2 + sum of C_i xi_i on the data of `fit`, or on the given data.

        With L2 slacks, the sum is over C_i xi_i^2 / 2. C is the value that the model was trained with.
        """
        machine = self._fitted()
        if (X is None) != (y is None):
            raise ValueError("pass both X and y, or neither for the data of fit")
        with training(self, nested=True):  # slacks are computed where training computes them
            if X is None or y is None:
                if not self.holds_data:
                    raise ValueError(
                        "no training data held (fit keeps it, partial_fit does not): pass X and y"
                    )
                return self._objective(machine.slacks(self._held), self._weight)
            self._check_other_data()
            data = as_data(X, y)
            weight = check_sample_weight(sample_weight, n_patterns(data[0]))
            slots = machine.oracle.add(*data)
            try:
                return self._objective(machine.slacks(slots), machine.oracle.slot_weights(slots, weight))
            finally:
                machine.oracle.discard(slots)

    def _check_other_data(self) -> None:
        """Raise ValueError if the machine cannot compute slacks of data that it was not trained on."""

    def _objective(self, xi: np.ndarray, weight: np.ndarray) -> float:
        """The primal, given all slacks."""
        machine = self._fitted()
        return float(machine.norm / 2 + machine.C * (weight @ (xi * xi / 2 if machine.squared else xi)))

    def gap(
        self, X: Iterable[Any] | None = None, y: Iterable[Any] | None = None, sample_weight: Any = None
    ) -> float:
        """primal - dual: an upper bound on the distance of the dual from its optimum."""
        return self.primal(X, y, sample_weight) - self.dual_

    @property
    def dual_(self) -> float:
        """The dual objective; nan if the optimizer has none."""
        return float(self._fitted().dual)

    @property
    def n_support_patterns_(self) -> int:
        """The number of patterns with a non-zero coefficient in w."""
        return int(self._fitted().n_patterns)

    @property
    def n_support_vectors_(self) -> int:
        """The number of pairs (pattern, output) with a non-zero coefficient, true outputs included."""
        return int(self._fitted().n_vectors)

    @property
    def n_argmax_(self) -> int:
        """Calls of the argmax during training."""
        return int(self._fitted().n_argmax)

    def _fitted(self) -> Machine:
        if self._machine is None:
            raise NotFittedError(
                f"this {type(self).__name__} has seen no data; call fit or partial_fit first"
            )
        return self._machine

    # -- saved states ---------------------------------------------------------------------------

    def start_from(self, weights: np.ndarray) -> Self:
        """Start from the weights of a model whose training state is not available."""
        self.validate()
        with training(self):
            seed = check_seed(self.random_state)
            machine = self._new_machine(self._new_oracle(self.problem), seed)
            machine.start_from(weights)
            self._machine, self._held, self._weight = machine, NO_SLOTS, NO_WEIGHTS
            self._set_progress({"progress": np.array([seed, 0])})
        return self

    def forget(self, *, patterns: int = 0, rows: np.ndarray | None = None) -> Self:
        """Drop the training set, the first support patterns and some rows of w.

        Patterns are mostly sorted by age, the oldest first. What they taught stays in w, so `dual_` and
        `gap()` no longer bound anything. rows: a mask of the rows of w to keep; a row has `problem.stride`
        weights. The other rows are dropped as if no pattern had ever used their features.
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
        dual = self._fitted().state()
        state = {f"dual.{name}": value for name, value in dual.items() if name != "slots"}
        if "slots" in dual:
            slots = dual["slots"]
            rows = {k: v for k, v in self._fitted().oracle.rows(slots).items() if v is not None}
            if not all(isinstance(value, np.ndarray) for value in rows.values()):
                raise ValueError("this training state cannot be stored as arrays; pickle the optimizer")
            place = np.full(max(slots.max(initial=-1), self._held.max(initial=-1)) + 1, -1, np.int64)
            place[self._held] = np.arange(len(self._held))
            state = {f"rows.{name}": value for name, value in rows.items()} | state | {"place": place[slots]}
        return state | self._progress()

    def resume(
        self, state: dict[str, np.ndarray], X: Any = None, y: Any = None, sample_weight: Any = None
    ) -> Self:
        """Continue from a `state`; given its data set, `epoch` continues as if training had never stopped."""
        with training(self):
            self._resume(state, X, y, sample_weight)
        return self

    def _resume(self, state: dict[str, np.ndarray], X: Any, y: Any, sample_weight: Any) -> None:
        self.validate()
        oracle = self._new_oracle(self.problem)
        machine = self._new_machine(oracle, 0)
        held = NO_SLOTS if X is None else oracle.add(X, y)
        weight = NO_WEIGHTS if X is None else check_sample_weight(sample_weight, n_patterns(X), self.C)
        dual = _part(state, "dual.")
        if "place" in state:
            known = max(len(dual["weights"]), oracle.n_weights)
            dual["slots"] = _restored_slots(oracle, state, held)
            if oracle.n_weights > known:
                raise ValueError("the training state has features without weights")
        machine.restore(dual)
        self._set_progress(state)
        self._machine, self._held, self._weight = machine, NO_SLOTS, NO_WEIGHTS
        self._hold(held, weight)
        self._new_data = self.epochs_done == 0

    def _progress(self) -> dict[str, np.ndarray]:
        """The part of a training state that does not belong to the machine."""
        return {"progress": np.array([self._seed, self.epochs_done], np.int64)}

    def _set_progress(self, state: dict[str, np.ndarray]) -> None:
        seed, epochs = map(int, state["progress"])
        if seed < 0 or not 0 <= epochs < 2**31:
            raise ValueError("the training state has an impossible seed or number of epochs")
        self._reset()
        self._seed, self.epochs_done = seed, epochs

    @reads
    def __getstate__(self) -> dict[str, Any]:
        """The state for pickles: everything that training needs, except the training set and the callback."""
        state = {k: v for k, v in vars(self).items() if k not in UNSAVED}
        if self.is_started:
            dual = self._fitted().state()
            state["_saved"] = dual, self._fitted().oracle.rows(dual.get("slots", NO_SLOTS))
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, callback=None, _machine=None, _held=NO_SLOTS, _weight=NO_WEIGHTS)
        if "_saved" in state:
            dual, rows = vars(self).pop("_saved")
            oracle = self._new_oracle(self.problem)
            slots = _add_rows(oracle, rows)
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


def _part(state: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}


def _add_rows(oracle: Patterns, rows: dict[str, Any]) -> np.ndarray:
    """Store patterns; the shards that they came from do not matter to an oracle without shards."""
    known = {name: rows[name] for name in rows if name != "shard" or oracle.n_shards > 1}
    return oracle.add_rows(**known)


def _restored_slots(oracle: Patterns, state: dict[str, np.ndarray], held: np.ndarray) -> np.ndarray:
    """The slots of the support patterns: their positions in the data set; missing ones are stored again."""
    place, rows = state["place"] if len(held) else np.full(len(state["place"]), -1), _part(state, "rows.")
    if len(place) and place.max() >= len(held):
        raise ValueError("the training state belongs to another data set")
    gone = place < 0
    if not gone.any():
        return held[place]
    if "places" in oracle.rows(NO_SLOTS) and "places" not in rows:  # without them, rows are not checked
        raise ValueError("the training state lacks the places of its patterns")
    slots = _add_rows(oracle, rows)
    if len(slots) != len(place):
        raise ValueError("the training state has another number of patterns than of places")
    oracle.discard(slots[~gone])
    slots[~gone] = held[place[~gone]]
    return slots
