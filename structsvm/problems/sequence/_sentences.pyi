from typing import Any

import numpy as np

from structsvm._dual.oracle import Oracle

class SequenceOracle(Oracle):
    problem: Any
    n_labels: int
    stride: int
    offset: int
    n_rows: int
    n_stored: int

    def __init__(self, problem: Any, n_labels: int, stride: int, history: int, loss: np.ndarray) -> None: ...
