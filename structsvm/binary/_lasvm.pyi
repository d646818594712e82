from structsvm.binary._machine import Machine
from structsvm.kernels.functions import Inputs

class LaSVM(Machine):
    dual: float

    def __init__(
        self, inputs: Inputs, *, tau: float, delta_max: float, cache_mb: float, seed: int
    ) -> None: ...
    def finish(self, limit: int) -> bool: ...
    @property
    def delta(self) -> float: ...
