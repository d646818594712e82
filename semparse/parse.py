"""The result of a parser: a meaning, its confidence, and the words that it came from."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from semparse.meaning import MR

EMPTY = "-"


@dataclass(frozen=True)
class Parse:
    """A meaning of a sentence, with the words that it came from.

    margin: its score minus that of the second-best meaning. symbols: for each word, the symbol that it stands
    for, or "-". roles: a row for each relation that has a word, outermost first, with REL, A0, A1, ... or "-"
    for each word. unknown: the share of words that training lacks and that name nothing.
    """

    mr: MR
    score: float
    margin: float
    tokens: tuple[str, ...]
    symbols: tuple[str, ...]
    roles: tuple[tuple[str, ...], ...]
    unknown: float = 0.0

    @property
    def lead(self) -> float:
        """The margin less `unknown`, which is compared with the threshold."""
        return self.margin - self.unknown

    def __str__(self) -> str:
        return str(self.mr)

    def words(self, symbol: str) -> list[str]:
        """The words that a symbol came from."""
        return [token for token, found in zip(self.tokens, self.symbols, strict=True) if found == symbol]

    def to_json(self) -> dict[str, Any]:
        """All fields, and `call` if all arguments are named; in it, strings of numbers are numbers."""
        call = self.mr.to_call() if self.mr.args else None
        return {
            "mr": str(self.mr),
            **({"call": call} if call else {}),
            "score": round(self.score, 6),
            "margin": round(self.margin, 6) if math.isfinite(self.margin) else None,
            "unknown": round(self.unknown, 6),
            "tokens": list(self.tokens),
            "symbols": list(self.symbols),
            "roles": [list(row) for row in self.roles],
        }


class Match(NamedTuple):
    """The candidate that a sentence means, and how often its relation is meant in general."""

    mr: MR
    salience: float


@dataclass(frozen=True)
class Node:
    """A relation or a constant of an MR, and the positions of its words."""

    symbol: str
    places: tuple[int, ...]
    children: tuple[Node, ...] = ()
    is_relation: bool = False

    @property
    def value(self) -> MR | str:
        return (
            MR(self.symbol, tuple(child.value for child in self.children))
            if self.is_relation
            else self.symbol
        )

    def nodes(self) -> Iterator[Node]:
        """This node and those below it."""
        yield self
        for child in self.children:
            yield from child.nodes()

    def names_a_word(self) -> bool:
        """Whether this is a constant with a word, or one is below it."""
        return any(child.names_a_word() for child in self.children) if self.is_relation else bool(self.places)

    def parse(self, score: float, tokens: list[str], margin: float, unknown: float = 0.0) -> Parse:
        """This tree as an answer."""
        symbols = [EMPTY] * len(tokens)
        rows: list[tuple[str, ...]] = []
        self._fill(symbols, rows)
        value = self.value
        assert isinstance(value, MR)
        return Parse(value, score, margin, tuple(tokens), tuple(symbols), tuple(rows), unknown)

    def _fill(self, symbols: list[str], rows: list[tuple[str, ...]]) -> None:
        for place in self.places:
            symbols[place] = self.symbol
        if not self.is_relation:
            return
        row = [EMPTY] * len(symbols)
        for k, child in enumerate(self.children):
            for place in child.places:
                if row[place] == EMPTY:
                    row[place] = f"A{k}"
        for place in self.places:
            row[place] = "REL"
        if any(tag != EMPTY for tag in row):
            rows.append(tuple(row))
        for child in self.children:
            child._fill(symbols, rows)
