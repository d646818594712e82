"""`python -m benchmarks crf`: conditional random fields against CRFsuite's L-BFGS, on CoNLL-2000.

Both programs get the same features (the template conll2000, nothing dropped) and minimise the same objective
with c2 = 1. Seconds are CPU seconds of training alone. The table also shows after how many seconds our
objective was within 0.1 % of CRFsuite's last one. `RandomField`, which `--algorithm crf` trains, makes
stochastic passes with C = 1 / (2 c2); it has weights for more pairs than CRFsuite, so its objective differs.
"""

from __future__ import annotations

import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import in_own_process, machine, table
from corpora import find

TEMPLATE = "conll2000"
CLOSE = 1.001


def data() -> tuple[Any, Any, Any, Any]:
    """The model with its features and labels, the training set, and the test set."""
    from structsvm.problems.sequence import SequenceLabels
    from taggers import SequenceTagger
    from taggers.formats.files import read_all
    from taggers.labels.label_encoding import GoldLabels

    folder = find("conll2000")
    train, test = (
        read_all(folder / f"{name}.txt", "columns", wanted=(0, 1, 2)) for name in ("train", "test")
    )
    tagger = SequenceTagger(template=TEMPLATE, constrained=False, algorithm="perceptron", epochs=1)
    model = tagger.fit(train, 2).model_  # for its features
    X = model.features(train)
    codes = GoldLabels.of(train, 2).positions(model.names).astype(np.int32)
    labels = SequenceLabels(codes, X.sentence_ptr)
    return model, X, labels, (model.features(test), GoldLabels.of(test, 2))


def measure(program: str, c2: float) -> dict[str, Any]:
    """Train with one program; called in its own process."""
    model, X, labels, (X_test, gold) = data()
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
    f1 = metrics.score_ids(gold, labelled.tag(X_test), labelled.names, phrases=True)
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


def main() -> None:
    results = {
        program: in_own_process("benchmarks.crf", {"program": program, "c2": 1.0})
        for program in ("ours", "passes", "crfsuite")
    }
    theirs = results["crfsuite"]
    lines = []
    for program, found in results.items():
        close = [seconds for seconds, value in found["curve"] if value <= CLOSE * theirs["objective"]]
        lines.append(
            [program, found["iterations"], f"{found['objective']:.1f}", f"{found['seconds']:.1f}",
             f"{close[0]:.1f}" if close else "-", f"{theirs['seconds'] / found['seconds']:.1f}",
             f"{100 * found['f1']:.2f}", f"{100 * found['error']:.2f}"]
        )  # fmt: skip
    header = [
        "program",
        "iterations",
        "objective",
        "CPU seconds",
        "until within 0.1 %",
        "times as fast",
        "F1",
        "calibration error, %",
    ]
    print(table(header, lines))
    print(machine())
