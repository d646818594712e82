from typing import Any

import numpy as np

from structsvm.problems.sequence._sentences import SequenceOracle

class ExactOracle(SequenceOracle):
    def __init__(
        self,
        problem: Any,
        n_labels: int,
        stride: int,
        loss: np.ndarray,
        barred: np.ndarray | None,
        barred_end: np.ndarray | None,
    ) -> None: ...

class GreedyOracle(SequenceOracle):
    def __init__(
        self, problem: Any, n_labels: int, stride: int, loss: np.ndarray, order: int, n_parts: int
    ) -> None: ...
