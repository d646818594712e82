"""Which columns of a file are what: inputs for the template, and the labels."""

from __future__ import annotations

import re
import warnings
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from structsvm.files.errors import DataError
from taggers.formats._columns import Columns
from taggers.formats.files import CONLLU, read_all, read_columns
from taggers.labels import schemes
from taggers.model import TaggerModel

BEGINNING = 1 << 16  # bytes


def column_number(text: str) -> int:
    """A column from its number, counted from 0 or from -1 at the end, or from its name in CoNLL-U."""
    if text.lower() in CONLLU:
        return CONLLU[text.lower()]
    try:
        return int(text)
    except ValueError:
        raise ValueError(
            f"{text!r} is no column: give a number from 0, -1 for the last, or one of {', '.join(CONLLU)}"
        ) from None


def read_labelled(
    path: str | Path,
    *,
    format: str = "auto",
    encoding: str = "utf-8",
    inputs: Sequence[int] | None = None,
    label: int | None = None,
) -> Columns:
    """A file with its input columns first and its label column last."""
    whole = _beginning(path, format, encoding)
    if whole.format == "columns" and whole.n_columns == 1:
        raise DataError(
            "only one column, so there are no labels; give a file with words and labels", whole.name
        )
    if label is None:
        label = {"conllu": CONLLU["upos"], "crfsuite": 0}.get(whole.format, -1)
    label += whole.n_columns if -whole.n_columns <= label < 0 else 0
    if inputs is None:
        before = {"conllu": [CONLLU["form"]], "crfsuite": []}
        inputs = before.get(whole.format, [column for column in range(whole.n_columns) if column != label])
    wanted = (*inputs, label)
    if Path(path).is_file():
        columns = read_all(path, whole.format, wanted=wanted, separator=whole.separator, encoding=encoding)
    else:
        columns = Columns(whole.data, wanted, format=whole.format, separator=whole.separator, name=whole.name)
    check_labels(columns, len(inputs))
    return columns


def _beginning(path: str | Path, format: str, encoding: str) -> Columns:
    """The first sentences of a file, which tell its columns; all of a pipe, which cannot be read twice."""
    if Path(path).is_file():
        for columns in read_columns(path, format, encoding=encoding, chunk_size=BEGINNING):
            if columns.n_tokens:
                return columns
    return read_all(path, format, encoding=encoding)


def check_labels(columns: Columns, place: int) -> None:
    """Refuse labels that could not be written into a file again."""
    empty = np.flatnonzero(columns.spans[:, place, 1] == 0)
    if len(empty):
        raise DataError("the label is empty", columns.name, columns.line(empty[0]))
    if columns.data.count(b"\r") > columns.data.count(b"\r\n"):
        for token, label in enumerate(columns.texts(place)):
            if "\r" in label:
                what = f"label {label!r} holds a carriage return; are the ends of lines right?"
                raise DataError(what, columns.name, columns.line(token))


def describe(columns: Columns) -> dict[str, Any]:
    """What a model remembers of its training file."""
    return {
        "format": columns.format, "inputs": list(columns.wanted[:-1]), "label": columns.wanted[-1],
        "n_columns": columns.n_columns,
    }  # fmt: skip


def inputs_of(model: TaggerModel, format: str, name: str) -> list[int]:
    """The columns to read from a file of some format for a model."""
    if model.template is None or format == "crfsuite":
        if model.template is None and format == "crfsuite":
            return []
        what = "features in CRFsuite's format" if model.template is None else "words in columns"
        raise DataError(f"the model was trained on {what}, and this is of the format {format}", name)
    needed = max(model.template.width, 1)
    inputs = model.files.get("inputs") or list(range(needed))
    if format == model.files.get("format", "columns"):
        return list(inputs[:needed])
    if needed > 1:
        raise DataError(
            f"the model needs {needed} columns, such as words and parts of speech; {format} gives words only",
            name,
        )
    return [CONLLU["form"]] if format == "conllu" else [0]


def outputs_of(
    model: TaggerModel, format: str, name: str, *, replace: bool, chosen: int | None = None
) -> list[tuple[int, str]]:
    """The columns of a file that labels are written into, and which part of a label each takes ("": all).

    None where labels are appended. CoNLL-U takes the parts of a label in the columns that they are for.
    """
    if format == "conllu" and model.parts:
        if chosen is None:
            return [(CONLLU[part], part) for part in model.parts]
        return [(chosen, part_of(model, chosen))]
    if replace or format in ("conllu", "crfsuite"):
        return [(label_of(model, format, name, chosen), "")]
    return []


def part_of(model: TaggerModel, column: int) -> str:
    """The part of a label that belongs into a column of CoNLL-U; "" for all of it."""
    return next((part for part in model.parts if CONLLU[part] == column), "")


def names_of(model: TaggerModel, part: str) -> list[str]:
    """The labels' names, or a part of each."""
    if not part:
        return model.names
    return [name.split("|")[model.parts.index(part)] for name in model.names]


def compared_names(model: TaggerModel, columns: Columns) -> list[str]:
    """The labels' names to hold against the last column: the part of each that belongs there.

    CoNLL-U's columns have their parts; of any other file, that part which it has most of.
    """
    if columns.format == "conllu":
        return names_of(model, part_of(model, columns.wanted[-1]))
    seen = Counter(columns.texts(columns.width - 1)) if model.parts else Counter()
    choices = [names_of(model, part) for part in ("", *model.parts)]
    return max(choices, key=lambda names: sum(seen[name] for name in set(names)))


def label_of(model: TaggerModel, format: str, name: str, chosen: int | None = None) -> int:
    """The column of a file that the labels belong to."""
    if chosen is not None:
        return chosen
    if format == model.files.get("format"):
        return int(model.files["label"])
    if format == "conllu" and model.parts:
        return CONLLU[model.parts[0]]
    if format == "conllu":
        raise DataError("which column is meant? give --column upos, xpos or another", name)
    return -1


def format_for(model: TaggerModel, format: str) -> str:
    """The format to read a file in: where features come ready, files are not looked at to find out."""
    return "crfsuite" if format == "auto" and model.template is None else format


def check_fit(model: TaggerModel, columns: Columns, format: str) -> None:
    """Refuse or tell what does not look like the model's own files, unless the format was given.

    That is a file without one known feature where they come ready, and what may be plain text read as
    columns: too many of them, or no known label. Between tabs it is no text, and only told.
    """
    ready = format == "auto" and columns.format == "crfsuite" and model.n_features > 0
    if ready and not len(model.features(columns).rows):
        raise DataError(
            "none of the model's features is in it, which were learned from CRFsuite's format (a label and "
            "features, between tabs); if all is right, give --format crfsuite",
            columns.name,
        )
    expects_text = model.files.get("format") == "text"
    if format != "auto" or columns.format != "columns" or model.template is None or expects_text:
        return
    same = model.files.get("format", "columns") == "columns"
    usual = model.files.get("n_columns", columns.n_columns) if same else 1
    odd = columns.n_columns > usual + same  # a column of predicted labels may have been added
    if same and usual <= columns.n_columns <= usual + 1 and "label" in model.files:
        values = _first_values(columns, model.files["label"])
        odd = bool(values) and not schemes.alike(values, [*model.names, "_"])
    if not odd:
        return
    what = f"its {columns.n_columns} columns do not look like those of the training file"
    read = " and ".join(map(str, columns.wanted[: max(model.template.width, 1)]))
    if columns.separator == "\t":
        told = f"column {read} of it is read (counted from 0); --format columns says that all is right"
        warnings.warn(f"{columns.name}: {what}; {told}", UserWarning, stacklevel=2)
        return
    text = "if it is plain text, give --format text"
    if model.template.width > 1:
        text = f"the model reads {model.template.width} columns, such as words and parts of speech, no text"
    right = f"if all is right, give --format columns, and column {read} of it (counted from 0) is read"
    raise DataError(f"{what}; {text}; {right}", columns.name)


def _first_values(columns: Columns, column: int) -> list[str]:
    """What the first tokens have in a column of the file."""
    text = columns.data
    starts = [(text.rfind(b"\n", 0, end) + 1, end) for end in columns.ends[:50].tolist()]
    lines = [text[start:end] if start else text[:end].removeprefix(BOM_UTF8) for start, end in starts]
    # split() without a separator would take more for white space than the reader does
    tabs = columns.separator == "\t"
    rows = [line.split(b"\t") if tabs else re.split(rb"[ \t]+", line.strip(b" \t")) for line in lines]
    return [row[column].decode() for row in rows if len(row) == columns.n_columns]
