"""Long tables: CSV or TSV with a header and one token per row, as pandas and spreadsheets write them.

A column names the sentence of each token, or empty rows separate sentences.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from taggers.formats.records import MISSING, Reading, Record, RecordFormat, Values, of_words
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
GAPS = ("", MISSING)
NAN = ("nan", "null", "none", "<na>", "na", "n/a")  # words to pandas, but not to us
LARGEST = 1 << 24  # characters of a field


class TableFormat(RecordFormat):
    """Labels are written back into their column; all other cells stay."""

    name = "csv"
    title = "a table (CSV or TSV)"

    def matches(self, head: Sequence[str]) -> bool:
        if not head or not head[0].strip():
            return False
        line = head[0].removeprefix("\xef\xbb\xbf")
        for delimiter in ",;\t":
            names = [name.strip().strip('"').lower() for name in line.split(delimiter)]
            if len(names) > 1 and any(name in WORD for name in names):
                known = {*SENTENCE, *DOCUMENT, *FIELDS, "start", "end", ""}
                others = [name for name in names if name in known]
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
        delimiter = max(",;\t", key=text.partition("\n")[0].count)
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        try:
            header = next(rows)
            table = [(rows.line_num, row) for row in rows]
        except (csv.Error, StopIteration) as error:
            raise reading.refuse(f"is not a table: {error}", 1) from None
        return table_records(header, table, reading, delimiter)

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


class Table:
    """The cells of a document, to write them again: the header, its rows and which column has the labels."""

    def __init__(self, header: list[str], rows: list[list[str]], label: int | None, delimiter: str) -> None:
        self.header, self.rows, self.label, self.delimiter = header, rows, label, delimiter


def table_records(
    header: Sequence[str], table: Iterable[tuple[int, Sequence[str]]], reading: Reading, delimiter: str = ","
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
    label = next(
        (columns[name] for name in ("label", "ner", "chunk", "upos", "xpos") if name in columns), None
    )
    start, end = _place(lower, ("start",)), _place(lower, ("end",))
    group: list[tuple[int, Sequence[str]]] = []
    breaks: list[int] = []  # where sentences begin in the group
    last = {"sentence": "", "document": ""}

    def ended() -> Iterator[Record]:
        if group:
            rows = [list(row) for _, row in group]
            yield _table_record(
                group, breaks, columns, word, start, end, reading,
                Table(list(header), rows, label, delimiter), name=last["document"] or last["sentence"],
            )  # fmt: skip
        group.clear()
        breaks.clear()

    for number, row in table:
        if not any(row):
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
    yield from ended()


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
    return Record(text, sentences, values, name=name, line=group[0][0], raw=raw)


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
    yield [*first.header, *(["label"] if first.label is None else []), *(["score"] if scored else [])]
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
    fields = [name for name in ("upos", "xpos", "lemma", "feats", "ner", "chunk", "label") if name in used]
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
