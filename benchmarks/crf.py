"""`python -m benchmarks crf`: conditional random fields against CRFsuite's L-BFGS.

On three corpora, both programs get the same features (those of a template, nothing dropped) and minimise the
same objective with c2 = 1. Seconds are CPU seconds of training alone. The tables also show after how many
seconds our objective was within 0.1 % of CRFsuite's last one. `RandomField`, which `--algorithm crf` trains,
makes stochastic passes with C = 1 / (2 c2); it has weights for more pairs than CRFsuite, so its objective
differs.

Addresses are those of usaddress (PyPI), with its features, in five folds. CRFsuite gets the settings with
which usaddress is trained; we choose ours for each fold, on inner folds.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import in_own_process, kept_figures, publish, spread, table
from benchmarks.reach import NARROW
from corpora import find

CLOSE = 1.001
PROGRAMS = ("ours", "passes", "crfsuite")
# corpus, files, format, columns, template, whether the labels are phrases
CORPORA: dict[str, tuple[str, tuple[str, str], str, tuple[int, ...], str, bool]] = {
    "CoNLL-2000": ("conll2000", ("train.txt", "test.txt"), "columns", (0, 1, 2), "conll2000", True),
    "Spanish": ("conll2002", ("esp.train", "esp.testb"), "columns", (0, 1, 2), "conll2000", True),
    "EWT": ("ud_english_ewt", ("train.conllu", "test.conllu"), "conllu", (1, 3), NARROW, False),
}
FOLDS, INNER = 5, 3
ADDRESSES = "train_labeled.xml"
USADDRESS = {"c1": 0.1, "c2": 0.01, "feature.minfreq": 0}  # how it is trained
SETTINGS = [{"C": C, "epochs": epochs} for C in (1.0, 3.0, 10.0, 30.0) for epochs in (15, 40)]


def data(name: str = "CoNLL-2000") -> tuple[Any, Any, Any, Any]:
    """The model with its features and labels, the training set, and the test set."""
    from structsvm.problems.sequence import SequenceLabels
    from taggers import SequenceTagger
    from taggers.formats.files import read_all
    from taggers.labels.label_encoding import GoldLabels

    folder, files, kind, wanted, template, _ = CORPORA[name]
    train, test = (read_all(find(folder) / file, kind, wanted=wanted) for file in files)
    column = len(wanted) - 1
    tagger = SequenceTagger(template=template, constrained=False, algorithm="perceptron", epochs=1)
    model = tagger.fit(train, column).model_  # for its features
    X = model.features(train)
    codes = GoldLabels.of(train, column).positions(model.names).astype(np.int32)
    labels = SequenceLabels(codes, X.sentence_ptr)
    return model, X, labels, (model.features(test), GoldLabels.of(test, column))


def measure(program: str, corpus: str, c2: float = 1.0) -> dict[str, Any]:
    """Train with one program; called in its own process."""
    if corpus == "addresses":
        return {"folds": addresses(program)}
    model, X, labels, (X_test, gold) = data(corpus)
    curve: list[tuple[float, float]] = []
    if program == "crfsuite":
        objective, rows, seconds, iterations = with_crfsuite(model, X, labels, c2)
    elif program == "passes":
        from structsvm import RandomField

        start = time.process_time()
        field = RandomField(model.problem(), C=1 / (2 * c2)).fit(X, labels)
        seconds, objective, iterations = time.process_time() - start, field.primal() * 2 * c2, field.epochs
        rows = model.rows_of(field)
    else:
        from structsvm.optimizers.crf import CRF

        start = time.process_time()

        def note(point: Any) -> None:
            curve.append((time.process_time() - start, point.objective if point.norm > 0 else np.inf))

        crf = CRF(len(model.labels), c2=c2, callback=note).fit(X, labels)
        seconds, objective, iterations = time.process_time() - start, crf.objective(), len(curve)
        rows = crf.weight_rows(len(model.space))
    from taggers import metrics

    labelled = model.with_rows(rows)
    error = calibration_error(labelled, X_test, gold)
    f1 = metrics.score_ids(gold, labelled.tag(X_test), labelled.names, phrases=CORPORA[corpus][-1])
    return {
        "seconds": seconds,
        "objective": objective,
        "f1": f1,
        "error": error,
        "iterations": iterations,
        "curve": curve,
    }


def calibration_error(model: Any, X: Any, gold: Any) -> float:
    """The expected calibration error of the most probable labels."""
    from taggers.metrics import calibration_error as expected_error

    rows = model.marginals(X)
    marginals = [[dict(zip(model.names, row, strict=True)) for row in rows.tolist()]]
    return expected_error([[model.names[k] for k in gold.positions(model.names).tolist()]], marginals)


def with_crfsuite(model: Any, X: Any, labels: Any, c2: float) -> tuple[float, Any, float, int]:
    """The last objective, the weights, the seconds and the iterations of python-crfsuite."""
    import pycrfsuite

    from taggers import SequenceTagger

    trainer = pycrfsuite.Trainer("lbfgs", {"c2": c2}, verbose=False)
    rows, starts, ends = list(map(str, X.rows.tolist())), X.token_ptr.tolist(), X.sentence_ptr.tolist()
    names = [model.labels[code] for code in labels.codes.tolist()]
    for first, stop in pairwise(ends):
        items = [rows[starts[t] : starts[t + 1]] for t in range(first, stop)]
        trainer.append(items, names[first:stop])
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "model"))
        start = time.process_time()
        trainer.train(path)
        seconds = time.process_time() - start
        found = SequenceTagger.load(path).model_
    log = trainer.logparser
    return log.last_iteration["loss"], reordered(found, model), seconds, len(log.iterations)


def reordered(found: Any, model: Any) -> Any:
    """The weights of a model whose attributes are row numbers, as rows of ours."""
    from taggers.foreign.weights import weight_rows

    L = len(model.labels)
    own = [model.labels.index(name) for name in found.labels]
    place = np.array([*own, L, *(L + 1 + int(name) for name in found.space.names)])
    cells = found.weights.cells
    label = np.array(own)[cells["label"]]
    return weight_rows(place[found.weights.row_of], label, cells["value"], L, L + 1 + len(model.space))


def addresses(program: str) -> list[dict[str, float]]:
    """For each fold: the shares of addresses without error and of right tokens, seconds of training."""
    from usaddress import tokens2features

    from taggers import read_sentences

    sentences, y = read_sentences(find("usaddress") / ADDRESSES)
    X = [tokens2features(tokens) for tokens in sentences]
    every = np.random.default_rng(0).permutation(len(X))
    found = []
    for held_out in np.array_split(every, FOLDS):
        rest = every[~np.isin(every, held_out)]  # shuffled: the file is sorted by its sources
        settings = USADDRESS if program == "crfsuite" else min(
            SETTINGS, key=lambda one: sum(
                100 - score(one, X, y, np.setdiff1d(rest, part), part)["whole"]
                for part in np.array_split(rest, INNER)
            )
        )  # fmt: skip
        found.append(score(settings, X, y, rest, held_out) | {"C": settings.get("C", 0.0)})
    return found


def score(settings: dict[str, Any], X: Any, y: Any, train: Any, test: Any) -> dict[str, float]:
    """Train on some addresses, and label others."""
    start = time.process_time()
    if settings is USADDRESS:
        import pycrfsuite

        trainer, tagger = pycrfsuite.Trainer(params=settings, verbose=False), pycrfsuite.Tagger()
        for k in train:
            trainer.append(X[k], y[k])
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder, "model"))
            trainer.train(path)
            seconds = time.process_time() - start
            tagger.open(path)
            labels = [tagger.tag(X[k]) for k in test]
    else:
        from taggers import SequenceTagger

        ours = SequenceTagger(algorithm="crf", **settings).fit([X[k] for k in train], [y[k] for k in train])
        seconds = time.process_time() - start
        labels = ours.predict([X[k] for k in test])
    gold = [y[k] for k in test]
    tokens = [
        a == b for one, other in zip(gold, labels, strict=True) for a, b in zip(one, other, strict=True)
    ]
    whole = [one == other for one, other in zip(gold, labels, strict=True)]
    return {"whole": 100 * float(np.mean(whole)), "tokens": 100 * float(np.mean(tokens)), "seconds": seconds}


def report(corpus: str, results: dict[str, Any]) -> str:
    """The table of a corpus."""
    if corpus == "addresses":
        header = ["program", "addresses without error, %", "tokens, %", "CPU seconds"]
        columns = [("whole", 2), ("tokens", 2), ("seconds", 2)]
        lines = [
            [program, *(spread(found["folds"], name, digits) for name, digits in columns)]
            for program, found in results.items()
        ]
        return table(header, lines)
    theirs, lines = results["crfsuite"], []
    for program, found in results.items():
        close = [seconds for seconds, value in found["curve"] if value <= CLOSE * theirs["objective"]]
        lines.append(
            [program, found["iterations"], f"{found['objective']:.1f}", f"{found['seconds']:.1f}",
             f"{close[0]:.1f}" if close else "-", f"{theirs['seconds'] / found['seconds']:.1f}",
             f"{100 * found['f1']:.2f}", f"{100 * found['error']:.2f}"]
        )  # fmt: skip
    header = ["program", "iterations", "objective", "CPU seconds", "until within 0.1 %", "times as fast",
              "F1" if CORPORA[corpus][-1] else "accuracy, %", "calibration error, %"]  # fmt: skip
    return table(header, lines)


def main(tasks: Sequence[str] = ()) -> None:
    """tasks: measure only these corpora, and keep the other results."""
    names = (*CORPORA, "addresses")
    kept: dict[str, Any] = dict(kept_figures("crf") or {}) if tasks else {}
    for name in tasks or names:
        kept[name] = {
            program: in_own_process("benchmarks.crf", {"program": program, "corpus": name})
            for program in PROGRAMS
            if name != "addresses" or program != "ours"
        }
        text = [f"### {name}\n\n{report(name, kept[name])}" for name in names if name in kept]
        publish("crf", "\n\n".join(text), kept)
