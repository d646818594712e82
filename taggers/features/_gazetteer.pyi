from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from taggers.features._table import KeyTable

class Gazetteer:
    table: KeyTable
    ends: np.ndarray
    folded: bool

    def __init__(
        self, keys: npt.ArrayLike = (), ends: npt.ArrayLike = (), *, folded: bool = False
    ) -> None: ...
    @staticmethod
    def from_text(text: bytes, *, folded: bool = False, name: str = "") -> Gazetteer: ...
    def __len__(self) -> int: ...
    def matches(self, words: Sequence[str]) -> list[tuple[str, str] | None]: ...
