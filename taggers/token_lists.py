"""Sentences of the package conllu: their words, their labels, and labels written into them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, TypeGuard

from taggers.formats.base import FileColumns
from taggers.formats.conllu import COLUMN
from taggers.formats.conllu import FORMAT as CONLLU
from taggers.labels.parts import JOINT, values

if TYPE_CHECKING:
    from conllu import Token, TokenList

FIELDS = ("lemma", "upos", "xpos", "feats", "deprel")  # that hold one value for each word


def is_token_list(sentence: Any) -> TypeGuard[TokenList]:
    """Whether a sentence is a `conllu.TokenList`; if there is one, conllu has been imported."""
    conllu = sys.modules.get("conllu")
    return conllu is not None and isinstance(sentence, conllu.TokenList)


def words(sentence: TokenList) -> list[Token]:
    """The words of a sentence: neither ranges (1-2) nor empty nodes (1.1)."""
    return [token for token in sentence if isinstance(token["id"], int)]


def names_fields(y: Any) -> bool:
    """Whether y names fields, and does not hold the labels themselves."""
    several = isinstance(y, (list, tuple)) and all(isinstance(name, str) for name in y)
    return y is None or isinstance(y, str) or several


def fields_of(y: Any) -> list[str]:
    """The fields that y names: one, or several whose values a label joins."""
    fields = [y] if isinstance(y, str) else list(y or ())
    if not fields or not all(field in FIELDS for field in fields):
        raise ValueError(f"y must name the fields to learn, of {', '.join(FIELDS)}, got {y!r}"[:300])
    return fields


def labels_in(sentence: TokenList, fields: Sequence[str]) -> list[str | None]:
    """The label of each word, None if a value is missing."""
    from conllu.serializer import serialize_field

    rows = [[serialize_field(token.get(field)) for field in fields] for token in words(sentence)]
    absent = [CONLLU.missing(COLUMN[field]) for field in fields]
    return [None if any(map(str.__eq__, row, map(str, absent))) else JOINT.join(row) for row in rows]


def file_columns(fields: Sequence[str], task: str) -> FileColumns:
    """The columns of a CoNLL-U file with these fields, for `TaggerModel.files`."""
    columns: FileColumns = {
        "format": CONLLU.name, "inputs": [CONLLU.words], "label": COLUMN[fields[0]],
        "n_columns": CONLLU.n_columns, "task": task,
    }  # fmt: skip
    if len(fields) > 1:
        columns["parts"] = list(fields)
    return columns


def filled(sentence: TokenList, labels: Sequence[str], columns: FileColumns) -> TokenList:
    """A copy of a sentence whose words have these labels, in the fields of a model's training file."""
    from conllu.parser import parse_dict_value

    if columns.get("format") != CONLLU.name:
        raise ValueError(
            "the model was not trained on CoNLL-U, so its labels have no field there; use predict, which "
            "returns lists of labels"
        )
    fields = columns.get("parts") or [CONLLU.names[columns["label"]]]
    copy = deepcopy(sentence)
    for token, label in zip(words(copy), labels, strict=True):
        for field, value in zip(fields, values(label, len(fields)), strict=True):
            token[field] = parse_dict_value(value) if field in ("feats", "misc") else value
    return copy
