"""Formats of documents: texts whose tokens have offsets, with labels of tokens or spans of characters.

A document becomes the columns `FIELDS`, one row per token. The numbers of `form`, `lemma`, `upos`, `xpos` and
`feats` are those of CoNLL-U; `label` is what training learns by default.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any

import numpy as np

from structsvm.files.errors import DataError
from structsvm.validation import meant
from taggers.formats._columns import Columns
from taggers.formats.base import Format, Layer
from taggers.formats.tokenizer import Token, split_sentences
from taggers.labels import schemes
from taggers.labels.schemes import OUTSIDE

if TYPE_CHECKING:
    from taggers.formats.files import Opened

FIELDS = ("id", "form", "lemma", "upos", "xpos", "feats", "ner", "chunk", "head", "deprel", "label")
DEFAULTS = ("label", "ner", "chunk", "upos", "xpos")  # the first one that a document has is its label
MISSING = "_"

Split = Callable[[str], list[list[Token]]]
Values = list[str | None]  # a label for each token; None where it is unknown


@dataclass(frozen=True)
class CharSpan:
    """A labelled range of characters; with an empty label, it can fit no tokens."""

    start: int
    end: int
    label: str


@dataclass
class Record:
    """A document.

    text, sentences: the text, and its tokens with their offsets. values: the labels by field, for all tokens
    in a row. name, line: where it comes from. raw: what else the file says about it, kept when labels are
    written back. scores: a number for each predicted label. scheme: that of the labels, if it is known.
    unfit: the number of spans that do not fit the tokens. lines: those of its tokens, if they differ.
    """

    text: str
    sentences: list[list[Token]]
    values: dict[str, Values] = field(default_factory=dict)
    name: str = ""
    line: int = 1
    raw: Any = None
    scores: list[float] | None = None
    predicted: bool = False
    scheme: str = ""
    unfit: int = 0
    lines: list[int] | None = None

    @property
    def tokens(self) -> list[Token]:
        """All tokens in a row."""
        return list(chain.from_iterable(self.sentences))

    def value(self, name: str) -> Values | None:
        """The labels of a field; `label` stands for the first of `DEFAULTS` that there is."""
        if name != "label":
            return self.values.get(name)
        return next((self.values[one] for one in DEFAULTS if one in self.values), None)


class Misfits:
    """Counts spans that tokens cannot express, for one warning about a file."""

    def __init__(self) -> None:
        self.total = 0
        self.cut: list[tuple[int, str]] = []  # lines and texts of spans inside a token or in pieces
        self.overlapping: list[tuple[int, str]] = []
        self.absent: list[tuple[int, str]] = []  # of spans that are quoted, but not in the text
        self.skipped: list[int] = []  # lines of documents that an annotator rejected
        self.unread: dict[str, int] = {}  # keys that may have the labels of tokens, with their first lines

    def warn(self, name: str) -> None:
        """Warn if there are any."""
        parts = []
        for found, what in (
            (self.cut, "do not fit the tokens"), (self.overlapping, "overlap an earlier one"),
        ):  # fmt: skip
            if found:
                text = found[0][1]
                lines = ", ".join(str(line) for line in dict.fromkeys(line for line, _ in found[:5]))
                more = ", ..." if len(found) > 5 else ""
                parts.append(
                    f"{len(found)} of {self.total} spans {what} (line {lines}{more}; the first is {text!r})"
                )
        if parts:
            warnings.warn(
                f"{name}: {' and '.join(parts)}; their tokens count as unlabelled", UserWarning, stacklevel=4
            )
        if self.absent:
            (line, text), count = self.absent[0], len(self.absent)
            what = f"{count} of {self.total} quoted spans are not in their texts (the first is {text!r})"
            warnings.warn(f"{name}:{line}: {what}; they are left out", UserWarning, stacklevel=4)
        for key, line in self.unread.items():
            warnings.warn(
                f"{name}:{line}: the values of {key!r} are not read; if they are labels, choose that column",
                UserWarning, stacklevel=4,
            )  # fmt: skip
        if self.skipped:
            count = len(self.skipped)
            what = (
                f"{count} documents that annotators rejected or skipped are"
                if count > 1
                else ("1 document that an annotator rejected or skipped is")
            )
            first = f"(the first at line {self.skipped[0]})"
            warnings.warn(f"{name}: {what} left out {first}", UserWarning, stacklevel=4)


@dataclass
class Reading:
    """How to read documents: the name of the file, the splitter of texts, and the misfits so far."""

    name: str
    split: Split = split_sentences
    misfits: Misfits = field(default_factory=Misfits)
    names: dict[str, list[str] | None] = field(default_factory=dict)  # of integer tags, by their keys
    key: str = ""  # of the labels, if the user chose it

    def refuse(self, what: str, line: int) -> DataError:
        """An error about a line."""
        return DataError(what, self.name, line)

    def of_text(self, text: str, spans: Sequence[CharSpan] | None, line: int, **given: Any) -> Record:
        """Split a text and label its tokens by spans; None means that it is not annotated."""
        record = Record(text, self.split(text), line=line, **given)
        if spans is not None:
            self.put_spans(record, spans)
        return record

    def put_spans(self, record: Record, spans: Sequence[CharSpan], name: str = "label") -> None:
        """Label the tokens of a record in IOB2.

        Sentences that share a span are joined. Tokens of a span that begins or ends inside a token, or that
        overlaps an earlier one, are unknown.
        """
        text, misfits = record.text, self.misfits
        tokens = record.tokens
        starts, ends = [token.start for token in tokens], [token.end for token in tokens]
        values: Values = [schemes.OUTSIDE] * len(tokens)
        taken = [False] * len(tokens)
        inside: set[int] = set()  # tokens that cannot begin a sentence
        for span in sorted(spans, key=lambda one: (not one.label, one.start, -one.end)):
            if not 0 <= span.start <= span.end <= len(text):
                raise self.refuse(
                    f"the span {span.start}-{span.end} ({span.label}) leaves the text, which has "
                    f"{len(text)} characters; offsets count characters from 0", record.line,
                )  # fmt: skip
            misfits.total += 1
            piece = text[span.start : span.end]
            start = span.start + len(piece) - len(piece.lstrip())
            end = start + len(piece.strip())
            first, last = bisect_right(ends, start), bisect_left(starts, end)
            fits = first < last and (starts[first], ends[last - 1]) == (start, end)
            free = not any(taken[first:last])
            if fits and free and span.label:
                values[first:last] = schemes.encode([(span.label, 0, last - first)], last - first, "IOB2")
                inside.update(range(first + 1, last))
            else:
                overlaps = span.label and not free
                record.unfit += not overlaps
                (misfits.overlapping if overlaps else misfits.cut).append((record.line, piece[:40]))
                for at in range(first, last):
                    values[at] = None if span.label or not taken[at] else values[at]
            taken[first:last] = [True] * (last - first)
        record.values[name], record.scheme = values, "IOB2"
        record.sentences = _without_breaks(record.sentences, inside)


def _without_breaks(sentences: list[list[Token]], inside: set[int]) -> list[list[Token]]:
    joined: list[list[Token]] = []
    at = 0
    for sentence in sentences:
        if at in inside and joined:
            joined[-1] = [*joined[-1], *sentence]
        else:
            joined.append(sentence)
        at += len(sentence)
    return joined


def of_words(words: Sequence[str], *, spaces: Sequence[bool] | None = None) -> tuple[str, list[Token]]:
    """The text of words, joined by spaces, and the words with their offsets."""
    text, tokens, at = [], [], 0
    for number, word in enumerate(words):
        tokens.append(Token(word, at, at + len(word)))
        space = " " if (number + 1 < len(words) and (spaces is None or spaces[number])) else ""
        text += [word, space]
        at += len(word) + len(space)
    return "".join(text), tokens


class RecordFormat(Format):
    """A format of documents. A subclass reads and writes whole documents; labels replace those of the file.

    whole: the file is one value, such as a JSON array, so it is read and written at once.
    folder: a folder of files instead of one file.
    key: the key of the labels in JSON, if the user chose it.
    keeps: the fields that it can hold. only_phrases: labels must mark phrases, and none can be missing.
    """

    names = FIELDS
    n_columns = len(FIELDS)
    words = FIELDS.index("form")
    label = FIELDS.index("label")
    replaces = True
    scores = "records"
    whole: bool = True
    folder: bool = False
    key: str = ""
    keeps: tuple[str, ...] = FIELDS
    only_phrases: bool = False
    block = 1 << 30

    @abstractmethod
    def records(self, data: bytes, line: int, reading: Reading) -> Iterator[Record]:
        """Yield the documents of a block of the file, which begins at this line."""

    def extra(self, raw: Any) -> list[str]:
        """Name the parts of a document that documents of other formats cannot hold."""
        return []

    @abstractmethod
    def dump(self, records: Sequence[Record]) -> bytes:
        """Return a file with these documents."""

    def files(self, records: Sequence[Record]) -> Iterator[tuple[str, bytes]]:
        """Yield the names and contents of the files of a folder."""
        raise ValueError(f"{self.title} is not a folder")

    # A sentence ends nowhere before the end of the file. A subclass whose documents are lines replaces this.
    cut: Callable[[bytes, int], int] = staticmethod(lambda data, start: 0)

    def missing(self, column: int) -> str | None:
        return MISSING

    def column(self, name: str) -> int:
        if name.lower() in self.names:
            return self.names.index(name.lower())
        raise ValueError(
            f"{self.title} has no column {name!r}; choose one of {', '.join(self.names[1:])}"
            f"{meant(name, self.names)}"
        )

    def read(self, opened: Opened, wanted: Sequence[int]) -> Iterator[Columns]:
        reading = Reading(opened.name, opened.split or split_sentences, key=self.key)
        for line, data in opened.blocks():
            yield as_columns(list(self.records(data, line, reading)), wanted, self, opened.name, line)
        reading.misfits.warn(opened.name)

    def write(self, columns: Columns, layers: Sequence[Layer]) -> bytes:
        return self.dump(labelled(columns, layers))


def cut_lines(data: bytes, start: int) -> int:
    """Where the last complete line ends, as `Format.cut` says it."""
    return data.rfind(b"\n", start) + 1


def as_columns(
    records: list[Record], wanted: Sequence[int], format: Format, name: str = "<memory>", first_line: int = 1
) -> Columns:
    """Lay documents out as columns; `Columns.origin` keeps them for writing."""
    resolved = [column + len(FIELDS) * (-len(FIELDS) <= column < 0) for column in wanted]
    fields = [FIELDS[column] for column in resolved if 0 <= column < len(FIELDS)]
    sentences = [sentence for record in records for sentence in record.sentences if sentence]
    tokens = list(chain.from_iterable(sentences))
    pieces: list[bytes] = []
    spans = np.zeros((len(tokens), len(FIELDS), 2), np.int32)
    at = 0
    for column in fields:
        texts = [text.encode() for text in _texts(records, column)]
        sizes = np.fromiter(map(len, texts), np.int64, len(texts))
        starts = at + np.cumsum(sizes) - sizes
        if at + int(sizes.sum()) >= 2**31 - 1:
            raise DataError("more than 2 GB of text at once; split the file", name)
        spans[:, FIELDS.index(column), 0], spans[:, FIELDS.index(column), 1] = starts, sizes
        at += int(sizes.sum())
        pieces += texts
    lines = [
        line - first_line for record in records for line in record.lines or [record.line] * len(record.tokens)
    ]
    columns = Columns.from_spans(
        b"".join(pieces), spans, np.zeros(len(tokens), np.int32), np.array(lines, np.int32),
        list(accumulate(map(len, sentences), initial=0)), format=format, wanted=wanted,
        n_columns=len(FIELDS), separator="\t", name=name, first_line=first_line,
    )  # fmt: skip
    columns.origin = records
    counts = [sum(map(bool, record.sentences)) for record in records]
    if max(counts, default=0) > 1:
        columns.documents = np.cumsum([0, *counts[:-1]])
    return columns


def _texts(records: list[Record], column: str) -> list[str]:
    if column == "form":
        return [token.text for record in records for token in record.tokens]
    found: list[str] = []
    for record in records:
        size = sum(map(len, record.sentences))
        values = [record.name or str(record.line)] * size if column == "id" else record.value(column)
        found += [MISSING] * size if values is None else [value or MISSING for value in values]
    return found


def labelled(columns: Columns, layers: Sequence[Layer], fields: Sequence[str] | None = None) -> list[Record]:
    """The documents of columns with predicted labels.

    fields: the field of each layer; by default the column that it replaces.
    """
    if columns.origin is None:
        raise ValueError("these columns hold no documents")
    records = [
        replace(record, values=dict(record.values), predicted=bool(layers)) for record in columns.origin
    ]
    for number, layer in enumerate(layers):
        if fields is not None:
            name = fields[number]
        else:
            name = "label" if layer.column is None else FIELDS[columns.wanted[layer.column]]
        at = 0
        ids = layer.ids.tolist()
        for record in records:
            stop = at + sum(map(len, record.sentences))
            record.values[name] = [layer.names[k] if k >= 0 else None for k in ids[at:stop]]
            if layer.scores is not None:
                record.scores = layer.scores[at:stop].tolist()
            at = stop
    if layers:
        scheme = scheme_of(records, names=layers[-1].names)
        for record in records:
            record.scheme = scheme
    return records


def scheme_of(records: Sequence[Record], *, names: Sequence[str] = ()) -> str:
    """The scheme of the labels of documents, "none" if they mark no phrases.

    names: labels that the documents could have.
    """
    known = {record.scheme for record in records} - {""}
    if not names and len(known) == 1:
        return known.pop()
    rows = [record.value("label") for record in records]
    found = schemes.detect([label or OUTSIDE for label in row] for row in rows if row is not None)
    if found == "none" and (
        any(len(schemes.split(label)[0]) == 1 and schemes.split(label)[1] for label in names)
        or {label for row in rows for label in row or () if label} == {OUTSIDE}
    ):
        return "IOB2"  # all are O
    return found


def token_spans(record: Record, scheme: str, name: str = "label") -> list[tuple[str, int, int]]:
    """The phrases of a document as (label, first token, end), numbered through all sentences."""
    values = record.value(name)
    if values is None or scheme == "none":
        return []
    found, at = [], 0
    for sentence in record.sentences:
        labels = [value or schemes.OUTSIDE for value in values[at : at + len(sentence)]]
        found += [(kind, at + first, at + end) for kind, first, end in schemes.spans(labels, scheme)]
        at += len(sentence)
    return found


def char_spans(record: Record, scheme: str, name: str = "label") -> list[CharSpan]:
    """The phrases of a document as ranges of characters."""
    tokens = record.tokens
    return [
        CharSpan(tokens[first].start, tokens[end - 1].end, kind)
        for kind, first, end in token_spans(record, scheme, name)
    ]
