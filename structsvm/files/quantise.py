"""Compress the weights of saved models: float16, or 8 bits that select one of 256 levels."""

from collections.abc import Mapping

import numpy as np

DTYPES = ("float32", "float16", "int8")
FLOAT16_MAX = 65504
STEPS = 127  # levels on each side of zero


def quantise(values: np.ndarray, dtype: str) -> dict[str, np.ndarray]:
    """Return arrays that store the weights as "float32", "float16" or "int8".

    The largest error of a weight w after `dequantise`, where m is the largest magnitude of all weights:

        float32    0, for float32 input
        float16    |w| / 2048, and 2**-25 for |w| below 2**-14; m above 65504 is rejected
        int8       sqrt(|w| m) / 127 + m / 64516

    each to float32 rounding. The levels of int8 are m (k / 127)², so that the many small weights are
    distinguished as well as the few large ones; only levels in use are kept, by size. Weights with at most
    256 distinct values keep them exactly, so that quantising dequantised weights gives the same arrays again.
    """
    if dtype not in DTYPES:
        raise ValueError(f"dtype must be one of {', '.join(DTYPES)}, got {dtype!r}.")
    values = np.asarray(values, dtype=np.float32)
    if not np.isfinite(values).all():
        raise ValueError("weights must be finite.")
    largest = np.abs(values).max(initial=0)
    if dtype == "int8":
        levels, codes = np.unique(values, return_inverse=True)
        if len(levels) > 256:
            levels, codes = np.unique(_nearest(values, largest), return_inverse=True)
        return {"values": codes.astype(np.uint8), "levels": levels}
    if dtype == "float16" and largest > FLOAT16_MAX:
        raise ValueError(f"weights up to {largest:g} do not fit into float16; use int8 or float32.")
    return {"values": values.astype(dtype)}


def rounded(values: np.ndarray, dtype: str) -> np.ndarray:
    """The weights as a file of this type gives them back."""
    return dequantise(quantise(values, dtype))


def dequantise(arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the float32 weights from arrays of `quantise`, to its precision; reject any other arrays."""
    values, levels = arrays["values"], arrays.get("levels")
    if values.ndim != 1 or values.dtype not in (np.float32, np.float16, np.uint8):
        raise ValueError(f"weights of the type {values.dtype}, in {values.ndim} dimensions")
    if (levels is None) == (values.dtype == np.uint8):
        raise ValueError("only weights of 8 bits may have levels, and they must")
    if levels is None:
        return values.astype(np.float32, copy=False)
    if levels.ndim != 1 or levels.dtype != np.float32 or (len(values) and values.max() >= len(levels)):
        raise ValueError("the levels do not match the weights")
    return levels[values]


def _nearest(values: np.ndarray, largest: np.float32) -> np.ndarray:
    """The level next to each value."""
    step = np.rint(np.sqrt(np.abs(values.astype(np.float64)) / largest) * STEPS)
    return (np.sign(values) * largest * (step / STEPS) ** 2).astype(np.float32)
