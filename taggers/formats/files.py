"""Files in and out: sources as chunks of whole sentences, results that appear complete or not at all."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import re
import sys
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from structsvm.files.atomic import atomic_write, check_output
from structsvm.files.errors import DataError
from taggers.formats._columns import Columns, find_last_boundary
from taggers.formats._write import write
from taggers.formats.tokenizer import to_columns

__all__ = [
    "CONLLU",
    "atomic_write",
    "check_output",
    "detect_format",
    "encoded",
    "open_input",
    "read_all",
    "read_columns",
    "write",
]

CHUNK = 1 << 20
BOM = b"\xef\xbb\xbf"
FORMATS = ("auto", "columns", "conllu", "crfsuite", "text")
# CoNLL-U's columns by name.
CONLLU_NAMES = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
CONLLU = {name: column for column, name in enumerate(CONLLU_NAMES)}


@contextlib.contextmanager
def open_input(path: str | Path) -> Iterator[BinaryIO]:
    """A file's bytes, those of standard input for ``-``; gzip is known by its first bytes and unpacked."""
    with contextlib.ExitStack() as stack:
        if str(path) == "-":
            raw: BinaryIO = sys.stdin.buffer
        else:
            try:
                raw = stack.enter_context(open(path, "rb"))
            except OSError as error:
                raise DataError(f"cannot be read: {error.strerror}", str(path)) from None
        buffered = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(raw)  # type: ignore[type-var]
        try:
            zipped = buffered.peek(2)[:2] == b"\x1f\x8b"
        except OSError as error:
            raise DataError(f"cannot be read: {error.strerror}", str(path)) from None
        yield stack.enter_context(gzip.GzipFile(fileobj=buffered)) if zipped else buffered  # type: ignore[misc]


def detect_format(data: bytes, *, plain: bool = False) -> str:
    """``conllu``, ``crfsuite``, ``text`` or ``columns``, by the first lines of a file.

    plain: text is expected, so that only CoNLL-U and lines with tabs are anything else.
    CRFsuite's lines are a label and features, most of them such as ``w[0]=dog``, between tabs: one name, at
    least, is on all of them. Text is what has no tabs, and no number of columns that even half of the lines
    have.
    """
    text = data[:20000].removeprefix(BOM).decode("latin-1")
    lines = [line for line in text.split("\n")[:200] if line.strip()]
    for line in lines:
        fields = line.rstrip("\r").split("\t")
        if len(fields) == 10 and re.fullmatch(r"\d+([-.]\d+)?", fields[0]):
            return "conllu"
        if not line.startswith("#"):
            break
    if plain:
        return "columns" if any("\t" in line for line in lines) else "text"
    items = [line.split("\t")[1:] for line in lines]
    names = [[item.partition("=")[0] for item in line if "=" in item[1:]] for line in items]
    if lines and set.intersection(*map(set, names)) and 2 * sum(map(len, names)) >= sum(map(len, items)):
        return "crfsuite"
    if lines and not any("\t" in line for line in lines):
        counts = Counter(len(line.split()) for line in lines)
        number, most = counts.most_common(1)[0]
        if 2 * most < len(lines) or (len(lines) == 1 and number > 9):
            return "text"
    return "columns"


def _warn_of_columns(data: bytes, name: str) -> None:
    """Tell of what is read as text and has as many words, few, on every line."""
    counts = {len(line.split()) for line in data[:20000].split(b"\n")[:-1] if line.strip()}
    if len(counts) == 1 and data.count(b"\n") > 3 and max(counts) < 5:
        warnings.warn(
            f"{name} is read as plain text, though every line has {max(counts)} words: give --format columns "
            "if it has a token on each line, and --format text if all is right",
            UserWarning, stacklevel=3,
        )  # fmt: skip


def read_columns(
    path: str | Path,
    format: str = "auto",
    *,
    wanted: Sequence[int] | Callable[[str], Sequence[int]] | None = None,
    separator: str | None = None,
    encoding: str = "utf-8",
    chunk_size: int | None = CHUNK,
    plain: bool = False,
) -> Iterator[Columns]:
    """The sentences of a file, chunk by chunk, so that memory does not grow with the file.

    Parameters
    ----------
    path : the file, ``-`` for standard input; gzip is unpacked.
    format : columns, conllu, crfsuite, text, or auto to look.
    wanted : which columns of the file, -1 for the last, or a function from the format to them; by default the
        first (CoNLL-U: FORM).
    separator : ``"\\t"`` or ``" "`` (runs of spaces and tabs); by default what the first token's line has.
    encoding : of the file. The columns are in UTF-8 whatever it is.
    chunk_size : bytes read at a time; None for all at once.
    plain : with auto, expect text: see `detect_format`.
    """
    if format not in FORMATS:
        raise ValueError(f"format {format!r} is none of {', '.join(FORMATS)}")
    name = "<stdin>" if str(path) == "-" else str(path)
    n_columns, line, tokens = 0, 1, 0
    with open_input(path) as file:
        source = _Source(file, name, encoding)
        block = source.read(chunk_size or -1)
        if format == "auto":
            format = detect_format(block, plain=plain)
            if plain and format == "text":
                _warn_of_columns(block, name)
        if callable(wanted):
            wanted = wanted(format)
        for data in _chunks(source, block, chunk_size, by_line=format == "text"):
            n_lines = data.count(b"\n")
            if format == "text":
                data, separator = _tokenized(data, name, line), "\t"
            columns = Columns(
                data,
                wanted if wanted is not None else (CONLLU["form"],) if format == "conllu" else (0,),
                format="columns" if format == "text" else format,
                separator=separator,
                name=name,
                first_line=line,
                n_columns=n_columns,
            )
            line += n_lines
            tokens += columns.n_tokens
            if columns.n_tokens:
                separator, n_columns = columns.separator, columns.n_columns
            yield columns
    if not tokens:
        raise DataError("no token in it; is this the right file?", name)


def read_all(
    path: str | Path,
    format: str = "auto",
    *,
    wanted: Sequence[int] | None = None,
    separator: str | None = None,
    encoding: str = "utf-8",
) -> Columns:
    """A whole file at once, for those that fit in memory."""
    options = {"wanted": wanted, "separator": separator, "encoding": encoding}
    (columns,) = read_columns(path, format, chunk_size=None, **options)  # type: ignore[arg-type]
    return columns


def text_codec(encoding: str) -> codecs.CodecInfo | None:
    """The codec of that name; None for UTF-8, of which ASCII is a part."""
    try:
        codec = codecs.lookup(encoding)
    except (LookupError, ValueError):
        codec = None
    if codec is None or not codec._is_text_encoding:
        raise ValueError(f"unknown encoding {encoding!r}; use utf-8 or latin-1 or so")
    return None if codec.name in ("utf-8", "ascii") else codec


def encoded(blocks: Iterable[bytes], encoding: str, name: str) -> Iterator[bytes]:
    """UTF-8 as another encoding."""
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
    """A file read as UTF-8, whatever its encoding is."""

    def __init__(self, file: BinaryIO, name: str, encoding: str) -> None:
        self.file, self.name, self.encoding = file, name, encoding
        codec = text_codec(encoding)
        self.decoder = None if codec is None else codec.incrementaldecoder()

    def read(self, size: int) -> bytes:
        """About `size` bytes, or all for -1; none at the end."""
        try:
            block = self.file.read(size)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"cannot be read: {error}; is the file complete?", self.name) from None
        if self.decoder is None:
            return block
        try:
            text = self.decoder.decode(block, final=not block)
        except UnicodeError as error:
            raise DataError(
                f"is not in {self.encoding}: {getattr(error, 'reason', error)}", self.name
            ) from None
        return text.encode() if text or not block else self.read(size)


def _chunks(source: _Source, block: bytes, size: int | None, *, by_line: bool) -> Iterator[bytes]:
    """Bytes that end where a sentence ends, or a line."""
    if size is None:
        yield block + source.read(-1)
        return
    held = b""
    while block:
        seen = len(held)
        held += block
        end = held.rfind(b"\n", seen) + 1 if by_line else find_last_boundary(held, seen)
        if end:
            yield held[:end]
            held = held[end:]
        # A sentence longer than a block: read as much again, so that joining the blocks stays linear.
        block = source.read(max(size, len(held)))
    if held:
        yield held


def _tokenized(data: bytes, name: str, line: int) -> bytes:
    data = data.removeprefix(BOM)
    try:
        return to_columns(data.decode())
    except UnicodeDecodeError as error:
        what = f"byte 0x{data[error.start]:02x} is not valid UTF-8; give the file's encoding, such as latin-1"
        raise DataError(what, name, line + data.count(b"\n", 0, error.start)) from None


def in_misc(data: bytes) -> bytes:
    """CoNLL-U whose tokens have a score as an eleventh column, with the scores in the tenth, MISC."""
    whole = re.compile(rb"^(\d+\t(?:[^\t\n]*\t){8})(_|[^\t\n]*)\t([^\t\r\n]+)", re.MULTILINE)

    def moved(line: re.Match[bytes]) -> bytes:
        before, misc, score = line.groups()
        return before + (b"" if misc == b"_" else misc + b"|") + b"Margin=" + score

    return whole.sub(moved, data)


def is_model(path: str | Path) -> bool:
    """Whether a file is a model rather than text."""
    with contextlib.suppress(OSError), open(path, "rb") as file:
        return file.read(4) == b"PK\3\4"
    return False
