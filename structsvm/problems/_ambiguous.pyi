from typing import Any

from structsvm.problems._inputs import SparseInputs

class AmbiguousOracle(SparseInputs):
    def __init__(self, problem: Any, n_inputs: int, n_classes: int) -> None: ...
