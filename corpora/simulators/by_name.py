"""Simulated sentences with candidate meanings, by name, written as JSONL."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from corpora.bags import Bag
from corpora.simulators.child_world import simulate_child_world
from corpora.simulators.home import simulate_home
from corpora.simulators.house import simulate_house
from corpora.simulators.sportscast import simulate_sportscast
from structsvm.files import atomic_write, check_output

SIMULATORS: dict[str, Any] = {
    "home": simulate_home,
    "house": simulate_house,
    "child-world": simulate_child_world,
    "sportscast": simulate_sportscast,
}


def simulate(what: str, n: int, output: str | Path = "-", *, seed: int = 0, **options: Any) -> list[Bag]:
    """Write n sentences of a simulated world, and return them; options are those of its function."""
    if what not in SIMULATORS:
        raise ValueError(f"simulator must be one of {', '.join(SIMULATORS)}, got {what!r}")
    check_output(output)
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if name not in inspect.signature(SIMULATORS[what]).parameters:
            raise ValueError(f"{name} has no effect on the simulator {what}; leave it out")
    bags: list[Bag] = SIMULATORS[what](n, seed=seed, **given)
    with atomic_write(output) as file:
        for bag in bags:
            file.write(bag.to_jsonl().encode())
    return bags
