import numpy as np

from structsvm.problem import Problem
from structsvm.problems._inputs import SparseInputs

class MulticlassOracle(SparseInputs):
    def __init__(
        self, problem: Problem, n_inputs: int, loss: np.ndarray, output_features: np.ndarray
    ) -> None: ...
