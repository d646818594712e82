"""A bound on the memory of a loaded model: a fixed allowance and a multiple of the size of its file.

Some tables grow with the square of the number of labels, and a file can repeat a long row of weights at two
bytes each time, so a small file can ask for gigabytes. The sum for all parts of a model counts. If it exceeds
the bound, `save` pads the file with zeros until it meets the bound. A file that exceeds the bound is rejected
before anything is allocated.
"""

from __future__ import annotations

import numpy as np

ALLOWANCE = 128 << 20
MULTIPLE = 100
NAME = "padding"


def padding(arrays: dict[str, np.ndarray], needed: int) -> dict[str, np.ndarray]:
    """The array of zeros that a file with these arrays needs to meet the bound, if any."""
    size = sum(array.nbytes for array in arrays.values())
    missing = -(-(needed - ALLOWANCE) // MULTIPLE) - size
    return {NAME: np.zeros(missing, np.uint8)} if missing > 0 else {}


def check_budget(arrays: dict[str, np.ndarray], needed: int) -> None:
    """Reject a model that needs more memory than its file may ask for."""
    if padding(arrays, needed):
        raise ValueError(f"it asks for {needed >> 20:,} MB, over {MULTIPLE} times the size of the file")
