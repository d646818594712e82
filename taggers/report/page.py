"""Pieces of the report page: style sheet, sections, folded parts, coloured tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape

import numpy as np

STYLE = """
:root { color-scheme: light dark; --ink: #1d2433; --soft: #5c667b; --line: #e1e5ee; --page: #f5f6f9;
  --card: #fff; --grey: #eef0f4; --blue: 37, 99, 182; --orange: 190, 82, 16; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9f0; --soft: #a3adc0; --line: #323a4a;
  --page: #11151c; --card: #1a202a; --grey: #262d3a; --blue: 98, 156, 236; --orange: 232, 142, 72; } }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: var(--page); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 32px 24px 64px; }
h1 { font-size: 26px; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 18px; margin: 0 0 4px; } h3 { font-size: 14px; margin: 4px 0 2px; }
.pair p { max-width: 46ch; font-size: 13px; }
p { color: var(--soft); margin: 0 0 12px; max-width: 75ch; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 20px 24px; margin-top: 20px; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(130px, 1fr)); gap: 10px;
  margin-top: 20px; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 10px 14px; }
.tile b { display: block; font-size: 20px; } .tile span { color: var(--soft); font-size: 13px; }
.pair { display: flex; flex-wrap: wrap; gap: 12px 36px; align-items: flex-start; }
.pair > * { min-width: 0; max-width: 100%; }
details { margin-top: 10px; }
summary { cursor: pointer; color: rgb(var(--blue)); font-size: 14px; padding: 3px 0; }
summary:focus-visible { outline: 2px solid rgb(var(--blue)); outline-offset: 2px; border-radius: 4px; }
.scroll { overflow-x: auto; max-width: 100%; } .scroll + .scroll { margin-top: 16px; }
table { border-collapse: collapse; font-size: 13px; }
th { font-weight: 500; color: var(--soft); padding: 3px 8px; text-align: right; white-space: nowrap; }
td { padding: 3px 8px; text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
th[scope=row] { position: sticky; left: 0; background: var(--card); z-index: 1; color: var(--ink);
  max-width: 12em; overflow: hidden; text-overflow: ellipsis; }
.plain th[scope=row], .plain td.text, .plain th.text { text-align: left; }
.plain tr + tr > * { border-top: 1px solid var(--line); }
.bar { width: 90px; } .bar i { display: block; height: 8px; border-radius: 4px;
  background: linear-gradient(rgb(var(--blue)) 0 0) 0 / var(--s) 100% no-repeat var(--grey); }
.heat td { min-width: 38px; border: 1px solid var(--card); border-radius: 4px; }
.heat td.p { background: rgba(var(--blue), var(--s)); }
.heat td.n { background: rgba(var(--orange), var(--s)); }
.heat td.off { background: var(--grey); color: var(--soft); }
.sentence { padding: 10px 0; border-top: 1px solid var(--line); line-height: 1.6; overflow-wrap: anywhere; }
.sentence small { display: block; color: var(--soft); font-size: 12px; }
.right { text-decoration: underline; text-decoration-color: var(--line); text-decoration-thickness: 2px;
  text-underline-offset: 4px; }
.wrong { display: inline-grid; vertical-align: top; max-width: 100%; margin-bottom: 4px; }
.wrong > b { font-weight: 600; padding: 0 4px; }
.gold, .found { font: 600 11px/17px system-ui, sans-serif; padding: 0 5px; margin-top: 2px; height: 19px;
  white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.gold { background: rgba(var(--blue), .2); border-bottom: 2px solid rgb(var(--blue)); }
.found { background: rgba(var(--orange), .2); border-bottom: 2px dashed rgb(var(--orange)); }
.first { border-top-left-radius: 4px; margin-left: 1px; } .last { margin-right: 1px; }
.none { background: none; border-color: transparent; color: var(--soft); }
.key .gold, .key .found { display: inline-block; border-radius: 4px; margin-right: 4px; }
.features { display: grid; gap: 2px 28px;
  grid-template-columns: repeat(auto-fill, minmax(min(300px, 100%), 1fr)); }
.features details { margin: 0; min-width: 0; border-top: 1px solid var(--line); }
.features summary { display: flex; gap: 10px; color: var(--ink); }
.features summary b { white-space: nowrap; }
.features summary::before { content: "+"; color: rgb(var(--blue)); width: 8px; }
.features [open] > summary::before { content: "\\2212"; }
.features summary span { color: var(--soft); overflow: hidden; text-overflow: ellipsis; white-space: nowrap;
  font: 13px/1.6 ui-monospace, monospace; }
.features li { display: flex; justify-content: space-between; gap: 10px; padding: 1px 6px;
  font: 13px ui-monospace, monospace;
  background: linear-gradient(rgba(var(--blue), .18) 0 0) 0 / var(--s) 100% no-repeat; }
.features ul { list-style: none; margin: 2px 0 8px; padding: 0; }
.features li span { overflow: hidden; text-overflow: ellipsis; white-space: pre; }
.curves { display: flex; flex-wrap: wrap; gap: 8px 24px; }
svg { width: 230px; max-width: 100%; height: auto; }
svg text { font: 11px system-ui, sans-serif; fill: var(--soft); }
@media (max-width: 600px) { main { padding: 20px 12px 40px; } section { padding: 16px 14px; }
  .tiles { grid-template-columns: 1fr 1fr; } th, td { padding: 3px 5px; } .heat td { min-width: 32px; }
  .bar { display: none; } th[scope=row] { max-width: 7em; } }
"""


def section(title: str, note: str, *content: str) -> str:
    """A card with a title; empty if there is no content. Only the note is escaped here."""
    if not any(content):
        return ""
    note = f"<p>{escape(note)}</p>" if note else ""
    return f"<section><h2>{title}</h2>{note}{''.join(content)}</section>"


def tiles(figures: Iterable[tuple[str, str]]) -> str:
    """Figures with their names."""
    cells = (
        f'<div class="tile"><b>{escape(value)}</b><span>{escape(name)}</span></div>'
        for name, value in figures
    )
    return f'<div class="tiles">{"".join(cells)}</div>'


def pair(left: str, right: str) -> str:
    """Two parts side by side, or one above the other in a narrow window."""
    return f'<div class="pair"><div>{left}</div><div>{right}</div></div>' if right else left


def folded(summary: str, content: str) -> str:
    """Content behind a line that opens it; empty if there is no content."""
    return f"<details><summary>{escape(summary)}</summary>{content}</details>" if content else ""


def scrolled(table: str) -> str:
    """A table that scrolls in a narrow window."""
    return f'<div class="scroll" tabindex="0" role="region" aria-label="table">{table}</div>'


def table(head: Sequence[str], rows: Sequence[str], shown: int = 15, text: Sequence[int] = (0,)) -> str:
    """A table of rows (already HTML) with all but the first `shown` folded away; `text` columns go left."""
    cells = "".join(
        f'<th scope="col"{" class=text" if k in text else ""}>{escape(name)}</th>'
        for k, name in enumerate(head)
    )
    first, rest = (
        scrolled(f'<table class="plain"><tr>{cells}</tr>{"".join(part)}</table>') if part else ""
        for part in (rows[:shown], rows[shown:])
    )
    return first + folded(f"Show {len(rows) - shown} more", rest)


def heat(
    rows: Sequence[str],
    columns: Sequence[str],
    values: np.ndarray,
    form: str,
    grey: Callable[[int, int], bool] = lambda row, column: False,
) -> str:
    """A table coloured by size, blue above zero and orange below; what rounds to zero is left out.

    Cells for which `grey` is true have no colour, and the others are scaled without them.
    """
    off = np.array([[grey(r, c) for c in range(len(columns))] for r in range(len(rows))], bool)
    largest = float(np.abs(np.where(off, 0, values)).max(initial=0)) or 1.0
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    lines = [f"<tr><th></th>{head}</tr>"]
    for name, line, hidden in zip(rows, values.tolist(), off.tolist(), strict=True):
        cells = []
        for value, is_off in zip(line, hidden, strict=True):
            text = format(value, form)
            text = "" if float(text) == 0 else text
            if is_off:
                cells.append(f"<td class=off>{text}</td>")
            elif not text:
                cells.append("<td></td>")
            else:
                tone = "p" if value > 0 else "n"
                cells.append(f"<td class={tone} style=--s:{0.6 * abs(value) / largest:.2f}>{text}</td>")
        lines.append(f'<tr><th scope="row">{escape(name)}</th>{"".join(cells)}</tr>')
    return scrolled(f'<table class="heat">{"".join(lines)}</table>')
