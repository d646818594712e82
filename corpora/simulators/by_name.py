"""Simulated sentences with candidate meanings, by name, written as JSONL."""

from __future__ import annotations

from pathlib import Path

from corpora.bags import Bag
from corpora.simulators.child_world import simulate_child_world
from corpora.simulators.house import simulate_house
from corpora.simulators.sportscast import simulate_sportscast
from structsvm.files import atomic_write, check_output

WORLDS = {"house": simulate_house, "child-world": simulate_child_world}
NAMES = (*WORLDS, "sportscast")


def simulate(
    what: str, n: int, output: str | Path = "-", *, level: int | None = None, seed: int = 0
) -> list[Bag]:
    """Write n sentences of a simulated world, and return them."""
    if what not in NAMES:
        raise ValueError(f"simulator must be one of {', '.join(NAMES)}, got {what!r}")
    check_output(output)
    if what in WORLDS:
        bags = WORLDS[what](n, level=1 if level is None else level, seed=seed)
    elif level is not None:
        raise ValueError("level has no effect on a sportscast; leave it out")
    else:
        bags = simulate_sportscast(n, seed=seed)
    with atomic_write(output) as file:
        for bag in bags:
            file.write(bag.to_jsonl().encode())
    return bags
