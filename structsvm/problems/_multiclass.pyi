from typing import Any

import numpy as np

from structsvm.problems._inputs import SparseInputs

class MulticlassOracle(SparseInputs):
    def __init__(
        self, problem: Any, n_inputs: int, loss: np.ndarray, output_features: np.ndarray
    ) -> None: ...
