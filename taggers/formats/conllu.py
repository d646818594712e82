"""CoNLL-U: ten named columns separated by tabs, comments, ranges and empty nodes."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from structsvm.files.errors import DataError
from taggers.formats._columns import Columns
from taggers.formats.base import Layer
from taggers.formats.columns import ColumnFormat

MARGIN = "Margin"
SPACES = frozenset(("SpaceAfter", "SpacesAfter", "SpacesBefore", "SpacesInToken"))


class ConlluFormat(ColumnFormat):
    """Labels fill their column, and scores go into MISC as ``Margin=0.87``.

    In MISC, a label is the last entry, and the other entries are kept.
    """

    name = "conllu"
    title = "CoNLL-U"
    sign = "\t"
    names = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
    words = names.index("form")
    label = names.index("upos")
    replaces = True
    scores = "misc"
    n_columns = len(names)
    tabs = True
    comments = "all"
    numbered = True

    def matches(self, head: Sequence[str]) -> bool:
        for line in head:
            fields = line.split("\t")
            if len(fields) == self.n_columns and re.fullmatch(r"\d+([-.]\d+)?", fields[0]):
                return True
            if not line.startswith("#"):
                return False
        return False

    def missing(self, column: int) -> str | None:
        """Return ``_``, except for FEATS, where it means that a word has no features."""
        return None if self.names[column] == "feats" else "_"

    def label_elsewhere(self, name: str) -> int:
        raise DataError(
            "the label column is not clear; choose one with --column: upos or xpos for parts of speech, misc "
            "for phrases and other labels", name,
        )  # fmt: skip

    def labels(self, values: Sequence[str], column: int) -> list[str]:
        return list(map(label_in_misc, values) if self.names[column] == "misc" else values)

    def write(self, columns: Columns, layers: Sequence[Layer]) -> bytes:
        return super().write(columns, [self._kept_misc(columns, layer) for layer in layers])

    def _kept_misc(self, columns: Columns, layer: Layer) -> Layer:
        """Keep what MISC says about other things, such as SpaceAfter=No, where labels go there."""
        if layer.column is None or self.names[columns.wanted[layer.column]] != "misc":
            return layer
        replaced = {"", "_", MARGIN, *(_key(entry) for name in layer.names for entry in name.split("|"))}
        names: dict[str, int] = {}
        ids = []
        for k, misc in zip(layer.ids.tolist(), columns.texts(layer.column), strict=True):
            kept = [entry for entry in misc.split("|") if _key(entry) not in replaced]
            value = "|".join([*kept, *([] if kept and layer.names[k] == "_" else [layer.names[k]])])
            ids.append(names.setdefault(value, len(names)) if k >= 0 else -1)
        return layer._replace(ids=np.array(ids, np.int32), names=list(names))

    def wrong_count(self, found: int, expected: int, separator: str) -> str:
        return (
            f"{found} column{'s' * (found != 1)} instead of {expected}, separated by tabs; "
            "comments may only come before a sentence's first token"
        )


def label_in_misc(misc: str) -> str:
    """Return the label that `write` put into MISC: the last entry, if possible one without ``=``.

    >>> [label_in_misc(misc) for misc in ("SpaceAfter=No|B-NP", "B-NP|Ref=3", "Ref=3|NE=B", "SpaceAfter=No")]
    ['B-NP', 'B-NP', 'NE=B', '_']
    """
    entries = [entry for entry in misc.split("|") if _key(entry) not in SPACES and _key(entry) != MARGIN]
    plain = [entry for entry in entries if "=" not in entry]
    return (plain or entries or ["_"])[-1]


def _key(entry: str) -> str:
    return entry.partition("=")[0]


FORMAT = ConlluFormat()
COLUMN = {name: column for column, name in enumerate(FORMAT.names)}
