"""The reader of TREC questions, labelled with a two-level taxonomy of question types."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from corpora.readers.multiclass import TextSplit
from corpora.registry import find
from structsvm.files import DataError


def load_trec(directory: str | os.PathLike[str] | None = None) -> TextSplit:
    """Read TREC questions as texts with labels such as NUM:date."""
    folder = find("trec_questions", directory) / "qc"
    (X_train, y_train), (X_test, y_test) = (read(folder / name) for name in ("train.txt", "test.txt"))
    return TextSplit(X_train, y_train, X_test, y_test)


def read(path: Path) -> tuple[list[str], np.ndarray]:
    """The questions of a file and their labels."""
    texts, labels = [], []
    for number, line in enumerate(path.read_text(encoding="latin-1").splitlines(), 1):
        label, space, text = line.partition(" ")
        if not space or label.count(":") != 1:
            raise DataError("expected `COARSE:fine question`", str(path), number)
        texts.append(text)
        labels.append(label)
    return texts, np.array(labels)
