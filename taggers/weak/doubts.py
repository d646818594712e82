"""Find errors in labels: where models that have not seen a sentence are sure of other labels."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from taggers.formats._columns import Columns
from taggers.labels import schemes
from taggers.labels.label_encoding import GoldLabels, detect_scheme
from taggers.sources.memory import as_labelled
from taggers.tagger import TASKS, SequenceTagger
from taggers.weak.crossing import Crossed, cross_predict, occurrences

FOLDS = 10
# Cheaper than the defaults: ten models must be trained, and rankings hardly change.
CHEAP: dict[str, Any] = {"epochs": 1, "reprocess": 1}
LEAST = 1e-6  # probability
KINDS = ("missing", "spurious", "type", "border")
PLANTED = 0.04  # the share of phrases or tokens into which errors are planted, to learn how errors look
STEPS = 30  # of expectation maximization, each with one step of Newton's method
# Of `Evidence.features` and a constant: learned from errors planted into nine corpora (phrases and parts of
# speech, none of them in the table of benchmarks). They count as much as `PRIOR` planted errors.
WEIGHTS = (0.8, -1.6, -0.5, -0.7, 0.3, 1.0, -2.7, -0.6, -0.7, -4.7)
PRIOR = 3.0


@dataclass(frozen=True)
class Doubt:
    """A place where a label may be wrong.

    sentence, start, stop: the tokens, stop excluded. words: their text. given, suggested: their labels.
    kind: type, border, missing (a phrase), spurious (a phrase) or label. score: from 0 to 1, for the ranking.
    why: what speaks against the given labels.
    """

    sentence: int
    start: int
    stop: int
    words: str
    given: list[str]
    suggested: list[str]
    kind: str
    score: float
    why: str


def find_label_errors(
    X: Any,
    y: Any,
    *,
    tagger: SequenceTagger | None = None,
    folds: int = FOLDS,
    random_state: int = 0,
    callback: Callable[[int], Any] | None = None,
) -> list[Doubt]:
    """Labels that are probably wrong, the most doubtful ones first.

    Each sentence is labelled by a model that was trained on the other folds. Where its phrases (or labels)
    differ from the given ones, the place is doubtful. Its score weighs the probabilities of both labellings
    against how the same words are labelled elsewhere. The weights are learned for these data: some errors are
    planted into the labels that the models learn, and must be found.

    Parameters
    ----------
    X, y : as for `SequenceTagger.fit`. Tokens without a label, or with a set of labels, are never doubtful.
    tagger : an untrained tagger with the options to use; by default `NerTagger` for labels of phrases and
        `PosTagger` for others, with one pass over the data.
    callback : receives the number of each finished fold.

    >>> X, y = [["in", "Rome"], ["in", "Oslo"], ["in", "Rome"], ["of", "Rome"]] * 5, [["O", "B-LOC"]] * 20
    >>> y[2] = ["O", "O"]
    >>> [(doubt.sentence, doubt.words, doubt.kind) for doubt in find_label_errors(X, y, folds=4)]
    [(2, 'Rome', 'missing')]
    """
    X, y, _ = as_labelled(X, y)
    gold = GoldLabels.to_learn(X, y)
    if tagger is None:
        phrases = detect_scheme(gold.triples()) != "none"
        tagger = TASKS["ner" if phrases else "pos"](**CHEAP)
    given = gold.lists()
    scheme = schemes.detect([one for one in labels if isinstance(one, str)] for labels in given)
    words = X.sentences(0) if isinstance(X, Columns) else [list(map(_word, sentence)) for sentence in X]
    worse, places = plant_errors(given, scheme, share=PLANTED, seed=random_state)
    learned = replace(GoldLabels.from_lists(worse), column=gold.column, n_columns=gold.n_columns)
    crossed = cross_predict(tagger, X, learned, folds=folds, seed=random_state, callback=callback)
    # The models of a sentence have not seen its labels, so they judge the given and the planted ones alike.
    weights = _learned_weights(words, worse, list(disputes(worse, crossed, scheme)), places, scheme)
    found = list(disputes(given, crossed, scheme))
    evidence = Evidence(words, given, found, scheme)
    return sorted((evidence.doubt(one, weights) for one in found), key=lambda doubt: -doubt.score)


def plant_errors(
    given: Sequence[Sequence[Any]], scheme: str, *, share: float, seed: int = 0
) -> tuple[list[list[Any]], list[tuple[int, int, int]]]:
    """Labels with planted errors, and their places: (sentence, start, stop).

    Each phrase of a random sample gets another type, loses or wins a token at one end, or disappears; without
    phrases, a random token gets another label.
    """
    rng = random.Random(seed)
    labels = [list(row) for row in given]
    if scheme == "none":
        units = [
            (s, (x, k, k + 1))
            for s, row in enumerate(labels)
            for k, x in enumerate(row)
            if isinstance(x, str)
        ]
    else:
        units = [
            (s, unit)
            for s, row in enumerate(labels)
            if None not in row
            for unit in schemes.spans(_known(row), scheme)
        ]
    names = sorted({name for _, (name, _, _) in units})
    count = round(share * len(units))
    places = []
    for sentence, (name, start, stop) in rng.sample(units, count):
        row = labels[sentence]
        other = rng.choice([one for one in names if one != name] or [name])
        if scheme == "none":
            row[start] = other
            places.append((sentence, start, stop))
            continue
        rest = [unit for unit in schemes.spans(_known(row), scheme) if unit != (name, start, stop)]
        kind = rng.choice(("type", "border", "missing"))
        new = [(other, start, stop)] if kind == "type" and other != name else []
        if kind == "border":
            near = [(start - 1, stop), (start + 1, stop), (start, stop - 1), (start, stop + 1)]
            free = [
                (name, a, b) for a, b in near
                if 0 <= a < b <= len(row) and not any(x < b and a < y for _, x, y in rest)
            ]  # fmt: skip
            new = [rng.choice(free)] if free else []
        labels[sentence] = schemes.encode([*rest, *new], len(row), scheme)
        first, last = min([start, *(a for _, a, _ in new)]), max([stop, *(b for _, _, b in new)])
        places.append((sentence, first, last))
    return labels, places


def _learned_weights(
    words: Sequence[Sequence[str]],
    given: list[list[Any]],
    found: list[Dispute],
    places: Sequence[tuple[int, int, int]],
    scheme: str,
) -> np.ndarray:
    """Weights that tell planted errors from other disputes: logistic regression, near `WEIGHTS`."""
    prior = np.array(WEIGHTS)
    if not found:
        return prior
    by_sentence: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for sentence, start, stop in places:
        by_sentence[sentence].append((start, stop))
    planted = np.array([
        any(start < one.stop and one.start < stop for start, stop in by_sentence[one.sentence])
        for one in found
    ])  # fmt: skip
    evidence = Evidence(words, given, found, scheme)
    features = np.array([[*evidence.features(one), 1.0] for one in found])
    weights, share = prior.copy(), 0.5  # of all errors, those that were planted
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-np.clip(features @ weights, -30, 30)))
        # The other disputes may be errors too, the real ones: their probability by the weights so far.
        target = np.where(planted, 1.0, p * (1 - share) / (1 - p * share))
        share = min(max(float(planted.sum() / max(target.sum(), 1e-9)), 0.05), 0.95)
        gradient = features.T @ (p - target) + PRIOR * (weights - prior)
        hessian = (features.T * (p * (1 - p))) @ features + PRIOR * np.eye(len(prior))
        weights -= np.linalg.solve(hessian, gradient)
    return weights


def _word(token: Any) -> str:
    return token[0] if isinstance(token, tuple) else str(token)


class Dispute(NamedTuple):
    """A place where predicted labels differ from the given ones.

    chosen, against: the probability of each given label, and of each suggested one.
    """

    sentence: int
    start: int
    stop: int
    given: list[str]
    suggested: list[str]
    chosen: np.ndarray
    against: np.ndarray


def disputes(given: list[list[Any]], crossed: Crossed, scheme: str) -> Iterator[Dispute]:
    """The places where the predicted labels differ from the given ones."""
    number = {name: k for k, name in enumerate(crossed.names)}
    for sentence, (start, stop) in enumerate(pairwise(crossed.sentence_ptr.tolist())):
        labels = given[sentence]
        ids = crossed.ids[start:stop].tolist()
        other = [crossed.names[k] for k in ids]
        if labels == other:
            continue
        for first, last in _different(labels, other, scheme):
            part = labels[first:last]
            if all(isinstance(label, str) for label in part):
                rows, at = crossed.probabilities[start + first : start + last], np.arange(last - first)
                # The models do not know a label whose only tokens got planted errors.
                known = np.array([label in number for label in part])
                chosen = np.where(known, rows[at, [number.get(label, 0) for label in part]], 0)
                yield Dispute(
                    sentence, first, last, part, other[first:last], chosen, rows[at, ids[first:last]]
                )


def _different(labels: list[Any], other: list[str], scheme: str) -> Iterable[tuple[int, int]]:
    """The tokens of phrases that only one labelling has, joined if they overlap; or single tokens."""
    if scheme == "none":
        return [(k, k + 1) for k, (a, b) in enumerate(zip(labels, other, strict=True)) if a != b]
    apart = set(schemes.spans(_known(labels), scheme)) ^ set(schemes.spans(other, scheme))
    joined: list[list[int]] = []
    for start, stop in sorted((start, stop) for _, start, stop in apart):
        if joined and start < joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], stop)
        else:
            joined.append([start, stop])
    return [(start, stop) for start, stop in joined]


def _known(labels: Sequence[Any]) -> list[str]:
    return [label if isinstance(label, str) else schemes.OUTSIDE for label in labels]


class Evidence:
    """The evidence for and against the labels of a place: the models, and the same words elsewhere.

    counts: how often a text has each label (or type of phrase); occurrences: how often it occurs at all.
    """

    def __init__(
        self, words: Sequence[Sequence[str]], given: list[list[Any]], found: Sequence[Dispute], scheme: str
    ) -> None:
        self.words, self.scheme = words, scheme
        self.counts: dict[str, Counter[str]] = defaultdict(Counter)
        for sentence, labels in zip(words, given, strict=True):
            for name, start, stop in self._units(labels):
                self.counts[" ".join(sentence[start:stop])][name] += 1
        texts = {self._text(one, unit) for one in found for units in self._both(one) for unit in units}
        self.occurrences = occurrences(words, texts)

    def _units(self, labels: Sequence[Any]) -> list[schemes.Span]:
        if self.scheme == "none":
            return [(label, k, k + 1) for k, label in enumerate(labels) if isinstance(label, str)]
        return schemes.spans(_known(labels), self.scheme)

    def _both(self, one: Dispute) -> tuple[list[schemes.Span], list[schemes.Span]]:
        return self._units(one.given), self._units(one.suggested)

    def _text(self, one: Dispute, unit: schemes.Span) -> str:
        return " ".join(self.words[one.sentence][one.start + unit[1] : one.start + unit[2]])

    def _elsewhere(self, one: Dispute, unit: schemes.Span) -> tuple[int, int]:
        """How often the words of a unit have its label elsewhere, and how often they occur elsewhere."""
        text = self._text(one, unit)
        return self.counts[text][unit[0]] - (unit in self._units(one.given)), self.occurrences[text] - 1

    def _support(self, one: Dispute, units: list[schemes.Span], others: list[schemes.Span]) -> float:
        """The share of other occurrences with the same labels; without phrases, of those in no phrase."""
        shares = [self._elsewhere(one, unit) for unit in units]
        if not units:
            for unit in others:
                text = self._text(one, unit)
                n = self.occurrences[text] - 1
                shares.append((n - self.counts[text].total() + (unit in self._units(one.given)), n))
        return min((max(count, 0) + 0.05) / (max(n, 0) + 1) for count, n in shares)

    def features(self, one: Dispute) -> list[float]:
        """The numbers whose weighted sum is the score; see `WEIGHTS`."""
        ours, theirs = self._both(one)
        kind = self.kind(one)
        sure, given = float(one.against.min()), float(one.chosen.min())
        return [
            math.log((sure + LEAST) / (1 - sure + 1e-3)), math.log(given + LEAST), one.stop - one.start,
            math.log(self._support(one, ours, theirs)), math.log(self._support(one, theirs, ours)),
            *(float(kind == name) for name in KINDS),
        ]  # fmt: skip

    def kind(self, one: Dispute) -> str:
        """Name the kind of error that it may be."""
        ours, theirs = self._both(one)
        if self.scheme == "none":
            return "label"
        if not ours or not theirs:
            return "missing" if theirs else "spurious"
        return "type" if {unit[1:] for unit in ours} == {unit[1:] for unit in theirs} else "border"

    def doubt(self, one: Dispute, weights: np.ndarray) -> Doubt:
        """The doubt about a place, with its score and its reason."""
        score = 1 / (1 + math.exp(-float(np.clip(np.dot(weights, [*self.features(one), 1.0]), -30, 30))))
        why = f"probability {one.chosen.min():.2g}, of the suggestion {one.against.min():.2g}"
        for unit in self._both(one)[1]:
            count, n = self._elsewhere(one, unit)
            if count > 0:
                why += f"; {self._text(one, unit)} is {unit[0]} in {count} of {n} other places"
        words = " ".join(self.words[one.sentence][one.start : one.stop])
        return Doubt(
            one.sentence, one.start, one.stop, words, one.given, one.suggested, self.kind(one), score, why
        )
