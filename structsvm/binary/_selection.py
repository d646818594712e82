"""Which example LASVM takes next: the criteria of section 4.3 of the thesis, by randomized search."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from structsvm.threads import in_slices

SELECTIONS = ("random", "gradient", "active", "autoactive")
SEEDS = 5  # examples of each class to begin with
ENOUGH = 5  # autoactive stops sampling when as many lie within the margin,
MOST = 100  # or when it has seen as many


def chosen(
    machine: Any, labels: np.ndarray, rng: np.random.Generator, *, kind: str, sample: int, most: int
) -> Iterator[np.ndarray]:
    """Examples one by one, each chosen when the machine has learned the one before; at most `most`."""
    order = rng.permutation(len(labels))
    seeds = np.concatenate([order[labels[order] == y][:SEEDS] for y in (1, -1)])
    pool = Pool(np.setdiff1d(order, seeds), rng)
    yield seeds[:most]
    for _ in range(most - len(seeds)):
        best = pick(machine, labels, pool, kind, sample)
        if best is None:
            return
        yield np.array([pool.take(best)])


class Pool:
    """Examples not yet taken: those `near`, which are searched, and the rest."""

    def __init__(self, slots: np.ndarray, rng: np.random.Generator) -> None:
        self.near, self.far, self.rng = slots, slots[:0], rng

    def draw(self, n: int) -> np.ndarray:
        """Positions of n examples, with luck different ones."""
        if n >= len(self.near):
            return np.arange(len(self.near))
        return self.rng.integers(len(self.near), size=n)

    def take(self, position: int) -> int:
        slot = self.near[position]
        self.near[position] = self.near[-1]
        self.near = self.near[:-1]
        return int(slot)

    def narrow(self, machine: Any) -> bool:
        """Look at all that is left, and search only what lies within the margin; whether anything does."""
        everything = np.concatenate([self.near, self.far])
        parts = [np.abs(values(machine, part)) for part in in_slices(everything, 512)]
        inside = np.concatenate([*parts, np.zeros(0)]) < 1 + machine.delta / 2
        self.near, self.far = everything[inside], everything[~inside]
        return bool(len(self.near))


def pick(machine: Any, labels: np.ndarray, pool: Pool, kind: str, sample: int) -> int | None:
    """The position in the pool of the example to take, or None to stop."""
    if kind == "gradient":
        if not len(pool.near):
            return None
        drawn = pool.draw(sample)
        return int(drawn[np.argmin(labels[pool.near[drawn]] * values(machine, pool.near[drawn]))])
    for _ in range(2):
        drawn, distance = auto(machine, pool) if kind == "autoactive" else plain(machine, pool, sample)
        if len(drawn) and distance.min() < 1 + machine.delta / 2:
            return int(drawn[np.argmin(distance)])
        if not pool.narrow(machine):
            return None
    return int(drawn[np.argmin(distance)]) if len(drawn) else None


def plain(machine: Any, pool: Pool, sample: int) -> tuple[np.ndarray, np.ndarray]:
    """A sample and its distances |f(x)|."""
    drawn = pool.draw(sample)
    return drawn, np.abs(values(machine, pool.near[drawn]))


def auto(machine: Any, pool: Pool) -> tuple[np.ndarray, np.ndarray]:
    """The same, of as many as it takes to find five within the margin."""
    drawn, distance, found = np.zeros(0, np.intp), np.zeros(0), 0
    while found < ENOUGH and len(drawn) < min(MOST, len(pool.near)):
        more, far = plain(machine, pool, ENOUGH - found)  # never more than one by one would draw
        drawn, distance = np.concatenate([drawn, more]), np.concatenate([distance, far])
        found = int(np.sum(distance < 1 + machine.delta / 2))
    return drawn, distance


def values(machine: Any, slots: np.ndarray) -> np.ndarray:
    """f(x) of examples of the batch."""
    inputs = machine.rows.inputs
    machine.rows.count(len(slots) * machine.rows.n)
    rows, norms = inputs.batch[inputs.offset + slots], inputs.norms[inputs.offset + slots]
    return inputs.with_support(rows, norms) @ machine.coefficients + machine.bias
