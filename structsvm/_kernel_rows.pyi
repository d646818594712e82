from typing import Any

import numpy as np

from structsvm.kernels import Inputs

class KernelRows:
    inputs: Inputs
    n_kernels: int
    n: int
    capacity: int
    n_rows: int

    def __init__(self, inputs: Inputs, cache_mb: float) -> None: ...
    def start(self, n_slots: int) -> None: ...
    def begin_block(self, slots: Any) -> None: ...
    def restore(self, n: int, diagonal: np.ndarray) -> None: ...
    def count(self, n: int) -> None: ...

def longer(array: Any, n: int) -> np.ndarray: ...
