"""The simulated smart home: F1 of meanings for each difficulty of real logs, counting spurious answers.

1,000 training and 400 test sentences from other seeds. Everything is simulated, and our own.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

from benchmarks.harness import (
    RESULTS,
    drop_measurements,
    keep_measurements,
    mean_spread,
    measurements,
    publish,
    table,
)
from corpora.simulators import home_language
from corpora.simulators.home import simulate_home

SEEDS = 10
Options = dict[str, Any]


def open_schema() -> Options:
    """The relations of the home, whose music, people and numbers may be new."""
    relations = {rel: {"slots": list(slots)} for rel, slots in home_language.RELATIONS.items()}
    types = {kind: list(names) for kind, names in home_language.TYPES.items()}
    numbers = dict.fromkeys(home_language.NUMBERS, r"\d+")
    return {"relations": relations, "types": types, "open": {"music": True, "person": True, **numbers}}


# What is simulated to learn from and to test, and options of the parser.
ROWS: dict[str, tuple[Options, Options, Options]] = {
    "base": ({}, {}, {}),
    "40% off topic": ({"off_topic": 0.4}, {"off_topic": 0.4}, {}),
    "unseen names and numbers only": ({}, {"unseen": 1.0}, {"schema": True}),
    "30% two clauses": ({"two_clauses": 0.3}, {"two_clauses": 0.3}, {"clauses": 2}),
    "30% A when B": ({"conditions": 0.3, "order": "after"}, {"conditions": 0.3, "order": "after"}, {}),
    "15% of words misspelt": ({"misspelt": 0.15}, {"misspelt": 0.15}, {}),
    "60% of bags without the meaning": ({"missing": 0.6}, {}, {}),
    "30% of rooms omitted": ({"omitted": 0.3}, {"omitted": 0.3}, {}),
    "names of several words": ({"multiword": True}, {"multiword": True}, {}),
    "numbers in words": ({"numbers": "mixed"}, {"numbers": "mixed"}, {}),
}


def measure(row: str, seed: int) -> dict[str, float]:
    """F1 over all sentences, CPU seconds of training and milliseconds per parse."""
    from semparse import Ospas
    from semparse.meaning import as_mr

    learn, ask, options = ROWS[row]
    train = simulate_home(1000, seed=seed, **learn)
    test = simulate_home(400, seed=1000 + seed, **ask)
    chosen = options | ({"schema": open_schema()} if "schema" in options else {})
    start = time.process_time()
    parser = Ospas(random_state=seed, **chosen).fit([b.text for b in train], [b.candidates for b in train])
    trained = time.process_time()
    found = [{parse.mr for parse in parser.parse(bag.text)} for bag in test]
    parsed = time.process_time()
    gold = [{as_mr(mr) for mr in bag.gold or ()} for bag in test]
    right = sum(len(a & b) for a, b in zip(found, gold, strict=True))
    return {
        "f1": 2 * right / (sum(map(len, found)) + sum(map(len, gold))),
        "seconds": trained - start, "parse ms": 1000 * (parsed - trained) / len(test),
    }  # fmt: skip


def main(*, quick: bool = False) -> None:
    """Publish the table; quick takes two seeds. An interrupted run is resumed."""
    seeds = range(2 if quick else SEEDS)
    keep_measurements(RESULTS / "home-measured.jsonl", resume=True)
    rows, figures = [], []
    for row in ROWS:
        runs = measurements("benchmarks.home", [{"row": row, "seed": seed} for seed in seeds])
        means = [statistics.mean(run[key] for run in runs) for key in ("seconds", "parse ms")]
        f1 = mean_spread([run["f1"] for run in runs], 3)
        rows.append([row, f1, *(f"{mean:.2f}" for mean in means)])
        figures.append({"row": row, "runs": runs})
    text = f"Simulated home, 1,000 training and 400 test sentences, {len(seeds)} seeds.\n\n"
    text += table(["sentences", "F1", "CPU seconds of training", "parse ms"], rows)
    publish("home-quick" if quick else "home", text, figures)
    drop_measurements()
