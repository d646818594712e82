"""Matching sentences that are also all there is to learn from, each by a parser that has not learned it.

A parser that has learned a sentence with its candidates finds one of them in it too easily, also where none
is meant. So the sentences are dealt into parts, and each part is matched by a parser fitted to the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from semparse.meaning import MR


class Match(NamedTuple):
    """The candidate that a sentence means by its words, and how often its relation is meant at all."""

    mr: MR
    salience: float


def matched_apart(
    fitted: Callable[[list[int]], Callable[[int], Match | None]], n: int, parts: int, seed: Any
) -> list[Match | None]:
    """The matches of n sentences: `fitted` learns from those of some numbers, and then matches others."""
    part_of = np.random.default_rng(seed).permutation(n) % parts
    found: list[Match | None] = [None] * n
    for part in range(parts):
        match = fitted(np.flatnonzero(part_of != part).tolist())
        for i in np.flatnonzero(part_of == part).tolist():
            found[i] = match(i)
    return found
