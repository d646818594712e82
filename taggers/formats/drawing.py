"""Pictures of dependency trees: indented text, or SVG with an arc from each head to its words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from xml.sax.saxutils import escape

from structsvm.files.errors import DataError
from taggers.formats.records import MISSING, Record, Values

LETTER, GAP, STEP, LINE = 9, 26, 28, 18  # pixels: of a letter, between words, between arcs, of a line of text
CONTROL = dict.fromkeys((*range(32), 0xFFFE, 0xFFFF), " ")  # XML has none of them


def as_text(words: Sequence[str], tags: Values, heads: Values, labels: Values) -> str:
    """A word, its part of speech and the label of its arc in each line; words stand below their heads."""
    return "\n".join(_lines(words, tags, heads, labels)) + "\n\n"


def as_svg(words: Sequence[str], tags: Values, heads: Values, labels: Values) -> str:
    """One sentence in a line, with arcs above it; each arrow points from a head to its word."""
    below = [tag or MISSING for tag in tags]
    above = [label or MISSING for label in labels]
    widths = [LETTER * max(map(len, texts)) + GAP for texts in zip(words, below, above, strict=True)]
    middles = [sum(widths[:k]) + width / 2 for k, width in enumerate(widths)]
    arcs = {word: int(head or 0) - 1 for word, head in enumerate(heads)}
    levels = _levels([(min(word, head), max(word, head)) for word, head in arcs.items() if head >= 0])
    floor = STEP * (1 + max(levels.values(), default=0)) + LINE
    drawn = []
    for word, (x, head) in enumerate(zip(middles, arcs.values(), strict=True)):
        top = floor - STEP * (levels[min(word, head), max(word, head)] if head >= 0 else 1)
        begin, at = f"M{x:g} {top}", x
        if head >= 0:
            begin = f"M{middles[head] + (5 if word > head else -5):g} {floor}V{top}H{x:g}"
            at = (x + middles[head]) / 2
        drawn += [
            f'<path d="{begin}V{floor - 3}" fill="none" stroke="#4a7bd0" marker-end="url(#arrow)"/>',
            _label(at, top - 5, above[word], "#4a7bd0"),
            _label(x, floor + LINE, words[word], "#000"), _label(x, floor + 2 * LINE, below[word], "#666"),
        ]  # fmt: skip
    width, height = sum(widths), floor + 3 * LINE
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
        'font-size="14" text-anchor="middle">\n<defs><marker id="arrow" markerWidth="8" markerHeight="8" '
        'refX="4" refY="4" orient="auto"><path d="M0 1L8 4L0 7z" fill="#4a7bd0"/></marker></defs>\n'
        '<rect width="100%" height="100%" fill="#fff"/>\n' + "\n".join(drawn) + "\n</svg>\n"
    )


PICTURES: dict[str, Callable[..., str]] = {"trees": as_text, "svg": as_svg}


def draw(records: Sequence[Record], to: str) -> bytes:
    """The picture of each sentence."""
    drawn: list[str] = []
    for record in records:
        if "head" not in record.values:
            what = "no trees to draw; use a model with a parser, such as en"
            raise DataError(what, "", record.line if drawn else 0)
        rows = [record.values.get(name) or [None] * len(record.tokens) for name in ("upos", "head", "deprel")]
        at = 0
        for sentence in record.sentences:
            own = [row[at : at + len(sentence)] for row in rows]
            drawn.append(PICTURES[to]([token.text for token in sentence], *own))
            at += len(sentence)
    return "".join(drawn).encode()


def _lines(words: Sequence[str], tags: Values, heads: Values, labels: Values) -> Iterator[str]:
    """The lines of a tree, in the order of a walk from the root; words keep their order below a head."""
    children: dict[int, list[int]] = {}
    for word, head in enumerate(heads, 1):
        children.setdefault(int(head or 0), []).append(word)
    stack = [(word, "", "", "") for word in reversed(children.get(0, []))]
    while stack:
        word, before, corner, below = stack.pop()
        tag, label = tags[word - 1] or MISSING, labels[word - 1] or MISSING
        yield f"{before}{corner}{words[word - 1]} {tag} {label}"
        own = children.get(word, [])
        inner = before + below
        stack += [
            (child, inner, "└─ " if child == own[-1] else "├─ ", "   " if child == own[-1] else "│  ")
            for child in reversed(own)
        ]


def _levels(arcs: Sequence[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """How high each arc is drawn: above all shorter arcs that it overlaps."""
    found: dict[tuple[int, int], int] = {}
    for a, b in sorted(arcs, key=lambda arc: arc[1] - arc[0]):
        found[a, b] = 1 + max((level for (c, d), level in found.items() if a < d and c < b), default=0)
    return found


def _label(x: float, y: float, text: str, color: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" fill="{color}">{escape(text.translate(CONTROL))}</text>'
