from structsvm._dual.oracle import Oracle
from structsvm.problems.dependency.problem import DependencyProblem

class DependencyOracle(Oracle):
    problem: DependencyProblem

    def __init__(self, problem: DependencyProblem) -> None: ...
