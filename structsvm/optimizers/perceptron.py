"""The structured perceptron [Collins 2002], averaged or plain: a baseline without a dual."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from structsvm._dual.perceptron import PerceptronWeights
from structsvm.optimizers.base import Optimizer
from structsvm.optimizers.curve import Callback, in_slices
from structsvm.problem import Problem
from structsvm.validation import check_count


class Perceptron(Optimizer):
    """Add Phi(x, y) - Phi(x, argmax) where the argmax is wrong; predict with the mean of all w (average).

    It maximises no dual: `dual_` and `gap()` are nan. `primal()` is that of the SVM with C = 1. Support
    patterns are the patterns that were ever wrong, support vectors the updates.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        average: bool = True,
        epochs: int = 1,
        random_state: Any = 0,
        callback: Callback | None = None,
    ) -> None:
        super().__init__(problem, random_state=random_state, callback=callback)
        self.average = average
        self.epochs = epochs

    def validate(self) -> None:
        check_count(epochs=self.epochs, low=1)

    def _configured(self, oracle: Any) -> Any:
        oracle.configure(rescaling="margin", slack="l1")
        return oracle

    def _new_machine(self, oracle: Any, seed: int) -> Any:
        return PerceptronWeights(oracle)

    def _run(self, online: bool) -> None:
        self._epochs(self.epochs, online)

    def _slice(self, order: np.ndarray, at: int) -> None:
        self._machine.run(order)

    def _primal(self, slots: np.ndarray, weight: np.ndarray) -> float:
        w = self.weights_
        xi = np.concatenate([self._machine.slacks(part, w) for part in in_slices(slots)])
        return float(w @ w / 2 + weight @ xi)

    @property
    def weights_(self) -> np.ndarray:
        """w, averaged if so asked; a copy."""
        machine = self._fitted()
        return machine.averaged() if self.average else machine.weights.copy()

    def single_weights(self) -> np.ndarray:
        """w in float32, averaged if so asked."""
        return self.weights_.astype(np.float32)

    def weights_at(self, places: np.ndarray) -> np.ndarray:
        """Some entries of w, averaged if so asked, without a copy of all the others."""
        machine = self._fitted()
        last = machine.weights[places]
        return last - machine.moments[places] / max(machine.n_seen, 1) if self.average else last

    @property
    def dual_(self) -> float:
        """nan: a perceptron has no dual."""
        return float("nan")

    @property
    def n_support_patterns_(self) -> int:
        """Patterns that were ever wrong."""
        return int(self._fitted().n_wrong)

    @property
    def n_support_vectors_(self) -> int:
        """Updates."""
        return int(self._fitted().n_updates)

    @property
    def n_argmax_(self) -> int:
        """Calls of the argmax in training."""
        return int(self._fitted().n_seen)

    def _saved(self) -> dict[str, np.ndarray]:
        return self._machine.state()

    def _revived(self, saved: dict[str, np.ndarray]) -> Any:
        machine = self._new_machine(self._configured(self.problem.oracle()), 0)
        machine.grow(len(saved["weights"]))
        machine.restore(saved)
        return machine

    def state(self) -> dict[str, np.ndarray]:
        """Arrays that `resume` takes up."""
        return {f"dual.{name}": value for name, value in self._fitted().state().items()} | self._progress()

    def resume(
        self, state: dict[str, np.ndarray], X: Any = None, y: Any = None, sample_weight: Any = None
    ) -> Self:
        """Go on from a `training_state`; given its data set, `epoch` goes on as if it had never ended."""
        self._machine = self._revived(
            {name: state[f"dual.{name}"] for name in ("weights", "moments", "counters")}
        )
        self._held, self._weight = np.empty(0, np.intp), np.empty(0)
        self._set_progress(state)
        return self if X is None else self.take(X, y, sample_weight)
