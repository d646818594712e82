"""Sequences of items, whose features are names with values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any


class ItemSequence:
    """The items of one sequence, with their features as flat dicts of names and numbers.

    pyseq: an ItemSequence, or for each item a dict or a list of names, as for `taggers.SequenceTagger`.
    """

    def __init__(self, pyseq: Any) -> None:
        self._items = pyseq.items() if isinstance(pyseq, ItemSequence) else flat_items(pyseq)

    def items(self) -> list[dict[str, float]]:
        """The features of each item."""
        return self._items

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"<ItemSequence of size {len(self)}>"


def flat_items(pyseq: Iterable[Any]) -> list[dict[str, float]]:
    """The features of each item, with nested names joined by colons."""
    if isinstance(pyseq, (str, bytes)):
        raise ValueError(f"a sequence must be a list of items, got {pyseq!r:.80}")
    return [dict(_flat(item)) for item in pyseq]


def _flat(item: Any, prefix: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(item, (str, bytes)) or not isinstance(item, Iterable):
        raise ValueError(f"the features of an item must be a dict or a list of names, got {item!r:.80}")
    if not isinstance(item, Mapping):
        for name in item:
            yield prefix + _text(name), 1.0
        return
    for name, value in item.items():
        key = prefix + _text(name)
        if isinstance(value, (str, bytes)):
            yield f"{key}:{_text(value)}", 1.0
        elif isinstance(value, (Mapping, list, tuple, set, frozenset)):
            yield from _flat(value, f"{key}:")
        else:
            yield key, float(value)


def _text(name: Any) -> str:
    if isinstance(name, bytes):
        return name.decode()
    if not isinstance(name, str):
        raise ValueError(f"the name of a feature must be a str, got {name!r:.80}")
    return name
