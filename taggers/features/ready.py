"""Features made in Python: python-crfsuite's format, or any function from a token to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from taggers.features._ready import dict_rows
from taggers.features.extract import Features, KeyTable

Item = Mapping[str, Any] | Iterable[str]


def encode_dicts(sentences: Iterable[Iterable[Item]], table: KeyTable, *, grow: bool = False) -> Features:
    """Features of sentences whose tokens are dicts or lists, as python-crfsuite takes them.

    A list has names; a dict has names with a number or a bool (the value), a str (``name:text``), or a dict
    or list of more features, whose names go behind ``name:``. Features with value 0 are left out.
    """
    return Features(*dict_rows(sentences, table, grow=grow))


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
