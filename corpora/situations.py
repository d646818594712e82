"""What the simulators make: sentences, each beside the meanings it may have, one of them right or none."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

NO_SYMBOL = "-"


@dataclass(frozen=True)
class Situation:
    """A sentence and its candidate meanings, as text; `symbols` tells, word by word, what the words name."""

    tokens: tuple[str, ...]
    candidates: tuple[str, ...]
    gold: tuple[str, ...]
    symbols: tuple[str, ...] = ()
    time: int | None = None

    @property
    def text(self) -> str:
        return " ".join(self.tokens)

    def to_json(self) -> dict[str, Any]:
        """The object of a line of JSONL; what the simulator does not know is left out."""
        found = {"text": self.text, "candidates": list(self.candidates), "gold": list(self.gold)}
        symbols = {"symbols": list(self.symbols)} if self.symbols else {}
        time = {} if self.time is None else {"time": self.time}
        return found | symbols | time


def jsonl(situations: Iterable[Situation]) -> Iterator[str]:
    """Lines of JSONL."""
    for situation in situations:
        yield json.dumps(situation.to_json(), ensure_ascii=False) + "\n"


def meaning(rel: str, args: Iterable[str]) -> str:
    """The text of a relation and its arguments."""
    inside = ", ".join(args)
    return f"{rel}({inside})" if inside else rel
