"""Encode X and y, in all the forms that taggers accept, as features and labels for training."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from structsvm.problems.sequence import Bigrams, SequenceLabels, Sequences
from taggers.features.attributes import CLUSTER
from taggers.features.extract import cut, encode
from taggers.features.knowledge import Knowledge, read_knowledge, warn_of_strangers
from taggers.features.raw_text import NAME as TEXT
from taggers.features.raw_text import text_classes
from taggers.features.ready_features import encode_dicts, encode_items
from taggers.features.template import Template, fitting_template
from taggers.features.word_classes import WORDS, find_word_classes
from taggers.formats._columns import Columns
from taggers.labels.label_encoding import GoldLabels
from taggers.model import TaggerModel


def as_sentences(X: Any) -> Any:
    """X with lengths: generators become lists."""
    if isinstance(X, Columns):
        return X
    if not isinstance(X, Iterable):
        raise TypeError(f"X must be a list of sentences, got {X!r}"[:300])
    return [as_tokens(sentence) for sentence in X]


def as_tokens(sentence: Any) -> list[Any]:
    """A sentence as a list of tokens; a string is rejected, because it would become a list of letters."""
    if isinstance(sentence, str):
        raise TypeError(
            f"a sentence must be a list of tokens, got the string {sentence[:40]!r}; split it into words "
            "(structsvm tag does this for plain text files)"
        )
    if not isinstance(sentence, Iterable):
        raise TypeError(f"a sentence must be a list of tokens, got {sentence!r}"[:300])
    return list(sentence)


def n_sentences(X: Any) -> int:
    """The number of sentences."""
    return X.n_sentences if isinstance(X, Columns) else len(X)


def as_columns(X: Any) -> Columns:
    """Sentences of tokens as columns."""
    return X if isinstance(X, Columns) else Columns.from_sentences(X)


def has_ready_features(X: Any) -> bool:
    """Whether tokens are given by their features (dicts, lists of names), not by words or columns."""
    if isinstance(X, Columns):
        return X.format.ready
    return not isinstance(_first_token(X), (str, tuple))


def input_width(X: Any, gold: GoldLabels) -> int:
    """The number of input columns: those before the column of the labels."""
    if isinstance(X, Columns):
        return X.width if gold.column is None else gold.column
    first = _first_token(X)
    return len(first) if isinstance(first, tuple) else 1


def new_template(X: Any, width: int, settings: Mapping[str, Any]) -> tuple[Template, Knowledge]:
    """The template of new training data, and the knowledge that it uses; X may be empty."""
    knowledge = read_knowledge(
        settings["classes"], settings["gazetteers"], folded=settings["fold_gazetteers"],
        most=settings["class_words"], n_classes=settings["n_classes"],
    )  # fmt: skip
    columns = as_columns(X)
    if settings["text"] is not None:
        if TEXT in knowledge.names:
            raise ValueError(
                f"the classes of --text are called {TEXT}; choose another name for the other ones"
            )
        classes, _ = text_classes(settings["text"], settings["n_classes"], columns=columns)
        knowledge = knowledge.with_classes({TEXT: classes})
    template = fitting_template(settings["template"], width, knowledge)
    if unread := template.unread(width):
        warnings.warn(
            f"no pattern of the template reads the input {'column' if len(unread) == 1 else 'columns'} "
            f"{', '.join(unread)} (w is the first, p the second, c2 the third); extend the template, as in "
            f"'ner + {unread[0]}[0]', or leave the column out",
            stacklevel=5,
        )
    unused = template.unused(knowledge)
    if unused:
        warnings.warn(
            f"no pattern of the template reads {', '.join(unused)}; extend the template, as in "
            f"'{unused[0]}[-1..1]'",
            stacklevel=5,
        )
    knowledge = knowledge.without(unused)
    if columns.n_tokens:
        warn_of_strangers(knowledge, columns)
    if template.needs_word_classes:
        knowledge = knowledge.with_classes({CLUSTER: find_word_classes(columns)})
    return template, knowledge


def _first_token(X: Any) -> Any:
    return next((sentence[0] for sentence in X if len(sentence)), "")


def word_keys(X: Any) -> np.ndarray:
    """The hashes of the words; empty if tokens are given by their features."""
    return np.zeros(0, np.uint64) if has_ready_features(X) else WORDS.keys(as_columns(X))[:, 0]


def as_gold(X: Any, y: Any) -> GoldLabels:
    """The gold labels of X: a list for each sentence, the number of a column, or `GoldLabels`."""
    if isinstance(y, GoldLabels):
        return y
    if isinstance(y, (int, np.integer)) and isinstance(X, Columns):
        return GoldLabels.from_column(X, int(y))
    if y is None:
        raise ValueError("a tagger requires y to be passed, but the target y is None")
    y = [list(labels) for labels in y]
    lengths = np.diff(X.sentence_ptr).tolist() if isinstance(X, Columns) else [len(tokens) for tokens in X]
    if len(y) != len(lengths):
        raise ValueError(f"X has {len(lengths)} sentences but y has {len(y)}")
    for number, (labels, length) in enumerate(zip(y, lengths, strict=True)):
        if len(labels) != length:
            raise ValueError(f"sentence {number} has {length} tokens but {len(labels)} labels")
    return GoldLabels.from_lists(y)


def training_gold(X: Any, y: Any) -> GoldLabels:
    """The gold labels to learn from; if they are a column, it is the last one, after those of the inputs."""
    gold = as_gold(X, y)
    if gold.column is not None and gold.column + gold.n_columns != X.width:
        raise ValueError(
            f"the label column must be the last of the {X.width} columns that were read, got column "
            f"{gold.column}; read the input columns first and the label column last"
        )
    return gold


def known_features(X: Any, model: TaggerModel) -> Sequences:
    """The features of X that the model knows."""
    if model.extractor is None:
        return encode_items(X, model.table) if isinstance(X, Columns) else encode_dicts(X, model.table)
    _check_tokens(X)
    return model.features(as_columns(X))


def new_features(X: Any, y: SequenceLabels, model: TaggerModel, *, cutoff: int | None = None) -> Sequences:
    """The features of X; the model learns the new ones, and forgets rare ones if there is a cutoff."""
    if model.extractor is None:
        encoder = encode_items if isinstance(X, Columns) else encode_dicts
        features = encoder(X, model.table, grow=True)
    else:
        _check_tokens(X)
        features = encode(as_columns(X), model.extractor, model.table, grow=True)
    counted = [features]
    bigrams = model.label_bigrams
    if bigrams is not None:
        ids = bigrams.ids(as_columns(X), grow=True)
        counted.append(bigrams.learn(ids, y, model.table, model.labels))
    if cutoff is not None:
        (features, *_), model.table = cut(counted, model.table, cutoff)
    if bigrams is not None:
        model.__dict__.pop("bigram_rows", None)
        features = replace(features, bigrams=Bigrams(ids, model.bigram_rows))
    return features


def _check_tokens(X: Any) -> None:
    if has_ready_features(X):
        raise ValueError(
            "this tagger extracts its features from words with a template, but X has features; pass tokens"
        )


def check_codes(codes: np.ndarray) -> None:
    """Reject data in which no token is labelled."""
    if not len(codes):
        raise ValueError("the data set is empty; pass at least one token")
    if (codes == -1).all():
        raise ValueError("no token has a gold label; label at least one token")
