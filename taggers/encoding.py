"""What people give a tagger, X and y in their many forms, as features and labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from structsvm.problems.sequence.bigrams import Bigrams
from structsvm.problems.sequence.problem import SequenceLabels, Sequences
from taggers.features.extract import Features, cut, encode, encode_items
from taggers.features.ready import encode_dicts
from taggers.features.word_classes import Clusters, find_clusters
from taggers.formats._columns import Columns
from taggers.labels._labels import Labels
from taggers.labels.label_encoding import choices
from taggers.model import TaggerModel


def materialised(X: Any) -> Any:
    """X with lengths: sentences from generators become lists."""
    return X if isinstance(X, Columns) else [tokens_of(sentence) for sentence in X]


def tokens_of(sentence: Any) -> list[Any]:
    """A sentence as a list; a string would be one of letters."""
    if isinstance(sentence, str):
        raise TypeError(
            f"a sentence is a list of tokens, not a string such as {sentence[:40]!r}: split it into words "
            "(structsvm tag does so with files of plain text)"
        )
    return list(sentence)


def kind(X: Any) -> str:
    """tokens (words or columns of them) or items (features ready made)."""
    if isinstance(X, Columns):
        return "items" if X.format == "crfsuite" else "tokens"
    first = next((sentence[0] for sentence in X if len(sentence)), "")
    return "tokens" if isinstance(first, (str, tuple)) else "items"


def width(X: Any, y: Any) -> int:
    """How many columns of input there are: those before the labels, where y is the place of their column."""
    if isinstance(X, Columns):
        return int(y) if isinstance(y, (int, np.integer)) else X.width
    first = next((sentence[0] for sentence in X if len(sentence)), "")
    return 1 if isinstance(first, str) else len(first)


def words(X: Any) -> np.ndarray:
    """Keys of the words."""
    if kind(X) == "items":
        return np.zeros(0, np.uint64)
    return TaggerModel.word_keys(X if isinstance(X, Columns) else Columns.from_sentences(X))


def clusters(X: Any) -> Clusters:
    """The clusters of the words."""
    return find_clusters(X if isinstance(X, Columns) else Columns.from_sentences(X))


def merged(known: np.ndarray, more: np.ndarray) -> np.ndarray:
    """Distinct keys, sorted, with more of them; where nothing is new, this costs next to nothing."""
    if len(known):
        more = more[known.take(np.searchsorted(known, more), mode="clip") != more]
    if not len(more):
        return known
    more = np.unique(more[more != 0])
    return np.insert(known, np.searchsorted(known, more), more)


def gold_of(X: Any, y: Any) -> list[Sequence[Any]]:
    """The labels of each sentence; `_` in CoNLL-U is a missing one."""
    if isinstance(y, (int, np.integer)) and isinstance(X, Columns):
        labels = Labels()
        ids = labels.ids(X, int(y), grow=True)
        names = [None if name == "_" and X.format == "conllu" else name for name in labels.names]
        return split(ids, [*names, ""], X.sentence_ptr)  # an empty label has the number -1
    if y is None:
        raise ValueError("a tagger requires y to be passed, but the target y is None")
    y = [list(labels) for labels in y]
    lengths = np.diff(X.sentence_ptr).tolist() if isinstance(X, Columns) else [len(tokens) for tokens in X]
    if len(y) != len(lengths):
        raise ValueError(f"X has {len(lengths)} sentences but y has {len(y)}")
    for number, (labels, length) in enumerate(zip(y, lengths, strict=True)):
        if len(labels) != length:
            raise ValueError(f"sentence {number} has {length} tokens but {len(labels)} labels")
    return y


def features_of(X: Any, model: TaggerModel, *, grow: bool = False) -> Features:
    """The features of X as the model numbers them; with `grow`, new ones are added to its table."""
    if model.extractor is None:
        encoder = encode_items if isinstance(X, Columns) else encode_dicts
        return encoder(X, model.table, grow=grow)
    if kind(X) == "items":
        raise ValueError(
            "this tagger makes its features from words by a template, but X holds features: give tokens"
        )
    columns = X if isinstance(X, Columns) else Columns.from_sentences(X)
    if not grow:
        return model.features(columns)
    features = encode(columns, model.extractor, model.table, grow=True)
    if model.history is not None:
        none = np.zeros((0, 1), np.int32)  # `learnable` gives them rows, once labels are known
        features = replace(features, bigrams=Bigrams(model.history.ids(columns, grow=True), none))
    return features


def learnable(
    features: Features, codes: np.ndarray, model: TaggerModel, cutoff: int | None = None
) -> Features:
    """Features with rows for those joined with a label before, and without rare ones, also in the model."""
    parts = [features]
    if model.history is not None:
        parts.append(model.history.learn(features, codes, model.table, model.labels))
    if cutoff is not None:
        (features, *_), model.table = cut(parts, model.table, cutoff)
    if features.bigrams is not None:
        model.__dict__.pop("pair_rows", None)
        features = replace(features, bigrams=Bigrams(features.bigrams.ids, model.pair_rows))
    return features


def examples(
    features: Features, codes: np.ndarray, sets: list[np.ndarray]
) -> tuple[Sequences, SequenceLabels]:
    """What optimizers learn from."""
    check_codes(codes)
    X = Sequences(features.rows, features.token_ptr, features.sentence_ptr, features.values, features.bigrams)
    return X, SequenceLabels(codes, features.sentence_ptr, sets)


def check_codes(codes: np.ndarray) -> None:
    """Refuse data without anything to learn from."""
    if not len(codes):
        raise ValueError("the data set is empty: there is no token to learn from")
    if (codes == -1).all():
        raise ValueError("no token has a gold label: there is nothing to learn from")


def split(ids: np.ndarray, names: Sequence[Any], sentence_ptr: np.ndarray) -> list[Any]:
    """Label ids as a list of names for each sentence."""
    flat = np.array(names, dtype=object)[ids].tolist()  # no loop in Python
    return [flat[start:stop] for start, stop in pairwise(sentence_ptr.tolist())]


def accuracy(golden: Sequence[Sequence[Any]], predicted: Sequence[Sequence[str]]) -> float:
    """The share of tokens with a label that is allowed, among those with gold."""
    pairs = [
        pair
        for labels, others in zip(golden, predicted, strict=True)
        for pair in zip(labels, others, strict=True)
        if pair[0] is not None
    ]
    return sum(label in choices(right, ()) for right, label in pairs) / max(len(pairs), 1)


def score(golden: Sequence[Sequence[Any]], predicted: Sequence[Sequence[str]], outer: str) -> float:
    """F1 of phrases where labels mark some, which is where they have a scheme, else accuracy."""
    from taggers.conlleval import evaluate

    if outer == "none" or any(not isinstance(label, str) for labels in golden for label in labels):
        return accuracy(golden, predicted)
    return evaluate(golden, predicted).f1
