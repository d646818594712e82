"""The weights of models of other programs, as rows of weights over labels."""

from __future__ import annotations

import numpy as np

from structsvm.files import SparseRows
from taggers.labels.space import MOST_LABELS


def weight_rows(
    rows: np.ndarray, labels: np.ndarray, weights: np.ndarray, n_labels: int, n_rows: int
) -> SparseRows:
    """Rows of single weights; those of the same row and label are added, as a tagger adds them."""
    if n_labels > MOST_LABELS:
        raise ValueError(f"it has {n_labels} labels, more than {MOST_LABELS}")
    places, first = np.unique(rows.astype(np.int64) * n_labels + labels, return_inverse=True)
    with np.errstate(over="ignore"):
        values = np.bincount(first, weights, len(places)).astype(np.float32)
    keep = values != 0
    row, label = np.divmod(places[keep], n_labels or 1)
    return SparseRows.of(np.bincount(row, minlength=n_rows), label, values[keep], n_labels)
