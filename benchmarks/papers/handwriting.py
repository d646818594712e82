"""OCR words in Bordes' thesis: the OCR columns of tables 5.4 to 5.6, and figures 5.5 and 5.6.

Train on one fold, test on the nine others, C = 0.1, the 128 pixels as features. The file holds the same word
written by many hands, one after the other. The thesis' figures for one pass are those of this order, in which
the last words weigh most; in a random order the perceptron and PA do much better.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.experiment import BORDES, Curve, Figure, Outcome, Row, experiment
from benchmarks.harness import measurements

ORDER = 10
# inference, optimizer, LaRank's n_R, passes; accuracy in the thesis
METHODS: dict[str, tuple[tuple[str, str, int, int], float | None]] = {
    "perceptron greedy": (("greedy", "perceptron", 0, 1), 51.82),
    "PA greedy": (("greedy", "pa", 0, 1), 61.23),
    "LaRank greedy": (("greedy", "larank", 5, 1), 81.15),
    "LaRank greedy, converged": (("greedy", "larank", 5, 10), 83.77),
    "perceptron exact": (("exact", "perceptron", 0, 1), 51.44),
    "PA exact": (("exact", "pa", 0, 1), 56.13),
    "LaRank exact": (("exact", "larank", 10, 1), 75.77),
    "LaRank exact, converged (SVMstruct's solution)": (("exact", "larank", 10, 10), 78.20),
    "CRF": (("exact", "crf", 0, 1), None),
    "CRF, converged": (("exact", "crf", 0, 6), None),
}
REPROCESS = (0, 1, 2, 5, 10)
ORDERS = (0, 1, 2, 4, 7, 10)
NEEDED = ("ocr_letters",)


def measure(
    inference: str, optimizer: str, reprocess: int, passes: int, shuffled: bool, fold: int, order: int = ORDER
) -> dict[str, Any]:
    """Accuracy on the other folds, trained on one."""
    from corpora import load_ocr
    from structsvm import LaRank, PassiveAggressive, Perceptron, RandomField
    from structsvm.problems import SequenceProblem
    from structsvm.problems.sequence import Decoder

    words = load_ocr()
    train, test = (words.take(np.flatnonzero(part)) for part in (words.folds == fold, words.folds != fold))
    problem = SequenceProblem(26, inference=inference, order=order if inference == "greedy" else 1)
    learner: Any
    if optimizer == "perceptron":
        learner = Perceptron(problem, average=False, epochs=passes, random_state=fold)
    elif optimizer == "pa":
        learner = PassiveAggressive(problem, C=0.1, epochs=passes, random_state=fold)
    elif optimizer == "crf":
        learner = RandomField(problem, epochs=passes, random_state=fold)
    else:
        learner = LaRank(problem, C=0.1, n_reprocess=reprocess, epochs=passes, random_state=fold)
    (learner.fit if shuffled else learner.partial_fit)(*sequences(train))
    X, y = sequences(test)
    weights = np.zeros((problem.history + train.pixels.shape[1], problem.stride), np.float32)
    weights.reshape(-1)[: len(learner.weights_)] = learner.weights_
    right = Decoder(problem, weights).labels(X) == y.codes
    sizes = [len(part.word_ptr) - 1 for part in (train, test)]
    letters = [len(part.letters) for part in (train, test)]
    return {"accuracy": 100 * float(np.mean(right)), "words": sizes, "letters": letters}


def sequences(words: Any) -> tuple[Any, Any]:
    """Words as sentences of letters with a feature for each black pixel."""
    from structsvm.problems import SequenceLabels, Sequences

    _, rows = np.nonzero(words.pixels)
    token_ptr = np.concatenate([[0], np.cumsum(words.pixels.sum(axis=1, dtype=np.int64))])
    ptr = words.word_ptr.astype(np.int64)
    return Sequences(rows.astype(np.int32), token_ptr, ptr), SequenceLabels(words.letters, ptr)


def folds(job: dict[str, Any], quick: bool, most: int = 10) -> list[dict[str, Any]]:
    return measurements(__name__, [{**job, "fold": fold} for fold in range(1 if quick else most)])


def rows(method: str, quick: bool) -> list[Row]:
    """The OCR column of a method: several passes shuffled, one pass in the order of the file and shuffled."""
    (inference, optimizer, reprocess, passes), paper = METHODS[method]
    job = {"inference": inference, "optimizer": optimizer, "reprocess": reprocess, "passes": passes}
    found = {shuffled: folds({**job, "shuffled": shuffled}, quick) for shuffled in {passes > 1, True}}
    scores = {shuffled: [run["accuracy"] for run in done] for shuffled, done in found.items()}
    kept = [Row(f"{method}, OCR", "accuracy %", paper, scores[passes > 1])]
    if passes == 1:
        kept.append(Row(f"{method}, OCR, shuffled", "accuracy %", None, scores[True]))
    return kept


def sizes(quick: bool) -> list[Row]:
    """The OCR row of table 5.4."""
    job = {"inference": "greedy", "optimizer": "pa", "reprocess": 0, "passes": 1, "shuffled": False}
    found = folds(job, quick)
    thesis = (("words", 0, "training words", 650), ("letters", 0, "training letters", 4600),
              ("words", 1, "test words", 5500), ("letters", 1, "test letters", 43000))  # fmt: skip
    return [
        Row("OCR", name, paper, [run[what][part] for run in found], digits=0)
        for what, part, name, paper in thesis
    ]


def accuracies(quick: bool, **changes: Any) -> list[float]:
    job = {"optimizer": "larank", "passes": 1, "shuffled": False, **changes}
    return [run["accuracy"] for run in folds(job, quick, most=5)]


@experiment("figure-5.5", "OCR: gain in accuracy by reprocessing", source=BORDES, corpora=NEEDED)
def figure_5_5(quick: bool) -> Outcome:
    curves, rows = [], []
    for inference in ("greedy", "exact"):
        found = [accuracies(quick, inference=inference, reprocess=n) for n in REPROCESS]
        means = [float(np.mean(values)) for values in found]
        curves.append(Curve(f"LaRank {inference}", REPROCESS, [mean - means[0] for mean in means]))
        for n, values in zip(REPROCESS, found, strict=True):
            rows.append(Row(f"LaRank {inference}, n_R = {n}", "accuracy %", None, values))
    notes = (
        "One pass in the file's order, five folds. The thesis prints no numbers: the gain is to grow with "
        "n_R, up to about 5 for greedy and 10 for exact inference."
    )
    return Outcome(rows, [Figure("n_R", "gain in accuracy over n_R = 0, %", curves)], notes)


@experiment("figure-5.6", "OCR: accuracy by the order of the label history", source=BORDES, corpora=NEEDED)
def figure_5_6(quick: bool) -> Outcome:
    found = [accuracies(quick, inference="greedy", reprocess=5, order=order) for order in ORDERS]
    exact = accuracies(quick, inference="exact", reprocess=10, order=1)
    rows = [
        Row(f"LaRank greedy, order {order}", "accuracy %", None, values)
        for order, values in zip(ORDERS, found, strict=True)
    ]
    rows.append(Row("LaRank exact, order 1", "accuracy %", None, exact))
    curves = [
        Curve("LaRank greedy", ORDERS, [float(np.mean(values)) for values in found]),
        Curve("LaRank exact, order 1", (ORDERS[0], ORDERS[-1]), [float(np.mean(exact))] * 2, style="--"),
    ]
    return Outcome(rows, [Figure("labels before that a decision looks at", "accuracy, %", curves)])
