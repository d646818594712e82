"""Table 6.2 of Bordes' thesis: parsing RoboCup commentaries, measured by `benchmarks.semparse`."""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks.experiment import BORDES, Outcome, Row, experiment
from benchmarks.harness import measurements

PAPER = {"gold": 0.871, "ambiguous": 0.737}
METHODS: dict[str, dict[str, Any]] = {"OSPAS": {"algorithm": "paper"}, "Ospas(), our default": {}}


def measure(supervision: str, options: dict[str, Any], seeds: int) -> dict[str, Any]:
    """F1 of the parses in each fold, for each seed."""
    from benchmarks.semparse import parsing

    return {"folds": parsing([options] * 4, supervision, seeds)}


@experiment("table-6.2", "F1 of OSPAS on RoboCup commentaries", source=BORDES, corpora=("robocup",))
def table_6_2(quick: bool) -> Outcome:
    rows = []
    for name, options in METHODS.items():
        for supervision, paper in PAPER.items():
            job = {"supervision": supervision, "options": options, "seeds": 1 if quick else 10}
            (found,) = measurements(__name__, [job])
            means = [statistics.mean(scores) for scores in zip(*found["folds"], strict=True)]
            beside = paper if "algorithm" in options else None
            rows.append(Row(f"{name}, {supervision}", "F1", beside, means, digits=3))
    return Outcome(rows, notes=NOTES)


NOTES = (
    "Three games train, the fourth tests; means of the four folds, for each seed. gold: each sentence with "
    "its right meaning; ambiguous: with all events of the five seconds before. How the defaults and the "
    "reading of the thesis were chosen, and all readings: `python -m benchmarks semparse`. In the thesis: "
    "WASP 0.780 on gold pairs; WASPER 0.545, KRISPER 0.740 on ambiguous ones."
)
