"""The default parser: a linear model of whole meanings, with the right candidate and alignment as latent
variables.

    S(x, mr) = max over alignments of  <w, Phi(x, mr, alignment)>

`Alignment` (EM over all bags) finds which words may stand for which symbols, and which candidates of a bag
are likely. Training then visits the sentences. The best candidate of the bag, by S and by that posterior,
should score higher by a margin of 1 than any other MR that the schema allows. If it does not, the learner
makes a passive-aggressive step of at most C, or adds the pair to the dual that LaRank optimizes. A bag is
noise if none of its candidates can be aligned; it is skipped. Predictions use the mean of all weights, or
the last ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import numpy as np

from semparse.checks import checked_count, checked_counts, numbered
from semparse.latent.alignment import Alignment
from semparse.latent.features import LEAST_SHARE, Tables, View, Viewer
from semparse.latent.problem import SATISFIED, LatentProblem
from semparse.latent.search import Found, Search
from semparse.meaning import MR, distinct
from semparse.parse import Match, Node, Parse
from semparse.schema import Schema, SchemaLearner
from structsvm.optimizers.curve import Point
from structsvm.optimizers.larank import LaRank


class Salience:
    """Counts of bags, by relation."""

    def __init__(self) -> None:
        self.possible: Counter[str] = Counter()  # with a candidate of this relation that words can say
        self.meant: Counter[str] = Counter()  # of these, those where such a candidate is the best parse

    def clear(self) -> None:
        self.possible.clear()
        self.meant.clear()

    def see(self, sayable: Iterable[str], meant: str | None) -> None:
        """One bag: the relations that words can say, and the one that they do."""
        self.possible.update(set(sayable))
        if meant is not None:
            self.meant[meant] += 1

    def of(self, rel: str) -> float:
        """The share of bags in which a relation is meant among those in which it could be; 1 if unknown."""
        return self.meant[rel] / self.possible[rel] if self.possible[rel] else 1.0

    def state(self) -> dict[str, Any]:
        return {"possible": dict(self.possible), "meant": dict(self.meant)}

    def set_state(self, meta: dict[str, Any]) -> None:
        self.possible = Counter(checked_counts(meta["possible"], "possible"))
        self.meant = Counter(checked_counts(meta["meant"], "meant"))


class LatentParser:
    """Alignment, weights, and how often each relation is meant where it could be."""

    def __init__(
        self,
        *,
        C: float,
        iterations: int,
        reprocess: int,
        solver: str,
        features: Collection[str],
        on_topic: bool,
        prior: float,
        average: bool,
        unnamed: float | None,
    ) -> None:
        self.C, self.iterations, self.reprocess, self.solver = C, iterations, reprocess, solver
        self.unnamed = unnamed
        self.features, self.on_topic, self.prior, self.average = features, on_topic, prior, average
        self.alignment = Alignment()
        self.tables = Tables()
        self.schemas = SchemaLearner()
        self.given: Schema | None = None
        self.steps = 1
        self.salience = Salience()
        self.memory: list[tuple[list[str], list[MR]]] = []
        self.silent: list[str] = []  # symbols that words often do not name, of nested meanings
        self._viewer: Viewer | None = None

    @property
    def schema(self) -> Schema:
        return self.given or self.schemas.schema()

    @property
    def viewer(self) -> Viewer:
        if self._viewer is None:
            self._viewer = Viewer(
                self.alignment, self.schema, self.tables, self.features, self.silent, self.schemas.fillers
            )
        return self._viewer

    def fit(
        self,
        X: Sequence[list[str]],
        bags: Sequence[list[MR]],
        passes: int,
        rng: np.random.Generator,
        progress: Callable[[int, int], Any],
    ) -> None:
        """EM, then passes over the sentences in random order."""
        bags = [distinct(bag) for bag in bags]
        for bag in bags:
            self._meet(bag)
        posteriors = self.alignment.fit(X, bags, self.iterations)
        self._viewer = None
        if self.unnamed is not None and self.viewer.nested:
            often = self.alignment.often_unsaid(X, bags, posteriors, LEAST_SHARE, self.unnamed)
            self.silent = sorted(often | self.schema.relations.keys())
            self._viewer = None
        views = [self.viewer.view(x, grow=True) for x in X]
        self._fit_sizes()
        data = list(zip(views, bags, posteriors, strict=True))
        if self.solver == "larank":
            self._larank(data, passes, rng, progress)
        else:
            self._passes(data, passes, rng, progress)
        self.memory = list(zip(X, bags, strict=True))

    def _passes(self, data: Sequence[Any], passes: int, rng: np.random.Generator, progress: Any) -> None:
        """Passive-aggressive steps."""
        done = 0
        for number in range(passes):
            self.salience.clear()
            for i in rng.permutation(len(data)):
                self._step(*data[i], trusting=number > 0)
                done += 1
                progress(done, passes * len(data))

    def _larank(self, data: Sequence[Any], passes: int, rng: np.random.Generator, progress: Any) -> None:
        """The core's LaRank on the same constraints: each sentence once a pass, and `reprocess` old ones."""

        def report(at: Point) -> None:
            progress(at.epoch * len(data) + at.seen, passes * len(data))

        problem = LatentProblem(self.tables, self._scored, self.choose)
        optimizer = LaRank(
            problem, C=self.C, n_reprocess=self.reprocess, random_state=int(rng.integers(2**31)),
            callback=report,
        )  # fmt: skip
        optimizer.begin(data, [SATISFIED] * len(data))
        for number in range(passes):
            problem.trusting = number > 0
            optimizer.epoch()
        for name, w in problem.tables(optimizer.weights_).items():
            self.tables.all[name].w[:] = w
        self.salience.clear()
        for view, bag, posteriors in data:  # how often each relation is meant, by the weights learned
            self.choose(
                self._scored(view, {name: t.w for name, t in self.tables.all.items()}), bag, posteriors
            )

    def learn(self, x: list[str], bag: list[MR], rng: np.random.Generator) -> None:
        """Learn from one more sentence, then from some of the old ones again."""
        bag = distinct(bag)
        self._meet(bag)
        self.alignment.see(x, bag)
        self._viewer = None
        again = rng.integers(len(self.memory), size=min(self.reprocess, len(self.memory)))
        for words, candidates in [(x, bag), *[self.memory[i] for i in again]]:
            view = self.viewer.view(words, grow=True)
            self._fit_sizes()
            self._step(view, candidates, self.alignment.posteriors(words, candidates), trusting=True)
        self.memory.append((x, bag))

    def _meet(self, bag: list[MR]) -> None:
        for mr in bag:
            self.schemas.see(mr)

    def _fit_sizes(self) -> None:
        """Make room for the labels of the schema and for all features."""
        self._add_labels()
        for table in self.tables.all.values():
            table.fit_size()

    def _add_labels(self) -> None:
        """A column for each relation, role and constant of the schema."""
        schema, tables = self.schema, self.tables
        for rel, relation in schema.relations.items():
            tables.relations.label(rel)
            for slot in range(len(relation.slots)):
                tables.roles.label((rel, slot))
        for symbols in schema.types.values():
            for symbol in sorted(symbols):
                tables.constants.label(symbol)
                if self.silent:
                    tables.nesting.label(symbol)

    def _scored(self, view: View, weights: dict[str, np.ndarray]) -> Search:
        return Search(view, self.tables, weights, self.schema, self.prior)

    def choose(
        self, search: Search, bag: list[MR], posteriors: np.ndarray, *, trusting: bool = True
    ) -> tuple[Found, Found] | None:
        """The latent candidate of a sentence and its best rival, unless their scores are far enough apart.

        The candidate is the likeliest by the alignment and, once there are weights to trust, by its score.
        """
        sayable = [(found, p) for mr, p in zip(bag, posteriors, strict=True) if (found := search.align(mr))]
        aligned = [(found, p) for found, p in sayable if self._fits(search, found)]
        parses = search.parses() if aligned else []
        meant = [found.node for found, _ in aligned if parses and found.node.value == parses[0].node.value]
        self.salience.see((found.node.symbol for found, _ in sayable), meant[0].symbol if meant else None)
        if not aligned:
            return None
        right, _ = max(aligned, key=lambda pair: float(np.log(pair[1] + 1e-9)) + trusting * pair[0].score)
        rival = next((found for found in parses if found.node.value != right.node.value), None)
        return None if rival is None or right.score - rival.score >= 1 else (right, rival)

    def _step(self, view: View, bag: list[MR], posteriors: np.ndarray, *, trusting: bool) -> None:
        """One sentence: a passive-aggressive step if its hidden candidate and the rival are too close."""
        self.steps += 1
        search = self._scored(view, {name: t.w for name, t in self.tables.all.items()})
        pair = self.choose(search, bag, posteriors, trusting=trusting)
        if pair is None:
            return
        right, rival = pair
        change: Counter[tuple[str, int, int]] = Counter()
        for sign, found in ((1, right), (-1, rival)):
            for table, rows, label in search.features(found):
                for row in rows.tolist():
                    change[table, row, label] += sign
        norm = sum(value * value for value in change.values())
        if norm == 0:
            return
        size = min(self.C, (1 - right.score + rival.score) / norm)
        for (table, row, label), value in change.items():
            if value:
                self.tables.all[table].add(row, label, size * value, self.steps)
        for table_ in self.tables.all.values():
            table_.changed()

    def _fits(self, search: Search, found: Found) -> bool:
        """Whether a candidate is about one of the things that the sentence names, if it names any."""
        return (
            not self.on_topic
            or not search.view.named
            or any(found.used >> i & 1 for i in search.view.mentions)
        )

    def knows(self, symbol: str) -> bool:
        return symbol in self.schema.relations or symbol in self.viewer.type_of

    def _search(self, x: list[str]) -> Search:
        tables = self.tables.all.items()
        weights = {name: table.mean(self.steps) if self.average else table.w for name, table in tables}
        return self._scored(self.viewer.view(x, grow=False), weights)

    def parse(self, x: list[str], n: int) -> list[Parse]:
        """The n best MRs."""
        search = self._search(x)
        found = search.parses(n)
        return [self._answer(search, tree, found) for tree in found[:n]]

    def _answer(self, search: Search, found: Found, others: list[Found]) -> Parse:
        rival = max((other.score for other in others if other is not found), default=-np.inf)
        node = found.node
        if node.place is None and not search.view.nested:  # for show: the likeliest word of the relation
            free = [
                (share.get(node.symbol, 0.0), -i)
                for i, share in enumerate(search.view.shares)
                if not found.used >> i & 1
            ]
            share, place = max(free, default=(0.0, 0))
            node = Node(node.symbol, -place if share > 0 else None, node.children, True)
        return node.parse(found.score, search.view.tokens, found.score - rival)

    def align(self, x: list[str], mr: MR) -> Parse | None:
        """Align an MR with the words of a sentence; None if that is impossible."""
        search = self._search(x)
        found = search.align(mr)
        return None if found is None else self._answer(search, found, search.parses())

    def match(self, x: list[str], candidates: list[MR]) -> Match | None:
        """The best parse, if it is a candidate."""
        parses = self._search(x).parses()
        best = parses[0].node.value if parses else None
        if not isinstance(best, MR) or best not in candidates:
            return None
        return Match(best, self.salience.of(best.rel))

    def lexicon(self) -> dict[str, dict[str, float]]:
        return self.alignment.lexicon()

    def explain(self, x: list[str], mr: MR | None) -> list[tuple[str, str, float]]:
        """The weights that add up to a score: (label, feature, weight), largest first."""
        search = self._search(x)
        found = search.align(mr) if mr is not None else next(iter(search.parses()), None)
        if found is None:
            return []
        parts = []
        for name, rows, label in search.features(found):
            table = self.tables.all[name]
            features, labels = list(table.features), list(table.labels)
            for row in rows.tolist():
                parts.append(
                    (_label_text(name, labels[label]), features[row], float(search.weights[name][row, label]))
                )
        return sorted(parts, key=lambda part: -abs(part[2]))

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Arrays and JSON values for a model file."""
        self._fit_sizes()  # `learn` may have been interrupted
        arrays, meta = self.alignment.state()
        parts: dict[str, Any] = {"alignment": meta, "steps": self.steps, "silent": self.silent}
        parts |= self.salience.state()
        for name, table in self.tables.all.items():
            more, parts[name] = table.state(name)
            arrays |= more
        return arrays, parts

    def set_state(self, arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> None:
        """Restore the result of `state`; raise ValueError if it is inconsistent."""
        self.alignment.set_state(arrays, meta["alignment"])
        self.steps = checked_count(meta["steps"], "steps", low=1)
        self.salience.set_state(meta)
        self.silent = list(numbered(meta["silent"], "silent"))
        for name, table in self.tables.all.items():
            table.set_state(name, arrays, meta[name])
        if list(self.tables.unused.labels) != [""]:
            raise ValueError("the table of unused words must have one label")
        self._add_labels()
        for name, table in self.tables.all.items():  # a small file must not ask for large tables
            if table.w.shape[1] != len(table.labels):
                raise ValueError(f"the labels of {name} must be those of the schema")
        self._viewer = None


def _label_text(table: str, label: Any) -> str:
    if table == "unused":
        return "stands for nothing"
    return f"{label[0]} A{label[1]}" if isinstance(label, tuple) else str(label)
