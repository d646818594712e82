from structsvm.problem import Problem
from structsvm.problems._inputs import SparseInputs

class AmbiguousOracle(SparseInputs):
    def __init__(self, problem: Problem, n_inputs: int, n_classes: int) -> None: ...
