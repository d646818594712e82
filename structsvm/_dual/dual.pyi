import numpy as np

class Dual:
    C: float
    tau: float
    kappa: float
    squared: bool
    dual: float
    cost: float
    block: int
    n_argmax: int
    n_steps: int
    n_patterns: int
    n_outputs: int

    @property
    def n_vectors(self) -> int: ...
    def prepare(self, slots: np.ndarray) -> None: ...
    def visit(self, slots: np.ndarray) -> None: ...
    def primal_bound(self) -> float: ...

def lengthened(array: np.ndarray, n: int) -> np.ndarray: ...
def shortened(array: np.ndarray, row_of: np.ndarray, stride: int) -> np.ndarray: ...
