"""How often each relation is meant where it could be: of much that happens, people hardly ever speak."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from semparse import checks


class Salience:
    """Counts of bags, by relation."""

    def __init__(self) -> None:
        self.possible: Counter[str] = Counter()  # with a candidate of this relation that words can say
        self.meant: Counter[str] = Counter()  # of these, those where such a candidate is the best parse

    def clear(self) -> None:
        self.possible.clear()
        self.meant.clear()

    def see(self, sayable: Iterable[str], meant: str | None) -> None:
        """One bag: the relations that words can say, and the one that they do."""
        self.possible.update(set(sayable))
        if meant is not None:
            self.meant[meant] += 1

    def of(self, rel: str) -> float:
        """Of the bags where a relation could be meant, the share where it is; 1 where nothing is known."""
        return self.meant[rel] / self.possible[rel] if self.possible[rel] else 1.0

    def state(self) -> dict[str, Any]:
        return {"possible": dict(self.possible), "meant": dict(self.meant)}

    def set_state(self, meta: dict[str, Any]) -> None:
        self.possible = Counter(checks.counts(meta["possible"], "possible"))
        self.meant = Counter(checks.counts(meta["meant"], "meant"))
