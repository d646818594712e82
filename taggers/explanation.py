"""Explain why a token got its label: its features, with their names and weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from structsvm.problems.sequence import Sequences
from taggers.features._lexicon import hash_string
from taggers.features.documents import document_keys
from taggers.features.extract import as_columns, item_names
from taggers.features.template import cell_value
from taggers.formats._columns import Columns
from taggers.model import TaggerModel

NO_NAME = "\0"  # compiled code hashes it for the empty name of a ready feature


def explain(model: TaggerModel, tokens: list[Any]) -> list[dict[str, Any]]:
    """Return for each token its label, its margin, and (name, weight) of its features and previous labels."""
    if not tokens:
        return []
    columns = None if model.space.extractor is None else as_columns([tokens])
    features = model.features([tokens] if columns is None else columns)
    margins = np.zeros(len(tokens), np.float32)
    inner = np.zeros(len(tokens), np.int32)
    model.decoder.labels(features, margins=margins, out=inner)
    outer = model.labels.outward(inner, features.sentence_ptr)
    names = _names(model, tokens, columns, features)
    return [
        {
            "token": token,
            "label": model.names[outer[at]],
            "margin": float(margins[at]),
            "features": _ranked(model, names[at], features, at, int(inner[at])),
            "history": _previous_labels(model, inner, at) + _bigrams(model, features, columns, inner, at),
        }
        for at, token in enumerate(tokens)
    ]


def _names(
    model: TaggerModel, tokens: list[Any], columns: Columns | None, features: Sequences
) -> list[list[str]]:
    """The names of the features of each token, without those that the model does not know."""
    space = model.space
    if columns is None or space.template is None or space.extractor is None:
        return [_ready_names(model, tokens, features, at) for at in range(len(tokens))]
    values = space.document_values(columns)
    rows, _ = space.extractor.rows(columns, space.table, fixed=True, document=document_keys(values))
    rows = rows.reshape(len(tokens), -1)
    texts = [columns.texts(column) for column in range(columns.width)]
    span, document = range(len(tokens)), {name: one.texts() for name, one in values.items()}
    others = sorted(space.value_names(columns))
    keys = np.array([hash_string(name) for name in others], np.uint64)
    name_of = dict(zip(space.table.rows(keys).tolist(), others, strict=True))
    last = features.token_ptr[1:].tolist()
    first = (features.token_ptr[:-1] + (rows >= 0).sum(axis=1)).tolist()  # the first feature with a value
    return [
        [
            pattern.name(
                [cell_value(cell, texts, at, span, space.knowledge, document) or "" for cell in pattern.cells]
            )
            for pattern, row in zip(space.extractor.template.patterns, rows[at], strict=True)
            if row >= 0
        ]
        + [name_of.get(row, "") for row in features.rows[first[at] : last[at]].tolist()]
        for at in range(len(tokens))
    ]


def _ready_names(model: TaggerModel, tokens: list[Any], features: Sequences, at: int) -> list[str]:
    """The name of each feature of a token; `item_names` also names values of 0, which are left out."""
    names = list(item_names(tokens[at]))
    rows = model.space.table.rows(
        np.array([hash_string(name or NO_NAME) for name in names], np.uint64)
    ).tolist()
    name_of = dict(zip(rows, names, strict=True))
    part = slice(features.token_ptr[at], features.token_ptr[at + 1])
    return [name_of.get(row, "?") for row in features.rows[part].tolist()]


def _ranked(
    model: TaggerModel, names: Sequence[str], features: Sequences, at: int, label: int
) -> list[tuple[str, float]]:
    part = slice(features.token_ptr[at], features.token_ptr[at + 1])
    weights = model.decoder.feature_rows(features.rows[part])[:, label].astype(float)
    if features.values is not None:
        weights = weights * features.values[part]
    return sorted(zip(names, weights.tolist(), strict=True), key=lambda pair: -abs(pair[1]))


def _bigrams(
    model: TaggerModel, features: Sequences, columns: Columns | None, labels: np.ndarray, at: int
) -> list[tuple[str, float]]:
    """Name and weight of the features that are joined with a previous label."""
    space = model.space
    if space.bigrams is None or columns is None or features.bigrams is None:
        return []
    texts = [columns.texts(column) for column in range(columns.width)]
    found = []
    for pattern, number in zip(space.bigrams.patterns, features.bigrams.ids[at], strict=True):
        before = int(labels[at - pattern.back]) if at >= pattern.back else len(model.labels)
        row = features.bigrams.rows[number, before] if number >= 0 else -1
        if row >= 0:
            span = range(len(labels))
            values = [cell_value(cell, texts, at, span, space.knowledge) or "" for cell in pattern.cells]
            name = pattern.name(values, [*model.labels, "<start>"][before])
            found.append((name, float(model.weights[[model.problem().history + row]][0, labels[at]])))
    return found


def _previous_labels(model: TaggerModel, labels: np.ndarray, at: int) -> list[tuple[str, float]]:
    found = []
    parts = model.labels.columns
    width = len(model.labels.weight_names)
    for back in range(1, (model.labels.order if model.labels.inference == "greedy" else 1) + 1):
        before = parts[labels[at - back]] if at >= back else [width]
        rows = [(back - 1) * (width + 1) + part for part in before]
        name = model.labels[labels[at - back]] if at >= back else "<start>"
        weight = model.weights[rows][:, parts[labels[at]]].sum()
        found.append((f"label[-{back}]={name}", float(weight)))
    return found
