"""`python -m benchmarks crfsuite-models FILE ...`: CRFsuite's models here and in python-crfsuite.

Both label random sentences of the model's attributes and of unknown ones, and the table shows in how many
the labels differ, and in how many of these python-crfsuite gives both labellings the same probability up to
1e-6; by how much marginal probabilities differ at most; and how many times as fast we are (CPU seconds, the
best of three): from dicts, and once each program has its own copy of the features.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.harness import publish, table

VALUES = (1.0, 1.0, 1.0, 0.5, 2.0, -1.0, 0.1)
ROUNDS = 3
TIE = 1e-6
PROBED = 200  # sentences whose marginal probabilities are compared


def sentences(names: list[str], n: int, longest: int) -> list[list[dict[str, float]]]:
    """Random sentences; a fifth of the attributes are unknown to the model."""
    rng = random.Random(0)

    def name() -> str:
        return rng.choice(names) if rng.random() < 0.8 else f"unseen {rng.randrange(1000)}"

    def token() -> dict[str, float]:
        return {name(): rng.choice(VALUES) for _ in range(rng.randrange(15))}

    return [[token() for _ in range(rng.randint(1, longest))] for _ in range(n)]


def seconds(work: Callable[[], Any]) -> float:
    """CPU seconds, the best of a few."""
    taken = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def compare(path: str, n: int) -> list[str]:
    """A row of the table."""
    import pycrfsuite

    from taggers import SequenceTagger

    ours, theirs = SequenceTagger.load(path), pycrfsuite.Tagger()
    theirs.open(path)
    names = [name for name in ours.model_.space.names or [] if name]
    X = sentences(names, n, 30) + sentences(names, n // 200, 5000)
    differ = ties = 0
    for one, labels in zip(X, ours.predict(X), strict=True):
        if (wanted := theirs.tag(one)) != labels:
            differ += 1
            ties += theirs.probability(labels) >= (1 - TIE) * theirs.probability(wanted)
    worst = 0.0
    for one, found in zip(X[:PROBED], ours.predict_marginals(X[:PROBED]), strict=True):
        theirs.set(one)
        pairs = [(theirs.marginal(y, t) - p) for t, row in enumerate(found) for y, p in row.items()]
        worst = max(worst, *map(abs, pairs))
    features, ready = ours.model_.features(X), [pycrfsuite.ItemSequence(one) for one in X]
    dicts = seconds(lambda: [theirs.tag(one) for one in X]) / seconds(lambda: ours.predict(X))
    alone = seconds(lambda: [theirs.tag(one) for one in ready]) / seconds(lambda: ours.model_.tag(features))
    size = Path(path).stat().st_size
    figures = [f"{differ} of {len(X)}", str(ties), f"{worst:.1e}", f"{dicts:.1f}", f"{alone:.1f}"]
    return ["/".join(Path(path).parts[-2:]), f"{size:,}", str(len(ours.classes_)), *figures]


def main(arguments: list[str]) -> None:
    quick = "--quick" in arguments
    files = [argument for argument in arguments if not argument.startswith("--")]
    if not files:
        sys.exit("name models of CRFsuite, such as usaddr.crfsuite of the package usaddress")
    columns = ["model", "bytes", "labels", "sentences that differ", "ties", "marginals differ",
               "speed, dicts", "speed, ready features"]  # fmt: skip
    rows = [compare(path, 200 if quick else 1000) for path in files]
    if quick:
        print(table(columns, rows))
    else:
        publish("crfsuite-models", table(columns, rows), rows)
