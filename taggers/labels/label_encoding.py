"""Gold labels as numbers in the scheme of training: known, missing (None), or one of several (a set)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise, product
from numbers import Real
from typing import Any

import numpy as np

from structsvm.problems.sequence import SequenceLabels
from structsvm.problems.sequence.problem import LARGEST_WEIGHT, LEAST_WEIGHT
from structsvm.validation import meant
from taggers.formats._columns import Columns
from taggers.labels import schemes
from taggers.labels._labels import Labels
from taggers.labels.parts import JOINT

OUTSIDE = schemes.OUTSIDE
MISSING = "_"  # as in the label column of a file
PHRASES = "phrases"  # in by_label: all labels but O
LARGEST_FACTOR = 1_000_000  # by which a loss is multiplied


@dataclass(frozen=True)
class GoldLabels:
    """The gold labels of sentences: for each token the position of its label in `names`, -1 if missing.

    column: where they were read from, for labels of `Columns`; the first one of several.
    n_columns: the number of columns whose values a label joins, see `taggers.labels.parts`.
    partial: for each sentence its labels as they were given, where some are sets of allowed labels or
    missing and came as Python lists; `ids` and `names` are empty then.
    weights: the weight of each token, if they were given.
    """

    ids: np.ndarray
    names: list[str]
    sentence_ptr: np.ndarray
    column: int | None = None
    partial: list[list[Any]] | None = None
    n_columns: int = 1
    weights: np.ndarray | None = None

    @classmethod
    def of(cls, X: Any, y: Any) -> GoldLabels:
        """The gold labels of X: a list for each sentence, the number of a column, or `GoldLabels`."""
        if isinstance(y, GoldLabels):
            return y
        if isinstance(y, (int, np.integer)) and isinstance(X, Columns):
            return cls.from_column(X, int(y))
        if y is None:
            raise ValueError("a tagger requires y to be passed, but the target y is None")
        y = [list(labels) for labels in y]
        lengths = np.diff(X.sentence_ptr).tolist() if isinstance(X, Columns) else list(map(len, X))
        if len(y) != len(lengths):
            raise ValueError(f"X has {len(lengths)} sentences but y has {len(y)}")
        for number, (labels, length) in enumerate(zip(y, lengths, strict=True)):
            if len(labels) != length:
                raise ValueError(f"sentence {number} has {length} tokens but {len(labels)} labels")
        return cls.from_lists(y)

    @classmethod
    def to_learn(cls, X: Any, y: Any, token_weight: Any = None) -> GoldLabels:
        """The gold labels to learn from; a label column must be the last one, after the inputs.

        token_weight: for each sentence a list with the weight of each token, or None.
        """
        gold = cls.of(X, y)
        if gold.column is not None and gold.column + gold.n_columns != X.width:
            raise ValueError(
                f"the label column must be the last of the {X.width} columns that were read, got column "
                f"{gold.column}; read the input columns first and the label column last"
            )
        if token_weight is None:
            return gold
        weights = _token_weights(token_weight, np.diff(gold.sentence_ptr).tolist())
        if (weights == 0).any():
            gold = gold.without(weights == 0)
        return replace(gold, weights=weights)

    @classmethod
    def from_column(cls, columns: Columns, column: int, numbers: Sequence[int] | None = None) -> GoldLabels:
        """The labels in one of the columns that were read; the format knows how a missing one is written."""
        number = (numbers or columns.wanted)[column]
        ids, names = _read(columns, column, number)
        absent = columns.format.missing(number)
        if absent is None and (ids < 0).any():  # only empty labels have no number yet
            ids[ids < 0] = len(names)
            names.append("")
        if absent in names:
            missing = names.index(absent)
            names.remove(absent)
            ids = np.where(ids == missing, -1, ids - (ids > missing)).astype(np.int32)
        return cls(ids, names, columns.sentence_ptr, column)

    @classmethod
    def from_columns(
        cls, columns: Columns, first: int, numbers: Sequence[int] | None = None, *, sets: bool = False
    ) -> GoldLabels:
        """The values of several columns, from `first` to the last one, joined to labels.

        A label is missing if one of its values is. sets: such a label is instead the set of complete labels
        with the same other values. numbers: the numbers of the columns in their file, if they are not
        `columns.wanted`.
        """
        n_columns = columns.width - first
        if n_columns == 1:
            return cls.from_column(columns, first, numbers)
        names: list[str] = [""]
        joined = np.zeros(columns.n_tokens, np.int64)
        missing = np.zeros(columns.n_tokens, bool)
        absent = [columns.format.missing(number) for number in (numbers or columns.wanted)[first:]]
        for column in range(first, columns.width):
            ids, own = _read(columns, column, (numbers or columns.wanted)[column])
            if absent[column - first] in own:
                missing |= ids == own.index(str(absent[column - first]))
            pairs, joined = np.unique(joined * len(own) + ids, return_inverse=True)
            both = [divmod(pair, len(own)) for pair in pairs.tolist()]
            names = [names[k] + JOINT * (column > first) + own[j] for k, j in both]
        used, ids = np.unique(joined[~missing], return_inverse=True)
        if sets and missing.any():
            allowed = _completed(names, used.tolist(), absent)
            partial = split_by_sentence(joined, allowed, columns.sentence_ptr)
            empty = np.zeros(0, np.int32)
            return cls(empty, [], columns.sentence_ptr, first, partial=partial, n_columns=n_columns)
        codes = np.full(columns.n_tokens, -1, np.int32)
        codes[~missing] = ids
        return cls(codes, [names[k] for k in used.tolist()], columns.sentence_ptr, first, n_columns=n_columns)

    def positions(self, names: Sequence[str]) -> np.ndarray:
        """For each token the position of its label in other names; -1 where there is not exactly one."""
        number = {name: k for k, name in enumerate(names)}
        if self.partial is not None:
            flat = [label for labels in self.partial for label in labels]
            return np.array([number.get(x, -1) if isinstance(x, str) else -1 for x in flat], np.int64)
        return np.array([*(number.get(name, -1) for name in self.names), -1], np.int64)[self.ids]

    @classmethod
    def from_lists(cls, y: Sequence[Sequence[Any]]) -> GoldLabels:
        """Labels given in Python, for each sentence a list."""
        sentence_ptr = np.cumsum([0, *map(len, y)], dtype=np.int64)
        distinct = _distinct(y)
        if not all(isinstance(label, str) for label in distinct):
            rows = [[None if _is_nan(label) else label for label in labels] for labels in y]
            partial = cls(np.zeros(0, np.int32), [], sentence_ptr, partial=rows)
            return partial.renamed(schemes.respelled({one for one in distinct if isinstance(one, str)}))
        number = {name: k for k, name in enumerate(distinct)}
        ids = np.fromiter(map(number.__getitem__, chain.from_iterable(y)), np.int32)
        return cls(ids, list(distinct), sentence_ptr).renamed(schemes.respelled(distinct))

    @classmethod
    def joined(cls, parts: Sequence[GoldLabels], sentence_ptr: np.ndarray) -> GoldLabels:
        """The labels of several files, one after the other."""
        if any(part.partial is not None for part in parts):
            partial = list(chain.from_iterable(part.lists() for part in parts))
            return replace(
                parts[0], ids=parts[0].ids[:0], names=[], sentence_ptr=sentence_ptr, partial=partial
            )
        names = list(dict.fromkeys(name for part in parts for name in part.names))
        ids = np.concatenate([part.positions(names) for part in parts]).astype(np.int32)
        return replace(parts[0], ids=ids, names=names, sentence_ptr=sentence_ptr)

    def renamed(self, usual: Mapping[str, str]) -> GoldLabels:
        """The same labels with other names for some of them."""
        if not usual:
            return self
        if self.partial is not None:
            return replace(self, partial=[[_renamed(one, usual) for one in row] for row in self.partial])
        names = [usual.get(name, name) for name in self.names]
        place = {name: k for k, name in enumerate(dict.fromkeys(names))}
        ids = np.array([*(place[name] for name in names), -1], np.int32)[self.ids]
        return replace(self, ids=ids, names=list(place))

    def of_phrases(self) -> GoldLabels:
        """The same labels for a task about phrases: in the scheme IO, PER becomes I-PER; _ is a gap."""
        found = self.renamed(schemes.typed(self.distinct()))
        if MISSING not in found.distinct() or not any(map(schemes.marks_phrase, found.distinct())):
            return found
        return found.without(np.array([one == MISSING for one in chain.from_iterable(found.lists())]))

    def without(self, chosen: np.ndarray) -> GoldLabels:
        """The same labels, but without those of the chosen tokens."""
        flat = [None if out else one for one, out in zip(chain(*self.lists()), chosen.tolist(), strict=True)]
        lists = [flat[start:stop] for start, stop in pairwise(self.sentence_ptr.tolist())]
        found = GoldLabels.from_lists(lists)
        return replace(found, column=self.column, n_columns=self.n_columns, weights=self.weights)

    @property
    def complete(self) -> bool:
        """Whether every token has one known label."""
        return self.partial is None and not (self.ids < 0).any()

    @property
    def has_sets(self) -> bool:
        """Whether a token has a set of allowed labels."""
        return self.partial is not None and any(
            not (one is None or isinstance(one, str)) for one in chain.from_iterable(self.partial)
        )

    def distinct(self) -> set[str]:
        """The names of the labels, also of those in sets."""
        if self.partial is None:
            return set(self.names)
        return {name for labels in self.partial for label in labels for name in choices(label, ())}

    def lists(self) -> list[list[Any]]:
        """For each sentence its labels, None if missing."""
        if self.partial is not None:
            return self.partial
        return split_by_sentence(self.ids, [*self.names, None], self.sentence_ptr)

    def triples(self) -> Counter[schemes.Triple]:
        """How often each label occurs between which neighbours, where all three are known."""
        if self.partial is not None:
            rows = chain.from_iterable(map(schemes.neighbours, self.partial))
            return Counter(row for row in rows if all(isinstance(label, str) for label in row))
        return schemes.count_id_triples(self.ids, self.names, self.sentence_ptr)

    def encode(self, labels: Labels, outer: str = "none", inner: str = "none") -> SequenceLabels:
        """The labels as numbers, converted from the outer to the inner scheme; `labels` gets new ones."""
        if self.partial is not None or (outer != "none" and not self.complete):
            codes, sets = _encode_partial(self.lists(), labels, outer, inner)
            return SequenceLabels(codes, self.sentence_ptr, sets, self.weights)
        ids, names = self.ids, self.names
        if outer != "none":
            rewrite = schemes.Rewriter(names, outer, inner)
            ids, names = rewrite(ids, self.sentence_ptr), rewrite.names
        return SequenceLabels(_renumbered(ids, names, labels), self.sentence_ptr, weights=self.weights)


def _token_weights(given: Any, lengths: Sequence[int]) -> np.ndarray:
    """The weights of all tokens, checked sentence by sentence."""
    try:
        rows = [list(row) for row in given]
    except TypeError:
        wanted = "token_weight must hold a list of numbers for each sentence"
        raise TypeError(f"{wanted}, got {given!r}"[:300]) from None
    if len(rows) != len(lengths):
        raise ValueError(f"X has {len(lengths)} sentences but token_weight has {len(rows)}")
    for number, (row, length) in enumerate(zip(rows, lengths, strict=True)):
        if len(row) != length:
            raise ValueError(f"sentence {number} has {length} tokens but {len(row)} weights in token_weight")
        for weight in row:
            known = isinstance(weight, Real)
            if not known or not (weight == 0 or LEAST_WEIGHT <= float(weight) <= LARGEST_WEIGHT):
                raise ValueError(
                    f"token_weight of sentence {number} must contain 0 or numbers from {LEAST_WEIGHT:g} to "
                    f"{LARGEST_WEIGHT:,.0f}, got {weight!r}"
                )
    return np.fromiter(chain.from_iterable(rows), np.float32, count=sum(lengths))


def _read(columns: Columns, column: int, number: int) -> tuple[np.ndarray, list[str]]:
    """The labels of one column, whose number in the file the format needs; -1 where a label is empty."""
    values = Labels()
    ids = values.ids(columns, column, grow=True)
    names = columns.format.labels(values.names, number)  # different values may have the same label
    place = {name: k for k, name in enumerate(dict.fromkeys(names))}
    return np.array([*(place[name] for name in names), -1], np.int32)[ids], list(place)


def _renamed(label: Any, usual: Mapping[str, str]) -> Any:
    return usual.get(label, label) if isinstance(label, str) else label


def _completed(names: Sequence[str], complete: Sequence[int], absent: Sequence[str | None]) -> list[Any]:
    """For each joined label, the label itself if it is complete, else the complete labels that match it.

    A complete label matches if it has all values that are not missing. If there are none, the label stays as
    it is. If all values are missing, the result is None.
    """
    rows = [names[k].split(JOINT) for k in complete]
    found: list[Any] = list(names)
    for k in set(range(len(names))) - set(complete):
        known = [(at, value) for at, value in enumerate(names[k].split(JOINT)) if value != absent[at]]
        fitting = frozenset(JOINT.join(row) for row in rows if all(row[at] == value for at, value in known))
        found[k] = (fitting or names[k]) if known else None
    return found


def split_by_sentence(ids: np.ndarray, names: Sequence[Any], sentence_ptr: np.ndarray) -> list[Any]:
    """For each sentence the list of its names."""
    flat = np.array(names, dtype=object)[ids].tolist()  # no loop in Python
    return [flat[start:stop] for start, stop in pairwise(sentence_ptr.tolist())]


def detect_scheme(triples: Counter[schemes.Triple]) -> str:
    """The scheme of counted labels; IOB2 where all are O, as there are no phrases yet."""
    return "IOB2" if {label for _, label, _ in triples} == {OUTSIDE} else schemes.detect_counted(triples)


def sure_scheme(triples: Counter[schemes.Triple], classes: Sequence[str] = ()) -> str:
    """The scheme of counted labels and of `classes` if it is beyond doubt: nothing to repair, "none" if not.

    Labels without types must include O: S and I may be anything. Labels without B, as in IOB1, may be too.
    """
    scheme = schemes.detect_counted(triples + schemes.count_triples([sorted(classes)]))
    names = {*classes, *(label for _, label, _ in triples)}
    typed = OUTSIDE in names or all(schemes.split(name)[1] for name in names)
    sure = scheme not in ("none", "IOB1") and typed and not schemes.count_repairs(triples, scheme)
    return scheme if sure else "none"


def _renumbered(ids: np.ndarray, names: Sequence[str], labels: Labels) -> np.ndarray:
    """Positions in `names` as numbers of `labels`, where new ones come in the order of their first use."""
    used = np.flatnonzero(ids >= 0)
    first = np.full(len(names), len(ids))
    first[ids[used][::-1]] = used[::-1]  # of several positions, the last one assigned stays
    order = [k for k in np.argsort(first, kind="stable").tolist() if first[k] < len(ids)]
    number = np.full(len(names) + 1, -1, np.int32)  # the last one is for missing labels
    number[order] = labels.encode([[names[k] for k in order]], grow=True)
    return number[ids]


def _encode_partial(
    y: Sequence[Sequence[Any]], labels: Labels, outer: str, inner: str
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Codes and sets of labels some of which are missing or sets, one sentence after the other."""
    several: dict[tuple[str, ...], int] = {}
    parts = []
    everything: list[str] | None = None
    for sentence in y:
        if all(isinstance(label, str) for label in sentence):
            parts.append(labels.encode([schemes.convert(sentence, outer, inner)], grow=True))
            continue
        if everything is None:
            everything = _possible(y, labels, outer, inner)
        allowed = _inner_choices(sentence, everything, outer, inner)
        parts.append(np.array([_code(names, labels, several) for names in allowed], np.int32))
    sets = []
    for names in several:
        sets.append(np.zeros(len(labels), bool))
        sets[-1][labels.encode([names])] = True
    return np.concatenate([np.zeros(0, np.int32), *parts]), sets


def _possible(y: Sequence[Sequence[Any]], labels: Labels, outer: str, inner: str) -> list[str]:
    """The labels that a missing one may stand for: those known, those of y, and I-x for each B-x."""
    found = {name for tokens in y for token in tokens for name in choices(token, ())}
    if "" in found:
        raise ValueError("a label is empty; use None for a missing label")
    if outer != "none":
        found.update(inner_labels(labels.names, inner, outer))
        found.update([f"I{name[1:]}" for name in found if outer == "IOB2" and name[0] == "B"])
    return sorted(found)


def _is_nan(label: Any) -> bool:
    """Whether a label is NaN, which pandas writes for a missing one."""
    return isinstance(label, float) and math.isnan(label)


def _distinct(y: Sequence[Sequence[Any]]) -> dict[Any, None]:
    """The different labels of y in order; {None} where some are sets, which cannot be hashed."""
    try:
        return dict.fromkeys(chain.from_iterable(y))
    except TypeError:
        return {None: None}


def choices(label: Any, everything: Sequence[str]) -> Sequence[str]:
    """The labels that a token may have: the one given, those of a set, or `everything` for None."""
    if label is None:
        return everything
    if isinstance(label, str):
        return (label,)
    if (
        isinstance(label, (set, frozenset, tuple, list))
        and label
        and all(isinstance(name, str) for name in label)
    ):
        return sorted(label)
    raise ValueError(
        f"{label!r} is not a label; use a str, None for a missing label, or a set of allowed labels. Numbers "
        "need their names, such as dataset.features['ner_tags'].feature.names of Hugging Face"
    )


def _inner_choices(
    sentence: Sequence[Any], everything: Sequence[str], outer: str, inner: str
) -> list[tuple[str, ...] | None]:
    """For each token the labels of the inner scheme that it can have; None for any."""
    options = [choices(label, everything) for label in sentence]
    if outer == inner == "none":
        return [
            None if label is None else tuple(names) for label, names in zip(sentence, options, strict=True)
        ]
    allowed: list[tuple[str, ...] | None] = []
    for at, label in enumerate(sentence):
        before = options[at - 1] if at else (OUTSIDE,)
        after = options[at + 1] if at + 1 < len(options) else (OUTSIDE,)
        if label is None:
            allowed.append(None)
            continue
        triples = product(before, options[at], after)
        allowed.append(tuple(sorted({schemes.convert(triple, outer, inner)[1] for triple in triples})))
    return allowed


def _code(names: tuple[str, ...] | None, labels: Labels, several: dict[tuple[str, ...], int]) -> int:
    if names is None:
        return -1
    ids = labels.encode([names], grow=True)
    return int(ids[0]) if len(ids) == 1 else -2 - several.setdefault(names, len(several))


def inner_labels(classes: Sequence[str], outer: str, inner: str) -> list[str]:
    """All forms that labels can have in the inner scheme; or the other way round."""
    return list(classes) if outer == inner else schemes.Rewriter(list(classes), outer, inner).names


def loss_matrix(
    labels: Sequence[str], weight: dict[str, float] | None, outer: str, inner: str
) -> np.ndarray | None:
    """loss[right, predicted]: the weight of the right label, see `by_label`."""
    if not weight:
        return None
    factor = by_label("label_weight", weight, labels, outer, inner, 1.0)
    if not all(0 < value <= LARGEST_FACTOR for value in factor):
        raise ValueError(f"label_weight must contain numbers above 0 and at most {LARGEST_FACTOR:,}")
    return factor[:, None] * (1 - np.eye(len(labels)))


def by_label(
    what: str, given: Mapping[str, float], labels: Sequence[str], outer: str, inner: str, default: float
) -> np.ndarray:
    """A value for each label, given by its name, its type (B-x or x), or `phrases`, all labels but O.

    Names are those of the outer scheme: B-x of IOB2 stands for B-x and S-x of IOBES. A name has
    precedence over a type, and a type over `phrases`.
    """
    types = {label: label if inner == "none" else schemes.split(label)[1] for label in labels}
    names = set(types.values())
    if PHRASES not in names and OUTSIDE in labels:
        names.add(PHRASES)
        types = {label: type_ if type_ in given or label == OUTSIDE else PHRASES
                 for label, type_ in types.items()}  # fmt: skip
    values = {label: float(given.get(types[label], default)) for label in labels}
    for label in set(labels) if inner == "none" else sorted(inner_labels(labels, inner, outer)):
        names.add(label)
        if label in given:
            for form in _inner_forms(label, outer, inner):
                values[form] = float(given[label])
    missing = [name for name in given if name not in names]
    if missing:
        known = sorted(names - {""})
        hint = meant(missing[0], known)
        raise ValueError(f"{what} names {missing[0]!r}, but the labels are {', '.join(known)}{hint}")
    return np.array([values[label] for label in labels])


def _inner_forms(label: str, outer: str, inner: str) -> set[str]:
    """The forms that a label can have in the inner scheme, depending on its neighbours."""
    if outer == inner or label == OUTSIDE:
        return {label}
    type_ = schemes.split(label)[1]
    around = (OUTSIDE, f"I-{type_}" if type_ else "I")
    triples = [
        triple for triple in product(around, (label,), around) if 1 not in schemes.violations(triple, outer)
    ]
    return {schemes.convert(triple, outer, inner)[1] for triple in triples}
