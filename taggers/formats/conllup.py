"""CoNLL-U Plus: columns named by a first line ``# global.columns = ID FORM UPOS ...``."""

from __future__ import annotations

from collections.abc import Sequence

from taggers.formats.base import Format
from taggers.formats.columns import ColumnFormat
from taggers.formats.conllu import FORMAT as CONLLU

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
        """Many treebanks name the ten columns of CoNLL-U, which that format reads."""
        return _names(head) not in ((), CONLLU.names)

    def of_file(self, head: Sequence[str]) -> Format:
        found = ConlluPlusFormat()
        found.names = _names(head)
        if not found.names:
            raise ValueError(f"the first line must be {SIGN} = ID FORM ...")
        found.n_columns = len(found.names)
        found.numbered = found.names[:1] == ("id",)
        found.words = found.names.index("form") if "form" in found.names else int(found.numbered)
        found.label = found.n_columns - 1
        return found

    def missing(self, column: int) -> str | None:
        return "_"

    def wrong_count(self, found: int, expected: int, separator: str) -> str:
        return f"{found} columns instead of {expected}, which the first line names; tabs separate columns"


def _names(head: Sequence[str]) -> tuple[str, ...]:
    """The columns that the first line names."""
    line = head[0] if head and head[0].startswith(SIGN) else ""
    return tuple(name.lower() for name in line.partition("=")[2].split())


FORMAT = ConlluPlusFormat()
