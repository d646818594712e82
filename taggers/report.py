"""A model as one self-contained HTML page: figures, curves, transitions, features, and errors on a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

from taggers.conlleval import Evaluation
from taggers.model import TaggerModel

STYLE = """
:root { color-scheme: light dark; --ink: #1d2433; --soft: #6b7489; --line: #e3e7ef; --page: #f6f7fa;
  --card: #fff; --good: 37, 99, 182; --bad: 200, 62, 62; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9f0; --soft: #9aa4b8; --line: #313949;
  --page: #12161e; --card: #1b212c; --good: 84, 146, 230; --bad: 226, 98, 98; } }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: var(--page); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 32px 24px 64px; }
h1 { font-size: 26px; margin: 0 0 4px; } h2 { font-size: 18px; margin: 0 0 12px; }
p, .soft { color: var(--soft); margin: 0 0 12px; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 20px 24px; margin-top: 20px; }
.tiles { display: flex; flex-wrap: wrap; gap: 12px; margin-top: 20px; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 12px 16px; flex: 1 1 100px; }
.tile b { display: block; font-size: 21px; } .tile span { color: var(--soft); font-size: 13px; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: 13px; }
th { font-weight: 500; color: var(--soft); padding: 3px 7px; text-align: right; white-space: nowrap; }
td { padding: 3px 7px; text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.heat td { min-width: 42px; border: 1px solid var(--card); border-radius: 4px; }
.heat th:first-child { position: sticky; left: 0; background: var(--card); z-index: 1; }
@media (max-width: 600px) { main { padding: 20px 12px 40px; } section { padding: 16px 14px; }
  .tile { flex: 1 1 40%; min-width: 0; } }
.labels { display: grid; gap: 18px 28px;
  grid-template-columns: repeat(auto-fill, minmax(min(300px, 100%), 1fr)); }
.labels h3 { font-size: 14px; margin: 0 0 4px; } .labels div div { position: relative; padding: 1px 6px;
  display: flex; justify-content: space-between; gap: 10px; font: 13px ui-monospace, monospace; }
.labels i { position: absolute; inset: 1px auto 1px 0; border-radius: 3px; z-index: 0; }
.labels span { position: relative; z-index: 1; overflow: hidden; text-overflow: ellipsis; white-space: pre; }
svg text { font: 12px system-ui, sans-serif; fill: var(--soft); }
"""
WIDTH, HEIGHT, MARGIN = 330, 170, 30


def html_report(
    model: TaggerModel,
    *,
    title: str = "model",
    names: Sequence[str | None] | None = None,
    evaluation: Evaluation | None = None,
    top: int = 10,
) -> str:
    """The page; `names` are the features', `evaluation` that of some file, `top` the features of a label."""
    sections = [
        _section("Training", _curves(model.report)),
        _section("Transitions", _transitions(model), _history_note(model)),
        _section("Strongest features", _features(model, names or model.feature_names, top)),
        _section("Errors", _errors(model, evaluation)),
    ]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>'
        f"<body><main><h1>{escape(title)}</h1><p>{escape(_summary(model))}</p>{_tiles(model, evaluation)}"
        f"{''.join(sections)}</main></body></html>\n"
    )


def _section(title: str, content: str, note: str = "") -> str:
    if not content:
        return ""
    note = f"<p>{escape(note)}</p>" if note else ""
    return f'<section><h2>{title}</h2>{note}<div class="scroll">{content}</div></section>'


def _summary(model: TaggerModel) -> str:
    how = "exact inference" if model.inference == "exact" else f"greedy inference of order {model.order}"
    scheme = "" if model.outer == "none" else f", labels in {model.outer}, learned as {model.inner}"
    return f"A sequence tagger with {how}{scheme}. Labels: {' '.join(sorted(model.names))}"


def _tiles(model: TaggerModel, evaluation: Evaluation | None) -> str:
    report = model.report
    tiles = [("features", f"{len(model.table):,}"), ("labels", str(len(model.names)))]
    tiles += [
        (name.replace("_", " "), f"{report[name]:,}")
        for name in ("sentences", "tokens", "epochs", "support_patterns")
        if report.get(name) is not None
    ]
    if evaluation is not None:
        tiles.append(("accuracy", f"{100 * evaluation.accuracy:.2f}%"))
        if evaluation.phrases.gold:
            tiles.append(("F1", f"{100 * evaluation.f1:.2f}"))
    cells = (f'<div class="tile"><b>{value}</b><span>{name}</span></div>' for name, value in tiles)
    return f'<div class="tiles">{"".join(cells)}</div>'


def _curves(report: dict[str, Any]) -> str:
    curve, scores = report.get("curve") or [], report.get("dev_scores") or []
    passes = [point[0] for point in curve]
    return (
        _plot(passes, [np.nan if point[1] is None else point[1] for point in curve], "passes", "dual")
        + _plot(passes, [point[2] for point in curve], "passes", "support patterns")
        + _plot(range(1, len(scores) + 1), [100 * score for score in scores], "passes", "held-out score")
    )


def _plot(x: Iterable[float], y: Sequence[float], across: str, up: str) -> str:
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
        f'<svg width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{up}">'
        f'<path d="M{MARGIN} {MARGIN}V{floor}H{WIDTH - MARGIN}" fill="none" stroke="var(--line)"/>'
        f'<polyline points="{path}" fill="none" stroke="rgb(var(--good))" stroke-width="2"/>'
        f'<text x="{MARGIN}" y="{MARGIN - 12}">{up}, {low:,.4g} to {high:,.4g}</text>'
        f'<text x="{MARGIN}" y="{floor + 18}">{xs[0]:.3g}</text>'
        f'<text x="{WIDTH - MARGIN}" y="{floor + 18}" text-anchor="end">{xs[-1]:.3g} {across}</text></svg>'
    )


def _history_note(model: TaggerModel) -> str:
    return "Weight of a label (column) after another (row)" + (
        "." if model.inference == "exact" else ", the label directly before."
    )


def _transitions(model: TaggerModel) -> str:
    n = len(model.labels)
    if not model.problem().history:
        return ""
    order = sorted(range(n), key=lambda k: (model.labels[k].partition("-")[2], model.labels[k]))
    names = [model.labels[k] for k in order]
    return _heat([*names, "start"], names, model.weights[[*order, n]][:, order], ".2f")


def _errors(model: TaggerModel, evaluation: Evaluation | None) -> str:
    if evaluation is None or not evaluation.errors:
        return ""
    labels = sorted({label for pair in evaluation.errors for label in pair})
    place = {label: k for k, label in enumerate(labels)}
    counts = np.zeros((len(labels), len(labels)))
    for (gold, predicted), count in evaluation.errors.items():
        counts[place[gold], place[predicted]] = count
    return (
        "<p>How often a label (row) was taken for another (column).</p>"
        + _heat(labels, labels, counts, ".0f")
        + f'<p style="margin-top:16px">By type</p>{_types(evaluation)}'
    )


def _types(evaluation: Evaluation) -> str:
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{100 * c.precision:.2f}</td><td>{100 * c.recall:.2f}</td>"
        f"<td>{100 * c.f1:.2f}</td><td>{c.gold}</td></tr>"
        for name, c in sorted(evaluation.types.items())
    )
    return (
        f"<table><tr><th></th><th>precision</th><th>recall</th><th>F1</th><th>phrases</th></tr>{rows}</table>"
    )


def _heat(rows: Sequence[str], columns: Sequence[str], values: np.ndarray, form: str) -> str:
    """A table coloured by size, blue above zero and red below; what rounds to zero is left out."""
    largest = float(np.abs(values).max(initial=0)) or 1.0
    lines = ["<tr><th></th>" + "".join(f"<th>{escape(name)}</th>" for name in columns) + "</tr>"]
    for name, line in zip(rows, values.tolist(), strict=True):
        cells = []
        for value in line:
            shade = abs(value) / largest
            ink = "#fff" if shade > 0.6 else "inherit"
            text = format(value, form)
            text = "" if float(text) == 0 else text
            tone = "good" if value > 0 else "bad"
            cells.append(f'<td style="background:rgba(var(--{tone}),{shade:.2f});color:{ink}">{text}</td>')
        lines.append(f"<tr><th>{escape(name)}</th>{''.join(cells)}</tr>")
    return f'<table class="heat">{"".join(lines)}</table>'


def _features(model: TaggerModel, names: Sequence[str | None] | None, top: int) -> str:
    """For each label the features with the largest weights for it."""
    cells, rows = model.weights.cells, model.weights.row_of - model.problem().history
    if not np.any(rows >= 0) or not top:
        return ""
    blocks = []
    for y, label in enumerate(model.labels):
        own = np.flatnonzero((cells["label"] == y) & (rows >= 0))
        best = own[np.argsort(-cells["value"][own], kind="stable")[:top]]
        values = cells["value"][best].tolist()
        lines = []
        for row, value in zip(rows[best].tolist(), values, strict=True):
            name = (names[row] if names else None) or f"#{row}"
            width = 100 * max(value, 0.0) / values[0]
            lines.append(
                f'<div><i style="width:{width:.0f}%;background:rgba(var(--good),.16)"></i>'
                f"<span>{escape(name)}</span><span>{value:.3f}</span></div>"
            )
        blocks.append(f"<div><h3>{escape(label)}</h3>{''.join(lines)}</div>")
    return f'<div class="labels">{"".join(blocks)}</div>'
