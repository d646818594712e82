"""LETTER with C and gamma tuned for each method: `python -m benchmarks kernel-choice`.

Each method tries all pairs on a held-out fifth of the training set. Then it trains on the whole training set
with its best pair and is tested once. Times are CPU seconds on one core.
"""

from __future__ import annotations

import itertools
import statistics
from typing import Any

import numpy as np

from benchmarks.harness import cpu_timed, measurements, publish, table
from benchmarks.papers.multiclass import load

METHODS: dict[str, dict[str, Any]] = {
    "LaRankClassifier, 1 pass": {"epochs": 1},
    "LaRankClassifier": {},
    "scikit-learn SVC": {},
}
GRID = tuple(itertools.product((3.0, 10.0), (0.025, 0.05, 0.075, 0.1)))
REPEATS = 3


def measure(
    method: str, C: float, gamma: float, part: str, repeat: int = 0, few: bool = False
) -> dict[str, Any]:
    """Train on 4/5 of the training set and score the rest ("held-out"), or train on all of it ("test")."""
    X, y, X_test, y_test = load("LETTER", few)
    if part == "held-out":
        order = np.random.default_rng(1).permutation(len(y))
        train, rest = np.split(order, [len(y) * 4 // 5])
        X, y, X_test, y_test = X[train], y[train], X[rest], y[rest]
    learner = build(method, C, gamma)
    _, seconds = cpu_timed(lambda: learner.fit(X, y))
    found, predicting = cpu_timed(lambda: learner.predict(X_test))
    accuracy = 100 * float(np.mean(found == y_test))
    return {"accuracy": accuracy, "seconds": seconds, "rate": len(y_test) / predicting}


def build(method: str, C: float, gamma: float) -> Any:
    if method == "scikit-learn SVC":
        from sklearn.svm import SVC

        return SVC(C=C, gamma=gamma, cache_size=2000)
    from structsvm import LaRankClassifier

    return LaRankClassifier(C=C, gamma=gamma, kernel="rbf", cache_size=2000, **METHODS[method])


def chosen(method: str, quick: bool) -> tuple[float, float, float]:
    """C, gamma and accuracy of the best pair on held-out rows; the first pair if there is a tie."""
    grid = GRID[::3] if quick else GRID
    jobs = [{"method": method, "C": C, "gamma": gamma, "part": "held-out", "few": quick} for C, gamma in grid]
    accuracies = [found["accuracy"] for found in measurements(__name__, jobs)]
    best = int(np.argmax(accuracies))
    return *grid[best], accuracies[best]


def main(*, quick: bool = False) -> None:
    pairs = {method: chosen(method, quick) for method in METHODS}
    found: dict[str, list[dict[str, Any]]] = {method: [] for method in METHODS}
    for repeat in range(1 if quick else REPEATS):  # methods take turns, so noise affects all of them
        for method, (C, gamma, _) in pairs.items():
            job = {"method": method, "C": C, "gamma": gamma, "part": "test", "repeat": repeat, "few": quick}
            found[method] += measurements(__name__, [job])
    rows, figures = [], []
    for method, (C, gamma, held_out) in pairs.items():
        middle = {key: statistics.median(run[key] for run in found[method]) for key in found[method][0]}
        figures.append({"method": method, "C": C, "gamma": gamma, "held_out": held_out, **middle})
        rows.append([
            method, f"{C:g}", f"{gamma:g}", f"{held_out:.2f}", f"{middle['accuracy']:.2f}",
            f"{middle['seconds']:.2f}", f"{middle['rate']:,.0f}",
        ])  # fmt: skip
    header = ["LETTER", "C", "gamma", "held-out accuracy", "test accuracy", "training, s", "rows per second"]
    text = f"{table(header, rows)}\n\n`python -m benchmarks kernel-choice`"
    if quick:
        print(text)
    else:
        publish("kernel-choice", text, figures)
