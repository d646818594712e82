"""Measure what the bounds of `structsvm teach` on features and support patterns cost in score and memory.

All sentences of a training file are learned one at a time, in random order, and features and patterns beyond
the bounds are forgotten as in a session. The score is that on the development file.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import numpy as np

from benchmarks.harness import child, cpu_timed, mean_spread, measurements, publish, table
from benchmarks.teach import NAMES, new_tagger, read, score
from benchmarks.teach_page import memory
from taggers.teach.learner import MOST_FEATURES, MOST_SUPPORT, REPROCESS

MODULE = "benchmarks.teach_bounds"
CORPORA = ("spanish", "bc5cdr")
BOUNDS = ((None, None), (250_000, 10_000), (MOST_FEATURES, MOST_SUPPORT), (750_000, 20_000))


def measure(name: str, features: int | None, support: int | None, seed: int, most: int) -> dict[str, Any]:
    """Learn a training file within bounds; the score, memory, and the CPU time of forgetting."""
    X, y = read(name, "train")
    X_dev, y_dev = read(name, "dev")
    tagger = new_tagger(name, REPROCESS)
    tagger.declare(sorted({label for labels in y for label in labels}), X=X)
    bare, forgetting = memory(), []
    for k in np.random.default_rng(seed).permutation([k for k, words in enumerate(X) if words])[:most]:
        tagger.partial_fit([X[k]], [y[k]])
        before = _size(tagger)
        _, seconds = cpu_timed(partial(tagger.forget, max_features=features, max_support=support))
        if _size(tagger) != before:
            forgetting.append(seconds)
    return {
        "mb": memory() - bare, "forgetting": forgetting, "features": tagger.n_features_,
        "support": tagger.optimizer_.n_support_patterns_,
        "score": score(name, y_dev, tagger.predict(X_dev)),
    }  # fmt: skip


def _size(tagger: Any) -> tuple[int, int]:
    """The numbers of weights and support patterns."""
    optimizer = tagger.optimizer_
    return len(optimizer.weights_at(slice(None))), optimizer.n_support_patterns_


def main(*, quick: bool = False) -> None:
    """Publish a table."""
    seeds, most = (1, 300) if quick else (2, 1_000_000)
    rows, kept = [], {}
    for name, (features, support) in product(CORPORA, BOUNDS):
        jobs = [
            {"name": name, "features": features, "support": support, "seed": seed, "most": most}
            for seed in range(seeds)
        ]
        kept[f"{name}, {features}, {support}"] = runs = measurements(MODULE, jobs)
        times = [seconds for run in runs for seconds in run["forgetting"]]
        rows.append([
            NAMES[name], *("none" if bound is None else f"{bound:,}" for bound in (features, support)),
            mean_spread([100 * run["score"] for run in runs]),
            *(f"{np.mean([run[key] for run in runs]):,.0f}" for key in ("mb", "features", "support")),
            f"{len(times) / seeds:.0f}", f"{1000 * max(times):.0f}" if times else "",
        ])  # fmt: skip
    header = [
        "corpus", "most features", "most support patterns", "F1 on the development file", "MB added",
        "features", "support patterns", "times forgotten", "longest, CPU ms",
    ]  # fmt: skip
    publish(f"teach-bounds{'-quick' if quick else ''}", table(header, rows), kept)


if __name__ == "__main__":
    child(measure)
