from typing import Self

import numpy as np

class Lines:
    n_used: int

    def __init__(self, n: int = ...) -> None: ...
    def arrays(self) -> tuple[np.ndarray, np.ndarray]: ...
    @classmethod
    def of(cls, tags: np.ndarray, weights: np.ndarray) -> Self: ...
