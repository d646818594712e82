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


def column_choice(columns: str) -> str | list[int]:
    """Return the column that a user named, or the numbers of several ones in CoNLL-U, as in upos+feats."""
    if "+" not in columns:
        return columns
    return [FORMATS["conllu"].column(name) for name in columns.split("+")]
