import numpy as np

from structsvm._dual.oracle import Oracle
from structsvm.problems.tree.problem import TreeProblem

class TreeOracle(Oracle):
    n_stored: int

    def __init__(self, problem: TreeProblem) -> None: ...
    def parse(self, words: np.ndarray, weights: np.ndarray) -> list[int] | None: ...
