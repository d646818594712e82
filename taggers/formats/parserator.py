"""XML of parserator, usaddress and probablepeople: elements of a sequence, called as their labels."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import escape

from taggers.formats.records import Reading, Record, RecordFormat, Values, of_words

START = re.compile(r"\s*(<\?xml[^>]*\?>\s*)?<(\w+Collection|Collection|\w+s)>\s*(<\w+>\s*<\w+>|$)", re.DOTALL)
ENDS = re.compile(r"[.,;:)]+")  # after a token without a space, these belong to it
NAME = re.compile(r"[^\W\d][\w.-]*")


class ParseratorFormat(RecordFormat):
    """The children of the root are sequences; their children are tokens, labelled by the element's name."""

    name = "parserator"
    title = "parserator's XML"
    keeps = ("label",)
    sign = "<"

    def matches(self, head: Sequence[str]) -> bool:
        start = "\n".join(head)
        return START.match(start) is not None and re.search(r"<(\w+)>[^<>]*</\1>", start) is not None

    def records(self, data: bytes, line: int, reading: Reading) -> Iterator[Record]:
        reader = _Reader(reading)
        yield from reader.parse(data)
        if reader.outside:
            number, word = reader.outside[0]
            warnings.warn(
                f"{reading.name}: words outside of all elements count as unlabelled: {len(reader.outside)} "
                f"(the first is {word[:30]!r} in line {number})", stacklevel=2,
            )  # fmt: skip

    def dump(self, records: Sequence[Record]) -> bytes:
        raw = records[0].raw if records and isinstance(records[0].raw, tuple) else ("Collection", "Sequence")
        root, item = raw
        lines = []
        for record in records:
            values = record.value("label") or [None] * len(record.tokens)
            parts = []
            for token, value in zip(record.tokens, values, strict=True):
                name = value if value is not None and NAME.fullmatch(value) else "Null"
                if value is not None and name != value:
                    raise ValueError(f"label {value!r} cannot be the name of an XML element")
                parts.append(f"<{name}>{escape(token.text)}</{name}>")
            lines.append(f"  <{item}>{' '.join(parts)}</{item}>\n")
        return f"<{root}>\n{''.join(lines)}</{root}>\n".encode()


class _Reader:
    """Reads the sequences with expat, which opens no other file; a DOCTYPE is refused."""

    def __init__(self, reading: Reading) -> None:
        self.reading, self.path = reading, list[str]()
        self.found: list[Record] = []
        self.words: list[str] = []
        self.labels: Values = []
        self.outside: list[tuple[int, str]] = []  # words without an element, and their lines
        self.text: list[str] = []
        self.root, self.line = "", 0
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._data
        self.parser.StartDoctypeDeclHandler = self._doctype

    def parse(self, data: bytes) -> list[Record]:
        try:
            self.parser.Parse(data, True)
        except expat.ExpatError as error:
            raise self.reading.refuse(f"is not XML: {expat.ErrorString(error.code)}", error.lineno) from None
        return self.found

    def _doctype(self, *names: Any) -> None:
        raise self.reading.refuse("has a DOCTYPE, which is not allowed", self.parser.CurrentLineNumber)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self.path.append(name)
        if len(self.path) == 1:
            self.root = name
        elif len(self.path) == 2:
            self.words, self.labels, self.line = [], [], self.parser.CurrentLineNumber
        elif len(self.path) > 3:
            what = f"<{name}> is inside a token; a token has only text"
            raise self.reading.refuse(what, self.parser.CurrentLineNumber)
        self.text = []

    def _data(self, text: str) -> None:
        if len(self.path) < 2 and text.strip():
            what = f"{text.strip()[:30]!r} is outside of all sequences"
            raise self.reading.refuse(what, self.parser.CurrentLineNumber)
        if len(self.path) == 2:
            words = text.split()
            if words and self.words and not text[0].isspace() and ENDS.fullmatch(words[0]):
                self.words[-1] += words.pop(0)
            self.outside += [(self.parser.CurrentLineNumber, word) for word in words]
            self.words += words
            self.labels += [None] * len(words)
        self.text.append(text)

    def _end(self, name: str) -> None:
        if len(self.path) == 3:
            for word in "".join(self.text).split():
                self.words.append(word)
                self.labels.append(None if name == "Null" else name)
        elif len(self.path) == 2 and self.words:
            text, tokens = of_words(self.words)
            self.found.append(
                Record(text, [tokens], {"label": self.labels}, line=self.line, raw=(self.root, name))
            )
        self.path.pop()


FORMAT = ParseratorFormat()
