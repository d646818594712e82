"""Rows of weights over labels; only non-zero weights are stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from structsvm.files.atomic import on_disk
from structsvm.files.codec import Array, Field, Table
from structsvm.files.quantise import dequantise, quantise, rounded

CELL = np.dtype([("label", np.uint32), ("value", np.float32)])
MOST_CELLS = 2**32 - 1
ROWS = "rows"  # in a file: the index of each row among the distinct rows
MOST_PLACES = 1 << 16
SHARED = 24  # bytes for each cell of shared rows: itself, where it is copied from, and what else rows take
BLOCK = 1 << 18  # weights converted at a time, to keep copies small
SMALL = (np.uint8, np.uint16)
FIELDS = Table(
    Field("counts", Array(SMALL, "distinct rows"), "the number of non-zero weights in each row"),
    Field("labels", Array(SMALL, "weights"), "the label of each weight"),
    Field("values", Array((np.float32, np.float16, np.uint8), "weights"),
          "each weight, or with int8 its position in `levels`"),
    Field("levels", Array(np.float32, "levels"), "with int8: at most 256 numbers", None),
    Field(ROWS, Array(np.uint16, "rows"),
          "with float16 and int8, if this saves space: equal rows are stored once, and this is the index of "
          "each row among the distinct rows", None),
)  # fmt: skip


class SparseRows:
    """Weights of rows x labels; row r has the cells ``cells[ptr[r]:ptr[r + 1]]``, sorted by label.

    After training with LaRank a feature has weights for two or three labels: the others never competed.
    ``rows[places]`` returns some of the rows as a dense array.

    ptr: uint32, one more than there are rows. cells: of the type CELL, a label and a weight each.
    """

    def __init__(self, ptr: np.ndarray, cells: np.ndarray, n_labels: int) -> None:
        self.ptr = np.ascontiguousarray(ptr, np.uint32)
        self.cells = np.ascontiguousarray(cells, CELL)
        self.n_labels = n_labels

    @classmethod
    def of(cls, counts: np.ndarray, labels: np.ndarray, values: np.ndarray, n_labels: int) -> SparseRows:
        """Build from the number of cells of each row, and their labels and values, after a check."""
        ptr = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        if not ptr[-1] == len(labels) == len(values) <= MOST_CELLS:
            raise ValueError(f"{len(labels)} labels and {len(values)} weights for rows with {ptr[-1]}")
        labels = labels.astype(np.int64)
        if len(labels) and not 0 <= labels.min() <= labels.max() < n_labels:
            raise ValueError(f"a weight of label {labels.max()}, and there are {n_labels} labels")
        begins = np.zeros(len(labels) + 1, bool)
        begins[ptr] = True
        if np.any((np.diff(labels) <= 0) & ~begins[1:-1]):
            raise ValueError("the labels of a row are not sorted")
        if not (np.isfinite(values) & (values != 0)).all():
            raise ValueError("a weight is zero or not a number")
        cells = np.empty(len(labels), CELL)
        cells["label"], cells["value"] = labels, values
        return cls(ptr, cells, n_labels)

    @classmethod
    def unpacked(cls, arrays: Mapping[str, np.ndarray], n_labels: int) -> SparseRows:
        """Check the arrays of `packed`, and build from them; see `shared_bytes` for the memory this takes."""
        own = FIELDS.read(arrays, {})
        found = cls.of(own["counts"], own["labels"], dequantise(own), n_labels)
        rows = own[ROWS]
        if rows is None:
            return found
        shared_bytes(arrays)  # refuses impossible rows
        return found.taken(rows)

    def packed(self, dtype: str) -> dict[str, np.ndarray]:
        """Arrays for a file: the number of weights in each row, and the label and value of each weight.

        Features that always occur together have the same weights. With types smaller than float32, equal
        rows are stored once, with the index of each row among the distinct rows, if this saves space.
        """
        plain = self._arrays(dtype)
        if dtype == "float32":
            return plain
        places: dict[bytes, int] = {}
        data, ends = self.cells.tobytes(), (self.ptr.astype(np.int64) * CELL.itemsize).tolist()
        equal = [places.setdefault(data[start:end], len(places)) for start, end in pairwise(ends)]
        if len(places) > MOST_PLACES:
            return plain
        rows = np.array(equal, np.int64)
        first = np.diff(np.maximum.accumulate(rows), prepend=-1) > 0
        shared = self.kept(first)._arrays(dtype) | {ROWS: rows.astype(np.uint16)}
        return min(plain, shared, key=lambda arrays: sum(array.nbytes for array in arrays.values()))

    def _arrays(self, dtype: str) -> dict[str, np.ndarray]:
        small = np.uint8 if self.n_labels < 256 else np.uint16
        counts, labels = self.counts.astype(small), self.cells["label"].astype(small)
        return quantise(self.cells["value"], dtype) | {"counts": counts, "labels": labels}

    @classmethod
    def from_dense(
        cls, weights: np.ndarray, n_labels: int | None = None, n_rows: int | None = None
    ) -> SparseRows:
        """Build from the first columns and rows of an array; drop zeros of float32, and add missing rows."""
        weights = weights[:n_rows, :n_labels]
        step = max(BLOCK // max(weights.shape[1], 1), 1)
        blocks = (weights[start : start + step] for start in range(0, len(weights), step))
        return cls.from_blocks(blocks, max(n_rows or 0, len(weights)), weights.shape[1])

    @classmethod
    def from_vector(cls, w: np.ndarray, n_rows: int, stride: int, n_labels: int) -> SparseRows:
        """Build from a vector of weights, `stride` for each row; rows beyond its end are empty."""
        whole = len(w) // stride * stride
        return cls.from_dense(w[:whole].reshape(-1, stride), n_labels, n_rows)

    @classmethod
    def from_blocks(cls, blocks: Iterable[np.ndarray], n_rows: int, n_labels: int) -> SparseRows:
        """Build from blocks of rows, one after the other; drop zeros of float32, and add missing rows."""
        ptr, end = np.zeros(n_rows + 1, np.uint32), 1
        parts = [np.zeros(0, CELL)]
        for weights in blocks:
            block = weights[:, :n_labels].astype(np.float32)
            place = np.flatnonzero(block.ravel() != 0)  # much faster than for two dimensions, or for floats
            row, label = np.divmod(place, n_labels)
            parts.append(np.empty(len(place), CELL))
            parts[-1]["label"], parts[-1]["value"] = label, block.ravel()[place]
            ptr[end : end + len(block)] = np.bincount(row, minlength=len(block))
            end += len(block)
        cells = np.concatenate(parts)
        return cls(np.cumsum(ptr, dtype=np.uint32), cells, n_labels).checked()

    @classmethod
    def mean(cls, parts: Sequence[SparseRows]) -> SparseRows:
        """The mean of the weights of several models, which have the same rows and labels."""
        n_rows, n_labels = len(parts[0]), parts[0].n_labels
        step = max(BLOCK // max(n_labels, 1), 1)
        starts = range(0, n_rows, step)
        blocks = (np.mean([part[start : start + step] for part in parts], axis=0) for start in starts)
        return cls.from_blocks(blocks, n_rows, n_labels)

    def on_disk(self) -> SparseRows:
        """The same rows in temporary files, see `structsvm.files.atomic.on_disk`."""
        return SparseRows(on_disk(self.ptr), on_disk(self.cells), self.n_labels)

    def in_memory(self) -> SparseRows:
        """A copy of these rows that needs no file."""
        return SparseRows(self.ptr.copy(), self.cells.copy(), self.n_labels)

    def checked(self) -> SparseRows:
        """Return these rows; raise ValueError if a weight is not finite or there are too many weights."""
        if len(self.cells) > MOST_CELLS or not np.isfinite(self.cells["value"].sum(dtype=np.float64)):
            raise ValueError("there are too many weights, or one is not finite")
        return self

    def __len__(self) -> int:
        return len(self.ptr) - 1

    @property
    def counts(self) -> np.ndarray:
        """How many cells each row has."""
        return np.diff(self.ptr)

    @property
    def row_of(self) -> np.ndarray:
        """The row of each cell."""
        return np.repeat(np.arange(len(self)), self.counts)

    def __getitem__(self, places: slice | np.ndarray | list[int]) -> np.ndarray:
        """Some rows as an array, places x labels."""
        rows = np.arange(len(self))[places] if isinstance(places, slice) else np.asarray(places, np.int64)
        return self.taken(rows).dense(self.n_labels)

    def taken(self, rows: np.ndarray) -> SparseRows:
        """Some of the rows; a row may occur several times."""
        starts, counts = self.ptr[rows].astype(np.int64), self.counts[rows].astype(np.int64)
        first = np.cumsum(counts) - counts  # of each row among the cells found
        places = np.repeat(starts - first, counts)
        places += np.arange(len(places))
        return self._of_counts(counts, self.cells[places])

    def dense(self, stride: int) -> np.ndarray:
        """All rows as an array, rows x stride."""
        weights = np.zeros((len(self), stride), np.float32)
        weights[self.row_of, self.cells["label"]] = self.cells["value"]
        return weights

    def compact(
        self, least: float, dtype: str, first: int = 0, needed: np.ndarray | None = None
    ) -> tuple[SparseRows, np.ndarray]:
        """Drop small weights and then empty rows, both from row `first` on; also return a mask of kept rows.

        least: the magnitude up to which weights are dropped; the others are rounded as in files of `dtype`.
        needed: rows to keep even if they are empty.
        """
        keep = np.abs(self.cells["value"]) > least
        keep[: self.ptr[min(first, len(self))]] = True
        large = self._kept_cells(keep)
        cells = large.cells.copy()
        cells["value"] = rounded(large.cells["value"], dtype)
        small = SparseRows(large.ptr, cells, self.n_labels)._kept_cells(cells["value"] != 0)
        keep = (small.counts > 0) | (np.arange(len(small)) < first)
        if needed is not None:
            keep[needed] = True
        return small.kept(keep), keep

    def shifted(self, n_rows: int, by: np.ndarray) -> SparseRows:
        """Return a copy with a value for each label added to each of the first rows."""
        head = SparseRows.from_dense(self[:n_rows] + by.astype(np.float32))
        counts = np.concatenate([head.counts, self.counts[n_rows:]])
        return self._of_counts(counts, np.concatenate([head.cells, self.cells[self.ptr[n_rows] :]]))

    def _kept_cells(self, keep: np.ndarray) -> SparseRows:
        """With the cells where `keep` is true."""
        if keep.all():
            return self
        return self._of_counts(np.bincount(self.row_of[keep], minlength=len(self)), self.cells[keep])

    def kept(self, keep: np.ndarray) -> SparseRows:
        """The rows where `keep` is true."""
        return self._of_counts(self.counts[keep], self.cells[np.repeat(keep, self.counts)])

    def since(self, first: int) -> SparseRows:
        """The rows from `first` on."""
        return self.kept(np.arange(len(self)) >= first)

    def extended(self, n_rows: int) -> SparseRows:
        """The same rows, followed by empty ones up to n_rows."""
        return self._of_counts(np.pad(self.counts, (0, n_rows - len(self))), self.cells)

    def strongest(self, top: int) -> list[tuple[int, int, float]]:
        """(row, label, weight) of the largest in size."""
        best = np.argsort(-np.abs(self.cells["value"]), kind="stable")[:top]
        rows = np.searchsorted(self.ptr, best, "right") - 1
        cells = self.cells[best]
        return list(zip(rows.tolist(), cells["label"].tolist(), cells["value"].tolist(), strict=True))

    def _of_counts(self, counts: np.ndarray, cells: np.ndarray) -> SparseRows:
        ptr = np.zeros(len(counts) + 1, np.uint32)
        np.cumsum(counts, dtype=np.uint32, out=ptr[1:])
        return SparseRows(ptr, cells, self.n_labels)


def shared_bytes(arrays: Mapping[str, np.ndarray], prefix: str = "") -> int:
    """The memory for the rows that the arrays of `SparseRows.packed` share; 0 if they share none.

    The arrays do not bound it, so include it in the check of a file before you unpack them.

    prefix: of the names of the arrays.
    """
    if prefix + ROWS not in arrays:
        return 0
    own = FIELDS.read(arrays, {}, prefix)
    rows, counts = own[ROWS], own["counts"]
    if len(rows) and rows.max() >= len(counts):
        raise ValueError(f"the rows of the weights do not match the {len(counts)} rows that they share")
    n_cells = int(counts[rows].sum(dtype=np.int64))
    if n_cells > MOST_CELLS:
        raise ValueError(f"{n_cells} weights, more than {MOST_CELLS}")
    return SHARED * n_cells
