"""Plain text: each line is split into sentences and tokens."""

from __future__ import annotations

import warnings
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from structsvm.files.errors import DataError
from taggers.formats._columns import Columns
from taggers.formats.columns import ColumnFormat
from taggers.formats.conllu import ConlluFormat
from taggers.formats.tokenizer import Token, split_sentences, to_columns

if TYPE_CHECKING:
    from taggers.formats.files import Opened

Split = Callable[[str], list[list[Token]]]


class TextFormat(ColumnFormat):
    """Text becomes columns: one word per line with its labels, and a blank line after each sentence.

    split: a function from a text to sentences of tokens with offsets.
    """

    name = "text"
    title = "plain text"
    n_columns = 1
    documents = True
    block = 16 << 20  # a line; each token of it is a Python object while it is tokenized

    def __init__(self, split: Split = split_sentences) -> None:
        self.split = split

    def matches(self, head: Sequence[str]) -> bool:
        """No line has a tab, and fewer than half of the lines have the same number of words."""
        if not head or any("\t" in line for line in head):
            return False
        lines = [line for line in head if not line.startswith("# ")] or head  # without comments of columns
        number, most = Counter(len(line.split()) for line in lines).most_common(1)[0]
        return 2 * most < len(lines) or (len(lines) == 1 and number > 9)

    def cut(self, data: bytes, start: int) -> int:
        return data.rfind(b"\n", start) + 1

    def read(self, opened: Opened, wanted: Sequence[int]) -> Iterator[Columns]:
        for line, data in opened.blocks():
            words = to_columns(self.split(decoded(data, opened.name, line)))
            yield Columns(words, wanted, format=self, separator="\t", name=opened.name, first_line=line)


class TextAsConllu(ConlluFormat):
    """Plain text that becomes CoNLL-U, with the text of each sentence, SpaceAfter=No and multiword tokens.

    split: a function from a text to sentences of tokens with offsets.
    """

    name = TextFormat.name
    block = TextFormat.block

    def __init__(self, split: Split = split_sentences) -> None:
        self.split = split

    def cut(self, data: bytes, start: int) -> int:
        return data.rfind(b"\n", start) + 1

    def read(self, opened: Opened, wanted: Sequence[int]) -> Iterator[Columns]:
        for line, data in opened.blocks():
            rows = self._rows(decoded(data, opened.name, line), line).encode()
            yield Columns(rows, wanted, format=self, name=opened.name, first_line=line)

    def _rows(self, text: str, line: int) -> str:
        """Return the CoNLL-U of a text; line: where it begins in the file, for the numbers of sentences."""
        blocks = []
        for number, tokens in enumerate(self.split(text), 1):
            raw = " ".join(text[tokens[0].start : tokens[-1].end].split())
            lines = [f"# sent_id = {line}-{number}", f"# text = {raw}"]
            after = [*(token.start for token in tokens[1:]), -1]
            k = 1
            for token, next_start in zip(tokens, after, strict=True):
                misc = "SpaceAfter=No" if next_start == token.end else "_"
                if token.words:
                    lines.append(_row(f"{k}-{k + len(token.words) - 1}", token.text, misc))
                    misc = "_"
                words = token.words or [token.text]
                lines += [_row(number, word, misc) for number, word in enumerate(words, k)]
                k += len(words)
            blocks.append("\n".join(lines) + "\n\n")
        return "".join(blocks)


def uneven(head: Sequence[str]) -> bool:
    """Whether lines without tabs are sentences: columns have one number of words, and seldom five or more."""
    lines = [line for line in head if not line.startswith(("# ", "-DOCSTART-"))]
    counts = Counter(len(line.split()) for line in lines)
    most = max(counts.values(), default=0)
    return sum(counts.elements()) >= 5 * len(lines) and (5 * most <= 4 * len(lines) or len(lines) == 1)


def warn_of_columns(head: Sequence[str], name: str) -> None:
    """Warn about a file that is read as plain text but may have one token per line."""
    counts = {len(line.split()) for line in head}
    if len(counts) == 1 and len(head) > 3 and max(counts) < 5:
        warnings.warn(
            f"{name} is read as plain text although every line has {max(counts)} words; use --format "
            "columns if it has one token per line, or --format text to silence this warning",
            UserWarning, stacklevel=4,
        )  # fmt: skip


def _row(number: object, form: str, misc: str) -> str:
    return f"{number}\t{form}" + 7 * "\t_" + f"\t{misc}"


def decoded(data: bytes, name: str, first_line: int) -> str:
    """The text of a block, or raise DataError."""
    data = data.removeprefix(BOM_UTF8)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        what = f"byte 0x{data[error.start]:02x} is not valid UTF-8; set the encoding, such as latin-1"
        raise DataError(what, name, first_line + data.count(b"\n", 0, error.start)) from None


FORMAT = TextFormat()
