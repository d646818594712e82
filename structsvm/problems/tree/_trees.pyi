from typing import Any

import numpy as np

from structsvm._dual.oracle import Oracle

class TreeOracle(Oracle):
    n_stored: int

    def __init__(self, problem: Any) -> None: ...
    def parse(self, words: np.ndarray, weights: np.ndarray) -> list[int] | None: ...
