"""Evaluation of label sequences, with the report of conlleval, the script of the CoNLL shared tasks.

Phrases follow conlleval's rules: one begins at B, at an I after O, and at any label whose type differs
from that of the previous label, so labels out of place still count. `.` is an O, `[` and `]` are
phrases of one word, and an unknown prefix acts as I. Two rules differ, because conlleval is wrong on
IOBES: a phrase ends at E (conlleval joins E-x to a following B-x), and S is a phrase of one word
(conlleval joins S-x to S-x). L and U of BILUO mean E and S. Labels without a prefix, such as parts of
speech, have an accuracy but do not form phrases.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from taggers.labels.schemes import CLOSING, OPENING, OUTSIDE, Span, convert, split

_SINGLE = frozenset("[]")
_PREFIXES = frozenset("BI") | OPENING | CLOSING | _SINGLE


@dataclass(frozen=True)
class Share:
    """How many of a total are correct."""

    correct: int
    total: int

    @property
    def accuracy(self) -> float:
        """The share of correct ones; 0 for a total of 0."""
        return _ratio(self.correct, self.total)


@dataclass(frozen=True)
class Counts:
    """Phrases in the gold labels, in the predicted ones, and in both."""

    gold: int
    found: int
    correct: int

    @property
    def precision(self) -> float:
        """The share of the found phrases that are correct."""
        return _ratio(self.correct, self.found)

    @property
    def recall(self) -> float:
        """The share of the gold phrases that are found."""
        return _ratio(self.correct, self.gold)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return _harmonic(self.precision, self.recall)


@dataclass(frozen=True)
class Evaluation:
    """The counts of `evaluate`; `known` and `unknown` are None if it got no vocabulary.

    interval: the bootstrap interval of the F1 or, without phrases, of the accuracy; None without one.
    """

    tokens: Share
    sequences: Share
    types: dict[str, Counts] = field(default_factory=dict)
    errors: dict[tuple[str, str], int] = field(default_factory=dict)
    known: Share | None = None
    unknown: Share | None = None
    interval: Any = None

    @property
    def phrases(self) -> Counts:
        """The counts of all types together."""
        return Counts(
            sum(counts.gold for counts in self.types.values()),
            sum(counts.found for counts in self.types.values()),
            sum(counts.correct for counts in self.types.values()),
        )

    @property
    def accuracy(self) -> float:
        """The share of tokens with the right label."""
        return self.tokens.accuracy

    @property
    def f1(self) -> float:
        """The F1 over all phrases, conlleval's FB1 as a fraction."""
        return self.phrases.f1

    def confusions(self) -> list[tuple[str, str, int]]:
        """Return (gold label, predicted label, how often), most frequent first."""
        ordered = sorted(self.errors.items(), key=lambda item: (-item[1], item[0]))
        return [(gold, predicted, count) for (gold, predicted), count in ordered]

    def report(self) -> str:
        """Return exactly the text that conlleval prints."""
        total = self.phrases
        text = (
            f"processed {self.tokens.total} tokens with {total.gold} phrases; "
            f"found: {total.found} phrases; correct: {total.correct}.\n"
        )
        if self.tokens.total:
            text += f"accuracy: {100 * self.tokens.correct / self.tokens.total:6.2f}%; {_scores(total)}\n"
        for type_, counts in sorted(self.types.items()):
            text += f"{type_:>17}: {_scores(counts)}  {counts.found}\n"
        return text

    def as_dict(self) -> dict[str, Any]:
        """Return everything as numbers, lists and dictionaries, for JSON."""
        result: dict[str, Any] = {}
        for name in ("tokens", "sequences", "known", "unknown"):
            share = getattr(self, name)
            result[name] = share and {**asdict(share), "accuracy": share.accuracy}
        result["phrases"] = _scored(self.phrases)
        result["types"] = {type_: _scored(counts) for type_, counts in sorted(self.types.items())}
        result["interval"] = self.interval and asdict(self.interval)
        result["confusions"] = [list(confusion) for confusion in self.confusions()]
        return result


def evaluate(
    gold: Sequence[Sequence[str]],
    predicted: Sequence[Sequence[str]],
    *,
    words: Sequence[Sequence[str]] | None = None,
    known: Callable[[str], bool] | None = None,
    strict: str | None = None,
) -> Evaluation:
    """Compare predicted label sequences with the gold ones.

    `strict` names a label scheme such as "IOB2"; a phrase counts only if all its labels are valid there.
    By default phrases follow conlleval's rules. With `words` and a predicate `known`, there is also an
    accuracy for known words (say, those seen in training) and one for the others.
    """
    _check_lengths("predicted labels", gold, predicted)
    gold_flat, predicted_flat = flat(gold), flat(predicted)
    pairs = Counter(zip(chain.from_iterable(gold), chain.from_iterable(predicted), strict=True))
    correct = sum(count for (label, other), count in pairs.items() if label == other)
    same = sum(list(labels) == list(others) for labels, others in zip(gold, predicted, strict=True))
    shares: dict[str, Share] = {}
    if (words is None) != (known is None):
        raise ValueError("Pass both `words` and `known`, or neither.")
    if words is not None and known is not None:
        _check_lengths("words", gold, words)
        shares = _by_knowledge(gold, predicted, words, known)
    return Evaluation(
        tokens=Share(correct, pairs.total()),
        sequences=Share(same, len(gold)),
        types=_count(phrases(gold_flat, strict=strict), phrases(predicted_flat, strict=strict)),
        errors={pair: count for pair, count in pairs.items() if pair[0] != pair[1]},
        **shares,
    )


def phrases(labels: Sequence[str], *, strict: str | None = None) -> list[Span]:
    """Return the phrases (type, start, end) of a sequence by conlleval's rules; with `strict`, valid ones."""
    numbers: dict[str, int] = {}
    ids = np.array([numbers.setdefault(label, len(numbers)) for label in labels], np.int64)
    rules = _Rules([*numbers, OUTSIDE])
    parts = _id_phrases(ids, rules, np.array([0, len(ids)]))
    starts, ends, types = (part.tolist() for part in parts)
    found = [(rules.types[k], start, end) for k, start, end in zip(types, starts, ends, strict=True)]
    if strict is not None:
        in_place = [old == new for old, new in zip(labels, convert(labels, strict, strict), strict=True)]
        found = [phrase for phrase in found if all(in_place[phrase[1] : phrase[2]])]
    return found


def count_phrases(
    gold: np.ndarray, found: np.ndarray, names: Sequence[str], sentence_ptr: np.ndarray
) -> Counts:
    """Count the phrases of two labellings given as positions in `names`, all types together."""
    first, others, correct = _phrase_starts(gold, found, names, sentence_ptr)
    return Counts(len(first), len(others), len(correct))


def phrases_by_sentence(
    gold: np.ndarray, found: np.ndarray, names: Sequence[str], sentence_ptr: np.ndarray
) -> np.ndarray:
    """sentences x 3: the gold, found and correct phrases of each sentence; see `count_phrases`."""
    n = len(sentence_ptr) - 1
    bounds = sentence_ptr[:-1] + np.arange(n)
    groups = _phrase_starts(gold, found, names, sentence_ptr)
    where = [np.searchsorted(bounds, starts, "right") - 1 for starts in groups]
    return np.stack([np.bincount(sentences, minlength=n) for sentences in where], axis=1)


def _phrase_starts(
    gold: np.ndarray, found: np.ndarray, names: Sequence[str], sentence_ptr: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where gold, found and correct phrases begin, among all tokens with an O after each sentence."""
    rules = _Rules([*names, OUTSIDE])
    (first, ends, types), (others, other_ends, other_types) = (
        _id_phrases(ids, rules, sentence_ptr) for ids in (gold, found)
    )
    end_at, type_at = np.full((2, len(gold) + len(sentence_ptr) + 1), -1, np.int64)
    end_at[others], type_at[others] = other_ends, other_types
    return first, others, first[(end_at[first] == ends) & (type_at[first] == types)]


class _Rules:
    """The properties of labels that decide where phrases begin and end, as arrays."""

    def __init__(self, names: Sequence[str]) -> None:
        parts = [split(name) for name in names]
        types = {type_: k for k, type_ in enumerate(dict.fromkeys(type_ for _, type_ in parts))}
        self.types = list(types)
        self.type = np.array([types[type_] for _, type_ in parts], np.int64)
        self.inside = np.array([_in_phrase(*part) for part in parts], bool)
        self.closes = np.array([prefix in CLOSING | _SINGLE for prefix, _ in parts], bool)
        self.opens = np.array([prefix in OPENING | _SINGLE for prefix, _ in parts], bool)


def _id_phrases(
    ids: np.ndarray, rules: _Rules, sentence_ptr: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The start, end and type of each phrase; the last of the rules are those of O."""
    lengths = np.diff(sentence_ptr)
    flat = np.full(len(ids) + len(lengths) + 2, len(rules.type) - 1)  # an O around each sentence
    flat[np.arange(1, len(ids) + 1) + np.repeat(np.arange(len(lengths)), lengths)] = ids
    type_, inside = rules.type[flat], rules.inside[flat]
    breaks = (type_[:-1] != type_[1:]) | rules.closes[flat[:-1]] | rules.opens[flat[1:]]
    breaks |= ~(inside[:-1] & inside[1:])
    opened, closed = np.flatnonzero(inside[1:] & breaks), np.flatnonzero(inside[:-1] & breaks)
    return opened, closed, type_[1:][opened]


def _in_phrase(prefix: str, type_: str) -> bool:
    return prefix in _PREFIXES or (type_ != "" and prefix not in (OUTSIDE, "."))


def flat(sequences: Iterable[Iterable[str]]) -> list[str]:
    """Join sequences with an O after each, so that phrases stay within a sequence."""
    return [label for labels in sequences for label in (*labels, OUTSIDE)]


def _count(gold: list[Span], found: list[Span]) -> dict[str, Counts]:
    of_gold, of_found, of_both = (
        Counter(type_ for type_, _, _ in group) for group in (gold, found, set(gold).intersection(found))
    )
    types = sorted(of_gold | of_found)
    return {type_: Counts(of_gold[type_], of_found[type_], of_both[type_]) for type_ in types}


def _by_knowledge(
    gold: Iterable[Iterable[str]],
    predicted: Iterable[Iterable[str]],
    words: Iterable[Iterable[str]],
    known: Callable[[str], bool],
) -> dict[str, Share]:
    flat = zip(*map(chain.from_iterable, (words, gold, predicted)), strict=True)
    counts = Counter((word, label == other) for word, label, other in flat)
    tally: Counter[tuple[bool, bool]] = Counter()
    for (word, right), count in counts.items():
        tally[bool(known(word)), right] += count
    return {
        name: Share(tally[group, True], tally[group, True] + tally[group, False])
        for name, group in (("known", True), ("unknown", False))
    }


def _check_lengths(what: str, gold: Sequence[Sequence[str]], other: Sequence[Sequence[str]]) -> None:
    if len(gold) != len(other):
        raise ValueError(f"There are {len(gold)} sequences of gold labels but {len(other)} of {what}.")
    for number, (labels, others) in enumerate(zip(gold, other, strict=True)):
        if len(labels) != len(others):
            raise ValueError(f"Sequence {number} has {len(labels)} gold labels but {len(others)} {what}.")


def _scores(counts: Counts) -> str:
    # In per cent before the mean is taken, as conlleval does: the last digit may depend on it.
    precision, recall = _ratio(100 * counts.correct, counts.found), _ratio(100 * counts.correct, counts.gold)
    return f"precision: {precision:6.2f}%; recall: {recall:6.2f}%; FB1: {_harmonic(precision, recall):6.2f}"


def _scored(counts: Counts) -> dict[str, Any]:
    return {**asdict(counts), "precision": counts.precision, "recall": counts.recall, "f1": counts.f1}


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _harmonic(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
