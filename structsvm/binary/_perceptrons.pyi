from structsvm.binary._machine import Machine
from structsvm.kernels.functions import Inputs

class OnlinePerceptron(Machine):
    def __init__(
        self,
        inputs: Inputs,
        *,
        margin: float,
        aggressive: bool,
        budget: int,
        cache_mb: float,
        seed: int,
        average: bool = False,
    ) -> None: ...
