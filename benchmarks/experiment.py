"""Define the experiments of `python -m benchmarks reproduce`: name, description, corpora and function.

To add one, write a module in `benchmarks/papers` (all modules there are found):

    from benchmarks.experiment import BORDES, Outcome, Row, experiment
    from benchmarks.harness import measurements

    PAPER = {"LaRank": 95.82, "PA": 95.15}          # the paper's numbers, as data

    def measure(method: str, seed: int) -> dict:    # runs in its own process: import heavy modules here
        ...
        return {"accuracy": 95.7}

    @experiment("table-5.5", "Accuracy of exact inference", source=BORDES, corpora=("conll2000",))
    def table_5_5(quick: bool) -> Outcome:
        rows = []
        for method, paper in PAPER.items():
            jobs = [{"method": method, "seed": seed} for seed in range(1 if quick else 5)]
            runs = measurements(__name__, jobs)
            rows.append(Row(method, "accuracy %", paper, [run["accuracy"] for run in runs]))
        return Outcome(rows, notes="How to read the table.")

`python -m benchmarks reproduce table-5.5` then checks the corpora, runs the experiment, prints the paper's
number next to ours with the difference, and writes Markdown, JSON and figures. A figure is data (`Figure`,
with a `Curve` for each line) and is drawn as SVG. With `quick`, use one seed and small data sets so that it
takes at most half a minute. Names are those of Bordes' thesis (`table-5.5`, `figure-5.3`); other sources get
a prefix (`svmstruct-table-4.2`, `lasvm-table-1`). If a corpus of the paper cannot be obtained, `instead` says
what replaces it. If a number differs from the paper's, `because` says why: it maps patterns of the row's name
and measure to reasons with their evidence. `measurements` never measures the same job twice, so tables can
share runs.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

BORDES = "A. Bordes, New algorithms for large-scale support vector machines, thesis, 2010"
TSOCHANTARIDIS = (
    "I. Tsochantaridis, Support vector machine learning for interdependent and structured output spaces, "
    "thesis, 2005"
)
LASVM = "A. Bordes et al., Fast kernel classifiers with online and active learning, JMLR 2005"


@dataclass(frozen=True)
class Row:
    """One number of a paper (None if it has none) and ours, one for each seed or fold."""

    name: str
    measure: str
    paper: float | None
    ours: Sequence[float]
    digits: int = 2
    relative: bool = False  # also show the difference in percent


@dataclass(frozen=True)
class Curve:
    """A line of a figure; its style is Matplotlib's (`"o"` for points alone)."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    style: str = "o-"


@dataclass(frozen=True)
class Figure:
    """A drawing: the labels of its axes, and what is on them."""

    x: str
    y: str
    curves: Sequence[Curve]
    title: str = ""
    log: str = ""  # which axes are logarithmic: "x", "y" or "xy"


@dataclass(frozen=True)
class Outcome:
    """The results of an experiment: numbers, drawings, and notes on how to read them."""

    rows: Sequence[Row] = ()
    figures: Sequence[Figure] = ()
    notes: str = ""


@dataclass(frozen=True)
class Experiment:
    """An entry of `python -m benchmarks reproduce --list`."""

    name: str
    what: str
    source: str
    corpora: tuple[str, ...]
    instead: str
    because: Mapping[str, str]  # a pattern of rows, and why their numbers differ from the paper's
    run: Callable[[bool], Outcome] = field(repr=False)


REGISTRY: dict[str, Experiment] = {}


def experiment(
    name: str,
    what: str,
    *,
    source: str,
    corpora: Sequence[str] = (),
    instead: str = "",
    because: Mapping[str, str] | None = None,
) -> Callable[[Callable[[bool], Outcome]], Callable[[bool], Outcome]]:
    """Register a function of `quick` as the experiment of this name."""

    def register(run: Callable[[bool], Outcome]) -> Callable[[bool], Outcome]:
        if name in REGISTRY and REGISTRY[name].run.__module__ != run.__module__:
            raise ValueError(f"two modules have an experiment {name!r}")
        REGISTRY[name] = Experiment(name, what, source, tuple(corpora), instead, because or {}, run)
        return run

    return register


def experiments() -> dict[str, Experiment]:
    """All experiments of `benchmarks.papers`, in the order of their sources and numbers."""
    from benchmarks import papers

    for module in pkgutil.iter_modules(papers.__path__):
        importlib.import_module(f"{papers.__name__}.{module.name}")
    return dict(sorted(REGISTRY.items(), key=lambda entry: (entry[1].source, in_order(entry[0]))))


def in_order(name: str) -> list[tuple[int, int, str]]:
    """
    >>> sorted(["table-5.10", "figure-5.3", "table-5.2", "table-C.2"], key=in_order)
    ['table-5.2', 'table-5.10', 'table-C.2', 'figure-5.3']
    """
    parts = re.findall(r"\d+|[^\d]+", name.replace("table", "1table").replace("figure", "2figure"))
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts]
