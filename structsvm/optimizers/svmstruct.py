"""SVMstruct [Tsochantaridis et al. 2005, Joachims et al. 2009]: cutting planes, a batch solver."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from structsvm._dual import schedules
from structsvm._dual.one_slack import MeanOracle, OneSlackDual
from structsvm.optimizers.base import Optimizer
from structsvm.optimizers.curve import Callback, ConvergenceWarning
from structsvm.problem import Problem
from structsvm.validation import check_choice, check_count, check_positive


class SVMStruct(Optimizer):
    """Visit examples; a constraint violated by more than xi + epsilon enters; optimize the working set.

    It stops after an epoch in which no constraint entered: then no example is violated by more than its
    slack + epsilon. The working set is optimized whenever `new_constraints` have entered, and at the end of
    each epoch (1 is Algorithm 3 to the letter; more is faster and ends at the same place). All combinations
    of margin or slack re-scaling with L1 or L2 slacks are solved, where the problem's argmax can find their
    most violated constraint.

    formulation="1-slack" is the same algorithm with one constraint for all examples together, the mean of
    what each finds: it has many epochs, few constraints, and stops when the mean violation exceeds the mean
    slack by no more than epsilon, which bounds the duality gap as n slacks do, by epsilon times C times the
    sum of the sample weights. It has L1 slacks only; `partial_fit` gives each of its batches a slack.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        C: float = 1.0,
        epsilon: float = 0.01,
        new_constraints: int = 100,
        epochs: int = 1000,
        rescaling: str = "margin",
        slack: str = "l1",
        formulation: str = "n-slack",
        random_state: Any = 0,
        callback: Callback | None = None,
    ) -> None:
        super().__init__(problem, random_state=random_state, callback=callback)
        self.C = C
        self.epsilon = epsilon
        self.new_constraints = new_constraints
        self.epochs = epochs
        self.rescaling = rescaling
        self.slack = slack
        self.formulation = formulation
        self._entered = self._added = 0  # constraints, in all and in this epoch

    @property
    def tau(self) -> float:  # type: ignore[override]
        return 0.1 * self.epsilon

    def validate(self) -> None:
        check_positive(epsilon=self.epsilon)
        super().validate()
        check_count(new_constraints=self.new_constraints, epochs=self.epochs, low=1)

        check_choice(formulation=(self.formulation, ("n-slack", "1-slack")))
        if self.formulation == "1-slack" and self.slack != "l1":
            raise ValueError("one slack for all examples is not squared: use slack='l1', or n-slack")

    def _new_oracle(self, problem: Any) -> Any:
        oracle = super()._new_oracle(problem)
        return MeanOracle(oracle) if self.formulation == "1-slack" else oracle

    def _new_machine(self, oracle: Any, seed: int) -> Any:
        if self.formulation == "n-slack":
            return super()._new_machine(oracle, seed)
        return OneSlackDual(oracle, C=self.C, tau=self.tau, kappa=self.kappa, seed=seed)

    def _reset(self) -> None:
        super()._reset()
        self._entered = 0

    @property
    def n_constraints_(self) -> int:
        """Constraints that have entered the working set, those that left it again included."""
        self._fitted()
        return self._entered

    def _run(self, online: bool) -> None:
        for _ in range(1 if online else self.epochs or 1):
            if self._epoch(self._held if online else self._shuffled()) or online:
                return
        warnings.warn(
            f"SVMstruct still added {self._added} constraints in its epoch {self.epochs}: "
            "allow more epochs or a larger epsilon",
            ConvergenceWarning,
            stacklevel=3,
        )

    def _epoch(self, order: np.ndarray) -> bool:
        self._added = 0
        stopped = super()._epoch(order)
        begun = time.perf_counter()
        schedules.converge(self._machine)
        self.elapsed += time.perf_counter() - begun
        self.curve_.append(self._point())
        self._entered += self._added
        return stopped or self._added == 0

    def _visit(self, order: np.ndarray) -> None:
        self._added = schedules.cutting_plane(
            self._machine, order, self.epsilon, self.new_constraints, self._added
        )
