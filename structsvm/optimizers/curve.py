"""Training-curve points, data checks and errors shared by all optimizers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np


class ConvergenceWarning(UserWarning):
    """Training stopped before it reached the requested tolerance."""


class NotFittedError(ValueError, AttributeError):
    """A method was called that needs a trained model."""


class Point(NamedTuple):
    """A point of a training curve; `primal` is nan if it was not computed."""

    seconds: float
    epoch: int
    seen: int
    dual: float
    primal: float
    n_support_patterns: int
    n_support_vectors: int
    n_argmax: int


Callback = Callable[[Point], Any]


def in_slices(order: np.ndarray, size: int = 256) -> Iterable[np.ndarray]:
    """Split an order into short pieces, so that Ctrl-C can interrupt between them."""
    return (order[at : at + size] for at in range(0, len(order), size))


def as_data(X: Iterable[Any], y: Iterable[Any]) -> tuple[Any, Any]:
    """X and y with lengths: generators become lists; empty data are refused."""
    X = X if hasattr(X, "shape") or hasattr(X, "__len__") else list(X)
    y = y if hasattr(y, "shape") or hasattr(y, "__len__") else list(y)
    if n_patterns(X) == 0:
        raise ValueError("the data set is empty; pass at least one example")
    if n_patterns(X) != n_patterns(y):
        raise ValueError(f"X has {n_patterns(X)} patterns but y has {n_patterns(y)} outputs")
    return X, y


def n_patterns(X: Any) -> int:
    return X.shape[0] if hasattr(X, "shape") else len(X)
