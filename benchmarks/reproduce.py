"""Run experiments of the papers and write Markdown, JSON and figures that compare their numbers with ours."""

from __future__ import annotations

import json
import os
import re
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from benchmarks.experiment import Experiment, Figure, Outcome, Row, experiments
from benchmarks.harness import figure, machine, mean_spread, table
from corpora.registry import ENVIRONMENT_VARIABLE, CorpusMissing, find
from structsvm.files.atomic import atomic_write

NEAR = 0.03  # the relative difference that counts as a match


def chosen(names: Iterable[str]) -> list[Experiment]:
    """Return the experiments with these names."""
    import difflib

    known = experiments()
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, 3)
            hint = f"did you mean {' or '.join(near)}" if near else "--list shows all names"
            raise ValueError(f"unknown experiment {name!r}; {hint}")
    return [known[name] for name in dict.fromkeys(names)]


def missing_corpora(experiment: Experiment) -> list[str]:
    """Return a sentence for each missing corpus: its name and where to get it."""
    missing = []
    for corpus in experiment.corpora:
        try:
            find(corpus)
        except CorpusMissing as absent:
            missing.append(str(absent))
    return missing


def reproduce(
    experiment: Experiment,
    output: str | Path,
    *,
    quick: bool = False,
    corpora: str | Path | None = None,
) -> str:
    """Run one experiment, write its results to a folder, and return the Markdown."""
    if corpora is not None:
        os.environ[ENVIRONMENT_VARIABLE] = str(Path(corpora).resolve())  # for the processes that measure
    missing = missing_corpora(experiment)
    if missing:
        raise CorpusMissing(f"{experiment.name} needs missing corpora. {' '.join(missing)}")
    outcome = experiment.run(quick)
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{experiment.name}-quick" if quick else experiment.name
    data = {
        "experiment": experiment.name,
        "quick": quick,
        "machine": machine(),
        "rows": [asdict(row) | {"difference": difference(row)} for row in outcome.rows],
        "figures": [asdict(drawing) for drawing in outcome.figures],
        "drawn": draw(folder, name, outcome),
        "notes": outcome.notes,
    }
    text = markdown(experiment, data)
    for ending, content in ((".json", json.dumps(data, indent=1) + "\n"), (".md", text)):
        with atomic_write(folder / f"{name}{ending}") as file:
            file.write(content.encode())
    return text


def difference(row: Row) -> float | None:
    return None if row.paper is None or not row.ours else statistics.mean(row.ours) - row.paper


def verdict(row: Row, because: Mapping[str, str]) -> str:
    """Whether our mean is within 3% of the paper's number, or within two standard deviations of our runs.

    If it is not, the reason is the first of `because` whose pattern is found in the row's name and measure.

    >>> verdict(Row("LaRank", "dual", 500, [495.0, 496.0]), {})
    'matches'
    >>> verdict(Row("LaRank", "dual", 500, [400.0]), {"LaRank": "the data are fewer"})
    'differs because the data are fewer'
    """
    apart = difference(row)
    if apart is None or row.paper is None:
        return "no data"
    spread = statistics.stdev(row.ours) if len(row.ours) > 1 else 0.0
    if abs(apart) <= max(NEAR * abs(row.paper), 2 * spread):
        return "matches"
    label = f"{row.name}, {row.measure}"
    reasons = [reason for pattern, reason in because.items() if re.search(pattern, label)]
    return f"differs because {reasons[0]}" if reasons else "differs"


def kept_rows(data: Mapping[str, Any]) -> list[Row]:
    """The rows of a kept result."""
    names = [field.name for field in fields(Row)]
    return [Row(**{name: row[name] for name in names}) for row in data["rows"]]


def results_table(experiment: Experiment, data: Mapping[str, Any]) -> str:
    """The paper's numbers, ours, and a verdict for each row of a kept result."""
    header = ["", "measure", "paper", "ours", "difference", "verdict", "runs"]
    return table(header, [cells(row, experiment.because) for row in kept_rows(data)])


def markdown(experiment: Experiment, data: Mapping[str, Any]) -> str:
    """The report of a kept result."""
    quick = data["quick"]
    parts = [f"# {experiment.name}: {experiment.what}", f"Source: {experiment.source}."]
    if experiment.instead:
        parts.append(f"Replaced: {experiment.instead}")
    if quick:
        parts.append("Quick run with few seeds and small data sets: do not compare these numbers.")
    if data["rows"]:
        parts.append(results_table(experiment, data))
    parts += [f"![{name}]({name})" for name in data["drawn"]]
    if data["figures"] and not data["drawn"]:
        parts.append("The data of the figures is in the JSON file.")
    if data["notes"]:
        parts.append(data["notes"])
    command = f"python -m benchmarks reproduce {experiment.name}{' --quick' if quick else ''}"
    return "\n\n".join([*parts, f"`{command}`, {data['machine']}"]) + "\n"


def cells(row: Row, because: Mapping[str, str]) -> list[str]:
    """
    >>> cells(Row("LaRank", "dual", 500, [495.0, 496.0], digits=1, relative=True), {})
    ['LaRank', 'dual', '500', '495.5 ± 0.7', '-4.5 (-0.9%)', 'matches', '2']
    """
    apart = difference(row)
    ours = mean_spread(list(row.ours), row.digits) if row.ours else ""
    told = ""
    if apart is not None and row.paper is not None:
        told = f"{apart:+.{row.digits}f}"
        told += f" ({100 * apart / row.paper:+.1f}%)" if row.relative else ""
    paper = "" if row.paper is None else f"{row.paper:g}"
    return [row.name, row.measure, paper, ours, told, verdict(row, because), str(len(row.ours))]


def draw(folder: Path, name: str, outcome: Outcome) -> list[str]:
    """Draw all figures as SVG if Matplotlib is installed; return the names of the files."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return []
    drawn = []
    for number, drawing in enumerate(outcome.figures):
        stem = name if len(outcome.figures) == 1 else f"{name}-{number + 1}"
        draw_one(folder, stem, drawing)
        drawn.append(f"{stem}.svg")
    return drawn


def draw_one(folder: Path, stem: str, drawing: Figure) -> None:
    with figure(stem, drawing.x, drawing.y, folder=folder) as axes:
        for curve in drawing.curves:
            axes.plot(curve.x, curve.y, curve.style, label=curve.label, markersize=4)
        axes.set_title(drawing.title, fontsize="medium")
        if "x" in drawing.log:
            axes.set_xscale("log")
        if "y" in drawing.log:
            axes.set_yscale("log")
