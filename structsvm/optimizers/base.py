"""What all optimizers share: taking data in, the primal, pickling; `_passes` has how they pass over it."""

from __future__ import annotations

import copy
import threading
import weakref
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np

from structsvm.optimizers.curve import Callback, NotFittedError, as_data, n_patterns
from structsvm.optimizers.passes import Passes
from structsvm.problem import Problem
from structsvm.validation import check_bounds, check_sample_weight, check_seed

UNSAVED = ("_machine", "_held", "_weight", "_trainer", "callback")


class _Call:
    """One call that trains, which a weak reference can be made to."""

    __slots__ = ("__weakref__",)


class Optimizer(Passes):
    """Base of all optimizers: subclasses have options and a machine, and say what to do with patterns."""

    _weight: np.ndarray  # of the training set
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
        mine = _Call()  # should Ctrl-C hit the clearing below, the claim dies with this call
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
        self.validate()
        if self.callback is not None and not callable(self.callback):
            raise ValueError(f"callback must be a function of one Point, not {self.callback!r}")
        weight = check_sample_weight(sample_weight, n_patterns(X))
        with np.errstate(over="ignore"):
            check_bounds(getattr(self, "C", 1.0) * weight)
        if fresh:
            problem = self._prepared(X, y)
            machine, slots, seed = self._begin(problem, X, y)
            self.problem, self._machine, self._seed, self._held = problem, machine, seed, np.empty(0, np.intp)
            self.curve_ = []
            self.epochs_done, self.elapsed = 0, 0.0
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
    def validate(self) -> None:
        """Raise ValueError if an option is out of range."""

    @abstractmethod
    def _configured(self, oracle: Any) -> Any:
        """The oracle, told the form of the problem."""

    @abstractmethod
    def _new_machine(self, oracle: Any, seed: int) -> Any:
        """What learns, with nothing learned."""

    @abstractmethod
    def _run(self, online: bool) -> None:
        """One pass in the order given if online, all of training otherwise."""

    @property
    def is_started(self) -> bool:
        """Whether there is anything to predict with: data have been seen, or weights were given."""
        return hasattr(self, "_machine")

    @property
    def holds_data(self) -> bool:
        """Whether the training set is at hand, as it is after `fit` and not after `partial_fit`."""
        return self.is_started and len(self._held) > 0

    def continue_curve(self, other: Optimizer) -> None:
        """Append to the training curve of another optimizer, whose training this one continues."""
        self.curve_, self.elapsed = list(other.curve_), other.elapsed

    # -- results --------------------------------------------------------------------------------

    def predict(self, X: Iterable[Any]) -> Any:
        """The best output for each pattern."""
        return self.problem.predict(X, self.weights_)

    @property
    def weights_(self) -> np.ndarray:
        """w, a copy."""
        return self._fitted().weights.copy()

    def single_weights(self) -> np.ndarray:
        """w in float32, as models have it: a copy of half the size."""
        return self._fitted().weights.astype(np.float32)

    def weights_at(self, places: Any) -> np.ndarray:
        """Some entries of w, without a copy of all the others; a slice is only good until the next step."""
        return self._fitted().weights[places]

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
        self.validate()
        seed = check_seed(self.random_state)
        self._machine = self._new_machine(self._configured(self.problem.oracle()), seed)
        self._machine.grow(len(weights))
        self._machine.weights[:] = weights
        self._held, self._weight = np.empty(0, np.intp), np.empty(0)
        self._set_progress({"progress": np.array([seed, 0])})
        return self

    def _progress(self) -> dict[str, np.ndarray]:
        """What a training state holds beside the machine's own."""
        return {"progress": np.array([self._seed, self.epochs_done], np.int64)}

    def _set_progress(self, state: dict[str, np.ndarray]) -> None:
        seed, epochs = map(int, state["progress"])
        if seed < 0 or not 0 <= epochs < 2**31:
            raise ValueError("the training state has a seed or a number of passes that cannot be")
        self._seed, self.epochs_done = seed, epochs
        self.curve_, self.elapsed = [], 0.0

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
