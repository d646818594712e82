"""Everything that the latent parser has learned: alignment, weights, and how often relations are meant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np

from semparse.entities.names import STYLES, Words
from semparse.evidence import Candidates
from semparse.latent.alignment import Alignment
from semparse.latent.features import Tables, View, Viewer
from semparse.latent.grammar import Grammar
from semparse.latent.search import Search
from semparse.meaning import MR
from semparse.options import MOST_CLAUSES, USUAL_NOTHING
from semparse.schema import Schema, SchemaLearner
from structsvm.files.codec import FLAG, Field, Table, items, mapped, names, number, row, text, whole

FIELDS = Table(
    Field("steps", whole(1), "the number of updates"),
    Field("counts", mapped(whole()), "how often each word was seen"),
    Field("roots", names(), "the relations that were candidates by themselves"),
    Field("trusted", FLAG, "whether each sentence had one meaning"),
    Field("silent", items(row(text(), whole(), names())), "relation, slot, and constants that need no word"),
    Field("clauses", whole(1, MOST_CLAUSES), "the largest number of meanings of a sentence", default=1),
    Field("nothing", number(0), "the least odds that a sentence means nothing", default=USUAL_NOTHING),
    Field("threshold", number(0), "the least lead of an answer", default=0.0),
    Field("styles", mapped(text(tuple(STYLES))), "how constants of open types are written", default={}),
    Field("units", mapped(names()), "how constants of open types write the units of sentences", default={}),
    Field("possible", mapped(whole()), "the bags with a candidate of a relation that words can say"),
    Field("meant", mapped(whole()), "of these, the bags where it is the best parse"),
    Field("alignment", mapped(), "the metadata of the alignment"),
    *(Field(name, mapped(), f"the metadata of the weights of {name}") for name in Tables().all),
)


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


class LatentModel:
    """Everything that a model file contains, and what follows from it."""

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
        clauses: int | None,
        nothing: float | None,
    ) -> None:
        self.C, self.iterations, self.reprocess, self.solver = C, iterations, reprocess, solver
        self.unnamed, self.given_clauses, self.given_nothing = unnamed, clauses, nothing
        self.nothing = USUAL_NOTHING if nothing is None else nothing  # unless `fit` finds another
        self.threshold = 0.0  # the same
        self.clauses = clauses or 1  # unless `fit` finds more
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
        self.memory: list[tuple[list[str], Candidates]] = []
        self.silent: dict[tuple[str, int], list[str]] = {}  # constants that words often do not name
        self.paraphrases: dict[str, set[str]] = {}  # of constants of open types; only for training
        self.naming: set[str] = set()  # numbers that name constants; later the alignment knows them
        self.styles: dict[str, str] = {}  # of open types, see `names.STYLES`
        self.units: dict[str, list[str]] = {}  # by those of sentences, see `quantities.written`
        self.forget()

    def forget(self, *, words: bool = True) -> None:
        """Drop what depends on the schema and the alignment, and how words are read."""
        self._viewer: Viewer | None = None
        self._grammar: Grammar | None = None
        if words:
            self._words: Words | None = None

    def meet(self, x: list[str], bag: list[MR]) -> None:
        """Take in the words and symbols of a sentence."""
        self.counts.update(x)
        if self._words is not None:
            self._words.met(x)
        for mr in bag:
            self.schemas.see(mr)
            self.roots.add(mr.rel)

    def meet_more(self, x: list[str], bag: list[MR]) -> None:
        """The same after training; drop what no longer fits."""
        known = self.schema if self._grammar is not None else None, len(self.roots)
        self.meet(x, bag)
        self._viewer = None  # the alignment changes
        if known[0] is not self.schema or known[1] != len(self.roots):
            self.forget()

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_viewer": None, "_grammar": None, "_words": None}

    @property
    def schema(self) -> Schema:
        return self.given or self.schemas.schema()

    @property
    def words(self) -> Words:
        if self._words is None:
            self._words = Words(self.counts, self.schema, self.units)
        return self._words

    @property
    def grammar(self) -> Grammar:
        if self._grammar is None:
            self._grammar = Grammar(
                self.schema, self.tables, self.silent, self.roots, self.schemas.double(), self.styles
            )
        return self._grammar

    @property
    def viewer(self) -> Viewer:
        if self._viewer is None:
            self._viewer = Viewer(
                self.alignment, self.words, self.grammar, self.features, self.prior, self.clauses
            )
        return self._viewer

    def fit_sizes(self) -> None:
        """Make room for the labels of the schema and for all features."""
        for table in self.tables.all.values():
            table.fit_size()

    def search_with(self, view: View, weights: dict[str, np.ndarray]) -> Search:
        return Search(view, self.grammar, weights, self.clauses)

    def knows(self, symbol: str) -> bool:
        schema = self.schema
        return (
            symbol in schema.relations or symbol in self.grammar.type_of
            or any(pattern.fullmatch(symbol) for pattern in schema.patterns.values())
        )  # fmt: skip

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Arrays and JSON values for a model file."""
        self.fit_sizes()  # `learn` may have been interrupted
        arrays, alignment = self.alignment.state()
        parts: dict[str, Any] = {
            "alignment": alignment, "steps": self.steps, "counts": dict(self.counts),
            "roots": sorted(self.roots), "styles": self.styles, "units": self.units,
            "clauses": self.clauses,
            "threshold": self.threshold, "nothing": self.nothing,
            "trusted": self.trusted, "possible": dict(self.salience.possible),
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
        self.styles, self.units, self.threshold = dict(found["styles"]), found["units"], found["threshold"]
        self.nothing = found["nothing"]
        self.clauses = max(found["clauses"], self.given_clauses or 1)  # older files have no such field
        self.silent = {(rel, slot): constants for rel, slot, constants in found["silent"]}
        if not all(slot < len(self.schema.relations[rel].slots) for rel, slot in self.silent):
            raise ValueError("a silent slot does not exist")
        for name, table in self.tables.all.items():
            table.set_state(name, arrays, found[name])
        if list(self.tables.unused.labels) != [""]:
            raise ValueError("the table of unused words must have one label")
        if list(self.tables.relations.labels)[:2] != [("null",), ("and",)]:
            raise ValueError("the table of relations must begin with null and and")
        self.forget()
        self.grammar.add_labels()
        for name, table in self.tables.all.items():  # a small file must not ask for large tables
            if table.w.shape[1] != len(table.labels):
                raise ValueError(f"the labels of {name} must be those of the schema")
