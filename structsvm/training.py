"""`passes`: the only loop over epochs, with early stopping, the report and the callbacks of a training.

A `Learner` makes one pass at a time: an `Optimizer` in memory, slices of a file on disk, shards on a cluster.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from structsvm.files.sparse_weights import SparseRows

W = TypeVar("W")
OWN = ("structsvm", "taggers", "semparse")  # a warning names the line of your code that called these


class ConvergenceWarning(UserWarning):
    """Training stopped before it reached the requested tolerance."""


class Learner(Protocol):
    """Data, and a model of them that `passes` improves pass by pass.

    A learner maximises a dual, so that after any number of passes

        dual_ <= max dual = min primal <= primal()

    Learners without a dual, such as a perceptron, have nan as `dual_`.
    """

    @property
    def epochs_done(self) -> int:
        """The number of complete passes, those before a resumed training included."""

    @property
    def dual_(self) -> float:
        """The dual objective of all data."""

    @property
    def n_support_patterns_(self) -> int:
        """The number of patterns with a non-zero coefficient in w."""

    @property
    def n_argmax_(self) -> int:
        """Calls of the argmax during training."""

    def epoch(self) -> bool:
        """Make one more pass over the data.

        Requires: the learner has data.
        Ensures: w, `dual_` and the counts contain what the pass has learned, and `epochs_done` has grown by
        one; or the pass ended early, because a callback of the learner asked for it.
        Returns: True if training should end, because the learner has converged or a callback asked for it.
        """

    def primal(self) -> float:
        """The primal objective on all data; it takes one argmax for each pattern."""

    def weight_rows(self, n_rows: int, stride: int, n_labels: int) -> SparseRows:
        """The first rows of w in float32, `stride` weights each; rows beyond the end of w are empty."""

    def unconverged(self) -> str:
        """Why the last pass is not enough and what to do; empty if the number of passes is the only limit."""


class Pass(NamedTuple, Generic[W]):
    """A record that the callbacks of `passes` receive after each pass.

    epoch: the number of the pass, from 0. score: of this pass; nan if nothing is scored. is_best: whether the
    score is higher than those of all passes before. report: the `Report` so far, with this pass.
    """

    learner: Learner
    epoch: int
    score: float
    is_best: bool
    report: Report[W]


# A callback returns a true value to end the training; an exception is an error, and reaches the caller.
PassCallback = Callable[[Pass[W]], object]


@dataclass
class Report(Generic[W]):
    """The results of `passes`.

    epochs: the number of passes. scores: one for each pass; empty if nothing is scored. weights: those of the
    best pass, as `score` returned them; None if nothing is scored. ended: why training ended: "epochs" (all
    passes were made), "patience" (no pass has improved the score for a while), "learner" (it has converged,
    or its own callback asked for the end), "callback", or "" as long as training runs or if it was
    interrupted.
    """

    epochs: int = 0
    scores: list[float] = field(default_factory=list)
    weights: W | None = None
    ended: str = ""

    @property
    def best(self) -> int | None:
        """The number of the best pass, the first of those with the highest score; None without scores."""
        return int(np.argmax(self.scores)) if self.scores else None

    def out_of(self, patience: int | None) -> bool:
        """The rule of early stopping: whether `patience` passes have not improved the best score."""
        return patience is not None and self.best is not None and len(self.scores) - 1 - self.best >= patience


def passes(
    learner: Learner,
    *,
    epochs: int,
    score: Callable[[], tuple[float, W]] | None = None,
    patience: int | None = None,
    callbacks: Iterable[PassCallback[W]] = (),
    report: Report[W] | None = None,
) -> Report[W]:
    """Make passes over the data of a learner, until one of the reasons of `Report.ended` ends them.

    After each pass the score is computed, the report updated, and each callback called, in this order.

    Parameters
    ----------
    learner : Learner
        It has its data. If an exception or Ctrl-C ends a pass, the learner keeps what it has learned, and the
        exception reaches the caller.
    epochs : int
        The largest number of passes in the report. 0 makes none.
    score : function, optional
        Measures the learner after a pass. It returns the score, where higher is better, and the weights that
        have it. Only the weights of the best pass are kept.
    patience : int, optional
        Training ends if this many passes in a row have not improved the best score.
    callbacks : functions of one `Pass`
        Each is called after every pass. Training ends after this pass if one of them returns a true value.
    report : Report, optional
        A report to continue: of a resumed training, whose scores count for `patience`, or one that you need
        even if an exception ends the training.

    Returns
    -------
    Report
        Complete; the same object as `report`, if one is given.

    Warns
    -----
    ConvergenceWarning
        If all passes were made and the learner says that it has not converged.
    """
    report = Report() if report is None else report
    report.ended = ""
    callbacks = list(callbacks)
    while not report.ended:
        if report.out_of(patience):
            report.ended = "patience"
        elif report.epochs >= epochs:
            report.ended = "epochs"
        else:
            _make_pass(learner, score, callbacks, report)
    if report.ended == "epochs" and (advice := learner.unconverged()):
        warnings.warn(advice, ConvergenceWarning, stacklevel=user_level())
    return report


def wants_primal(callback: object) -> bool:
    """Whether the attribute `primal` of a callback is true: it wants the primal at the end of each pass."""
    return bool(getattr(callback, "primal", False))


def _make_pass(
    learner: Learner,
    score: Callable[[], tuple[float, W]] | None,
    callbacks: list[PassCallback[W]],
    report: Report[W],
) -> None:
    ended, value, is_best = learner.epoch(), np.nan, False
    report.epochs += 1
    if score is not None:
        value, weights = score()
        is_best = report.weights is None or value > max(report.scores, default=-np.inf)
        report.scores.append(value)
        if is_best:
            report.weights = weights
    done = Pass(learner, report.epochs - 1, value, is_best, report)
    asked = [bool(callback(done)) for callback in callbacks]
    report.ended = "learner" if ended else "callback" if any(asked) else ""


def user_level() -> int:
    """The `stacklevel` with which the caller warns about the first line outside of these packages."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in OWN:
        level, frame = level + 1, frame.f_back
    return level
