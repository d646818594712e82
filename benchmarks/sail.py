"""SAIL: navigation learned from demonstrations, each map tested with a parser of the two others.

A training sentence has as candidates the simple plans that lead to the pose of its follower, or the plan
to stay if the follower did nothing; no plan is annotated. A test sentence is right if its plan leads to the
pose (place and direction) of its follower. A follower without a plan stays.
"""

from __future__ import annotations

import statistics
import time
from functools import partial
from typing import Any

from benchmarks.harness import (
    RESULTS,
    drop_measurements,
    keep_measurements,
    measurements,
    publish,
    table,
)
from corpora.readers.sail import MAPS, SCHEMA, load_sail
from semparse import Ospas
from semparse.outcomes import Executor, is_possible, with_outcome

PUBLISHED = [
    ["Chen & Mooney 2011 (recalled)", "0.544"],
    ["Kim & Mooney 2013, reranked (recalled)", "0.628"],
    ["Artzi & Zettlemoyer 2013 (recalled)", "0.653"],
]


def measure(name: str, share: float) -> dict[str, float]:
    """The shares of right ends on one map, CPU seconds of training and milliseconds per parse.

    share: of the sentences, evenly spread.
    """
    worlds, found = load_sail()
    found = found[:: round(1 / share)]
    train = [one for one in found if one.map != name]
    test = [one for one in found if one.map == name]

    def execute(plan: Any, place: Any) -> Any:
        world, start = place
        return worlds[world].execute(plan, start)

    start = time.process_time()
    parser = Ospas(schema=SCHEMA).fit(
        [one.text for one in train],
        [worlds[one.map].plans(one) for one in train],
        outcomes=[one.end for one in train],
        execute=execute,
        contexts=[(one.map, one.start) for one in train],
    )
    trained = time.process_time()
    right = {"best": 0, "possible": 0}
    for one in test:
        place = (one.map, one.start)
        filters = {"best": None, "possible": partial(_is_possible, execute, place)}
        for key, valid in filters.items():
            plans = [parse.mr for parse in parser.parse(one.text, valid=valid)]
            right[key] += (
                bool(with_outcome(plans, one.end, execute, place)) if plans else one.end == one.start
            )
    done = time.process_time()
    return {
        **{key: n / len(test) for key, n in right.items()}, "sentences": len(test),
        "seconds": trained - start, "parse ms": 1000 * (done - trained) / (2 * len(test)),
    }  # fmt: skip


def _is_possible(execute: Executor, place: Any, plan: Any) -> bool:
    return is_possible(execute, plan, place)


def main(*, quick: bool = False) -> None:
    """Publish the table; quick takes every seventh sentence. An interrupted run is resumed."""
    keep_measurements(RESULTS / "sail-measured.jsonl", resume=True)
    share = 1 / 7 if quick else 1
    runs = measurements("benchmarks.sail", [{"name": name, "share": share} for name in MAPS])
    rows = []
    for title, key in (("first meaning", "best"), ("first meaning that can be executed", "possible")):
        shares = [f"{run[key]:.3f}" for run in runs]
        rows.append([f"Ospas, {title}", f"{statistics.mean(run[key] for run in runs):.3f}", *shares])
    times = [statistics.mean(run[key] for run in runs) for key in ("seconds", "parse ms")]
    text = "SAIL, single sentences, share of right ends: mean of three maps, and each map.\n\n"
    text += table(["parser", "right ends", *MAPS], [*rows, *([*row, "", "", ""] for row in PUBLISHED)])
    text += f"\n\nTraining takes {times[0]:.0f} CPU seconds, a parse {times[1]:.1f} ms.{READING}"
    publish("sail-quick" if quick else "sail", text, runs)
    drop_measurements()


READING = """

The parser has the default options and learns from traces alone. Other systems learn from the same traces.
We wrote the language of plans with knowledge of all three maps. We decided on a third of the routes of
one map that staying is a plan. Figures marked "recalled" are from memory, without a check of
the paper."""
