"""Read labelled files: the input columns first, the label columns last, and the gold labels."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from structsvm.files.errors import DataError
from taggers.features.documents import document_starts
from taggers.formats import AUTO
from taggers.formats._columns import Columns
from taggers.formats.base import FileColumns, Format
from taggers.formats.conllu import COLUMN
from taggers.formats.conllu import FORMAT as CONLLU
from taggers.formats.csv import TableFormat
from taggers.formats.files import CHUNK, Opened, open_columns
from taggers.formats.records import RecordFormat
from taggers.formats.registry import FORMATS
from taggers.labels.checks import check_spans
from taggers.labels.label_encoding import GoldLabels


class Labelled(NamedTuple):
    """The columns of a labelled file, inputs first, and the gold labels in the last of them."""

    columns: Columns
    gold: GoldLabels

    @property
    def place(self) -> int:
        """The position of the first label column, which is the number of input columns."""
        return self.columns.width - self.gold.n_columns

    def file_columns(self, task: str) -> FileColumns:
        """Describe the file for `TaggerModel.files`: its format and columns."""
        columns, place = self.columns, self.place
        files: FileColumns = {
            "format": columns.format.name, "inputs": list(columns.wanted[:place]),
            "label": columns.wanted[place], "n_columns": columns.n_columns, "task": task,
        }  # fmt: skip
        if isinstance(columns.format, TableFormat) and (header := columns.format.label_header()):
            files["header"] = header
        if self.gold.n_columns > 1:
            files["parts"] = [columns.format.names[column] for column in columns.wanted[place:]]
        return files


def read_files(
    paths: str | Path | Sequence[str | Path], *, encoding: str = "utf-8", **reading: Any
) -> list[Labelled]:
    """Read one or several labelled files. The columns of all must be those of the first one.

    reading: the options of `read_labelled` for the first file; the others may have other formats.
    """
    first, *others = paths_of(paths)
    found = read_labelled(first, encoding=encoding, **reading)
    like, sets = found.file_columns(""), reading.get("sets", False)
    return [found, *(read_alike(path, like, found.columns.name, encoding, sets=sets) for path in others)]


def paths_of(paths: str | Path | Sequence[str | Path]) -> list[str | Path]:
    """One or several files as a list; refuse the same one twice, and none."""
    files: list[str | Path] = [paths] if isinstance(paths, str | Path) else list(paths)
    if not files:
        raise ValueError("there is no training file; specify at least one")
    real = [str(path) if str(path) == "-" else os.path.realpath(path) for path in files]
    for number, path in enumerate(real):
        if path in real[:number]:
            raise ValueError(f"{files[number]} is given twice; leave one out")
    return files


def joined(files: Sequence[Labelled]) -> Labelled:
    """Join labelled files. Each begins a new document if one of them marks documents."""
    names = {name for one in files for name in one.gold.distinct()}
    for one in files:
        check_spans(one.columns, names)
    if len(files) == 1:
        return files[0]
    columns = Columns.joined([one.columns for one in files])
    marked = [document_starts(one.columns) for one in files]
    if any(starts is not None for starts in marked):
        at = np.cumsum([0, *(one.columns.n_sentences for one in files)])
        columns.documents = np.unique(np.concatenate([
            start + np.append(0, [] if starts is None else starts).astype(np.int64)
            for start, starts in zip(at.tolist(), marked, strict=False)
        ]))  # fmt: skip
    return Labelled(columns, GoldLabels.joined([one.gold for one in files], columns.sentence_ptr))


def read_labelled(
    path: str | Path,
    *,
    format: str = "auto",
    encoding: str = "utf-8",
    inputs: Sequence[int | str] | None = None,
    labels: Sequence[int | str | None] = (None,),
    sets: bool = False,
) -> Labelled:
    """Read a file with its input columns first and its label columns last.

    Parameters
    ----------
    labels : the label columns; None is the default of the format. Several columns give joint labels.
    sets : whether a joint label that misses a value becomes a set of labels, see `GoldLabels.from_columns`.
    """
    (whole,) = read_labelled_parts(
        path, format=format, encoding=encoding, inputs=inputs, labels=labels, sets=sets, chunk_size=None
    )
    return whole


def read_labelled_parts(
    path: str | Path,
    *,
    format: str = "auto",
    encoding: str = "utf-8",
    inputs: Sequence[int | str] | None = None,
    labels: Sequence[int | str | None] = (None,),
    sets: bool = False,
    chunk_size: int | None = CHUNK,
) -> Iterator[Labelled]:
    """Read such a file in parts of whole sentences, so that memory does not grow with it."""
    if len(labels) > 1 and format == AUTO:  # joint labels require CoNLL-U; its errors name the line
        format = CONLLU.name
    with open_columns(path, format, encoding=encoding) as opened:
        for columns in opened.parts(_chosen(opened, inputs, labels), chunk_size):
            if columns.n_tokens:
                yield Labelled(columns, _gold(columns, columns.width - len(labels), sets=sets))


def _chosen(
    opened: Opened, inputs: Sequence[int | str] | None, labels: Sequence[int | str | None]
) -> list[int]:
    """Return the input columns and then the label columns of a file; None is the default of the format."""
    format, n_columns = opened.format, opened.n_columns
    if n_columns < 2 and not format.ready:
        what = "has only one column, so it has no labels; use a file with words and labels"
        raise DataError(f"{what} (a table needs a header such as sentence,word,label)", opened.name)
    if len(labels) > 1 and not format.names:
        what = f"several label columns require the CoNLL-U format, but this is {format.title}"
        raise DataError(what, opened.name)
    gold = [opened.label(label) for label in labels]
    gold = [label + n_columns * (-n_columns <= label < 0) for label in gold]
    return [*(opened.inputs(gold[0]) if inputs is None else map(opened.column, inputs)), *gold]


def read_held_out(path: str | Path, like: FileColumns, name: str, encoding: str = "utf-8") -> Labelled:
    """Read held-out data with the columns of the training file, see `read_alike`."""
    held_out = read_alike(path, like, name, encoding)
    check_spans(held_out.columns, held_out.gold.distinct())
    return held_out


def read_alike(
    path: str | Path, like: FileColumns, name: str, encoding: str = "utf-8", *, sets: bool = False
) -> Labelled:
    """Read more labelled data, which must have the columns of the training file.

    Parameters
    ----------
    like : the columns of the training file, as `Labelled.file_columns` describes them.
    name : the name of the training file.
    sets : as for `read_labelled`.
    """
    kind = FORMATS[like["format"]]
    with open_columns(path, AUTO, encoding=encoding) as opened:
        other = isinstance(opened.format, RecordFormat) != isinstance(kind, RecordFormat)
        found = opened.format
    if other and not kind.ready:
        return _read_converted(path, found, kind, like, encoding)
    labels: list[int | str]
    labels = [COLUMN[part] for part in like.get("parts", ())] or [like["label"]]
    # All formats of documents have the same columns.
    format = AUTO if isinstance(kind, RecordFormat) else like["format"]
    if isinstance(found, TableFormat) and like.get("header") in found.header:
        labels = [like["header"]]
    held_out = read_labelled(
        path, format=format, encoding=encoding, inputs=like["inputs"], labels=labels, sets=sets
    )
    columns = held_out.columns
    if columns.n_columns != like["n_columns"]:
        raise DataError(
            f"{columns.n_columns} columns, but {name} has {like['n_columns']}; both files must have the same "
            "columns", columns.name, columns.line(0),
        )  # fmt: skip
    return held_out


def _read_converted(
    path: str | Path, format: Format, kind: Format, like: FileColumns, encoding: str
) -> Labelled:
    """Read held-out data in columns for a model of documents, or the other way round."""
    if len(like["inputs"]) > 1 or like.get("parts"):
        what = f"the training file has several input or label columns, but this file is in {format.title}"
        raise DataError(f"{what}; use files of the same format", str(path))
    named = kind.column_name(like["label"]) if kind.names else "label"
    known = named in format.names
    label = format.names.index(named) if known else format.label_elsewhere(str(path))
    return read_labelled(path, encoding=encoding, labels=[label])


def _gold(columns: Columns, place: int, *, sets: bool) -> GoldLabels:
    """The gold labels of columns; raise DataError for labels that could not be written into a file again."""
    empty = np.flatnonzero((columns.spans[:, place:, 1] == 0).any(axis=1))
    if len(empty) and not columns.format.gaps:
        raise DataError("the label is empty", columns.name, columns.line(int(empty[0])))
    each = [GoldLabels.from_column(columns, column) for column in range(place, columns.width)]
    for gold, number in zip(each, columns.wanted[place:], strict=True):
        absent = not gold.names or (columns.format is CONLLU and gold.names == ["_"])  # no FEATS
        if absent:
            what = f"the column {columns.format.column_name(number)} has no labels; choose another with "
            raise DataError(f"{what}--column", columns.name)
    if columns.data.count(b"\r") > columns.data.count(b"\r\n"):
        for token, label in enumerate(columns.texts(place)):
            if "\r" in label:
                what = f"label {label!r} contains a carriage return; check the line endings"
                raise DataError(what, columns.name, columns.line(token))
    return each[0] if len(each) == 1 else GoldLabels.from_columns(columns, place, sets=sets)
