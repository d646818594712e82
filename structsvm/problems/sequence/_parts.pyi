from structsvm.problems.sequence.label_parts import LabelParts
from structsvm.problems.sequence.problem import SequenceProblem

class PartsOracle:
    def __init__(
        self, problem: SequenceProblem, parts: LabelParts, stride: int, order: int, per_part: float
    ) -> None: ...
