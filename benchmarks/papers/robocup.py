"""Table 6.2 of Bordes' thesis: parsing RoboCup commentaries, measured by `benchmarks.semparse`."""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks.experiment import BORDES, Outcome, Row, experiment
from benchmarks.harness import measurements

PAPER = {"gold": 0.871, "ambiguous": 0.737}
METHODS: dict[str, dict[str, Any]] = {
    "OSPAS, random order (Algorithm 24)": {"algorithm": "paper", "strategy": "random", "average": False},
    "OSPAS, order-free, averaged": {"algorithm": "paper"},
    "Ospas(), our default": {},
}


def measure(supervision: str, options: dict[str, Any], seeds: int) -> dict[str, Any]:
    """F1 of the parses in each fold, for each seed."""
    from benchmarks.semparse import parsing

    return {"folds": parsing([options] * 4, supervision, seeds)}


@experiment(
    "table-6.2", "F1 of OSPAS on RoboCup commentaries", source=BORDES, corpora=("robocup",),
    because={
        "random": "Algorithm 24 leaves open how many empty labels complete a bag and which weights "
        "to use for predictions; no reading with a random order comes close "
        "(`python -m benchmarks semparse`)",
    },
)  # fmt: skip
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
    "Algorithm 24 labels the words of a sentence in a random order: that is the first method. The second "
    "labels the most confident word first and predicts with averaged weights, which is not what the thesis "
    "prints; it was chosen on training games. Three games train, the fourth tests; means of the four "
    "folds, for each seed. gold: each sentence with its right meaning; ambiguous: with all events of the "
    "five seconds before. How the defaults and the reading of the thesis were chosen, and all readings: "
    "`python -m benchmarks semparse`. In the thesis: WASP 0.780 on gold pairs; WASPER 0.545, KRISPER "
    "0.740 on ambiguous ones."
)
