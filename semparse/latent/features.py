"""A sentence as the latent parser sees it: which words may stand for what, and features of each choice."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from semparse.entities.names import QUANTITY_FORM, Word, Words
from semparse.entities.tokens import continues, original
from semparse.latent._scores import CHANNELS, Sentence
from semparse.latent.alignment import Alignment
from semparse.latent.grammar import Grammar, meaning_of
from semparse.parse import EMPTY
from structsvm.files import codec

LEAST_SHARE = 0.1  # of a word's counts that a symbol must have for the word to stand for it
CLASS_SHARE = 0.4  # of a word's counts that constants of one type must have for the word to be of that class
SURE_SHARE = 0.5  # a word whose best constant has less is decided by the rest of the sentence, too
ENOUGH = 2  # counts of a number with a constant that it names
MANY = 4  # words of a copied name; longer ones have the same feature
LONGEST_NAME = 60  # characters of an open constant: some regular expressions take long on longer ones
MOST_WORDS = 64  # of a sentence in a chart; of longer ones, those that most likely stand for something
MOST_WORK = 2e7  # words cubed times states of the grammar: a third of a second; larger charts drop words


LABEL = codec.Type("a name or a list", lambda value: isinstance(value, str | list))
FIELDS = codec.Table(
    codec.Field("features", codec.names(), "the features"),
    codec.Field("labels", codec.items(LABEL), "the labels"),
    codec.Field("w", codec.Array(np.float64, "features", "labels", high=1e30), "the weights"),
    codec.Field("drift", codec.Array(np.float64, "features", "labels", high=codec.FLOAT_MAX),
                "the sums of changes times steps"),
)  # fmt: skip


class Table:
    """Weights w[feature, label]; `mean` is their mean over all steps so far."""

    def __init__(self) -> None:
        self.features: dict[str, int] = {}
        self.labels: dict[Hashable, int] = {}
        self.w = np.zeros((0, 0))
        self.drift = np.zeros((0, 0))  # sum of step number * change
        self._mean: np.ndarray | None = None

    def rows(self, names: Iterable[str], *, grow: bool) -> list[int]:
        """Row numbers of features; with `grow` new ones get a row, else they are left out."""
        known = self.features
        if grow:
            ids = [known.setdefault(name, len(known)) for name in names]
        else:
            ids = [known[name] for name in names if name in known]
        return ids

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
        own = {"features": list(self.features), "labels": list(self.labels)}
        return FIELDS.write(own | {"w": self.w[:n, :m], "drift": self.drift[:n, :m]}, f"{name}.")

    def set_state(self, name: str, arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> None:
        """Restore what `state` returned; raise ValueError where its parts do not fit together."""
        features, labels, self.w, self.drift = FIELDS.read(arrays, meta, f"{name}.").values()
        self.features = {feature: k for k, feature in enumerate(features)}
        named = [tuple(label) if isinstance(label, list) else label for label in labels]
        self.labels = {label: k for k, label in enumerate(named)}
        if len(self.labels) != len(named):
            raise ValueError(f"labels of {name} must not repeat a name")
        self._mean = None


class Tables:
    """The weights: of relations, of constants, of roles, of words that stand for nothing, and of nesting
    (which symbol may stand in which slot, and at the root)."""

    def __init__(self) -> None:
        self.relations, self.constants, self.roles, self.unused = Table(), Table(), Table(), Table()
        self.nesting = Table()
        self.unused.label("")
        for name in ("null", "and"):  # columns 0 and 1, as the chart has them
            self.relations.label((name,))
        self.all = {
            "relations": self.relations,
            "constants": self.constants,
            "roles": self.roles,
            "unused": self.unused,
            "nesting": self.nesting,
        }


class Mention(NamedTuple):
    """A constant at the words from `start` to `end`: its column, its value, and the log of its share.

    sure: whether the words spell it, or mean it more often than not.
    """

    start: int
    end: int
    label: Hashable
    value: str
    share: float
    sure: bool = True


@dataclass
class View:
    """A sentence, its words as read, the constants that they may name, and all rows of features."""

    tokens: list[str]
    words: list[Word]
    mentions: list[Mention]
    named: list[int]  # the words that are of a class
    sentence: Sentence
    shares: list[dict[str, float]]
    spelled: dict[int, list[str]]  # by word, the constants that it spells
    sure: frozenset[str]  # types whose constants need a sure word

    def said(self, word: int, relation: str) -> bool:
        """Whether the alignment ties a word to a relation."""
        return self.shares[word].get(relation, 0.0) >= LEAST_SHARE


class Viewer:
    """Make views from an alignment and a grammar, which must not change meanwhile.

    features: the features used in addition to the words. classes: a word that names a thing counts as the
    type of the thing. pairs: neighbouring words together, for relations. neighbours: the words next to an
    argument, for constants and roles. order: which of the named things an argument is, from either end.
    sentence: all other words, for a constant that its word leaves open.
    """

    def __init__(
        self,
        alignment: Alignment,
        words: Words,
        grammar: Grammar,
        features: Collection[str],
        prior: float,
        clauses: int,
    ) -> None:
        self.alignment, self.words, self.grammar, self.tables = alignment, words, grammar, grammar.tables
        self.features, self.prior, self.clauses = frozenset(features), prior, clauses
        self._known: dict[str, tuple[list[tuple[str, float]], str | None]] = {}

    def spelled(self, word: str) -> list[str]:
        """The constants that a word spells; none if the alignment says that it stands for something else."""
        share = self.alignment.share(word)
        own = [symbol for symbol in self.words.spelled.get(word, ()) if symbol in self.grammar.type_of]
        return own if not share or any(share.get(symbol, 0.0) >= LEAST_SHARE for symbol in own) else []

    def _lookup(self, word: str) -> tuple[list[tuple[str, float]], str | None]:
        """The constants that a word may stand for, and the class that replaces it as a feature.

        The name of a constant stands for no other constant of the same type.
        """
        if word not in self._known:
            share = self.alignment.share(word)
            type_of = self.grammar.type_of
            others = self.grammar.alike(self.spelled(word))
            constants = {s: p for s, p in share.items() if s in type_of and s not in others}
            mentions = {s: float(np.log(p)) for s, p in constants.items() if p >= LEAST_SHARE}
            for symbol in self.words.spelled.get(word, ()):
                if symbol in type_of:
                    mentions.setdefault(symbol, float(np.log(LEAST_SHARE)))
            by_type: dict[str, float] = {}
            for symbol in mentions:
                kind = type_of[symbol]
                by_type[kind] = by_type.get(kind, 0.0) + constants.get(symbol, 0.0)
            best = max(by_type, key=lambda name: by_type[name], default="")
            known = bool(best) and by_type[best] >= CLASS_SHARE
            self._known[word] = list(mentions.items()), f"<{best}>" if known else None
        return self._known[word]

    def _numbered(self, word: Word) -> list[tuple[str, float]]:
        """The constants of closed types that a number names, such as the 3 of "aisle 3"."""
        if not word.values:
            return []
        share, counts = self.alignment.share(word.text), self.alignment.counts.get(word.text, {})
        found = {s: float(np.log(p)) for s, p in share.items() if p >= LEAST_SHARE and counts[s] >= ENOUGH}
        for symbol in self.words.spelled.get(word.text, ()):
            found.setdefault(symbol, float(np.log(LEAST_SHARE)))
        return [(s, p) for s, p in found.items() if s in self.grammar.type_of and not self.grammar.copied(s)]

    def _may_name(self, word: Word, symbol: str) -> bool:
        """Whether a word may name a constant: a value such as a number names no other value."""
        return not word.values or symbol in word.values or not self.grammar.copied(symbol)

    def view(self, x: list[str], *, grow: bool, sure: frozenset[str] = frozenset()) -> View:
        words = self._telling(self.words.read(x))
        looked = [self._lookup(word.form) for word in words]
        spelled = {i: found for i, word in enumerate(words) if (found := self.spelled(word.form))}
        mentions = [
            Mention(
                i, i + 1, symbol, symbol, share, symbol in spelled.get(i, ()) or share >= np.log(SURE_SHARE)
            )
            for i, (found, _) in enumerate(looked)
            for symbol, share in (*found, *self._numbered(words[i]))
            if symbol in self.tables.constants.labels and self._may_name(words[i], symbol)
        ]
        if sure:
            mentions = [m for m in mentions if m.sure or sure.isdisjoint(self.grammar.types_of(m.value))]
        mentions += self._copied(x, words)
        named = [i for i, (_, kind) in enumerate(looked) if kind]
        forms = [word.form for word in words]
        seen = [kind or form for form, (_, kind) in zip(forms, looked, strict=True)]
        edged = ["^", *(seen if "classes" in self.features else forms), "$"]
        shares = [self.alignment.share(form) for form in forms]
        channels = self._channels(
            forms, edged, named, {m.start for m in mentions if m.end == m.start + 1}, grow
        )
        lexical = [self._lexical(mention, forms, words[mention.start].exact, grow) for mention in mentions]
        relations = self.tables.relations.labels
        own = [
            (i, relations[symbol], self.prior * share)
            for i, found in enumerate(shares)
            for symbol, share in found.items()
            if symbol in self.grammar.schema.relations and symbol in relations
        ]
        sentence = Sentence(len(words), channels, lexical, own if self.grammar.nested else [])
        return View(x, words, mentions, named, sentence, shares, spelled, sure)

    def unknown(self, view: View) -> float:
        """The share of the words that training lacks and that name nothing."""
        named = {i for mention in view.mentions for i in range(mention.start, mention.end)}
        new = [word.form not in self.alignment.counts for word in view.words]
        return sum(its and i not in named for i, its in enumerate(new)) / max(len(new), 1)

    def _telling(self, words: list[Word]) -> list[Word]:
        """The words that fit into a chart of all spans: those that most likely stand for something."""
        most = min(MOST_WORDS, 1 + int((MOST_WORK / max(1, self.grammar.search.n_states)) ** (1 / 3)))
        if len(words) <= most:
            return words
        share = self.alignment.share
        nothing = [share(word.form).get(EMPTY, 0.0) if share(word.form) else 1.0 for word in words]
        best = sorted(range(len(words)), key=lambda i: nothing[i])[:most]
        return [words[i] for i in sorted(best)]

    def _copied(self, x: list[str], words: list[Word]) -> list[Mention]:
        """Constants of open types, as the words spell them: parts of the text, numbers and times.

        A name of several words is not cut between words that training lacks.
        """
        found = []
        new = [word.form not in self.words.counts and word.form[:1] != "<" for word in words]
        whole = [True] * (len(words) + 1)  # whether a name may begin or end before a word
        for i in range(len(words) - 1):
            whole[i + 1] = not (new[i] and new[i + 1] and continues(x, words[i + 1].start - 1))
        for label, pattern, several in self.grammar.open:
            for i in range(len(words)):
                for j in range(i + 1, (len(words) if several else i + 1) + 1):
                    if several and not (whole[i] and whole[j]):
                        continue
                    text = original(x, words[i].start, words[j - 1].end)
                    if len(text) > LONGEST_NAME:
                        break
                    values = self.grammar.written(label, text)
                    if j == i + 1:
                        own = list(words[i].values)
                        values = own + values if words[i].form == QUANTITY_FORM else values + own
                    value = next((value for value in values if pattern.fullmatch(value)), None)
                    if value is not None:
                        found.append(Mention(i, j, label, value, 0.0))
        return found

    def _channels(
        self, forms: list[str], edged: list[str], named: list[int], open_places: set[int], grow: bool
    ) -> dict[str, list[list[int]]]:
        """Rows by position; see `Sentence`."""
        tables, n = self.tables, len(forms)
        pairs, neighbours, order = (name in self.features for name in ("pairs", "neighbours", "order"))

        def rows(table: Table, names: Iterable[str]) -> list[int]:
            return table.rows(names, grow=grow)

        found: dict[str, list[list[int]]] = {name: [] for name in CHANNELS}
        for i in range(n):
            found["word"].append(rows(tables.relations, [edged[i + 1]]))
            found["unused"].append(
                rows(tables.unused, [f"w {forms[i]}", f"c {edged[i + 1]}"]) if i in open_places else []
            )
            found["and"].append(
                rows(tables.relations, ["and", f"and l {edged[i]}", f"and r {edged[i + 1]}"]) if i else []
            )
            own = [f"o {edged[i + 1]}"] if self.grammar.nested else []
            if pairs and own:
                own += [f"o {edged[i]} {edged[i + 1]}", f"o {edged[i + 1]} {edged[i + 2]}"]
            for name, mark in (("first", "<"), ("later", ">")):
                found[name].append(rows(tables.relations, [*own, f"{mark} {edged[i + 1]}"] if own else []))
        for i in range(n + 1):
            found["pair"].append(rows(tables.relations, [f"{edged[i]} {edged[i + 1]}"] if pairs else []))
            before = edged[i - 1] if i else "^^"
            left = [f"l {edged[i]}", f"ll {before} {edged[i]}"] if neighbours else []
            right = [f"r {edged[i + 1]}"] if neighbours else []
            if order:
                left += [f"first {sum(j < i for j in named)}"]
                right += [f"last {sum(j >= i for j in named)}"]
            found["left"].append(rows(tables.roles, left))
            found["right"].append(rows(tables.roles, right))
        return found

    def _lexical(self, mention: Mention, forms: list[str], exact: str, grow: bool) -> tuple[Any, ...]:
        names = self._constant_features(forms, mention, exact)
        column = self.tables.constants.labels[mention.label]
        rows = self.tables.constants.rows(names, grow=grow)
        meaning = meaning_of(mention.value)
        return mention.start, mention.end, column, column, meaning, self.prior * mention.share, rows

    def _constant_features(self, x: list[str], mention: Mention, word: str) -> list[str]:
        """The word and its neighbours; where the word leaves it open, any word of the sentence."""
        i, j = mention.start, mention.end
        left = x[i - 1] if i else "^"
        right = x[j] if j < len(x) else "$"
        neighbours = "neighbours" in self.features
        if not isinstance(mention.label, str):  # copied
            known = "word" if any(word in self.alignment.counts for word in x[i:j]) else "new"
            names = ["copied", f"copied {min(j - i, MANY)}", f"copied {known}"]
            return [*names, f"l {left}", f"r {right}"] if neighbours else names
        names = [f"w {word}"]
        if neighbours:
            names += [f"l {left} {word}", f"r {word} {right}"]
        if "sentence" in self.features:
            mentions, kind = self._lookup(word)
            if kind is None or max(p for _, p in mentions) < np.log(SURE_SHARE):
                names += [f"s {other}" for other in dict.fromkeys(x)]
        return names
