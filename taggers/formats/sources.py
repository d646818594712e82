"""Sentences and labels for Python: from files of all formats, lists of records and pandas tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from taggers.formats import AUTO
from taggers.formats._columns import Columns
from taggers.formats.base import Format
from taggers.formats.csv import FORMAT as TABLE
from taggers.formats.csv import TableFormat, table_records
from taggers.formats.files import Opened, open_columns
from taggers.formats.jsonl import FORMAT as RECORDS
from taggers.formats.jsonl import JsonLines, object_record
from taggers.formats.records import Reading, as_columns
from taggers.formats.text import Split
from taggers.formats.tokenizer import split_sentences

Sentences = list[list[Any]]


def read_sentences(
    source: Any,
    *,
    label: int | str | None = None,
    inputs: Sequence[int | str] | None = None,
    split: Split | None = None,
    format: str = AUTO,
    encoding: str = "utf-8",
) -> tuple[Sentences, list[list[str | None]]]:
    """Return the sentences and labels of a file, of a list of records or of a pandas DataFrame.

    Parameters
    ----------
    source : a path; or objects as in JSON lines, such as ``{"text": ..., "spans": [[0, 4, "PER"]]}`` or
        ``{"tokens": [...], "ner_tags": [...]}``; or a data set of Hugging Face, which knows the names of its
        tags; or a DataFrame with one token per row and columns such as sentence, word and label, or with one
        document per row.
    label : the label column, by number or name, such as a header; the default is that of the format.
    inputs : the input columns. Tokens are tuples if there are several.
    split : a function from a text to sentences of `Token`, for texts without tokens.

    Returns
    -------
    X, y : what taggers are fitted to; None marks a token without a label.

    >>> read_sentences([{"text": "Anna left. She ran.", "spans": [[0, 4, "PER"]]}])
    ([['Anna', 'left', '.'], ['She', 'ran', '.']], [['B-PER', 'O', 'O'], ['O', 'O', 'O']])
    """
    if isinstance(source, str | Path):
        with open_columns(source, format, encoding=encoding, split=split) as opened:
            gold = opened.label(_named(label))
            words = opened.inputs(gold % opened.n_columns) if inputs is None else _chosen(opened, inputs)
            columns = opened.read([*words, gold])
    else:
        columns = _in_memory(source, label, inputs, split)
    width = columns.width - 1
    parts = [columns.sentences(column) for column in range(width)]
    X = parts[0] if width == 1 else [list(zip(*rows, strict=True)) for rows in zip(*parts, strict=True)]
    missing = columns.format.missing(columns.wanted[-1])
    y = [[None if one == missing else one for one in labels] for labels in columns.labels(width)]
    return X, y


def _named(column: int | str | None) -> str | None:
    return None if column is None else str(column)


def _chosen(format: Format | Opened, inputs: Sequence[int | str]) -> list[int]:
    return [format.column(str(one)) for one in inputs]


def _in_memory(
    source: Any, label: int | str | None, inputs: Sequence[int | str] | None, split: Split | None
) -> Columns:
    reading = Reading("<memory>", split or split_sentences)
    format: Format = RECORDS
    if hasattr(source, "itertuples") and _of_documents(source):
        source = [{key: _value(cell) for key, cell in row.items()} for row in source.to_dict("records")]
    if hasattr(source, "itertuples"):  # a DataFrame of tokens
        header = [str(name) for name in source.columns]
        format = TABLE.of_header(header)
    elif not isinstance(source, Iterable) or isinstance(source, Mapping):
        raise TypeError(f"source must be a path, a list of records or a DataFrame, got {source!r}"[:300])
    if label is None:
        gold = format.own_label(reading.name)
    else:
        format, gold = format.choose(str(label))
    wanted = [*([format.words] if inputs is None else _chosen(format, inputs)), gold]
    reading.key = format.key if isinstance(format, JsonLines) else ""
    if isinstance(format, TableFormat):
        rows = ([_cell(cell) for cell in row] for row in source.itertuples(index=False, name=None))
        records = list(table_records(header, enumerate(rows, 1), reading, format))
    else:
        reading.names.update(_tag_names(source))
        records = [
            one for number, value in enumerate(source, 1) for one in object_record(value, number, reading)
        ]
    reading.misfits.warn(reading.name)
    return as_columns(records, wanted, format)


def _tag_names(source: Any) -> dict[str, list[str]]:
    """The columns of tags of a data set of Hugging Face, with the names of its tags."""
    features = getattr(source, "features", None) or {}
    found = {key: getattr(getattr(one, "feature", None), "names", None) for key, one in features.items()}
    return {key: list(names) for key, names in found.items() if names}


def _of_documents(table: Any) -> bool:
    """Whether each row of a DataFrame is a document: lists or objects in its cells hold spans or tokens."""
    return any(isinstance(_value(cell), list | Mapping) for row in table.head(50).to_numpy() for cell in row)


def _value(cell: Any) -> Any:
    """A cell as in a record: arrays become lists, and NaN becomes None."""
    if hasattr(cell, "tolist"):
        return cell.tolist()
    return None if isinstance(cell, float) and cell != cell else cell


def _cell(cell: Any) -> str:
    """The text of a cell; empty for None, NaN and NA of pandas."""
    text = str(cell)
    return "" if cell is None or (text in ("nan", "<NA>", "NaT") and not isinstance(cell, str)) else text
