from collections.abc import Sequence
from typing import Any

class Lexicon:
    names: tuple[str, ...]
    limit: int

    def __init__(
        self, names: Sequence[str], *, limit: int = 1_000_000, knowledge: Any = None
    ) -> None: ...
    def __len__(self) -> int: ...
    def hashes(self, text: str) -> list[int]: ...

def hash_string(text: str) -> int: ...
