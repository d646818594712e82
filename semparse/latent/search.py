"""The best meanings of a sentence: any that the schema allows, or given ones, with the words behind them."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import nlargest
from typing import Any, NamedTuple

import numpy as np

from semparse.latent.features import Tables, View
from semparse.meaning import MR
from semparse.parse import Node
from semparse.schema import Schema

BEAM = 16  # partial trees kept
STEPS = 512  # relations tried for kept trees, at most: a lexicon that is still flat must not cost seconds
SPARE = 4  # whole trees kept of a relation beside those asked for: some differ in their words only

Way = tuple[
    float, tuple[Node, ...], int
]  # the score so far, the arguments so far, the places taken (as bits)
Wrapping = tuple[tuple[str, tuple[Node, ...]], ...]  # relations to put above a tree, with other arguments
State = tuple[float, Any, int]  # the score so far, what is being built, the places taken (as bits)


class Found(NamedTuple):
    """A tree with its score, and the places that its nodes take, as bits."""

    score: float
    node: Node
    used: int


class Search:
    """Scores of one view by given weights.

    The score of a tree is the sum of: for each relation its weight; for each argument the weight of its role,
    and of its constant, and `prior` times the log of the constant's share of its word; and for each open
    place that the tree leaves out, the weight of standing for nothing.
    """

    def __init__(
        self, view: View, tables: Tables, weights: dict[str, np.ndarray], schema: Schema, prior: float
    ) -> None:
        self.view, self.tables, self.schema, self.weights = view, tables, schema, weights
        self.prior = prior
        unused = weights["unused"][:, 0]
        self.unused = {i: float(unused[rows].sum()) for i, rows in view.unused_rows.items()}
        self.base = sum(self.unused.values())
        self.relation = {a: _sums(weights["relations"], rows) for a, rows in view.relation_rows.items()}
        self.role: dict[tuple[int | None, int | None], list[float]]
        self.role = {key: _sums(weights["roles"], rows) for key, rows in view.role_rows.items()}
        self.options: list[tuple[float, Node, int]] = []  # gain, constant at its place, the place as a bit
        self.said: dict[str, list[tuple[float, Node, int]]] = {}  # the same by constant
        columns = tables.constants.labels
        for i, found in view.mentions.items():
            known = [(c, share) for c, share in found if c in columns]
            labels = np.array([columns[c] for c, _ in known], np.intp)
            scores = weights["constants"][view.constant_rows[i][:, None], labels].sum(0)
            for (constant, share), score in zip(known, scores.tolist(), strict=True):
                option = score + prior * share - self.unused[i], Node(constant, i), 1 << i
                self.options.append(option)
                self.said.setdefault(constant, []).append(option)

        self.nest: dict[tuple[str, int], list[float]] = {
            key: weights["nesting"][row].tolist() for key, row in view.nesting_rows.items()
        }
        self.wrappings: dict[tuple[str, int | None], list[tuple[float, Wrapping]]] = {}
        self.fitting: dict[tuple[str, int, int | None], list[tuple[float, Node, int]]] = {}
        self.fillers: dict[tuple[str, int], tuple[float, Node] | None] = {}
        if view.silent:
            self._add_silent()

    def _add_silent(self) -> None:
        """Constants that no word names, and those that a word names as arguments of relations it does not."""
        rows, columns = self.view.constant_rows[None], self.tables.constants.labels
        scores = _sums(self.weights["constants"], rows)
        constants = [
            (scores[columns[s]], Node(s, None), 0)
            for s in sorted(self.view.silent)
            if s in columns and s not in self.schema.relations
        ]
        said = list(self.options)
        self.options += constants
        for option in constants:
            self.said.setdefault(option[1].symbol, []).append(option)
        for gain, node, bit in said:
            self.options += [(gain + more, tree, bit) for more, tree in self._wrapped(node)]

    def _wrapped(self, node: Node) -> list[tuple[float, Node]]:
        """A tree below one or two relations that no word names, with what they add; the best few."""
        key = node.symbol, node.place  # all that the scores depend on; trees of the same root are many
        if key not in self.wrappings:
            self.wrappings[key] = self._wrappings(Node(node.symbol, node.place))
        found: list[tuple[float, Node]] = []
        for gain, above in self.wrappings[key]:
            tree = node
            for rel, others in above:
                tree = Node(rel, None, (tree, *others), True)
            found.append((gain, tree))
        return found

    def _wrappings(self, node: Node) -> list[tuple[float, Wrapping]]:
        found: list[tuple[float, Wrapping]] = []
        layer: list[tuple[float, Wrapping]] = [(0.0, ())]
        for _ in range(2):
            layer = [
                (gain + more, (*above, one))
                for gain, above in layer
                for more, one in self._wrapped_once(Node(above[-1][0], None) if above else node)
            ]
            layer = nlargest(SPARE, layer, key=_score)
            found += layer
        return found

    def _wrapped_once(self, node: Node) -> Iterator[tuple[float, tuple[str, tuple[Node, ...]]]]:
        """The relations that can be put above a tree: what each adds, and its other arguments."""
        for rel in self.view.above.get(node.symbol, ()):
            if rel in self.view.silent:
                gain = self._start(rel, None, 0)[0] + self._edge(rel, 0, node, None)
                fillers = [self._filler(rel, slot) for slot in range(1, self.schema.relations[rel].least)]
                others = [filler for filler in fillers if filler is not None]
                if len(others) == len(fillers):
                    for more, _ in others:
                        gain += more
                    yield gain, (rel, tuple(other for _, other in others))

    def _filler(self, rel: str, slot: int) -> tuple[float, Node] | None:
        """The best constant that no word names for a slot of a relation that no word names."""
        if (rel, slot) not in self.fillers:
            allowed = self.schema.types[self.schema.relations[rel].slots[slot]]
            self.fillers[rel, slot] = max(
                (
                    (gain + self._edge(rel, slot, other, None), other)
                    for gain, other, bit in self.options
                    if not bit and other.symbol in allowed
                ),
                key=_score,
                default=None,
            )
        return self.fillers[rel, slot]

    def _edge(self, rel: str, slot: int, child: Node, anchor: int | None) -> float:
        """The score of a child in a slot of a relation."""
        gain = self.role[child.place, anchor][self.tables.roles.labels[rel, slot]]
        nest = self.nest.get((rel, slot))
        return gain if nest is None else gain + nest[self.tables.nesting.labels[child.symbol]]

    def _start(self, rel: str, anchor: int | None, used: int) -> Way:
        score = self.relation[anchor][self.tables.relations.labels[rel]]
        return (score, (), used) if anchor is None else (score - self.unused[anchor], (), used | 1 << anchor)

    def _extended(self, ways: list[Way], rel: str, slot: int, anchor: int | None, allowed: Any) -> list[Way]:
        """Each way with each constant that may come next."""
        fitting = self.fitting.get((rel, slot, anchor))
        if fitting is None:
            fitting = [
                (gain + self._edge(rel, slot, node, anchor), node, bit)
                for gain, node, bit in self.options
                if node.symbol in allowed and (node.place is None or node.place != anchor)
            ]
            if len(fitting) > 2 * BEAM:
                fitting = nlargest(2 * BEAM, fitting, key=_score)
            self.fitting[rel, slot, anchor] = fitting
        return [
            (score + gain, (*children, node), taken | bit)
            for score, children, taken in ways
            for gain, node, bit in fitting
            if not taken & bit
        ]

    def _filled(
        self, rel: str, anchor: int | None, trees: tuple[Node, ...], used: int, keep: int
    ) -> list[Way]:
        """The best ways to fill the slots of a relation with constants and with trees built already."""
        relation = self.schema.relations[rel]
        copies = dict(relation.copies)
        ways = [self._start(rel, anchor, used)]
        whole = list(ways) if relation.least == 0 else []
        for slot, kind in enumerate(relation.slots):
            allowed = self.schema.types[kind]
            if slot in copies:
                ways = [(s, (*children, children[copies[slot]]), taken) for s, children, taken in ways]
            else:
                longer = self._extended(ways, rel, slot, anchor, allowed)
                for tree in trees:
                    if tree.symbol in allowed:
                        gain = self._edge(rel, slot, tree, anchor)
                        longer += [(s + gain, (*c, tree), taken) for s, c, taken in ways if tree not in c]
                ways = longer
            ways.sort(key=_score, reverse=True)
            del ways[BEAM:]
            if slot + 1 >= relation.least:
                whole += ways
        whole.sort(key=_score, reverse=True)
        return whole[:keep]

    def parses(self, n: int = 1) -> list[Found]:
        """Trees of the schema, best first, each MR once; the n best and a rival are among them."""
        found = self._nested(n + SPARE) if self.view.nested else self._flat(n + SPARE)
        found.sort(key=_score, reverse=True)
        best: dict[Any, Found] = {}
        for tree in found:
            if len(best) <= n:
                best.setdefault(tree.node.value, tree)
        return list(best.values())

    def _flat(self, keep: int) -> list[Found]:
        ways = [(rel, way) for rel in self.view.anchors for way in self._filled(rel, None, (), 0, keep)]
        ways.sort(key=lambda pair: pair[1][0], reverse=True)
        return [
            Found(self.base + s, Node(rel, None, c, True), used) for rel, (s, c, used) in ways[: keep + SPARE]
        ]

    def _nested(self, keep: int) -> list[Found]:
        """From right to left, a word is left out or becomes a relation over what lies open; with a beam."""
        at: dict[int, list[str]] = {}
        for rel, places in self.view.anchors.items():
            for place in places:
                if place is not None:
                    at.setdefault(place, []).append(rel)
        beam = max(2, min(4 * BEAM, STEPS // max(1, sum(map(len, at.values())))))
        states: list[Way] = [(self.base, (), 0)]
        for place in sorted(at, reverse=True):
            grown = list(states)
            for score, trees, used in states:
                if used >> place & 1:
                    continue
                for rel in at[place]:
                    for gain, children, taken in self._filled(rel, place, trees, used, BEAM):
                        left = tuple(tree for tree in trees if tree not in children)
                        if len(left) < max(self.schema.most_inner, 1):
                            node = Node(rel, place, children, True)
                            grown.append((score + gain, (*left, node), taken))
                            if self.view.silent:
                                wrapped = self._wrapped(node)
                                grown += [(score + gain + g, (*left, tree), taken) for g, tree in wrapped]
            grown.sort(key=_score, reverse=True)
            states = grown[:beam]
        return [Found(score, trees[0], used) for score, trees, used in states if len(trees) == 1]

    def align(self, mr: MR) -> Found | None:
        """The best way that the words can say an MR; None where a symbol of it has no word."""
        if mr.rel not in self.tables.relations.labels or not self.schema.valid(mr):
            return None
        ways = self._aligned(mr, [(self.base, None, 0)])
        return Found(ways[0][0], ways[0][2], ways[0][3]) if ways else None

    def _aligned(self, mr: MR, states: list[State]) -> list[tuple[float, Any, Node, int]]:
        """The best ways to say an MR after what the states have placed, each with what its state was for."""
        copies = dict(self.schema.relations[mr.rel].copies)
        ways: list[State] = []
        for score, above, used in states:
            unsaid = [None] if mr.rel in self.view.silent else []
            for anchor in [*self.view.anchors.get(mr.rel, []), *unsaid]:
                if anchor is None or not used >> anchor & 1:
                    gain, _, taken = self._start(mr.rel, anchor, used)
                    ways.append((score + gain, (above, anchor, ()), taken))
        ways = _best(ways)
        for slot, arg in enumerate(mr.args):
            if slot in copies and arg == mr.args[copies[slot]]:
                ways = [(s, (above, a, (*c, c[copies[slot]])), u) for s, (above, a, c), u in ways]
            elif isinstance(arg, MR):
                ways = [
                    (s + self._edge(mr.rel, slot, node, a), (above, a, (*c, node)), u)
                    for s, (above, a, c), node, u in self._aligned(arg, ways)
                ]
            else:
                ways = [
                    (s + gain + self._edge(mr.rel, slot, node, a), (above, a, (*c, node)), u | bit)
                    for s, (above, a, c), u in ways
                    for gain, node, bit in self.said.get(arg, ())
                    if not u & bit and (node.place is None or node.place != a)
                ]
            ways = _best(ways)
        return [(s, above, Node(mr.rel, a, c, True), u) for s, (above, a, c), u in ways]

    def prior_gain(self, found: Found) -> float:
        """The amount that the shares of its constants add to the score of a tree."""
        total, waiting = 0.0, [found.node]
        while waiting:
            node = waiting.pop()
            waiting += node.children
            if not node.is_relation and node.place is not None:
                total += dict(self.view.mentions[node.place])[node.symbol]
        return self.prior * total

    def features(self, found: Found) -> list[tuple[str, np.ndarray, int]]:
        """The terms that sum to a score: tables, rows and columns."""
        view, tables = self.view, self.tables
        parts = [("unused", rows, 0) for i, rows in view.unused_rows.items() if not found.used >> i & 1]
        waiting = [found.node]
        while waiting:
            node = waiting.pop()
            parts.append(("relations", view.relation_rows[node.place], tables.relations.labels[node.symbol]))
            copies = dict(self.schema.relations[node.symbol].copies)
            for slot, child in enumerate(node.children):
                if slot in copies and child == node.children[copies[slot]]:
                    continue
                role = tables.roles.labels[node.symbol, slot]
                if (row := view.nesting_rows.get((node.symbol, slot))) is not None:
                    parts.append(("nesting", np.array([row]), tables.nesting.labels[child.symbol]))
                parts.append(("roles", view.role_rows[child.place, node.place], role))
                if child.is_relation:
                    waiting.append(child)
                else:
                    label = tables.constants.labels[child.symbol]
                    parts.append(("constants", view.constant_rows[child.place], label))
        return parts


def _score(way: Any) -> float:
    return way[0]


def _best(ways: list[State]) -> list[State]:
    return sorted(ways, key=_score, reverse=True)[: 4 * BEAM]


def _sums(weights: np.ndarray, rows: np.ndarray) -> list[float]:
    return weights[rows].sum(0).tolist()
