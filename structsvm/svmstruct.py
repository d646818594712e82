"""SVMstruct [Tsochantaridis et al. 2005]: n-slack cutting planes, a batch solver to compare with."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from structsvm import _schedules
from structsvm._dual_optimizer import DualOptimizer
from structsvm._training import Callback, ConvergenceWarning
from structsvm.problem import Problem
from structsvm.validation import check_count, check_positive


class SVMStruct(DualOptimizer):
    """Visit examples; a constraint violated by more than xi + epsilon enters; optimize the working set.

    It stops after an epoch in which no constraint entered: then no example is violated by more than its
    slack + epsilon. The working set is optimized whenever `new_constraints` have entered, and at the end of
    each epoch (1 is Algorithm 3 to the letter; more is faster and ends at the same place). All combinations
    of margin or slack re-scaling with L1 or L2 slacks are solved, where the problem's argmax can find their
    most violated constraint.
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
        self.kappa = 1e-10

    @property
    def tau(self) -> float:  # type: ignore[override]
        return 0.1 * self.epsilon

    def _check(self) -> None:
        check_positive(epsilon=self.epsilon)
        super()._check()
        check_count(new_constraints=self.new_constraints, epochs=self.epochs, low=1)

    def _run(self, online: bool) -> None:
        for _ in range(1 if online else self.epochs):
            if self._epoch(self._held if online else self._shuffled()) or online:
                return
        warnings.warn(
            f"SVMstruct still added {self._added} constraints in its epoch {self.epochs}: "
            "allow more epochs or a larger epsilon",
            ConvergenceWarning,
            stacklevel=4,
        )

    def _epoch(self, order: np.ndarray) -> bool:
        self._added = 0
        stopped = self._pass(order)
        begun = time.perf_counter()
        _schedules.converge(self._machine)
        self._elapsed += time.perf_counter() - begun
        self.curve_.append(self._point())
        return stopped or self._added == 0

    def _slice(self, order: np.ndarray, at: int) -> None:
        self._added = _schedules.cutting_plane(
            self._machine, order, self.epsilon, self.new_constraints, self._added
        )
