"""The labels that a token may get, given one of its features, so that fewer labels are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


@dataclass
class Candidates:
    """Sets of labels, each attached to a feature.

    A token may get the labels of the first set that belongs to one of its features, in the order of the sets,
    or any label if no feature has a set. Only prediction uses them: training compares all labels.

    rows: int32, the features that have a set. sizes: int32, of the sets. labels: int32, those of each set, in
    increasing order, set after set.
    """

    rows: np.ndarray
    sizes: np.ndarray
    labels: np.ndarray

    @classmethod
    def of(cls, sets: Mapping[int, set[int]]) -> Candidates:
        """Build from the labels of each row; earlier rows come first."""
        rows = list(sets)
        labels = [label for row in rows for label in sorted(sets[row])]
        return cls(*(np.array(a, np.int32) for a in (rows, [len(sets[row]) for row in rows], labels)))

    def __len__(self) -> int:
        return len(self.rows)

    def check(self, n_rows: int, n_labels: int) -> None:
        """Raise ValueError unless the arrays describe sets of a model of this size."""
        arrays = (self.rows, self.sizes, self.labels)
        if any(array.ndim != 1 or array.dtype != np.int32 for array in arrays):
            raise ValueError("the candidate labels must be flat arrays of int32")
        ends = np.cumsum(self.sizes, dtype=np.int64)
        if len(self.rows) != len(self.sizes) or np.any(self.sizes < 1) or ends[-1:].sum() != len(self.labels):
            raise ValueError("the sizes of the sets do not match the number of candidate labels")
        inside = len(self) == 0 or 0 <= self.rows.min() <= self.rows.max() < n_rows
        if not inside or len(np.unique(self.rows)) < len(self):
            raise ValueError(f"a set of candidate labels belongs to none of the {n_rows} features")
        begins = np.zeros(len(self.labels) + 1, bool)
        begins[ends] = True
        if len(self) and (
            not 0 <= self.labels.min() <= self.labels.max() < n_labels
            or np.any((np.diff(self.labels) <= 0) & ~begins[1:-1])
        ):
            raise ValueError(f"a set of candidate labels is not a sorted set of the {n_labels} labels")

    def kept(self, keep: np.ndarray) -> Candidates:
        """These sets if only the features in the mask `keep` are left; it must contain those with a set."""
        number = np.cumsum(keep, dtype=np.int32) - 1
        return Candidates(number[self.rows], self.sizes, self.labels)
