from collections.abc import Sequence

import numpy as np

class Labels:
    n_templates: int
    n_labels: int
    stride: int
    n_rows: int

    def __init__(
        self,
        templates: Sequence[Sequence[tuple[int, int]]],
        roots: np.ndarray,
        *,
        learning: bool = False,
        seed: int = 0,
    ) -> None: ...
    def epoch(
        self, attributes: np.ndarray, ptr: np.ndarray, heads: np.ndarray, labels: np.ndarray
    ) -> float: ...
    @property
    def tags(self) -> np.ndarray: ...
    def averaged(self, tags: np.ndarray) -> np.ndarray: ...
    def fill(self, tags: np.ndarray, ptr: np.ndarray, places: np.ndarray, values: np.ndarray) -> None: ...
    def label(
        self,
        attributes: np.ndarray,
        ptr: np.ndarray,
        heads: np.ndarray,
        labels: np.ndarray,
        first: int,
        last: int,
    ) -> None: ...
    def explain(
        self, attributes: np.ndarray, heads: np.ndarray
    ) -> list[tuple[int, tuple[float, np.ndarray, list[int], list[int]] | None]]: ...
