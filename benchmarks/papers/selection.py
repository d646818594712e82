"""Which examples LASVM takes, in Bordes' thesis: figures 4.11 to 4.16."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.experiment import BORDES, Curve, Figure, Outcome, Row, experiment
from benchmarks.harness import measurements
from benchmarks.papers.kernel_machines import SETS, load

OPTIONS: dict[str, dict[str, Any]] = {
    "ADULT": SETS["ADULT"],
    "MNIST-8": {"C": 1000, "gamma": 0.005},
    "MNIST-8+N": {"C": 10, "gamma": 0.005},
    "USPS": SETS["USPS"],
    "REUTERS": SETS["REUTERS"],
}
ROWS, SEEDS = 5_000, 3  # of the training set: all of it takes libsvm an hour
LABELS = (50, 100, 200, 400, 700, 1000, 1500, 2000)  # where errors are measured
QUERIES = (20, 50, 100, 150, 200, 300)
SELECTIONS = ("random", "gradient", "active", "autoactive")
LEARNERS = ("random", "LASVM active 50", "LASVM active all", "retrain active 50")


def measure(task: str, **job: Any) -> dict[str, Any]:
    tasks: dict[str, Callable[..., dict[str, Any]]] = {"select": select, "libsvm": libsvm, "learn": learn}
    return tasks[task](**job)


def part(name: str, seed: int, rows: int) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    X, y, X_test, y_test = load(name, seed)
    return X[:rows], y[:rows], X_test, y_test


def libsvm(name: str, seed: int, rows: int) -> dict[str, Any]:
    from sklearn.svm import SVC

    X, y, X_test, y_test = part(name, seed, rows)
    model = SVC(**OPTIONS[name], cache_size=500)
    start = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - start
    error = 100 * float(np.mean(model.predict(X_test) != y_test))
    return {"error": error, "support": len(model.support_), "seconds": seconds}


def select(name: str, selection: str, seed: int, rows: int) -> dict[str, Any]:
    """Errors and support vectors after more and more labels, each time of a copy that is finished."""
    from structsvm.binary import LaSVMClassifier

    X, y, X_test, y_test = part(name, seed, rows)
    found: dict[str, list[float]] = {"labels": [], "error": [], "support": [], "seconds": []}
    started = [time.process_time()]

    def watch(model: Any) -> None:
        if model.n_labels_ < next((n for n in LABELS if n > max(found["labels"], default=0)), np.inf):
            return
        seconds = time.process_time() - started[0]
        snapshot = copy.deepcopy(model).finish()
        found["labels"].append(model.n_labels_)
        found["seconds"].append(seconds)
        found["error"].append(100 * float(np.mean(snapshot.predict(X_test) != y_test)))
        found["support"].append(int(np.count_nonzero(snapshot.dual_coef_)))
        started[0] = time.process_time() - seconds

    most = None if selection == "random" else LABELS[-1]
    model = LaSVMClassifier(
        **OPTIONS[name],
        selection=selection,
        max_labels=most,
        cache_size=500,
        random_state=seed,
        callback=watch,
    ).fit(X, y)
    found["labels"].append(model.n_labels_)
    found["seconds"].append(time.process_time() - started[0])
    found["error"].append(100 * float(np.mean(model.predict(X_test) != y_test)))
    found["support"].append(int(np.count_nonzero(model.dual_coef_)))
    return found


def compared(
    name: str, title: str, selections: tuple[str, ...], quick: bool
) -> tuple[list[Row], list[Figure]]:
    """Rows and figures of error against labels and against support vectors."""
    rows, seeds = 1500 if quick else ROWS, range(1 if quick else SEEDS)
    peer = measurements(
        __name__, [{"task": "libsvm", "name": name, "seed": seed, "rows": rows} for seed in seeds]
    )
    level = float(np.mean([run["error"] for run in peer]))
    table = [
        Row(f"{title}, libsvm, {rows:,} labels", "error %", None, [run["error"] for run in peer]),
        Row(f"{title}, libsvm", "support vectors", None, [run["support"] for run in peer], 0),
    ]
    by_labels, by_support = [], []
    for selection in selections:
        jobs = [
            {"task": "select", "name": name, "selection": selection, "seed": seed, "rows": rows}
            for seed in seeds
        ]
        runs = measurements(__name__, jobs)
        n = min(len(run["labels"]) for run in runs)
        labels, errors, support = (
            np.mean([run[key][:n] for run in runs], axis=0).tolist() for key in ("labels", "error", "support")
        )
        by_labels.append(Curve(selection, labels, errors))
        by_support.append(Curve(selection, support, errors))
        enough = [labels[k] for k in range(n) if errors[k] <= level + 0.1]
        last = f"{title}, {selection}, {np.mean([run['labels'][-1] for run in runs]):,.0f} labels"
        table.append(Row(last, "error %", None, [run["error"][-1] for run in runs]))
        table.append(Row(last, "support vectors", None, [run["support"][-1] for run in runs], 0))
        if enough:
            table.append(Row(f"{title}, {selection}", "labels to libsvm's error + 0.1", None, enough[:1], 0))
    flat = [Curve("libsvm", [LABELS[0], rows], [level, level], "--")]
    return table, [
        Figure("labels", "test error %", [*by_labels, *flat], title=title, log="x"),
        Figure("support vectors", "test error %", by_support, title=title, log="x"),
    ]


NOTES = (
    f"On {ROWS:,} training examples, {SEEDS} draws of them; the thesis takes all of them, 65 splits of ADULT "
    "and 5 runs of MNIST, and gives curves only. All errors are after the finishing step. Active selection "
    "stops by itself when nothing is left within the margin, here at the latest after 2,000 labels."
)


@experiment(
    "figure-4.11", "Selection criteria on ADULT (also figure 4.12)", source=BORDES, corpora=("adult_a9a",)
)
def figure_4_11(quick: bool) -> Outcome:
    return Outcome(*compared("ADULT", "ADULT", SELECTIONS, quick), NOTES)


@experiment(
    "figure-4.13", "Selection criteria on MNIST, with and without noise (also 4.14, 4.15)", source=BORDES,
    corpora=("mnist",),
)  # fmt: skip
def figure_4_13(quick: bool) -> Outcome:
    clean = compared("MNIST-8", "digit 8", SELECTIONS[:3], quick)
    noisy = compared("MNIST-8+N", "digit 8, 10% noise", SELECTIONS[:3], quick)
    notes = " Digit 8 against the rest; C is 1000 without and 10 with noise."
    return Outcome([*clean[0], *noisy[0]], [*clean[1], *noisy[1]], NOTES + notes)


# -- active learning, label by label ------------------------------------------------------------


def learn(name: str, learner: str, seed: int, few: bool) -> dict[str, Any]:
    """Errors after more and more queries, starting from five labels of each class."""
    from sklearn.svm import SVC

    from structsvm.binary import LaSVMClassifier

    X, y, X_test, y_test = load(name, seed, few)
    rng = np.random.default_rng(seed)
    known = [*np.flatnonzero(y)[:5], *np.flatnonzero(~y)[:5]]
    pool = np.setdiff1d(rng.permutation(len(y)), known)
    model = LaSVMClassifier(**OPTIONS[name], random_state=rng).partial_fit(X[known], y[known]).finish()
    retrained = SVC(**OPTIONS[name]).fit(X[known], y[known])
    errors, start = [], time.process_time()
    for asked in range(1, QUERIES[-1] + 1):
        if learner == "random":
            wanted = int(rng.integers(len(pool)))
        elif learner.startswith("LASVM"):
            wanted = int(nearest(model, X[pool], None if learner.endswith("all") else 50))
        else:
            some = rng.integers(len(pool), size=50)
            wanted = int(some[np.argmin(np.abs(retrained.decision_function(X[pool[some]])))])
        slot = pool[wanted]
        known.append(slot)
        pool = np.delete(pool, wanted)
        if learner.startswith("retrain"):
            retrained.fit(X[known], y[known])
        else:
            model.partial_fit(X[[slot]], y[[slot]])
        if asked in QUERIES:
            predictor = retrained if learner.startswith("retrain") else copy.deepcopy(model).finish()
            errors.append(100 * float(np.mean(predictor.predict(X_test) != y_test)))
    return {"errors": errors, "seconds": time.process_time() - start}


def nearest(model: Any, X: Any, sample: int | None) -> int:
    """The example to ask for next: the model's own query or, if none lies within the margin, the nearest."""
    wanted = model.query(X, 1, sample=sample)
    return int(wanted[0] if len(wanted) else np.argmin(np.abs(model.decision_function(X))))


@experiment(
    "figure-4.16", "Active learning, label by label", source=BORDES, corpora=("usps", "reuters_r8"),
    instead="Reuters-21578 by R8, class money-fx.",
)  # fmt: skip
def figure_4_16(quick: bool) -> Outcome:
    rows, figures = [], []
    for name in ("USPS",) if quick else ("USPS", "REUTERS"):
        curves = []
        for learner in LEARNERS:
            jobs = [
                {"task": "learn", "name": name, "learner": learner, "seed": seed, "few": quick}
                for seed in range(1 if quick else 2)
            ]
            runs = measurements(__name__, jobs)
            curves.append(Curve(learner, QUERIES, np.mean([run["errors"] for run in runs], axis=0).tolist()))
            rows.append(
                Row(f"{name}, {learner}", "error %, 100 labels", None, [run["errors"][2] for run in runs])
            )
            rows.append(
                Row(f"{name}, {learner}", "error %, 300 labels", None, [run["errors"][-1] for run in runs])
            )
            rows.append(Row(f"{name}, {learner}", "CPU seconds", None, [run["seconds"] for run in runs], 1))
        figures.append(Figure("labels", "test error %", curves, title=name))
    notes = (
        "The thesis has 917, 99 and 9.6 s for 500 labels of Reuters: retrained and LASVM on all of the pool, "
        "LASVM on samples of 50. Our CPU seconds hold the six measurements too."
    )
    return Outcome(rows, figures, notes)
