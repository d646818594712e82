import numpy as np

HINGE: int
SQUARED_HINGE: int

def run(
    data: np.ndarray,
    indices: np.ndarray,
    indptr: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    order: np.ndarray,
    w: np.ndarray,
    B: np.ndarray,
    scratch: np.ndarray,
    state: np.ndarray,
    *,
    loss: int,
    lam: float,
    t0: float,
    skip: int,
    second_order: bool,
    constant: bool,
) -> None: ...
