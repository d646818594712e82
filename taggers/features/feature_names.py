"""What the features of a model are called: found again in the text that they came from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from taggers.features.extract import name_rows, pattern_values
from taggers.features.ready import item_names
from taggers.formats._columns import Columns
from taggers.model import TaggerModel

NAME = re.compile(r"(?:\\.|[^:])*", re.DOTALL)


def feature_names(model: TaggerModel, X: Any, known: Sequence[str | None] | None = None) -> list[str | None]:
    """The name of each row of a model's table that X explains, or else its known one, or else None."""
    if model.extractor is None:
        strings = _file_names(X) if isinstance(X, Columns) else _item_names(X)
        names = name_rows(model.table, strings=sorted(set(strings)))
    else:
        columns = X if isinstance(X, Columns) else Columns.from_sentences(X)
        names = name_rows(model.table, model.extractor, [columns])
        _name_pairs(names, model, columns)
    for row, name in enumerate(known or ()):
        names[row] = names[row] or name
    return names


def _name_pairs(names: list[str | None], model: TaggerModel, columns: Columns) -> None:
    """Name the features that are joined with a label before."""
    if model.history is None:
        return
    labels = [*model.labels, "<start>"]
    numbers = model.history.ids(columns)
    for number, pattern, values in pattern_values(numbers, model.history.extractor, columns):
        for before in np.flatnonzero(model.pair_rows[number] >= 0).tolist():
            names[model.pair_rows[number, before]] = pattern.name(values, labels[before])


def _item_names(sentences: Any) -> Iterator[str]:
    return (name for sentence in sentences for token in sentence for name in item_names(token))


def _file_names(columns: Columns) -> Iterator[str]:
    """The names in a file of CRFsuite's format."""
    for (start, length), end in zip(columns.spans[:, 0].tolist(), columns.ends.tolist(), strict=True):
        for item in columns.data[start + length : end].decode().split("\t"):
            name = NAME.match(item)
            if name and name[0]:
                yield re.sub(r"\\(.)", r"\1", name[0], flags=re.DOTALL)
