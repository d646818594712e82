"""A sentence as the latent parser sees it: which words may stand for what, and features of each choice."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from semparse.checks import LARGEST_NUMBER, LARGEST_WEIGHT, checked_array, numbered
from semparse.latent.alignment import Alignment
from semparse.schema import Schema

FEATURES = ("classes", "pairs", "neighbours", "order", "sentence")
LEAST_SHARE = 0.1  # of a word's counts that a symbol must have for the word to stand for it
CLASS_SHARE = 0.4  # of a word's counts that constants of one type must have for the word to be of that class
SURE_SHARE = 0.5  # a word whose best constant has less is decided by the rest of the sentence, too


class Table:
    """Weights w[feature, label]; `mean` is their mean over all steps so far."""

    def __init__(self) -> None:
        self.features: dict[str, int] = {}
        self.labels: dict[Hashable, int] = {}
        self.w = np.zeros((0, 0))
        self.drift = np.zeros((0, 0))  # sum of step number * change
        self._mean: np.ndarray | None = None

    def rows(self, names: Iterable[str], *, grow: bool) -> np.ndarray:
        """Row numbers of features; with `grow` new ones get a row, else they are left out."""
        known = self.features
        if grow:
            ids = [known.setdefault(name, len(known)) for name in names]
        else:
            ids = [known[name] for name in names if name in known]
        return np.array(ids, np.intp)

    def label(self, name: Hashable) -> int:
        """The column of a label, a new one if need be."""
        return self.labels.setdefault(name, len(self.labels))

    def fit_size(self) -> None:
        """Make room for all features and labels."""
        self._mean = None
        if self.w.shape[0] < len(self.features) or self.w.shape[1] < len(self.labels):
            shape = (max(2 * self.w.shape[0], len(self.features)), max(2 * self.w.shape[1], len(self.labels)))
            for name in ("w", "drift"):
                wider = np.zeros(shape)
                old = getattr(self, name)
                wider[: old.shape[0], : old.shape[1]] = old
                setattr(self, name, wider)

    def mean(self, steps: int) -> np.ndarray:
        if self._mean is None:
            self._mean = self.w - self.drift / steps
        return self._mean

    def add(self, row: int, label: int, change: float, step: int) -> None:
        self.w[row, label] += change
        self.drift[row, label] += change * step

    def changed(self) -> None:
        self._mean = None

    def state(self, name: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        n, m = len(self.features), len(self.labels)
        arrays = {f"{name}.w": self.w[:n, :m], f"{name}.drift": self.drift[:n, :m]}
        return arrays, {"features": list(self.features), "labels": list(self.labels)}

    def set_state(self, name: str, arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> None:
        """Restore what `state` returned; raise ValueError where its parts do not fit together."""
        self.features = numbered(meta["features"], f"features of {name}")
        named = [tuple(label) if isinstance(label, list) else label for label in meta["labels"]]
        self.labels = {label: k for k, label in enumerate(named)}
        if len(self.labels) != len(named):
            raise ValueError(f"labels of {name} must not repeat a name")
        shape = len(self.features), len(self.labels)
        self.w = checked_array(arrays, f"{name}.w", np.float64, shape, LARGEST_WEIGHT)
        self.drift = checked_array(arrays, f"{name}.drift", np.float64, shape, LARGEST_NUMBER)
        self._mean = None


class Tables:
    """The weights: of relations, of constants, of roles, and of words that stand for nothing."""

    def __init__(self) -> None:
        self.relations, self.constants, self.roles, self.unused = Table(), Table(), Table(), Table()
        self.nesting = Table()  # which symbol may stand in which slot; of nested meanings only
        self.unused.label("")
        self.all = {
            "relations": self.relations,
            "constants": self.constants,
            "roles": self.roles,
            "unused": self.unused,
            "nesting": self.nesting,
        }


@dataclass
class View:
    """Places (word numbers) with what they may be, and rows of features.

    mentions: for each place that may stand for constants, these with the log of their share.
    anchors: for each relation the places that may stand for it; [None] where only the whole sentence can.
    silent: symbols of nested meanings that need no word; the key None then stands for no place.
    """

    tokens: list[str]
    mentions: dict[int, list[tuple[str, float]]]
    anchors: dict[str, list[int | None]]
    named: list[int]  # the places whose word is of a class
    relation_rows: dict[int | None, np.ndarray]
    constant_rows: dict[int | None, np.ndarray]
    role_rows: dict[tuple[int | None, int | None], np.ndarray]
    unused_rows: dict[int, np.ndarray]
    shares: list[dict[str, float]] = field(default_factory=list)
    nested: bool = False
    silent: frozenset[str] = frozenset()
    above: dict[str, list[str]] = field(
        default_factory=dict
    )  # relations seen with a symbol as first argument
    nesting_rows: dict[tuple[str, int], int] = field(default_factory=dict)


class Viewer:
    """Make views from an alignment and a schema, which must not change meanwhile.

    features: the features used in addition to the words. classes: a word that names a thing counts as the
    type of the thing. pairs: neighbouring words together, for relations. neighbours: the words next to a
    word, for constants and roles. order: which of the named things a word is, from either end or from the
    relation's word. sentence: all other words, for a constant that its word leaves open.
    """

    def __init__(
        self,
        alignment: Alignment,
        schema: Schema,
        tables: Tables,
        features: Collection[str],
        silent: Collection[str] = (),
        fillers: Mapping[str, Sequence[Collection[str]]] | None = None,
    ) -> None:
        self.fillers = fillers or {}
        self.alignment, self.schema, self.tables = alignment, schema, tables
        self.features, self.silent = frozenset(features), frozenset(silent)
        self.type_of = {symbol: name for name, symbols in schema.types.items() for symbol in symbols}
        self.nested = any(symbol in schema.relations for symbol in self.type_of)
        self._known: dict[str, tuple[list[tuple[str, float]], str | None]] = {}

    def _lookup(self, word: str) -> tuple[list[tuple[str, float]], str | None]:
        """The constants that a word may stand for, and the class that replaces it as a feature."""
        if word not in self._known:
            share = self.alignment.share(word)
            constants = {
                s: p for s, p in share.items() if s in self.type_of and s not in self.schema.relations
            }
            mentions = [(s, float(np.log(p))) for s, p in constants.items() if p >= LEAST_SHARE]
            by_type: dict[str, float] = {}
            for symbol, _ in mentions:
                kind = self.type_of[symbol]
                by_type[kind] = by_type.get(kind, 0.0) + constants[symbol]
            best = max(by_type, key=lambda name: by_type[name], default="")
            known = bool(best) and by_type[best] >= CLASS_SHARE
            self._known[word] = mentions, f"<{best}>" if known else None
        return self._known[word]

    def view(self, x: list[str], *, grow: bool) -> View:
        looked = [self._lookup(word) for word in x]
        mentions = {i: found for i, (found, _) in enumerate(looked) if found}
        named = [i for i in mentions if looked[i][1]]
        seen = [kind or word for word, (_, kind) in zip(x, looked, strict=True)]
        edged = ["^", *(seen if "classes" in self.features else x), "$"]
        shares = [self.alignment.share(word) for word in x]
        anchors = self._anchors(shares)
        open_places = set(mentions)
        places: list[int | None] = [None]
        if self.nested:
            own = {i for found in anchors.values() for i in found if i is not None}
            open_places |= own
            places = [*sorted(own)]
        tables = self.tables
        fillers = sorted(open_places)
        view = View(
            x,
            mentions,
            anchors,
            named,
            {a: tables.relations.rows(self._relation_features(edged, named, a), grow=grow) for a in places},
            {i: tables.constants.rows(self._constant_features(x, i), grow=grow) for i in mentions},
            {
                (i, a): tables.roles.rows(self._role_features(edged, named, i, a), grow=grow)
                for i in fillers
                for a in places
                if i != a
            },
            {i: tables.unused.rows([f"w {x[i]}", f"c {edged[i + 1]}"], grow=grow) for i in fillers},
            shares,
            self.nested,
        )
        if self.nested and self.silent:
            self._add_silent(view, places, fillers, grow)
        return view

    def _add_silent(self, view: View, places: list[int | None], fillers: list[int], grow: bool) -> None:
        """Add the rows of symbols without a word, and of the filler of each slot."""
        tables = self.tables
        view.silent = self.silent
        for rel, slots in self.fillers.items():
            for symbol in slots[0] if slots else ():
                view.above.setdefault(symbol, []).append(rel)
        view.relation_rows[None] = tables.relations.rows(["silent"], grow=grow)
        view.constant_rows[None] = tables.constants.rows(["silent"], grow=grow)
        without = tables.roles.rows(["silent"], grow=grow)
        for pair in [(None, None), *((i, None) for i in fillers), *((None, a) for a in places)]:
            view.role_rows[pair] = without
        for rel, relation in self.schema.relations.items():
            for slot in range(len(relation.slots)):
                row = tables.nesting.rows([f"{rel} {slot}"], grow=grow)
                if len(row):
                    view.nesting_rows[rel, slot] = int(row[0])

    def _anchors(self, shares: list[dict[str, float]]) -> dict[str, list[int | None]]:
        if not self.nested:
            return {rel: [None] for rel in self.schema.relations}
        found: dict[str, list[int | None]] = {}
        for i, share in enumerate(shares):
            for symbol, p in share.items():
                if p >= LEAST_SHARE and symbol in self.schema.relations:
                    found.setdefault(symbol, []).append(i)
        return found

    def _constant_features(self, x: list[str], i: int) -> list[str]:
        """The word and its neighbours; where the word leaves it open, any word of the sentence."""
        word = x[i]
        names = [f"w {word}"]
        if "neighbours" in self.features:
            left = x[i - 1] if i else "^"
            right = x[i + 1] if i + 1 < len(x) else "$"
            names += [f"l {left} {word}", f"r {word} {right}"]
        if "sentence" in self.features:
            mentions, kind = self._lookup(word)
            if kind is None or max(p for _, p in mentions) < np.log(SURE_SHARE):
                names += [f"s {other}" for other in dict.fromkeys(x)]
        return names

    def _relation_features(self, edged: list[str], named: list[int], anchor: int | None) -> list[str]:
        """Words and pairs of neighbours: of the whole sentence, or around the relation's own word."""
        pairs, order = "pairs" in self.features, "order" in self.features
        if anchor is None:
            names = ["bias", *([f"mentions {len(named)}"] if order else []), *edged[1:-1]]
            return list(dict.fromkeys([*names, *(f"{a} {b}" for a, b in pairwise(edged) if pairs)]))
        i = anchor + 1
        here, left, right = edged[i], edged[i - 1], edged[i + 1]
        names = ["bias", f"w {here}"]
        if "neighbours" in self.features:
            names += [f"l {left}", f"r {right}"]
        return [*names, f"lw {left} {here}", f"wr {here} {right}"] if pairs else names

    def _role_features(self, edged: list[str], named: list[int], i: int, anchor: int | None) -> list[str]:
        """Neighbours of a word, and which of the named ones it is, from both ends or from the relation's."""
        side = "" if anchor is None else "before" if i < anchor else "after"
        names = ["bias", side] if side else ["bias"]
        if "neighbours" in self.features:
            before = edged[i - 1] if i else "^^"
            names += [f"l {edged[i]}", f"r {edged[i + 2]}", f"ll {before} {edged[i]}"]
            names += [f"{side} l {edged[i]}"] if side else []
        if "order" not in self.features:
            return names
        if anchor is None:
            first, last = sum(j < i for j in named), sum(j > i for j in named)
            return [*names, f"first {first}", f"last {last}", f"both {first} {last}"]
        return [*names, f"{side} {sum(min(i, anchor) < j < max(i, anchor) for j in named)}"]
