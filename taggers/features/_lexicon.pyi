from collections.abc import Sequence

from taggers.features.knowledge import Knowledge

class Lexicon:
    names: tuple[str, ...]
    limit: int

    def __init__(
        self, names: Sequence[str], *, limit: int = 1_000_000, knowledge: Knowledge | None = None
    ) -> None: ...
    def __len__(self) -> int: ...
    def hashes(self, text: str) -> list[int]: ...

def hash_string(text: str) -> int: ...
