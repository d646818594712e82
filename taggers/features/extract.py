"""Encode sentences as flat arrays of features: those of a template, ready ones, and real-valued ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from structsvm.files.atomic import drop_pages, joined_on_disk
from structsvm.problems.sequence import Sequences
from structsvm.threads import StoppablePool
from taggers.features._extract import Extractor, count_rows, remap
from taggers.features._lexicon import hash_string
from taggers.features._ready_features import dict_rows
from taggers.features._table import KeyTable
from taggers.formats._columns import Columns

Item = Mapping[str, Any] | Iterable[str]
SMALLEST = 10_000  # tokens of a thread
WRITTEN = 50_000  # tokens whose rows are written to a file at once

# How keys are computed: a model file with another value is rejected. Change it together with _hash.pxd.
HASHING = "murmurhash64a, seeds 1 2 3, mix 1"

__all__ = [
    "HASHING", "Extractor", "KeyTable", "add_dense", "as_columns", "concatenate", "cut", "encode",
    "encode_dicts", "encode_items", "encode_ready", "first_token", "has_own_features", "has_ready_features",
    "item_names", "joined", "shares",
]  # fmt: skip


def has_ready_features(X: Any) -> bool:
    """Whether tokens are given by their features (dicts, lists of names), not by words or columns."""
    if isinstance(X, Columns):
        return X.format.ready
    return not isinstance(first_token(X), (str, tuple))


def first_token(X: Any) -> Any:
    """The first token of sentences, or an empty one."""
    return next((sentence[0] for sentence in X if len(sentence)), "")


def as_columns(X: Any) -> Columns:
    """Sentences of words as columns; reject ready features."""
    if has_ready_features(X):
        raise ValueError(
            "this tagger extracts its features from words with a template, but X has features; pass tokens"
        )
    if isinstance(X, Columns):
        return X
    if not has_own_features(first_token(X)):
        return Columns.from_sentences(X)
    for tokens in X:
        for token in tokens:
            if not has_own_features(token):
                text = f"the last element of token {token!r:.200} must be a dict, as in the first one"
                raise ValueError(text)
    columns = Columns.from_sentences([[token[:-1] for token in tokens] for tokens in X])
    columns.own = [[token[-1] for token in tokens] for tokens in X]
    return columns


def has_own_features(token: Any) -> bool:
    """Whether the last element of a token is a dict of features, as in ``("Rome", {"capital": 1})``."""
    return isinstance(token, tuple) and len(token) > 1 and isinstance(token[-1], Mapping)


def encode(
    columns: Columns,
    extractor: Extractor,
    table: KeyTable,
    *,
    grow: bool = False,
    document: np.ndarray | None = None,
    jobs: int = 1,
    scratch: bool = False,
) -> Sequences:
    """The features that a template gives the tokens; with `grow`, new ones become new rows of the table.

    document: the values that depend on the document, as `Extractor.rows` expects them. jobs: the number of
    threads; it does not change the result, as new features are numbered by their first tokens. scratch:
    write the rows to a temporary file while they are extracted, if there is one thread.
    """
    if scratch and jobs == 1:
        steps = pairwise(shares(columns.sentence_ptr, columns.n_tokens // WRITTEN + 1))
        rows, token_ptr = _written(
            extractor.rows(columns, table, grow=grow, document=document, start=start, stop=stop)
            for start, stop in steps
        )
        return Sequences(rows, token_ptr, columns.sentence_ptr)
    bounds = shares(columns.sentence_ptr, min(jobs, columns.n_tokens // SMALLEST))
    tables = [KeyTable() if grow and k else table for k in range(len(bounds) - 1)]
    parts: list[Any] = [None] * len(tables)

    def extract(k: int) -> None:
        start, stop = bounds[k : k + 2]
        parts[k] = extractor.rows(columns, tables[k], grow=grow, document=document, start=start, stop=stop)

    if len(parts) == 1:
        extract(0)
        ((rows, token_ptr),) = parts
        return Sequences(rows, token_ptr, columns.sentence_ptr)
    with StoppablePool(len(parts)) as pool:
        list(pool.map(extract, range(len(parts))))
        ends = np.cumsum([len(own) for own, _ in parts])
        rows = np.empty(ends[-1], np.int32)
        row_of = [table.rows(own.keys, grow=True) if own is not table else rows for own in tables]

        def put(k: int) -> None:
            own, out = parts[k][0], rows[ends[k] - len(parts[k][0]) : ends[k]]
            if tables[k] is table:
                out[:] = own
            else:
                np.take(row_of[k], own, out=out, mode="clip")  # the only mode that does not copy

        list(pool.map(put, range(len(parts))))
    return Sequences(rows, _join([token_ptr for _, token_ptr in parts]), columns.sentence_ptr)


def shares(sentence_ptr: np.ndarray, jobs: int) -> list[int]:
    """Sentence numbers that split the tokens into about equal shares."""
    n = len(sentence_ptr) - 1
    if jobs <= 1:
        return [0, n]
    aims = np.linspace(0, sentence_ptr[-1], min(max(jobs, 1), max(n, 1)) + 1)[1:-1]
    return [0, *np.searchsorted(sentence_ptr, aims).tolist(), n]


def encode_items(columns: Columns, table: KeyTable, *, grow: bool = False) -> Sequences:
    """The ready features of a file; with `grow`, new ones become new rows of the table."""
    rows, token_ptr, values = columns.format.features(columns, table, grow=grow)
    return Sequences(rows, token_ptr, columns.sentence_ptr, values)


def encode_dicts(sentences: Iterable[Iterable[Item]], table: KeyTable, *, grow: bool = False) -> Sequences:
    """The features of sentences whose tokens are dicts or lists, as in python-crfsuite.

    A list holds names. A dict maps a name to a number or a bool (the value), to a str (``name:text``), or to
    a dict or list of more features, whose names follow ``name:``. Features with value 0 are left out.
    """
    rows, token_ptr, sentence_ptr, values = dict_rows(sentences, table, grow=grow)
    return Sequences(rows, token_ptr, sentence_ptr, values)


def encode_ready(X: Any, table: KeyTable, *, grow: bool = False) -> Sequences:
    """The ready features of a file, or of sentences in Python."""
    return (encode_items if isinstance(X, Columns) else encode_dicts)(X, table, grow=grow)


def item_names(item: Item, prefix: str = "") -> Iterator[str]:
    """The names of one token's features, as they are hashed.

    >>> list(item_names({"bias": 1.0, "word": "cat", "next": {"word": "sat", "is_title": True}}))
    ['bias', 'word:cat', 'next:word:sat', 'next:is_title']
    """
    if not isinstance(item, Mapping):
        yield from (prefix + _as_text(name) for name in item)
        return
    for key, value in item.items():
        name = _as_text(key)
        if isinstance(value, (str, bytes)):
            yield f"{prefix}{name}:{_as_text(value)}"
        elif isinstance(value, (Mapping, list, tuple, set, frozenset)):
            yield from item_names(value, f"{prefix}{name}:")
        else:
            yield prefix + name


def _as_text(name: str | bytes) -> str:
    return name.decode(errors="replace") if isinstance(name, bytes) else name


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
        for rows, _ in _pieces(part):
            count_rows(counts, rows)
    keep = counts >= max(cutoff, 1)
    if keep.all():
        return list(parts), table
    new_row = np.where(keep, np.cumsum(keep) - 1, -1).astype(np.int32)
    kept = []
    for part in parts:
        if isinstance(part.rows, np.memmap):
            rows, token_ptr = _written(remap(*piece, new_row) for piece in _pieces(part))
        else:
            rows, token_ptr = remap(part.rows, part.token_ptr, new_row)
        values = None if part.values is None else part.values[keep[part.rows]]
        kept.append(replace(part, rows=rows, token_ptr=token_ptr, values=values))
    table.pack()
    return kept, KeyTable(table.keys[keep])


def _pieces(features: Sequences) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The rows, and where those of each token begin; if they are on disk, for some tokens at a time."""
    n = features.n_tokens
    step = WRITTEN if isinstance(features.rows, np.memmap) else max(n, 1)
    for start in range(0, n, step):
        pointers = features.token_ptr[start : start + step + 1]
        yield features.rows[pointers[0] : pointers[-1]], pointers - pointers[0]
        drop_pages(features.rows)


def _written(found: Iterable[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Write the rows of one part of the tokens after another; return all rows, and where tokens begin."""
    pointers = []

    def rows() -> Iterator[np.ndarray]:
        for rows, token_ptr in found:
            pointers.append(token_ptr)
            yield rows

    return joined_on_disk(rows(), np.int32), _join(pointers)


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
    token_ptr = np.concatenate([[0], np.cumsum(np.bincount(token, minlength=features.n_tokens))])
    more = Sequences(row_of[column], token_ptr, features.sentence_ptr, dense[token, column])
    return joined([features, more])


def joined(parts: Sequence[Sequences]) -> Sequences:
    """Join several parts of the features of the same tokens."""
    if len(parts) == 1:
        return parts[0]
    token_ptr = np.sum([part.token_ptr for part in parts], axis=0)
    rows, values = np.empty(token_ptr[-1], np.int32), None
    if any(part.values is not None for part in parts):
        values = np.empty(token_ptr[-1], np.float32)
    place = token_ptr[:-1].copy()  # of the next feature of each token
    for part in parts:
        sizes = np.diff(part.token_ptr)
        at = np.repeat(place - part.token_ptr[:-1], sizes) + np.arange(len(part.rows))
        rows[at] = part.rows
        if values is not None:
            values[at] = _values(part)
        place += sizes
    return replace(parts[0], rows=rows, token_ptr=token_ptr, values=values)


def _values(features: Sequences) -> np.ndarray:
    return np.ones(len(features.rows), np.float32) if features.values is None else features.values


def _join(pointers: list[np.ndarray]) -> np.ndarray:
    joined, end = [np.zeros(1, np.int64)], 0
    for pointer in pointers:
        joined.append(pointer[1:] + end)
        end += pointer[-1]
    return np.concatenate(joined)
