"""A parsed sentence as a picture, for terminals and as HTML: words, what they stand for, and their roles.

daddy   believes  that  the  dog  broke  the  box
father  believe   ·     ·    dog  break  ·    box
A0      REL       ·     ·    ·    A1     ·    ·
·       ·         ·     ·    A0   REL    ·    A1
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from html import escape

from semparse.parse import EMPTY, Parse

NOTHING = "·"
STYLE = """
body { font: 16px sans-serif; margin: 2em; } table { border-collapse: collapse; margin: 0.2em 0 2em; }
td { padding: 0.1em 0.7em; text-align: center; } .words td { font-weight: bold; }
.symbols td { color: #05a; border-bottom: 1px solid #ccc; } .REL { background: #fe9; }
.A { background: #def; } .none { color: #bbb; } p { margin: 0; font-family: monospace; }
"""


def rows(parse: Parse) -> list[tuple[str, ...]]:
    """Words, symbols, and a row of roles for each relation."""
    return [parse.tokens, parse.symbols, *parse.roles]


def text_picture(parse: Parse, width: int | None = None) -> str:
    """Aligned columns, folded where they would be wider than `width`."""
    first, *others = [[_printable(cell) for cell in row] for row in rows(parse)]
    cells = [first, *([NOTHING if cell == EMPTY else cell for cell in row] for row in others)]
    widths = [max(_width(row[k]) for row in cells) for k in range(len(first))]
    blocks = []
    start = 0
    while start < len(first):
        end, used = start + 1, widths[start]
        while end < len(first) and (width is None or used + 2 + widths[end] <= width):
            used += 2 + widths[end]
            end += 1
        shown = [row[start:end] for row in cells[:2]]
        shown += [row[start:end] for row in cells[2:] if set(row[start:end]) != {NOTHING}]
        blocks.append("\n".join(_line(row, widths[start:end]) for row in shown))
        start = end
    return "\n\n".join(blocks) + "\n"


def html_picture(parse: Parse) -> str:
    """A table."""
    names = ["words", "symbols", *["roles"] * len(parse.roles)]
    body = "\n".join(_html_row(name, row) for name, row in zip(names, rows(parse), strict=True))
    return f"<table>\n{body}\n</table>"


def html_page(sentences: Iterable[tuple[str, Sequence[Parse]]]) -> str:
    """A page of sentences and the meanings found in them."""
    parts = []
    for text, parses in sentences:
        for parse in parses:
            parts.append(f"<p>{escape(str(parse))}</p>\n{html_picture(parse)}")
        if not parses:
            parts.append(
                f'<p class="none">no meaning found</p>\n<table><tr><td>{escape(text)}</td></tr></table>'
            )
    head = (
        f'<!DOCTYPE html>\n<meta charset="utf-8">\n<title>Parsed sentences</title>\n<style>{STYLE}</style>\n'
    )
    return head + "\n".join(parts) + "\n"


def _html_row(name: str, row: Sequence[str]) -> str:
    cells = []
    for cell in row:
        if cell == EMPTY and name != "words":
            cells.append(f'<td class="none">{NOTHING}</td>')
        elif name == "roles":
            cells.append(f'<td class="{"REL" if cell == "REL" else "A"}">{escape(cell)}</td>')
        else:
            cells.append(f"<td>{escape(cell)}</td>")
    return f'<tr class="{name}">{"".join(cells)}</tr>'


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell + " " * (w - _width(cell)) for cell, w in zip(row, widths, strict=True)).rstrip()


def _printable(text: str) -> str:
    """Without characters that would move a terminal's cursor or change its colours."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def _width(text: str) -> int:
    """Columns in a terminal: wide characters take two, combining ones none."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )
