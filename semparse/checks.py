"""Check the content of model files: a forged file may contain anything, even with a valid checksum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

LARGEST_COUNT = 2**53  # counts stay exact as floats
LARGEST_WEIGHT = 1e30  # products of weights stay finite; float32 holds it, too
LARGEST_NUMBER = float(np.finfo(np.float64).max)


def numbered(value: Any, what: str) -> dict[str, int]:
    """Number the names of a list; raise ValueError unless they are strings and all different."""
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise ValueError(f"{what} must be a list of names")
    names = {name: k for k, name in enumerate(value)}
    if len(names) != len(value):
        raise ValueError(f"{what} must not repeat a name")
    return names


def checked_counts(value: Any, what: str) -> dict[str, int]:
    """Check a dictionary of counts by name."""
    if not isinstance(value, dict):
        raise ValueError(f"{what} must be a dictionary of counts")
    return {name: checked_count(number, f"{what} of {name!r}") for name, number in value.items()}


def checked_count(value: Any, what: str, *, low: int = 0, high: int = LARGEST_COUNT) -> int:
    """Check an integer from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not low <= value <= high:
        raise ValueError(f"{what} must be an integer from {low} to {high}, got {value!r}")
    return int(value)


def checked_array(
    arrays: Mapping[str, np.ndarray], name: str, dtype: Any, shape: tuple[int, ...], largest: float
) -> np.ndarray:
    """Check the type, shape and magnitude of an array."""
    found = arrays[name]
    if found.dtype != dtype or found.shape != shape:
        raise ValueError(
            f"{name} must be {np.dtype(dtype)} of shape {shape}, got {found.dtype} of {found.shape}"
        )
    if found.size and not -largest <= found.min() <= found.max() <= largest:  # false for nan, too
        raise ValueError(f"{name} contains numbers beyond {largest:g}")
    return found
