from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

CHANNELS: tuple[str, ...]

class Sentence:
    n: int
    n_priors: int
    def __init__(
        self,
        n: int,
        channels: Mapping[str, Sequence[Sequence[int]]],
        lexical: Sequence[tuple[Any, ...]],
        priors: Sequence[tuple[int, int, float]],
    ) -> None: ...

class Layout:
    def __init__(
        self,
        nest_row: Sequence[int],
        nest_relation: Sequence[int],
        nest_constant: Sequence[int],
        state_row: Sequence[int],
        bias: int,
        wordless: int,
        allowed: np.ndarray,
        meaning: Sequence[int],
    ) -> None: ...

class Scores:
    def __init__(
        self,
        sentence: Sentence,
        layout: Layout,
        n_relations: int,
        n_roles: int,
        relations: np.ndarray,
        roles: np.ndarray,
        constants: np.ndarray,
        unused: np.ndarray,
        nesting: np.ndarray,
    ) -> None: ...
