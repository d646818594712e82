"""All file formats by name, and the names of their columns."""

from __future__ import annotations

from importlib import import_module

from taggers.formats import AUTO, NAMES
from taggers.formats.base import Format

FORMATS: dict[str, Format] = {name: import_module(f"taggers.formats.{name}").FORMAT for name in NAMES}


def find(name: str) -> Format:
    """Return the format of this name."""
    if name not in FORMATS:
        raise ValueError(f"format must be one of {', '.join((AUTO, *sorted(FORMATS)))}, got {name!r}")
    return FORMATS[name]


def column_number(column: str) -> int:
    """Return a column's number, given as a number (-1 is the last) or as a name that a format defines."""
    # The first format counts; all agree where they share a column but for the labels of documents.
    names: dict[str, int] = {}
    for format in FORMATS.values():
        for place, name in enumerate(format.names):
            names.setdefault(name, place)
    if column.lower() in names:
        return names[column.lower()]
    try:
        return int(column)
    except ValueError:
        from structsvm.validation import meant  # with numpy: only for the error

        raise ValueError(
            f"column must be a number (0 is the first, -1 the last) or one of {', '.join(names)}, "
            f"got {column!r}{meant(column, names)}"
        ) from None


def column_numbers(columns: str) -> int | list[int]:
    """Return the number of a column, or those of several columns, as in upos+feats."""
    numbers = [column_number(column) for column in columns.split("+")]
    return numbers[0] if len(numbers) == 1 else numbers
