"""`python -m benchmarks solvers`: structured solvers side by side, pass by pass.

The data are chunks (the first sentences of CoNLL-2000, template conll2000) and handwritten words (a fold of
the OCR letters, one feature for each black pixel), at lambda = 1 / (C n). After each pass, the table shows
the distance of the primal from the best lower bound that any run has found, as a share of this bound, the
errors on test data, the calls of the argmax and CPU seconds of training alone. A random field has its own
objective.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.harness import figure, in_own_process, publish, table

SENTENCES = 2000
LAMBDAS = {"conll2000": (0.01, 1e-3), "ocr_letters": (0.1, 1e-3)}
PASSES = {"svmstruct": 40, "1-slack": 60}
USUAL = 10
SHOWN = (1, 2, 5, 10, 40, 60)
SOLVERS = ("larank", "larank, no reprocessing", "pa", "perceptron", "svmstruct", "1-slack", "crf")


def data(corpus: str) -> tuple[Any, Any, Any, Any, Any]:
    """The problem, the training set and the test set."""
    from structsvm.problems import SequenceProblem

    if corpus == "ocr_letters":
        from benchmarks.papers.handwriting import sequences
        from corpora import load_ocr

        words = load_ocr()
        train, test = (words.take(np.flatnonzero(part)) for part in (words.folds == 0, words.folds == 1))
        return SequenceProblem(26), *sequences(train), *sequences(test)
    from benchmarks.crf import data as chunks
    from structsvm.problems import SequenceLabels

    model, X, y, (X_test, gold) = chunks()
    some = np.arange(SENTENCES)
    codes = gold.positions(model.names).astype(np.int32)
    return model.problem(), X[some], y[some], X_test, SequenceLabels(codes, X_test.sentence_ptr)


def solver(name: str, problem: Any, C: float) -> Any:
    """An optimizer that has learned nothing."""
    from structsvm import LaRank, PassiveAggressive, Perceptron, RandomField, SVMStruct

    if name == "perceptron":
        return Perceptron(problem)
    if name == "1-slack":
        return SVMStruct(problem, C=C, formulation="1-slack")
    if name == "larank, no reprocessing":
        return LaRank(problem, C=C, n_reprocess=0)
    kinds = {"larank": LaRank, "pa": PassiveAggressive, "svmstruct": SVMStruct, "crf": RandomField}
    return kinds[name](problem, C=C)


def measure(corpus: str, name: str, rate: float) -> dict[str, Any]:
    """The figures after each pass; called in its own process."""
    from structsvm.problems.sequence import Decoder

    problem, X, y, X_test, y_test = data(corpus)
    optimizer = solver(name, problem, 1 / (rate * len(X)))
    seconds, points, ended = 0.0, [], False
    for number in range(1, PASSES.get(name, USUAL) + 1):
        start = time.process_time()
        if number == 1:
            optimizer.begin(X, y)
        ended = optimizer.epoch()
        seconds += time.process_time() - start
        weights = np.zeros((problem.history + int(max(X.rows.max(), X_test.rows.max())) + 1, problem.stride))
        w = optimizer.weights_
        weights.reshape(-1)[: len(w)] = w
        known = y_test.codes >= 0
        wrong = Decoder(problem, weights.astype(np.float32)).labels(X_test)[known] != y_test.codes[known]
        bound = optimizer.primal() - optimizer.gap() if name == "crf" else optimizer.dual_
        points.append(
            (number, optimizer.primal(), bound, float(np.mean(wrong)), optimizer.n_argmax_, seconds)
        )
        if ended:
            break
    return {"points": points}


def main(quick: bool = False) -> None:
    text, kept = [], {}
    for corpus, rates in LAMBDAS.items():
        for rate in rates[:1] if quick else rates:
            found = {}
            for name in SOLVERS:
                job = {"corpus": corpus, "name": name, "rate": rate}
                found[name] = in_own_process("benchmarks.solvers", job)["points"]
            best = max(
                bound for name, points in found.items() if name not in ("crf", "perceptron")
                for _, _, bound, *_ in points
            )  # fmt: skip
            lines = []
            for name, points in found.items():
                least = max(p[2] for p in points) if name == "crf" else best
                for number, primal, _, error, argmax, seconds in points:
                    if number in SHOWN or number == len(points):
                        share = "-" if name == "perceptron" else f"{primal / least - 1:.3f}"
                        lines.append([name, number, share, f"{100 * error:.2f}", argmax, f"{seconds:.2f}"])
            title = f"{corpus}, lambda {rate:g}"
            header = ["solver", "passes", "primal above the bound", "test errors, %", "argmax", "CPU seconds"]
            text += [f"## {title}", table(header, lines)]
            kept[title] = found
            draw(corpus, rate, found)
    publish("solvers", "\n\n".join(text), kept)


def draw(corpus: str, rate: float, found: dict[str, Any]) -> None:
    """Errors on test data by seconds."""
    with figure(f"solvers-{corpus}-{rate:g}", "CPU seconds", "test errors, %") as axes:
        axes.set_xscale("log")
        for name, points in found.items():
            axes.plot([p[5] for p in points], [100 * p[3] for p in points], label=name, marker=".", lw=1)
