"""Long tables: CSV or TSV with a header and one token per row, as pandas and spreadsheets write them.

A column names the sentence of each token, or empty rows separate sentences.
"""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from structsvm.files.errors import DataError
from structsvm.validation import meant
from taggers.formats.base import Format
from taggers.formats.records import (
    DEFAULTS,
    MISSING,
    Reading,
    Record,
    RecordFormat,
    Values,
    of_words,
)
from taggers.formats.records import FIELDS as COLUMNS
from taggers.formats.tokenizer import Token

# What headers call the columns, in lower case.
SENTENCE = (
    "sentence", "sentence #", "sentence_id", "sentence id", "sentenceid", "sent_id", "sent_idx",
    "sentence_idx", "sentence_index", "sent",
)  # fmt: skip
DOCUMENT = ("document", "document_id", "doc_id", "doc", "docid")
WORD = ("word", "words", "token", "tokens", "form")
FIELDS = {
    "label": "label", "labels": "label", "tag": "label", "tags": "label", "bio": "label", "iob": "label",
    "ner": "ner", "ner_tag": "ner", "ner_tags": "ner", "entity": "ner",
    "chunk": "chunk", "chunk_tag": "chunk",
    "pos": "upos", "pos_tag": "upos", "upos": "upos", "xpos": "xpos", "lemma": "lemma", "feats": "feats",
}  # fmt: skip
KNOWN = {*SENTENCE, *DOCUMENT, *WORD, *FIELDS, "start", "end", ""}
INDEX = {name: place for place, name in enumerate(COLUMNS)}
GAPS = ("", MISSING)
NAN = ("nan", "null", "none", "<na>", "na", "n/a")  # words to pandas, but not to us
LONGEST = 60  # tokens of a sentence, before a warning about a table without sentences
LARGEST = 1 << 24  # characters of a field


class TableFormat(RecordFormat):
    """Labels are written back into their column; all other cells stay. Each file has an object of its own.

    header: the names of the file's columns. chosen: which of them has the labels; None lets `FIELDS` decide,
    and "" means none. added: the name of a new column for the labels of a table without them.
    """

    name = "csv"
    title = "a table (CSV or TSV)"
    header: tuple[str, ...] = ()
    chosen: str | None = None
    added: str = "label"

    def of_file(self, head: Sequence[str]) -> TableFormat:
        line = head[0].removeprefix("\xef\xbb\xbf").encode("latin-1").decode(errors="replace") if head else ""
        return self.of_header(next(csv.reader([line], delimiter=_delimiter(line)), []))

    def of_header(self, header: Sequence[str]) -> TableFormat:
        """Return the format of a table with this header."""
        found = TableFormat()
        found.header = tuple(name.strip().lower() for name in header)
        return found

    def labelled_by(self, chosen: str) -> TableFormat:
        """Return the format of the same table with another label column."""
        found = self.of_header(self.header)
        found.chosen = chosen
        return found

    def of_model(self, files: Mapping[str, Any]) -> Format:
        header = files.get("header")
        if header in self.header:
            return self.labelled_by(header)
        phrases = files.get("task", "label") in ("ner", "chunk", "label")
        if self._default() not in (None, "pos") or (header is None and not phrases):
            return self
        found = self.labelled_by("")  # do not replace parts of speech by other labels
        found.added = header or "label"
        return found

    def column(self, name: str) -> int:
        found = self._named(name)
        if found in WORD:
            return INDEX["form"]
        if found not in FIELDS:
            raise ValueError(f"the column {found!r} cannot be an input; choose one of {self._known()}")
        return INDEX[FIELDS[found]]

    def choose(self, name: str) -> tuple[Format, int]:
        found = self._named(name)
        if found in (*WORD, *SENTENCE, *DOCUMENT):
            what = f"the column {found!r} cannot have the labels; choose another of {self._known()}"
            raise ValueError(what)
        return self.labelled_by(found), self.label

    def own_label(self, name: str) -> int:
        strange = [one for one in self.header if one and one not in KNOWN]
        if strange and self._default() in (None, "pos"):
            what = f"no column is called label, tag or ner; choose one with --column: {self._known()}"
            raise DataError(what, name, 1)
        return self.label

    def label_header(self) -> str | None:
        """The column with the labels in the file."""
        if self.chosen is not None:
            return self.chosen
        names = {FIELDS[name]: name for name in reversed(self.header) if name in FIELDS}
        return next((names[field] for field in DEFAULTS if field in names), None)

    def _default(self) -> str | None:
        """Return the same as `label_header`, but pos for all parts of speech."""
        found = self.label_header()
        return "pos" if found is not None and FIELDS.get(found) in ("upos", "xpos") else found

    def _named(self, name: str) -> str:
        """The header that a user named or counted."""
        if name.strip().lower() in self.header:
            return name.strip().lower()
        try:
            return self.header[int(name)]
        except (ValueError, IndexError):
            raise ValueError(
                f"the table has no column {name!r}; choose one of {self._known()}{meant(name, self.header)}"
            ) from None

    def _known(self) -> str:
        return ", ".join(name for name in self.header if name)

    def matches(self, head: Sequence[str]) -> bool:
        if not head or not head[0].strip():
            return False
        line = head[0].removeprefix("\xef\xbb\xbf")
        for delimiter in ",;\t":
            names = [name.strip().strip('"').lower() for name in line.split(delimiter)]
            if len(names) > 1 and any(name in WORD for name in names):
                others = [name for name in names if name in KNOWN and name not in WORD]
                # One token per line has two columns too: ask for a sentence number there, or for a comma.
                if any(name in SENTENCE for name in names) or (delimiter != "\t" and others):
                    return True
        return False

    def records(self, data: bytes, line: int, reading: Reading) -> Iterator[Record]:
        csv.field_size_limit(LARGEST)
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            at = line + data.count(b"\n", 0, error.start)
            what = f"byte 0x{data[error.start]:02x} is not valid UTF-8; set the encoding, such as latin-1"
            raise reading.refuse(what, at) from None
        delimiter = _delimiter(text.partition("\n")[0])
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        try:
            header = next(rows)
            table = [(rows.line_num, row) for row in rows]
        except (csv.Error, StopIteration) as error:
            raise reading.refuse(f"is not a table: {error}", 1) from None
        return table_records(header, table, reading, self, delimiter)

    def dump(self, records: Sequence[Record]) -> bytes:
        out = io.StringIO(newline="")
        kept = records[0].raw if records else None
        if isinstance(kept, Table) and all(isinstance(one.raw, Table) for one in records):
            writer = csv.writer(out, delimiter=kept.delimiter, lineterminator="\n")
            writer.writerows(_kept_rows(records))
        else:
            writer = csv.writer(out, lineterminator="\n")
            writer.writerows(long_table(records))
        return out.getvalue().encode()


def _delimiter(line: str) -> str:
    return max(",;\t", key=line.count)


class Table:
    """The cells of a document, to write them again: the header, its rows and which column has the labels."""

    def __init__(
        self, header: list[str], rows: list[list[str]], label: int | None, delimiter: str, added: str
    ) -> None:
        self.header, self.rows, self.label, self.delimiter, self.added = header, rows, label, delimiter, added


def table_records(
    header: Sequence[str],
    table: Iterable[tuple[int, Sequence[str]]],
    reading: Reading,
    format: TableFormat,
    delimiter: str = ",",
) -> Iterator[Record]:
    """Yield the documents of a table, or its sentences if no column names documents."""
    lower = [str(name).strip().lower() for name in header]
    places = {
        "word": _place(lower, WORD),
        "sentence": _place(lower, SENTENCE),
        "document": _place(lower, DOCUMENT),
    }
    word = places["word"]
    if word is None:
        raise reading.refuse(f"the header has no column of words; call it one of {', '.join(WORD[:3])}", 1)
    columns: dict[str, int] = {}
    for at, name in enumerate(lower):
        if name in FIELDS:
            columns.setdefault(FIELDS[name], at)
    found = format.label_header()
    label = lower.index(found) if found in lower else None
    if format.chosen is not None:
        columns = {field: at for field, at in columns.items() if at != label and field != "label"}
        columns |= {} if label is None else {"label": label}
    start, end = _place(lower, ("start",)), _place(lower, ("end",))
    group: list[tuple[int, Sequence[str]]] = []
    breaks: list[int] = []  # where sentences begin in the group
    last = {"sentence": "", "document": ""}
    empty_row = False  # separates sentences

    def ended() -> Iterator[Record]:
        if group:
            rows = [list(row) for _, row in group]
            yield _table_record(
                group, breaks, columns, word, start, end, reading,
                Table(list(header), rows, label, delimiter, format.added),
                name=last["document"] or last["sentence"],
            )  # fmt: skip
        group.clear()
        breaks.clear()

    for number, row in table:
        if not any(row):
            empty_row = True
            last["sentence"] = "" if places["sentence"] is None else last["sentence"]
            yield from ended() if places["document"] is None else ()
            continue
        if len(row) != len(header):
            what = (
                f"{len(row)} cells where the header has {len(header)}; quote cells that contain {delimiter!r}"
            )
            raise reading.refuse(what, number)
        # Only the first row of a sentence may have its number.
        now = {
            key: (row[at] if at is not None and row[at] != "" else last[key])
            for key in ("document", "sentence") for at in (places[key],)
        }  # fmt: skip
        new_document, new_sentence = (now[key] != last[key] for key in ("document", "sentence"))
        if group and (new_document or (new_sentence and places["document"] is None)):
            yield from ended()
        if not group or new_sentence or new_document:
            breaks.append(len(group))
        last = now
        if row[word] == "":
            raise reading.refuse("the word is empty", number)
        group.append((number, row))
    if places["sentence"] is None and len(breaks) == 1 and not empty_row:
        _warn_of_one_sentence([row[word] for _, row in group], reading)
    yield from ended()


def _warn_of_one_sentence(words: Sequence[str], reading: Reading) -> None:
    """Warn if the words of a table without sentences are probably several of them."""
    if len(words) > LONGEST or any(word in (".", "!", "?") for word in words[:-1]):
        warnings.warn(
            f"{reading.name}: no column is called sentence and no empty row separates sentences, so "
            f"{len(words)} tokens are one sentence; add a column sentence with its number", stacklevel=5,
        )  # fmt: skip


def _place(names: Sequence[str], known: Sequence[str]) -> int | None:
    return next((at for at, name in enumerate(names) if name in known), None)


def _table_record(
    group: Sequence[tuple[int, Sequence[str]]],
    breaks: Sequence[int],
    columns: Mapping[str, int],
    word: int,
    start: int | None,
    end: int | None,
    reading: Reading,
    raw: Table,
    name: str,
) -> Record:
    words = [row[word] for _, row in group]
    text, tokens = of_words(words)
    if start is not None and end is not None:
        text, tokens = _at_offsets(group, words, start, end, reading)
    bounds = [*breaks, len(tokens)]
    sentences = [tokens[a:b] for a, b in pairwise(bounds)]
    values: dict[str, Values] = {
        field: [None if row[at] in GAPS or row[at].lower() in NAN else row[at] for _, row in group]
        for field, at in columns.items()
    }
    lines = [number for number, _ in group]
    return Record(text, sentences, values, name=name, line=lines[0], raw=raw, lines=lines)


def _at_offsets(
    group: Sequence[tuple[int, Sequence[str]]], words: Sequence[str], start: int, end: int, reading: Reading
) -> tuple[str, list[Token]]:
    text, tokens = "", []
    for (number, row), word in zip(group, words, strict=True):
        if not row[start].isdecimal() or not row[end].isdecimal() or int(row[start]) < len(text):
            raise reading.refuse("start and end must be increasing offsets of characters", number)
        text += " " * (int(row[start]) - len(text)) + word
        tokens.append(Token(word, len(text) - len(word), len(text)))
    return text, tokens


def _kept_rows(records: Sequence[Record]) -> Iterator[list[Any]]:
    """The rows that were read, with new labels, and scores in a last column."""
    first: Table = records[0].raw
    scored = any(record.scores is not None for record in records)
    yield [*first.header, *([first.added] if first.label is None else []), *(["score"] if scored else [])]
    for record in records:
        raw: Table = record.raw
        values = record.value("label") or [None] * len(raw.rows)
        for at, (row, value) in enumerate(zip(raw.rows, values, strict=True)):
            cells = [*row, ""] if raw.label is None else list(row)
            cells[-1 if raw.label is None else raw.label] = value or ""
            yield [*cells, *([_number(record, at)] if scored else [])]


def long_table(records: Sequence[Record]) -> Iterator[list[Any]]:
    """A header and a row for each token: its document, sentence, offsets and labels."""
    used = {name for record in records for name in record.values}
    fields = [name for name in ("upos", "xpos", "lemma", "feats", "head", "deprel", "ner", "chunk", "label")
              if name in used]  # fmt: skip
    scored = any(record.scores is not None for record in records)
    yield ["document", "sentence", "word", "start", "end", *fields, *(["score"] if scored else [])]
    sentence = 0
    for number, record in enumerate(records, 1):
        at = 0
        rows = [record.values.get(name) for name in fields]
        for tokens in record.sentences:
            sentence += 1
            for token in tokens:
                cells = ["" if row is None else row[at] or "" for row in rows]
                score = [_number(record, at)] if scored else []
                yield [number, sentence, token.text, token.start, token.end, *cells, *score]
                at += 1


def _number(record: Record, at: int) -> str:
    return "" if record.scores is None else f"{record.scores[at]:.4f}"


FORMAT = TableFormat()
