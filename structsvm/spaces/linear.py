"""`LinearSpace`: w is an array of numbers, or its non-zero blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from structsvm._dual.linear import LinearDual
from structsvm._dual.oracle import Oracle
from structsvm.machine import Inputs, Machine, Patterns
from structsvm.problem import Problem
from structsvm.spaces.base import Space

if TYPE_CHECKING:
    from structsvm.problems.multiclass import LinearInputs


class LinearSpace(Space):
    """Joint features have indices, and w has a weight for each of them."""

    def oracle(self, problem: Problem, *, rescaling: str, slack: str) -> Patterns:
        oracle: Oracle = problem.oracle()
        oracle.configure(rescaling=rescaling, slack=slack)
        return oracle

    def machine(self, oracle: Patterns, *, C: float, tau: float, kappa: float, seed: int) -> Machine:
        return LinearDual(cast(Oracle, oracle), C=C, tau=tau, kappa=kappa, seed=seed)

    def predict(self, problem: Problem, machine: Machine, X: Inputs) -> Any:
        return problem.predict(X, machine.weights)

    def scores(self, problem: Problem, machine: Machine, X: Inputs) -> np.ndarray:
        return cast("LinearInputs", problem).scores(X, machine.weights)


LINEAR = LinearSpace()
