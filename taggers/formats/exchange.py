"""Documents from all formats, and files of all formats from documents: what `tag --to` and `convert` need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from structsvm.files.errors import DataError
from taggers.formats._columns import Columns
from taggers.formats.base import Layer
from taggers.formats.drawing import PICTURES, draw
from taggers.formats.records import (
    MISSING,
    Reading,
    Record,
    RecordFormat,
    Split,
    Values,
    cut_lines,
    labelled,
    of_words,
    scheme_of,
)
from taggers.formats.registry import FORMATS
from taggers.formats.text import FORMAT as TEXT
from taggers.formats.text import decoded
from taggers.formats.tokenizer import Token

TARGETS = (
    "columns",
    "conllu",
    *PICTURES,
    *(name for name, one in FORMATS.items() if isinstance(one, RecordFormat)),
)


class TextAsRecords(RecordFormat):
    """Plain text whose lines become documents with the offsets of their tokens."""

    name = TEXT.name
    title = TEXT.title
    block = TEXT.block
    whole = False
    cut = staticmethod(cut_lines)

    def __init__(self, split: Split | None) -> None:
        self.split = split

    def matches(self, head: Sequence[str]) -> bool:
        return False

    def records(self, data: bytes, line: int, reading: Reading) -> Iterator[Record]:
        split = self.split or reading.split
        for number, text in enumerate(decoded(data, reading.name, line).splitlines(), line):
            sentences = [_words(tokens) for tokens in split(text)]
            if sentences:
                yield Record(text, sentences, line=number, name=str(number))

    def dump(self, records: Sequence[Record]) -> bytes:
        raise ValueError("documents cannot be written as plain text with labels; use --to jsonl")


def _words(tokens: Sequence[Token]) -> list[Token]:
    """Tokens, with the words of multiword tokens at the place of the token."""
    return [Token(word, token.start, token.end) for token in tokens for word in token.words or (token.text,)]


def columns_records(
    columns: Columns, layers: Sequence[Layer], fields: Sequence[str], gold: Sequence[str] = ()
) -> list[Record]:
    """The documents of columns, one for each sentence if the file has no documents of its own.

    fields: the field of each layer. gold: the fields of the columns after the word, if they are to be kept.
    """
    if columns.origin is None:
        columns.origin = list(_sentences(columns, gold))
        found = labelled(columns, layers, fields)
        columns.origin = None
        return found
    return labelled(columns, layers, fields)


def _sentences(columns: Columns, gold: Sequence[str]) -> Iterator[Record]:
    words = columns.texts(0)
    spaces = _spaces(columns)
    values = {
        name: [
            None if one in (MISSING, "") else one
            for one in columns.format.labels(columns.texts(at), columns.wanted[at])
        ]
        for at, name in enumerate(gold, 1)
    }
    values = {name: row for name, row in values.items() if any(one is not None for one in row)}
    for start, stop in pairwise(columns.sentence_ptr.tolist()):
        text, tokens = of_words(words[start:stop], spaces=None if spaces is None else spaces[start:stop])
        kept = {name: row[start:stop] for name, row in values.items()}
        yield Record(text, [tokens], kept, line=columns.line(start))


def spaces_after(columns: Columns) -> list[list[bool]] | None:
    """Whether a space follows each token, by sentence; None if the file does not say it."""
    if columns.origin is not None:
        sentences = [one for record in columns.origin for one in record.sentences if one]
        return [[*(b.start > a.end for a, b in pairwise(tokens)), True] for tokens in sentences]
    spaces = _spaces(columns)
    return None if spaces is None else [spaces[a:b] for a, b in pairwise(columns.sentence_ptr.tolist())]


def _spaces(columns: Columns) -> list[bool] | None:
    """Whether a space follows each token, which only CoNLL-U says, in its last column."""
    if columns.format.name != "conllu":
        return None
    data, found = columns.data, []
    for end in columns.ends.tolist():
        misc = data[data.rfind(b"\t", 0, end) + 1 : end]
        found.append(b"SpaceAfter=No" not in misc.rstrip(b"\r").split(b"|"))
    return found


def check_target(name: str) -> None:
    """Raise ValueError for a format that cannot be written."""
    if name not in TARGETS:
        raise ValueError(f"--to must be one of {', '.join(TARGETS)}, got {name!r}")


def written(records: Sequence[Record], to: str, source: str, first: int = 1) -> bytes:
    """A file with these documents. What only the source format can express is kept if `to` is the same.

    first: the number of the first document, if others precede it.
    """
    if to != source:
        records = [replace(record, raw=None) for record in records]
    if to == "columns":
        return _as_columns(records)
    if to == "conllu":
        return _as_conllu(records, first)
    if to in PICTURES:
        return draw(records, to)
    target = FORMATS[to]
    assert isinstance(target, RecordFormat)
    return target.dump(records)


def _as_columns(records: Sequence[Record]) -> bytes:
    lines = []
    for record in records:
        values = record.value("label") or [None] * len(record.tokens)
        at = 0
        for sentence in record.sentences:
            for token in sentence:
                score = [] if record.scores is None else [f"{record.scores[at]:.4f}"]
                lines.append(_row([token.text, values[at] or MISSING, *score], record))
                at += 1
            lines.append("\n")
    return "".join(lines).encode()


def _as_conllu(records: Sequence[Record], first: int) -> bytes:
    """CoNLL-U with labels of phrases in MISC, and other labels in UPOS unless there is a UPOS."""
    lines = []
    scheme = scheme_of(records)
    for number, record in enumerate(records, first):
        phrases = scheme != "none" or "upos" in record.values
        unlabelled: Values = [None] * len(record.tokens)
        values = record.value("label") or unlabelled
        if values is record.values.get("upos"):  # they have their column
            values = unlabelled
        at = 0
        for part, sentence in enumerate(record.sentences, 1):
            text = " ".join(record.text[sentence[0].start : sentence[-1].end].split())
            lines += [f"# sent_id = {number}-{part}\n", f"# text = {text}\n"]
            after = [*(token.start for token in sentence[1:]), -1]
            for place, (token, next_start) in enumerate(zip(sentence, after, strict=True), 1):
                own = {name: row[at] or MISSING for name, row in record.values.items()}
                label = values[at]
                misc = ["SpaceAfter=No"] if next_start == token.end else []
                if label is not None and phrases:
                    misc.append(label)
                upos = own.get("upos") or (MISSING if phrases or label is None else label)
                misc += [] if record.scores is None else [f"Margin={record.scores[at]:.4f}"]
                cells = [str(place), token.text, own.get("lemma", MISSING), upos, own.get("xpos", MISSING),
                         own.get("feats", MISSING), own.get("head", MISSING), own.get("deprel", MISSING),
                         MISSING, "|".join(misc) or MISSING]  # fmt: skip
                lines.append(_row(cells, record))
                at += 1
            lines.append("\n")
    return "".join(lines).encode()


def _row(cells: Sequence[str], record: Record) -> str:
    if bad := next((cell for cell in cells if any(c in cell for c in "\t\n\r") or not cell), None):
        raise DataError(
            f"{bad!r} cannot be written in columns, which tabs and line ends separate", "", record.line
        )
    return "\t".join(cells) + "\n"
