"""Extract the features of many sentences as flat arrays, drop rare ones, and add real-valued ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from structsvm.problems.sequence import Sequences
from taggers.features._extract import Extractor, count_rows, remap
from taggers.features._lexicon import hash_string
from taggers.features._table import KeyTable
from taggers.formats._columns import Columns

# How keys are computed: a model file with another value is rejected. Change it together with _hash.pxd.
HASHING = "murmurhash64a, seeds 1 2 3, mix 1"

__all__ = ["HASHING", "Extractor", "KeyTable", "add_dense", "concatenate", "cut", "encode"]


def encode(columns: Columns, extractor: Extractor, table: KeyTable, *, grow: bool = False) -> Sequences:
    """The features that a template gives the tokens; with `grow`, new ones become new rows of the table."""
    rows, token_ptr = extractor.rows(columns, table, grow=grow)
    return Sequences(rows, token_ptr, columns.sentence_ptr)


def concatenate(parts: Sequence[Sequences]) -> Sequences:
    """Several data sets as one."""
    if len(parts) == 1:
        return parts[0]
    values = None
    if any(part.values is not None for part in parts):
        values = np.concatenate([_values(part) for part in parts])
    rows = np.concatenate([part.rows for part in parts]) if parts else np.empty(0, np.int32)
    return Sequences(
        rows, _join([part.token_ptr for part in parts]), _join([part.sentence_ptr for part in parts]), values
    )


def cut(parts: Sequence[Sequences], table: KeyTable, cutoff: int) -> tuple[list[Sequences], KeyTable]:
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
    features: Sequences, dense: np.ndarray, table: KeyTable, *, name: str = "dense", grow: bool = False
) -> Sequences:
    """Append real-valued features such as pixels or embeddings; `dense` has a row for each token.

    Column j is the feature called ``name[j]``. Zeros are left out.
    """
    dense = np.ascontiguousarray(dense, np.float32)
    if dense.ndim != 2 or len(dense) != features.n_tokens:
        raise ValueError(f"dense features of shape {dense.shape} for {features.n_tokens} tokens")
    if not np.isfinite(dense).all():
        raise ValueError("dense features contain NaN or infinity")
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
    return Sequences(rows, token_ptr, features.sentence_ptr, values)


def _values(features: Sequences) -> np.ndarray:
    return np.ones(len(features.rows), np.float32) if features.values is None else features.values


def _join(pointers: list[np.ndarray]) -> np.ndarray:
    joined = [np.zeros(1, np.int64)]
    for pointer in pointers:
        joined.append(pointer[1:] + joined[-1][-1])
    return np.concatenate(joined)
