"""`plot_curve`: the training curve of an optimizer as a picture; it needs Matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np


def plot_curve(model: Any, *, rho: float | None = None) -> Any:
    """Draw the dual and the loss before learning against the epochs; returns Matplotlib's figure.

    Parameters
    ----------
    model
        A fitted optimizer or `LaRankClassifier`.
    rho
        The largest ||Phi(x, y) - Phi(x, y')||^2, which is 2 max ||x||^2 for `Multiclass` (1 more for each
        constant feature). With it, the picture shows the bound on the loss before learning; see
        `regret_bound`.
    """
    from matplotlib.figure import Figure

    curve = getattr(model, "optimizer_", model).curve_
    if not curve:
        raise ValueError("the training curve is empty; call fit first")
    n = max(point.seen for point in curve)
    epochs = np.array([point.epoch + point.seen / n for point in curve])
    figure = Figure(figsize=(9, 3.5), layout="constrained")
    objective, loss = figure.subplots(1, 2)
    objective.plot(epochs, [point.dual for point in curve], label="dual")
    primal = [(x, point.primal) for x, point in zip(epochs, curve, strict=True) if np.isfinite(point.primal)]
    if primal:
        objective.plot(*zip(*primal, strict=True), "o", label="primal")
    loss.plot(epochs, [point.progressive for point in curve], label="loss before learning")
    if rho is not None:
        loss.axhline(regret_bound(model, rho), linestyle="--", label="bound (Theorem 10)")
    for axes in (objective, loss):
        axes.set_xlabel("epochs")
        axes.legend()
    return figure


def regret_bound(model: Any, rho: float) -> float:
    """The bound of Theorem 10 on the mean loss before learning: P(w) / (n C) + rho C / 2.

    P is the primal on the data of `fit`, at the current w. The theorem is about one pass of LaRank with
    margin rescaling and L1 slacks.
    """
    optimizer = getattr(model, "optimizer_", model)
    n = max(point.seen for point in optimizer.curve_)
    return float(model.primal() / (n * optimizer.C) + rho * optimizer.C / 2)
