"""Kernels between the letters of a word: OCR with the joint kernel (4.22) of Tsochantaridis' thesis.

The thesis has no such experiment; its kernel is that of tables 4.2 and 4.3, on named entities.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.experiment import TSOCHANTARIDIS, Outcome, Row, experiment
from benchmarks.harness import measurements

FOLDS = 10
GAMMA = 1 / 30  # about one over the number of black pixels of a letter
CHOICES = (0.1, 1.0)  # values of C, of which the development fold chooses one
KERNELS: dict[str, dict[str, Any]] = {
    "linear": {"kernel": "linear"},
    "polynomial of degree 2": {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": GAMMA},
    "polynomial of degree 3": {"kernel": "poly", "degree": 3, "coef0": 1.0, "gamma": GAMMA},
}


def measure(kernel: str, fold: int) -> dict[str, Any]:
    """Train on one fold, choose C on the next one, and test on the eight others."""
    from benchmarks.papers.handwriting import sequences
    from corpora import load_ocr
    from structsvm import KernelLaRank
    from structsvm.problems import SequenceProblem

    words = load_ocr()
    dev = (fold + 1) % FOLDS
    parts = [words.folds == fold, words.folds == dev, (words.folds != fold) & (words.folds != dev)]
    train, development, test = (sequences(words.take(np.flatnonzero(part))) for part in parts)
    tried = []
    for C in CHOICES:
        begun = time.process_time()
        learner = KernelLaRank(
            SequenceProblem(26), C=C, schedule="fixed", n_reprocess=2, epochs=5, random_state=fold,
            **KERNELS[kernel],
        ).fit(*train)  # fmt: skip
        seconds = time.process_time() - begun
        right = learner.predict(development[0]) == development[1].codes
        tried.append((float(np.mean(right)), seconds, learner))
    _, seconds, best = max(tried, key=lambda each: each[0])
    accuracy = 100 * float(np.mean(best.predict(test[0]) == test[1].codes))
    return {"accuracy": accuracy, "seconds": seconds, "C": best.C, "letters": train[0].n_tokens}


@experiment("kernel-sequences", "OCR with kernels between letters", source=TSOCHANTARIDIS,
            corpora=("ocr_letters",))  # fmt: skip
def kernel_sequences(quick: bool) -> Outcome:
    rows = []
    for kernel in KERNELS:
        runs = measurements(__name__, [{"kernel": kernel, "fold": k} for k in range(1 if quick else 3)])
        rows.append(Row(kernel, "accuracy %", None, [run["accuracy"] for run in runs]))
        rows.append(Row(kernel, "CPU seconds", None, [run["seconds"] for run in runs], digits=1))
        rows.append(Row(kernel, "C", None, [run["C"] for run in runs], digits=1))
    choices = " or ".join(f"{C:g}" for C in CHOICES)
    return Outcome(
        rows,
        notes=f"""Five passes of LaRank with exact inference over one fold (about 4,600 letters of 128
pixels). The next fold chooses C = {choices}; the accuracy is that of single letters on the eight others. The
thesis has no such experiment. Each run first computes the whole kernel matrix, which is part of its CPU
seconds.""",
    )
