"""Conditional random fields as an optimizer: it trains probabilities, pass by pass or online."""

from __future__ import annotations

import warnings
from typing import cast

import numpy as np

from structsvm._dual.oracle import Oracle
from structsvm.guard import training
from structsvm.machine import Inputs, Outputs, Patterns, SampleWeight
from structsvm.optimizers.base import Optimizer
from structsvm.options import option, with_options
from structsvm.problems.sequence._field import FieldWeights
from structsvm.training import user_level


@with_options
class RandomField(Optimizer):
    """Minimise |w|^2 / 2 + sum_i C_i (-log p(y_i | x_i)), p(y | x) proportional to exp(<w, Phi(x, y)>).

    It learns sequences with exact inference, by stochastic gradient steps, and predicts with the mean of all
    w. If labels are missing, p(y_i | x_i) is that of all labellings that agree with the annotation. There is
    no dual: `dual_` is nan, and `gap()` follows from the gradient.
    """

    uses_losses = False

    C: float = option(
        default=1.0, above=0, help="The weight of the likelihood: a larger value fits the data more closely."
    )
    epochs: int = option(default=6, low=1, help="The passes of `fit` over the data.")

    def _new_machine(self, oracle: Patterns, seed: int) -> FieldWeights:
        return FieldWeights(cast(Oracle, oracle), C=self.C)

    def _epoch(self, order: np.ndarray) -> bool:
        machine = cast(FieldWeights, self._fitted())
        machine.choose_rate(order)
        before = machine.n_impossible
        ended = super()._epoch(order)
        if machine.n_impossible > before and self.epochs_done <= 1:
            warnings.warn(
                f"{machine.n_impossible - before} of {len(order)} sentences were not learned, because the "
                "scheme excludes their labels; correct them, or allow all sequences of labels", UserWarning,
                stacklevel=user_level(),
            )  # fmt: skip
        return ended

    def gap(self, X: Inputs = None, y: Outputs = None, sample_weight: SampleWeight = None) -> float:
        """An upper bound of primal() - min primal on the data of `fit`; valid if no label is missing.

        The primal is strongly convex: its distance to the minimum is at most half of |gradient|^2.
        """
        machine = cast(FieldWeights, self._fitted())
        if X is not None or not self.holds_data:
            raise ValueError("the gap of a random field is known only for the data of fit")
        with training(self, nested=True):
            gradient = machine.gradient(self._held, self._weight * machine.C) + machine.weights
        return float(gradient @ gradient) / 2
