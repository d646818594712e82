"""Run experiments of the papers and write Markdown, JSON and figures that compare their numbers with ours."""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

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
    drawn = draw(folder, name, outcome)
    text = markdown(experiment, outcome, drawn, quick)
    data = {
        "experiment": experiment.name,
        "quick": quick,
        "machine": machine(),
        "rows": [asdict(row) | {"difference": difference(row)} for row in outcome.rows],
        "figures": [asdict(drawing) for drawing in outcome.figures],
    }
    for ending, content in ((".json", json.dumps(data, indent=1) + "\n"), (".md", text)):
        with atomic_write(folder / f"{name}{ending}") as file:
            file.write(content.encode())
    return text


def difference(row: Row) -> float | None:
    return None if row.paper is None or not row.ours else statistics.mean(row.ours) - row.paper


def verdict(row: Row) -> str:
    """Whether our mean is within 3% of the paper's number, or within two standard deviations of our runs.

    >>> verdict(Row("LaRank", "dual", 500, [495.0, 496.0])), verdict(Row("LaRank", "dual", 500, [400.0]))
    ('matches', 'differs')
    """
    apart = difference(row)
    if apart is None or row.paper is None:
        return "no data"
    spread = statistics.stdev(row.ours) if len(row.ours) > 1 else 0.0
    return "matches" if abs(apart) <= max(NEAR * abs(row.paper), 2 * spread) else "differs"


def markdown(experiment: Experiment, outcome: Outcome, drawn: list[str], quick: bool) -> str:
    """Return the report of one experiment."""
    parts = [f"# {experiment.name}: {experiment.what}", f"Source: {experiment.source}."]
    if experiment.instead:
        parts.append(f"Replaced: {experiment.instead}")
    if quick:
        parts.append("Quick run with few seeds and small data sets: do not compare these numbers.")
    if outcome.rows:
        header = ["", "measure", "paper", "ours", "difference", "verdict", "runs"]
        parts.append(table(header, [cells(row) for row in outcome.rows]))
    parts += [f"![{name}]({name})" for name in drawn]
    if outcome.figures and not drawn:
        parts.append('The figures are not drawn; their data is in the JSON file. Run: pip install matplotlib')
    if outcome.notes:
        parts.append(outcome.notes)
    command = f"python -m benchmarks reproduce {experiment.name}{' --quick' if quick else ''}"
    return "\n\n".join([*parts, f"`{command}`, {machine()}"]) + "\n"


def cells(row: Row) -> list[str]:
    """
    >>> cells(Row("LaRank", "dual", 500, [495.0, 496.0], digits=1, relative=True))
    ['LaRank', 'dual', '500', '495.5 ± 0.7', '-4.5 (-0.9%)', 'matches', '2']
    """
    apart = difference(row)
    ours = mean_spread(list(row.ours), row.digits) if row.ours else ""
    told = ""
    if apart is not None and row.paper is not None:
        told = f"{apart:+.{row.digits}f}"
        told += f" ({100 * apart / row.paper:+.1f}%)" if row.relative else ""
    paper = "" if row.paper is None else f"{row.paper:g}"
    return [row.name, row.measure, paper, ours, told, verdict(row), str(len(row.ours))]


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
