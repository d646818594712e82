"""CoNLL-U Plus: columns named by a first line ``# global.columns = ID FORM UPOS ...``."""

from __future__ import annotations

from collections.abc import Sequence

from taggers.formats.base import Format
from taggers.formats.columns import ColumnFormat

SIGN = "# global.columns"


class ConlluPlusFormat(ColumnFormat):
    """Labels fill their column, by default the last one. Each file has a format object of its own."""

    name = "conllup"
    title = "CoNLL-U Plus"
    sign = SIGN
    replaces = True
    scores = ""
    tabs = True
    comments = "all"
    numbered = True

    def matches(self, head: Sequence[str]) -> bool:
        return bool(head) and head[0].startswith(SIGN) and "=" in head[0]

    def of_file(self, head: Sequence[str]) -> Format:
        if not self.matches(head):
            raise ValueError(f"the first line must be {SIGN} = ID FORM ...")
        found = ConlluPlusFormat()
        found.names = tuple(name.lower() for name in head[0].partition("=")[2].split())
        found.n_columns = len(found.names)
        found.numbered = found.names[:1] == ("id",)
        found.words = found.names.index("form") if "form" in found.names else int(found.numbered)
        found.label = found.n_columns - 1
        return found

    def missing(self, column: int) -> str | None:
        return "_"

    def wrong_count(self, found: int, expected: int, separator: str) -> str:
        return f"{found} columns instead of {expected}, which the first line names; tabs separate columns"


FORMAT = ConlluPlusFormat()
