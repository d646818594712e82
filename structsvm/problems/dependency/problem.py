"""Dependency trees: the best tree over arcs, projective or not, with or without labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from structsvm.problem import Problem
from structsvm.problems.dependency.spanning import Trees

MOST_WORDS = 1000  # the arcs of a sentence take 100 bytes for each pair of words


class ArcFeatures(NamedTuple):
    """The features of all arcs of a sentence of n words.

    The arc from h to d (counted from 1; h = 0 is the root) has the features
    ``features[ptr[k] : ptr[k + 1]]`` with ``k = h * n + d - 1``. Arcs from a word to itself are ignored.
    """

    ptr: np.ndarray
    features: np.ndarray

    @property
    def n_words(self) -> int:
        return round((np.sqrt(4 * len(self.ptr) - 3) - 1) / 2)


def arc_features(n: int, features: Callable[[int, int], Iterable[int]]) -> ArcFeatures:
    """The features that a function gives each arc (head, word)."""
    if not 0 < n <= MOST_WORDS:
        raise ValueError(
            f"a sentence of {n} words: trees over all arcs are for 1 to {MOST_WORDS} words, because "
            "memory and time grow with the square and the cube of n; split it"
        )
    arcs = [list(features(h, d)) if h != d else [] for h in range(n + 1) for d in range(1, n + 1)]
    ptr = np.cumsum([0, *map(len, arcs)], dtype=np.int64)
    return ArcFeatures(ptr, np.array([k for arc in arcs for k in arc], np.int32))


class DependencyProblem(Problem):
    """A tree with one root over each sentence; Phi(x, y) counts the features of its arcs.

    X holds `ArcFeatures`; y lists the head of each word or, with labels, a pair (head, label) of each
    word. The loss is the number of words with a wrong head or label. The search is exact, also for the
    most violated tree: Eisner's algorithm for projective trees, Chu-Liu and Edmonds' for all trees. Only
    margin rescaling with L1 slacks is available, where the loss is a sum over arcs.

    n_features: of arcs. n_labels: of arcs; 0 for trees without labels.
    """

    def __init__(self, n_features: int, *, n_labels: int = 0, projective: bool = True) -> None:
        if n_features < 1 or n_labels < 0:
            raise ValueError(
                f"n_features must be positive and n_labels not negative, got {n_features}, {n_labels}"
            )
        self.n_arc_features, self.n_labels, self.projective = n_features, n_labels, projective
        self.n_features = n_features * max(n_labels, 1)

    def oracle(self) -> Any:
        from structsvm.problems.dependency._oracle import DependencyOracle

        return DependencyOracle(self)

    def argmax(self, x: ArcFeatures, w: np.ndarray) -> list[Any]:
        return self._best(x, w, None)

    def loss_augmented_argmax(self, x: ArcFeatures, y: Sequence[Any], w: np.ndarray) -> list[Any]:
        return self._best(x, w, self.arcs(y))

    def _best(self, x: ArcFeatures, w: np.ndarray, gold: list[tuple[int, int]] | None) -> list[Any]:
        n, labels = x.n_words, max(self.n_labels, 1)
        scores = np.zeros((n + 1, n + 1, labels))
        rows = np.asarray(w).reshape(self.n_arc_features, labels)
        for h, d in product(range(n + 1), range(1, n + 1)):
            k = h * n + d - 1
            scores[h, d] = rows[x.features[x.ptr[k] : x.ptr[k + 1]]].sum(axis=0)
        if gold is not None:
            scores += 1
            for d, (h, label) in enumerate(gold, 1):
                scores[h, d, label] -= 1
        best = scores.argmax(axis=2)
        heads = Trees().best(scores.max(axis=2), self.projective).tolist()
        if not self.n_labels:
            return heads
        return [(h, int(best[h, d])) for d, h in enumerate(heads, 1)]

    def arcs(self, y: Sequence[Any]) -> list[tuple[int, int]]:
        """The head and label of each word; without labels, they are 0."""
        return [(int(one[0]), int(one[1])) for one in y] if self.n_labels else [(int(one), 0) for one in y]

    def joint_feature(self, x: ArcFeatures, y: Sequence[Any]) -> dict[int, float]:
        labels, n = max(self.n_labels, 1), x.n_words
        found: Counter[int] = Counter()
        for d, (h, label) in enumerate(self.arcs(y), 1):
            k = h * n + d - 1
            found.update((x.features[x.ptr[k] : x.ptr[k + 1]].astype(np.int64) * labels + label).tolist())
        return {key: float(count) for key, count in found.items()}

    def loss(self, y: Sequence[Any], other: Sequence[Any]) -> float:
        return float(sum(a != b for a, b in zip(self.arcs(y), self.arcs(other), strict=True)))

    def candidates(self, x: ArcFeatures) -> Iterator[list[Any]]:
        """All trees, for tests: their number grows faster than exponentially."""
        n = x.n_words
        for heads in product(range(n + 1), repeat=n):
            if is_tree(heads) and (not self.projective or is_projective(heads)):
                if not self.n_labels:
                    yield list(heads)
                    continue
                for labels in product(range(self.n_labels), repeat=n):
                    yield list(zip(heads, labels, strict=True))

    def contains(self, x: ArcFeatures, y: Sequence[Any]) -> bool:
        arcs = self.arcs(y)
        heads = [head for head, _ in arcs]
        right = all(0 <= label < max(self.n_labels, 1) for _, label in arcs)
        shaped = len(heads) == x.n_words and is_tree(heads)
        return right and shaped and (not self.projective or is_projective(heads))


def is_tree(heads: Sequence[int]) -> bool:
    """Whether heads, counted from 1, with 0 for the root, form a tree with one root."""
    n, safe = len(heads), {0}
    if sum(head == 0 for head in heads) != 1 or not all(0 <= head <= n for head in heads):
        return False
    for word in range(1, n + 1):
        path: list[int] = []
        while word not in safe:
            if len(path) > n:
                return False
            path.append(word)
            word = heads[word - 1]
        safe.update(path)
    return True


def is_projective(heads: Sequence[int]) -> bool:
    """Whether no arcs of a tree cross, the arc from the root included."""
    arcs = sorted((min(word, head), max(word, head)) for word, head in enumerate(heads, 1))
    return not any(a < c < b < d for a, b in arcs for c, d in arcs)
