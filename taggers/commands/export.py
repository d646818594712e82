"""Write documents in other formats: `structsvm tag --to` and `structsvm convert --to` a format."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from structsvm.files.atomic import atomic_write, check_output
from structsvm.files.errors import DataError
from taggers.formats._columns import Columns
from taggers.formats.base import Format, Layer
from taggers.formats.exchange import TextAsRecords, columns_records, written
from taggers.formats.files import CHUNK, Opened, open_columns
from taggers.formats.records import FIELDS, Record, RecordFormat, scheme_of
from taggers.formats.registry import FORMATS

# What documents cannot hold of CoNLL-U.
LOST = {
    "heads and relations": re.compile(rb"^\d+\t(?:[^\t\n]*\t){5}\d", re.MULTILINE),
    "multiword tokens": re.compile(rb"^\d+-\d+\t", re.MULTILINE),
    "empty nodes": re.compile(rb"^\d+\.\d+\t", re.MULTILINE),
}
CONLLU = ("lemma", "upos", "xpos", "feats")  # columns of CoNLL-U that documents keep


def check_place(output: str | Path, to: str, *sources: str | Path | None) -> None:
    """Raise ValueError, before any work is done, for an output that cannot be written."""
    if not _is_folder(to):
        check_output(output, *sources)
    elif str(output) == "-":
        raise ValueError(f"{FORMATS[to].title} is a folder of files; name it with -o FOLDER")
    elif os.path.exists(output) and (not os.path.isdir(output) or os.listdir(output)):
        raise ValueError(f"{output} exists already; choose a new folder for the files")


def write_documents(parts: Iterable[Sequence[Record]], output: str | Path, to: str, source: str) -> None:
    """Write documents, part by part if the format allows it; nothing remains after an error."""
    target = FORMATS.get(to)
    if isinstance(target, RecordFormat) and target.whole:
        parts = [[record for part in parts for record in part]]
    if isinstance(target, RecordFormat) and target.folder:
        _write_folder(output, target.files([record for part in parts for record in part]))
        return
    first = 1
    with atomic_write(output) as out:
        for part in parts:
            out.write(written(part, to, source, first))
            first += len(part)


def _is_folder(to: str) -> bool:
    target = FORMATS.get(to)
    return isinstance(target, RecordFormat) and target.folder


def _write_folder(output: str | Path, files: Iterator[tuple[str, bytes]]) -> None:
    """Write a folder that appears under its name when it is complete."""
    path = Path(os.path.realpath(output))
    if not path.parent.is_dir():
        raise ValueError(f"{output} cannot be written because there is no folder {path.parent}")
    unfinished = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    try:
        for name, data in files:
            (unfinished / name).write_bytes(data)
        unfinished.chmod(0o755)
        unfinished.rename(path)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def layer_fields(layers: Sequence[Layer], columns: Columns, parts: Sequence[str | None]) -> list[str]:
    """The field of each layer of predicted labels: the column that it replaces, or the part that it holds."""
    found = []
    for number, layer in enumerate(layers):
        name = parts[number] if number < len(parts) else None
        if layer.column is not None and columns.format.names == FIELDS:
            name = FIELDS[columns.wanted[layer.column]]
        found.append(name if name in FIELDS else "label")
    return found


def convert_file(
    file: str | Path,
    output: str | Path,
    *,
    to: str,
    label: int | str | None = None,
    format: str = "auto",
    encoding: str = "utf-8",
) -> list[str]:
    """Convert a labelled or unlabelled file to another format, and return what was left out."""
    check_place(output, to, file)
    with open_columns(file, format, encoding=encoding, text_as=None) as opened:
        if opened.format.ready:
            what = f"{opened.format.title} has features instead of words, so it cannot be converted"
            raise DataError(what, opened.name)
        if opened.format.name == "text":
            opened.format = TextAsRecords(None)
        dropped: list[str] = []
        place = None if label is None else opened.label(label)
        parts = _noted(_read(opened, place, dropped), opened.format, to, dropped)
        write_documents(parts, output, to, opened.format.name)
    return dropped


def _noted(
    parts: Iterable[list[Record]], source: Format, to: str, dropped: list[str]
) -> Iterator[list[Record]]:
    """Pass documents on, and note what the other format cannot hold."""
    target = FORMATS.get(to)
    documents = isinstance(target, RecordFormat)
    keeps = target.keeps if isinstance(target, RecordFormat) else ("label", *CONLLU * (to == "conllu"))
    only_phrases = isinstance(target, RecordFormat) and target.only_phrases
    for records in parts:
        found: dict[str, None] = {}
        scheme = scheme_of(records) if only_phrases else ""
        for record in records:
            labels = record.value("label")
            found |= {
                f"the values of {name}": None for name, row in record.values.items()
                if row is not labels and name not in keeps and any(row)
            }  # fmt: skip
            if only_phrases and labels is not None and any(labels):
                if scheme == "none":
                    found["labels that do not mark phrases"] = None
                elif None in labels:
                    found["missing labels, which become O"] = None
            if to == "brat" and any(" " in label for label in labels or () if label):
                found["spaces in labels, which become _"] = None
            if source is not target and isinstance(source, RecordFormat):
                found |= dict.fromkeys(source.extra(record.raw))
            if not documents and len(record.sentences) > 1:
                found["the borders of documents"] = None
        dropped += [what for what in found if what not in dropped]
        yield records


def _read(opened: Opened, label: int | None, dropped: list[str]) -> Iterator[list[Record]]:
    """Yield the documents of a file part by part."""
    format = opened.format
    if isinstance(format, RecordFormat):
        for columns in opened.parts([format.words], CHUNK):
            records = columns.origin or []
            if label is not None:
                name = FIELDS[label]
                records = [
                    replace(record, values={**record.values, "label": value})
                    if (value := record.value(name)) is not None else record for record in records
                ]  # fmt: skip
            yield records
        return
    if format.name == "conllu":
        chosen = [format.names.index(name) for name in ("form", *CONLLU)]
        fields = list(CONLLU)
        place = format.names.index("misc") if label is None else label % opened.n_columns
        if place in chosen:
            fields[chosen.index(place) - 1] = "label"
        else:
            chosen, fields = [*chosen, place], [*fields, "label"]
    else:
        place = (format.label if label is None else label) % opened.n_columns
        word = opened.inputs(place)[0]
        chosen, fields = ([word], []) if place == word else ([word, place], ["label"])
        others = [str(k) for k in range(opened.n_columns) if k not in chosen]
        if others:
            dropped.append(f"column {', '.join(others)} (counted from 0)")
    for columns in opened.parts(chosen, CHUNK):
        if format.name == "conllu":
            dropped += [
                what for what, sign in LOST.items() if what not in dropped and sign.search(columns.data)
            ]
        if columns.n_tokens:
            yield columns_records(columns, [], [], fields)


def warn_of_dropped(name: str, dropped: Sequence[str]) -> None:
    """Warn of what a conversion left out."""
    if dropped:
        warnings.warn(f"{name}: not converted: {'; '.join(dropped)}", UserWarning, stacklevel=3)
