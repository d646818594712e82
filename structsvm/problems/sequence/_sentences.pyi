import numpy as np

from structsvm._dual.oracle import Oracle
from structsvm.problems.sequence.problem import SequenceProblem

class SequenceOracle(Oracle):
    problem: SequenceProblem
    n_labels: int
    stride: int
    offset: int
    n_rows: int
    n_stored: int

    def __init__(
        self, problem: SequenceProblem, n_labels: int, stride: int, history: int, loss: np.ndarray
    ) -> None: ...
