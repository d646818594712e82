"""The structured perceptron [Collins 2002], averaged or plain: a baseline without a dual."""

from __future__ import annotations

from typing import Any, ClassVar

from structsvm._dual.perceptron import PerceptronWeights
from structsvm.optimizers.base import Callback, Optimizer
from structsvm.problem import Problem


class Perceptron(Optimizer):
    """Add Phi(x, y) - Phi(x, argmax) if the argmax is wrong; with `average`, predict with the mean of all w.

    It maximises no dual: `dual_` and `gap()` are nan. `primal()` is the primal of the SVM with C = 1. Support
    patterns are the patterns that were ever misclassified; support vectors are the updates.
    """

    RANGES: ClassVar[dict[str, Any]] = Optimizer.RANGES | {"epochs": 1}

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

    def _new_machine(self, oracle: Any, seed: int) -> PerceptronWeights:
        return PerceptronWeights(oracle, average=self.average)
