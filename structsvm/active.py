"""Choose what to label next: strategies that rank unlabelled examples by the margins of a model.

The margin of a decision is the score of the best answer minus that of the second best. An SVM wants margins
of at least 1; a decision with a smaller one is within the margin, and its right answer changes the model. An
example (a sentence) has one or more decisions (its tokens).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from structsvm.validation import check_choice, check_count, check_seed

WITHIN = 1.0
# What each strategy prefers; random is the baseline.
STRATEGIES = {
    "margin": "the largest mean of 1 - margin over decisions, 0 for those outside the margin",
    "smallest": "the smallest margin of a decision",
    "total": "the largest sum of 1 - margin over decisions: long examples, many answers at once",
    "random": "any example, with equal probability",
}
REPEATED = 0.5  # an example that shares more than this with those already chosen waits


def query(
    size: int,
    n: int,
    margins_of: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]] | None,
    *,
    strategy: str = "margin",
    sample: int | None = None,
    contents: Sequence[Iterable[Hashable]] | None = None,
    random_state: Any = 0,
) -> np.ndarray:
    """The positions of at most n examples of a pool that should be labelled next, best first.

    They have a decision within the margin. If there are none, labelling can stop. With the strategy random,
    any n examples are returned.

    Parameters
    ----------
    margins_of
        From positions in the pool to the margins and `ptr` of `usefulness`; None for a model that knows
        nothing yet, for which the strategy is random.
    sample
        Consider only this many random examples.
    contents
        Of each example, so that those chosen together differ.
    """
    check_choice(strategy=(strategy, tuple(STRATEGIES)))
    check_count(n=n, low=1)
    rng = np.random.default_rng(check_seed(random_state))
    places = np.arange(size)
    if sample is not None:
        check_count(sample=sample, low=1)
        places = np.sort(rng.permutation(size)[:sample])
    if strategy == "random" or margins_of is None or not size:
        return rng.permutation(places)[:n]
    margins, ptr = margins_of(places)
    order = np.argsort(-usefulness(margins, ptr, strategy), kind="stable")
    order = order[smallest(margins, ptr)[order] < WITHIN]
    if contents is None:
        return places[order[:n]]
    return np.array(diverse(places[order].tolist(), contents, n), np.int64)


def usefulness(
    margins: np.ndarray, ptr: np.ndarray, strategy: str = "margin", rng: np.random.Generator | None = None
) -> np.ndarray:
    """How useful the labels of each example are, larger is better.

    Parameters
    ----------
    margins
        Of all decisions.
    ptr
        Where the decisions of each example begin, and the end.
    """
    check_choice(strategy=(strategy, tuple(STRATEGIES)))
    sizes = np.diff(ptr)
    if strategy == "random":
        return (rng or np.random.default_rng(0)).random(len(sizes))
    if strategy == "smallest":
        return -smallest(margins, ptr)
    missing = np.concatenate([[0.0], np.cumsum(np.clip(WITHIN - margins.astype(np.float64), 0, None))])
    total: np.ndarray = missing[ptr[1:]] - missing[ptr[:-1]]
    return total if strategy == "total" else np.divide(total, np.maximum(sizes, 1))


def smallest(margins: np.ndarray, ptr: np.ndarray) -> np.ndarray:
    """The smallest margin of each example; infinite if it has no decisions."""
    found = np.full(len(ptr) - 1, np.inf)
    filled = np.flatnonzero(np.diff(ptr))
    if len(filled):
        found[filled] = np.minimum.reduceat(margins.astype(np.float64), ptr[:-1][filled])
    return found


def diverse(order: Iterable[int], contents: Sequence[Iterable[Hashable]], n: int) -> list[int]:
    """The first n of an order, without repetitions: no two of them share most of their content.

    If too few are left, the skipped ones follow in their order.
    """
    chosen: list[int] = []
    skipped: list[int] = []
    seen: set[Hashable] = set()
    for number in order:
        if len(chosen) == n:
            break
        content = set(contents[number])
        if content and len(content & seen) > REPEATED * len(content):
            skipped.append(number)
        else:
            chosen.append(number)
            seen |= content
    return [*chosen, *skipped[: n - len(chosen)]]
