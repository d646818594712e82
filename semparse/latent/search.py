"""The best meanings of a sentence: any that the schema allows, or given ones, with the words behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from semparse.latent._chart import Chart
from semparse.latent._scores import Scores
from semparse.latent._units import Units
from semparse.latent.features import View
from semparse.latent.grammar import Grammar
from semparse.meaning import MR, is_name
from semparse.parse import Node

NOTHING = Units([], [], True)


class Found(NamedTuple):
    """A way to say nothing, one meaning or several: its score, its meaning (as a number) and its chart."""

    score: float
    meaning: int
    chart: Chart
    node: int

    def features(self) -> list[tuple[str, int, int]]:
        """The terms that sum to a score, less the prior: tables, rows and columns."""
        return self.chart.features(self.node)

    @property
    def prior(self) -> float:
        return self.chart.prior(self.node)


class Search:
    """Charts of one view by given weights; see `_chart` for what they add up."""

    def __init__(self, view: View, grammar: Grammar, weights: Mapping[str, np.ndarray], clauses: int) -> None:
        self.view, self.grammar, self.weights, self.clauses = view, grammar, weights, clauses
        labels = grammar.tables
        self.scores = Scores(
            view.sentence, grammar.layout, len(labels.relations.labels), len(labels.roles.labels),
            weights["relations"], weights["roles"], weights["constants"], weights["unused"],
            weights["nesting"],
        )  # fmt: skip

    def best(self, n: int = 1) -> list[Found]:
        """The n best meanings, null included, best first."""
        chart = Chart(self.scores, self.grammar.saying(self.view.sure), n, self.clauses, True)
        return [Found(score, meaning, chart, node) for score, meaning, node in chart.best]

    def unused(self, found: Found) -> list[list[str]]:
        """The constants that words spell, for each word that stands for no constant."""
        nodes = [inner for node in self.nodes(found) for inner in node.nodes()]
        used = {place for node in nodes if not node.is_relation for place in node.places}
        spelled = self.view.spelled.items()
        return [symbols for i, symbols in spelled if used.isdisjoint(self._places([i]))]

    def unused_values(self, found: Found) -> bool:
        """Whether a word with a digit, or a number in words, names no constant."""
        words = self.view.words
        valued = [i for i, word in enumerate(words) if word.values or any(map(str.isdigit, word.text))]
        if not valued:
            return False
        nodes = [inner for node in self.nodes(found) for inner in node.nodes()]
        used = {place for node in nodes if not node.is_relation for place in node.places}
        return any(used.isdisjoint(self._places([i])) for i in valued)

    def overlooked(self, found: Found) -> set[str]:
        """The types of slots whose constant has no sure word, while a name of that type fills no slot.

        So it is with values such as numbers and quantities, while one fills no slot.
        """
        unread = bool(self.grammar.valued) and self.unused_values(found)
        if not self.view.spelled and not unread:
            return set()
        nodes = [inner for node in self.nodes(found) for inner in node.nodes()]
        sure = {(m.value, self._places(range(m.start, m.end))) for m in self.view.mentions if m.sure}
        if unread:
            doubtful = [n.symbol for n in nodes if not n.is_relation and (n.symbol, n.places) not in sure]
            kinds = {kind for symbol in doubtful for kind in self.grammar.types_of(symbol)}
            if not kinds.isdisjoint(self.grammar.valued):
                return kinds & self.grammar.valued
        names = {symbol for symbols in self.unused(found) for symbol in symbols}
        if not names:
            return set()
        relations, types = self.grammar.schema.relations, self.grammar.schema.types
        return {
            kind
            for node in nodes
            if node.is_relation
            for child, kind in zip(node.children, relations[node.symbol].slots, strict=False)
            if not child.is_relation and (child.symbol, child.places) not in sure
            if names & types[kind] - {child.symbol}
        }

    def align(self, units: Units) -> Found | None:
        """The best way that the words can say a meaning; None where a symbol of it has no word."""
        chart = Chart(self.scores, units, 1, 1, units is NOTHING)
        return next((Found(score, meaning, chart, node) for score, meaning, node in chart.best), None)

    def nodes(self, found: Found) -> list[Node]:
        """The meanings as trees, each symbol with its words."""
        return [self._node(tree) for tree in found.chart.trees(found.node)]

    def _node(self, tree: Any) -> Node:
        names = self.grammar.names
        if tree[0] == "word":
            mention = self.view.mentions[tree[1]]
            return Node(mention.value, self._places(range(mention.start, mention.end)))
        if tree[0] == "silent":
            return Node(names["constants"][tree[1]], ())
        rel, _, _, own, args = tree
        name = names["relations"][rel]
        said = [i for i in own if self.view.said(i, name)]
        children = tuple(self._node(arg) for arg in args)
        if children and all(is_name(child.symbol) for child in children):  # words may come in any order
            children = tuple(sorted(children, key=lambda child: child.symbol))
        return Node(name, self._places(said), children, True)

    def _places(self, words: Sequence[int] | range) -> tuple[int, ...]:
        read = self.view.words
        return tuple(place for i in words for place in range(read[i].start, read[i].end))

    def mrs(self, found: Found) -> tuple[MR, ...]:
        return tuple(node.value for node in self.nodes(found) if isinstance(node.value, MR))
