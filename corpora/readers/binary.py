"""Readers of the binary sets of the LASVM paper: ADULT as a split, BANANA and WAVEFORM as points."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from corpora.readers.multiclass import Directory, Split, read_svmlight
from corpora.registry import find

ADULT_FEATURES = 123
BANANA_ROWS = 5300
WAVEFORM_ROWS = 5000


class Points(NamedTuple):
    """A set without a split: X has one row of numbers per example, y the labels of the file."""

    X: np.ndarray
    y: np.ndarray


def load_adult(directory: Directory = None) -> Split:
    """Read ADULT (a9a): 123 features 0 or 1 as float32, labels -1 and 1."""
    folder = find("adult_a9a", directory)
    train, test = (read_svmlight(folder / name, ADULT_FEATURES) for name in ("a9a.gz", "a9a.t.gz"))
    return Split(*train, *test)


def load_banana(directory: Directory = None) -> Points:
    """Read BANANA: points in the plane as float64, labels -1 and 1."""
    return _table(find("banana", directory) / "banana.dat", 2, BANANA_ROWS)


def load_waveform(directory: Directory = None) -> Points:
    """Read WAVEFORM: 21 numbers as float64, labels 0, 1 and 2."""
    return _table(find("waveform", directory) / "waveform.data", 21, WAVEFORM_ROWS)


def _table(path: Path, n_features: int, n_rows: int) -> Points:
    """Read lines of numbers and a label, separated by commas; lines of a KEEL header begin with @."""
    rows = []
    for number, line in enumerate(path.read_text(encoding="ascii").splitlines(), 1):
        if not line.strip() or line.startswith("@"):
            continue
        try:
            # A copy of WAVEFORM in circulation has a tab within a number.
            row = [float(cell.replace("\t", "")) for cell in line.split(",")]
        except ValueError:
            row = []
        if len(row) != n_features + 1:
            raise ValueError(f"{path}:{number}: expected {n_features} numbers and a label.")
        rows.append(row)
    if len(rows) != n_rows:
        raise ValueError(f"{path}: expected {n_rows} rows, got {len(rows)}.")
    table = np.array(rows)
    return Points(table[:, :-1], table[:, -1].astype(np.int64))
