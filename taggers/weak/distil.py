"""Learn a tagger from sources of unknown quality; estimate which ones are right, and what they lack."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from taggers.labels.label_encoding import choices
from taggers.labels.schemes import OUTSIDE, split
from taggers.memory import release_memory
from taggers.options import PHRASE_TASKS
from taggers.sources.memory import MemorySource
from taggers.tagger import TASKS, SequenceTagger
from taggers.weak.aggregate import Consensus, aggregate
from taggers.weak.agreement import warn_of_contradictions
from taggers.weak.crossing import Judged, cross_words, occurrences
from taggers.weak.sources import Sentences, Source, Votes, checked, collect, function

SHARE = 0.1  # of the probability of the best label: labels below it are ruled out
MOST = 0.5  # an estimated share above it only says that the models cannot tell names from other words
ROUNDS = 3  # of estimating what is missing, at most
GROWTH = 1.1  # of the estimated share: a round that gains less is the last one
FOLDS = 4
UNRELIABLE = 0.2  # the estimated precision below which a source gets a warning
STEPS = 100  # of expectation maximization of one number
TINY = 1e-6


@dataclass
class Distilled:
    """A tagger that learned from sources, and how.

    tagger: the student. X: the sentences, the gold ones last. phrases: whether labels mark phrases. labels:
    what it learned: labels, sets, or None for open tokens. votes: the answers of each source. consensus: the
    reliabilities; None if no source labels every token, because then they cannot be known. missing: after
    each round, the estimated share of names among the tokens that no source labels. names: the estimated
    share of names among phrases of unknown type. contradicted: the share of the names in lists that models
    or the rest of the text contradict. gold: the gold labels.
    """

    tagger: SequenceTagger
    X: Sentences
    phrases: bool
    labels: Votes
    votes: dict[str, Votes]
    consensus: Consensus | None
    missing: list[float]
    names: float | None
    contradicted: float | None
    gold: Votes | None

    def summary(self) -> list[str]:
        """Describe each source and what they lack, in one line each."""
        lines = []
        for name, rows in self.votes.items():
            said = [one for row in rows for one in row]
            line = f"{name}: answers for {sum(one is not None for one in said) / len(said):.1%} of the tokens"
            if self.consensus is not None:
                precision, recall = self.consensus.overall(name)
                line += f", estimated precision {precision:.1%} and recall {recall:.1%}"
            lines.append(line)
        if self.missing:
            lines.append(f"names that no source has: {self.missing[-1]:.2%} of the other tokens (estimated)")
        if self.names is not None:
            lines.append(f"names among the phrases of unknown type: {self.names:.1%} (estimated)")
        if self.contradicted is not None:
            lines.append(f"names that models or other places contradict: {self.contradicted:.1%}, left open")
        return lines


def distil(
    X: Sentences,
    sources: Sequence[Source | Callable[[Sequence[str]], Sequence[Any]]],
    *,
    task: str = "ner",
    tagger: SequenceTagger | None = None,
    gold: tuple[Sentences, Sequence[Sequence[Any]]] | None = None,
    cache: str | Path | None = None,
    random_state: int = 0,
    callback: Callable[[str, int], Any] | None = None,
) -> Distilled:
    """Train a tagger on what sources say about unlabelled sentences.

    1. Each source labels the sentences. 2. If some sources label every token, a hidden Markov model estimates
    how reliable each source is; tokens about which it is unsure keep a set of labels. 3. Lists of names are
    incomplete: models that have not seen a word estimate whether it is a name that the lists lack. Such
    tokens stay open; the others become O. Names of the lists that these models contradict become open, too.
    So do names whose words the lists leave out in most other places.
    4. The tagger learns from labels, sets and open tokens.

    Parameters
    ----------
    X : sentences, as lists of words.
    sources : see `taggers.weak.sources`; or functions from the words of a sentence to their labels.
    tagger : an untrained tagger with the options to use; by default the tagger of the task.
    gold : a few labelled sentences (X, y). They show which sources are reliable, and the tagger learns them.
    cache : a file for the answers of teachers; see `collect`.
    callback : receives what is done ("round", or the name of a source) and a count.

    >>> X = [["in", "Rome"], ["in", "Oslo"], ["met", "Ida"], ["in", "Lima"]] * 9
    >>> names = {"Rome": "B-LOC", "Oslo": "B-LOC", "Ida": "B-PER"}
    >>> distil(X, [lambda words: [names.get(word) for word in words]]).tagger.predict([["in", "Kiel"]])
    [['O', 'B-LOC']]
    """
    phrases = task in PHRASE_TASKS
    X = [list(words) for words in X]
    known: Votes = [None] * len(X)  # type: ignore[list-item]
    if gold is not None:
        known += checked("gold", gold[0], [list(row) for row in gold[1]], phrases=phrases)
        X = X + [list(words) for words in gold[0]]
    if not X:
        raise ValueError("there are no sentences to label")
    made = [one if isinstance(one, Source) else function(one) for one in sources]
    votes = collect(X, made, phrases=phrases, cache=cache, callback=callback)
    warn_of_contradictions(votes, phrases=phrases)
    listing = [name for name, rows in votes.items() if phrases and not any(OUTSIDE in row for row in rows)]
    consensus = None
    if len(listing) == len(votes) or len(votes) == 1:
        labels = _united(list(votes.values()))
        labels = [row if own is None else own for row, own in zip(labels, known, strict=True)]
    else:
        consensus = aggregate(votes, phrases=phrases, gold=known if gold else None)
        labels = consensus.sets(SHARE)
        for name in votes:
            precision, _ = consensus.overall(name)
            if precision < UNRELIABLE:
                what = f"is right in {precision:.0%} of its answers, judging by the other sources"
                warnings.warn(f"the source {name} {what}; check its types, or leave it out", stacklevel=2)
    tagger = TASKS[task](random_state=random_state) if tagger is None else tagger
    source = MemorySource(X, labels)
    release_memory()
    source.reuse = True  # rows of features wait in a temporary file
    missing: list[float] = []
    names = contradicted = None
    if listing:
        labels, missing, names, contradicted = complete(
            tagger, source, phrases=consensus is None, seed=random_state, callback=callback
        )
    used = [k for k, row in enumerate(labels) if any(one is not None for one in row)]
    if len(used) < len(X):
        source = MemorySource([X[k] for k in used], [])
        source.reuse = True
    source.relabel([labels[k] for k in used])
    release_memory()
    tagger.fit_source(source)
    own = None if gold is None else known[len(known) - len(gold[0]) :]
    return Distilled(tagger, X, phrases, labels, votes, consensus, missing, names, contradicted, own)


def _united(votes: Sequence[Votes]) -> Votes:
    """The labels that all sources allow; where they contradict each other, the labels of them all."""

    def both(given: tuple[Any, ...]) -> Any:
        said = [set(choices(one, ())) for one in given if one is not None]
        if not said:
            return None
        left = set.intersection(*said) or set.union(*said)
        return next(iter(left)) if len(left) == 1 else frozenset(left)

    return [[both(given) for given in zip(*rows, strict=True)] for rows in zip(*votes, strict=True)]


def complete(
    tagger: SequenceTagger,
    source: MemorySource,
    *,
    phrases: bool = True,
    seed: int = 0,
    callback: Callable[[str, int], Any] | None = None,
) -> tuple[Votes, list[float], float | None, float | None]:
    """Label what lists of names lack: O, or open if it may be a name; and decide what phrases are.

    source: the sentences and what is known about them; it gets other labels. phrases: whether lists are the
    only sources. Then sets that contain O are phrases of unknown type, and names that models or the rest of
    the text contradict become open; otherwise a consensus has decided.

    Returns the labels, the estimated share of names among unlabelled tokens after each round, the share of
    phrases of unknown type that are names, None without such phrases, and the share of contradicted names.
    """
    units = Units(source.X, source.y, phrases=phrases)
    stray = units.stray(source.X) if phrases else np.zeros(len(units.kind), bool)
    shares: list[float] = []
    current = units.labelled()
    for turn in range(ROUNDS):
        source.relabel(current)
        crossed = cross_words(tagger, source, folds=FOLDS, seed=seed + turn)
        name, share = units.judge(crossed)
        shares.append(share)
        wrong = units.contradicted(crossed) | stray if phrases else stray
        current = units.labelled(name, units.best_types(crossed), shares[-1], wrong)
        if callback is not None:
            callback("round", turn + 1)
        if turn and shares[-1] < GROWTH * shares[-2]:
            break
    left = float(wrong[units.kind == units.NAME].mean()) if phrases else None
    return (current, [], shares[-1], left) if units.phrases else (current, shares, None, left)


class Units:
    """The names of the sources, the phrases of unknown type, and the single tokens that no source labels.

    start, stop: tokens. kind: of each unit, one of the constants.
    """

    NAME, PHRASE, SILENT = range(3)

    def __init__(self, X: Sentences, labels: Votes, *, phrases: bool = True) -> None:
        self.labels = labels
        answers = {one for row in labels for one in row if one is not None}
        self.types = sorted({split(name)[1] for one in answers for name in choices(one, ())} - {""})
        units: list[tuple[int, int, int]] = []
        texts: list[int] = []
        number: dict[str, int] = {}
        at = 0
        for words, row in zip(X, labels, strict=True):
            k = 0
            while k < len(row):
                stop = k + 1
                kind = _kind(row[k])
                if kind == self.PHRASE and not phrases:
                    kind = None
                while kind in (self.NAME, self.PHRASE) and stop < len(row) and _continues(row[stop], kind):
                    stop += 1
                if kind is not None:
                    units.append((at + k, at + stop, kind))
                    text = f"{kind} {' '.join(words[k:stop]).lower()}"
                    texts.append(number.setdefault(text, len(number)))
                k = stop
            at += len(row)
        self.start, self.stop, self.kind = np.array(units, np.int64).reshape(-1, 3).T
        self.phrases = bool((self.kind == self.PHRASE).any())
        self.text = np.array(texts, np.int64)
        if not (self.kind == self.NAME).any():
            raise ValueError("the sources give no phrase a definite type, so there is nothing to learn")

    def _means(self, values: np.ndarray) -> np.ndarray:
        """The mean of a value over the tokens of each unit."""
        sums = np.concatenate([[0.0], np.cumsum(values)])
        means: np.ndarray = (sums[self.stop] - sums[self.start]) / (self.stop - self.start)
        return means

    def _alike(self, values: np.ndarray) -> np.ndarray:
        """The mean of a value over all units with the same text."""
        means = np.bincount(self.text, values) / np.maximum(np.bincount(self.text), 1)
        alike: np.ndarray = means[self.text]
        return alike

    def judge(self, crossed: Judged) -> tuple[np.ndarray, float]:
        """Estimate which units are names from what models say that have not seen their words.

        Returns the probability of each unit, and the share of names among phrases, if there are some, or else
        among silent tokens. g(x), the probability that a source labels x, comes from logistic regression.
        With c, its mean over names, a silent x is a name with probability (1 - c)/c g/(1 - g) (Elkan and Noto
        2008). The share of names among phrases follows from the ratio of the densities of names and silent
        tokens (Saerens, Latinne and Decaestecker 2002).
        """
        outside = np.clip(crossed.probabilities[:, crossed.names.index(OUTSIDE)], TINY, 1 - TINY)
        score = self._means(np.log(1 - outside) - np.log(outside))
        features = np.stack([self._alike(score), score, np.ones(len(score))], axis=1)
        positive, silent = self.kind == self.NAME, self.kind == self.SILENT
        learned = positive | silent
        odds = np.exp(np.clip(features @ _logistic(features[learned], positive[learned]), -30, 30))
        if not self.phrases:
            c = float((odds / (1 + odds))[positive].mean())
            name = (1 - c) / c * odds
            share = float(np.minimum(name, 1)[silent].mean()) if silent.any() else 0.0
            return (name, share) if share < MOST else (np.zeros(len(name)), share)
        ratio = odds[self.kind == self.PHRASE] * silent.sum() / positive.sum()
        share = 0.5
        for _ in range(STEPS):
            among = share * ratio / (share * ratio + 1 - share)
            share = float(among.mean())
        name = np.zeros(len(score))
        name[self.kind == self.PHRASE] = among
        return name, share

    def contradicted(self, crossed: Judged) -> np.ndarray:
        """Which names the models contradict, which have not seen their words.

        Of the types (and O) to which they give at least the mean probability of the units that have it, the
        most probable one is another one (confident learning, Northcutt, Jiang and Chuang 2021).
        """
        logs = np.stack([self._type(crossed, one) for one in ("", *self.types)], axis=1)
        p = np.exp(logs - logs.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        flat = [one for row in self.labels for one in row]
        place = {name: k for k, name in enumerate(("", *self.types))}
        own = np.full(len(p), -1)
        own[self.kind == self.SILENT] = 0
        for k in np.flatnonzero(self.kind == self.NAME).tolist():
            own[k] = place[split(flat[self.start[k]])[1]]
        usual = [p[own == k, k].mean() if (own == k).any() else 1.0 for k in place.values()]
        likely = np.where(p >= usual, p, 0)
        wrong: np.ndarray = (own > 0) & likely.any(axis=1) & (likely.argmax(axis=1) != own)
        return wrong

    def stray(self, X: Sentences) -> np.ndarray:
        """Which names have words that get this type in less than half of the places outside longer names.

        A source that takes the first word of a sentence for a name labels few of all its occurrences.
        """
        lower = [[word.lower() for word in words] for words in X]
        flat, labels = list(chain(*lower)), list(chain(*self.labels))
        own = {
            k: (" ".join(flat[self.start[k] : self.stop[k]]), split(labels[self.start[k]])[1])
            for k in np.flatnonzero(self.kind == self.NAME).tolist()
        }
        labelled = Counter(own.values())
        total = occurrences(lower, {text for text, _ in labelled})
        for text, _ in own.values():  # a part of a longer name is not left out
            words = text.split(" ")
            for start, stop in combinations(range(len(words) + 1), 2):
                part = " ".join(words[start:stop])
                total[part] -= part != text and part in total
        found = np.zeros(len(self.kind), bool)
        found[[k for k, one in own.items() if 2 * labelled[one] < total[one[0]]]] = True
        return found

    def labelled(
        self,
        name: np.ndarray | None = None,
        best: np.ndarray | None = None,
        share: float = 0.0,
        wrong: np.ndarray | None = None,
    ) -> Votes:
        """The labels to learn, at first with O for tokens that no source labels.

        name: the probability of each unit to be a name. best: the most probable type of each unit. share: how
        many of the silent tokens stay open, those with the largest probabilities. wrong: the names to leave
        open.
        """
        flat: list[Any] = [OUTSIDE if one is None else one for row in self.labels for one in row]
        if name is not None and best is not None and wrong is not None:
            silent = self.kind == self.SILENT
            least = np.quantile(name[silent], 1 - share) if silent.any() else 0.0
            for k in np.flatnonzero(silent & (name > least)).tolist():
                flat[self.start[k]] = None
            for k in np.flatnonzero(wrong).tolist():
                flat[self.start[k] : self.stop[k]] = [None] * int(self.stop[k] - self.start[k])
            for k in np.flatnonzero(self.kind == self.PHRASE).tolist():
                start, stop = int(self.start[k]), int(self.stop[k])
                for at in range(start, stop):
                    label = f"{'BI'[at > start]}-{self.types[best[k]]}" if name[k] > 0.5 else OUTSIDE
                    flat[at] = label if label in flat[at] else flat[at] - {OUTSIDE}
        pointers = np.cumsum([0, *map(len, self.labels)])
        return [flat[a:b] for a, b in pairwise(pointers.tolist())]

    def best_types(self, crossed: Judged) -> np.ndarray:
        """The most probable type of each unit, the same for all with the same text."""
        best: np.ndarray = np.argmax([self._type(crossed, type_) for type_ in self.types], axis=0)
        return best

    def _type(self, crossed: Judged, type_: str) -> np.ndarray:
        """The log-probability of a type ("" for O), the same for all units with the same text."""
        own = [k for k, name in enumerate(crossed.names) if split(name)[1] == type_]
        return self._alike(self._means(np.log(crossed.probabilities[:, own].sum(axis=1) + TINY)))


def _kind(label: Any) -> int | None:
    """The kind of unit that begins with this answer; None for O, and for sets without O."""
    if label is None:
        return Units.SILENT
    if isinstance(label, str):
        return None if label == OUTSIDE else Units.NAME
    return Units.PHRASE if OUTSIDE in label else None


def _continues(label: Any, kind: int) -> bool:
    """Whether an answer continues a unit of this kind."""
    return _kind(label) == kind and not any(name.startswith("B-") for name in choices(label, ()))


def _logistic(features: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Weights of logistic regression, by Newton's method."""
    weights = np.zeros(features.shape[1])
    for _ in range(30):
        p = 1 / (1 + np.exp(-np.clip(features @ weights, -30, 30)))
        gradient = features.T @ (p - target) + 1e-3 * weights
        hessian = (features.T * (p * (1 - p))) @ features + 1e-3 * np.eye(len(weights))
        weights -= np.linalg.solve(hessian, gradient)
    return weights
