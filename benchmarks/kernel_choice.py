"""LETTER with C and gamma tuned for each method: `python -m benchmarks kernel-choice`.

All rows are split at random three times, into 16,000 training and 4,000 test rows. Each method uses the pair
of C and gamma with the highest accuracy on a held-out fifth of the training rows, averaged over the splits.
It then trains on all training rows and is tested once per split, with this pair and with the pair of the
thesis. Methods take turns. Times are CPU seconds on one core.
"""

from __future__ import annotations

import itertools
import statistics
from typing import Any

import numpy as np

from benchmarks.harness import cpu_timed, figure, mean_spread, measurements, publish, table
from benchmarks.papers.multiclass import SETS, load
from benchmarks.peers.reporting import pareto

METHODS: dict[str, dict[str, Any]] = {
    "LaRankClassifier, 1 pass": {"epochs": 1},
    "LaRankClassifier": {},
    "scikit-learn SVC": {},
}
GRID = tuple(itertools.product((1.0, 3.0, 10.0, 30.0, 100.0), (0.025, 0.05, 0.075)))
THESIS = (SETS["LETTER"]["C"], SETS["LETTER"]["gamma"])
SPLITS = range(3)
Pair = tuple[float, float]
Runs = dict[tuple[str, Pair], list[dict[str, Any]]]


def measure(method: str, C: float, gamma: float, split: int, part: str, few: bool) -> dict[str, Any]:
    """Train on 4/5 of the training rows and score the rest ("held-out"), or train on all ("test")."""
    X, y, X_test, y_test = load("LETTER", few)
    X, y = np.concatenate([X, X_test]), np.concatenate([y, y_test])
    train, test = np.split(np.random.default_rng(split).permutation(len(y)), [len(y) * 4 // 5])
    if part == "held-out":
        train, test = np.split(train, [len(train) * 4 // 5])
    learner = build(method, C, gamma, split)
    learner.fit(X[train[:100]], y[train[:100]])  # loads modules before the clock starts
    _, seconds = cpu_timed(lambda: learner.fit(X[train], y[train]))
    found, predicting = cpu_timed(lambda: learner.predict(X[test]))
    accuracy = 100 * float(np.mean(found == y[test]))
    return {"accuracy": accuracy, "seconds": seconds, "rate": len(test) / predicting}


def build(method: str, C: float, gamma: float, seed: int) -> Any:
    if method == "scikit-learn SVC":
        from sklearn.svm import SVC

        return SVC(C=C, gamma=gamma, cache_size=2000)
    from structsvm import LaRankClassifier

    return LaRankClassifier(
        C=C, gamma=gamma, kernel="rbf", cache_size=2000, random_state=seed, **METHODS[method]
    )


def runs(wanted: list[tuple[str, Pair]], part: str, quick: bool) -> Runs:
    """One run per split of each method and pair; methods take turns, so that noise affects all alike."""
    found: Runs = {key: [] for key in wanted}
    for split in SPLITS[: 1 if quick else None]:
        for method, (C, gamma) in wanted:
            job = {"method": method, "C": C, "gamma": gamma, "split": split, "part": part, "few": quick}
            found[method, (C, gamma)] += measurements(__name__, [job])
    return found


def mean(some: list[dict[str, Any]], key: str) -> float:
    return statistics.mean(run[key] for run in some)


def draw(pairs: list[dict[str, Any]]) -> None:
    """Plot all pairs, and the Pareto front of each method."""
    with figure("kernel-choice", "training, CPU seconds", "held-out accuracy, %") as axes:
        for number, method in enumerate(METHODS):
            points = [(pair["seconds"], pair["accuracy"]) for pair in pairs if pair["method"] == method]
            axes.plot(*zip(*points, strict=True), ".", color=f"C{number}", alpha=0.4)
            axes.plot(*zip(*pareto(points), strict=True), "o-", color=f"C{number}", label=method)


def main(*, quick: bool = False) -> None:
    grid = GRID[4::6] if quick else GRID
    held_out = runs([(method, pair) for pair in grid for method in METHODS], "held-out", quick)
    best = {
        method: max(grid, key=lambda pair: mean(held_out[method, pair], "accuracy")) for method in METHODS
    }
    wanted = [(method, pair) for pair in (None, THESIS) for method in METHODS]
    chosen = [(method, pair or best[method]) for method, pair in wanted]
    tested = runs(list(dict.fromkeys(chosen)), "test", quick)
    rows, figures = [], []
    for (method, pair), (_, fixed) in zip(chosen, wanted, strict=True):
        some = tested[method, pair]
        found: dict[str, Any] = {"method": method, "C": pair[0], "gamma": pair[1], "tuned": fixed is None}
        found |= {key: [run[key] for run in some] for key in ("accuracy", "seconds", "rate")}
        validated = [run["accuracy"] for run in held_out.get((method, pair), [])]
        figures.append({**found, "held_out": validated})
        rows.append([
            f"{method}, {'thesis' if fixed else 'tuned'}", f"{pair[0]:g}", f"{pair[1]:g}",
            mean_spread(validated) if validated else "", mean_spread(found["accuracy"]),
            f"{statistics.median(found['seconds']):.2f}", f"{statistics.median(found['rate']):,.0f}",
        ])  # fmt: skip
    header = ["LETTER", "C", "gamma", "held-out accuracy", "test accuracy", "training, s", "rows per second"]
    text = f"{table(header, rows)}\n\n`python -m benchmarks kernel-choice`"
    if quick:
        print(text)
        return
    pairs = [
        {"method": method, "C": C, "gamma": gamma, "accuracy": mean(some, "accuracy"),
         "seconds": mean(some, "seconds")}
        for (method, (C, gamma)), some in held_out.items()
    ]  # fmt: skip
    draw(pairs)
    publish("kernel-choice", text, {"tested": figures, "held_out": pairs})
