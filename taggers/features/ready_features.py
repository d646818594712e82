"""Encode ready features: those of files such as CRFsuite's, and python-crfsuite's dicts and lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from structsvm.problems.sequence import Sequences
from taggers.features._ready_features import dict_rows
from taggers.features._table import KeyTable
from taggers.formats._columns import Columns

Item = Mapping[str, Any] | Iterable[str]


def encode_items(columns: Columns, table: KeyTable, *, grow: bool = False) -> Sequences:
    """The ready features of a file; with `grow`, new ones become new rows of the table."""
    rows, token_ptr, values = columns.format.features(columns, table, grow=grow)
    return Sequences(rows, token_ptr, columns.sentence_ptr, values)


def encode_dicts(sentences: Iterable[Iterable[Item]], table: KeyTable, *, grow: bool = False) -> Sequences:
    """The features of sentences whose tokens are dicts or lists, as python-crfsuite takes them.

    A list holds names. A dict maps a name to a number or a bool (the value), to a str (``name:text``), or to
    a dict or list of more features, whose names follow ``name:``. Features with value 0 are left out.
    """
    rows, token_ptr, sentence_ptr, values = dict_rows(sentences, table, grow=grow)
    return Sequences(rows, token_ptr, sentence_ptr, values)


def item_names(item: Item, prefix: str = "") -> Iterator[str]:
    """The names of one token's features, as they are hashed.

    >>> list(item_names({"bias": 1.0, "word": "cat", "next": {"word": "sat", "is_title": True}}))
    ['bias', 'word:cat', 'next:word:sat', 'next:is_title']
    """
    if not isinstance(item, Mapping):
        yield from (prefix + name for name in item)
        return
    for name, value in item.items():
        if isinstance(value, str):
            yield f"{prefix}{name}:{value}"
        elif isinstance(value, (Mapping, list, tuple, set, frozenset)):
            yield from item_names(value, f"{prefix}{name}:")
        else:
            yield prefix + name
