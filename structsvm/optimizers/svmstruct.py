"""SVMstruct [Tsochantaridis et al. 2005, Joachims et al. 2009]: cutting planes, a batch solver."""

from __future__ import annotations

import time
from typing import cast

import numpy as np

from structsvm._dual import schedules
from structsvm._dual.one_slack import MeanOracle, OneSlackDual
from structsvm._dual.oracle import Oracle
from structsvm.machine import Machine, Patterns
from structsvm.optimizers.base import Optimizer
from structsvm.optimizers.options import SVMOptions
from structsvm.options import option, with_options
from structsvm.problem import Problem


@with_options
class SVMStruct(SVMOptions, Optimizer):
    """Cutting-plane training: add violated constraints to a working set and optimize it.

    Each epoch visits all examples and adds the constraints that are violated by more than xi + epsilon.
    Training stops after an epoch that added none: then no example is violated by more than its slack +
    epsilon. The working set is optimized whenever `new_constraints` constraints were added, and at the end
    of each epoch. 1 is exactly Algorithm 3; larger values are faster and converge to the same solution. All
    combinations of margin or slack rescaling with L1 or L2 slacks are supported if the argmax of the problem
    can find the most violated constraint.

    formulation="1-slack" is the same algorithm with one constraint for all examples together: the mean of
    the most violated constraints of the examples. It makes many epochs and needs few constraints. It stops
    when the mean violation exceeds the mean slack by at most epsilon. As with n slacks, the duality gap is
    then at most epsilon times C times the sum of the sample weights. It supports only L1 slacks;
    `partial_fit` gives each batch its own slack.

    C=inf is the hard margin (Algorithm 2), without slacks:

        min_w  ||w||^2 / 2   with  H_i(y) <= 0  for all i and y

    It needs n slacks and a separable training set. Otherwise the dual has no maximum, and `fit` raises
    ValueError as soon as the dual proves that no w has a margin of 0.0003 times the largest ||d|| / Delta.
    Its w meets the constraints up to epsilon, so `gap()` can be slightly negative.

    Cost: an argmax for each example and epoch; a step costs two differences. Theorem 3 of the thesis bounds
    the number of constraints, and so of epochs, by O(1 / epsilon^2), whatever the number of outputs.
    """

    C: float = option(
        default=1.0,
        above=0,
        choices=(np.inf,),
        help="The weight of the slacks; infinity for the hard margin.",
    )
    epsilon: float = option(
        default=0.01, above=0, help="A constraint is violated if it exceeds its slack by more than this."
    )
    new_constraints: int = option(
        default=100, low=1, help="The number of new constraints after which the working set is optimized."
    )
    epochs: int = option(default=1000, low=1, help="The largest number of passes of `fit` over the data.")
    formulation: str = option(
        default="n-slack", choices=("n-slack", "1-slack"),
        help="A slack for each example, or one for all examples together.",
    )  # fmt: skip
    _entered = _added = 0  # constraints, in all and in this epoch

    @property
    def tau(self) -> float:  # type: ignore[override]
        return 0.1 * self.epsilon

    def validate(self) -> None:
        super().validate()
        if self.formulation == "1-slack" and self.slack != "l1":
            raise ValueError("formulation='1-slack' supports only slack='l1'; use formulation='n-slack'")
        if self.formulation == "1-slack" and np.inf == self.C:
            raise ValueError("C=inf has no slacks; use formulation='n-slack'")

    def _new_oracle(self, problem: Problem) -> Patterns:
        oracle = cast(Oracle, super()._new_oracle(problem))
        return MeanOracle(oracle) if self.formulation == "1-slack" else oracle

    def _new_machine(self, oracle: Patterns, seed: int) -> Machine:
        if self.formulation == "n-slack":
            return super()._new_machine(oracle, seed)
        return OneSlackDual(cast(Oracle, oracle), C=self.C, tau=self.tau, kappa=self.kappa, seed=seed)

    def _objective(self, xi: np.ndarray, weight: np.ndarray) -> float:
        """The primal; with a hard margin, infinity unless all constraints hold up to the tolerance."""
        if np.inf > self.C:
            return super()._objective(xi, weight)
        feasible = np.all(xi[weight > 0] <= self.epsilon + self.tau)
        return float(self._fitted().norm / 2) if feasible else np.inf

    def _reset(self) -> None:
        super()._reset()
        self._entered = 0

    @property
    def n_constraints_(self) -> int:
        """The number of constraints added to the working set, including those removed later."""
        self._fitted()
        return self._entered

    def unconverged(self) -> str:
        return (
            f"SVMstruct has not converged after {self.epochs_done} epochs: the last one still added "
            f"{self._added} constraints; allow more epochs or a larger epsilon"
        )

    def _epoch(self, order: np.ndarray) -> bool:
        self._added = 0
        stopped = super()._epoch(order)
        begun = time.perf_counter()
        schedules.converge(self._dual())
        self.elapsed += time.perf_counter() - begun
        self.curve_.append(self._point())
        self._entered += self._added
        return stopped or self._added == 0

    def _visit(self, order: np.ndarray) -> None:
        self._added = schedules.cutting_plane(
            self._dual(), order, self.epsilon, self.new_constraints, self._added
        )
