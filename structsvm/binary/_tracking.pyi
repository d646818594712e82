from structsvm.binary._machine import Machine
from structsvm.kernels.functions import Inputs

class Tracker(Machine):
    dual: float
    process_gain: float
    primals: list[float]

    def __init__(self, inputs: Inputs, *, K: int, process: bool, cache_mb: float, seed: int) -> None: ...
    @property
    def largest_norm(self) -> float: ...
