"""Context-free grammars and their trees: nested tuples such as ("S", ("NP", "NN"), ("VP", "V")).

A tuple is a label with its children; a string is a terminal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

import numpy as np

START = ""  # above the root: rules such as ("", ("S",)) say how trees begin
BINARY = "|"  # in the labels that binarise makes
Tree = Any  # str, or a tuple of a label and trees
Rule = tuple[str, tuple[str, ...]]


class Grammar:
    """Numbered rules such as ("NP", ("DT", "NN")); the number of a rule is the index of its weight.

    Symbols with a rule are labels; all other symbols are terminals. Rules of START say how trees may begin.
    Unary rules must not form a cycle, because trees would be infinite.
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules: list[Rule] = list(dict.fromkeys((left, tuple(right)) for left, right in rules))
        if not self.rules:
            raise ValueError("the grammar is empty; pass rules, or trees to extract them from")
        self.number = {rule: k for k, rule in enumerate(self.rules)}
        self.labels = sorted({left for left, _ in self.rules} - {START})
        known = set(self.labels)
        self.terminals = sorted({symbol for _, right in self.rules for symbol in right} - known)
        for left, right in self.rules:
            if not right:
                raise ValueError(f"the rule of {left} has an empty right side; rules must not be empty")
            if left == START and (len(right) != 1 or right[0] not in known):
                raise ValueError(f"a tree must begin with one label that has rules, got {' '.join(right)!r}")
        if not any(left == START for left, _ in self.rules):
            raise ValueError("the grammar has no start symbol")
        self.order = self._bottom_up()

    @classmethod
    def from_trees(cls, trees: Iterable[Tree]) -> Self:
        """All rules that occur in the trees."""
        found: dict[Rule, None] = {}
        leaves: set[str] = set()
        for position, tree in enumerate(trees):
            check_tree(tree, f"trees[{position}]")
            found.update(dict.fromkeys(rules_of(tree)))
            leaves.update(leaves_of(tree))
        both = leaves & {left for left, _ in found}
        if both:
            raise ValueError(f"{min(both)!r} is a label in one place and a terminal in another; rename one")
        return cls(found)

    @classmethod
    def from_string(cls, text: str, *, start: str | Sequence[str] | None = None) -> Self:
        """Read rules from lines such as `NP -> DT NN | NP PP`; the default start is the first left side."""
        rules: list[Rule] = []
        for number, line in enumerate(text.splitlines(), 1):
            line = line.split("#")[0].strip()
            if not line:
                continue
            left, arrow, right = line.partition("->")
            if not arrow or len(left.split()) != 1 or not all(part.split() for part in right.split("|")):
                raise ValueError(
                    f"line {number}: {line!r} is not a rule; write LABEL -> SYMBOL SYMBOL | SYMBOL"
                )
            rules += [(left.strip(), tuple(part.split())) for part in right.split("|")]
        starts = [start] if isinstance(start, str) else start or [left for left, _ in rules[:1]]
        return cls([*((START, (symbol,)) for symbol in starts), *rules])

    def __len__(self) -> int:
        return len(self.rules)

    def __repr__(self) -> str:
        return f"Grammar({len(self.rules)} rules, {len(self.labels)} labels, {len(self.terminals)} terminals)"

    def relative_frequencies(self, trees: Iterable[Tree]) -> np.ndarray:
        """Maximum-likelihood weights of the PCFG: the log of a rule's relative frequency among the rules of
        its label.

        A rule that the trees do not use gets the lowest possible weight.
        """
        counts = Counter(number for tree in trees for number in self.encode(tree))
        totals: Counter[str] = Counter()
        for number, count in counts.items():
            totals[self.rules[number][0]] += count
        share = [counts[k] / max(totals[left], 1) for k, (left, _) in enumerate(self.rules)]
        return np.log(np.maximum(share, 1e-300))

    def encode(self, tree: Tree) -> list[int]:
        """The rules of a tree, top down and from left to right."""
        check_tree(tree, "the tree")
        numbers = []
        for rule in rules_of(tree):
            if rule not in self.number:
                raise ValueError(f"the tree uses the rule {shown(rule)}, which the grammar does not have")
            numbers.append(self.number[rule])
        return numbers

    def decode(self, numbers: Iterable[int], x: Sequence[str]) -> Tree:
        """The tree of some rules in the order of encode, over the terminals x."""
        rules, words = iter(numbers), iter(x)

        def build(symbol: str) -> Tree:
            if symbol not in labels:
                return next(words)
            return (symbol, *(build(child) for child in self.rules[next(rules)][1]))

        labels = set(self.labels)
        return build(self.rules[next(rules)][1][0])

    def _bottom_up(self) -> list[str]:
        """Labels in an order in which unary rules lead from later ones to earlier ones."""
        below: dict[str, list[str]] = {label: [] for label in self.labels}
        for left, right in self.rules:
            if len(right) == 1 and left in below and right[0] in below:
                below[left].append(right[0])
        order: dict[str, None] = {}
        for label in self.labels:
            self._visit(label, below, order, [])
        return list(order)

    def _visit(
        self, label: str, below: dict[str, list[str]], order: dict[str, None], above: list[str]
    ) -> None:
        if label in above:
            cycle = " -> ".join([*above[above.index(label) :], label])
            raise ValueError(f"unary rules form a cycle, {cycle}: trees would be infinite; remove one rule")
        if label not in order:
            for child in below[label]:
                self._visit(child, below, order, [*above, label])
            order[label] = None


def rules_of(tree: Tree) -> Iterator[Rule]:
    """START's rule, then those of the tree, top down and from left to right."""
    yield START, (tree[0],)
    stack = [tree]
    while stack:
        label, *children = stack.pop()
        yield label, tuple(child if isinstance(child, str) else child[0] for child in children)
        stack += [child for child in reversed(children) if not isinstance(child, str)]


def leaves_of(tree: Tree) -> tuple[str, ...]:
    """The terminals of a tree, from left to right."""
    return (tree,) if isinstance(tree, str) else tuple(x for child in tree[1:] for x in leaves_of(child))


def brackets(tree: Tree) -> Counter[tuple[str, int, int]]:
    """The labels of a tree with the places where they begin and end."""
    found: Counter[tuple[str, int, int]] = Counter()

    def walk(node: Tree, at: int) -> int:
        if isinstance(node, str):
            return at + 1
        begin = at
        for child in node[1:]:
            at = walk(child, at)
        found[node[0], begin, at] += 1
        return at

    walk(tree, 0)
    return found


def binarise(tree: Tree, *, order: int | None = None) -> Tree:
    """The tree with at most two children per node: new labels such as NP|DT-JJ join the children from the
    left.

    Parameters
    ----------
    order
        How many of the preceding children a new label remembers. By default it remembers all, so the grammar
        of the binarised trees generates the same trees. With fewer, it also generates unseen rules.
    """
    if isinstance(tree, str):
        return tree
    if BINARY in tree[0]:
        raise ValueError(f"the label {tree[0]!r} has a {BINARY!r}, which marks the labels of binarised trees")
    label, node = tree[0], binarise(tree[1], order=order)
    seen = [child if isinstance(child, str) else child[0] for child in tree[1:]]
    if len(seen) == 1:
        return (label, node)
    for k in range(1, len(seen)):
        kept = seen[0 if order is None else max(0, k + 1 - order) : k + 1]
        name = label if k == len(seen) - 1 else f"{label}{BINARY}{'-'.join(kept)}"
        node = (name, node, binarise(tree[k + 1], order=order))
    return node


def debinarise(tree: Tree) -> Tree:
    """The tree that was binarised."""
    if isinstance(tree, str):
        return tree
    children: list[Tree] = []
    for child in map(debinarise, tree[1:]):
        children += child[1:] if not isinstance(child, str) and BINARY in child[0] else [child]
    return (tree[0], *children)


def check_tree(tree: Tree, name: str) -> None:
    """Reject anything but a tree."""
    if not isinstance(tree, tuple):
        raise ValueError(f"{name} is {tree!r}: a tree is a tuple such as ('NP', 'DT', 'NN')")
    stack: list[Tree] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            continue
        if not isinstance(node, tuple) or len(node) < 2 or not isinstance(node[0], str) or node[0] == START:
            raise ValueError(f"{name} holds {node!r}: a node is a label and at least one child")
        stack += node[1:]


def shown(rule: Rule) -> str:
    """A rule as text."""
    return f"{rule[0] or 'START'} -> {' '.join(rule[1])}"
