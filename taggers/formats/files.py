"""Read files in parts of whole sentences, with gzip, encodings and format detection."""

from __future__ import annotations

import codecs
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import BinaryIO

from structsvm.files.errors import DataError
from structsvm.files.inputs import file_name, open_input
from taggers.formats._columns import Columns, count_lines
from taggers.formats.base import Format, Part, Wanted
from taggers.formats.registry import AUTO, detect, find

CHUNK = 1 << 20
# Which columns to keep, given the format and its number of columns.
Choice = Callable[[Format, int], Sequence[int]]


def read_columns(
    path: str | Path,
    format: str = AUTO,
    *,
    wanted: Sequence[int] | Choice | None = None,
    separator: str | None = None,
    encoding: str = "utf-8",
    chunk_size: int | None = CHUNK,
    expected: Format | None = None,
    text_as: Format | None = None,
) -> Iterator[Columns]:
    """Read a file part by part, so that memory does not grow with the file.

    Parameters
    ----------
    path : the file, or ``-`` for standard input; gzip is unpacked.
    format : the name of a format; ``auto`` detects it from the first lines.
    wanted : the columns to keep, -1 for the last, or a function from the format and its number of columns to
        them; by default the column of words.
    separator : ``"\\t"``, or ``" "`` for runs of spaces and tabs; by default what the first line has.
    encoding : the encoding of the file. The columns are in UTF-8 in any case.
    chunk_size : bytes to read at a time; None reads the whole file.
    expected : with ``auto``, the format of the model's training file.
    text_as : what reads plain text, instead of the usual rules. If it gives another format, it refuses other
        files.
    """
    chosen = None if format == AUTO else find(format)
    name = file_name(path)
    line, before = 1, None
    with open_input(path) as file:
        source = _Source(file, name, encoding)
        block = source.read(chunk_size or CHUNK)
        if chosen is None:
            chosen = detect(block, expected)
            if chosen is expected:
                chosen.check_detected(block, name)
        if text_as is not None:
            if chosen is find("text"):
                chosen = text_as
            elif text_as.title != find("text").title:
                what = f"--to converts plain text, but this file is in {chosen.title}; use --format text"
                raise DataError(f"{what} if it is text, or leave out --to", name)
        keep: Wanted = (chosen.words,) if wanted is None else wanted  # type: ignore[assignment]
        if callable(wanted):
            keep = partial(wanted, chosen)
        parts = _sentences(source, block, chunk_size or CHUNK, chosen)
        for data in parts if chunk_size else [b"".join(parts)]:
            columns = chosen.read(Part(data, name, line, separator, before), keep)
            line += count_lines(data)
            if columns.n_tokens:
                before = columns
            yield columns
    if before is None:
        raise DataError("contains no tokens; is this the right file?", name)


def read_all(
    path: str | Path,
    format: str = AUTO,
    *,
    wanted: Sequence[int] | Choice | None = None,
    separator: str | None = None,
    encoding: str = "utf-8",
) -> Columns:
    """Read a whole file at once."""
    (columns,) = read_columns(
        path, format, wanted=wanted, separator=separator, encoding=encoding, chunk_size=None
    )
    return columns


def text_codec(encoding: str) -> codecs.CodecInfo | None:
    """Return the codec of this name; None for UTF-8 and ASCII, which need none."""
    try:
        codec = codecs.lookup(encoding)
    except (LookupError, ValueError):
        codec = None
    if codec is None or not codec._is_text_encoding:
        raise ValueError(f"encoding must be the name of a text encoding, such as latin-1, got {encoding!r}")
    return None if codec.name in ("utf-8", "ascii") else codec


def encoded(blocks: Iterable[bytes], encoding: str, name: str) -> Iterator[bytes]:
    """Recode blocks of UTF-8."""
    codec = text_codec(encoding)
    if codec is None:
        yield from blocks
        return
    encoder = codec.incrementalencoder()
    for block in blocks:
        try:
            yield encoder.encode(block.decode())
        except UnicodeError as error:
            raise DataError(f"a label cannot be written in {encoding}: {error}", name) from None


class _Source:
    """A file in any encoding, read as UTF-8."""

    def __init__(self, file: BinaryIO, name: str, encoding: str) -> None:
        self.file, self.name, self.encoding = file, name, encoding
        codec = text_codec(encoding)
        self.decoder = None if codec is None else codec.incrementaldecoder()

    def read(self, size: int) -> bytes:
        """Return about `size` bytes, or none at the end."""
        try:
            block = self.file.read(size)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"cannot be read: {error}; is the file complete?", self.name) from None
        if self.decoder is None:
            return block
        try:
            text = self.decoder.decode(block, final=not block)
        except UnicodeError as error:
            reason = getattr(error, "reason", error)
            raise DataError(f"is not in {self.encoding}: {reason}", self.name) from None
        return text.encode() if text or not block else self.read(size)


def _sentences(source: _Source, block: bytes, size: int, format: Format) -> Iterator[bytes]:
    """Yield the file in parts that end where a sentence ends, the first block being read already."""
    held, line = b"", 1
    while block:
        seen = len(held)
        held += block
        end = format.cut(held, seen)
        if end:
            yield held[:end]
            line += count_lines(held, end)
            held = held[end:]
        if len(held) > format.block:
            raise DataError(
                f"a sentence or line of more than {format.block >> 20} MB; is this the right format, and are "
                "sentences separated?", source.name, line,
            )  # fmt: skip
        # A sentence longer than a block: double what is read, so that joining the blocks stays linear.
        block = source.read(max(size, len(held)))
    if held:
        yield held
