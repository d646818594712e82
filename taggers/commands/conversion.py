"""`structsvm convert`: labels in another scheme, files in another format, models of other programs."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from structsvm.files.atomic import atomic_write, check_output
from structsvm.files.errors import DataError
from structsvm.options import check_rules
from taggers.commands.export import convert_file, warn_of_dropped
from taggers.conflicts import CONVERT, FILE, LABELS
from taggers.foreign import find_reader
from taggers.formats.base import Layer
from taggers.formats.exchange import TARGETS
from taggers.formats.files import encoded, open_columns
from taggers.labels import schemes
from taggers.model import TaggerModel
from taggers.options import SCHEMES


def convert(
    file: str | Path,
    output: str | Path = "-",
    *,
    to: str,
    source: str | None = None,
    label: int | str | None = None,
    format: str = "auto",
    encoding: str = "utf-8",
) -> int:
    """Write the file with its labels in another scheme, and return how many labels were out of place.

    Parameters
    ----------
    to
        A scheme, or a format to convert the file to.
    """
    if to in TARGETS:
        check_rules(CONVERT, to=to, source=source)
        dropped = convert_file(file, output, to=to, label=label, format=format, encoding=encoding)
        warn_of_dropped(str(file), dropped)
        return 0
    if to not in SCHEMES:
        choices = ", ".join((*SCHEMES[1:], *TARGETS))
        raise ValueError(f"--to must be one of {choices}, a label scheme or a format; got {to!r}")
    for scheme in (to, source or to):
        schemes.check(scheme)
        if scheme == "none":
            raise ValueError(f"labels can only be converted between {', '.join(SCHEMES[1:])}")
    check_output(output, file)
    with open_columns(file, format, encoding=encoding) as opened:
        columns = opened.read([-1 if label is None else opened.label(label)])
    sentences = columns.labels(0)
    source = source or schemes.detect(sentences)
    if source == "none":
        raise DataError("the labels are not in a known scheme; choose another column", columns.name)
    names: dict[str, int] = {}
    ids = []
    repaired = 0
    for labels, start in zip(sentences, columns.sentence_ptr.tolist(), strict=False):
        try:
            repaired += len(schemes.violations(labels, source))
            ids += [names.setdefault(name, len(names)) for name in schemes.convert(labels, source, to)]
        except ValueError as error:
            raise DataError(str(error), columns.name, columns.line(start)) from None
    known = [*dict.fromkeys(chain(names, *sentences))]  # also the labels that these replace
    data = columns.format.write(columns, [Layer(np.array(ids, np.int32), known, 0)])
    with atomic_write(output) as out:
        out.write(b"".join(encoded([data], encoding, columns.name)))
    return repaired


def foreign_program(file: str | Path) -> str | None:
    """Return the program that wrote the file, if it is a model that we can convert."""
    reader = find_reader(file)
    return None if reader is None else reader.program


def check_conversion(file: str | Path, program: str | None, **given: Any) -> None:
    """Raise ValueError for flags without effect; program: the one that wrote the file, if it is a model."""
    if program is not None:
        check_rules(CONVERT, **given, **{FILE: f"of {program}"})
        return
    if str(file) != "-" and (given["to"] is None or len(given) > 3):
        with open(file, "rb") as opened:
            if opened.read(4) == b"PK\3\4":
                raise ValueError(
                    f"{file} is a model of structsvm already; set --dtype, --prune and --keep-names when you "
                    "train it"
                )
    check_rules(CONVERT, **given, **{FILE: LABELS})
    if given["to"] is None:
        raise ValueError(
            "add --to with a label scheme such as IOB2 or IOBES, or a format such as jsonl or columns"
        )


def convert_model(
    file: str | Path,
    output: str | Path,
    *,
    dtype: str = "float32",
    prune: float | None = None,
    keep_names: bool = False,
) -> None:
    """Write the model of another program as one of ours; the options are those of `TaggerModel.save`."""
    check_output(output, file)
    model = TaggerModel.load(file)
    if not keep_names:
        model.space.names = None
    model.save(output, prune=prune, dtype=dtype)
