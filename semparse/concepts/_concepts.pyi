import numpy as np

ORDERS: dict[str, int]

class Network:
    arrays: dict[str, np.ndarray]
    def __init__(self, arrays: dict[str, np.ndarray], longest: int, order: str) -> None: ...
    def train(
        self,
        words: np.ndarray,
        starts: np.ndarray,
        worlds: np.ndarray,
        truth: np.ndarray,
        visits: np.ndarray,
        weak: bool,
        rate: float,
    ) -> int: ...
    def predict(self, words: np.ndarray, starts: np.ndarray, worlds: np.ndarray, out: np.ndarray) -> None: ...
