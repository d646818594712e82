"""CoNLL-2000 chunking as in Bordes' thesis: tables 5.5 to 5.7, figures 5.3 (scaling) and 5.4 (sparsity)."""

from __future__ import annotations

import statistics
import sys
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.harness import beside, figure, in_own_process, publish, spread, table, timed

SEEDS = 5
CONVERGED = 5  # passes; the last one gains less than a thousandth of the dual
# settings; accuracy, F1 and dual of thesis tables 5.5, 5.6 and 5.7
ROWS: dict[str, tuple[dict[str, Any], tuple[float | None, float | None, float | None]]] = {
    "PA greedy": ({"algorithm": "pa", "inference": "greedy"}, (94.61, 91.55, 410)),
    "LaRank greedy": ({"inference": "greedy"}, (95.81, 93.46, 905)),
    "LaRank greedy, converged": ({"inference": "greedy", "epochs": CONVERGED}, (95.86, 93.59, 940)),
    "PA exact": ({"algorithm": "pa", "inference": "exact"}, (95.15, 92.21, 443)),
    "LaRank exact": ({"inference": "exact"}, (95.82, 93.34, 1195)),
    "LaRank exact, converged (paper: SVMstruct)": (
        {"inference": "exact", "epochs": CONVERGED}, (95.98, 93.64, 1360)),
    "averaged perceptron exact, 3 passes": (
        {"algorithm": "perceptron", "inference": "exact", "epochs": 3}, (None, None, None)),
}  # fmt: skip
SIZES = (1000, 2000, 4000, 8936)


def measure(row: str, seed: int, sentences: int | None = None) -> dict[str, Any]:
    """Train on the whole file, or on its first sentences, and tag the test file."""
    from corpora import find
    from taggers import SequenceTagger
    from taggers.conlleval import evaluate
    from taggers.files import read_all

    folder = find("conll2000")
    train, test = (read_all(folder / name, wanted=(0, 1, 2)) for name in ("train.txt", "test.txt"))
    options: dict[str, Any] = {"template": "conll2000", "cutoff": 3, "C": 0.1, "epochs": 1, **ROWS[row][0]}
    tagger = SequenceTagger(random_state=seed, **options)
    if sentences is not None:
        X, y = tokens(train, sentences)
        _, seconds = timed(lambda: tagger.fit(X, y))
        return {"seconds": seconds}
    _, seconds = timed(lambda: tagger.fit(train, 2))
    result = evaluate(test.sentences(2), tagger.predict(test))
    curve = [(point.seen, point.n_support_patterns) for point in tagger.optimizer_.curve_]
    dual = tagger.optimizer_.dual_
    return {
        "accuracy": 100 * result.accuracy, "f1": 100 * result.f1, "features": tagger.n_features_,
        "dual": None if np.isnan(dual) else dual, "support": tagger.optimizer_.n_support_patterns_,
        "seconds": seconds, "curve": curve,
    }  # fmt: skip


def tokens(columns: Any, sentences: int) -> tuple[list[Any], list[Any]]:
    """The first sentences of a file as lists."""
    words, tags, labels = (columns.sentences(column)[:sentences] for column in range(3))
    return [list(zip(*pair, strict=True)) for pair in zip(words, tags, strict=True)], labels


def main(*, quick: bool = False) -> None:
    runs: dict[str, list[dict[str, Any]]] = {}
    for seed in range(1 if quick else SEEDS):
        for row in ROWS:
            runs.setdefault(row, []).append(in_own_process("benchmarks.chunking", {"row": row, "seed": seed}))
            print(row, seed, {k: v for k, v in runs[row][-1].items() if k != "curve"}, file=sys.stderr)
    text = report(runs)
    times: dict[str, list[float]] = {}
    if not quick:
        times = scaling()
        text += "\n\n" + scaling_report(times)
        sparsity(runs)
    kept = {
        row: [{k: v for k, v in run.items() if k != "curve"} for run in found] for row, found in runs.items()
    }
    publish("chunking-quick" if quick else "chunking", text, {"rows": kept, "sizes": SIZES, "scaling": times})


def report(runs: dict[str, list[dict[str, Any]]]) -> str:
    rows = []
    for name, found in runs.items():
        accuracy, f1, dual = ROWS[name][1]
        duals = [run["dual"] for run in found if run["dual"] is not None]
        rows.append([
            name, len(found), beside(spread(found, "accuracy", 2), accuracy),
            beside(spread(found, "f1", 2), f1),
            beside(spread(found, "dual", 1) if duals else "", dual),
            "" if dual is None else f"{100 * (statistics.mean(duals) / dual - 1):+.2f}%",
            spread(found, "support", 0), f"{statistics.median(run['seconds'] for run in found):.2f}",
        ])  # fmt: skip
    header = [
        "CoNLL-2000", "seeds", "accuracy % (thesis)", "F1 (thesis)", "dual (thesis)", "difference",
        "support patterns", "fit, s",
    ]  # fmt: skip
    features = next(iter(runs.values()))[0]["features"]
    return table(header, rows) + f"\n\n{features:,} features."


def scaling() -> dict[str, list[float]]:
    """Seconds of `fit` for growing parts of the training file, the median of three."""
    times: dict[str, list[float]] = {}
    for row in ("LaRank greedy", "LaRank exact"):
        for size in SIZES:
            jobs = [{"row": row, "seed": seed, "sentences": size} for seed in range(3)]
            seconds = [in_own_process("benchmarks.chunking", job)["seconds"] for job in jobs]
            times.setdefault(row, []).append(statistics.median(seconds))
    with figure("figure-5.3", "sentences", "seconds", log=True) as axes:
        for row, values in times.items():
            axes.plot(SIZES, values, marker="o", label=row)
        first = times["LaRank greedy"][0]
        axes.plot(SIZES, [first * size / SIZES[0] for size in SIZES], ":", color="grey", label="linear")
    return times


def scaling_report(times: dict[str, list[float]]) -> str:
    rows = []
    for row, values in times.items():
        slope = np.polyfit(np.log(SIZES), np.log(values), 1)[0]
        rows.append([row, *[f"{value:.2f}" for value in values], f"{slope:.2f}"])
    increases = [f"{b / a:.2f}" for a, b in pairwise(SIZES)]
    header = ["seconds of fit (figure 5.3)", *[f"{size} sentences" for size in SIZES], "exponent"]
    return table(header, rows) + f"\n\nThe sizes grow by factors of {', '.join(increases)}; 1 is linear."


def sparsity(runs: dict[str, list[dict[str, Any]]]) -> None:
    """Figure 5.4: the share of patterns seen that are support patterns, in one pass."""
    with figure("figure-5.4", "share of the training set seen", "support patterns / patterns seen") as axes:
        for row in ("LaRank greedy", "LaRank exact"):
            curve = np.array(runs[row][0]["curve"], float)
            axes.plot(curve[:, 0] / curve[-1, 0], curve[:, 1] / curve[:, 0], label=row)
