"""A bound on the memory of a loaded model: a fixed allowance and a multiple of the size of its file.

Some tables grow with the square of the labels, and a file of a few names can ask for gigabytes of them. A
model whose tables exceed the bound is saved with so many zeros that it keeps it; a file that does not is
rejected before anything is allocated.
"""

from __future__ import annotations

import numpy as np

ALLOWANCE = 128 << 20
MULTIPLE = 100
NAME = "padding"


def padding(arrays: dict[str, np.ndarray], needed: int) -> dict[str, np.ndarray]:
    """The array that a file with these arrays lacks for a model that needs so many bytes, if any."""
    size = sum(array.nbytes for array in arrays.values())
    missing = -(-(needed - ALLOWANCE) // MULTIPLE) - size
    return {NAME: np.zeros(missing, np.uint8)} if missing > 0 else {}


def check_budget(arrays: dict[str, np.ndarray], needed: int) -> None:
    """Reject a model that needs more memory than its file may ask for."""
    if padding(arrays, needed):
        raise ValueError(f"it asks for {needed >> 20:,} MB, over {MULTIPLE} times the size of the file")
