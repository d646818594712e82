"""The names of features, recovered from the text that the features came from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from taggers.features._extract import Extractor
from taggers.features._lexicon import hash_string
from taggers.features._table import KeyTable
from taggers.features.documents import Values, document_keys
from taggers.features.extract import as_columns, item_names
from taggers.features.template import Pattern, cell_value
from taggers.formats._columns import Columns

if TYPE_CHECKING:
    from taggers.model import TaggerModel


def feature_names(
    model: TaggerModel, X: Any, known: Sequence[str | None] | None = None, first: np.ndarray | None = None
) -> list[str | None]:
    """The name of each feature of a model: from X, or else the known one, or else None.

    first: the labels of the first round that the features were made with, see `FeatureSpace.document_values`.
    """
    if model.space.extractor is None:
        strings = X.format.feature_names(X) if isinstance(X, Columns) else _item_names(X)
        names = name_rows(model.space.table, strings=sorted(set(strings)))
    else:
        columns = as_columns(X)
        names = name_rows(
            model.space.table, model.space.extractor, [columns], model.space.value_names(columns),
            lambda columns: model.space.document_values(columns, first),
        )  # fmt: skip
        _name_bigrams(names, model, columns)
    for row, name in enumerate(known or ()):
        names[row] = names[row] or name
    return names


def name_rows(
    table: KeyTable,
    extractor: Extractor | None = None,
    files: Iterable[Columns] = (),
    strings: Iterable[str] = (),
    values: Callable[[Columns], dict[str, Values]] = lambda columns: {},
) -> list[str | None]:
    """The name of each row of the table, from files read with the extractor's template or from strings.

    A name that occurs in neither is None. values: those that depend on the document, if there are any.
    """
    names: list[str | None] = [None] * len(table)
    known = list(strings)
    keys = np.array([hash_string(text) for text in known], np.uint64)
    for row, text in zip(table.rows(keys).tolist(), known, strict=True):
        if row >= 0:
            names[row] = text
    if extractor is not None:
        for columns in files:
            document = values(columns)
            rows, _ = extractor.rows(columns, table, fixed=True, document=document_keys(document))
            for row, pattern, texts in pattern_values(rows, extractor, columns, document):
                names[row] = names[row] or pattern.name(texts)
    return names


def pattern_values(
    rows: np.ndarray, extractor: Extractor, columns: Columns, values: Mapping[str, Values] | None = None
) -> Iterator[tuple[int, Pattern, list[str]]]:
    """Each of the rows (tokens x patterns, -1: none) once, with its pattern and the values of its cells."""
    patterns, knowledge = extractor.template.patterns, extractor.knowledge
    found, first = np.unique(rows, return_index=True)
    starts = columns.sentence_ptr
    texts = [columns.texts(column) for column in range(columns.width)]
    document = {name: one.texts() for name, one in (values or {}).items()}
    for row, position in zip(found.tolist(), first.tolist(), strict=True):
        if row < 0:
            continue
        token, number = divmod(position, len(patterns))
        sentence = int(np.searchsorted(starts, token, "right")) - 1
        span = range(int(starts[sentence]), int(starts[sentence + 1]))
        cells = patterns[number].cells
        shown = [cell_value(cell, texts, token, span, knowledge, document) or "" for cell in cells]
        yield row, patterns[number], shown


def _name_bigrams(names: list[str | None], model: TaggerModel, columns: Columns) -> None:
    """Name the features that are joined with a previous label."""
    if model.space.bigrams is None:
        return
    labels, rows = [*model.labels, "<start>"], model.space.bigram_rows(model.labels)
    numbers = model.space.bigrams.ids(columns)
    for number, pattern, values in pattern_values(numbers, model.space.bigrams.extractor, columns):
        for before in np.flatnonzero(rows[number] >= 0).tolist():
            names[rows[number, before]] = pattern.name(values, labels[before])


def _item_names(sentences: Any) -> Iterator[str]:
    return (name for sentence in sentences for token in sentence for name in item_names(token))
