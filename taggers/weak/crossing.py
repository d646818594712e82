"""Label sentences by models that have not learned them: each fold by the model of the other folds."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from structsvm.files.atomic import drop_pages
from structsvm.problems.sequence import Sequences
from structsvm.validation import check_count
from taggers.features.extract import shares
from taggers.labels.candidates import seen_labels
from taggers.memory import release_memory
from taggers.model import TaggerModel
from taggers.options import checked_settings
from taggers.sources.memory import MemorySource
from taggers.tagger import SequenceTagger
from taggers.trainer import Dataset, begin, choose_C, with_shards

PART = 50_000  # tokens that are labelled at a time


class Crossed(NamedTuple):
    """The answers of the models of other folds for each token.

    ids: the label, as a position in `names`. probabilities: of all labels, tokens x names. sentence_ptr:
    where each sentence begins.
    """

    ids: np.ndarray
    probabilities: np.ndarray
    names: list[str]
    sentence_ptr: np.ndarray


class Judged(NamedTuple):
    """The probabilities of all labels for each token: tokens x names."""

    probabilities: np.ndarray
    names: list[str]


class Fold(NamedTuple):
    """The model of all other folds, and the sentences of this fold.

    sentences: their numbers. tokens: the positions of their tokens among all tokens. X: their features.
    """

    model: TaggerModel
    sentences: np.ndarray
    tokens: np.ndarray
    X: Sequences


class Folds:
    """Models for the folds of a data set, one after the other: iterate to train them.

    The features are extracted once, without labels, and all folds share them.

    Parameters
    ----------
    groups : for each sentence the number of its group; the sentences of a group stay in one fold.
    callback : receives the number of each finished fold.
    """

    def __init__(
        self,
        tagger: SequenceTagger,
        source: MemorySource,
        *,
        folds: int,
        seed: int = 0,
        groups: np.ndarray | None = None,
        callback: Callable[[int], Any] | None = None,
    ) -> None:
        check_count(folds=folds, low=2, high=1000)
        self.source, self.seed, self.callback = source, seed, callback
        facts = source.survey(tagger.TASK)
        settings = with_shards(checked_settings(tagger), facts.sentences)
        self.settings = {**settings, "callback": None}
        if facts.sentences < folds:
            raise ValueError(
                f"{facts.sentences} sentences cannot be split into {folds} folds; use fewer folds"
            )
        self.model = tagger._new_model(
            source.X, facts.width, facts.triples, self.settings, features=source.space
        )
        if self.model.space.needs_first_round:
            raise ValueError("a template with doc_label cannot be used here: its features depend on labels")
        (self.data,) = source.datasets(self.model, facts, self.settings)
        choose_C(self.settings, self.model, tagger.C, self.data.X)
        self.fold_of = _folds_of(np.arange(facts.sentences) if groups is None else groups, folds, seed)

    def __iter__(self) -> Iterator[Fold]:
        settings, data, pointers = self.settings, self.data, self.data.X.sentence_ptr
        for fold in range(int(self.fold_of.max()) + 1):
            inside, chosen = np.flatnonzero(self.fold_of == fold), np.flatnonzero(self.fold_of != fold)
            part = type(data)(data.X[chosen], data.y[chosen])
            if not (part.y.codes != -1).any():
                raise ValueError(
                    "too few sentences have labels to learn from some of the folds; use fewer folds"
                )
            tokens = np.repeat(self.fold_of == fold, np.diff(pointers))
            self.model.candidates = seen_labels(self.model, self.source.X, data.y, ~tokens)
            optimizer = begin(self.model, part, settings | {"random_state": self.seed + fold})
            for _ in range(settings["epochs"]):
                optimizer.epoch()
            trained = self.model.with_weights(optimizer)
            yield Fold(trained, inside, np.flatnonzero(tokens), data.X[inside])
            if self.callback is not None:
                self.callback(fold + 1)


def _folds_of(groups: np.ndarray, folds: int, seed: int) -> np.ndarray:
    """The fold of each sentence: a random one, with about as many groups as the others."""
    names, number = np.unique(groups, return_inverse=True)
    fold = np.empty(len(names), np.int64)
    fold[np.random.default_rng(seed).permutation(len(names))] = np.arange(len(names)) % folds
    return fold[number]


def occurrences(X: Sequence[Sequence[str]], texts: Collection[str]) -> Counter[str]:
    """How often each text, words joined by spaces, occurs in sentences."""
    counts = Counter(dict.fromkeys(texts, 0))
    for size in {text.count(" ") + 1 for text in texts}:
        for words in X:
            for text in map(" ".join, zip(*(words[k:] for k in range(size)), strict=False)):
                if text in counts:
                    counts[text] += 1
    return counts


def cross_predict(
    tagger: SequenceTagger,
    X: Any,
    y: Any,
    *,
    folds: int,
    seed: int = 0,
    callback: Callable[[int], Any] | None = None,
) -> Crossed:
    """Label each sentence by a model that was trained on the other folds; see `Folds`."""
    trained = Folds(tagger, MemorySource(X, y), folds=folds, seed=seed, callback=callback)
    model, X = trained.model, trained.data.X
    ids = np.zeros(X.n_tokens, np.int32)
    probabilities = np.zeros((X.n_tokens, len(model.names)), np.float32)
    for one in trained:
        ids[one.tokens], probabilities[one.tokens] = one.model.tag(one.X), one.model.marginals(one.X)
    return Crossed(ids, probabilities, model.names, X.sentence_ptr)


def cross_words(tagger: SequenceTagger, source: MemorySource, *, folds: int, seed: int = 0) -> Judged:
    """Judge each token by a model that has learned no label of the same word, in any sentence.

    Each model makes one pass over all sentences; the labels of the words of its fold are missing.
    """
    whole = Folds(tagger, source, folds=2, seed=seed)
    model, X, y = whole.model, whole.data.X, whole.data.y
    settings = whole.settings | {"epochs": 1, "reprocess": 1, "shards": 1}
    words = (token[0] if isinstance(token, tuple) else token for sentence in source.X for token in sentence)
    fold = np.fromiter((zlib.crc32(f"{word.lower()} {seed}".encode()) % folds for word in words), np.int16)
    probabilities = np.zeros((X.n_tokens, len(model.names)), np.float32)
    for number in np.unique(fold).tolist():
        inside = fold == number
        codes = np.where(inside, -1, y.codes).astype(y.codes.dtype)
        if (codes == -1).all():
            raise ValueError("too few different words have labels; use more text")
        data = type(whole.data)(X, replace(y, codes=codes))
        trained = _after_one_pass(model, data, settings | {"random_state": seed + number})
        _judge(trained, X, inside, probabilities)
        del trained
        release_memory()
    return Judged(probabilities, model.names)


def _after_one_pass(model: TaggerModel, data: Dataset, settings: Mapping[str, Any]) -> TaggerModel:
    """The model after a pass over the data, without the state of its training."""
    optimizer = begin(model, data, settings)
    drop_pages(data.X.rows)
    optimizer.epoch()
    return model.with_weights(optimizer)


def _judge(model: TaggerModel, X: Sequences, inside: np.ndarray, probabilities: np.ndarray) -> None:
    """Set the probabilities of the tokens `inside`; read some sentences at a time."""
    release_memory()
    for first, end in pairwise(shares(X.sentence_ptr, -(-X.n_tokens // PART))):
        tokens = slice(*X.sentence_ptr[[first, end]].tolist())
        here = inside[tokens]
        probabilities[tokens][here] = model.marginals(X[np.arange(first, end)])[here]
        drop_pages(X.rows)
