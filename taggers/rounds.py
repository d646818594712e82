"""The first round of a tagger whose features use labels elsewhere in the document.

In training, the second round must see labels that are as good as those that it sees later, and no better.
Therefore, models that were trained on other documents label the training data.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from structsvm.problems.sequence import SequenceLabels, Sequences
from taggers.features.documents import document_numbers
from taggers.features.extract import KeyTable, as_columns
from taggers.model import TaggerModel
from taggers.trainer import Dataset, Settings, begin, figures_of, train

FOLDS = 3


def first_round(
    X: Any, y: SequenceLabels, model: TaggerModel, settings: Settings, sample_weight: Any = None
) -> tuple[TaggerModel, np.ndarray]:
    """The model of the first round, and the labels of the training data, as positions in its names."""
    assert model.space.template is not None
    template = model.space.template.of_first_round()
    space = replace(model.space, template=template, table=KeyTable(), bigram_numbers=KeyTable())
    first = replace(model, space=space)
    features = space.learn(X, y, model.labels, cutoff=settings["cutoff"])
    settings = {**settings, "callback": None}
    weight = None if sample_weight is None else np.asarray(sample_weight)
    trained = _trained(first, features, y, settings, weight)
    labels = trained.tag(features)
    fold = _folds(as_columns(X), model.space.documents)
    for number in range(FOLDS):
        inside, outside = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
        if len(inside) and (y[outside].codes != -1).any():
            part = None if weight is None else weight[outside]
            other = _trained(first, features[outside], y[outside], settings, part)
            labels[np.repeat(fold == number, np.diff(y.sentence_ptr))] = other.tag(features[inside])
    return trained, labels


def _folds(columns: Any, size: int) -> np.ndarray:
    """The fold of each sentence: documents stay together, unless there are too few."""
    numbers = np.zeros(columns.n_sentences, np.int64)
    tokens = document_numbers(columns, size)
    filled = np.diff(columns.sentence_ptr) > 0
    numbers[filled] = tokens[columns.sentence_ptr[:-1][filled]]
    enough = len(np.unique(numbers)) >= FOLDS
    return (numbers if enough else np.arange(len(numbers))) % FOLDS


def _trained(
    model: TaggerModel, X: Sequences, y: SequenceLabels, settings: Settings, weight: Any
) -> TaggerModel:
    dataset = Dataset(X, y)
    optimizer, fingerprint = begin(model, dataset, settings, weight), dataset.fingerprint()
    return train(
        model, optimizer, settings, len(X), X.n_tokens, figures=lambda _: figures_of(optimizer, fingerprint)
    )
