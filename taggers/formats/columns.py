"""Plain columns: one token per line, as in CoNLL-2000, CoNLL-2002, CoNLL-2003 and CRF++."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from taggers.formats._columns import Columns
from taggers.formats._write import write
from taggers.formats.base import Format, Layer
from taggers.labels import schemes

if TYPE_CHECKING:
    from taggers.formats.files import Opened

MISSING, HYPHEN = "_", "-"


class ColumnFormat(Format):
    """Lines of columns; a blank line ends a sentence. The compiled scanner reads all of these formats.

    tabs: one tab separates columns; otherwise runs of spaces and tabs do where the first line has no tab.
    comments: which lines before the first token of a sentence are comments: those that begin with ``#``
        ("all"), those that begin with ``#`` and a space and have another number of columns than tokens or
        look like ``# key = value`` ("other"), or none ("").
    numbered: the first column numbers the tokens; lines with ranges (3-4) and empty nodes (5.1) are skipped.
    open_ended: lines may continue after the last column.
    """

    tabs: bool = False
    comments: str = ""
    numbered: bool = False
    open_ended: bool = False

    def read(self, opened: Opened, wanted: Sequence[int]) -> Iterator[Columns]:
        for line, data in opened.blocks():
            yield Columns(
                data, wanted, format=self, separator=opened.separator, name=opened.name, first_line=line,
                n_columns=opened.n_columns,
            )  # fmt: skip

    def write(self, columns: Columns, layers: Sequence[Layer]) -> bytes:
        return write(columns, layers, misc=self.scores == "misc")

    def wrong_count(self, found: int, expected: int, separator: str) -> str:
        """Describe a line with the wrong number of columns."""
        by = "one tab" if separator == "\t" else "spaces or tabs; plain text has the format text"
        return (
            f"{found} column{'s' * (found != 1)} where the lines before have {expected}; "
            f"columns are separated by {by}"
        )


class PlainColumns(ColumnFormat):
    """The fallback: whatever no other format matches."""

    name = "columns"
    title = "columns"
    comments = "other"
    gaps = (MISSING, "", HYPHEN)
    documents = True

    def matches(self, head: Sequence[str]) -> bool:
        return True

    def missing(self, column: int) -> str | None:
        return MISSING

    def labels(self, values: Sequence[str], column: int) -> list[str]:
        """Return the labels, with one name for all gaps."""
        seen = set(values)
        others = seen.difference(self.gaps)
        usual = {*others, *schemes.respelled(others).values()}
        gaps = self.gaps if any(map(schemes.marks_phrase, usual)) else self.gaps[:-1]
        if seen.isdisjoint(gaps):
            return super().labels(values, column)
        known = iter(super().labels([value for value in values if value not in gaps], column))
        return [MISSING if value in gaps else next(known) for value in values]


FORMAT = PlainColumns()
