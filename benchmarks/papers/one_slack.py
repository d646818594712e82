"""One slack or n: two cutting-plane solvers of one problem, compared with LaRank."""

from __future__ import annotations

import time
from typing import Any

from benchmarks.experiment import Outcome, Row, experiment
from benchmarks.harness import measurements

JOACHIMS = (
    "T. Joachims, T. Finley, C.-N. Yu, Cutting-plane training of structural SVMs, Machine Learning 2009"
)
METHODS = ("n-slack", "1-slack", "LaRank, 10 passes")
EPSILON = 0.1


def measure(method: str, sentences: int) -> dict[str, Any]:
    """Train on the first sentences of CoNLL-2000."""
    from benchmarks.papers.sequences import load, optimizers_with
    from taggers import SequenceTagger

    (X, y), _ = load("chunking")
    options: dict[str, Any] = {"algorithm": "svmstruct", "epochs": 1000}
    changes: dict[str, Any] = {"formulation": method, "epsilon": EPSILON}
    if method.startswith("LaRank"):
        options, changes = {"algorithm": "larank", "epochs": 10}, {}
    tagger = SequenceTagger(template="conll2000", cutoff=3, C=0.1, constrained=False, **options)
    begun = time.process_time()
    with optimizers_with(**changes):
        tagger.fit(X[:sentences], y[:sentences])
    seconds = time.process_time() - begun
    optimizer = tagger.optimizer_
    return {
        "seconds": seconds, "dual": optimizer.dual_, "searches": optimizer.n_argmax_ / sentences,
        "constraints": optimizer.n_support_vectors_ - optimizer.n_support_patterns_,
    }  # fmt: skip


@experiment("one-slack", "One slack or n slacks in SVMstruct, on CoNLL-2000", source=JOACHIMS,
            corpora=("conll2000",))  # fmt: skip
def one_slack(quick: bool) -> Outcome:
    rows = []
    for sentences in (200,) if quick else (250, 500, 1000):
        for method in METHODS:
            (run,) = measurements(__name__, [{"method": method, "sentences": sentences}])
            for key, digits in (("dual", 2), ("constraints", 0), ("searches", 1), ("seconds", 1)):
                name = {"searches": "searches per sentence", "seconds": "CPU seconds"}.get(key, key)
                rows.append(Row(f"{method}, {sentences} sentences", name, None, [run[key]], digits=digits))
    return Outcome(
        rows,
        notes=f"""C = 0.1 for each sentence, epsilon = {EPSILON:g} for both: the duality gap is then at most
epsilon times C times the number of sentences. Constraints are those with a coefficient at the end.""",
    )
