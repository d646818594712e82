"""Read and write the files of a teaching session: sentences to label, labelled files and exports."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from structsvm.files.errors import DataError
from structsvm.teach.answers import Answer, item_id
from taggers.formats._columns import Columns
from taggers.formats.exchange import TextAsRecords, spaces_after
from taggers.formats.files import open_columns
from taggers.formats.records import of_words
from taggers.labels import schemes
from taggers.labels.files import read_labelled
from taggers.options import PHRASE_TASKS
from taggers.teach.learner import SCHEME, in_scheme

MOST_TOKENS = 500  # of a sentence: more do not fit on a page
COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")


def read_pool(
    path: str | Path,
    *,
    inputs: Sequence[int | str] | None = None,
    format: str = "auto",
    encoding: str = "utf-8",
) -> list[dict[str, Any]]:
    """The sentences of a file without labels: plain text, columns (with tabs, if detected) or CoNLL-U."""
    as_records = TextAsRecords(None)
    with open_columns(path, format, encoding=encoding, prefers_text=True, text_as=as_records) as opened:
        found = opened.format
        if found.ready:
            raise DataError(f"{found.title} has features, not words; use text or columns", opened.name)
        columns = opened.read(opened.inputs() if inputs is None else [opened.column(one) for one in inputs])
    parts = [columns.sentences(column) for column in range(columns.width)]
    return _items(parts, columns)


def _items(parts: list[list[list[str]]], columns: Columns) -> list[dict[str, Any]]:
    """Questions from columns of words and other inputs; sentences that are too long are left out."""
    items, name = [], columns.name
    spaces = spaces_after(columns)
    for number, (words, *more) in enumerate(zip(*parts, strict=True)):
        if 0 < len(words) <= MOST_TOKENS:
            item: dict[str, Any] = {"tokens": words, "columns": more} if more else {"tokens": words}
            if spaces is not None and not all(spaces[number]):
                item["spaces"] = spaces[number]
            items.append(item)
    left_out = sum(len(words) > MOST_TOKENS for words in parts[0])
    if left_out:
        warnings.warn(
            f"{name}: {left_out} sentences of more than {MOST_TOKENS} tokens are left out", stacklevel=3
        )
    if not items:
        raise DataError("has no sentence to label", name)
    return items


def read_answers(
    path: str | Path,
    task: str,
    *,
    inputs: Sequence[int | str] | None = None,
    label: int | str | None = None,
    format: str = "auto",
    encoding: str = "utf-8",
) -> list[Answer]:
    """The sentences of a labelled file, as answers.

    label: the column of the labels; by default the last one, or that of `export` in CoNLL-U.
    """
    if label is None and task != "pos":
        label = -1
    columns, _ = read_labelled(path, format=format, encoding=encoding, inputs=inputs, labels=[label])
    parts = [columns.sentences(column) for column in range(columns.width - 1)]
    y = columns.labels(columns.width - 1)
    missing = columns.format.missing(columns.wanted[-1])
    values = [[None if one == missing else one for one in labels] for labels in y]
    if task in PHRASE_TASKS:
        found = schemes.detect([label for label in labels if label is not None] for labels in values)
        if found == "none" and any(label not in ("O", None) for labels in values for label in labels):
            raise DataError(
                f"the labels mark no phrases, as {task} needs; choose another --column", columns.name
            )
        if found not in ("none", SCHEME):
            values = [in_scheme(labels, found, SCHEME) for labels in values]
    items = _items(parts, columns)
    values = [labels for labels in values if 0 < len(labels) <= MOST_TOKENS]
    pairs = {item_id(item): (item, value) for item, value in zip(items, values, strict=True) if any(value)}
    now = round(time.time(), 3)
    return [Answer(id, item, value, None, "import", "", now) for id, (item, value) in pairs.items()]


# -- exports ------------------------------------------------------------------------------------


def export(answers: Sequence[Answer], task: str, format: str) -> tuple[bytes, int]:
    """The labelled sentences as a file, and how many were left out.

    Columns cannot express unknown labels, so sentences that contain them are left out.
    """
    if format not in EXPORTS:
        raise DataError(f"the export format must be one of {', '.join(EXPORTS)}, got {format!r}")
    kept = [answer for answer in answers if answer.value is not None]
    if format == "columns":
        kept = [answer for answer in kept if None not in answer.value]
    return EXPORTS[format](kept, task), len(answers) - len(kept)


def _columns(answers: Sequence[Answer], task: str) -> bytes:
    sentences = []
    for answer in answers:
        rows = zip(answer.item["tokens"], *answer.item.get("columns", ()), answer.value, strict=True)
        sentences.append("".join("\t".join(row) + "\n" for row in rows) + "\n")
    return "".join(sentences).encode()


def _conllu(answers: Sequence[Answer], task: str) -> bytes:
    """Parts of speech are in UPOS, other labels in MISC, where `structsvm tag` writes them too."""
    place = "UPOS" if task == "pos" else "MISC"
    sentences = []
    for number, answer in enumerate(answers, start=1):
        words, spaces = answer.item["tokens"], answer.item.get("spaces")
        lines = [f"# sent_id = {number}", f"# text = {of_words(words, spaces=spaces)[0]}"]
        for at, (word, label) in enumerate(zip(words, answer.value, strict=True), start=1):
            row = dict.fromkeys(COLUMNS, "_") | {"ID": str(at), "FORM": word}
            if spaces and not spaces[at - 1]:
                row["MISC"] = "SpaceAfter=No"
            if label is not None:
                row[place] = label if row[place] == "_" else f"{row[place]}|{label}"
            lines.append("\t".join(row.values()))
        sentences.append("\n".join(lines) + "\n\n")
    return "".join(sentences).encode()


def _jsonl(answers: Sequence[Answer], task: str) -> bytes:
    lines = []
    for answer in answers:
        line = {**answer.item, "labels": answer.value, "by": answer.by, "time": answer.time}
        lines.append(json.dumps(line, ensure_ascii=False) + "\n")
    return "".join(lines).encode()


def _docbin(answers: Sequence[Answer], task: str) -> bytes:
    """spaCy's DocBin: entities for ner, spans called "chunks" for chunk, tags for pos and label."""
    from spacy.tokens import Doc, DocBin, Span
    from spacy.vocab import Vocab

    vocab, docs = Vocab(), []
    for answer in answers:
        words, spaces, value = answer.item["tokens"], answer.item.get("spaces"), answer.value
        if task not in PHRASE_TASKS:
            docs.append(Doc(vocab, words=words, spaces=spaces, tags=[label or "" for label in value]))
            continue
        doc = Doc(vocab, words=words, spaces=spaces, sent_starts=[at == 0 for at in range(len(words))])
        known = [label or "O" for label in value]
        spans = [Span(doc, start, end, type_) for type_, start, end in schemes.spans(known, SCHEME)]
        if task == "chunk":
            doc.spans["chunks"] = spans
        else:
            missing = [doc[at : at + 1] for at, label in enumerate(value) if label is None]
            doc.set_ents(spans, missing=missing, default="outside")
        docs.append(doc)
    return DocBin(docs=docs, store_user_data=True).to_bytes()


EXPORTS: dict[str, Callable[[Sequence[Answer], str], bytes]] = {
    "columns": _columns,
    "conllu": _conllu,
    "jsonl": _jsonl,
    "spacy": _docbin,
}
SUFFIXES = {"columns": "txt", "conllu": "conllu", "jsonl": "jsonl", "spacy": "spacy"}
