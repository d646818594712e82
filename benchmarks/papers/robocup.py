"""Table 6.2 of Bordes' thesis: parsing RoboCup commentaries, measured by `benchmarks.semparse`."""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks.experiment import BORDES, Outcome, Row, experiment
from benchmarks.harness import measurements

PAPER = {"gold": 0.871, "ambiguous": 0.737}
METHODS: dict[str, dict[str, Any]] = {"OSPAS": {"algorithm": "paper"}, "Ospas(), our default": {}}
GAMES = range(4)


@experiment("table-6.2", "F1 of OSPAS on RoboCup commentaries", source=BORDES, corpora=("robocup",))
def table_6_2(quick: bool) -> Outcome:
    seeds = 1 if quick else 10
    rows = []
    for name, options in METHODS.items():
        for supervision, paper in PAPER.items():
            jobs = [
                {"train": [k for k in GAMES if k != fold], "test": fold, "supervision": supervision,
                 "options": options, "seeds": seeds, "saliences": []}
                for fold in GAMES
            ]  # fmt: skip
            folds = [run["parsing"] for run in measurements("benchmarks.semparse", jobs)]
            means = [statistics.mean(scores) for scores in zip(*folds, strict=True)]
            beside = paper if "algorithm" in options else None
            rows.append(Row(f"{name}, {supervision}", "F1", beside, means, digits=3))
    return Outcome(rows, notes=NOTES)


NOTES = (
    "Three games train, the fourth tests; means of the four folds, for each seed. gold: each sentence with "
    "its right meaning; ambiguous: with all events of the five seconds before. Where the thesis is silent "
    "(which word comes next, empty labels, which weights predict), the reading is the one that comes near "
    "both numbers; all of them are in `python -m benchmarks semparse`. In the thesis: WASP 0.780 on gold "
    "pairs; WASPER 0.545, KRISPER 0.740 on ambiguous ones."
)
