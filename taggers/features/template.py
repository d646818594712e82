"""Templates: the cells around a token that form its features, in our syntax or that of CRF++."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from structsvm.files.errors import DataError
from taggers.features.attributes import CLUSTER, attribute

NAMED = {
    # The classic chunking template: with a cutoff of 3 it has 76,328 features on CoNLL-2000.
    "conll2000": """
        w[-2..2], w[-1]|w[0], w[0]|w[1],
        p[-2..2], p[-2]|p[-1], p[-1]|p[0], p[0]|p[1], p[1]|p[2],
        p[-2]|p[-1]|p[0], p[-1]|p[0]|p[1], p[0]|p[1]|p[2]
    """,
    "pos": """
        w[0], lower[-2..2], lower[-1]|lower[0], lower[0]|lower[1], lower[-1]|lower[1],
        prefix1[0], lower_prefix2[0], lower_prefix3[0], lower_prefix4[0], lower_prefix5[0],
        lower_suffix1[-1..1], lower_suffix2[-1..1], lower_suffix3[-1..1], lower_suffix4[0], lower_suffix5[0],
        lower[0]|lower_suffix2[-1], lower[0]|lower_suffix2[1],
        lower_suffix3[0]|lower[-1], lower_suffix3[0]|lower[1],
        shape[-1..1], short_shape[-1..1], has_digit[0], has_hyphen[0], is_title[0], is_upper[0],
        cluster[-2..2], cluster[-2]|cluster[-1], cluster[-1]|cluster[0], cluster[-1]|cluster[1],
        cluster[0]|cluster[1], cluster[1]|cluster[2], short_shape[0]|cluster[-1], short_shape[0]|cluster[1],
        bias
    """,
    "chunk": """
        w[-2..2], w[-1]|w[0], w[0]|w[1],
        p[-2..2], p[-2]|p[-1], p[-1]|p[0], p[0]|p[1], p[1]|p[2], p[-1]|p[1],
        p[-2]|p[-1]|p[0], p[-1]|p[0]|p[1], p[0]|p[1]|p[2],
        w[0]|p[0], w[0]|p[-1], w[0]|p[1], w[-1]|p[0], w[1]|p[0], w[-1]|p[-1], w[1]|p[1],
        lower[0], suffix3[0], shape[0], is_title[0], has_hyphen[0], bias
    """,
    "ner": """
        w[-2..2], lower[-2..2], w[-1]|w[0], w[0]|w[1], lower[-1]|lower[0], lower[0]|lower[1],
        lower[-2]|lower[-1], lower[1]|lower[2], lower[-1]|lower[1],
        prefix1[0], prefix2[0], prefix3[0], prefix4[0], suffix1[0], suffix2[0], suffix3[0], suffix4[0],
        suffix3[-1], suffix3[1], shape[-2..2], short_shape[-2..2], short_shape[-1]|short_shape[0],
        short_shape[0]|short_shape[1], short_shape[-1]|short_shape[0]|short_shape[1], w[-1]|short_shape[0],
        lower[1]|short_shape[0], lower[-2]|short_shape[0], lower[2]|short_shape[0],
        lower[-2]|lower[-1]|short_shape[0], lower[-1]|short_shape[0]|short_shape[1],
        short_shape[-2]|lower[-1]|short_shape[0], short_shape[0]|lower[1]|short_shape[2],
        is_title[-1..1], is_upper[0], has_digit[0], has_hyphen[0], digits[0],
        p[-2..2], p[-1]|p[0], p[0]|p[1], p[-1]|p[0]|p[1], p[0]|short_shape[0], bias
    """,
    "label": """
        w[-2..2], w[-1]|w[0], w[0]|w[1], lower[0], prefix2[0], prefix3[0], suffix2[0], suffix3[0],
        shape[0], has_digit[0], p[-2..2], p[-1]|p[0], p[0]|p[1], p[-1]|p[0]|p[1], w[0]|p[0], bias
    """,
}

CELL = re.compile(r"(?:(w|p|c\d+)\.)?([a-z]\w*)\[([+-]?\d+)\]")
LABEL = re.compile(r"y\[([+-]?\d+)\]")
RANGE = re.compile(r"(?P<name>[\w.]+)\[(?P<low>[+-]?\d+)\.\.(?P<high>[+-]?\d+)\]")
MACRO = re.compile(r"%x\[\s*([+-]?\d+)\s*,\s*(\d+)\s*\]")
FARTHEST = 99
MOST_COLUMNS = 999


@dataclass(frozen=True)
class Cell:
    """A value near the token: of one of the columns read, itself or an attribute of it."""

    column: int
    attribute: str
    offset: int


@dataclass(frozen=True)
class Pattern:
    """Cells that make one feature together; patterns of the same identity share their features.

    back: the distance to the previous label that they are joined with; 0 for none.
    """

    text: str
    identity: str = field(repr=False)
    cells: tuple[Cell, ...] = field(repr=False)
    back: int = field(default=0, repr=False)

    def name(self, values: list[str], before: str = "") -> str:
        """The name of the feature with these values; before: the label that it is joined with."""
        if "%" not in self.text:
            values = [before, *values] if self.back else values
            return f"{self.text}={'|'.join(values)}" if values else self.text
        pieces = iter(values)
        return MACRO.sub(lambda _: next(pieces), self.text) + f" after {before}" * bool(self.back)


@dataclass(frozen=True)
class Template:
    """The patterns of a model's features.

    `bigrams` are those joined with a previous label; `transitions` is set by a plain B of CRF++.
    """

    patterns: tuple[Pattern, ...]
    bigrams: tuple[Pattern, ...] = ()
    transitions: bool = False

    @property
    def text(self) -> str:
        """A text that `parse_template` reads as this template."""
        lines = [pattern.text for pattern in self.patterns + self.bigrams]
        return "\n".join(lines + ["B"] * self.transitions)

    def within(self, width: int) -> Template:
        """The template without patterns that need more columns than this."""

        def fitting(patterns: tuple[Pattern, ...]) -> tuple[Pattern, ...]:
            return tuple(p for p in patterns if all(cell.column < width for cell in p.cells))

        return Template(fitting(self.patterns), fitting(self.bigrams), self.transitions)

    @cached_property
    def cells(self) -> frozenset[Cell]:
        """All its cells."""
        return frozenset(cell for pattern in self.patterns + self.bigrams for cell in pattern.cells)

    @cached_property
    def width(self) -> int:
        """The number of columns that it needs."""
        return 1 + max((cell.column for cell in self.cells), default=-1)

    @cached_property
    def needs_word_classes(self) -> bool:
        """Whether it uses word classes."""
        return any(cell.attribute == CLUSTER for cell in self.cells)


def load_template(name_or_path: str | Path) -> Template:
    """The template of that name, or in that file."""
    if str(name_or_path) in NAMED:
        return parse_template(NAMED[str(name_or_path)], file=str(name_or_path))
    path = Path(name_or_path)
    if not path.is_file():
        raise ValueError(
            f"{str(name_or_path)!r} is neither a template file nor a template name ({', '.join(NAMED)})"
        )
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError("not valid UTF-8; check that this is a template file", str(path)) from error
    return parse_template(text, file=str(path))


def fitting_template(template: Any, width: int) -> Template:
    """The template for a name, file or text; named templates are reduced to the available input columns."""
    if isinstance(template, Template):
        return template
    if template in NAMED:
        return load_template(template).within(width)
    by_name = os.path.exists(template) or "[" not in str(template)
    try:
        found = load_template(template) if by_name else parse_template(template)
    except DataError as error:
        raise error if by_name else ValueError(f"{template!r}: {error.what}") from None
    if found.width > width:
        raise ValueError(
            f"the template reads column {found.width - 1} (counted from 0), but the input has {width} "
            "columns without the labels"
        )
    return found


def parse_template(text: str, *, file: str = "") -> Template:
    """A template from its text: patterns separated by commas or line ends, ``#`` starts a comment line.

    ``w[-1]|w[0]`` joins the previous word and this one; ``w`` is the first column read, ``p`` the second,
    ``c2`` the third. ``w.suffix3[0]`` is an attribute of a column, ``suffix3[0]`` the same of the first one,
    ``w[-2..2]`` five patterns, ``bias`` a feature of every token. ``cluster[1]`` is the class of the
    next word, see `taggers.features.word_classes`. ``y[-1]|w[0]`` joins the previous label with cells;
    greedy inference can look further back, as in ``y[-2]|p[0]``. Lines that start with U or B have the
    syntax of CRF++; previous labels alone (B) are always used, as many as `order` says.
    """
    patterns: list[Pattern] = []
    bigrams: list[Pattern] = []
    transitions = False
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        try:
            if line.startswith("U"):
                patterns.append(_crfpp(line))
            elif line.startswith("B"):
                transitions |= "%x" not in line
                bigrams += [replace(_crfpp(line), back=1)] if "%x" in line else []
            else:
                found = [pattern for piece in line.split(",") for pattern in _patterns(piece.strip())]
                patterns += [pattern for pattern in found if not pattern.back]
                bigrams += [pattern for pattern in found if pattern.back]
        except ValueError as error:
            raise DataError(f"in the template: {error}", file, number) from None
    if not patterns and not bigrams and not transitions:
        raise DataError("the template is empty; write, for example, w[-1], w[0], w[1]", file)
    return Template(tuple(dict.fromkeys(patterns)), tuple(dict.fromkeys(bigrams)), transitions)


def _patterns(piece: str) -> list[Pattern]:
    spread = RANGE.fullmatch(piece)
    if spread:
        offsets = range(int(spread["low"]), int(spread["high"]) + 1)
        return [pattern for offset in offsets for pattern in _patterns(f"{spread['name']}[{offset}]")]
    if not piece:
        return []
    if piece == "bias":
        return [Pattern(piece, piece, ())]
    parts = [part.strip() for part in piece.split("|")]
    labels = [match for match in map(LABEL.fullmatch, parts) if match]
    cells = tuple(_cell(part) for part in parts if not LABEL.fullmatch(part))
    texts = list(map(_cell_text, cells))
    if not labels:
        return [Pattern("|".join(texts), "|".join(texts), cells)]
    back = -int(labels[0][1])
    if len(labels) > 1 or not cells or not 1 <= back <= FARTHEST:
        raise ValueError(
            f"{piece!r} must join one previous label, y[-1] to y[-{FARTHEST}], with cells, as in y[-1]|w[0]; "
            "for previous labels alone, set the order"
        )
    text = "|".join([f"y[-{back}]", *texts])
    return [Pattern(text, text, cells, back)]


def _cell(text: str) -> Cell:
    match = CELL.fullmatch(text)
    if not match:
        raise ValueError(
            f"{text!r} is neither a cell such as w[0], p[-1] or w.suffix3[0] nor a label as in y[-1]|w[0]"
        )
    owner, name, offset = match[1] or "w", match[2], int(match[3])
    if not match[1] and re.fullmatch(r"w|p|c\d+", name):
        owner, name = name, ""
    else:
        attribute(name)
    if name == CLUSTER and owner != "w":
        raise ValueError(f"{text!r}: only words, the first column, have clusters")
    return _checked(Cell("wp".index(owner) if owner in "wp" else int(owner[1:]), name, offset))


def _checked(cell: Cell) -> Cell:
    if abs(cell.offset) > FARTHEST:
        raise ValueError(f"offset must be within {FARTHEST} tokens, got {cell.offset}")
    if cell.column > MOST_COLUMNS:
        raise ValueError(f"column must be at most {MOST_COLUMNS}, got {cell.column}")
    return cell


def _cell_text(cell: Cell) -> str:
    column = "wp"[cell.column] if cell.column < 2 else f"c{cell.column}"
    return f"{column}{'.' * bool(cell.attribute)}{cell.attribute}[{cell.offset}]"


def _crfpp(line: str) -> Pattern:
    """A line of a CRF++ template; as there, lines of the same form without an identifier share features."""
    if "%" in MACRO.sub("", line):
        raise ValueError(f"{line!r} has a macro other than %x[row,column]")
    cells = tuple(_checked(Cell(int(column), "", int(row))) for row, column in MACRO.findall(line))
    return Pattern(line, MACRO.sub("%x", line) if cells else line, cells)


def cell_value(
    cell: Cell, texts: list[list[str]], token: int, sentence: range, word_classes: Any = None
) -> str | None:
    """The text of a cell at a token of a sentence; beyond the sentence, the marker of CRF++."""
    at = token + cell.offset
    if at < sentence.start:
        return f"_B-{sentence.start - at}"
    if at >= sentence.stop:
        return f"_B+{at - sentence.stop + 1}"
    text = texts[cell.column][at]
    return attribute(cell.attribute, word_classes)(text) if cell.attribute else text
