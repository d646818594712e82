"""CoNLL-U: ten named columns separated by tabs, comments, ranges and empty nodes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from structsvm.files.errors import DataError
from taggers.formats.columns import ColumnFormat


class ConlluFormat(ColumnFormat):
    """Labels fill their column, and scores go into MISC as ``Margin=0.87``."""

    name = "conllu"
    title = "CoNLL-U"
    names = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
    words = names.index("form")
    label = names.index("upos")
    replaces = True
    scores = "misc"
    n_columns = len(names)
    tabs = True
    comments = True
    numbered = True

    def matches(self, head: Sequence[str], *, expected: bool = False) -> bool:
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
        raise DataError("the label column is not clear; choose one with --column, such as upos or xpos", name)

    def wrong_count(self, found: int, expected: int, separator: str) -> str:
        return (
            f"{found} columns instead of {expected}, separated by tabs; "
            "comments may only come before a sentence's first token"
        )


FORMAT = ConlluFormat()
COLUMN = {name: column for column, name in enumerate(FORMAT.names)}
