import numpy as np

from structsvm._dual.linear import LinearDual
from structsvm._dual.oracle import Oracle

Changes = tuple[np.ndarray, np.ndarray]

class LinearShard(LinearDual):
    def __init__(
        self, oracle: Oracle, *, C: float, tau: float, kappa: float, seed: int, sigma: float
    ) -> None: ...
    def changes(self) -> Changes: ...
    def adopt(self, blocks: np.ndarray, values: np.ndarray) -> None: ...

def add_changes(
    w: np.ndarray, changes: list[Changes], part: int = 0, parts: int = 1
) -> tuple[np.ndarray, np.ndarray, float]: ...
