"""The best meanings of a sentence: all that the schema allows, or given ones, with the words they come from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from semparse.meaning import MR
from semparse.parse import Node
from semparse.schema import Schema
from semparse.view import Tables, View

BEAM = 16


class Found(NamedTuple):
    """A tree with its score, and the places that its nodes take."""

    score: float
    node: Node
    used: frozenset[int]


class Search:
    """Scores of one view by given weights.

    The score of a tree is the sum of: for each relation its weight; for each argument the weight of its role,
    and of its constant; and for each open place that the tree leaves out, the weight of standing for nothing.
    """

    def __init__(self, view: View, tables: Tables, weights: dict[str, np.ndarray], schema: Schema) -> None:
        self.view, self.tables, self.schema = view, tables, schema
        self.weights = weights
        unused = weights["unused"]
        self.unused = {i: float(unused[rows, 0].sum()) for i, rows in view.unused_rows.items()}
        self.base = sum(self.unused.values())
        self.relation = {a: weights["relations"][rows].sum(0) for a, rows in view.relation_rows.items()}
        self.role = {key: weights["roles"][rows].sum(0) for key, rows in view.role_rows.items()}
        columns = tables.constants.labels
        self.constant = {
            i: {
                c: float(weights["constants"][view.constant_rows[i], columns[c]].sum()) + share / 2
                for c, share in found
                if c in columns
            }
            for i, found in view.mentions.items()
        }

    def _constants(self, rel: str, slot: int, anchor: int | None, used: frozenset[int]) -> Iterator[tuple[float, str, int]]:
        """Words that may fill a slot: gain, constant, place."""
        label = self.tables.roles.labels[rel, slot]
        allowed = self.schema.types[self.schema.relations[rel].slots[slot]]
        for i, scores in self.constant.items():
            if i in used or i == anchor:
                continue
            gain = float(self.role[i, anchor][label]) - self.unused[i]
            for constant, score in scores.items():
                if constant in allowed:
                    yield gain + score, constant, i

    def _start(self, rel: str, anchor: int | None) -> float:
        score = float(self.relation[anchor][self.tables.relations.labels[rel]])
        return score if anchor is None else score - self.unused[anchor]

    def _filled(
        self, rel: str, anchor: int | None, trees: tuple[Node, ...], used: frozenset[int]
    ) -> list[tuple[float, tuple[Node, ...], frozenset[int]]]:
        """Ways to fill the slots of a relation with constants and with trees that are built already."""
        relation = self.schema.relations[rel]
        copies = dict(relation.copies)
        ways: list[tuple[float, tuple[Node, ...], frozenset[int]]] = [(self._start(rel, anchor), (), used)]
        whole = [ways[0]] if relation.least == 0 else []
        for slot, kind in enumerate(relation.slots):
            longer = []
            for score, children, taken in ways:
                if slot in copies:
                    longer.append((score, (*children, children[copies[slot]]), taken))
                    continue
                for gain, constant, i in self._constants(rel, slot, anchor, taken):
                    longer.append((score + gain, (*children, Node(constant, i)), taken | {i}))
                for tree in trees:
                    if tree not in children and tree.symbol in self.schema.types[kind]:
                        gain = float(self.role[tree.place, anchor][self.tables.roles.labels[rel, slot]])  # type: ignore[index]
                        longer.append((score + gain, (*children, tree), taken))
            ways = sorted(longer, key=lambda way: -way[0])[: BEAM if slot + 1 < len(relation.slots) else None]
            if slot + 1 >= relation.least:
                whole = (whole + ways) if slot + 1 > relation.least else ways
        return whole

    def parses(self) -> list[Found]:
        """Trees of the schema, best first, each MR once."""
        found = self._flat() if None in self.view.relation_rows else self._nested()
        best: dict[Any, Found] = {}
        for tree in sorted(found, key=lambda f: -f.score):
            best.setdefault(tree.node.value, tree)
        return list(best.values())

    def _flat(self) -> list[Found]:
        nothing: frozenset[int] = frozenset()
        return [
            Found(self.base + score, Node(rel, None, children, True), used)
            for rel in self.view.anchors
            for score, children, used in self._filled(rel, None, (), nothing)
        ]

    def _nested(self) -> list[Found]:
        """From right to left, a word is left out or becomes a relation over what lies open; a beam is kept."""
        at: dict[int, list[str]] = {}
        for rel, places in self.view.anchors.items():
            for place in places:
                if place is not None:
                    at.setdefault(place, []).append(rel)
        most = max(
            (sum(bool(self.schema.types[s] & set(self.schema.relations)) for s in r.slots) for r in self.schema.relations.values()),
            default=0,
        )
        states: list[tuple[float, tuple[Node, ...], frozenset[int]]] = [(self.base, (), frozenset())]
        for place in sorted(at, reverse=True):
            grown = list(states)
            for score, trees, used in states:
                if place in used:
                    continue
                for rel in at[place]:
                    for gain, children, taken in self._filled(rel, place, trees, used)[:BEAM]:
                        left = tuple(tree for tree in trees if tree not in children)
                        if len(left) < max(most, 1):
                            node = Node(rel, place, children, True)
                            grown.append((score + gain, (*left, node), taken | {place}))
            states = sorted(grown, key=lambda state: -state[0])[: 4 * BEAM]
        return [Found(score, trees[0], used) for score, trees, used in states if len(trees) == 1]

    def align(self, mr: MR) -> Found | None:
        """The best way that the words can say an MR; None where a symbol of it has no word."""
        ways = self._aligned(mr, frozenset())
        if not ways:
            return None
        best = max(ways, key=lambda f: f.score)
        return best._replace(score=self.base + best.score)

    def _aligned(self, mr: MR, used: frozenset[int]) -> list[Found]:
        relation = self.schema.relations.get(mr.rel)
        if relation is None or mr.rel not in self.tables.relations.labels or not self.schema.valid(mr):
            return []
        copies = dict(relation.copies)
        found: list[Found] = []
        for anchor in self.view.anchors.get(mr.rel, []):
            if anchor in used:
                continue
            taken = used if anchor is None else used | {anchor}
            ways: list[tuple[float, tuple[Node, ...], frozenset[int]]] = [(self._start(mr.rel, anchor), (), taken)]
            for slot, arg in enumerate(mr.args):
                longer = []
                for score, children, taken in ways:
                    if slot in copies and children[copies[slot]].value == arg:
                        longer.append((score, (*children, children[copies[slot]]), taken))
                    elif isinstance(arg, MR):
                        label = self.tables.roles.labels[mr.rel, slot]
                        for inner in self._aligned(arg, taken):
                            gain = float(self.role[inner.node.place, anchor][label])  # type: ignore[index]
                            longer.append((score + inner.score + gain, (*children, inner.node), inner.used))
                    else:
                        for gain, constant, i in self._constants(mr.rel, slot, anchor, taken):
                            if constant == arg:
                                longer.append((score + gain, (*children, Node(constant, i)), taken | {i}))
                ways = sorted(longer, key=lambda way: -way[0])[:BEAM]
            found += [Found(s, Node(mr.rel, anchor, children, True), taken) for s, children, taken in ways]
        return sorted(found, key=lambda f: -f.score)[:BEAM]

    def features(self, found: Found) -> list[tuple[str, np.ndarray, int]]:
        """What a score is the sum of: tables, rows and columns."""
        view, tables = self.view, self.tables
        used = [("unused", rows, 0) for i, rows in view.unused_rows.items() if i not in found.used]
        waiting = [found.node]
        while waiting:
            node = waiting.pop()
            used.append(("relations", view.relation_rows[node.place], tables.relations.labels[node.symbol]))
            copies = dict(self.schema.relations[node.symbol].copies)
            for slot, child in enumerate(node.children):
                if slot in copies and child == node.children[copies[slot]]:
                    continue
                assert child.place is not None
                role = tables.roles.labels[node.symbol, slot]
                used.append(("roles", view.role_rows[child.place, node.place], role))
                if child.is_relation:
                    waiting.append(child)
                else:
                    used.append(("constants", view.constant_rows[child.place], tables.constants.labels[child.symbol]))
        return used
