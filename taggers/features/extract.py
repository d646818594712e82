"""Features of many sentences as flat arrays, and the table from keys to rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from structsvm.problems.sequence.bigrams import Bigrams
from taggers.features._extract import Extractor, count_rows, remap
from taggers.features._lexicon import hash_string
from taggers.features._ready import item_rows
from taggers.features._table import KeyTable
from taggers.features.template import Pattern, cell_value
from taggers.formats._columns import Columns

# How keys are made, for the model file: a model made otherwise is of no use. Change it with _hash.pxd.
HASHING = "murmurhash64a, seeds 1 2 3, mix 1"

__all__ = [
    "HASHING",
    "Extractor",
    "Features",
    "KeyTable",
    "add_dense",
    "concatenate",
    "cut",
    "encode",
    "encode_items",
    "name_rows",
    "pattern_values",
]


@dataclass(frozen=True)
class Features:
    """Which feature rows each token has: token t has ``rows[token_ptr[t]:token_ptr[t + 1]]``.

    Sentence s has the tokens ``sentence_ptr[s]`` to ``sentence_ptr[s + 1]``; `values` go with the rows, and
    are None where all are 1. `bigrams` are features joined with a label before, where the template has some.
    """

    rows: np.ndarray  # int32
    token_ptr: np.ndarray  # int64
    sentence_ptr: np.ndarray  # int64
    values: np.ndarray | None = None  # float32
    bigrams: Bigrams | None = None

    @property
    def n_tokens(self) -> int:
        return len(self.token_ptr) - 1

    @property
    def n_sentences(self) -> int:
        return len(self.sentence_ptr) - 1


def encode(columns: Columns, extractor: Extractor, table: KeyTable, *, grow: bool = False) -> Features:
    """The features that a template gives the tokens; with `grow`, new ones become new rows of the table."""
    rows, token_ptr = extractor.rows(columns, table, grow=grow)
    return Features(rows, token_ptr, columns.sentence_ptr)


def encode_items(columns: Columns, table: KeyTable, *, grow: bool = False) -> Features:
    """The features written in a file of CRFsuite's format."""
    rows, token_ptr, values = item_rows(columns, table, grow=grow)
    return Features(rows, token_ptr, columns.sentence_ptr, values)


def concatenate(parts: Sequence[Features]) -> Features:
    """Many sets of sentences as one."""
    if len(parts) == 1:
        return parts[0]
    values = None
    if any(part.values is not None for part in parts):
        values = np.concatenate([_values(part) for part in parts])
    rows = np.concatenate([part.rows for part in parts]) if parts else np.empty(0, np.int32)
    return Features(
        rows, _join([part.token_ptr for part in parts]), _join([part.sentence_ptr for part in parts]), values
    )


def cut(parts: Sequence[Features], table: KeyTable, cutoff: int) -> tuple[list[Features], KeyTable]:
    """Drop the features that occur fewer than `cutoff` times in all parts; the others keep their order."""
    counts = np.zeros(len(table), np.int64)
    for part in parts:
        count_rows(counts, part.rows)
    keep = counts >= max(cutoff, 1)
    if keep.all():
        return list(parts), table
    new_row = np.where(keep, np.cumsum(keep) - 1, -1).astype(np.int32)
    kept = []
    for part in parts:
        rows, token_ptr = remap(part.rows, part.token_ptr, new_row)
        values = None if part.values is None else part.values[keep[part.rows]]
        kept.append(replace(part, rows=rows, token_ptr=token_ptr, values=values))
    return kept, KeyTable(table.keys[keep])


def add_dense(
    features: Features, dense: np.ndarray, table: KeyTable, *, name: str = "dense", grow: bool = False
) -> Features:
    """Append real-valued features, a row of `dense` for each token: pixels, or embeddings.

    Column j is the feature called ``name[j]``. Zeros are left out.
    """
    dense = np.ascontiguousarray(dense, np.float32)
    if dense.ndim != 2 or len(dense) != features.n_tokens:
        raise ValueError(f"dense features of shape {dense.shape} for {features.n_tokens} tokens")
    if not np.isfinite(dense).all():
        raise ValueError("dense features hold NaN or infinity")
    keys = [hash_string(f"{name}[{j}]") for j in range(dense.shape[1])]
    row_of = table.rows(np.array(keys, np.uint64), grow=grow)
    token, column = np.nonzero(dense * (row_of >= 0))
    sparse = np.repeat(np.arange(features.n_tokens), np.diff(features.token_ptr))
    # Stable by token: a token's own features first, then its dense ones.
    order = np.argsort(np.concatenate([sparse, token]), kind="stable")
    counts = np.bincount(token, minlength=features.n_tokens)
    token_ptr = features.token_ptr + np.concatenate([[0], np.cumsum(counts)])
    rows = np.concatenate([features.rows, row_of[column]])[order]
    values = np.concatenate([_values(features), dense[token, column]])[order]
    return Features(rows, token_ptr, features.sentence_ptr, values)


def name_rows(
    table: KeyTable,
    extractor: Extractor | None = None,
    files: Iterable[Columns] = (),
    strings: Iterable[str] = (),
) -> list[str | None]:
    """What each row is called, for inspection: found again in the text that the features came from.

    Rows that neither the files (through the extractor's template) nor the given strings explain are None.
    """
    names: list[str | None] = [None] * len(table)
    texts = list(strings)
    keys = np.array([hash_string(text) for text in texts], np.uint64)
    for row, text in zip(table.rows(keys).tolist(), texts, strict=True):
        if row >= 0:
            names[row] = text
    if extractor is not None:
        for columns in files:
            rows, _ = extractor.rows(columns, table, fixed=True)
            for row, pattern, values in pattern_values(rows, extractor, columns):
                names[row] = names[row] or pattern.name(values)
    return names


def pattern_values(
    rows: np.ndarray, extractor: Extractor, columns: Columns
) -> Iterator[tuple[int, Pattern, list[str]]]:
    """Each of the rows (tokens x patterns, -1: none) once, with its pattern and the values of its cells."""
    patterns, clusters = extractor.template.patterns, extractor.clusters
    found, first = np.unique(rows, return_index=True)
    starts = columns.sentence_ptr
    texts = [columns.texts(column) for column in range(columns.width)]
    for row, place in zip(found.tolist(), first.tolist(), strict=True):
        if row < 0:
            continue
        token, number = divmod(place, len(patterns))
        sentence = int(np.searchsorted(starts, token, "right")) - 1
        span = range(int(starts[sentence]), int(starts[sentence + 1]))
        values = [cell_value(cell, texts, token, span, clusters) or "" for cell in patterns[number].cells]
        yield row, patterns[number], values


def _values(features: Features) -> np.ndarray:
    return np.ones(len(features.rows), np.float32) if features.values is None else features.values


def _join(pointers: list[np.ndarray]) -> np.ndarray:
    joined = [np.zeros(1, np.int64)]
    for pointer in pointers:
        joined.append(pointer[1:] + joined[-1][-1])
    return np.concatenate(joined)
