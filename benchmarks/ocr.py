"""OCR words as in Bordes' thesis: the OCR columns of tables 5.5 and 5.6, and figures 5.5 and 5.6.

Train on one fold, test on the nine others, C = 0.1, the 128 pixels as features. The file holds the same word
written by many hands, one after the other. The thesis' figures for one pass are those of this order, in
which the last words weigh most; in a random order the perceptron and PA do much better.
"""

from __future__ import annotations

import statistics
import sys
from typing import Any

import numpy as np

from benchmarks.harness import beside, figure, in_own_process, publish, spread, table

ORDER = 10
# inference, optimizer, LaRank's n_R, passes; accuracy in the thesis
ROWS: dict[str, tuple[tuple[str, str, int, int], float]] = {
    "perceptron greedy": (("greedy", "perceptron", 0, 1), 51.82),
    "PA greedy": (("greedy", "pa", 0, 1), 61.23),
    "LaRank greedy": (("greedy", "larank", 5, 1), 81.15),
    "LaRank greedy, converged": (("greedy", "larank", 5, 10), 83.77),
    "perceptron exact": (("exact", "perceptron", 0, 1), 51.44),
    "PA exact": (("exact", "pa", 0, 1), 56.13),
    "LaRank exact": (("exact", "larank", 10, 1), 75.77),
    "LaRank exact, converged (thesis: SVMstruct)": (("exact", "larank", 10, 10), 78.20),
}
REPROCESS = (0, 1, 2, 5, 10)
ORDERS = (0, 1, 2, 4, 7, 10)


def measure(
    inference: str, optimizer: str, reprocess: int, passes: int, shuffled: bool, order: int = ORDER,
    folds: int = 10,
) -> dict[str, Any]:  # fmt: skip
    """Accuracy on the other folds, for each fold that is trained on."""
    from corpora import load_ocr

    words = load_ocr()
    results = []
    for fold in range(folds):
        inside = words.folds == fold
        train, test = (words.take(np.flatnonzero(part)) for part in (inside, ~inside))
        results.append(run(train, test, inference, optimizer, reprocess, passes, shuffled, order, fold))
    return {"accuracies": results}


def run(
    train: Any, test: Any, inference: str, optimizer: str, reprocess: int, passes: int, shuffled: bool,
    order: int, seed: int,
) -> float:  # fmt: skip
    from structsvm import LaRank, PassiveAggressive, Perceptron
    from structsvm.problems import SequenceProblem
    from structsvm.problems._decode import Decoder

    problem = SequenceProblem(26, inference=inference, order=order if inference == "greedy" else 1)
    learner: Any
    if optimizer == "perceptron":
        learner = Perceptron(problem, average=False, epochs=passes, random_state=seed)
    elif optimizer == "pa":
        learner = PassiveAggressive(problem, C=0.1, epochs=passes, random_state=seed)
    else:
        learner = LaRank(problem, C=0.1, n_reprocess=reprocess, epochs=passes, random_state=seed)
    (learner.fit if shuffled else learner.partial_fit)(*sequences(train))
    X, y = sequences(test)
    weights = np.zeros((problem.history + train.pixels.shape[1], problem.stride), np.float32)
    weights.reshape(-1)[: len(learner.weights_)] = learner.weights_
    return 100 * float(np.mean(Decoder(problem, weights).labels(X) == y.codes))


def sequences(words: Any) -> tuple[Any, Any]:
    """Words as sentences of letters with a feature for each black pixel."""
    from structsvm.problems import SequenceLabels, Sequences

    _, rows = np.nonzero(words.pixels)
    token_ptr = np.concatenate([[0], np.cumsum(words.pixels.sum(axis=1, dtype=np.int64))])
    ptr = words.word_ptr.astype(np.int64)
    return Sequences(rows.astype(np.int32), token_ptr, ptr), SequenceLabels(words.letters, ptr)


def main(*, quick: bool = False) -> None:
    figures: dict[str, Any] = {}
    folds = 2 if quick else 10
    rows = []
    for name, (settings, paper) in ROWS.items():
        job = dict(zip(("inference", "optimizer", "reprocess", "passes"), settings, strict=True))
        cells = [name]
        for shuffled in (False, True):
            if settings[3] > 1 and not shuffled:
                cells.append("")
                continue
            found = in_own_process("benchmarks.ocr", {**job, "shuffled": shuffled, "folds": folds})
            print(name, shuffled, found, file=sys.stderr)
            figures[f"{name}, {'shuffled' if shuffled else 'file order'}"] = found["accuracies"]
            cells.append(spread([{"a": value} for value in found["accuracies"]], "a", 2))
        which = 1 if settings[3] == 1 else 2
        cells[which] = beside(cells[which], paper)
        rows.append(cells)
    text = table([f"OCR, {folds} folds: letters right, %", "file order (thesis)", "shuffled (thesis)"], rows)
    if not quick:
        figures |= curves()
    publish("ocr-quick" if quick else "ocr", text, figures)


def curves() -> dict[str, Any]:
    """Figures 5.5 (gain over n_R = 0) and 5.6 (accuracy against the order), one pass in the file's order."""
    kept: dict[str, Any] = {"reprocess": REPROCESS, "orders": ORDERS}

    def mean(inference: str, reprocess: int, order: int) -> float:
        job = {"inference": inference, "optimizer": "larank", "reprocess": reprocess, "order": order,
               "passes": 1, "shuffled": False, "folds": 5}  # fmt: skip
        return statistics.mean(in_own_process("benchmarks.ocr", job)["accuracies"])

    with figure("figure-5.5", "n_R", "gain in accuracy over n_R = 0, %") as axes:
        for inference in ("greedy", "exact"):
            values = [mean(inference, n, ORDER) for n in REPROCESS]
            kept[f"figure 5.5 {inference}"] = values
            axes.plot(REPROCESS, [value - values[0] for value in values], marker="o", label=inference)
    with figure("figure-5.6", "labels before that a decision looks at", "letters right, %") as axes:
        values = [mean("greedy", 5, order) for order in ORDERS]
        kept["figure 5.6 greedy"] = values
        axes.plot(ORDERS, values, marker="o", label="greedy")
        axes.axhline(mean("exact", 10, 1), linestyle="--", color="grey", label="exact, order 1")
    return kept
