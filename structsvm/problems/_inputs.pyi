from typing import Any

import numpy as np

from structsvm._dual.oracle import Oracle

class SparseInputs(Oracle):
    problem: Any
    width: int

    def __init__(self, problem: Any, n_inputs: int, width: int) -> None: ...
    @property
    def n_stored(self) -> int: ...
    def n_targets(self) -> int: ...
    def check_targets(self, pointers: np.ndarray, targets: np.ndarray) -> None: ...
