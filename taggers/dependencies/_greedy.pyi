from collections.abc import Sequence

import numpy as np

from taggers.dependencies._lines import Lines

class Arcs:
    lines: Lines

    def __init__(
        self, templates: Sequence[Sequence[tuple[int, int]]], contexts: Sequence[int], seed: int = 0
    ) -> None: ...
    def epoch(self, attributes: np.ndarray, ptr: np.ndarray, heads: np.ndarray, explore: float) -> float: ...
    def averaged(self, tags: np.ndarray) -> np.ndarray: ...
    def parse(
        self, attributes: np.ndarray, ptr: np.ndarray, heads: np.ndarray, first: int, last: int
    ) -> None: ...
    def explain(
        self, attributes: np.ndarray
    ) -> list[tuple[int, tuple[float, np.ndarray, list[int], list[int]] | None]]: ...
