"""All file formats, and how to find the one that a file has."""

from __future__ import annotations

from codecs import BOM_UTF8

from taggers.formats import columns, conllu, crfsuite, svmhmm, text
from taggers.formats.base import Format

# In the order in which they are asked whether a file matches; the last one takes everything.
FORMATS: dict[str, Format] = {
    module.FORMAT.name: module.FORMAT for module in (conllu, svmhmm, crfsuite, text, columns)
}
AUTO = "auto"


def find(name: str) -> Format:
    """Return the format of this name."""
    if name not in FORMATS:
        raise ValueError(f"format must be one of {', '.join((AUTO, *sorted(FORMATS)))}, got {name!r}")
    return FORMATS[name]


def detect(data: bytes, expected: Format | None = None) -> Format:
    """Return the format that the beginning of a file has; `expected` is the one that a model was trained on.

    >>> detect(b"The DT\\ncat NN\\n").name
    'columns'
    """
    beginning = data[:20000].removeprefix(BOM_UTF8).decode("latin-1").split("\n")[:200]
    head = [line.rstrip("\r") for line in beginning if line.strip()]
    return next(
        format for format in FORMATS.values() if format.matches(head, expected=format is expected)
    )


def column_number(column: str) -> int:
    """Return a column's number, given as a number (-1 is the last) or as a name that a format defines."""
    names = {name: place for format in FORMATS.values() for place, name in enumerate(format.names)}
    if column.lower() in names:
        return names[column.lower()]
    try:
        return int(column)
    except ValueError:
        raise ValueError(
            f"column must be a number (0 is the first, -1 the last) or one of {', '.join(names)}, "
            f"got {column!r}"
        ) from None
