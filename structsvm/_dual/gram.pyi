import numpy as np

from structsvm._dual.linear import LinearDual
from structsvm._dual.oracle import Oracle

class GramDual(LinearDual):
    n_kernels: int

    def __init__(  # type: ignore[override]
        self,
        oracle: Oracle,
        gram: np.ndarray,
        *,
        offset: int,
        stride: int,
        eta: float,
        C: float,
        tau: float,
        kappa: float,
        seed: int,
    ) -> None: ...
    def coefficients(self) -> np.ndarray: ...
