"""Sections of the report page about the model: transitions, features, training curve."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

from taggers.conlleval import phrases
from taggers.labels import schemes
from taggers.model import TaggerModel
from taggers.report.errors import type_of
from taggers.report.page import folded, heat, table

TYPES = 12  # rows of the small matrix of transitions
MOST_LABELS = 100  # rows of the full one: it grows with their square
LABELS = 24  # labels with their features before the rest is folded away
WIDTH, HEIGHT, MARGIN = 230, 120, 22


def label_table(model: TaggerModel, order: Sequence[int]) -> tuple[str, ...]:
    """The labels and how many weights each has."""
    counts = np.bincount(model.weights.cells["label"], minlength=len(model.labels)).tolist()
    rows = [
        f'<tr><th scope="row">{escape(model.labels[k])}</th><td>{counts[k]:,}</td></tr>'
        for k in sorted(order, key=lambda k: (-counts[k], model.labels[k]))
    ]
    return (
        "Labels by the number of their weights; add a labelled file with --test for scores and errors.",
        table(("label", "weights"), rows),
    )


def transitions(model: TaggerModel, order: Sequence[int]) -> tuple[str, ...]:
    """Weights of neighbouring labels: by phrase type, or of the most frequent labels; all of them folded."""
    n = len(model.labels)
    if not model.problem().history or not n:
        return ("",)
    weights = model.weights[: n + 1]
    full = list(order[:MOST_LABELS])
    names = [model.labels[k] for k in full]
    matrix = heat([*names, "start"], names, weights[[*full, n]][:, full], ".2f")
    kind = "labels" if model.labels.inner == "none" else f"{model.labels.inner} labels"
    shown = f"all {n} {kind}" if n <= MOST_LABELS else f"the {MOST_LABELS} most frequent of {n:,} {kind}"
    if model.labels.inner != "none":
        return (
            "Mean weight of a phrase type (column) directly after another one (row). Blue favours, orange "
            "discourages; O is a word outside phrases.",
            _by_type(model, weights, order),
            folded(f"Show the weights of {shown}", matrix),
        )
    note = "Weight of a label (column) directly after another one (row). Blue favours, orange discourages."
    if n <= TYPES:
        return note, matrix
    few = full[:TYPES]
    names = [model.labels[k] for k in few]
    return (
        f"{note} These are the {TYPES} most frequent labels.",
        heat([*names, "start"], names, weights[[*few, n]][:, few], ".2f"),
        folded(f"Show the weights of {shown}", matrix),
    )


def _by_type(model: TaggerModel, weights: np.ndarray, order: Sequence[int]) -> str:
    """The mean over the allowed pairs of labels between which one phrase ends and the next begins."""
    first, follow, _ = schemes.allowed(model.labels, model.labels.inner)
    ok = np.vstack([follow, first])
    types = list(dict.fromkeys(type_of(model.labels[k], True) for k in order))[:TYPES]
    members: dict[str, list[int]] = {type_: [] for type_ in types}
    for k in order:
        members.get(type_of(model.labels[k], True), []).append(k)
    n = len(model.labels)
    values = np.zeros((len(types) + 1, len(types)))
    for row, before in enumerate([*types, None]):
        for column, after in enumerate(types):
            pairs = [
                weights[a, b]
                for a in ([n] if before is None else members[before])
                for b in members[after]
                if ok[a, b] and (a == n or _apart(model.labels[a], model.labels[b]))
            ]
            values[row, column] = np.mean(pairs) if pairs else 0.0
    return heat([*types, "start"], types, values, ".2f")


def _apart(label: str, after: str) -> bool:
    """Whether two neighbouring labels belong to different phrases, or one of them to none."""
    return schemes.OUTSIDE in (label, after) or len(phrases([label, after])) == 2


def strongest_features(
    model: TaggerModel, names: Sequence[str | None] | None, order: Sequence[int], top: int
) -> tuple[str, ...]:
    """For each label the features with the largest weights for it, folded behind the strongest ones."""
    cells, rows = model.weights.cells, model.weights.row_of - model.problem().history
    if not np.any(rows >= 0) or not top:
        return ("",)
    if not names or not any(names):
        return (
            "The model has no feature names. Recover them with --names train.txt, or train with "
            "--keep-names.",
            " ",
        )
    blocks = []
    for y in order:
        own = np.flatnonzero((cells["label"] == y) & (rows >= 0) & (cells["value"] > 0))
        best = own[np.argsort(-cells["value"][own], kind="stable")[:top]]
        values = cells["value"][best].tolist()
        shown = [names[row] or f"#{row}" for row in rows[best].tolist()]
        if not shown:
            continue
        lines = "".join(
            f'<li style="--s:{100 * value / values[0]:.0f}%"><span>{escape(name)}</span>'
            f"<span>{value:.3f}</span></li>"
            for name, value in zip(shown, values, strict=True)
        )
        preview = ", ".join(shown[:3])
        blocks.append(
            f"<details><summary><b>{escape(model.labels[y])}</b><span>{escape(preview)}</span></summary>"
            f"<ul>{lines}</ul></details>"
        )
    first, rest = ("".join(part) for part in (blocks[:LABELS], blocks[LABELS:]))
    return (
        f"Open a label to see its strongest {top} features.",
        f'<div class="features">{first}</div>',
        folded(f"Show {len(blocks) - LABELS} more labels", rest and f'<div class="features">{rest}</div>'),
    )


def training_curve(report: dict[str, Any]) -> tuple[str, ...]:
    """Small plots of the dual, the support patterns and the scores on held-out data."""
    curve, scores = report.get("curve") or [], report.get("dev_scores") or []
    epochs = [point[0] for point in curve]
    plots = (
        _plot(epochs, [np.nan if point[1] is None else point[1] for point in curve], "dual objective")
        + _plot(epochs, [point[2] for point in curve], "support patterns")
        + _plot(range(1, len(scores) + 1), [100 * score for score in scores], "held-out score")
    )
    return "", plots and f'<div class="curves">{plots}</div>'


def _plot(x: Iterable[float], y: Sequence[float], up: str) -> str:
    points = [(a, b) for a, b in zip(x, y, strict=True) if np.isfinite(b)]
    if len(points) < 2:
        return ""
    xs, ys = np.array(points, float).T
    low, high = float(ys.min()), float(ys.max())
    wide, tall = WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN
    left = MARGIN + wide * (xs - xs[0]) / ((xs[-1] - xs[0]) or 1)
    below = HEIGHT - MARGIN - tall * (ys - low) / ((high - low) or 1)
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(left, below, strict=True))
    floor = HEIGHT - MARGIN
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{up}">'
        f'<path d="M{MARGIN} {MARGIN}V{floor}H{WIDTH - MARGIN}" fill="none" stroke="var(--line)"/>'
        f'<polyline points="{path}" fill="none" stroke="rgb(var(--blue))" stroke-width="2"/>'
        f'<text x="{MARGIN}" y="{MARGIN - 9}">{up}, {low:,.4g} to {high:,.4g}</text>'
        f'<text x="{MARGIN}" y="{floor + 15}">{xs[0]:.3g}</text>'
        f'<text x="{WIDTH - MARGIN}" y="{floor + 15}" text-anchor="end">epoch {xs[-1]:.3g}</text></svg>'
    )
