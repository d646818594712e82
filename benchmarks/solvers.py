"""`python -m benchmarks solvers`: structured solvers side by side, pass by pass.

The data are chunks and parts of speech (the first sentences of CoNLL-2000 and of EWT, with the templates of
`benchmarks crf`) and handwritten words (a fold of the OCR letters, one feature for each black pixel), at
lambda = 1 / (C n), as in the papers on block-coordinate Frank-Wolfe. After some passes, the table shows the
distance of the primal from the best lower bound that any run has found, as a share of this bound, the errors
on test data, the calls of the argmax and CPU seconds of training alone. A random field has its own objective.
Frank-Wolfe is written in NumPy, so compare its argmax calls, not its seconds. "larank, by gap" draws the
sentences of later passes with odds that depend on their slacks, which are computed again for each pass; the
table counts neither these argmax calls nor their time. Figures are means over three seeds.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.harness import figure, in_own_process, kept_figures, publish, table

SENTENCES = 500
LAMBDAS = {
    "conll2000": (0.1, 0.01, 1e-4), "ud_english_ewt": (0.1, 0.01, 1e-4), "ocr_letters": (0.1, 1e-3, 1e-4),
}  # fmt: skip
ANY = 0.1  # by gap: what is added to the odds of all sentences, times the mean slack
SEEDS = 3
SLOW = ("svmstruct",)  # measured only with the largest lambda: it takes minutes with the others
PASSES = {"svmstruct": 40, "1-slack": 60}
USUAL = 10
SHOWN = (1, 2, 5, 10, 40, 60)
IN_TABLES = (2, 10)  # and the last one; the plots show all
IN_TABLES = (2, 10)  # and the last one; the plots show all
SOLVERS = (
    "larank",
    "larank, by gap",
    "pa",
    "bcfw",
    "bcfw, by gap",
    "perceptron",
    "svmstruct",
    "1-slack",
    "crf",
)


def data(corpus: str) -> tuple[Any, Any, Any, Any, Any]:
    """The problem, the training set and the test set."""
    from structsvm.problems import SequenceProblem

    if corpus == "ocr_letters":
        from benchmarks.papers.handwriting import sequences
        from corpora import load_ocr

        words = load_ocr()
        train, test = (words.take(np.flatnonzero(part)) for part in (words.folds == 0, words.folds == 1))
        return SequenceProblem(26), *sequences(train), *sequences(test)
    from benchmarks.crf import data as texts
    from structsvm.problems import SequenceLabels

    model, X, y, (X_test, gold) = texts("EWT" if corpus == "ud_english_ewt" else "CoNLL-2000")
    some = np.arange(SENTENCES)
    codes = gold.positions(model.names).astype(np.int32)
    return model.problem(), X[some], y[some], X_test, SequenceLabels(codes, X_test.sentence_ptr)


def solver(name: str, problem: Any, C: float, seed: int) -> Any:
    """An optimizer that has learned nothing."""
    from benchmarks.frank_wolfe import FrankWolfe
    from structsvm import LaRank, PassiveAggressive, Perceptron, RandomField, SVMStruct

    if name.startswith("bcfw"):
        return FrankWolfe(problem, C, gaps="gap" in name, seed=seed)
    if name == "larank, by gap":
        return by_gap(problem, C, seed)
    if name == "perceptron":
        return Perceptron(problem, random_state=seed)
    if name == "1-slack":
        return SVMStruct(problem, C=C, formulation="1-slack", random_state=seed)
    kinds = {"larank": LaRank, "pa": PassiveAggressive, "svmstruct": SVMStruct, "crf": RandomField}
    return kinds[name](problem, C=C, random_state=seed)


def by_gap(problem: Any, C: float, seed: int) -> Any:
    """LaRank that visits sentences with large slacks more often, from the second pass on."""
    from structsvm import LaRank

    class ByGap(LaRank):
        def _shuffled(self) -> np.ndarray:
            order = super()._shuffled()
            if not self.epochs_done:
                return order
            slacks = np.asarray(self._fitted().slacks(order))
            odds = slacks + ANY * slacks.mean() + 1e-9
            rng = np.random.default_rng([seed, self.epochs_done])
            return rng.choice(order, len(order), p=odds / odds.sum())

    return ByGap(problem, C=C, random_state=seed)


def measure(corpus: str, rate: float, names: list[str], seeds: int) -> dict[str, Any]:
    """The figures of all seeds, averaged; called in its own process."""
    given = data(corpus)
    found = {}
    for name in names:
        runs = [passes(given, name, rate, seed) for seed in range(1 if name in PASSES else seeds)]
        shortest = min(map(len, runs))  # a run may end early
        found[name] = np.mean([run[:shortest] for run in runs], axis=0).tolist()
    return {"found": found}


def passes(given: tuple[Any, ...], name: str, rate: float, seed: int) -> list[tuple[float, ...]]:
    """The figures after some passes."""
    from structsvm.problems.sequence import Decoder

    problem, X, y, X_test, y_test = given
    optimizer = solver(name, problem, 1 / (rate * len(X)), seed)
    points: list[tuple[float, ...]] = []
    seconds, ended = 0.0, False
    most = PASSES.get(name, USUAL)
    for number in range(1, most + 1):
        start = time.process_time()
        if number == 1:
            optimizer.begin(X, y)
        ended = optimizer.epoch()
        seconds += time.process_time() - start
        if number not in (*SHOWN, most) and not ended:
            continue
        searches = optimizer.n_argmax_
        weights = np.zeros((problem.history + int(max(X.rows.max(), X_test.rows.max())) + 1, problem.stride))
        w = optimizer.weights_
        weights.reshape(-1)[: len(w)] = w
        known = y_test.codes >= 0
        wrong = Decoder(problem, weights.astype(np.float32)).labels(X_test)[known] != y_test.codes[known]
        bound = optimizer.primal() - optimizer.gap() if name == "crf" else optimizer.dual_
        points.append((number, optimizer.primal(), bound, float(np.mean(wrong)), searches, seconds))
        if ended:
            break
    return points


def main(quick: bool = False, tasks: Sequence[str] = ()) -> None:
    """tasks: measure only these tables, and keep the other results."""
    every = {
        f"{corpus}, lambda {rate:g}": (corpus, rate, position)
        for corpus, rates in LAMBDAS.items()
        for position, rate in enumerate(rates[:1] if quick else rates)
    }
    kept: dict[str, Any] = dict(kept_figures("solvers") or {}) if tasks else {}
    for title in tasks or every:
        corpus, rate, position = every[title]
        names = [name for name in SOLVERS if name not in SLOW or not position]
        job = {"corpus": corpus, "rate": rate, "names": names, "seeds": 1 if quick else SEEDS}
        found = in_own_process("benchmarks.solvers", job)["found"]
        kept[title] = found
        draw(f"solvers-{corpus}-{rate:g}", found)
        text = [f"### {title}\n\n{report(kept[title])}" for title in every if title in kept]
        publish("solvers-quick" if quick else "solvers", "\n\n".join(text), kept)


def lower_bound(found: dict[str, Any]) -> float:
    """The best one of all support vector machines."""
    return max(p[2] for name, points in found.items() if name not in ("crf", "perceptron") for p in points)


def report(found: dict[str, Any]) -> str:
    """The table of a corpus and a lambda."""
    lines = []
    for name, points in found.items():
        best = max(p[2] for p in points) if name == "crf" else lower_bound(found)
        for number, primal, _, error, argmax, seconds in points:
            if number not in (*IN_TABLES, points[-1][0]):
                continue
            if number not in (*IN_TABLES, points[-1][0]):
                continue
            share = "-" if name == "perceptron" or best <= 0 else f"{primal / best - 1:.3f}"
            spent = "-" if name.startswith("bcfw") else f"{seconds:.2f}"
            lines.append([name, int(number), share, f"{100 * error:.2f}", f"{argmax:.0f}", spent])
    header = ["solver", "passes", "primal above the bound", "test errors, %", "argmax", "CPU seconds"]
    return table(header, lines)


def draw(name: str, found: dict[str, Any]) -> None:
    """The distance of the primal from the bound by argmax calls."""
    best = lower_bound(found)
    with figure(name, "argmax calls", "primal above the bound") as axes:
        axes.set_xscale("log")
        axes.set_yscale("log")
        for solver_name, points in found.items():
            if solver_name not in ("crf", "perceptron"):
                gaps = [max(p[1] / best - 1, 1e-5) for p in points]
                axes.plot([p[4] for p in points], gaps, label=solver_name, marker=".", lw=1)
