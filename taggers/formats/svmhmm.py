"""SVM-HMM's format: ``label qid:3 1:0.5 7:1 # comment``, one token per line.

Consecutive lines with the same qid are a sentence. Features are numbers of 1 or more, in increasing order,
with their values. Blank lines and lines that begin with ``#`` are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from structsvm.files.errors import DataError
from taggers.features._lexicon import hash_string
from taggers.formats._columns import Columns
from taggers.formats._write import write
from taggers.formats.base import Format, Layer

if TYPE_CHECKING:
    from taggers.formats.files import Opened

LINE = re.compile(rb"[ \t]*([^\s#]+)[ \t]+qid:(\d+)(?=[ \t\r\n#]|$)")
FEATURE = rb"[1-9]\d{0,17}:[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
FEATURES = re.compile(rb"(?:[ \t]+" + FEATURE + rb")*[ \t]*")
NO_QID = "no qid after the label; write lines as in: label qid:1 1:0.5 7:1"


class SvmHmmFormat(Format):
    """Features are ready; labels replace the first field of a line."""

    name = "svmhmm"
    title = "SVM-HMM's format"
    sign = "qid:"
    n_columns = 1
    label = 0
    replaces = True
    scores = ""
    ready = True

    def matches(self, head: Sequence[str]) -> bool:
        lines = [line for line in head if not line.lstrip().startswith("#")]
        return bool(lines) and all(LINE.match(line.encode("latin-1")) for line in lines)

    def cut(self, data: bytes, start: int) -> int:
        """Return where the last sentence begins, as the next block may continue it."""
        end, last = data.rfind(b"\n") + 1, None
        while end > 0:
            begin = data.rfind(b"\n", 0, end - 1) + 1
            found = LINE.match(data, begin, end)
            if found and last is not None and found[2] != last:
                return end
            last = found[2] if found else last
            end = begin
        return 0

    def read(self, opened: Opened, wanted: Sequence[int]) -> Iterator[Columns]:
        """Find the labels, and check the qids; `features` reads the rest of the lines."""
        begun: set[bytes] = set()  # the qids so far
        for line, data in opened.blocks():
            yield self._read(data, wanted, opened.name, line, begun)

    def _read(
        self, data: bytes, wanted: Sequence[int], name: str, first_line: int, begun: set[bytes]
    ) -> Columns:
        spans: list[tuple[int, int]] = []
        ends: list[int] = []
        lines: list[int] = []
        starts: list[int] = []  # of sentences
        at, last = 3 if first_line == 1 and data.startswith(b"\xef\xbb\xbf") else 0, None
        for number, line in enumerate(data[at:].split(b"\n")):
            found = LINE.match(line)
            if found:
                qid = found[2]
                if qid != last:
                    if qid in begun:
                        what = f"qid:{qid.decode()} returns after other sentences; sort the lines by qid"
                        raise DataError(what, name, first_line + number)
                    begun.add(qid)
                    starts.append(len(ends))
                    last = qid
                spans.append((at + found.start(1), len(found[1])))
                ends.append(at + len(line.removesuffix(b"\r")))
                lines.append(number)
            elif line.strip() and not line.lstrip().startswith(b"#"):
                raise DataError(NO_QID, name, first_line + number)
            at += len(line) + 1
        return Columns.from_spans(
            data, spans, ends, lines, [*starts, len(ends)], format=self, wanted=wanted, n_columns=1,
            name=name, first_line=first_line,
        )  # fmt: skip

    def write(self, columns: Columns, layers: Sequence[Layer]) -> bytes:
        for layer in layers:
            if bad := next((label for label in layer.names if "#" in label), None):
                raise ValueError(f"label {bad!r} cannot be written: # begins a comment in {self.title}")
        return write(columns, layers)

    def features(
        self, columns: Columns, table: Any, *, grow: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        fields: list[bytes] = []
        ends = [0]
        for token, text in enumerate(self._features(columns)):
            if not FEATURES.fullmatch(text):
                parts = re.split(rb"[ \t]+", text.strip(b" \t"))  # a form feed is part of a field
                bad = next((field for field in parts if not re.fullmatch(FEATURE, field)), text)
                what = "is not a feature; write number:value, as in 7:0.5, with numbers from 1"
                raise DataError(f"{bad.decode()!r} {what}", columns.name, columns.line(token))
            fields += text.replace(b":", b" ").split()
            ends.append(len(fields) // 2)
        token_ptr = np.array(ends, np.int64)
        numbers = np.fromiter(map(int, fields[::2]), np.int64)
        with np.errstate(over="ignore"):
            values = np.fromiter(map(float, fields[1::2]), np.float64).astype(np.float32)
        _check(columns, numbers, values, token_ptr)
        distinct, place = np.unique(numbers, return_inverse=True)
        keys = np.array([hash_string(str(number)) for number in distinct.tolist()], np.uint64)[place]
        keys[values == 0] = 0  # the key of no feature
        rows = table.rows(keys, grow=grow)
        kept = np.concatenate([[0], np.cumsum(rows >= 0)])
        values = values[rows >= 0]
        return rows[rows >= 0], kept[token_ptr], None if (values == 1).all() else values

    def feature_names(self, columns: Columns) -> Iterator[str]:
        for text in self._features(columns):
            for field in text.split():
                yield field.partition(b":")[0].decode()

    def _features(self, columns: Columns) -> Iterator[bytes]:
        """Yield the text between qid and comment of each token's line."""
        for start, end in zip(columns.spans[:, 0, 0].tolist(), columns.ends.tolist(), strict=True):
            found = LINE.match(columns.data, start, end)
            assert found is not None
            yield columns.data[found.end() : end].partition(b"#")[0]


def _check(columns: Columns, numbers: np.ndarray, values: np.ndarray, token_ptr: np.ndarray) -> None:
    """Raise DataError for numbers that do not increase and for values that are too large."""
    wrong = ~np.isfinite(values)
    what = "the value of feature {} is too large for 32 bits; scale the values"
    if not wrong.any():
        wrong[1:] = numbers[1:] <= numbers[:-1]
        wrong[token_ptr[token_ptr < len(wrong)]] = False
        what = "feature {} follows a larger or equal number; write the numbers of a line in increasing order"
    if wrong.any():
        at = int(wrong.argmax())
        token = int(np.searchsorted(token_ptr, at, "right")) - 1
        raise DataError(what.format(numbers[at]), columns.name, columns.line(token))


FORMAT = SvmHmmFormat()
