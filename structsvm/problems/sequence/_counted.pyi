import numpy as np

from structsvm.problems.sequence._oracles import ExactOracle
from structsvm.problems.sequence.problem import SequenceProblem

class CountedOracle(ExactOracle):
    def __init__(
        self,
        problem: SequenceProblem,
        n_labels: int,
        stride: int,
        barred: np.ndarray | None,
        barred_end: np.ndarray | None,
        limit: int,
    ) -> None: ...
