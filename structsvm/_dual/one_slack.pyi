from structsvm._dual.linear import LinearDual
from structsvm._dual.oracle import Oracle

class MeanOracle(Oracle):
    inner: Oracle
    n_stored: int

    def __init__(self, inner: Oracle) -> None: ...

class OneSlackDual(LinearDual): ...
