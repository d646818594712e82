"""LaRank [Bordes et al. 2007, 2008]: online, and as accurate as a batch solver after one pass."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from structsvm._dual import schedules
from structsvm.optimizers.base import Callback, Optimizer
from structsvm.problem import Problem
from structsvm.validation import check_positive

GAP_EPOCHS = 1000  # the largest number of epochs of LaRankGap


class LaRank(Optimizer):
    """Solve the structured SVM by sequential minimal optimization, mostly on support patterns.

    Each new pattern gets one PROCESSNEW. Then support patterns, drawn at random, are reprocessed:

    schedule="fixed": n_reprocess times (1 PROCESSOLD + 10 OPTIMIZE) after each pattern (Algorithm 21);
    schedule="adaptive": steps are drawn by their running ratio of dual gain to cost (Algorithm 22). The cost
    is counted in multiply-adds, so a seed gives the same model everywhere; clock="wall" measures time.

    epochs: the number of passes of `fit` over the data, each in a new random order. gap_tolerance: make
    passes until primal - dual is below this value, or below C for "C" (LaRankGap). tau: a step needs a
    difference of gradients of more than tau; tau is lowered if the requested gap requires it. kappa: an
    output can be decreased only if its coefficient is at least kappa C.

    An epoch over n patterns costs at most n (1 + 11 n_reprocess) steps and n (1 + n_reprocess) argmax
    computations.
    """

    RANGES: ClassVar[dict[str, Any]] = Optimizer.RANGES | {
        "schedule": ("fixed", "adaptive"), "clock": ("cost", "wall"), "n_reprocess": range(10_001),
        "mu": float, "epochs?": 1,
    }  # fmt: skip

    def __init__(
        self,
        problem: Problem,
        *,
        C: float = 1.0,
        schedule: str = "fixed",
        n_reprocess: int = 1,
        epochs: int | None = None,
        gap_tolerance: float | str | None = None,
        rescaling: str = "margin",
        slack: str = "l1",
        tau: float = 1e-4,
        kappa: float = 1e-10,
        mu: float = 0.05,
        clock: str = "cost",
        random_state: Any = 0,
        callback: Callback | None = None,
    ) -> None:
        super().__init__(problem, random_state=random_state, callback=callback)
        self.C = C
        self.schedule = schedule
        self.n_reprocess = n_reprocess
        self.epochs = epochs
        self.gap_tolerance = gap_tolerance
        self.rescaling = rescaling
        self.slack = slack
        self.tau = tau
        self.kappa = kappa
        self.mu = mu
        self.clock = clock
        self._rates = np.ones(3)  # dual gain over cost of the three operations, for the adaptive schedule

    def validate(self) -> None:
        super().validate()
        if self.clock == "cost" and self.mu > 1:
            raise ValueError(f"mu is a share of the best ratio and at most 1, not {self.mu!r}")
        if self.gap_tolerance is not None and self.gap_tolerance != "C":
            check_positive(gap_tolerance=self.gap_tolerance)

    @property
    def _tolerance(self) -> float | None:
        """The gap at which training ends; None if the number of passes decides."""
        return self.C if self.gap_tolerance == "C" else self.gap_tolerance  # type: ignore[return-value]

    @property
    def _most_epochs(self) -> int:
        return self.epochs or (1 if self._tolerance is None else GAP_EPOCHS)

    def _pass(self) -> bool:
        stopped = super()._pass()
        return stopped if self._tolerance is None else self._within_gap(stopped, self._tolerance)

    def _within_gap(self, stopped: bool, tolerance: float) -> bool:
        """Whether the gap is below the tolerance, or the callback has stopped the pass."""
        machine = self._fitted()
        if not stopped and machine.primal_bound() - self.dual_ >= tolerance:
            return False
        primal = self._objective(machine.slacks(self._held, True), self._weight)
        self.curve_.append(self._point(primal))
        return stopped or primal - self.dual_ < tolerance

    def unconverged(self) -> str:
        if self._tolerance is None:
            return ""
        return (
            f"LaRank's duality gap is {self.gap():.3g} after {self._most_epochs} epochs, above the "
            f"gap_tolerance of {self._tolerance:.3g}: allow more epochs or a larger gap_tolerance"
        )

    def _epoch(self, order: np.ndarray) -> bool:
        tau, tolerance = self.tau, self._tolerance
        if tolerance is not None and order is not self._held:
            # Steps below tau are not taken, which can leave a gap of tau for each unit of C.
            tau = min(tau, 0.1 * tolerance / (self.C * self._weight.sum()))
        self._fitted().tau = tau
        return super()._epoch(order)

    def _visit(self, order: np.ndarray) -> None:
        self._steps(self._machine, order, self._rates)

    def _steps(self, dual: Any, slots: np.ndarray, rates: np.ndarray) -> None:
        """Run the schedule on slots of a dual."""
        if self.schedule == "fixed":
            schedules.fixed(dual, slots, self.n_reprocess)
        else:
            schedules.adaptive(dual, slots, rates, self.mu, self.clock == "wall")

    def _reset(self) -> None:
        super()._reset()
        self._rates = np.ones(3)

    def _progress(self) -> dict[str, np.ndarray]:
        return super()._progress() | {"rates": self._rates.copy()}

    def _set_progress(self, state: dict[str, np.ndarray]) -> None:
        rates = np.array(state.get("rates", np.ones(3)), np.float64)
        if rates.shape != (3,) or not np.all(np.isfinite(rates) & (rates > 0)):
            raise ValueError("the training state has impossible rates")
        super()._set_progress(state)
        self._rates = rates


class PassiveAggressive(Optimizer):
    """The passive-aggressive algorithm (PA-I, similar to MIRA): LaRank without reprocessing.

    Each visit makes one step, whose size maximises the dual. On later visits of a pattern its own
    coefficients change too, so the dual stays feasible and later epochs still increase it.
    """

    RANGES: ClassVar[dict[str, Any]] = Optimizer.RANGES | {"epochs": 1}

    def __init__(
        self,
        problem: Problem,
        *,
        C: float = 1.0,
        epochs: int = 1,
        rescaling: str = "margin",
        slack: str = "l1",
        random_state: Any = 0,
        callback: Callback | None = None,
    ) -> None:
        super().__init__(problem, random_state=random_state, callback=callback)
        self.C = C
        self.epochs = epochs
        self.rescaling = rescaling
        self.slack = slack
