"""Block-coordinate Frank-Wolfe [Lacoste-Julien et al. 2013] for sequences, with NumPy, to compare solvers.

The part of w that belongs to a sentence moves towards C times the difference of its most violated labelling,
by the step that maximises the dual. With `gaps`, passes after the first one draw sentences with odds
proportional to their last duality gaps [Osokin et al. 2016]. The pairwise variant with cached planes is
LaRank: its steps move weight between two labellings of a sentence, and OPTIMIZE steps need no argmax.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np


class FrankWolfe:
    """Sentences with features without values and one label for each token; Hamming loss."""

    def __init__(self, problem: Any, C: float, *, gaps: bool = False, seed: int = 0) -> None:
        self.L, self.C, self.by_gap = problem.n_labels, C, gaps
        self.rng = np.random.default_rng(seed)
        self.n_argmax_ = self.number = 0

    def begin(self, X: Any, y: Any) -> None:
        """Take the training set."""
        ends = X.sentence_ptr.tolist()
        self.tokens = [X.token_ptr[a : b + 1] for a, b in pairwise(ends)]
        self.gold = [y.codes[a:b] for a, b in pairwise(ends)]
        # The rows of w that a sentence uses: those of its features, then all of the label history.
        history = np.arange(self.L + 1)
        found = [np.unique(X.rows[t[0] : t[-1]], return_inverse=True) for t in self.tokens]
        self.places = [np.concatenate([rows.astype(np.int64) + self.L + 1, history]) for rows, _ in found]
        self.features = [where for _, where in found]
        self.w = np.zeros((self.L + 1 + int(X.rows.max()) + 1, self.L))
        self.parts = [np.zeros((len(places), self.L)) for places in self.places]
        self.losses = np.zeros(len(self.gold))
        self.block_gaps = np.full(len(self.gold), np.inf)

    def look(self, k: int) -> tuple[np.ndarray, float, np.ndarray]:
        """The difference and loss of the most violated labelling, and the rows of w."""
        gold, ptr, w = self.gold[k], self.tokens[k] - self.tokens[k][0], self.w[self.places[k]]
        token = np.repeat(np.arange(len(gold)), np.diff(ptr))
        scores = np.ones((len(gold), self.L))
        np.add.at(scores, token, w[self.features[k]])
        scores[np.arange(len(gold)), gold] -= 1
        first = len(w) - self.L - 1
        best, back = scores[0] + w[-1], []
        for row in scores[1:]:
            every = best[:, None] + w[first:-1]
            back.append(every.argmax(axis=0))
            best = every.max(axis=0) + row
        path = [int(best.argmax())]
        for previous in reversed(back):
            path.append(int(previous[path[-1]]))
        answer = np.array(path[::-1])
        difference = np.zeros_like(w)
        for sign, labels in ((1.0, gold), (-1.0, answer)):
            np.add.at(difference, (self.features[k], labels[token]), sign)
            before = first + np.append(self.L, labels[:-1])
            np.add.at(difference, (before, labels), sign)
        return difference, float((answer != gold).sum()), w

    def epoch(self) -> bool:
        """As many steps as there are sentences."""
        n = len(self.gold)
        order = self.rng.permutation(n)
        if self.by_gap and self.number:
            odds = np.maximum(self.block_gaps, 1e-12)
            order = self.rng.choice(n, n, p=odds / odds.sum())
        for k in order.tolist():
            difference, loss, w = self.look(k)
            self.n_argmax_ += 1
            move = self.C * difference - self.parts[k]
            gain = self.C * loss - self.losses[k] - float((move * w).sum())
            self.block_gaps[k] = gain
            norm = float((move * move).sum())
            step = min(max(gain / norm, 0.0), 1.0) if norm > 0 else 0.0
            self.parts[k] += step * move
            self.w[self.places[k]] += step * move
            self.losses[k] += step * (self.C * loss - self.losses[k])
        self.number += 1
        return False

    @property
    def weights_(self) -> np.ndarray:
        """w with the rows of `SequenceProblem`, each a multiple of eight labels long."""
        padded = np.zeros((len(self.w), -(-self.L // 8) * 8))
        padded[:, : self.L] = self.w
        return padded.reshape(-1)

    @property
    def dual_(self) -> float:
        return float(self.losses.sum() - (self.w * self.w).sum() / 2)

    def primal(self) -> float:
        slacks = 0.0
        for k in range(len(self.gold)):
            difference, loss, w = self.look(k)
            slacks += max(0.0, loss - float((difference * w).sum()))
        return float((self.w * self.w).sum()) / 2 + self.C * slacks
