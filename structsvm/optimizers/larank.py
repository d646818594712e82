"""LaRank [Bordes et al. 2007, 2008]: online, and as accurate as a batch solver after one pass."""

from __future__ import annotations

import numpy as np

from structsvm._dual import schedules
from structsvm._dual.dual import Dual
from structsvm.files.codec import TINY, Array, Field, Table
from structsvm.optimizers.base import Optimizer
from structsvm.optimizers.options import SVMOptions
from structsvm.optimizers.saved import read
from structsvm.options import option, with_options

GAP_EPOCHS = 1000  # the largest number of epochs of LaRankGap
MOST_REPROCESS = 10_000
SCHEDULES = ("fixed", "adaptive")
RATES = Table(
    Field("rates", Array(np.float64, 3, low=TINY), "the rates of the adaptive schedule", default=np.ones(3))
)


@with_options
class LaRank(SVMOptions, Optimizer):
    """Solve the structured SVM by sequential minimal optimization, mostly on support patterns.

    Each new pattern gets one PROCESSNEW. Then support patterns, drawn at random, are reprocessed:

    schedule="fixed": n_reprocess times (1 PROCESSOLD + 10 OPTIMIZE) after each pattern (Algorithm 21);
    schedule="adaptive": steps are drawn by their running ratio of dual gain to cost (Algorithm 22).

    An epoch over n patterns costs at most n (1 + 11 n_reprocess) steps and n (1 + n_reprocess) argmax
    computations.
    """

    schedule: str = option(default="fixed", choices=SCHEDULES, help="How the next step is chosen.")
    n_reprocess: int = option(
        default=1, low=0, high=MOST_REPROCESS, help="How often the fixed schedule reprocesses."
    )
    epochs: int | None = option(
        default=None, low=1,
        help="The passes of `fit` over the data, each in a new random order. The default is one, or at most "
        f"{GAP_EPOCHS} with a gap_tolerance.",
    )  # fmt: skip
    gap_tolerance: float | str | None = option(
        default=None, above=0, choices=("C",),
        help="Make passes until primal - dual is below this value, or below C for C (LaRankGap).",
    )  # fmt: skip
    tau: float = option(
        default=1e-4, above=0,
        help="A step needs a difference of gradients of more than this; it is lowered if the requested gap "
        "requires it.",
    )  # fmt: skip
    kappa: float = option(
        default=1e-10, above=0, help="An output can be decreased only if its coefficient is at least kappa C."
    )
    mu: float = option(
        default=0.05, above=0,
        help="The adaptive schedule draws each step at least with this share of the best ratio.",
    )  # fmt: skip
    clock: str = option(
        default="cost", choices=("cost", "wall"),
        help="What the adaptive schedule measures: multiply-adds, so that a seed gives the same model "
        "everywhere, or time.",
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        self._rates = np.ones(3)  # dual gain over cost of the three operations, for the adaptive schedule

    def validate(self) -> None:
        super().validate()
        if self.clock == "cost" and self.mu > 1:
            raise ValueError(f"mu is a share of the best ratio and at most 1, not {self.mu!r}")

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
        machine = self._machine
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
        self._machine.tau = tau
        return super()._epoch(order)

    def _visit(self, order: np.ndarray) -> None:
        self._steps(self._dual(), order, self._rates)

    def _steps(self, dual: Dual, slots: np.ndarray, rates: np.ndarray) -> None:
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
        rates = read(RATES, state)["rates"]
        super()._set_progress(state)
        self._rates = rates.copy()


@with_options
class PassiveAggressive(SVMOptions, Optimizer):
    """The passive-aggressive algorithm (PA-I, similar to MIRA): LaRank without reprocessing.

    Each visit makes one step, whose size maximises the dual. On later visits of a pattern its own
    coefficients change too, so the dual stays feasible and later epochs still increase it.
    """

    epochs: int = option(default=1, low=1, help="The passes of `fit` over the data.")
