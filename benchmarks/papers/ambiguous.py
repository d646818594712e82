"""Table 6.1, figures 6.3 and 6.4 of Bordes' thesis: simulated worlds, measured by `benchmarks.ambiguity`."""

from __future__ import annotations

import statistics

from benchmarks.ambiguity import FIRST, HOUSES, LEVELS, POINTS, READING, SEEDS, STRATEGIES, TABLE_6_1
from benchmarks.experiment import BORDES, Curve, Figure, Outcome, Row, experiment
from benchmarks.harness import measurements

MODULE = "benchmarks.ambiguity"
SIMULATED = "the thesis' simulated sentences, of which none are published, by those of our own simulator."
SHOWN = (100, 400, 1000, 2000)


@experiment("table-6.1", "F1 of OSPAS on AmbigChild-World", source=BORDES, instead=SIMULATED)
def table_6_1(quick: bool) -> Outcome:
    rows = []
    for level in LEVELS:
        for method, paper in (("paper", TABLE_6_1[level][1]), ("default", None)):
            seeds = range(FIRST, FIRST + (1 if quick else SEEDS))
            jobs = [{"level": level, "seed": seed, "method": method} for seed in seeds]
            found = [run["f1"] for run in measurements(MODULE, jobs)]
            name = "OSPAS" if method == "paper" else "Ospas(), our default"
            rows.append(Row(f"{name}, level {level}", "F1", paper, found, digits=3))
    return Outcome(rows, notes="KRISPER in the thesis: 0.940, 0.935, 0.895, 0.815 for levels 0 to 3.")


def house(lines: dict[str, dict[str, object]], quick: bool) -> Outcome:
    """Curves of the alignment error in the simulated house."""
    curves, rows = [], []
    for label, job in lines.items():
        seeds = range(FIRST, FIRST + (1 if quick else HOUSES))
        runs = measurements(MODULE, [{**job, "seed": seed} for seed in seeds])
        columns = list(zip(*(run["errors"] for run in runs), strict=True))
        curves.append(Curve(label, POINTS, [statistics.mean(column) for column in columns], style="-"))
        for n in SHOWN:
            rows.append(Row(f"{label}, {n} sentences", "error %", None, columns[POINTS.index(n)], digits=1))
    return Outcome(
        rows,
        [Figure("training sentences", "alignment error, %", curves)],
        notes=f"The thesis prints curves without numbers: compare that all fall, and their order. {READING}",
    )


@experiment("figure-6.3", "AmbigHouse: error by level of ambiguity", source=BORDES, instead=SIMULATED)
def figure_6_3(quick: bool) -> Outcome:
    return house({f"level {n}": {"level": n, "strategy": "random"} for n in LEVELS}, quick)


@experiment("figure-6.4", "AmbigHouse, level 3: error by strategy", source=BORDES, instead=SIMULATED)
def figure_6_4(quick: bool) -> Outcome:
    return house({name: {"level": 3, "strategy": name} for name in STRATEGIES}, quick)
