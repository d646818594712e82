"""Passes over a training set: in slices, so that Ctrl-C and callbacks are heard, each in its own order."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from structsvm._dual import schedules as _schedules
from structsvm.optimizers.curve import Callback, Point

POINTS_PER_EPOCH = 20  # of the training curve
MOST_POINTS = 10_000  # of a whole curve: then every second one goes
SLICE_SECONDS = 0.05  # between two looks at Ctrl-C and the progress callback


class Passes(ABC):
    """Visits the patterns of a training set, epoch by epoch, and notes points of a curve."""

    callback: Callback | None
    curve_: list[Point]
    _block: int | None = None  # patterns in a slice, where that must not depend on time
    _machine: Any  # what learns; absent before the first data
    _held: np.ndarray  # the slots of the training set
    _seed: int
    epochs_done: int
    elapsed: float  # seconds of training

    @abstractmethod
    def _slice(self, order: np.ndarray, at: int) -> None:
        """Visit a few patterns, the first of them being the one at place `at` of the epoch."""

    def _epochs(self, n: int, online: bool) -> None:
        """Passes in a new order each, or one in the order given."""
        for _ in range(1 if online else n):
            if self._epoch(self._held if online else self._shuffled()):
                return

    def _epoch(self, order: np.ndarray) -> bool:
        """A pass, with what an optimizer does around it."""
        return self._pass(order)

    def _pass(self, order: np.ndarray) -> bool:
        """An epoch over `order`, in slices; True if the callback asked to stop."""
        start, at, size, reported = time.perf_counter(), 0, self._block or 16, 0.0
        points = min(POINTS_PER_EPOCH, len(order))
        ends = [round(len(order) * (k + 1) / points) for k in range(points)]
        begun, self._seen = self.elapsed, 0
        for end in ends:
            while at < end:
                slice_start = time.perf_counter()
                stop = min(end, at + size)
                self._slice(order[at:stop], at)
                self._seen = at = stop
                now = time.perf_counter()
                size = self._block or max(
                    1, int(size * min(4.0, SLICE_SECONDS / max(now - slice_start, 1e-9)))
                )
                self.elapsed = begun + now - start
                if self.callback and now - reported > 4 * SLICE_SECONDS:
                    reported = now
                    if self.callback(self._point()):
                        return True
            self.curve_.append(self._point())
        if len(self.curve_) > MOST_POINTS:  # of many small partial_fit
            self.curve_ = self.curve_[::2]
        last = self._point()
        self.epochs_done += 1
        return bool(self.callback and self.callback(last))

    def _shuffled(self) -> np.ndarray:
        """The training set in the random order of this epoch."""
        oracle = getattr(self._machine, "oracle", None)  # a kernel machine has none
        starts = oracle.groups(self._held) if oracle else None
        if starts is None:
            return _schedules.shuffled(self._seed, self.epochs_done, self._held)
        order = _schedules.shuffled(self._seed, self.epochs_done, np.arange(len(starts)))
        sizes = np.diff(np.append(starts, len(self._held)))[order]
        skipped = np.repeat(starts[order] - np.append(0, np.cumsum(sizes)[:-1]), sizes)
        return self._held[skipped + np.arange(len(self._held))]

    def _point(self, primal: float = np.nan) -> Point:
        return Point(
            self.elapsed, self.epochs_done, self._seen, self.dual_, primal,
            self.n_support_patterns_, self.n_support_vectors_, self.n_argmax_,
        )  # fmt: skip

    @property
    @abstractmethod
    def dual_(self) -> float:
        """The dual objective."""

    @property
    @abstractmethod
    def n_support_patterns_(self) -> int:
        """Patterns that w is made of."""

    @property
    @abstractmethod
    def n_support_vectors_(self) -> int:
        """Pairs (pattern, output) that w is made of."""

    @property
    @abstractmethod
    def n_argmax_(self) -> int:
        """Calls of the argmax in training."""
