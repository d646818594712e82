"""How many passes `LaRankClassifier` makes by default: `python -m benchmarks default-epochs`.

A fifth of each training set is held out, and test sets are not looked at. Seconds are of one core.
"""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np

from benchmarks.harness import RESULTS, cpu_timed, machine, measurements, table
from benchmarks.papers.multiclass import SETS, load
from structsvm.files.atomic import atomic_write

LINEAR = {"C": 1.0, "kernel": "linear"}
CASES: dict[str, dict[str, Any]] = SETS | {"TREC": LINEAR, "USPS, linear": LINEAR}
NAMES = ("LETTER", "USPS", "R8", "TREC", "USPS, linear")
METHODS: dict[str, dict[str, Any]] = {
    "1 pass": {"epochs": 1},
    "2 passes": {"epochs": 2},
    "3 passes": {"epochs": 3},
    "5 passes": {"epochs": 5},
    "gap < C": {"tol": "C"},
    "adaptive, 5 passes": {"epochs": 5, "schedule": "adaptive"},
    "scikit-learn": {},
}
SEEDS = 3


def measure(name: str, method: str, seed: int, few: bool = False) -> dict[str, Any]:
    """Train on four fifths of a training set, and test on the rest."""
    X, y, *_ = load_trec(few) if name == "TREC" else load(name.split(",")[0], few)
    order = np.random.default_rng(1).permutation(len(y))
    train, held_out = np.split(order, [len(y) * 4 // 5])
    learner = build(name, method, seed)
    _, seconds = cpu_timed(lambda: learner.fit(X[train], y[train]))
    return {"accuracy": 100 * float(learner.score(X[held_out], y[held_out])), "seconds": seconds}


def load_trec(few: bool) -> tuple[Any, np.ndarray]:
    import corpora

    questions = corpora.load_trec()
    X, _ = corpora.tfidf(questions.X_train, questions.X_test)
    return X[: 1500 if few else None], np.array(questions.y_train)[: 1500 if few else None]


def build(name: str, method: str, seed: int) -> Any:
    if method == "scikit-learn":
        from sklearn import svm

        linear = CASES[name]["kernel"] == "linear"
        return svm.LinearSVC(C=CASES[name]["C"]) if linear else svm.SVC(**CASES[name], cache_size=2000)
    from structsvm import LaRankClassifier

    return LaRankClassifier(**CASES[name], **METHODS[method], cache_size=2000, random_state=seed)


def row(name: str, method: str, quick: bool) -> list[str]:
    seeds = range(1 if quick or method == "scikit-learn" else SEEDS)
    jobs = [{"name": name, "method": method, "seed": seed, "few": quick} for seed in seeds]
    found = measurements(__name__, jobs)
    accuracy, seconds = (statistics.mean(each[key] for each in found) for key in ("accuracy", "seconds"))
    return [name, method, f"{accuracy:.2f}", f"{seconds:.2f}", str(len(found))]


def main(*, quick: bool = False) -> None:
    header = ["held-out fifth of", "method", "accuracy %", "training s", "seeds"]
    rows = [row(name, method, quick) for name in NAMES for method in METHODS]
    text = f"{table(header, rows)}\n\n`python -m benchmarks default-epochs`, {machine()}\n"
    print(text)
    if not quick:
        with atomic_write(RESULTS / "passes.md") as file:
            file.write(text.encode())
