"""Training states as arrays, and as the contents of pickles: a machine and its support patterns."""

from __future__ import annotations

from typing import Any

import numpy as np

from structsvm.files.codec import Array, Field, Table
from structsvm.machine import Machine, Patterns

PROGRESS = Table(Field("progress", Array(np.int64, 2, low=0), "the seed and the number of complete epochs"))


def arrays(machine: Machine, held: np.ndarray) -> dict[str, np.ndarray]:
    """The state of a machine and its support patterns, without the training set `held`.

    The names are dual.*, what the machine learned; rows.*, the support patterns; and place, their positions
    in the training set, -1 for those of earlier data.
    """
    dual, rows = contents(machine)
    found = {f"dual.{name}": value for name, value in dual.items() if name != "slots"}
    if "slots" not in dual:
        return found
    slots, rows = dual["slots"], {name: value for name, value in rows.items() if value is not None}
    if not all(isinstance(value, np.ndarray) for value in rows.values()):
        raise ValueError("this training state cannot be stored as arrays; pickle the optimizer")
    place = np.full(max(slots.max(initial=-1), held.max(initial=-1)) + 1, -1, np.int64)
    place[held] = np.arange(len(held))
    return {f"rows.{name}": value for name, value in rows.items()} | found | {"place": place[slots]}


def restore(machine: Machine, state: dict[str, np.ndarray], held: np.ndarray) -> None:
    """Load `arrays` into a machine that has learned nothing; held: the slots of the same training set."""
    dual, oracle = _part(state, "dual."), machine.oracle
    if "place" in state:
        known = max(len(dual["weights"]), oracle.n_weights)
        dual["slots"] = _restored_slots(oracle, state, held)
        if oracle.n_weights > known:
            raise ValueError("the training state has features without weights")
    machine.restore(dual)


def read(table: Table, state: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays of a training state that a table lists, checked."""
    try:
        return table.read(state, {})
    except ValueError as error:
        raise ValueError(f"the training state is damaged: {error}") from None


def contents(machine: Machine) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The state of a machine, and its support patterns as arguments of `add_rows`."""
    dual = machine.state()
    return dual, machine.oracle.rows(dual.get("slots", np.empty(0, np.intp)))


def _part(state: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}


def add_rows(oracle: Patterns, rows: dict[str, Any]) -> np.ndarray:
    """Store patterns of `contents`; their shards do not matter to an oracle without shards."""
    known = {name: rows[name] for name in rows if name != "shard" or oracle.n_shards > 1}
    return oracle.add_rows(**known)


def _restored_slots(oracle: Patterns, state: dict[str, np.ndarray], held: np.ndarray) -> np.ndarray:
    """The slots of the support patterns: their positions in the data set; missing ones are stored again."""
    place, rows = state["place"] if len(held) else np.full(len(state["place"]), -1), _part(state, "rows.")
    if len(place) and place.max() >= len(held):
        raise ValueError("the training state belongs to another data set")
    gone = place < 0
    if not gone.any():
        return held[place]
    if (
        "places" in oracle.rows(np.empty(0, np.intp)) and "places" not in rows
    ):  # without them, rows are not checked
        raise ValueError("the training state lacks the places of its patterns")
    slots = add_rows(oracle, rows)
    if len(slots) != len(place):
        raise ValueError("the training state has another number of patterns than of places")
    oracle.discard(slots[~gone])
    slots[~gone] = held[place[~gone]]
    return slots
