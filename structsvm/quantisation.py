"""Smaller weights for saved models: float16, or int8 with one scale per row."""

from collections.abc import Mapping

import numpy as np

DTYPES = ("float32", "float16", "int8")
FLOAT16_MAX = 65504
SMALLEST = 1e-30


def quantise(weights: np.ndarray, dtype: str) -> dict[str, np.ndarray]:
    """Return the arrays that hold rows x labels weights in "float32", "float16" or "int8".

    How far a weight w of a row with largest magnitude m can be from what `dequantise` gives back:

        float32    0, for float32 input
        float16    |w| / 2048, and 2**-25 for |w| below 2**-14; m above 65504 is refused
        int8       scale / 2, where scale, one float32 per row, is m / 127 rounded up to 16 significant bits

    each to float32 rounding; int8 takes a row with m below 1e-30 for zero. The rounded scale makes q * scale
    exact for |q| <= 127, so that quantising what was dequantised gives the same arrays again.
    """
    if dtype not in DTYPES:
        raise ValueError(f"dtype must be one of {', '.join(DTYPES)}, got {dtype!r}.")
    weights = np.asarray(weights, dtype=np.float32)
    if weights.ndim != 2:
        raise ValueError(f"weights must have two dimensions, rows and labels, got shape {weights.shape}.")
    largest = np.maximum(weights.max(axis=1, initial=0), -weights.min(axis=1, initial=0))
    if not np.isfinite(largest).all():
        raise ValueError("weights must be finite.")
    if dtype == "int8":
        scale = np.where(largest < SMALLEST, np.float32(0), _round_up(largest / np.float32(127)))
        steps = weights / np.where(scale > 0, scale, 1)[:, None]
        return {"weights": np.rint(steps).astype(np.int8), "scale": scale}
    if dtype == "float16" and largest.max(initial=0) > FLOAT16_MAX:
        raise ValueError(f"weights up to {largest.max():g} do not fit float16: use int8 or float32.")
    return {"weights": weights.astype(dtype)}


def dequantise(arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the float32 weights that `quantise` was given, to its precision."""
    weights = arrays["weights"].astype(np.float32, copy=False)
    return weights * arrays["scale"][:, None] if "scale" in arrays else weights


def _round_up(positive: np.ndarray) -> np.ndarray:
    """Round to 16 significant bits, upwards; the bits of positive floats are ordered as their values."""
    bits = positive.astype(np.float32).view(np.uint32)
    return ((bits + np.uint32(0xFF)) & np.uint32(0xFFFFFF00)).view(np.float32)
