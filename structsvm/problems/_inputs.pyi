import numpy as np

from structsvm._dual.oracle import Oracle
from structsvm.problem import Problem

class SparseInputs(Oracle):
    problem: Problem
    width: int

    def __init__(self, problem: Problem, n_inputs: int, width: int) -> None: ...
    @property
    def n_stored(self) -> int: ...
    def n_targets(self) -> int: ...
    def check_targets(self, pointers: np.ndarray, targets: np.ndarray) -> None: ...
