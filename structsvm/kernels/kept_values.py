"""`KeptValues`: kernel values of patterns outside the support set, which LaRankGap stores between scans."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

ROWS = 256  # patterns whose kernel values are one matrix product


class KeptValues:
    """Blocks of kernel values between slots of a batch and support patterns, which are slots too.

    A block has rows for its slots and grows by columns: each scan adds the support patterns that are new. So
    the value of a pair is computed once, as long as there is room for it.
    """

    def __init__(self, inputs: Any, n_slots: int) -> None:
        self.inputs = inputs
        self.held = np.zeros(n_slots, dtype=bool)
        self.blocks: list[tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]] = []
        self.n_bytes = 0

    def add(self, slots: np.ndarray, columns: np.ndarray, values: np.ndarray, room: float) -> None:
        """Keep the values of some slots with support patterns (`columns`), unless they are stored already."""
        if not self.held[slots].any():
            self.blocks.append((slots, [(columns, values)]))
            self.held[slots] = True
            self.n_bytes += values.nbytes
            self.shrink(room)

    def rows(self, slots: np.ndarray, support: np.ndarray) -> tuple[np.ndarray, int]:
        """Kernel values of some slots with the support patterns, and how many had to be computed."""
        values = np.empty((len(slots), len(support)), dtype=self.inputs.dtype)
        known = np.zeros(values.shape, dtype=bool)
        row_of = np.full(len(self.held), -1)
        column_of = np.full(len(self.held), -1)
        row_of[slots], column_of[support] = np.arange(len(slots)), np.arange(len(support))
        for owners, parts in self.blocks if self.held[slots].any() else []:
            own = np.flatnonzero(row_of[owners] >= 0)
            for columns, block in parts if len(own) else []:
                used = np.flatnonzero(column_of[columns] >= 0)
                place = np.ix_(row_of[owners[own]], column_of[columns[used]])
                values[place], known[place] = block[np.ix_(own, used)], True
        held = self.held[slots]
        computed = 0
        for some in (held, ~held):
            missing = np.flatnonzero(~known[some].all(axis=0))
            if some.any() and len(missing):
                at = self.inputs.offset + slots[some]
                values[np.ix_(some, missing)] = self.inputs.with_support(
                    self.inputs.batch[at], self.inputs.norms[at], missing
                )
                computed += int(some.sum()) * len(missing)
        return values, computed

    def shrink(self, room: float) -> None:
        """Drop blocks until the others fit into `room` bytes."""
        while self.blocks and self.n_bytes > room:
            slots, parts = self.blocks.pop()
            self.held[slots] = False
            self.n_bytes -= sum(values.nbytes for _, values in parts)

    def scan(
        self, outside: np.ndarray, support: np.ndarray, beta: np.ndarray, room: float
    ) -> Iterator[tuple[np.ndarray, np.ndarray, int]]:
        """Slots outside the support set, their scores, and the number of kernel values computed for them."""
        coefficients = np.zeros((len(self.held), beta.shape[1]), dtype=self.inputs.dtype)
        coefficients[support] = beta
        waiting = np.zeros(len(self.held), dtype=bool)
        waiting[outside] = True
        blocks, self.blocks, self.n_bytes = self.blocks, [], 0
        self.held[:] = False
        for slots, parts in blocks:
            live = waiting[slots]
            if live.any():
                rows = [(columns, values[live]) for columns, values in parts]
                yield self._extended(slots[live], rows, support, coefficients, room)
                waiting[slots] = False
        rest = np.flatnonzero(waiting)
        for at in range(0, len(rest), ROWS):
            yield self._extended(rest[at : at + ROWS], [], support, coefficients, room)

    def _extended(
        self, slots: np.ndarray, parts: list[Any], support: np.ndarray, coefficients: np.ndarray, room: float
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """Compute the values that are missing in a block, keep it, and return its scores."""
        known = np.zeros(len(self.held), dtype=bool)
        for columns, _ in parts:
            known[columns] = True
        missing = np.flatnonzero(~known[support])
        rows = self.inputs.offset + slots
        if len(missing):
            values = self.inputs.with_support(self.inputs.batch[rows], self.inputs.norms[rows], missing)
            parts = [*parts, (support[missing], values)]
        scores = sum(values @ coefficients[columns] for columns, values in parts)
        size = sum(values.nbytes for _, values in parts)
        if self.n_bytes + size <= room:
            self.blocks.append((slots, parts))
            self.held[slots] = True
            self.n_bytes += size
        return slots, np.asarray(scores), len(slots) * len(missing)
