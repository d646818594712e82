"""The first round of a tagger whose features use labels elsewhere in the document.

In training, the second round must see labels that are as good as those that it sees later, and no better.
Therefore, each document is labelled by a model that was trained on the other two thirds of the documents. The
mean of the three models is the model of the first round: it costs nothing, and is not much better than each
of them. Both rounds share the features that do not depend on the document.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from structsvm.files import SparseRows
from structsvm.problems.sequence import SequenceLabels, Sequences
from structsvm.validation import n_threads
from taggers.features.documents import document_numbers
from taggers.features.extract import KeyTable, as_columns
from taggers.model import TaggerModel
from taggers.trainer import Dataset, Settings, begin, figures_of, train

FOLDS = 3
REPROCESS = 1  # LaRank costs less than half, and its labels are good enough


def learn_rounds(
    X: Any,
    y: SequenceLabels,
    model: TaggerModel,
    settings: Settings,
    sample_weight: Any = None,
    features: Sequences | None = None,
) -> tuple[Sequences, np.ndarray]:
    """Train the first round of a model; return the features of the second round, which the model learns.

    Also returns the labels of the first round, as positions in the names of its model. features: those of
    the first round, if the model knows them already.
    """
    template = model.space.template
    assert template is not None
    space = replace(model.space, template=template.of_first_round())
    if features is None:
        space.table, space.bigram_numbers = KeyTable(), KeyTable()
        jobs = n_threads(settings["jobs"])
        features = space.learn(X, y, model.labels, cutoff=settings["cutoff"], jobs=jobs)
    weight = None if sample_weight is None else np.asarray(sample_weight)
    first, labels = first_round(X, y, replace(model, space=space), features, settings, weight)
    model.space = replace(
        space, template=template, table=KeyTable(space.table.keys), first_round=first, names=None
    )
    return model.space.add_document(X, features, labels, settings["cutoff"]), labels


def first_round(
    X: Any, y: SequenceLabels, model: TaggerModel, features: Sequences, settings: Settings, weight: Any
) -> tuple[TaggerModel, np.ndarray]:
    """The model of the first round, and the labels of the training data, as positions in its names."""
    settings = {**settings, "callback": None, "reprocess": min(settings["reprocess"], REPROCESS)}
    fold, sizes = _folds(as_columns(X), model.space.documents), np.diff(y.sentence_ptr)
    parts, labels = [], np.zeros(features.n_tokens, np.int64)
    for number in range(FOLDS):
        inside, outside = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
        if not len(inside) or (y[outside].codes == -1).all():  # there are too few sentences
            outside = np.arange(len(y))
        part = None if weight is None else weight[outside]
        parts.append(_trained(model, features[outside], y[outside], settings, part))
        labels[np.repeat(fold == number, sizes)] = parts[-1].tag(features[inside])
    return model.with_rows(SparseRows.mean([part.weights for part in parts])), labels


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
