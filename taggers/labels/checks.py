"""Warn of labels that look wrong, such as mixed schemes or labels from another column."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from itertools import chain

import numpy as np

from structsvm.files.errors import DataError
from taggers.formats._columns import Columns
from taggers.labels import schemes
from taggers.labels.label_encoding import GoldLabels

COLUMN = "check the column, or choose another with --column"


def warn_of_training_labels(columns: Columns, gold: GoldLabels, outer: str) -> None:
    """Warn of labels out of place in their scheme, and of labels that fit no scheme."""
    if outer == "none":
        _warn(columns.name, _without_scheme(columns, gold))
        return
    wrong = schemes.ids_out_of_place(gold.ids, gold.names, gold.sentence_ptr, outer)
    if len(wrong):
        at = int(wrong[0])
        count = "1 label is" if len(wrong) == 1 else f"{len(wrong)} labels are"
        _warn(
            columns.name,
            f"{count} out of place in {outer} (the first at line {columns.line(at)}: "
            f"{gold.names[gold.ids[at]]}) and interpreted as in conlleval; if you joined files with "
            "different schemes, convert them to the same one with structsvm convert",
        )


def check_scheme(columns: Columns, gold: GoldLabels, outer: str) -> None:
    """Reject labels that the scheme of a model does not have."""
    for number, name in enumerate(gold.names):
        try:
            schemes.convert([name], outer, outer)
        except ValueError as error:
            at = int(np.argmax(gold.ids == number))
            what = f"{str(error).rstrip('.')}; convert the file with structsvm convert --to {outer}"
            raise DataError(what, columns.name, columns.line(at)) from None


def _without_scheme(columns: Columns, gold: GoldLabels) -> str:
    """Why labels have no scheme: none of them marks phrases, or not all of them."""
    marks = {name for name in gold.names if _marks_phrase(name)}
    if not marks:
        return f"the labels do not mark phrases with B-x and I-x and are used unchanged; {COLUMN}"
    others = [k for k, name in enumerate(gold.names) if name != schemes.OUTSIDE and name not in marks]
    if others:
        at = int(np.argmax(np.isin(gold.ids, others)))
        return (
            f"phrase labels such as {min(marks)} are mixed with other labels (line {columns.line(at)}: "
            f"{gold.names[gold.ids[at]]}), so all labels are used unchanged"
        )
    return f"the labels ({', '.join(sorted(marks)[:6])} ...) mix schemes and are used unchanged"


def mark_phrases(labels: Collection[str]) -> bool:
    """Whether most labels other than O mark phrases, as B-x and I-x do."""
    others = [label for label in labels if label != schemes.OUTSIDE]
    return 2 * sum(map(_marks_phrase, others)) >= len(others)


def _marks_phrase(label: str) -> bool:
    prefix, type_ = schemes.split(label)
    return bool(type_) and len(prefix) == 1 and prefix in "BIESLU"


def check_gold(gold: Sequence[Sequence[str]], names: Sequence[str], columns: Columns) -> None:
    """Reject gold labels (the last column read) that share no label with the model's `names`."""
    seen = set(chain.from_iterable(gold)) - {schemes.OUTSIDE}
    known = set(names) - {schemes.OUTSIDE}
    if not seen or schemes.alike(seen, known):
        return
    column = columns.format.column_name(columns.wanted[-1])
    raise DataError(
        f"column {column} has the labels {_some(seen)}, but the model has {_some(known)}; choose the column "
        "of the gold labels with --column, or use a model trained on such labels",
        columns.name,
    )


def warn_of_gold(
    gold: Sequence[Sequence[str]], names: Sequence[str], outer: str, file: str, answers: str
) -> None:
    """Warn of gold labels that differ from the predicted ones: no common label, or another scheme."""
    seen = set(chain.from_iterable(gold)) - {schemes.OUTSIDE}
    if seen and not schemes.alike(seen, names):
        _warn(file, f"the labels are {_some(seen)}, and none of them is among {answers}")
        return
    theirs = schemes.detect(gold)
    if "none" not in (outer, theirs) and theirs != outer and schemes.count_violations(gold, outer):
        _warn(
            file,
            f"the labels are in {theirs}, {answers} in {outer}; F1 compares phrases, but accuracy compares "
            f"the labels as written; convert the file with structsvm convert --to {outer}",
        )


def _some(labels: Collection[str]) -> str:
    """
    >>> _some({"N", "V", "D", "A"}), _some({"N"})
    ('A, D, N ...', 'N')
    """
    return ", ".join(sorted(labels)[:3]) + (" ..." if len(labels) > 3 else "")


def _warn(file: str, what: str) -> None:
    warnings.warn(f"{file}: {what}", UserWarning, stacklevel=3)
