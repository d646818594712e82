"""The structured perceptron [Collins 2002], averaged or plain: a baseline without a dual."""

from __future__ import annotations

from typing import cast

from structsvm._dual.oracle import Oracle
from structsvm._dual.perceptron import PerceptronWeights
from structsvm.machine import Patterns
from structsvm.optimizers.base import Optimizer
from structsvm.options import option, with_options


@with_options
class Perceptron(Optimizer):
    """Add Phi(x, y) - Phi(x, argmax) if the argmax is wrong; with `average`, predict with the mean of all w.

    It maximises no dual: `dual_` and `gap()` are nan. `primal()` is the primal of the SVM with C = 1. Support
    patterns are the patterns that were ever misclassified; support vectors are the updates.
    """

    uses_losses = False

    average: bool = option(default=True, help="Whether to predict with the mean of all w.")
    epochs: int = option(default=1, low=1, help="The passes of `fit` over the data.")

    def _new_machine(self, oracle: Patterns, seed: int) -> PerceptronWeights:
        return PerceptronWeights(cast(Oracle, oracle), average=self.average)
