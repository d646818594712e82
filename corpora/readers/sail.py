"""Reader of SAIL: instructions through virtual worlds, with the traces of people who followed them.

A world is a grid of places. Some contain an item, and the paths between them have a floor and pictures on
their walls. `World.execute` follows a plan, which is a meaning of this language:

    turn(left)  turn(right)  turn(back)     turn on the spot
    face(X)                                 turn as little as possible until X is ahead
    walk(2)                                 walk that many steps
    walk_to(X)                              walk until X is reached, at least one step
    go_to(X)                                face the direction in which walk_to(X) is possible, then walk
    then(plan, plan)                        one plan after the other
    stay                                    do nothing: the sentence describes the place, or repeats a plan

X is an item, a floor, pictures, `wall`, `path` or `junction`; or at_left(X), at_right(X) or at_back(X).
"""

from __future__ import annotations

import os
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path
from typing import Any, NamedTuple

from corpora.registry import find
from structsvm.files import DataError

MAPS = ("grid", "jelly", "l")
STEPS = {0: (0, -1), 90: (1, 0), 180: (0, 1), 270: (-1, 0)}
TURNS = {"left": -90, "right": 90, "back": 180}
SIDES = {"at_left": -90, "at_right": 90, "at_back": 180}
LEAST_TURNS = (0, -90, 90, 180)
MOST_PLANS = 24  # of an instruction, the simplest first
_POSE = r"\((-?\d+), ?(-?\d+), ?(-?\d+)\)"
_TRACE = re.compile(rf"((?:[A-Z]+{_POSE};)*){_POSE}")
_ACTION = re.compile(rf"([A-Z]+){_POSE};")


THINGS = (
    "wall", "path", "junction", "barstool", "chair", "easel", "hatrack", "lamp", "sofa", "blue", "brick",
    "concrete", "flower", "grass", "gravel", "wood", "yellow", "butterfly", "fish", "tower",
)  # fmt: skip
PLANS = {"turn": "turn", "face": "sight", "walk": "steps", "walk_to": "sight", "go_to": "sight"}
SCHEMA: dict[str, Any] = {
    "relations": {
        **{name: {"slots": [kind]} for name, kind in PLANS.items()},
        **{name: {"slots": ["thing"]} for name in SIDES},
        "then": {"slots": ["first", "rest"]}, "stay": {"slots": []},
    },
    "types": {
        "turn": [*TURNS], "sight": [*THINGS, *SIDES], "thing": [*THINGS], "steps": [*map(str, range(1, 10))],
        "first": [*PLANS], "rest": [*PLANS, "then"],
    },
    "open": {"steps": r"\d+"},
}  # fmt: skip


class Impossible(ValueError):
    """A plan cannot be followed from a pose."""


class Pose(NamedTuple):
    x: int
    y: int
    angle: int

    def turned(self, by: int) -> Pose:
        return Pose(self.x, self.y, (self.angle + by) % 360)


@dataclass(frozen=True)
class Instruction:
    """A sentence, the pose of its follower at its beginning and end, and the actions in between."""

    id: str
    map: str
    text: str
    start: Pose
    actions: tuple[str, ...]
    end: Pose


class World:
    """A map: items by place, and the floor and the pictures of each path, by pose at its beginning."""

    def __init__(self, items: dict[tuple[int, int], str], paths: dict[Pose, tuple[str, str]]) -> None:
        self.items, self.paths = items, paths
        self._known: dict[tuple[Pose, bool], frozenset[str]] = {}

    def ahead(self, pose: Pose) -> Pose | None:
        """The pose after one step, or None at a wall."""
        dx, dy = STEPS[pose.angle]
        return Pose(pose.x + dx, pose.y + dy, pose.angle) if pose in self.paths else None

    def seen(self, pose: Pose, *, arrived: bool) -> frozenset[str]:
        """Return the facts about a pose that count for `face`, or for `walk_to` (arrived)."""
        if (pose, arrived) not in self._known:
            found = set(self._here(pose) if arrived else self._view(pose))
            for side, by in SIDES.items():
                found |= {f"{side}({what})" for what in self._view(pose.turned(by))}
            self._known[pose, arrived] = frozenset(found)
        return self._known[pose, arrived]

    def _view(self, pose: Pose) -> Iterator[str]:
        """Path or wall, floor and pictures of the path ahead, and the items along it."""
        yield from ("path", *self.paths[pose]) if pose in self.paths else ("wall",)
        place = pose
        while after := self.ahead(place):
            place = after
            if place[:2] in self.items:
                yield self.items[place[:2]]

    def _here(self, pose: Pose) -> Iterator[str]:
        """The item of a place, the wall ahead, and the paths to the sides with their floors."""
        if pose[:2] in self.items:
            yield self.items[pose[:2]]
        if pose not in self.paths:
            yield "wall"
        for by in (-90, 90):
            if (side := pose.turned(by)) in self.paths:
                yield from ("junction", *self.paths[side])

    def execute(self, plan: Any, start: Pose) -> Pose:
        """The pose after a plan (an MR); raise Impossible if it cannot be followed."""
        name, args = plan.rel, plan.args
        if name == "then" and len(args) == 2:
            return self.execute(args[1], self.execute(args[0], start))
        if name == "stay" and not args:
            return start
        what = str(args[0]) if args else ""
        if name == "turn" and what in TURNS:
            return start.turned(TURNS[what])
        if name == "face":
            turned = (start.turned(by) for by in LEAST_TURNS)
            found = next((pose for pose in turned if what in self.seen(pose, arrived=False)), None)
        elif name == "walk" and what.isdigit():
            found = start
            for _ in range(min(int(what), len(self.paths))):
                found = found and self.ahead(found)
        elif name == "walk_to":
            found = self._reached(start, what)
        elif name == "go_to":
            ends = (self._reached(start.turned(by), what) for by in LEAST_TURNS)
            found = next(filter(None, ends), None)
        else:
            raise Impossible(f"{plan} is not a plan")
        if found is None:
            raise Impossible(f"{plan} is impossible at {start}")
        return found

    def _reached(self, pose: Pose, what: str) -> Pose | None:
        place = self.ahead(pose)
        while place and what not in self.seen(place, arrived=True):
            place = self.ahead(place)
        return place

    def plans(self, instruction: Instruction) -> list[str]:
        """Plans that lead to the end of an instruction, the simplest first.

        There are none if the actions do not lead to the end (one sentence).
        """
        if not instruction.actions:
            return ["stay"]
        pose, parts = instruction.start, []
        for run in _runs(instruction.actions):
            end = _after(self, run, pose)
            if end != pose:
                parts.append(list(self._ways(run, pose, end)))
            pose = end
        if pose != instruction.end:
            return []
        if len(parts) > 1:
            parts = [its[: max(1, round(MOST_PLANS ** (2 / len(parts))))] for its in parts]
        ranked = sorted(product(*map(enumerate, parts)), key=lambda way: sum(rank for rank, _ in way))
        plans = [_sequence([step for _, step in way]) for way in ranked if way]
        end_only = [
            f"go_to({what})" for what in sorted(self.seen(pose, arrived=True))
            if len(parts) == 2 and self._goes(instruction.start, what, pose)
        ]  # fmt: skip
        return list(dict.fromkeys(islice([*end_only[:10], *plans], MOST_PLANS)))

    def _goes(self, start: Pose, what: str, end: Pose) -> bool:
        ends = (self._reached(start.turned(by), what) for by in LEAST_TURNS)
        return next(filter(None, ends), None) == end

    def _ways(self, run: Sequence[str], start: Pose, end: Pose) -> Iterator[str]:
        """Steps that lead from one pose to another by turning or by walking."""
        if run[0] == "FORWARD":
            yield f"walk({len(run)})"
            for what in sorted(self.seen(end, arrived=True), key=_plainness):
                if self._reached(start, what) == end:
                    yield f"walk_to({what})"
            return
        by = (end.angle - start.angle) % 360
        yield from (f"turn({name})" for name, angle in TURNS.items() if angle % 360 == by)
        for what in sorted(self.seen(end, arrived=False), key=_plainness):
            turned = (start.turned(angle) for angle in LEAST_TURNS)
            if next(pose for pose in turned if what in self.seen(pose, arrived=False)) == end:
                yield f"face({what})"


def _plainness(what: str) -> tuple[bool, str]:
    return "(" in what, what


def _runs(actions: Sequence[str]) -> Iterator[list[str]]:
    """Turns together, and steps together."""
    run: list[str] = []
    for action in actions:
        if run and (action == "FORWARD") != (run[-1] == "FORWARD"):
            yield run
            run = []
        run.append(action)
    if run:
        yield run


def _after(world: World, actions: Sequence[str], pose: Pose) -> Pose:
    for action in actions:
        ahead = world.ahead(pose) if action == "FORWARD" else pose.turned(TURNS[action.lower()])
        pose = ahead or pose
    return pose


def _sequence(steps: Sequence[str]) -> str:
    return steps[0] if len(steps) == 1 else f"then({steps[0]}, {_sequence(steps[1:])})"


def load_sail(directory: str | os.PathLike[str] | None = None) -> tuple[dict[str, World], list[Instruction]]:
    """The worlds by name, and all sentences of the three maps."""
    folder = find("sail", directory)
    worlds = {name: read_world(folder / "maps" / f"map-{name}.xml") for name in MAPS}
    found = [one for name in MAPS for one in read_traces(folder / "traces" / f"{name}.settrc", name)]
    return worlds, found


def read_world(path: str | os.PathLike[str]) -> World:
    """A map in XML: nodes with items, and edges with floors and walls."""
    try:
        root = ElementTree.fromstring(Path(path).read_bytes())
        items = {(int(n.attrib["x"]), int(n.attrib["y"])): n.attrib["item"] for n in root.iter("node")}
        paths: dict[Pose, tuple[str, str]] = {}
        for edge in root.iter("edge"):
            ends = [tuple(map(int, edge.attrib[name].split(","))) for name in ("node1", "node2")]
            for (x, y), other in (ends, ends[::-1]):
                step = (other[0] - x, other[1] - y)
                angle = next(angle for angle, way in STEPS.items() if way == step)
                paths[Pose(x, y, angle)] = (edge.attrib["floor"], edge.attrib["wall"])
    except (ElementTree.ParseError, KeyError, ValueError, StopIteration) as error:
        raise DataError(f"is not a map of SAIL ({error!r}); download the file again", str(path)) from None
    return World({place: item for place, item in items.items() if item}, paths)


def read_traces(path: str | os.PathLike[str], name: str) -> Iterator[Instruction]:
    """Entries separated by blank lines: an id, properties, then sentences and their traces in turn."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    entry: list[tuple[int, str]] = []
    for number, line in enumerate([*lines, ""], 1):
        if line.strip():
            entry.append((number, line.strip()))
            continue
        for k in range(2, len(entry) - 1, 2):
            trace = _TRACE.fullmatch(entry[k + 1][1])
            if trace is None:
                raise DataError("is not a trace; download the file again", str(path), entry[k + 1][0])
            actions = [
                (action, Pose(int(x), int(y), int(a))) for action, x, y, a in _ACTION.findall(trace[1])
            ]
            end = Pose(*map(int, trace.groups()[-3:]))
            start = actions[0][1] if actions else end
            names = tuple(action for action, _ in actions)
            yield Instruction(f"{entry[0][1]} {k // 2}", name, entry[k][1], start, names, end)
        entry = []
