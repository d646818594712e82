"""The default parser: a linear model of whole meanings, with the right candidate and alignment as latent
variables.

    S(x, mr) = max over alignments of  <w, Phi(x, mr, alignment)>

`Alignment` (EM over all bags) finds which words may stand for which symbols, and which candidates of a bag
are likely; `training` learns the weights. Predictions use the mean of all weights, or the last ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from semparse.latent import training
from semparse.latent.model import LatentModel
from semparse.latent.search import NOTHING, Found, Search
from semparse.meaning import MR, in_order
from semparse.parse import Match, Node, Parse

MANY_UNKNOWN = 0.25  # the share of words
TRIED = 10  # readings, if only valid meanings are wanted
CLAUSE_SLACK = 0.5  # a second clause that uses one more name may lower the score by less than this


class LatentParser(LatentModel):
    """The model with its answers."""

    def fit(
        self,
        X: Sequence[list[str]],
        bags: Sequence[list[MR]],
        passes: int,
        rng: np.random.Generator,
        progress: Callable[[int, int], Any],
    ) -> None:
        """EM, then passes over the sentences in random order."""
        training.fit(self, X, bags, passes, rng, progress)

    def learn(self, x: list[str], bag: list[MR], rng: np.random.Generator) -> None:
        """Learn from one more sentence, then from some of the old ones again."""
        training.learn(self, x, bag, rng)

    def _search(
        self, x: list[str], n: int, tests: Sequence[Callable[[MR], Any]] = ()
    ) -> tuple[Search, list[Found]]:
        """The n best meanings of a sentence, the first of which overlooks no name.

        tests: what both meanings must pass where a second clause is found.

        If the best meaning gives a slot a constant without a word, or with a doubtful one, although the
        sentence names another constant of that type, only sure words name the constants of that type.
        """
        tables = self.tables.all.items()
        averaged = self.average and self.steps > 1
        weights = {name: table.mean(self.steps) if averaged else table.w for name, table in tables}
        sure = frozenset[str]()
        while True:
            search = self.search_with(self.viewer.view(x, grow=False, sure=sure), weights)
            found = search.best(n)
            overlooked = search.overlooked(found[0]) - sure
            if not overlooked:
                return self._with_second_clause(search, found, n, tests)
            sure |= overlooked

    def _with_second_clause(
        self, search: Search, found: list[Found], n: int, tests: Sequence[Callable[[MR], Any]]
    ) -> tuple[Search, list[Found]]:
        """The two meanings of a sentence whose best meaning leaves a name unused, if they use more names.

        Only if training found one meaning per sentence: a second one must not be lost without a trace.
        """
        if self.clauses > 1 or self.given_clauses or not self.nothing or self.grammar.nested:
            return search, found
        unused = len(search.unused(found[0])) if found[0].meaning and search.view.spelled else 0
        if not unused:
            return search, found
        more = Search(search.view, search.grammar, search.weights, 2)
        ways = more.best(max(n, TRIED))
        least = found[0].score - CLAUSE_SLACK
        for k, way in enumerate(ways):
            several = way.score > least and len(more.nodes(way)) > 1 and not more.overlooked(way)
            if several and len(more.unused(way)) < unused:
                passes = all(test(mr) for mr in more.mrs(way) for test in tests)
                return (more, ways[k:]) if passes else (search, found)
        return search, found

    def parse(self, x: list[str], n: int, valid: Callable[[MR], Any] | None = None) -> list[Parse]:
        """All meanings of the n best readings, each once, best first; valid: only readings of such meanings.

        None if the best reading is nothing, or if no word stands for any of its relations. If each sentence
        of the training data had one meaning, the latter holds only for sentences with many unknown words.
        """
        tests = [*([in_order] if self.grammar.has_names else []), *([valid] if valid is not None else [])]
        search, found = self._search(x, (max(n, TRIED) if tests else n) + 2, tests)
        for test in tests:
            found = [way for way in found if all(test(mr) for mr in search.mrs(way))]
        if self.nothing == 0:
            found = [way for way in found if way.meaning]
        if not found or not found[0].meaning:
            return []
        ways = [way for way in found if way.meaning and not search.overlooked(way)][:n]
        known = self.trusted and self.viewer.unknown(search.view) < MANY_UNKNOWN
        known = known and not (self.grammar.valued and search.unused_values(found[0]))
        if self.nothing and not known and not any(map(has_words, search.nodes(found[0]))):
            return []
        answers = [parse for way in ways for parse in self._answer(search, way, found)]
        best: dict[MR, Parse] = {}
        for parse in answers:
            best.setdefault(parse.mr, parse)
        return list(best.values())

    def _answer(self, search: Search, found: Found, others: list[Found]) -> list[Parse]:
        rivals = [other.score for other in others if other.meaning != found.meaning]
        if not rivals and (nothing := search.align(NOTHING)):
            rivals.append(nothing.score)
        rival = max(rivals, default=-np.inf)
        tokens = search.view.tokens
        nodes = search.nodes(found)
        said = [node for node in nodes if has_words(node)] or nodes
        unknown = self.viewer.unknown(search.view)
        return [node.parse(found.score, tokens, found.score - rival, unknown) for node in said]

    def align(self, x: list[str], mr: MR) -> Parse | None:
        """Align an MR with the words of a sentence; None if that is impossible."""
        search, others = self._search(x, 2)
        found = self._said(search, mr)
        return None if found is None else self._answer(search, found, others)[0]

    def _said(self, search: Search, mr: MR) -> Found | None:
        """The best way that the words can say an MR, if it overlooks no name."""
        units = self.grammar.exactly([mr])
        found = None if units is None else search.align(units)
        return None if found is None or search.overlooked(found) else found

    def match(self, x: list[str], candidates: list[MR]) -> Match | None:
        """The candidate with the highest score, if it is above that of meaning nothing."""
        search, _ = self._search(x, 1)
        found = [(way.score, mr) for mr in candidates if (way := self._said(search, mr))]
        score, best = max(found, key=lambda pair: pair[0], default=(-np.inf, None))
        nothing = search.align(NOTHING)
        if best is None or nothing is None or score <= nothing.score:
            return None
        return Match(best, self.salience.of(best.rel))

    def lexicon(self, least: float = 0.0) -> dict[str, dict[str, float]]:
        return self.alignment.lexicon(least)

    def explain(self, x: list[str], mr: MR | None) -> list[tuple[str, str, float]]:
        """The weights that add up to a score: (label, feature, weight), largest first."""
        search, best = self._search(x, 1)
        found = best[0] if mr is None else self._said(search, mr)
        if found is None:
            return []
        names = {name: (list(t.features), list(t.labels)) for name, t in self.tables.all.items()}
        parts = [
            (
                _label_text(name, names[name][1][label]),
                names[name][0][row],
                float(search.weights[name][row, label]),
            )
            for name, row, label in found.features()
        ]
        if found.prior:
            parts.append(("alignment", "prior", found.prior))
        return sorted(parts, key=lambda part: -abs(part[2]))


def has_words(node: Node) -> bool:
    """Whether a word stands for a relation of a meaning."""
    return any(inner.is_relation and inner.places for inner in node.nodes())


def _label_text(table: str, label: Any) -> str:
    if table == "unused":
        return "stands for nothing"
    if isinstance(label, tuple) and table == "roles":
        return f"{label[0]} A{label[1]}"
    return " ".join(label) if isinstance(label, tuple) else str(label)
