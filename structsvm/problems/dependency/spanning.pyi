import numpy as np
from numpy.typing import ArrayLike

class Trees:
    def best(self, scores: ArrayLike, projective: bool = True) -> np.ndarray: ...
