from structsvm._linear_dual import LinearDual
from structsvm._oracle import Oracle

class MeanOracle(Oracle):
    inner: Oracle
    n_stored: int

    def __init__(self, inner: Oracle) -> None: ...

class OneSlackDual(LinearDual): ...
