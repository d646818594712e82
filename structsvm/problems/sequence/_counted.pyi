from typing import Any

import numpy as np

from structsvm.problems.sequence._oracles import ExactOracle

class CountedOracle(ExactOracle):
    def __init__(
        self,
        problem: Any,
        n_labels: int,
        stride: int,
        barred: np.ndarray | None,
        barred_end: np.ndarray | None,
        limit: int,
    ) -> None: ...
