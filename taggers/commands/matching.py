"""Match a file to a model: its format, the columns to read and the columns to write."""

from __future__ import annotations

import re
import warnings
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

from structsvm.files.errors import DataError
from taggers.features.extract import Extractor
from taggers.features.template import Template
from taggers.formats import AUTO
from taggers.formats._columns import Columns
from taggers.formats.base import Format
from taggers.formats.conllu import COLUMN
from taggers.formats.files import Opened, open_columns
from taggers.formats.registry import FORMATS
from taggers.labels import schemes
from taggers.model import TaggerModel

PLAIN, TEXT = FORMATS["columns"], FORMATS["text"]
# Tasks of models that only spaCy components can use.
IN_SPACY = {
    "lemma": "finds lemmas only in spaCy; for the command line, use structsvm train lemma or train ud",
    "senter": "splits sentences only in spaCy; for the command line, use structsvm train ud",
}
LEAST_VALUES = 20  # in a column, before a warning that the model knows none of them


def own_format(model: TaggerModel) -> Format:
    """Return the format of the model's training file; for a model trained in Python, the usual one."""
    usual = "crfsuite" if model.space.template is None else "columns"
    return FORMATS[model.files.get("format", usual)]


def prefers_text(model: TaggerModel) -> bool | None:
    """Return whether a model reads plain text, as `open_columns` means it."""
    if own_format(model) is TEXT:
        return True
    return None if model.space.template is not None and model.space.template.width <= 1 else False


@contextmanager
def open_inputs(model: TaggerModel, file: str | Path, format: str, **options: Any) -> Iterator[Opened]:
    """Open a file for the model; `options` are those of `open_columns`.

    A model of ready features already knows the format.
    """
    if (task := model.files.get("task")) in IN_SPACY:
        raise ValueError(f"this model {IN_SPACY[task]}")
    known = own_format(model).name if format == AUTO and model.space.template is None else format
    with open_columns(file, known, **options) as opened:
        opened.format = opened.format.of_model(model.files)
        yield opened


def input_columns(model: TaggerModel, opened: Opened) -> list[int]:
    """Return the columns that the model reads from a file."""
    format, name = opened.format, opened.name
    if (model.space.template is None) != format.ready:
        kind = "ready features" if model.space.template is None else "words"
        raise DataError(f"the model was trained on {kind}, but this file is in {format.title}", name)
    if model.space.template is None:
        return []
    needed = max(model.space.template.width, 1)
    if type(format) is type(own_format(model)):
        own = list((model.files.get("inputs") or range(needed))[:needed])
        if not set(own) & set(opened.numbering()):
            return own
        if needed > 1:
            raise DataError(
                f"a column that the model reads ({' and '.join(map(str, own))}, counted from 0) numbers the "
                "tokens of each sentence; remove it: the columns must be those of the training file", name,
            )  # fmt: skip
    if needed > 1:
        raise DataError(
            f"the model needs {needed} columns, such as words and parts of speech, but this file is in "
            f"{FORMATS[format.name].title}", name,
        )  # fmt: skip
    return opened.inputs()[:1]


def label_column(model: TaggerModel, opened: Opened, chosen: int | str | None = None) -> int:
    """Return the column of the file for the model's labels, given what a user chose."""
    chosen = None if chosen is None else opened.label(chosen)
    return _label_column(model, opened.format, opened.name, chosen)


def _label_column(model: TaggerModel, format: Format, name: str, chosen: int | None = None) -> int:
    """Return the column for the model's labels."""
    if chosen is not None:
        return chosen
    own = own_format(model)
    # Text that becomes CoNLL-U has the same columns as a CoNLL-U file.
    if "label" in model.files and (format.name == own.name or (format.names and format.names == own.names)):
        return int(model.files["label"])
    parts = part_columns(model, format)
    return next(iter(parts.values())) if parts else format.label_elsewhere(name)


def chosen_column(model: TaggerModel, label: int | str | Sequence[int] | None) -> int | str | None:
    """Return the label column that a user chose; None for all columns of a joint label."""
    if label is None or isinstance(label, int | str):
        return label
    if sorted(label) != sorted(COLUMN[part] for part in model.parts):
        has = f"the columns {'+'.join(model.parts)}" if model.parts else "one column"
        raise ValueError(f"--column names several columns, but the model predicts {has}; leave out --column")
    return None


def part_columns(model: TaggerModel, format: Format) -> dict[str, int]:
    """Return the column of each part of a label (NOUN|NN), if the format has columns of these names."""
    return {part: format.names.index(part) for part in model.parts if part in format.names}


def part_in(model: TaggerModel, format: Format, column: int) -> str | None:
    """Return the part of a label that belongs in a column; None for the whole label."""
    return next((part for part, place in part_columns(model, format).items() if place == column), None)


def replaced_columns(
    model: TaggerModel, format: Format, name: str, *, replace: bool, chosen: int | None = None
) -> list[tuple[int, str | None]]:
    """Return the columns that labels replace, each with the part of the label that goes there."""
    parts = part_columns(model, format)
    if parts and chosen is None:
        return [(column, part) for part, column in parts.items()]
    if replace or format.replaces:
        column = _label_column(model, format, name, chosen)
        return [(column, part_in(model, format, column))]
    return []


def gold_labels(model: TaggerModel, columns: Columns) -> list[list[str]]:
    """Return the gold labels in the last column; of a model for phrases, PER of the scheme IO is I-PER."""
    rows = columns.labels(columns.width - 1)
    if model.labels.outer == "none":
        return rows
    usual = schemes.typed(set(chain.from_iterable(rows)) - {columns.format.missing(columns.wanted[-1])})
    return [[usual.get(label, label) for label in row] for row in rows] if usual else rows


def gold_names(model: TaggerModel, columns: Columns) -> list[str]:
    """Return the names to compare with the last column: the part of each label that belongs there.

    Without named columns, it is the part that most tokens have.
    """
    if columns.format.names:
        return model.part_names(part_in(model, columns.format, columns.wanted[-1]))
    seen = Counter(columns.texts(columns.width - 1)) if model.parts else Counter()
    choices = [model.part_names(part) for part in (None, *model.parts)]
    return max(choices, key=lambda names: sum(seen[name] for name in set(names)))


def check_fit(model: TaggerModel, columns: Columns) -> None:
    """Raise DataError or warn if a file does not look like the training file of the model."""
    if columns.format.ready:
        _check_features(model, columns)
        return
    if columns.format is PLAIN and own_format(model) is not TEXT:
        _check_columns(model, columns)
    check_values(model, columns)


def _check_features(model: TaggerModel, columns: Columns) -> None:
    if len(model.space) and not len(model.features(columns).rows):
        raise DataError(
            "none of the model's features is in it; write them as in training, a label and its features on "
            r"each line, separated by tabs (the feature {'w': 'dog'} of a dict is w\:dog), or use --format "
            "crfsuite to read it anyway", columns.name,
        )  # fmt: skip


def _check_columns(model: TaggerModel, columns: Columns) -> None:
    """Look for plain text that is read as columns: there are too many of them, or no known label."""
    template = model.space.template
    assert template is not None
    same = own_format(model) is PLAIN
    usual = model.files.get("n_columns", columns.n_columns)  # unknown for a model trained in spaCy
    usual = usual if same or "n_columns" not in model.files else 1
    odd = columns.n_columns > usual + same  # a column of predicted labels may have been added
    if same and usual <= columns.n_columns <= usual + 1 and "label" in model.files:
        values = _first_values(columns, model.files["label"])
        odd = bool(values) and not schemes.alike(values, [*model.names, "_"])
    if same and columns.n_columns < usual:
        _check_words(model, columns, usual)
    if not odd:
        return
    what = f"its {columns.n_columns} columns do not look like those of the training file"
    read = " and ".join(map(str, columns.wanted[: max(template.width, 1)]))
    if columns.separator == "\t":  # then it is not text
        warnings.warn(
            f"{columns.name}: {what}; column {read} (counted from 0) is read; use --format columns to "
            "silence this warning", UserWarning, stacklevel=2,
        )  # fmt: skip
        return
    text = "for plain text use --format text"
    if template.width > 1:
        text = f"the model reads {template.width} columns, such as words and parts of speech, not text"
    raise DataError(
        f"{what}; {text}; use --format columns to read column {read} (counted from 0) anyway", columns.name
    )


def _check_words(model: TaggerModel, columns: Columns, usual: int) -> None:
    """Raise DataError if a file with fewer columns than the training file has labels instead of words."""
    place = columns.wanted[0]
    values = _first_values(columns, place)
    if values and set(values) <= set(model.names):
        raise DataError(
            f"column {place} (counted from 0), which the model reads, has labels such as {values[0]!r}, not "
            f"words; the training file had {usual} columns: write the same ones", columns.name,
        )  # fmt: skip


def check_values(model: TaggerModel, columns: Columns, names: Sequence[str] = ()) -> None:
    """Warn about an input column, such as parts of speech, that is empty or has no value the model knows.

    names: the names of the columns, if their numbers are not those of the file.
    """
    template = model.space.template
    assert template is not None
    alone = {}  # patterns that read one column, at the token itself
    for pattern in template.symbolic.patterns:
        places = {(cell.column, cell.offset) for cell in pattern.cells}
        column, offset = min(places, default=(0, 0))
        if column and not offset and len(places) == 1:
            alone[pattern] = column
    spans = columns.spans[:LEAST_VALUES].tolist()
    if not alone or not spans:
        return
    tokens = [tuple(columns.data[at : at + size].decode() for at, size in row) for row in spans]
    extractor = Extractor(Template(tuple(alone)))
    rows, _ = extractor.rows(Columns.from_sentences([tokens]), model.space.table, fixed=True)
    best = rows.reshape(-1, len(alone)).max(axis=0).tolist()
    known = {column for column, row in zip(alone.values(), best, strict=True) if row >= 0}
    for column in sorted(set(alone.values()) - known):
        name = names[column] if names else columns.format.column_name(columns.wanted[column])
        if {token[column] for token in tokens} == {"_"}:
            told = f"the first tokens have no {name}, which the model reads, so its labels will be poor; "
            told += f"fill the column {name} first"
        elif len(tokens) == LEAST_VALUES:
            told = f"the model knows none of the values in column {name}, such as {tokens[0][column]!r}; "
            told += "the columns must be those of the training file, in the same order"
        else:
            continue
        warnings.warn(f"{columns.name}: {told}", UserWarning, stacklevel=4)


def _first_values(columns: Columns, column: int) -> list[str]:
    """Return what the first tokens have in a column of the file."""
    text = columns.data
    starts = [(text.rfind(b"\n", 0, end) + 1, end) for end in columns.ends[:50].tolist()]
    lines = [text[start:end] if start else text[:end].removeprefix(BOM_UTF8) for start, end in starts]
    # split() without a separator would split at more kinds of white space than the reader does
    tabs = columns.separator == "\t"
    rows = [line.split(b"\t") if tabs else re.split(rb"[ \t]+", line.strip(b" \t")) for line in lines]
    return [row[column].decode() for row in rows if len(row) == columns.n_columns]
