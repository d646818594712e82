"""Templates: the cells around a token that form its features, in our syntax or that of CRF++."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from structsvm.files.errors import DataError
from taggers.features.attributes import (
    AFFIX,
    ATTRIBUTES,
    DOCUMENT,
    GRAM,
    GRAMS,
    LEARNED,
    VALUE,
    attribute,
)
from taggers.features.presets import NAMED, OF_CLASSES, OF_GAZETTEERS, OF_PATHS, OF_VECTORS

if TYPE_CHECKING:
    from taggers.features.knowledge import Knowledge

CELL = re.compile(r"(?:(w|p|c\d+)\.)?([a-z]\w*)\[([+-]?\d+)\]")
LABEL = re.compile(r"y\[([+-]?\d+)\]")
BACK = re.compile(r"\by\[-(\d+)\]")  # not city[-2]
RANGE = re.compile(r"(?P<name>[\w.]+)\[(?P<low>[+-]?\d+)\.\.(?P<high>[+-]?\d+)\]")
SEVERAL = re.compile(r"\bgram[2-9](?=\[)")
PLACE = re.compile(r"(?<=\bgram\d)_\d+(?=\[)")  # of an n-gram in its word
MACRO = re.compile(r"%x\[\s*([+-]?\d+)\s*,\s*(\d+)\s*\]")
PLUS = re.compile(r"\+(?![^\[\]]*\])")  # not the one in w[+1]
TEXT = re.compile(r"[\[,]|^bias$")  # what patterns have, and names have not
FARTHEST = 99
SHOWN = 4  # patterns in the repr of a template
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

    back: the distance to the previous label that they are joined with; 0 for none. real: the cell gives
    numbers (from a column or a word vector), not a text.
    """

    text: str
    identity: str = field(repr=False)
    cells: tuple[Cell, ...] = field(repr=False)
    back: int = field(default=0, repr=False)
    real: bool = field(default=False, repr=False)

    @property
    def of_document(self) -> bool:
        """Whether it depends on the other sentences of the document."""
        return any(cell.attribute in DOCUMENT for cell in self.cells)

    def name(self, values: list[str], before: str = "") -> str:
        """The name of the feature with these values; before: the label that it is joined with."""
        if "%" not in self.text:
            values = [before, *values] if self.back else values
            return f"{self.identity}={'|'.join(values)}" if values else self.text
        pieces = iter(values)
        return MACRO.sub(lambda _: next(pieces), self.text) + f" after {before}" * bool(self.back)


@dataclass(frozen=True, repr=False)
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

    def __repr__(self) -> str:
        texts = [pattern.text for pattern in self.patterns + self.bigrams]
        return (
            f"Template({', '.join(texts[:SHOWN])}{f', ... ({len(texts)} patterns)' * (len(texts) > SHOWN)})"
        )

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

    @property
    def symbolic(self) -> Template:
        """The template without patterns that give numbers."""
        return replace(self, patterns=tuple(pattern for pattern in self.patterns if not pattern.real))

    @cached_property
    def real(self) -> tuple[Pattern, ...]:
        """The patterns that give numbers."""
        return tuple(pattern for pattern in self.patterns if pattern.real)

    @cached_property
    def needs_first_round(self) -> bool:
        """Whether it uses the labels of a first round."""
        return any(cell.attribute == DOCUMENT[1] for cell in self.cells)

    def of_first_round(self) -> Template:
        """The template without patterns that depend on the document."""
        return replace(self, patterns=tuple(p for p in self.patterns if not p.of_document))

    def of_document(self) -> Template:
        """The patterns that depend on the document."""
        return Template(tuple(p for p in self.patterns if p.of_document))

    @cached_property
    def learned_classes(self) -> set[str]:
        """The word classes it uses that are learned from the training text."""
        return {cell.attribute.rstrip("0123456789") for cell in self.cells} & {*LEARNED}

    def unused(self, knowledge: Knowledge) -> list[str]:
        """The names of word classes and gazetteers that no pattern reads."""
        read = {cell.attribute.removesuffix("_length").rstrip("0123456789") for cell in self.cells}
        return [name for name in knowledge.names if name not in read]

    def warn_of_unread(self, width: int, knowledge: Knowledge) -> list[str]:
        """Warn about input columns and knowledge that no pattern reads; return the names of the latter."""
        read = {cell.column for cell in self.cells}
        unread = [_column_name(column) for column in range(width) if column not in read]
        if unread:
            warnings.warn(
                f"no pattern of the template reads the input {'column' if len(unread) == 1 else 'columns'} "
                f"{', '.join(unread)} (w is the first, p the second, c2 the third); extend the template, as "
                f"in 'ner + {unread[0]}[0]', or leave the column out",
                stacklevel=6,
            )
        unused = self.unused(knowledge)
        if unused:
            warnings.warn(
                f"no pattern of the template reads {', '.join(unused)}; extend the template, as in "
                f"'{unused[0]}[-1..1]'",
                stacklevel=6,
            )
        return unused


def load_template(name_or_path: str | Path, knowledge: Knowledge | None = None) -> Template:
    """The template of that name, or in that file."""
    if str(name_or_path) in NAMED:
        return parse_template(NAMED[str(name_or_path)], file=str(name_or_path))
    path = Path(name_or_path)
    if not path.is_file():
        raise ValueError(
            f"{str(name_or_path)!r} is neither a template file nor a template name ({', '.join(NAMED)}); if "
            "you write a template here, give attributes an offset, such as w[0]"
        )
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError("not valid UTF-8; check that this is a template file", str(path)) from error
    return parse_template(text, file=str(path), knowledge=knowledge)


def fitting_template(template: Any, width: int, knowledge: Knowledge | None = None) -> Template:
    """The template for names, files and texts; named templates are reduced to the available input columns.

    They are also extended by the word classes and gazetteers that no part of the template mentions.

    >>> len(fitting_template("label + c2[-1..1]", 3).patterns) - len(fitting_template("label", 3).patterns)
    3
    """
    if isinstance(template, Template):
        return template
    parts = template_parts(template)
    found = [_fitting(part, width, knowledge) for part in parts]
    if knowledge is not None and any(part in NAMED for part in parts):
        found += _extensions(_joined(found), knowledge)
    return _joined(found)


def _joined(parts: list[Template]) -> Template:
    return Template(
        tuple(dict.fromkeys(pattern for part in parts for pattern in part.patterns)),
        tuple(dict.fromkeys(pattern for part in parts for pattern in part.bigrams)),
        any(part.transitions for part in parts),
    )


def _extensions(template: Template, knowledge: Knowledge) -> list[Template]:
    """The patterns of the word classes and gazetteers that a template does not mention."""
    texts = []
    for name in template.unused(knowledge):
        if name in knowledge.vectors:
            texts.append(OF_VECTORS)
        elif name in knowledge.gazetteers:
            texts.append(OF_GAZETTEERS)
        else:
            texts.append(OF_PATHS if knowledge.classes[name].hierarchical else OF_CLASSES)
        texts[-1] = texts[-1].replace("NAME", name)
    return [parse_template(text, knowledge=knowledge) for text in texts]


def template_parts(template: Any) -> list[str | Path]:
    """The parts of a template that is a sum, such as ner + c2[0], or a list: names, files and texts."""
    if isinstance(template, (list, tuple)) and template:
        return [part for one in template for part in template_parts(one)]
    if isinstance(template, Path):
        return [template]
    if not isinstance(template, str):
        raise ValueError(
            f"a template must be a name, a file or patterns such as 'w[-1], w[0]', got {template!r}"[:300]
        )
    if template in NAMED or "%x" in template or os.path.exists(template):
        return [template]
    parts = [part.strip() for part in PLUS.split(template)]
    if len(parts) > 1 and not all(parts):
        raise ValueError(f"{template!r}: a + must stand between two templates, as in ner + c2[0]")
    return list(parts)


def furthest_label(template: Any) -> int:
    """The distance to the furthest previous label that a template joins with cells; 0 for none.

    >>> furthest_label("ner + y[-2]|w[0]")
    2
    """
    if isinstance(template, Template):
        return max((pattern.back for pattern in template.bigrams), default=0)
    lines = [line for part in template_parts(template) for line in _text(part).splitlines()]
    found = [BACK.findall(line) for line in lines if not line.lstrip().startswith("#")]
    return max((int(back) for line in found for back in line), default=0)


def _text(part: str | Path) -> str:
    """The text of a part of a template; other functions report missing files."""
    if os.path.isfile(part):
        return Path(part).read_text("utf-8", "replace")
    return NAMED.get(str(part), str(part))


def _fitting(template: str | Path, width: int, knowledge: Knowledge | None) -> Template:
    if template in NAMED:
        return load_template(template).within(width)
    by_name = isinstance(template, Path) or os.path.exists(template) or not TEXT.search(template)
    try:
        if by_name:
            found = load_template(template, knowledge)
        else:
            found = parse_template(str(template), knowledge=knowledge)
    except DataError as error:
        raise error if by_name else ValueError(f"{template!r}: {error.what}") from None
    if found.width > width:
        raise ValueError(
            f"the template reads column {found.width - 1} (counted from 0), but the input has {width} "
            "columns without the labels"
        )
    return found


def parse_template(text: str, *, file: str = "", knowledge: Knowledge | None = None) -> Template:
    """A template from its text: patterns separated by commas or line ends, ``#`` starts a comment line.

    ``w[-1]|w[0]`` joins the previous word and this one; ``w`` is the first column read, ``p`` the second,
    ``c2`` the third. ``w.suffix3[0]`` is an attribute of a column, ``suffix3[0]`` the same of the first one,
    ``w[-2..2]`` five patterns, ``bias`` a feature of every token. ``gram4[0]`` stands for a pattern for each
    n-gram of the word. ``cluster[1]`` is the class of the next word; other word classes and gazetteers give
    the attributes described in `taggers.features.knowledge`. ``doc_form[0]`` and ``doc_label[0]`` depend on
    the rest of the document, see `taggers.features.documents`. ``c2.value[0]`` is the number in the third
    column, and word vectors called vectors give ``vectors[0]``, see `taggers.features.real_values`.
    ``y[-1]|w[0]`` joins the previous label with cells; greedy inference can look further back, as in
    ``y[-2]|p[0]``. Lines that start with U or B have the syntax of CRF++; previous labels alone (B) are
    always used, as many as `order` says.
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
                pieces = [piece.strip() for piece in line.split(",")]
                found = [pattern for piece in pieces for pattern in _patterns(piece, knowledge)]
                patterns += [pattern for pattern in found if not pattern.back]
                bigrams += [pattern for pattern in found if pattern.back]
        except ValueError as error:
            raise DataError(f"in the template: {error}", file, number) from None
    if not patterns and not bigrams and not transitions:
        raise DataError("the template is empty; write, for example, w[-1], w[0], w[1]", file)
    return Template(tuple(dict.fromkeys(patterns)), tuple(dict.fromkeys(bigrams)), transitions)


def _patterns(piece: str, knowledge: Knowledge | None) -> list[Pattern]:
    spread = RANGE.fullmatch(piece)
    if spread:
        offsets = range(int(spread["low"]), int(spread["high"]) + 1)
        pieces = (f"{spread['name']}[{offset}]" for offset in offsets)  # until one is too far
        return [pattern for piece in pieces for pattern in _patterns(piece, knowledge)]
    if not piece:
        return []
    if several := SEVERAL.search(piece):  # one pattern for each n-gram; they share their features
        pieces = (f"{piece[: several.end()]}_{k}{piece[several.end() :]}" for k in range(1, GRAMS + 1))
        return [pattern for piece in pieces for pattern in _patterns(piece, knowledge)]
    if piece == "bias":
        return [Pattern(piece, piece, ())]
    parts = [part.strip() for part in piece.split("|")]
    labels = [match for match in map(LABEL.fullmatch, parts) if match]
    cells = tuple(_cell(part, knowledge) for part in parts if not LABEL.fullmatch(part))
    texts = list(map(_cell_text, cells))
    vectors = () if knowledge is None else knowledge.vectors
    if any(cell.attribute == VALUE or cell.attribute in vectors for cell in cells):
        if len(parts) > 1:
            raise ValueError(f"{piece!r}: numbers and word vectors cannot be joined with other cells")
        return [Pattern(texts[0], texts[0], cells, real=True)]
    if not labels:
        return [Pattern("|".join(texts), PLACE.sub("", "|".join(texts)), cells)]
    back = -int(labels[0][1])
    if len(labels) > 1 or not cells or not 1 <= back <= FARTHEST:
        raise ValueError(
            f"{piece!r} must join one previous label, y[-1] to y[-{FARTHEST}], with cells, as in y[-1]|w[0]; "
            "for previous labels alone, set the order"
        )
    if any(cell.attribute in DOCUMENT for cell in cells):
        raise ValueError(f"{piece!r}: doc_form and doc_label cannot be joined with a previous label")
    text = "|".join([f"y[-{back}]", *texts])
    return [Pattern(text, PLACE.sub("", text), cells, back)]


def _cell(text: str, knowledge: Knowledge | None) -> Cell:
    match = CELL.fullmatch(text)
    if not match:
        raise ValueError(
            f"{text!r} is neither a cell such as w[0], p[-1] or w.suffix3[0] nor a label as in y[-1]|w[0]"
        )
    owner, name, offset = match[1] or "w", match[2], int(match[3])
    if not match[1] and re.fullmatch(r"w|p|c\d+", name):
        owner, name = name, ""
    elif name not in (*DOCUMENT, VALUE) and (knowledge is None or not knowledge.has(name)):
        attribute(name, knowledge)
    of_all = name in (*ATTRIBUTES, VALUE) or AFFIX.fullmatch(name) or GRAM.fullmatch(name)
    if owner != "w" and name and not of_all:
        raise ValueError(f"{text!r}: only words, the first column, have classes, gazetteers and documents")
    return _checked(Cell("wp".index(owner) if owner in "wp" else int(owner[1:]), name, offset))


def _checked(cell: Cell) -> Cell:
    if abs(cell.offset) > FARTHEST:
        raise ValueError(f"offset must be within {FARTHEST} tokens, got {cell.offset}")
    if cell.column > MOST_COLUMNS:
        raise ValueError(f"column must be at most {MOST_COLUMNS}, got {cell.column}")
    return cell


def _cell_text(cell: Cell) -> str:
    return f"{_column_name(cell.column)}{'.' * bool(cell.attribute)}{cell.attribute}[{cell.offset}]"


def _column_name(column: int) -> str:
    return "wp"[column] if column < 2 else f"c{column}"


def _crfpp(line: str) -> Pattern:
    """A line of a CRF++ template; as there, lines of the same form without an identifier share features."""
    if "%" in MACRO.sub("", line):
        raise ValueError(f"{line!r} has a macro other than %x[row,column]")
    cells = tuple(_checked(Cell(int(column), "", int(row))) for row, column in MACRO.findall(line))
    return Pattern(line, MACRO.sub("%x", line) if cells else line, cells)


def cell_value(
    cell: Cell,
    texts: list[list[str]],
    token: int,
    sentence: range,
    knowledge: Knowledge | None = None,
    document: Mapping[str, list[str]] | None = None,
) -> str | None:
    """The text of a cell at a token of a sentence; beyond the sentence, the marker of CRF++.

    document: for each attribute that depends on the document, its values of all tokens.
    """
    at = token + cell.offset
    if at < sentence.start:
        return f"_B-{sentence.start - at}"
    if at >= sentence.stop:
        return f"_B+{at - sentence.stop + 1}"
    text = texts[cell.column][at]
    if not cell.attribute:
        return text
    if document is not None and cell.attribute in document:
        return document[cell.attribute][at]
    words = texts[cell.column][sentence.start : sentence.stop]
    matches = None if knowledge is None else knowledge.match(cell.attribute, words)
    return attribute(cell.attribute, knowledge)(text) if matches is None else matches[at - sentence.start]
