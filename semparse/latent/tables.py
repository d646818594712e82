"""Linear scores: a table has a weight for each (feature, label), its running mean, and names for both."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from semparse import checks


class Table:
    """Weights w[feature, label]; `mean` is their mean over all steps so far."""

    def __init__(self) -> None:
        self.features: dict[str, int] = {}
        self.labels: dict[Hashable, int] = {}
        self.w = np.zeros((0, 0))
        self.drift = np.zeros((0, 0))  # sum of step number * change
        self._mean: np.ndarray | None = None

    def rows(self, names: Iterable[str], *, grow: bool) -> np.ndarray:
        """Row numbers of features; with `grow` new ones get a row, else they are left out."""
        known = self.features
        if grow:
            ids = [known.setdefault(name, len(known)) for name in names]
        else:
            ids = [known[name] for name in names if name in known]
        return np.array(ids, np.intp)

    def label(self, name: Hashable) -> int:
        """The column of a label, a new one if need be."""
        return self.labels.setdefault(name, len(self.labels))

    def fit_size(self) -> None:
        """Make room for all features and labels."""
        self._mean = None
        if self.w.shape[0] < len(self.features) or self.w.shape[1] < len(self.labels):
            shape = (max(2 * self.w.shape[0], len(self.features)), max(2 * self.w.shape[1], len(self.labels)))
            for name in ("w", "drift"):
                wider = np.zeros(shape)
                old = getattr(self, name)
                wider[: old.shape[0], : old.shape[1]] = old
                setattr(self, name, wider)

    def mean(self, steps: int) -> np.ndarray:
        if self._mean is None:
            self._mean = self.w - self.drift / steps
        return self._mean

    def add(self, row: int, label: int, change: float, step: int) -> None:
        self.w[row, label] += change
        self.drift[row, label] += change * step

    def changed(self) -> None:
        self._mean = None

    def state(self, name: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        n, m = len(self.features), len(self.labels)
        arrays = {f"{name}.w": self.w[:n, :m], f"{name}.drift": self.drift[:n, :m]}
        return arrays, {"features": list(self.features), "labels": list(self.labels)}

    def set_state(self, name: str, arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> None:
        """Restore what `state` returned; raise ValueError where its parts do not fit together."""
        self.features = checks.numbered(meta["features"], f"features of {name}")
        named = [tuple(label) if isinstance(label, list) else label for label in meta["labels"]]
        self.labels = {label: k for k, label in enumerate(named)}
        if len(self.labels) != len(named):
            raise ValueError(f"labels of {name} must not repeat a name")
        shape = len(self.features), len(self.labels)
        self.w = checks.array(arrays, f"{name}.w", np.float64, shape, checks.LARGEST_WEIGHT)
        self.drift = checks.array(arrays, f"{name}.drift", np.float64, shape, np.finfo(float).max)
        self._mean = None
