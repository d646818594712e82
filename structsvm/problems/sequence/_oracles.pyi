import numpy as np

from structsvm.problems.sequence._sentences import SequenceOracle
from structsvm.problems.sequence.problem import SequenceProblem

class ExactOracle(SequenceOracle):
    def __init__(
        self,
        problem: SequenceProblem,
        n_labels: int,
        stride: int,
        loss: np.ndarray,
        barred: np.ndarray | None,
        barred_end: np.ndarray | None,
    ) -> None: ...

class GreedyOracle(SequenceOracle):
    def __init__(
        self, problem: SequenceProblem, n_labels: int, stride: int, loss: np.ndarray, order: int, n_parts: int
    ) -> None: ...
