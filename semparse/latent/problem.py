"""The default parser's learning problem, as the core's optimizers take it: LaRank on bags.

An output is a pair of trees: the hidden right one, chosen again at each visit (see `solvers.choose`),
and its best rival. Its difference of features counts against it, so that the optimizer's constraint reads

    S(x, right) - S(x, rival) >= 1

A pair that enters the dual at one visit is reprocessed later, even if another tree has become the right one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from semparse.latent.features import Tables
from semparse.latent.search import Found, Search
from structsvm.problem import Problem

Sentence = tuple[Any, Any, np.ndarray]  # as the parser sees it, its candidates and their posteriors
Pair = tuple[Search, Found, Found]
SATISFIED = ()  # the output of a sentence that asks for nothing


class LatentProblem(Problem):
    """Sentences with bags: `choose` finds the right tree and the rival, by the scores of `search_with`."""

    def __init__(
        self,
        tables: Tables,
        search_with: Callable[[Any, dict[str, np.ndarray]], Search],
        choose: Callable[..., tuple[Found, Found] | None],
    ) -> None:
        self.search_with, self.choose = search_with, choose
        self.trusting = False
        self.shapes = {name: table.w.shape for name, table in tables.all.items()}
        sizes = [rows * columns for rows, columns in self.shapes.values()]
        self.starts = dict(zip(self.shapes, np.cumsum([0, *sizes[:-1]]).tolist(), strict=True))
        self.n_features = sum(sizes)

    def tables(self, w: np.ndarray) -> dict[str, np.ndarray]:
        """Views of w, table by table."""
        found = {}
        for name, (rows, columns) in self.shapes.items():
            start = self.starts[name]
            found[name] = w[start : start + rows * columns].reshape(rows, columns)
        return found

    def loss_augmented_argmax(self, x: Sentence, y: Any, w: np.ndarray) -> Any:
        view, bag, posteriors = x
        search = self.search_with(view, self.tables(w))
        pair = self.choose(search, bag, posteriors, trusting=self.trusting)
        return SATISFIED if pair is None else (search, *pair)

    def argmax(self, x: Sentence, w: np.ndarray) -> Any:
        return self.loss_augmented_argmax(x, SATISFIED, w)

    def loss(self, y: Any, other: Any) -> float:
        """The margin, less what the prior of the shares grants already."""
        if not other:
            return 0.0
        _, right, rival = other
        return max(0.0, 1 - right.prior + rival.prior)

    def joint_feature(self, x: Sentence, y: Any) -> dict[int, float]:
        if not y:
            return {}
        _, right, rival = y
        change: dict[int, float] = {}
        for sign, found in ((-1, right), (1, rival)):
            for name, row, label in found.features():
                key = self.starts[name] + label + row * self.shapes[name][1]
                change[key] = change.get(key, 0) + sign
        return {key: value for key, value in change.items() if value}
