"""Sequence labelling in Bordes' thesis: tables 5.4 to 5.7 (for OCR see `handwriting`), figures 5.3, 5.4."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks.experiment import BORDES, Curve, Figure, Outcome, Row, experiment
from benchmarks.harness import cpu_timed, measurements
from benchmarks.papers import handwriting

CONVERGED = 5  # passes; the last one gains less than a thousandth of the dual
METHODS: dict[str, dict[str, Any]] = {
    "perceptron exact": {"algorithm": "perceptron", "inference": "exact"},
    "PA exact": {"algorithm": "pa", "inference": "exact"},
    "LaRank exact": {"inference": "exact"},
    "LaRank exact, converged (SVMstruct's solution)": {"inference": "exact", "epochs": CONVERGED},
    "perceptron greedy": {"algorithm": "perceptron", "inference": "greedy"},
    "PA greedy": {"algorithm": "pa", "inference": "greedy"},
    "LaRank greedy": {"inference": "greedy"},
    "LaRank greedy, converged": {"inference": "greedy", "epochs": CONVERGED},
    "CRF": {"algorithm": "crf", "inference": "exact", "C": 1.0},
    "CRF, converged": {"algorithm": "crf", "inference": "exact", "C": 1.0, "epochs": 6},
}
SVMSTRUCT = {"algorithm": "svmstruct", "inference": "exact", "epochs": 1000}
POS = """
    w[-2..2], w[-1]|w[0], w[0]|w[1], prefix1[0], prefix2[0], prefix3[0], suffix1[0], suffix2[0], suffix3[0],
    shape[0], has_digit[0], has_hyphen[0]
"""
# template, and features seen less often are dropped
TASKS = {"chunking": ("conll2000", 3), "POS, EWT": (POS, 2), "POS, treebank sample": (POS, 2)}
WSJ = "the Wall Street Journal by UD English EWT (UPOS) and NLTK's treebank sample (its last fifth tests)."
NEEDED = ("conll2000", "ocr_letters", "ud_english_ewt", "treebank_sample")

# accuracy and F1 on CoNLL-2000, accuracy on WSJ: tables 5.5 and 5.6
PAPER: dict[str, tuple[float, float, float]] = {
    "LaRank exact, converged (SVMstruct's solution)": (95.98, 93.64, 96.81),
    "perceptron exact": (93.74, 89.31, 91.49),
    "PA exact": (95.15, 92.21, 94.67),
    "LaRank exact": (95.82, 93.34, 96.65),
    "LaRank greedy, converged": (95.86, 93.59, 96.63),
    "perceptron greedy": (93.24, 88.84, 92.70),
    "PA greedy": (94.61, 91.55, 94.15),
    "LaRank greedy": (95.81, 93.46, 96.46),
}
CRFS = {"CRF": (95.26, 92.47, 94.42), "CRF, converged": (96.03, 93.75, 96.75)}  # table 5.5
DUALS = {
    "LaRank exact, converged (SVMstruct's solution)": 1360,
    "PA exact": 443,
    "LaRank exact": 1195,
    "LaRank greedy, converged": 940,
    "PA greedy": 410,
    "LaRank greedy": 905,
}
OTHER_CORPORA = {
    r"POS, EWT": "EWT is web text with other labels and a fifth of the words of WSJ; the treebank "
    "sample, which is WSJ text, matches with the same program",
}
SIZES = (1000, 2000, 4000, 8936)
SLOW_SIZES = (250, 500, 1000, 2000)


def measure(
    task: str, method: str, seed: int, sentences: int | None = None, file_order: bool = False
) -> dict[str, Any]:
    """Train on the first sentences of a task, or on all, and label its test sentences."""
    from taggers import SequenceTagger
    from taggers.conlleval import evaluate

    template, cutoff = TASKS[task]
    (X, y), (X_test, y_test) = load(task)
    options = {"epochs": 1, **(SVMSTRUCT if method == "SVMstruct" else METHODS[method])}

    # The perceptron of the thesis is not averaged.
    changes = {"average": False} if options.get("algorithm") == "perceptron" else {}
    options = {"C": 0.1, "constrained": False, **options}  # the papers allow every sequence of labels
    tagger = SequenceTagger(template=template, cutoff=cutoff, random_state=seed, **options)
    with optimizers_with(file_order, **changes):
        _, seconds = cpu_timed(lambda: tagger.fit(X[:sentences], y[:sentences]))
    result = evaluate(y_test, tagger.predict(X_test))
    optimizer = tagger.optimizer_
    return {
        "accuracy": 100 * result.accuracy, "f1": 100 * result.f1, "seconds": seconds,
        "dual": optimizer.dual_, "features": tagger.n_features_, "labels": len(set(chain(*y))),
        "sizes": [len(y), sum(map(len, y)), len(y_test), sum(map(len, y_test))],
        "curve": [(point.seen, point.n_support_patterns) for point in optimizer.curve_],
    }  # fmt: skip


@contextmanager
def optimizers_with(file_order: bool, **changes: Any) -> Iterator[None]:
    """Change every optimizer that a tagger makes: the order of its passes, and attributes."""
    from taggers import trainer
    from taggers.sources import memory

    make = trainer.new_optimizer

    def changed(*args: Any) -> Any:
        optimizer = make(*args)
        for name, value in changes.items():
            if not hasattr(optimizer, name):
                raise AttributeError(f"{type(optimizer).__name__} has no option {name}")
            setattr(optimizer, name, value)
        if file_order:
            optimizer._shuffled = lambda: optimizer._held  # type: ignore[method-assign]
        return optimizer

    with (
        mock.patch.object(trainer, "new_optimizer", changed),
        mock.patch.object(memory, "new_optimizer", changed),
    ):
        yield


def load(task: str) -> list[tuple[list[Any], list[list[str]]]]:
    """Training and test sentences with their labels."""
    from corpora import find
    from taggers.formats.files import read_all

    if task == "POS, treebank sample":
        tagged = [sentence for path in trees(find("treebank_sample")) for sentence in leaves(path)]
        first = len(tagged) * 4 // 5
        pairs = [
            [([w for _, w in s], [t for t, _ in s]) for s in part]
            for part in (tagged[:first], tagged[first:])
        ]
        return [([x for x, _ in part], [y for _, y in part]) for part in pairs]
    corpus, files, columns = {
        "chunking": ("conll2000", ("train.txt", "test.txt"), (0, 1, 2)),
        "POS, EWT": ("ud_english_ewt", ("train.conllu", "test.conllu"), (1, 3)),
    }[task]
    parts = []
    for name in files:
        read = read_all(find(corpus) / name, wanted=columns)
        *inputs, labels = (read.sentences(place) for place in range(len(columns)))
        X = [list(zip(*cells, strict=True)) for cells in zip(*inputs, strict=True)]
        parts.append((X if len(inputs) > 1 else inputs[0], labels))
    return parts


def trees(folder: Path) -> list[Path]:
    return sorted((folder / "combined").rglob("*.mrg"))


def leaves(path: Path) -> list[list[tuple[str, str]]]:
    """The tagged words of each tree of a file, without traces."""
    sentences = re.split(r"(?m)^(?=\()", path.read_text(encoding="utf-8"))
    found = [re.findall(r"\(([^\s()]+) ([^\s()]+)\)", tree) for tree in sentences]
    return [kept for tree in found if (kept := [leaf for leaf in tree if leaf[0] != "-NONE-"])]


def runs(task: str, method: str, quick: bool, shuffled: bool = False) -> list[dict[str, Any]]:
    """Five seeds (three for parts of speech); quick: one, on a thousand sentences.

    One pass of chunking is in the order of the file, which only its duals reveal to be that of the thesis;
    everything else is shuffled. Without LaRank's random steps, a pass in file order needs one seed.
    """
    job: dict[str, Any] = {"task": task, "method": method}
    if task == "chunking" and not shuffled and "converged" not in method:
        job["file_order"] = True
    if quick:
        job["sentences"] = 1000
    alike = quick or ("file_order" in job and "LaRank" not in method)
    seeds = 1 if alike else 5 if task == "chunking" else 3
    return measurements(__name__, [{**job, "seed": seed} for seed in range(seeds)])


def accuracies(paper: dict[str, tuple[float, float, float]], quick: bool) -> Outcome:
    """The rows of these methods."""
    rows = []
    for method, (accuracy, f1, wsj) in paper.items():
        rows += handwriting.rows(method, quick)
        found = runs("chunking", method, quick)
        rows.append(Row(f"{method}, chunking", "accuracy %", accuracy, [run["accuracy"] for run in found]))
        rows.append(Row(f"{method}, chunking", "F1", f1, [run["f1"] for run in found]))
        for task in ("POS, EWT", "POS, treebank sample"):
            found = runs(task, method, quick)
            name = f"{method}, {task} (paper: WSJ)"
            rows.append(Row(name, "accuracy %", wsj, [run["accuracy"] for run in found]))
    return Outcome(rows, notes=NOTES)


NOTES = (
    "SVMstruct's problem is solved by LaRank, in several passes: the solution is the same, the time is not. "
    "Perceptrons are not averaged. The corpora for parts of speech are 5 and 13 times smaller than WSJ: "
    "compare the order of the methods. One pass of chunking and OCR is in the order of the file, as the "
    "thesis must have had it (see the duals of table 5.7); everything else is shuffled. CRFs are in "
    "table-5.5-crf: one pass, and six."
)


@experiment(
    "table-5.4",
    "Data sets of sequence labelling: sizes, labels, features",
    source=BORDES,
    corpora=NEEDED,
    instead=WSJ,
    because={
        "labels": "the thesis does not count the label O",
        "OCR": "the thesis rounds, and its words add up to 6,150; the published file has 6,877",
    },
)
def table_5_4(quick: bool) -> Outcome:
    rows = []
    thesis = {
        "chunking": (8931, 212000, 2012, 47000, 21, 76000),
        "POS, EWT": (None,) * 6,
        "POS, treebank sample": (None,) * 6,
    }
    names = ("training sentences", "training tokens", "test sentences", "test tokens", "labels", "features")
    for task, paper in thesis.items():
        run = runs(task, "PA greedy", quick)[0]
        counts = [*run["sizes"], run["labels"], run["features"]]
        for name, count, theirs in zip(names, counts, paper, strict=True):
            rows.append(Row(task, name, theirs, [count], digits=0))
    rows += handwriting.sizes(quick)
    return Outcome(rows, notes="The thesis rounds tokens and features, and does not count the label O.")


@experiment(
    "table-5.5", "Accuracy of sequence labelling, exact inference", source=BORDES, corpora=NEEDED,
    instead=WSJ, because=OTHER_CORPORA,
)  # fmt: skip
def table_5_5(quick: bool) -> Outcome:
    return accuracies({name: figures for name, figures in PAPER.items() if "exact" in name}, quick)


@experiment(
    "table-5.5-crf", "Accuracy of sequence labelling, conditional random fields", source=BORDES,
    corpora=NEEDED, instead=WSJ, because=OTHER_CORPORA,
)  # fmt: skip
def table_5_5_crf(quick: bool) -> Outcome:
    return accuracies(CRFS, quick)


@experiment(
    "table-5.6",
    "Accuracy of sequence labelling, greedy inference",
    source=BORDES,
    corpora=NEEDED,
    instead=WSJ,
    because=OTHER_CORPORA,
)
def table_5_6(quick: bool) -> Outcome:
    return accuracies({name: figures for name, figures in PAPER.items() if "greedy" in name}, quick)


@experiment("table-5.7", "Dual objective after training, chunking", source=BORDES, corpora=("conll2000",))
def table_5_7(quick: bool) -> Outcome:
    rows = []
    for method, dual in DUALS.items():
        found = [run["dual"] for run in runs("chunking", method, quick)]
        rows.append(Row(method, "dual", dual, found, digits=1, relative=True))
        if "converged" not in method:
            found = [run["dual"] for run in runs("chunking", method, quick, shuffled=True)]
            rows.append(Row(f"{method}, shuffled", "dual", None, found, digits=1, relative=True))
    return Outcome(rows, notes="One pass is in the order of the file, unless it says shuffled.")


@experiment("figure-5.3", "Chunking: training time by size", source=BORDES, corpora=("conll2000",))
def figure_5_3(quick: bool) -> Outcome:
    curves, rows = [], []
    for method in ("LaRank greedy", "LaRank exact", "SVMstruct"):
        sizes: Sequence[int] = SLOW_SIZES if method == "SVMstruct" else SIZES
        if quick:
            sizes = (125, 250) if method == "SVMstruct" else (250, 500, 1000)
        repeats = 1 if quick or method == "SVMstruct" else 3
        seconds = []
        for size in sizes:
            jobs = [
                {"task": "chunking", "method": method, "seed": s, "sentences": size} for s in range(repeats)
            ]
            seconds.append(statistics.median(run["seconds"] for run in measurements(__name__, jobs)))
        growth = [value / seconds[0] for value in seconds]
        curves.append(Curve(method, [size / sizes[0] for size in sizes], growth))
        rows.append(Row(method, "exponent of the size", None, [exponent(sizes, seconds)]))
        rows.append(Row(f"{method}, {sizes[-1]:,} sentences", "seconds", None, [seconds[-1]]))
    longest = max(curves, key=lambda curve: curve.x[-1]).x
    curves.append(Curve("linear", longest, longest, style=":"))
    notes = (
        "Time increments against size increments, as in the thesis; 1 is linear. Each line starts at its "
        f"smallest size: {SIZES[0]:,} sentences, SVMstruct's at {SLOW_SIZES[0]}."
    )
    return Outcome(rows, [Figure("size increment", "time increment", curves, log="xy")], notes)


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The slope of a line through the logarithms."""
    import numpy as np

    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


@experiment("figure-5.4", "Chunking: sparsity while learning", source=BORDES, corpora=("conll2000",))
def figure_5_4(quick: bool) -> Outcome:
    curves, rows = [], []
    for method in ("LaRank greedy", "LaRank exact"):
        points = [point for point in runs("chunking", method, quick)[0]["curve"] if point[0]]
        last = points[-1][0]
        shares = [100 * support / seen for seen, support in points]
        curves.append(Curve(method, [100 * seen / last for seen, _ in points], shares, style="-"))
        rows.append(
            Row(method, "support patterns, % of patterns seen, at the end", None, [shares[-1]], digits=1)
        )
    drawing = Figure("training set seen, %", "support patterns, % of patterns seen", curves)
    return Outcome(
        rows, [drawing], "Patterns are tokens for greedy inference, sentences for exact inference."
    )
