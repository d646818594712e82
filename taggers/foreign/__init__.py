"""Models of other programs, as models of ours: CRFsuite, CRF++ and Wapiti.

A reader is a function from the content of a file to a `TaggerModel`; it raises ValueError for content that
is damaged. To add a program, add its first bytes and its reader to READERS.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from structsvm.files import ModelFileError
from structsvm.files.budget import ALLOWANCE, MULTIPLE
from taggers.foreign import crfpp, crfsuite, wapiti
from taggers.model import TaggerModel


class Reader(NamedTuple):
    """A program whose models we read: its name, the first bytes of its files, and the function."""

    program: str
    start: bytes
    read: Callable[[bytes], TaggerModel]


READERS = (
    Reader("CRFsuite", crfsuite.MAGIC, crfsuite.read),
    Reader("CRF++", crfpp.MAGIC, crfpp.read),
    Reader("Wapiti", wapiti.MAGIC, wapiti.read),
)


def find_reader(path: str | os.PathLike[str]) -> Reader | None:
    """The reader of a file that another program wrote; None for other files."""
    if not os.path.isfile(path):  # reading a pipe would take its beginning away
        return None
    try:
        with open(path, "rb") as file:
            head = file.read(max(len(reader.start) for reader in READERS))
    except OSError:
        return None
    return next((reader for reader in READERS if head.startswith(reader.start)), None)


def read_model(
    path: str | os.PathLike[str], reader: Reader, memory: Callable[[TaggerModel], int]
) -> TaggerModel:
    """The model in a file of another program, or raise ModelFileError.

    memory: the bytes that the tables of a model need, which must be in proportion to the file.
    """
    try:
        with open(path, "rb") as file:
            data = file.read()
        model = reader.read(data)
        if (needed := memory(model)) > ALLOWANCE + MULTIPLE * len(data):
            raise ValueError(f"it needs {needed >> 20:,} MB, over {MULTIPLE} times the size of the file")
    except (OSError, ValueError, OverflowError) as error:
        raise ModelFileError(
            f"{path} cannot be read as a model of {reader.program}: {error}; copy or create the file again."
        ) from error
    return replace(model, parameters={"class": "SequenceTagger", "algorithm": "crf"})
