"""Open a file and detect its format; then read it, all at once or in parts of whole sentences."""

from __future__ import annotations

import codecs
import re
import warnings
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from structsvm.files.errors import DataError
from structsvm.files.inputs import file_name, open_input
from taggers.formats import AUTO
from taggers.formats._columns import Columns, count_lines, look
from taggers.formats.base import Format
from taggers.formats.columns import FORMAT as COLUMNS
from taggers.formats.registry import FORMATS, find
from taggers.formats.text import FORMAT as TEXT
from taggers.formats.text import Split, uneven, warn_of_columns

CHUNK = 1 << 20
HEAD = 20_000  # bytes that detection looks at


@contextmanager
def open_columns(
    path: str | Path,
    format: str = AUTO,
    *,
    separator: str | None = None,
    encoding: str = "utf-8",
    prefers_text: bool | None = False,
    text_as: Format | None = None,
    split: Split | None = None,
) -> Iterator[Opened]:
    """Open a file and detect its format and its number of columns.

    Parameters
    ----------
    path : the file, or ``-`` for standard input; gzip is unpacked. A folder holds brat's annotation.
    format : the name of a format; ``auto`` detects it from the first lines.
    separator : ``"\\t"``, or ``" "`` for runs of spaces and tabs; by default what the first line has.
    encoding : the encoding of the file. The columns are in UTF-8 in any case.
    prefers_text : with ``auto``, read a file without tabs that no other format matches as plain text. None:
        only if its lines have different numbers of words.
    text_as : what reads plain text, instead of the usual rules. If it gives another format, it refuses other
        files.
    split : how to split the texts of documents into sentences of tokens, by default with simple rules.
    """
    chosen = None if format == AUTO else find(format)
    with _open_input(path) as file:
        yield Opened(
            file, chosen, name=file_name(path), separator=separator, encoding=encoding,
            prefers_text=prefers_text, text_as=text_as, split=split,
        )  # fmt: skip


def _open_input(path: str | Path) -> AbstractContextManager[BinaryIO]:
    """Open a file or a folder."""
    if str(path) != "-" and Path(path).is_dir():
        from taggers.formats.brat import listing

        return nullcontext(BytesIO(listing(Path(path))))
    return open_input(path)


def read_columns(
    path: str | Path,
    format: str = AUTO,
    *,
    wanted: Sequence[int] | None = None,
    chunk_size: int | None = CHUNK,
    separator: str | None = None,
    encoding: str = "utf-8",
) -> Iterator[Columns]:
    """Read some columns of a file part by part; see `open_columns` and `Opened.parts`."""
    with open_columns(path, format, separator=separator, encoding=encoding) as opened:
        yield from opened.parts(wanted, chunk_size)


def read_all(
    path: str | Path,
    format: str = AUTO,
    *,
    wanted: Sequence[int] | None = None,
    separator: str | None = None,
    encoding: str = "utf-8",
) -> Columns:
    """Read some columns of a whole file at once."""
    with open_columns(path, format, separator=separator, encoding=encoding) as opened:
        return opened.read(wanted)


def first_lines(data: bytes) -> list[str]:
    """Return the lines at the beginning of a file that detection looks at, without blank ones."""
    lines = data[:HEAD].removeprefix(codecs.BOM_UTF8).decode("latin-1").split("\n")
    if len(data) > HEAD and len(lines) > 1:
        del lines[-1]  # cut in two
    return [line.rstrip("\r") for line in lines[:200] if line.strip()]


def detect(head: Sequence[str]) -> Format:
    """Return the format of a file with these first lines.

    >>> detect(["The DT", "cat NN"]).name
    'columns'
    """
    text = "\n".join(head)
    return next(format for format in FORMATS.values() if format.sign in text and format.matches(head))


class Opened:
    """A file whose format is known and which has not been read yet; see `open_columns`.

    Attributes
    ----------
    name : what messages call the file.
    format : the format.
    head : the first lines, without blank ones.
    separator, n_columns : as the format defines them, or as the line of the first token has them.
    """

    def __init__(
        self,
        file: BinaryIO,
        format: Format | None = None,
        *,
        name: str = "",
        separator: str | None = None,
        encoding: str = "utf-8",
        prefers_text: bool | None = False,
        text_as: Format | None = None,
        split: Split | None = None,
    ) -> None:
        self.file, self.name, self.encoding, self.split = file, name, encoding, split
        codec = text_codec(encoding)
        self.decoder = None if codec is None else codec.incrementaldecoder()
        self.ended = False
        self.held = self._next(CHUNK)  # bytes that have been read but not yet parsed
        if self.decoder is None and self.held.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise DataError("is in UTF-16; set the encoding to utf-16 (--encoding utf-16)", name)
        self.head = first_lines(self.held)
        chosen = detect(self.head) if format is None else format
        if format is None and chosen in (COLUMNS, TEXT):
            _refuse_markup(self.head, name)
        may_be_text = prefers_text or (prefers_text is None and uneven(self.head))
        if format is None and may_be_text and chosen is COLUMNS and not any("\t" in s for s in self.head):
            chosen = TEXT
            warn_of_columns(self.head, name)
        if text_as is not None:
            if chosen is TEXT:
                chosen = text_as
            elif text_as.title != TEXT.title:
                what = f"--to converts plain text, but this file is in {chosen.title}; use --format text"
                raise DataError(f"{what} if it is text, or leave out --to", name)
        self.format = chosen = chosen.of_file(self.head)
        self.separator, self.n_columns = separator, chosen.n_columns
        while not self.n_columns:
            lines = self.held if self.ended else self.held[: self.held.rfind(b"\n") + 1]
            self.separator, self.n_columns = look(lines, chosen, separator, name=name)
            if not self.n_columns:
                if self.ended:
                    self._refuse_empty()
                self._check_size(1)
                self.held += self._next(max(CHUNK, len(self.held)))

    def column(self, column: int | str) -> int:
        """Return the number of a column; a string is a name or number that a user gave."""
        return column if isinstance(column, int) else self.format.column(column)

    def label(self, column: int | str | None) -> int:
        """Return the number of the label column; None is the default of the format."""
        if column is None:
            return self.format.own_label(self.name)
        if isinstance(column, str):
            self.format, column = self.format.choose(column)
        return column

    def numbering(self) -> list[int]:
        """Return the columns that number the tokens of each sentence: they hold no words."""
        if self.format.names or self.format.ready or self.n_columns == 1:
            return []
        rows = [
            line.split("\t") if self.separator == "\t" else re.split("[ \t]+", line.strip(" \t"))
            for line in self.head
            if not line.startswith(("-DOCSTART-", "# "))
        ]
        values = list(zip(*(row for row in rows if len(row) == self.n_columns), strict=True))
        return [column for column, cells in enumerate(values) if _counts(cells)]

    def inputs(self, label: int | None = None) -> list[int]:
        """Return the columns to read by default, words first, given the label column.

        Warn about a column that counts the tokens of each sentence and leave it out: it holds no words.
        """
        if self.format.ready:
            return []
        if self.format.names or self.n_columns == 1:
            return [self.format.words]
        found = [column for column in range(self.n_columns) if column != label]
        counting = [column for column in self.numbering() if column != label]
        words = [column for column in found if column not in counting]
        if not counting or not words:
            return found
        warnings.warn(
            f"{self.name}: column {counting[0]} (counted from 0) numbers the tokens of each sentence, so it "
            f"is not used; the words are in column {words[0]}", UserWarning, stacklevel=3,
        )  # fmt: skip
        return words

    def read(self, wanted: Sequence[int] | None = None) -> Columns:
        """Read the whole file; `wanted` as in `parts`."""
        (columns,) = self.parts(wanted, None)
        return columns

    def parts(self, wanted: Sequence[int] | None = None, chunk_size: int | None = CHUNK) -> Iterator[Columns]:
        """Read the file part by part, so that memory does not grow with it.

        wanted: the columns to keep, -1 for the last; by default the column of words.
        chunk_size: the bytes to read at a time; None reads the whole file.
        """
        self.chunk_size, empty = chunk_size, True
        for columns in self.format.read(self, self.inputs()[:1] or [0] if wanted is None else wanted):
            empty = empty and not columns.n_tokens
            yield columns
        if empty:
            self._refuse_empty()

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        """Yield the bytes of the file in blocks that end where a sentence ends, each with its first line."""
        if self.chunk_size is None:
            yield 1, b"".join(self._sentences(CHUNK))
            return
        line = 1
        for data in self._sentences(self.chunk_size):
            yield line, data
            line += count_lines(data)

    def _sentences(self, size: int) -> Iterator[bytes]:
        """Yield the file in blocks of about `size` bytes, or more if a sentence is longer."""
        waiting, self.held = self.held, b""
        line = 1
        while waiting or not self.ended:
            # A sentence longer than a block: double what is read, so that joining the blocks stays linear.
            more = max(size, len(self.held))
            block, waiting = (waiting[:more], waiting[more:]) if waiting else (self._next(more), b"")
            if not block:
                break
            seen = len(self.held)
            self.held += block
            end = self.format.cut(self.held, seen)
            if end:
                yield self.held[:end]
                line += count_lines(self.held, end)
                self.held = self.held[end:]
            self._check_size(line)
        if self.held:
            yield self.held

    def _next(self, size: int) -> bytes:
        """Return about `size` bytes in UTF-8, or none at the end."""
        try:
            block = self.file.read(size)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"cannot be read: {error}; is the file complete?", self.name) from None
        self.ended = not block
        if self.decoder is None:
            return block
        try:
            text = self.decoder.decode(block, final=not block)
        except UnicodeError as error:
            reason = getattr(error, "reason", error)
            raise DataError(f"is not in {self.encoding}: {reason}", self.name) from None
        return text.encode() if text or not block else self._next(size)

    def _check_size(self, line: int) -> None:
        if len(self.held) > self.format.block:
            raise DataError(
                f"a sentence or line of more than {self.format.block >> 20} MB; is this the right format, "
                "and are sentences separated?", self.name, line,
            )  # fmt: skip

    def _refuse_empty(self) -> None:
        raise DataError("contains no tokens; is this the right file?", self.name)


JSON_FILE = re.compile(r'\s*(\[\s*)?(\{\s*("([^"\\]|\\.)*"\s*:|\}|$)|$)')
SPANS_IN_TABLE = re.compile(r'"\[\{""\w+"":')
BETWEEN = re.compile(r"\d+[-.]\d+")
XML_FILE = re.compile(r"\s*(<\?xml\b|<!DOCTYPE\b|<([A-Za-z][\w:-]*)(\s[^<>]*)?>.*</\2>\s*$)")


def _refuse_markup(head: Sequence[str], name: str) -> None:
    """Raise DataError for JSON and XML that no format matches: read as columns, they would be nonsense."""
    if any(SPANS_IN_TABLE.search(line) for line in head):
        what = "looks like a table with spans as JSON, as Label Studio exports it; export JSON instead"
        raise DataError(what, name, 1)
    start = "\n".join(head[:3])
    found = next(
        (what for what, sign in (("JSON", JSON_FILE), ("XML", XML_FILE)) if sign.match(start) and start), ""
    )
    if found:
        raise DataError(
            f"looks like {found} that no format matches; convert it to columns or to a format listed under "
            "File formats in the documentation, or use --format text or columns to read it as it is", name, 1,
        )  # fmt: skip


def _counts(values: Sequence[str]) -> bool:
    """Whether the values of a column are 1, 2, 3 and so on, beginning again with each sentence.

    Multiword tokens (3-4) and empty nodes (5.1) of CoNLL-U may stand between them.
    """
    values = [value for value in values if not BETWEEN.fullmatch(value)]
    if len(values) < 3 or not all(value.isdecimal() and len(value) < 9 for value in values):
        return False
    numbers = [int(value) for value in values]
    first = numbers[0]
    return first in (0, 1) and max(numbers) > first and all(b in (a + 1, first) for a, b in pairwise(numbers))


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
