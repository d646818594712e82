"""Weighted context-free grammars: the best tree over a sentence, found by CKY."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from structsvm.problem import Problem
from structsvm.problems.tree.grammar import Grammar, Tree, brackets, leaves_of
from structsvm.problems.tree.productions import Productions

CountLoss = Callable[[int, int, int], float]


class TreeProblem(Problem):
    """A tree over each sentence of terminals; Phi(x, y) counts the rules of the grammar (thesis 4.5).

    X holds sequences of terminals, y trees as nested tuples: ("S", ("NP", "DT", "NN"), ("VP", "VBZ")).

    loss: "f1" (1 - F1 of labelled brackets), "0/1", or a function of three counts of brackets: right,
    predicted, and in the right tree. The search for the most violated tree is stratified: CKY keeps the best
    tree for each pair of counts. The search is therefore exact for every such loss, with margin or slack
    rescaling and L1 or L2 slacks.
    """

    def __init__(self, grammar: Grammar, *, loss: str | CountLoss = "f1") -> None:
        if not callable(loss) and loss not in ("f1", "0/1"):
            raise ValueError(
                f"loss must be 'f1', '0/1' or a function of (right, answered, gold), got {loss!r}"
            )
        self.grammar = grammar
        self.count_loss = loss
        self.productions = Productions(grammar)
        self.n_features = len(grammar)

    def oracle(self) -> Any:
        from structsvm.problems.tree._trees import TreeOracle

        return TreeOracle(self)

    def predict(self, X: Iterable[Sequence[str]], w: np.ndarray) -> list[Tree | None]:
        """The best tree for each sentence, or None if the grammar has no tree for it."""
        parser = self.oracle()
        return [self._best(parser, x, w) for x in X]

    def argmax(self, x: Sequence[str], w: np.ndarray) -> Tree:
        tree = self._best(self.oracle(), x, w)
        if tree is None:
            raise ValueError(f"the grammar has no tree for {' '.join(x)!r}")
        return tree

    def _best(self, parser: Any, x: Sequence[str], w: np.ndarray) -> Tree | None:
        symbols = self.productions
        if not len(x) or any(symbols.symbol.get(word, symbols.start) >= symbols.n_terminals for word in x):
            return None
        rules = parser.parse(self.productions.encode(x), w)
        return None if rules is None else self.grammar.decode(rules, x)

    def loss_of(self, right: int, answered: int, gold: int) -> float:
        """The loss of an answer by its counts of brackets."""
        if callable(self.count_loss):
            return float(self.count_loss(right, answered, gold))
        if self.count_loss == "0/1":
            return float(not right == answered == gold)
        return 1.0 - 2.0 * right / (answered + gold)

    # The same problem in Python, which enumerates all trees.

    def joint_feature(self, x: Any, y: Tree) -> dict[int, float]:
        return {rule: float(count) for rule, count in Counter(self.grammar.encode(y)).items()}

    def loss(self, y: Tree, other: Tree) -> float:
        a, b = brackets(y), brackets(other)
        return self.loss_of((a & b).total(), b.total(), a.total())

    def candidates(self, x: Any) -> Iterator[Tree]:
        return self.productions.trees(x)

    def contains(self, x: Any, y: Tree) -> bool:
        self.grammar.encode(y)
        return leaves_of(y) == tuple(x)


class TreeScores(NamedTuple):
    """Scores of labelled brackets, and the share of exactly right trees, in percent."""

    accuracy: float
    precision: float
    recall: float
    f1: float


def tree_scores(gold: Sequence[Tree], answered: Sequence[Tree | None]) -> TreeScores:
    """Compare predicted with right trees; a prediction of None has no brackets."""
    right = given = wanted = whole = 0
    for tree, answer in zip(gold, answered, strict=True):
        a, b = brackets(tree), brackets(answer) if answer is not None else Counter()
        right, given, wanted = right + (a & b).total(), given + b.total(), wanted + a.total()
        whole += tree == answer
    precision, recall = right / max(given, 1), right / max(wanted, 1)
    f1 = 2 * right / max(given + wanted, 1)
    return TreeScores(100 * whole / max(len(gold), 1), 100 * precision, 100 * recall, 100 * f1)
