"""Labels that look wrong, such as mixed schemes or those of another column."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from itertools import chain
from typing import Any

from structsvm.files.errors import DataError
from taggers.formats._columns import Columns
from taggers.formats.files import CONLLU_NAMES
from taggers.labels import schemes

COLUMN = "is this the right column? --column chooses another"


def warn_of_training_labels(columns: Columns, place: int, outer: str) -> None:
    """Say so where the labels are not all of the scheme that they were read in, or of none at all."""
    sentences = columns.sentences(place)
    if outer == "none":
        _warn(columns.name, _strangers(columns, sentences))
        return
    wrong = schemes.count_violations(sentences, outer)
    if wrong:
        at = next(
            int(start) + found[0]
            for labels, start in zip(sentences, columns.sentence_ptr, strict=False)
            if (found := schemes.violations(labels, outer))
        )
        first = f"the first at line {columns.line(at)}: {columns.text(at, place)}"
        count = "1 label is" if wrong == 1 else f"{wrong} labels are"
        _warn(
            columns.name,
            f"{count} out of place in {outer} ({first}), and read as conlleval reads them; where files of "
            "several schemes were joined, structsvm convert brings each to the same one",
        )


def check_scheme(columns: Columns, place: int, outer: str) -> None:
    """Refuse labels that the scheme of a model does not have."""
    for labels, start in zip(columns.sentences(place), columns.sentence_ptr, strict=False):
        try:
            schemes.violations(labels, outer)
        except ValueError as error:
            what = f"{str(error).rstrip('.')}; the model has {outer}: structsvm convert --to {outer}"
            raise DataError(what, columns.name, columns.line(int(start))) from None


def _strangers(columns: Columns, sentences: Sequence[Sequence[str]]) -> str:
    """What is wrong with labels that are of no scheme: all of them, or some among labels of phrases."""
    marks = {label for label in chain.from_iterable(sentences) if _marks_phrase(label)}
    if not marks:
        return f"the labels mark no phrases, as B-x and I-x do, and are learned as they are: {COLUMN}"
    flat = list(chain.from_iterable(sentences))
    for at, label in enumerate(flat):
        if label != schemes.OUTSIDE and label not in marks:
            return (
                f"labels of phrases, such as {min(marks)}, stand beside others (line {columns.line(at)}: "
                f"{label}), so that all are learned as they are, not as phrases"
            )
    return f"the labels ({', '.join(sorted(marks)[:6])} ...) mix schemes, and are learned as they are"


def _marks_phrase(label: str) -> bool:
    prefix, type_ = schemes.split(label)
    return bool(type_) and len(prefix) == 1 and prefix in "BIESLU"


def check_gold(gold: Sequence[Sequence[str]], names: Sequence[str], columns: Columns) -> None:
    """Refuse gold labels, the last column read, none of which is one of the model's `names`."""
    seen = set(chain.from_iterable(gold)) - {schemes.OUTSIDE}
    known = set(names) - {schemes.OUTSIDE}
    if not seen or schemes.alike(seen, known):
        return
    column: Any = columns.wanted[-1]
    column = CONLLU_NAMES[column] if columns.format == "conllu" else f"{column} (counted from 0)"
    raise DataError(
        f"its column {column} has the labels {_some(seen)}, none of which is one of the model's, "
        f"{_some(known)}: choose the column of the gold labels with --column, or take a model that was "
        "trained on such labels",
        columns.name,
    )


def warn_of_gold(
    gold: Sequence[Sequence[str]], names: Sequence[str], outer: str, file: str, answers: str
) -> None:
    """Say so where gold labels cannot be compared with what is answered: other labels, another scheme."""
    seen = set(chain.from_iterable(gold)) - {schemes.OUTSIDE}
    if seen and not schemes.alike(seen, names):
        _warn(file, f"its labels are {_some(seen)}, and none of them is one of {answers}")
        return
    theirs = schemes.detect(gold)
    if "none" not in (outer, theirs) and theirs != outer and schemes.count_violations(gold, outer):
        _warn(
            file,
            f"its labels are in {theirs}, {answers} in {outer}: phrases can be compared, but accuracy counts "
            f"labels as they are written; structsvm convert --to {outer} makes them alike",
        )


def _some(labels: Collection[str]) -> str:
    """
    >>> _some({"N", "V", "D", "A"}), _some({"N"})
    ('A, D, N ...', 'N')
    """
    return ", ".join(sorted(labels)[:3]) + (" ..." if len(labels) > 3 else "")


def _warn(file: str, what: str) -> None:
    warnings.warn(f"{file}: {what}", UserWarning, stacklevel=3)
