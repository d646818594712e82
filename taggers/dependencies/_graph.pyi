from collections.abc import Sequence

import numpy as np

from taggers.dependencies._lines import Lines

class Graph:
    lines: Lines
    second: bool

    def __init__(
        self, templates: Sequence[Sequence[tuple[int, int]]], punct: int, verb: int, seed: int = 0
    ) -> None: ...
    def epoch(
        self, attributes: np.ndarray, ptr: np.ndarray, guess: np.ndarray, heads: np.ndarray
    ) -> float: ...
    def averaged(self, tags: np.ndarray) -> np.ndarray: ...
    def total(self, attributes: np.ndarray, guess: np.ndarray, heads: Sequence[int]) -> float: ...
    def parse(
        self, attributes: np.ndarray, ptr: np.ndarray, heads: np.ndarray, first: int, last: int
    ) -> None: ...
    def explain(
        self, attributes: np.ndarray, guess: np.ndarray, heads: Sequence[int]
    ) -> list[list[tuple[int, int, np.ndarray, list[int], list[int]]]]: ...
