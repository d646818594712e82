from collections.abc import Sequence
from typing import Any

class Units:
    n_states: int
    def __init__(self, units: Sequence[Any], roots: Sequence[int], exact: bool) -> None: ...
