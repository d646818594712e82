"""What all optimizers share: taking data in, running epochs in slices, curves, the primal, pickling."""

from __future__ import annotations

import copy
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Self

import numpy as np

from structsvm import _schedules
from structsvm._linear_dual import LinearDual
from structsvm.problem import Problem
from structsvm.validation import check_bounds, check_choice, check_positive, check_sample_weight, check_seed

POINTS_PER_EPOCH = 20  # of the training curve
MOST_POINTS = 10_000  # of a whole curve: then every second one goes
SLICE_SECONDS = 0.05  # between two looks at Ctrl-C and the progress callback


UNSAVED = ("_machine", "_held", "_weight", "_trainer", "callback")


class ConvergenceWarning(UserWarning):
    """Training stopped before it reached the tolerance that was asked for."""


class NotFittedError(ValueError, AttributeError):
    """Something was asked of an optimizer that has seen no data."""


class Point(NamedTuple):
    """A point of a training curve; `primal` is nan where it was not computed."""

    seconds: float
    epoch: int
    seen: int
    dual: float
    primal: float
    n_support_patterns: int
    n_support_vectors: int
    n_argmax: int


Callback = Callable[[Point], Any]


class Optimizer(ABC):
    """Base of all optimizers: subclasses have options and a machine, and say what to do with patterns."""

    _block: int | None = None  # patterns in a slice, where that must not depend on time
    _machine: Any  # what learns; absent before the first data
    _held: np.ndarray  # the slots of the training set
    _weight: np.ndarray  # their weights
    _trainer: tuple[int, Any]  # the thread and call that train; absent otherwise

    def __init__(self, problem: Problem, *, random_state: Any, callback: Callback | None) -> None:
        self.problem = problem
        self.random_state = random_state
        self.callback = callback

    # -- training -------------------------------------------------------------------------------

    def fit(self, X: Iterable[Any], y: Iterable[Any], sample_weight: Any = None) -> Self:
        """Train from scratch on a data set, which stays at hand for `primal` and `gap`.

        Bad input changes nothing. Where training is broken off (Ctrl-C, an exception in a callback or in the
        problem), the new model stays as far as it has come: it can predict and go on learning.
        """
        with self._training():
            self._receive(*as_data(X, y), sample_weight, fresh=True)
            self._run(False)
        return self

    def begin(self, X: Iterable[Any], y: Iterable[Any], sample_weight: Any = None) -> Self:
        """Take a data set for training from scratch, pass by pass, with `epoch`."""
        with self._training():
            self._receive(*as_data(X, y), sample_weight, fresh=True)
        return self

    def take(self, X: Iterable[Any], y: Iterable[Any], sample_weight: Any = None) -> Self:
        """Take another data set for more passes with `epoch`; of the one before, support patterns stay."""
        with self._training():
            self._receive(*as_data(X, y), sample_weight, fresh=not hasattr(self, "_machine"))
        return self

    def epoch(self) -> bool:
        """One more pass over the data set taken, in its own random order; True if training should end."""
        self._fitted()
        with self._training():
            return self._epoch(self._shuffled())

    def partial_fit(self, X: Iterable[Any], y: Iterable[Any], sample_weight: Any = None) -> Self:
        """One pass over more data, in the order given; afterwards only support patterns are kept."""
        with self._training():
            self._receive(*as_data(X, y), sample_weight, fresh=not hasattr(self, "_machine"), online=True)
            try:
                self._run(True)
            finally:
                self._let_go()
        return self

    @contextmanager
    def _training(self) -> Iterator[None]:
        """Only one thread trains at a time, and no callback trains its own optimizer."""
        mine = threading.Event()  # should Ctrl-C hit the clearing below, the claim dies with this call
        claim = (threading.get_ident(), weakref.ref(mine))
        if self._trained_by() is None:
            vars(self).pop("_trainer", None)
        try:
            if vars(self).setdefault("_trainer", claim) is not claim:
                raise RuntimeError(
                    "this optimizer is being trained: wait for that to end, or use another one"
                )
            yield
        finally:
            if vars(self).get("_trainer") is claim:
                del self._trainer

    def _trained_by(self) -> int | None:
        """The thread that is training."""
        thread, call = vars(self).get("_trainer", (None, lambda: None))
        return None if call() is None else thread

    def _readable(self) -> Any:
        """The machine, unless another thread is changing it."""
        if self._trained_by() not in (None, threading.get_ident()):
            raise RuntimeError("this optimizer is being trained in another thread: wait for that to end")
        return self._fitted()

    def _receive(self, X: Any, y: Any, sample_weight: Any, *, fresh: bool, online: bool = False) -> None:
        """Check everything, then change the state."""
        self._check()
        if self.callback is not None and not callable(self.callback):
            raise ValueError(f"callback must be a function of one Point, not {self.callback!r}")
        weight = check_sample_weight(sample_weight, n_patterns(X))
        with np.errstate(over="ignore"):
            check_bounds(getattr(self, "C", 1.0) * weight)
        if fresh:
            problem = self._prepared(X, y)
            machine, slots, seed = self._begin(problem, X, y)
            self.problem, self._machine, self._seed, self._held = problem, machine, seed, np.empty(0, np.intp)
            self.curve_: list[Point] = []
            self._epochs_done, self._elapsed = 0, 0.0
        else:
            slots = self._store(X, y)
        self._take(slots, weight)

    def _prepared(self, X: Any, y: Any) -> Problem:
        """The problem prepared for the data: a copy, as another optimizer may prepare it for other data."""
        if type(self.problem).prepare is Problem.prepare:
            return self.problem
        problem = copy.copy(self.problem)
        problem.prepare(X, y)
        return problem

    def _begin(self, problem: Problem, X: Any, y: Any) -> tuple[Any, np.ndarray, int]:
        """A new machine that has stored the patterns, their slots, and its seed."""
        oracle = self._configured(problem.oracle())
        slots = oracle.add(X, y)
        seed = check_seed(self.random_state)  # last of all checks: a generator moves on when asked
        return self._new_machine(oracle, seed), slots, seed

    def _store(self, X: Any, y: Any) -> np.ndarray:
        """Store more patterns, all or none, and return their slots."""
        return self._machine.oracle.add(X, y)

    def _take(self, slots: np.ndarray, weight: np.ndarray) -> None:
        """Make `slots` the training set in place of the one before; `weight` has a value for each pattern."""
        oracle = self._machine.oracle
        weight = oracle.slot_weights(slots, weight)
        self._machine.grow(oracle.n_weights)
        self._let_go()
        self._held, self._weight = slots, weight
        self._machine.admit(slots, weight)

    def _let_go(self) -> None:
        """Keep nothing of the training set but support patterns; the books first, should Ctrl-C come."""
        held, self._held, self._weight = self._held, np.empty(0, np.intp), np.empty(0)
        self._machine.dismiss(held)

    @abstractmethod
    def _check(self) -> None:
        """Refuse bad options."""

    @abstractmethod
    def _configured(self, oracle: Any) -> Any:
        """The oracle, told the form of the problem."""

    @abstractmethod
    def _new_machine(self, oracle: Any, seed: int) -> Any:
        """What learns, with nothing learned."""

    @abstractmethod
    def _run(self, online: bool) -> None:
        """One pass in the order given if online, all of training otherwise."""

    @abstractmethod
    def _slice(self, order: np.ndarray, at: int) -> None:
        """Visit a few patterns, the first of them being the one at place `at` of the epoch."""

    def _epochs(self, n: int, online: bool) -> None:
        """Passes in a new order each, or one in the order given."""
        for _ in range(1 if online else n):
            if self._epoch(self._held if online else self._shuffled()):
                return

    def _epoch(self, order: np.ndarray) -> bool:
        """A pass, with what an optimizer does around it."""
        return self._pass(order)

    def _pass(self, order: np.ndarray) -> bool:
        """An epoch over `order`, in slices; True if the callback asked to stop."""
        start, at, size, reported = time.perf_counter(), 0, self._block or 16, 0.0
        marks = {max(1, round(len(order) * (k + 1) / POINTS_PER_EPOCH)) for k in range(POINTS_PER_EPOCH)}
        ends = sorted(marks | {len(order)})
        begun = self._elapsed
        for end in ends:
            while at < end:
                slice_start = time.perf_counter()
                stop = min(end, at + size)
                self._slice(order[at:stop], at)
                self._seen = at = stop
                now = time.perf_counter()
                size = self._block or max(
                    1, int(size * min(4.0, SLICE_SECONDS / max(now - slice_start, 1e-9)))
                )
                self._elapsed = begun + now - start
                if self.callback and now - reported > 4 * SLICE_SECONDS:
                    reported = now
                    if self.callback(self._point()):
                        return True
            self.curve_.append(self._point())
        if len(self.curve_) > MOST_POINTS:  # of many small partial_fit
            self.curve_ = self.curve_[::2]
        last = self._point()
        self._epochs_done += 1
        return bool(self.callback and self.callback(last))

    def _shuffled(self) -> np.ndarray:
        """The training set in the random order of this epoch."""
        oracle = getattr(self._machine, "oracle", None)  # a kernel machine has none
        starts = oracle.groups(self._held) if oracle else None
        if starts is None:
            return _schedules.shuffled(self._seed, self._epochs_done, self._held)
        order = _schedules.shuffled(self._seed, self._epochs_done, np.arange(len(starts)))
        sizes = np.diff(np.append(starts, len(self._held)))[order]
        skipped = np.repeat(starts[order] - np.append(0, np.cumsum(sizes)[:-1]), sizes)
        return self._held[skipped + np.arange(len(self._held))]

    def _point(self, primal: float = np.nan) -> Point:
        return Point(
            self._elapsed, self._epochs_done, self._seen, self.dual_, primal,
            self.n_support_patterns_, self.n_support_vectors_, self.n_argmax_,
        )  # fmt: skip

    # -- results --------------------------------------------------------------------------------

    def predict(self, X: Iterable[Any]) -> Any:
        """The best output for each pattern."""
        return self.problem.predict(X, self.weights_)

    @property
    def weights_(self) -> np.ndarray:
        """w, a copy."""
        return self._fitted().weights.copy()

    @property
    @abstractmethod
    def dual_(self) -> float:
        """The dual objective."""

    @property
    @abstractmethod
    def n_support_patterns_(self) -> int:
        """Patterns that w is made of."""

    @property
    @abstractmethod
    def n_support_vectors_(self) -> int:
        """Pairs (pattern, output) that w is made of."""

    @property
    @abstractmethod
    def n_argmax_(self) -> int:
        """Calls of the argmax in training."""

    def primal(
        self, X: Iterable[Any] | None = None, y: Iterable[Any] | None = None, sample_weight: Any = None
    ) -> float:
        """||w||^2 / 2 + sum of C_i xi_i on the data of `fit`, or on the data given.

        With L2 slacks C_i xi_i^2 / 2. C is the one that the model was trained with.
        """
        machine = self._readable()
        if (X is None) != (y is None):
            raise ValueError("pass both X and y, or neither for the data of fit")
        if X is None or y is None:
            if not len(self._held):
                raise ValueError(
                    "no training data at hand (it is kept by fit, not by partial_fit): pass X and y"
                )
            return self._primal(self._held, self._weight)
        data = as_data(X, y)
        weight = check_sample_weight(sample_weight, n_patterns(data[0]))
        slots = machine.oracle.add(*data)
        weight = machine.oracle.slot_weights(slots, weight)
        machine.grow(machine.oracle.n_weights)
        try:
            machine.admit(slots, weight)
            return self._primal(slots, weight)
        finally:
            machine.dismiss(slots)

    @abstractmethod
    def _primal(self, slots: np.ndarray, weight: np.ndarray) -> float:
        """The primal on some slots of the machine."""

    def gap(
        self, X: Iterable[Any] | None = None, y: Iterable[Any] | None = None, sample_weight: Any = None
    ) -> float:
        """primal - dual: an upper bound of how far the dual is from its optimum."""
        return self.primal(X, y, sample_weight) - self.dual_

    def start_from(self, weights: np.ndarray) -> Self:
        """Begin with given weights, as a model has them whose training state is gone."""
        self._check()
        seed = check_seed(self.random_state)
        self._machine = self._new_machine(self._configured(self.problem.oracle()), seed)
        self._machine.grow(len(weights))
        self._machine.weights[:] = weights
        self._held, self._weight = np.empty(0, np.intp), np.empty(0)
        self._set_progress({"progress": np.array([seed, 0])})
        return self

    def _progress(self) -> dict[str, np.ndarray]:
        """What a training state holds beside the machine's own."""
        return {"progress": np.array([self._seed, self._epochs_done], np.int64)}

    def _set_progress(self, state: dict[str, np.ndarray]) -> None:
        seed, epochs = map(int, state["progress"])
        if seed < 0 or not 0 <= epochs < 2**31:
            raise ValueError("the training state has a seed or a number of passes that cannot be")
        self._seed, self._epochs_done = seed, epochs
        self.curve_, self._elapsed = [], 0.0

    def _fitted(self) -> Any:
        if not hasattr(self, "_machine"):
            raise NotFittedError(
                f"this {type(self).__name__} has seen no data: call fit or partial_fit first"
            )
        return self._machine

    # -- pickling -------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the training set and the callback: what is needed to go on with training."""
        state = {k: v for k, v in vars(self).items() if k not in UNSAVED}
        if hasattr(self, "_machine"):
            state["_saved"] = self._saved()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, callback=None)
        if "_saved" in state:
            self._machine = self._revived(vars(self).pop("_saved"))
            self._held, self._weight = np.empty(0, np.intp), np.empty(0)

    @abstractmethod
    def _saved(self) -> Any:
        """What has been learned, without raw memory."""

    @abstractmethod
    def _revived(self, saved: Any) -> Any:
        """A machine from what was saved."""


def in_slices(order: np.ndarray, size: int = 256) -> Iterable[np.ndarray]:
    """An order in short pieces, so that Ctrl-C is heard between them."""
    return (order[at : at + size] for at in range(0, len(order), size))


class DualOptimizer(Optimizer):
    """Base of the optimizers that are schedules over the dual.

    They all solve, with C_i = C times the sample weight,

        min_w  ||w||^2 / 2 + sum_i C_i xi_i,   xi_i = max_y H_i(y),   d_i(y) = Phi(x_i, y_i) - Phi(x_i, y)

        rescaling="margin": H_i(y) = Delta(y_i, y) - <w, d_i(y)>
        rescaling="slack":  H_i(y) = Delta(y_i, y) (1 - <w, d_i(y)>)

    and with slack="l2" C_i xi_i^2 / 2 for C_i xi_i and sqrt(Delta) for Delta, as in Tsochantaridis' thesis
    (whose C is ours times the number of examples).
    """

    C: float
    tau: float
    kappa: float
    rescaling: str
    slack: str

    def _check(self) -> None:
        check_positive(C=self.C, tau=self.tau, kappa=self.kappa)
        check_choice(rescaling=(self.rescaling, ("margin", "slack")), slack=(self.slack, ("l1", "l2")))

    def _configured(self, oracle: Any) -> Any:
        oracle.configure(rescaling=self.rescaling, slack=self.slack)
        return oracle

    def _new_machine(self, oracle: Any, seed: int) -> Any:
        return LinearDual(oracle, C=self.C, tau=self.tau, kappa=self.kappa, seed=seed)

    def _primal(self, slots: np.ndarray, weight: np.ndarray, *, counted: bool = False) -> float:
        machine = self._machine
        w, xi = machine.weights, np.concatenate([machine.slacks(part, counted) for part in in_slices(slots)])
        return float(w @ w / 2 + machine.C * (weight @ (xi * xi / 2 if machine.squared else xi)))

    @property
    def dual_(self) -> float:
        """The dual objective."""
        return float(self._fitted().dual)

    @property
    def n_support_patterns_(self) -> int:
        """Patterns with a non-zero coefficient."""
        return int(self._fitted().n_patterns)

    @property
    def n_support_vectors_(self) -> int:
        """Pairs (pattern, output) with a non-zero coefficient, true outputs included."""
        return int(self._fitted().n_outputs + self._fitted().n_patterns)

    @property
    def n_argmax_(self) -> int:
        """Calls of the loss-augmented argmax."""
        return int(self._fitted().n_argmax)

    def _saved(self) -> Any:
        dual = self._machine.state()
        return dual, self._machine.oracle.rows(dual["slots"])

    def _revived(self, saved: Any) -> Any:
        dual, rows = saved
        machine = self._new_machine(self._configured(self.problem.oracle()), 0)
        machine.grow(len(dual["weights"]))
        machine.restore(dict(dual, slots=machine.oracle.add_rows(**rows)))
        return machine

    def training_state(self) -> dict[str, np.ndarray]:
        """Arrays that `resume` takes up: the dual, its support patterns, and their places in the data set."""
        dual = self._fitted().state()
        rows = self._machine.oracle.rows(dual["slots"])
        place = np.full(max(dual["slots"].max(initial=-1), self._held.max(initial=-1)) + 1, -1, np.int64)
        place[self._held] = np.arange(len(self._held))
        state = {f"rows.{name}": value for name, value in rows.items() if value is not None}
        state |= {f"dual.{name}": value for name, value in dual.items() if name != "slots"}
        return state | {"place": place[dual["slots"]], **self._progress()}

    def resume(
        self, state: dict[str, np.ndarray], X: Any = None, y: Any = None, sample_weight: Any = None
    ) -> Self:
        """Go on from a `training_state`; given its data set, `epoch` goes on as if it had never ended."""
        self._check()
        machine = self._new_machine(self._configured(self.problem.oracle()), 0)
        dual = {
            name.removeprefix("dual."): value for name, value in state.items() if name.startswith("dual.")
        }
        rows = {
            name.removeprefix("rows."): value for name, value in state.items() if name.startswith("rows.")
        }
        machine.grow(len(dual["weights"]))
        held, weight, place = np.empty(0, np.intp), np.empty(0), np.full(len(state["place"]), -1)
        if X is not None:
            held, place = machine.oracle.add(X, y), state["place"]
            weight = check_sample_weight(sample_weight, n_patterns(X))
        if len(place) and place.max() >= len(held):
            raise ValueError("the training state is that of another data set")
        gone = place < 0
        slots = np.empty(len(place), np.intp)
        slots[~gone] = held[place[~gone]]
        known = max(len(dual["weights"]), machine.oracle.n_weights)
        slots[gone] = machine.oracle.add_rows(**{"values": None, **rows, "places": rows["places"][gone]})
        if machine.oracle.n_weights > known:
            raise ValueError("the training state has features without weights")
        machine.restore(dict(dual, slots=slots))
        self._machine, self._held, self._weight = machine, np.empty(0, np.intp), np.empty(0)
        self._take(held, weight)
        self._set_progress(state)
        return self


def as_data(X: Iterable[Any], y: Iterable[Any]) -> tuple[Any, Any]:
    """X and y with lengths: generators become lists; empty data are refused."""
    X = X if hasattr(X, "shape") or hasattr(X, "__len__") else list(X)
    y = y if hasattr(y, "shape") or hasattr(y, "__len__") else list(y)
    if n_patterns(X) == 0:
        raise ValueError("the data set is empty: there is nothing to learn from")
    if n_patterns(X) != n_patterns(y):
        raise ValueError(f"X has {n_patterns(X)} patterns but y has {n_patterns(y)} outputs")
    return X, y


def n_patterns(X: Any) -> int:
    return X.shape[0] if hasattr(X, "shape") else len(X)
