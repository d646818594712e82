"""brat's standoff annotation: a folder of texts (`a.txt`), each with its spans (`a.ann`)."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from structsvm.files.errors import DataError
from taggers.formats.records import (
    CharSpan,
    Reading,
    Record,
    RecordFormat,
    char_spans,
    cut_lines,
    scheme_of,
)

SPAN = re.compile(r"T\S*\t(\S+) (\d+ \d+(?:;\d+ \d+)*)(?:\t|$)")
LINE = re.compile(r"[TREAMN#*]\S*\t\S")
LISTED = '{"brat": '


class BratFormat(RecordFormat):
    """A folder is passed on as lines of JSON, one per document; the text of `a.ann` is in `a.txt`.

    Relations, events, attributes and notes are not read. A span of several pieces fits no tokens.
    """

    name = "brat"
    title = "brat's standoff annotation"
    keeps = ("label",)
    only_phrases = True
    sign = ""
    whole = True
    folder = True
    cut = staticmethod(cut_lines)

    def matches(self, head: Sequence[str]) -> bool:
        if not head:
            return False
        return head[0].startswith(LISTED) or (
            all(LINE.match(line) for line in head) and any(SPAN.match(line) for line in head)
        )

    def records(self, data: bytes, line: int, reading: Reading) -> Iterator[Record]:
        if not data.startswith(LISTED.encode()):
            path = Path(reading.name)
            text, ann = _text_of(path.with_suffix(".txt")), data.decode()
            yield _document(path.stem, text, ann, 1, reading)
            _tell_unread([ann], reading.name)
            return
        anns: list[str] = []
        for row in data.splitlines():
            one = json.loads(row)
            inside = Reading(one["path"], reading.split, reading.misfits)
            yield _document(one["brat"], one["text"], one["ann"], 1, inside)
            anns.append(one["ann"] or "")
        _tell_unread(anns, reading.name)

    def dump(self, records: Sequence[Record]) -> bytes:
        if len(records) != 1:
            raise ValueError("brat's annotation is a folder of files; name it with -o FOLDER")
        return self._spans(records[0], scheme_of(records))  # of a single .ann

    def files(self, records: Sequence[Record]) -> Iterator[tuple[str, bytes]]:
        scheme = scheme_of(records)
        names = [record.name for record in records]
        named = len(set(names)) == len(names) and all(re.fullmatch(r"[\w.-]+", name) for name in names)
        for number, record in enumerate(records, 1):
            name = record.name if named else f"{number:05d}"
            yield f"{name}.txt", record.text.encode()
            if record.value("label") is None:
                continue
            yield f"{name}.ann", self._spans(record, scheme)

    def _spans(self, record: Record, scheme: str) -> bytes:
        lines = []
        for at, span in enumerate(char_spans(record, scheme), 1):
            text = record.text[span.start : span.end].replace("\n", " ").replace("\r", " ")
            label = re.sub(r"\s", "_", span.label)
            lines.append(f"T{at}\t{label} {span.start} {span.end}\t{text}\n")
        return "".join(lines).encode()


def listing(folder: Path) -> bytes:
    """The documents of a folder as lines of JSON; files without `.ann` are not annotated."""
    texts = sorted(folder.rglob("*.txt"))
    alone = [text for text in texts if not text.with_suffix(".ann").exists()]
    if len(alone) == len(texts):
        raise DataError("is a folder without brat's .txt and .ann files", str(folder))
    if alone:
        warnings.warn(
            f"{folder}: {len(alone)} of {len(texts)} .txt files have no .ann, so they count as not annotated "
            f"(the first is {alone[0].relative_to(folder)}); an .ann may be empty", stacklevel=6,
        )  # fmt: skip
    lines = []
    for path in texts:
        annotation = path.with_suffix(".ann")
        name = ".".join(path.relative_to(folder).with_suffix("").parts)
        ann = _text_of(annotation) if annotation.exists() else None
        one = {"brat": name, "path": str(annotation), "text": _text_of(path), "ann": ann}
        lines.append(json.dumps(one) + "\n")
    return "".join(lines).encode()


def _text_of(path: Path) -> str:
    try:
        return path.read_bytes().decode().removeprefix("\ufeff")
    except OSError as error:
        raise DataError(
            f"cannot be read: {error.strerror}; brat needs the text in the same folder", str(path)
        ) from None
    except UnicodeDecodeError as error:
        raise DataError(f"byte {error.start} is not valid UTF-8", str(path)) from None


def _document(name: str, text: str, ann: str | None, line: int, reading: Reading) -> Record:
    if ann is None:
        return reading.of_text(text, None, line, name=name)
    spans = []
    for number, row in enumerate(ann.split("\n"), 1):
        if row.startswith("T"):
            found = SPAN.match(row)
            if found is None:
                raise reading.refuse('a span must be written as "T1, tab, LABEL 0 4, tab, text"', number)
            pieces = [tuple(map(int, piece.split())) for piece in found[2].split(";")]
            label = found[1] if len(pieces) == 1 else ""  # no tokens fit several pieces
            spans.append(CharSpan(pieces[0][0], pieces[-1][1], label))
    return reading.of_text(text, spans, line, name=name)


def _tell_unread(anns: Iterable[str], name: str) -> None:
    """Warn once of all rows that are not spans."""
    unread = sum(bool(row.strip()) and not row.startswith("T") for ann in anns for row in ann.split("\n"))
    if unread:
        warnings.warn(
            f"{name}: relations, events, attributes and notes ({unread}) are not read", stacklevel=4
        )


FORMAT = BratFormat()
