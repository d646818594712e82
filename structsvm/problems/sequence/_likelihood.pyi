import numpy as np

from structsvm.problems.sequence.problem import SequenceLabels, Sequences

class Likelihood:
    n_labels: int
    n_cells: int
    X: Sequences
    y: SequenceLabels

    def __init__(
        self, X: Sequences, y: SequenceLabels, n_labels: int, ptr: np.ndarray, labels: np.ndarray
    ) -> None: ...
    @property
    def n_weights(self) -> int: ...
    def gradient(self, w: np.ndarray) -> tuple[float, np.ndarray]: ...
    def curvature(self, w: np.ndarray) -> np.ndarray: ...
    def steps(
        self, w: np.ndarray, order: np.ndarray, rate: float, decay: float, number: float, fixed: np.ndarray
    ) -> float: ...
