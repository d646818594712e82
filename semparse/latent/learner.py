"""The default parser: a linear model of whole meanings, with the right candidate and alignment as latent
variables.

    S(x, mr) = max over alignments of  <w, Phi(x, mr, alignment)>

`Alignment` (EM over all bags) finds which words may stand for which symbols, and which candidates of a bag
are likely. Training then visits the sentences. The best candidate of the bag, by S and by that posterior,
should score higher by a margin of 1 than any other MR that the schema allows. If it does not, the learner
makes a passive-aggressive step of at most C, or adds the pair to the dual that LaRank optimizes. A bag is
noise if none of its candidates can be aligned, or if it probably lacks the meaning; it is skipped.
Predictions use the mean of all weights, or the last ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from semparse.latent.alignment import NULL, Alignment, lacks_meaning
from semparse.latent.features import LEAST_SHARE, Tables, View, Viewer
from semparse.latent.grammar import Grammar
from semparse.latent.problem import SATISFIED, LatentProblem
from semparse.latent.search import NOTHING, Found, Search
from semparse.latent.words import Word, Words
from semparse.meaning import MR, distinct
from semparse.parse import Match, Parse
from semparse.schema import Schema, SchemaLearner
from structsvm.files.codec import FLAG, Field, Table, items, mapped, names, row, text, whole
from structsvm.optimizers.base import Point
from structsvm.optimizers.larank import LaRank

MOST_COMBINED = 5_000  # ways to choose candidates for several clauses; larger choices are left out
MOST = 0.5  # of the constants of a slot: such a constant needs no word
FIELDS = Table(
    Field("steps", whole(1), "the number of updates"),
    Field("counts", mapped(whole()), "how often each word was seen"),
    Field("roots", names(), "the relations that were candidates by themselves"),
    Field("trusted", FLAG, "whether each sentence had one meaning"),
    Field("silent", items(row(text(), whole(), names())), "relation, slot, and constants that need no word"),
    Field("possible", mapped(whole()), "the bags with a candidate of a relation that words can say"),
    Field("meant", mapped(whole()), "of these, the bags where it is the best parse"),
    Field("alignment", mapped(), "the metadata of the alignment"),
    *(Field(name, mapped(), f"the metadata of the weights of {name}") for name in Tables().all),
)
Meanings = tuple[MR, ...]  # of one sentence; none: it means nothing


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
        clauses: int,
        nothing: float,
    ) -> None:
        self.C, self.iterations, self.reprocess, self.solver = C, iterations, reprocess, solver
        self.unnamed, self.clauses, self.nothing = unnamed, clauses, nothing
        self.trusted = nothing == 0  # the meanings given; or each sentence came with only one so far
        self.features, self.on_topic, self.prior, self.average = features, on_topic, prior, average
        self.alignment = Alignment()
        self.tables = Tables()
        self.schemas = SchemaLearner()
        self.given: Schema | None = None
        self.steps = 1
        self.salience = Salience()
        self.counts: Counter[str] = Counter()  # of words
        self.roots: set[str] = set()  # relations that were candidates by themselves
        self.memory: list[tuple[list[str], list[MR]]] = []
        self.silent: dict[tuple[str, int], list[str]] = {}  # constants that words often do not name
        self._forget()

    def _forget(self) -> None:
        """Drop everything that depends on the schema, the words and the alignment."""
        self._viewer: Viewer | None = None
        self._grammar: Grammar | None = None
        self._words: Words | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_viewer": None, "_grammar": None, "_words": None}

    @property
    def schema(self) -> Schema:
        return self.given or self.schemas.schema()

    @property
    def words(self) -> Words:
        if self._words is None:
            self._words = Words(self.counts, self.schema)
        return self._words

    @property
    def grammar(self) -> Grammar:
        if self._grammar is None:
            self._grammar = Grammar(self.schema, self.tables, self.silent, self.roots)
        return self._grammar

    @property
    def viewer(self) -> Viewer:
        if self._viewer is None:
            self._viewer = Viewer(
                self.alignment, self.words, self.grammar, self.features, self.prior, self.clauses
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
        for x, bag in zip(X, bags, strict=True):
            self._meet(x, bag)
        read = [self.words.read(x) for x in X]
        forms = [[word.form for word in words] for words in read]
        self.trusted = self.nothing == 0 or all(len(bag) <= 1 for bag in bags)
        single = [self._alternatives(bag, 1, trusted=self.trusted) for bag in bags]
        symbols = [[flat[0] for flat in self._symbols(*pair)] for pair in zip(read, single, strict=True)]
        posteriors, outside = self.alignment.fit(forms, symbols, self.iterations, self.nothing)
        self._find_silent(read, single, posteriors)
        meanings = single
        if self.clauses > 1:
            meanings = [self._alternatives(bag, self.clauses, trusted=self.trusted) for bag in bags]
            posteriors = [self._posteriors(*each) for each in zip(read, meanings, outside, strict=True)]
        self.grammar.add_rows()
        views = [self.viewer.view(x, grow=True) for x in X]
        self._fit_sizes()
        data = [
            (view, self._aligned(several), chances)
            for view, several, chances in zip(views, meanings, posteriors, strict=True)
        ]
        if self.solver == "larank":
            self._larank(data, passes, rng, progress)
        else:
            self._passes(data, passes, rng, progress)
        self.salience.clear()
        for view, several, _ in data:
            self._count(view, several)
        self.memory = list(zip(X, bags, strict=True))

    def _meet(self, x: list[str], bag: list[MR]) -> None:
        self.counts.update(x)
        if self._words is not None:
            self._words.met(x)
        for mr in bag:
            self.schemas.see(mr)
            self.roots.add(mr.rel)

    def _alternatives(self, bag: list[MR], clauses: int, *, trusted: bool) -> list[Meanings]:
        """Alternatives for a sentence: one candidate, several, or nothing (unless pairs are trusted)."""
        sizes = range(1, min(clauses, len(bag)) + 1)
        kept = [size for size in sizes if size == 1 or comb(len(bag), size) <= MOST_COMBINED]
        found = [some for size in kept for some in combinations(bag, size)]
        return found if found and trusted else [*found, ()]

    def _symbols(self, words: list[Word], meanings: Sequence[Meanings]) -> list[list[list[str]]]:
        """The symbols of each meaning of alternatives.

        A constant of an open type counts as its type where words spell it.
        """
        texts = {word.text for word in words}
        return [[self._open_symbols(mr, texts) for mr in some] or [[NULL]] for some in meanings]

    def _posteriors(
        self, words: list[Word], meanings: Sequence[Meanings], outside: float = -np.inf
    ) -> np.ndarray:
        forms = [word.form for word in words]
        return self.alignment.posteriors(forms, self._symbols(words, meanings), outside)

    def _open_symbols(self, mr: MR, texts: set[str]) -> list[str]:
        relation = self.schema.relations[mr.rel]
        found = [mr.rel]
        for arg, kind in zip(mr.args, relation.slots, strict=False):
            if isinstance(arg, MR):
                found += self._open_symbols(arg, texts)
            elif kind in self.schema.patterns:
                said = arg in texts or arg.replace("_", " ") in texts
                found.append(f"<{kind}>" if said else f"<{kind}> unsaid")
            else:
                found.append(arg)
        return found

    def _find_silent(
        self, read: list[list[Word]], meanings: Sequence[list[Meanings]], posteriors: Sequence[np.ndarray]
    ) -> None:
        """Constants of the likeliest candidates that, more than once and in a share of at least `unnamed` of
        the sentences that mean them, no word names; or that fill most of a slot."""
        known, missed = Counter[tuple[str, int, str]](), Counter[tuple[str, int, str]]()
        for words, several, chances in zip(read, meanings, posteriors, strict=True):
            sayable = {
                s for word in words for s, p in self.alignment.share(word.form).items() if p >= LEAST_SHARE
            }
            sayable.update(s for word in words for s in self.words.spelled.get(word.text, ()))
            for mr in several[int(np.argmax(chances))]:
                for inner in mr.relations():
                    for slot, arg in enumerate(inner.args):
                        if isinstance(arg, str):
                            known[inner.rel, slot, arg] += 1
                            missed[inner.rel, slot, arg] += arg not in sayable
        self.silent = {}
        total = Counter[tuple[str, int]]()
        for (rel, slot, _), n in known.items():
            total[rel, slot] += n
        for (rel, slot, constant), n in sorted(known.items()):
            unsaid = missed[rel, slot, constant]
            often = unsaid > 1 and unsaid >= (self.unnamed or 0) * n
            if self.unnamed is not None and (often or 1 < n >= MOST * total[rel, slot]):
                self.silent.setdefault((rel, slot), []).append(constant)
        self._grammar = self._viewer = None

    def _aligned(self, meanings: Sequence[Meanings]) -> list[Any]:
        return [self.grammar.exactly(some) if some else NOTHING for some in meanings]

    def _passes(self, data: Sequence[Any], passes: int, rng: np.random.Generator, progress: Any) -> None:
        """Passive-aggressive steps."""
        done = 0
        for number in range(passes):
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

    def learn(self, x: list[str], bag: list[MR], rng: np.random.Generator) -> None:
        """Learn from one more sentence, then from some of the old ones again."""
        bag = distinct(bag)
        known = self.schema if self._grammar is not None else None, len(self.roots)
        self._meet(x, bag)
        self._viewer = None  # the alignment changes
        if known[0] is not self.schema or known[1] != len(self.roots):
            self._forget()
        words = self.words.read(x)
        alone = self.trusted or len(bag) == 1  # one candidate in `partial_fit` is an answer
        single = [flat[0] for flat in self._symbols(words, self._alternatives(bag, 1, trusted=alone))]
        self.alignment.see([word.form for word in words], single)
        again = rng.integers(len(self.memory), size=min(self.reprocess, len(self.memory)))
        self.grammar.add_rows()
        for tokens, candidates in [(x, bag), *[self.memory[i] for i in again]]:
            view = self.viewer.view(tokens, grow=True)
            self._fit_sizes()
            alone = self.trusted or len(candidates) == 1
            several = self._alternatives(candidates, self.clauses, trusted=alone)
            posteriors = self._posteriors(view.words, several)
            self._step(view, self._aligned(several), posteriors, trusting=True)
            if tokens is x:
                self._count(view, self._aligned(several))
        self.memory.append((x, bag))

    def _count(self, view: View, several: list[Any]) -> None:
        """Count the relations that the words can say, and the one that they mean."""
        search = self._scored(view, {name: t.w for name, t in self.tables.all.items()})
        best, *_ = search.best()
        sayable = [found for units in several if units is not None and (found := search.align(units))]
        meant = [found for found in sayable if found.meaning == best.meaning]
        rels = {found: [mr.rel for mr in search.mrs(found)] for found in sayable}
        self.salience.see(
            (rel for its in rels.values() for rel in its),
            rels[meant[0]][0] if meant and rels[meant[0]] else None,
        )

    def _fit_sizes(self) -> None:
        """Make room for the labels of the schema and for all features."""
        for table in self.tables.all.values():
            table.fit_size()

    def _scored(self, view: View, weights: dict[str, np.ndarray]) -> Search:
        return Search(view, self.grammar, weights, self.clauses)

    def choose(
        self, search: Search, several: list[Any], posteriors: np.ndarray, *, trusting: bool = True
    ) -> tuple[Found, Found] | None:
        """The latent meaning of a sentence and its best rival, unless their scores are far enough apart.

        The meaning is the likeliest by the alignment and, once there are weights to trust, by its score.
        """
        if lacks_meaning(posteriors):
            return None
        sayable = [
            (found, p)
            for units, p in zip(several, posteriors, strict=True)
            if units is not None and (found := search.align(units))
        ]
        aligned = [(found, p) for found, p in sayable if self._fits(search, found)]
        if not aligned:  # the words can say none of the candidates: noise
            return None
        right, _ = max(aligned, key=lambda pair: float(np.log(pair[1] + 1e-9)) + trusting * pair[0].score)
        rival = next((found for found in search.best(2) if found.meaning != right.meaning), None)
        return None if rival is None or right.score - rival.score >= 1 else (right, rival)

    def _step(self, view: View, several: list[Any], posteriors: np.ndarray, *, trusting: bool) -> None:
        """One sentence: a passive-aggressive step if its hidden candidate and the rival are too close."""
        self.steps += 1
        search = self._scored(view, {name: t.w for name, t in self.tables.all.items()})
        pair = self.choose(search, several, posteriors, trusting=trusting)
        if pair is None:
            return
        right, rival = pair
        change: Counter[tuple[str, int, int]] = Counter(right.features())
        change.subtract(rival.features())
        norm = sum(value * value for value in change.values())
        if norm == 0:
            return
        size = min(self.C, (1 - right.score + rival.score) / norm)
        for (table, feature, label), value in change.items():
            if value:
                self.tables.all[table].add(feature, label, size * value, self.steps)
        for table_ in self.tables.all.values():
            table_.changed()

    def _fits(self, search: Search, found: Found) -> bool:
        """Whether a meaning is about one of the things that the sentence names, if it names any."""
        return (
            not self.on_topic
            or not search.view.named
            or not found.meaning
            or any(node.names_a_word() for node in search.nodes(found))
        )

    def knows(self, symbol: str) -> bool:
        return symbol in self.schema.relations or symbol in self.grammar.type_of

    def _search(self, x: list[str], n: int) -> tuple[Search, list[Found]]:
        """The n best meanings of a sentence, the first of which overlooks no name.

        If the best meaning gives a slot a constant without a word, or with a doubtful one, although the
        sentence names another constant of that type, only sure words name the constants of that type.
        """
        tables = self.tables.all.items()
        averaged = self.average and self.steps > 1
        weights = {name: table.mean(self.steps) if averaged else table.w for name, table in tables}
        sure = frozenset[str]()
        while True:
            search = self._scored(self.viewer.view(x, grow=False, sure=sure), weights)
            found = search.best(n)
            overlooked = search.overlooked(found[0]) - sure
            if not overlooked:
                return search, found
            sure |= overlooked

    def parse(self, x: list[str], n: int) -> list[Parse]:
        """All meanings of the n best readings, each once, best first; none if the best reading is nothing."""
        search, found = self._search(x, n + 2)
        if not found[0].meaning:
            return []
        ways = [way for way in found if way.meaning and not search.overlooked(way)][:n]
        answers = [parse for way in ways for parse in self._answer(search, way, found)]
        best: dict[MR, Parse] = {}
        for parse in answers:
            best.setdefault(parse.mr, parse)
        return list(best.values())

    def _answer(self, search: Search, found: Found, others: list[Found]) -> list[Parse]:
        rival = max(other.score for other in others if other.meaning != found.meaning)  # null at least
        tokens = search.view.tokens
        return [node.parse(found.score, tokens, found.score - rival) for node in search.nodes(found)]

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

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Arrays and JSON values for a model file."""
        self._fit_sizes()  # `learn` may have been interrupted
        arrays, alignment = self.alignment.state()
        parts: dict[str, Any] = {
            "alignment": alignment, "steps": self.steps, "counts": dict(self.counts),
            "roots": sorted(self.roots), "trusted": self.trusted, "possible": dict(self.salience.possible),
            "meant": dict(self.salience.meant),
            "silent": [[rel, slot, constants] for (rel, slot), constants in self.silent.items()],
        }  # fmt: skip
        for name, table in self.tables.all.items():
            more, parts[name] = table.state(name)
            arrays |= more
        return arrays, FIELDS.write(parts)[1]

    def set_state(self, arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> None:
        """Restore the result of `state`; raise ValueError if it is inconsistent."""
        found = FIELDS.read(arrays, meta)
        self.alignment.set_state(arrays, found["alignment"])
        self.steps, self.trusted, self.roots = found["steps"], found["trusted"], set(found["roots"])
        self.counts = Counter(found["counts"])
        self.salience.possible, self.salience.meant = Counter(found["possible"]), Counter(found["meant"])
        self.silent = {(rel, slot): constants for rel, slot, constants in found["silent"]}
        if not all(slot < len(self.schema.relations[rel].slots) for rel, slot in self.silent):
            raise ValueError("a silent slot does not exist")
        for name, table in self.tables.all.items():
            table.set_state(name, arrays, found[name])
        if list(self.tables.unused.labels) != [""]:
            raise ValueError("the table of unused words must have one label")
        if list(self.tables.relations.labels)[:2] != [("null",), ("and",)]:
            raise ValueError("the table of relations must begin with null and and")
        self._forget()
        self.grammar.add_labels()
        for name, table in self.tables.all.items():  # a small file must not ask for large tables
            if table.w.shape[1] != len(table.labels):
                raise ValueError(f"the labels of {name} must be those of the schema")


def _label_text(table: str, label: Any) -> str:
    if table == "unused":
        return "stands for nothing"
    if isinstance(label, tuple) and table == "roles":
        return f"{label[0]} A{label[1]}"
    return " ".join(label) if isinstance(label, tuple) else str(label)
