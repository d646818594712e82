"""The reader of OCR words: images of handwritten letters, word by word, in ten folds."""

import gzip
import os
from typing import NamedTuple

import numpy as np

from corpora.registry import find

PIXELS = 128
COLUMNS = 6 + PIXELS  # id, letter, next id (-1 ends a word), word, position, fold


class Words(NamedTuple):
    """Letters in the order of the file; word i has the letters word_ptr[i] .. word_ptr[i + 1] - 1."""

    pixels: np.ndarray  # letters x 128, 0 or 1, uint8
    letters: np.ndarray  # 0 for a .. 25 for z
    word_ptr: np.ndarray
    folds: np.ndarray  # of each word, 0 .. 9

    def take(self, words: np.ndarray) -> "Words":
        """Some of the words."""
        letters = np.concatenate([np.arange(self.word_ptr[i], self.word_ptr[i + 1]) for i in words])
        ptr = np.concatenate([[0], np.cumsum(np.diff(self.word_ptr)[words])])
        return Words(self.pixels[letters], self.letters[letters], ptr, self.folds[words])


def load_ocr(directory: str | os.PathLike[str] | None = None) -> Words:
    """Read the words of letter.data.gz, which does not contain their first letters (capitals)."""
    path = find("ocr_letters", directory) / "letter.data.gz"
    with gzip.open(path, "rt", encoding="ascii") as file:
        rows = [line.split() for line in file]
    for number, row in enumerate(rows, 1):
        if len(row) != COLUMNS or not row[1].islower():
            raise ValueError(f"{path}:{number}: expected a letter with {COLUMNS} columns.")
    if not rows or rows[-1][2] != "-1":
        raise ValueError(f"{path}:{len(rows)}: expected the last letter of a word; is the file complete?")
    ends = 1 + np.flatnonzero([row[2] == "-1" for row in rows])
    return Words(
        np.array([row[6:] for row in rows], dtype=np.uint8),
        np.array([ord(row[1]) - ord("a") for row in rows], dtype=np.int32),
        np.concatenate([[0], ends]),
        np.array([int(rows[end - 1][5]) for end in ends]),
    )
