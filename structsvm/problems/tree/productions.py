"""A grammar in the form that CKY needs: arrays of numbered symbols and rules of at most two symbols.

A rule of more than two symbols becomes a chain from the left, over a new symbol for each beginning of a
right side: A -> X Y Z is (X Y) -> X Y and A -> (X Y) Z. Rules that begin alike share the chain, the weight
of a rule is that of its last link, and every tree still has exactly one derivation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from structsvm.problems.tree.grammar import START, Grammar, Tree

NO_RULE = -1
Step = tuple[int, int, int, int, int]  # symbol, begin, end, split (-1: one child), rule


class Productions:
    """Symbols: terminals first, then labels in bottom-up order, START, and the beginnings of right sides."""

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        names = [*grammar.terminals, *grammar.order, START]
        self.symbol: dict[str | tuple[str, ...], int] = {name: k for k, name in enumerate(names)}
        self.n_terminals, self.start = len(grammar.terminals), len(names) - 1
        binary, unary, starts = set(), [], []
        for number, (left, right) in enumerate(grammar.rules):
            head = self.symbol[left]
            if left == START:
                starts.append((self.symbol[right[0]], head, number))
            elif len(right) == 1:
                unary.append((self.symbol[right[0]], head, number))
            else:
                links = self.chain(right)
                binary |= {(links[k], self.symbol[right[k + 1]], links[k + 1], NO_RULE) for k in
                           range(len(right) - 2)}  # fmt: skip
                binary.add((links[-1], self.symbol[right[-1]], head, number))
        self.n_symbols = len(self.symbol)
        # A unary rule comes after all rules of its child.
        self.unary = table(sorted(unary, key=lambda entry: (entry[1], entry[2])), 3)
        self.starts = table(starts, 3)
        self.binary = table(sorted(binary), 4)
        self.first = np.searchsorted(self.binary[:, 0], np.arange(self.n_symbols + 1)).astype(np.int32)

    def chain(self, right: Sequence[str]) -> list[int]:
        """The symbols of the beginnings of a right side: of its first symbol, its first two, and so on."""
        links = [self.symbol[right[0]]]
        for k in range(2, len(right)):
            links.append(self.symbol.setdefault(tuple(right[:k]), len(self.symbol)))
        return links

    def encode(self, x: Sequence[str]) -> np.ndarray:
        """Terminals as symbols; unknown terminals are rejected."""
        codes = [self.symbol.get(word, self.start) for word in x]
        for word, code in zip(x, codes, strict=True):
            if code >= self.n_terminals:
                raise ValueError(f"the terminal {word!r} is in no rule of the grammar")
        if not codes:
            raise ValueError("the sentence is empty; a tree needs at least one terminal")
        return np.array(codes, dtype=np.int32)

    def steps(self, tree: Tree) -> list[Step]:
        """The one derivation of a tree."""
        return list(self._steps(tree, START, 0))

    def _steps(self, tree: Tree, above: str, begin: int) -> Iterator[Step]:
        if above == START:
            rule = self.grammar.number[START, (tree[0],)]
            yield self.start, 0, width(tree), -1, rule
        label, *children = tree
        names = tuple(child if isinstance(child, str) else child[0] for child in children)
        rule, links, at = self.grammar.number[label, names], self.chain(names), begin
        for k, child in enumerate(children):
            end = at + width(child)
            if not isinstance(child, str):
                yield from self._steps(child, label, at)
            if k == len(children) - 1:
                yield self.symbol[label], begin, end, at if k else -1, rule
            elif k:
                yield links[k], begin, end, at, NO_RULE
            at = end

    def trees(self, x: Sequence[str]) -> Iterator[Tree]:
        """All trees over x, by brute force; the reference for tests of CKY."""
        for left, right in self.grammar.rules:
            if left == START:
                yield from self._trees(right[0], tuple(x))

    def _trees(self, symbol: str, x: tuple[str, ...]) -> Iterator[Tree]:
        if self.symbol[symbol] < self.n_terminals:
            if x == (symbol,):
                yield symbol
            return
        for left, right in self.grammar.rules:
            if left == symbol and len(right) <= len(x):
                for cuts in splits(len(x), len(right)):
                    parts = [list(self._trees(s, x[a:b])) for s, (a, b) in zip(right, cuts, strict=True)]
                    for children in product(*parts):
                        yield (symbol, *children)


def table(rows: Sequence[Sequence[int]], width: int) -> np.ndarray:
    return np.array(rows, dtype=np.int32).reshape(-1, width)


def width(tree: Tree) -> int:
    """How many terminals a tree has."""
    return 1 if isinstance(tree, str) else sum(map(width, tree[1:]))


def splits(n: int, parts: int, at: int = 0) -> Iterator[list[tuple[int, int]]]:
    """All ways to split n places into the given number of parts."""
    if parts == 1:
        yield [(at, n)]
        return
    for cut in range(at + 1, n - parts + 2):
        for rest in splits(n, parts - 1, cut):
            yield [(at, cut), *rest]
