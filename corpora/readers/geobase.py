"""Answers to the questions of GeoQuery: an executor of FunQL over the facts of Geobase.

    geobase = load_geobase()
    geobase.execute(parse_mr("answer(capital(loc_2(stateid(ohio))))"))

gives `{Thing("city", "columbus", "ohio")}`. An answer is a set of things or of numbers. `execute` raises
Impossible for a meaning that asks for something that the facts cannot say.
"""

from __future__ import annotations

import json
import operator
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any, NamedTuple

from corpora.registry import find
from structsvm.files import DataError

MAJOR = {"city": ("population", 150_000), "river": ("length", 750), "lake": ("area", 5_000)}
COUNTRY = "usa"


class Impossible(ValueError):
    """A meaning has no answer in this database."""


class Thing(NamedTuple):
    """A state, city, river, lake, place or country; `where` is the state of a city or place."""

    kind: str
    name: str
    where: str = ""


Answer = frozenset[Any]
Pairs = dict[Thing, set[Thing]]


class Geobase:
    """The facts, as attributes of things and as relations between things."""

    def __init__(self, facts: dict[str, list[dict[str, Any]]]) -> None:
        self.numbers: dict[str, dict[Thing, float]] = defaultdict(dict)
        self.pairs: dict[str, Pairs] = defaultdict(dict)
        self.things: dict[str, set[Thing]] = defaultdict(set)
        self.abbreviations = {one["abbreviation"]: one["state"] for one in facts["states"]}
        self._add_land(facts)
        self._add_water(facts)
        self._add_places(facts)
        inside = [
            thing for kind in ("state", "city", "river", "lake", "place") for thing in self.things[kind]
        ]
        country = Thing("country", COUNTRY)
        for thing in inside:
            self.pairs["inside"].setdefault(country, set()).add(thing)
        for state in self.things["state"]:
            self._relate("location", state, country)
        areas, people = self.numbers["area"], self.numbers["population"]
        self.numbers["density"] = {one: people[one] / areas[one] for one in areas if one in people}
        parts = ("area", "length", "elevation")
        self.numbers["size"] = {
            **{thing: n for part in parts for thing, n in self.numbers[part].items()},
            **{thing: n for thing, n in people.items() if thing.kind == "city"},
        }

    def _add_land(self, facts: dict[str, list[dict[str, Any]]]) -> None:
        for one in facts["countries"]:
            country = self._add("country", one["country"])
            self._measure(country, population=one["population"], area=one["area"])
        for one in facts["states"]:
            state = self._add("state", one["state"])
            self._measure(state, population=one["population"], area=one["area"])
            self._relate("capital", self._city(one["capital"], state), state)
        for one in facts["cities_and_capitals"]:
            self._city(one["city"], Thing("state", one["state"]))
        for one in facts["cities"]:
            self._measure(self._city(one["city"], Thing("state", one["state"])), population=one["population"])
        for one in facts["borders"]:
            for name in one["neighbors"]:
                self._relate("border", Thing("state", one["state"]), Thing("state", name))
                self._relate("border", Thing("state", name), Thing("state", one["state"]))

    def _add_water(self, facts: dict[str, list[dict[str, Any]]]) -> None:
        for one in facts["rivers"]:
            river = self._add("river", one["river"])
            self._measure(river, length=one["length"])
            for name in (*one["states"], COUNTRY):
                state = Thing("country" if name == COUNTRY else "state", name)
                self._relate("course", river, state)
                if name != COUNTRY:
                    self._relate("location", river, state)
                    self._relate("border", state, river)
        for one in facts["lakes"]:
            lake = self._add("lake", one["lake"])
            self._measure(lake, area=one["area"])
            for name in one["states"]:
                self._relate("location", lake, Thing("state", name))

    def _add_places(self, facts: dict[str, list[dict[str, Any]]]) -> None:
        for one in facts["mountains"]:
            self.things["mountain"].add(self._place(one["mountain"], one["state"], one["elevation"]))
        for one in facts["highlows"]:
            for which in ("high", "low"):
                place = self._place(one[f"{which}_point"], one["state"], one[f"{which}_elevation"])
                self._relate(f"{which} point", place, Thing("state", one["state"]))

    def _add(self, kind: str, name: str, where: str = "") -> Thing:
        self.things[kind].add(Thing(kind, name, where))
        return Thing(kind, name, where)

    def _city(self, name: str, state: Thing) -> Thing:
        city = self._add("city", name, state.name)
        self._relate("location", city, state)
        return city

    def _place(self, name: str, state: str, elevation: float) -> Thing:
        place = self._add("place", name.removeprefix("mount "), state)
        self._measure(place, elevation=max(elevation, self.numbers["elevation"].get(place, elevation)))
        self._relate("location", place, Thing("state", state))
        return place

    def _measure(self, thing: Thing, **numbers: float) -> None:
        for name, n in numbers.items():
            self.numbers[name][thing] = n

    def _relate(self, name: str, one: Thing, other: Thing) -> None:
        """Both directions of a relation, such as `location` and `inside`."""
        self.pairs[name].setdefault(one, set()).add(other)
        self.pairs[INVERSES[name]].setdefault(other, set()).add(one)

    def execute(self, meaning: Any, context: Any = None) -> Answer:
        """The answer to a meaning (an MR); raise Impossible if there is none. There is no context."""
        rel, args = meaning.rel, meaning.args
        if rel in ("stateid", "riverid", "placeid", "cityid", "countryid"):
            return self._named(rel.removesuffix("id"), *args)
        if rel in ("most", "fewest", "largest_one", "smallest_one"):
            return self._compared(rel, *args)
        if rel == "elevation_2" and not hasattr(args[0], "rel"):
            wanted = float(args[0])
            return frozenset(one for one, n in self.numbers["elevation"].items() if n == wanted)
        if list(args) == ["all"]:
            if rel not in ("state", "city", "river", "lake", "mountain", "place", "country", "capital"):
                raise Impossible(f"{meaning}: {rel!r} is not a kind of things")
            kind = "city" if rel == "capital" else rel
            return self._applied(rel, frozenset(self.things[kind]))
        if wrong := [arg for arg in args if not hasattr(arg, "rel")]:
            raise Impossible(f"{meaning}: {wrong[0]} is not a meaning")
        found = [self.execute(arg, context) for arg in args]
        if rel in BOTH:
            return reduce(BOTH[rel], found)
        return self._applied(rel, found[0])

    def _named(self, kind: str, name: str, abbreviation: str = "_") -> Answer:
        name = name.removeprefix("mount ") if kind == "place" else name
        state = self.abbreviations.get(abbreviation)
        found = (thing for thing in self.things[kind] if thing.name == name)
        return frozenset(thing for thing in found if abbreviation == "_" or thing.where == state)

    def _applied(self, rel: str, things: Answer) -> Answer:
        """A relation with one argument."""
        if rel == "answer":
            return things
        if rel in RELATIONS:
            pairs = [self.pairs[name] for name in RELATIONS[rel]]
            _check_kinds(rel, things, (one for its in pairs for one in its))
            return frozenset(other for one in things for its in pairs for other in its.get(one, ()))
        if rel in ATTRIBUTES:
            numbers = self.numbers[ATTRIBUTES[rel]]
            _check_kinds(rel, things, numbers)
            return frozenset(numbers[thing] for thing in things if thing in numbers)
        if rel in EXTREMES:
            name, best = EXTREMES[rel]
            known = {one: one if is_number(one) else self.numbers[name].get(one) for one in things}
            return _extreme({one: n for one, n in known.items() if n is not None}, best)
        if rel in FURTHER:
            name, beats = FURTHER[rel]
            numbers = self.numbers[name]
            least = [numbers[thing] for thing in things if thing in numbers]
            return frozenset(one for one, n in numbers.items() if least and all(beats(n, m) for m in least))
        if rel == "count":
            return frozenset([len(things)])
        if rel == "sum":
            if not all(map(is_number, things)):
                raise Impossible("only numbers have a sum")
            return frozenset([sum(things)])
        if rel == "major":
            return frozenset(one for one in things if self._is_major(one))
        if rel == "capital" or rel in self.things:
            return things & (self.pairs["capital"].keys() if rel == "capital" else self.things[rel])
        raise Impossible(f"the facts have no {rel!r}")

    def _is_major(self, thing: Any) -> bool:
        name, least = MAJOR.get(getattr(thing, "kind", ""), ("", 0))
        return name in self.numbers and self.numbers[name].get(thing, 0) > least

    def _compared(self, rel: str, arg: Any) -> Answer:
        """The state with the largest number in `population_1(state(all))`; that of the most rivers in
        `state(loc_1(river(all)))`."""
        best = max if rel in ("most", "largest_one") else min
        path = []
        while hasattr(arg, "rel") and len(arg.args) == 1 and hasattr(arg.args[0], "rel"):
            path.append(arg.rel)
            arg = arg.args[0]
            if path[-1] in (RELATIONS if rel in ("most", "fewest") else ATTRIBUTES):
                break
        else:
            raise Impossible(f"{rel} has nothing to count or to compare")
        things = self.execute(arg)
        if rel in ("largest_one", "smallest_one"):
            numbers = self.numbers[ATTRIBUTES[path[-1]]]
            return _extreme({one: numbers[one] for one in things if one in numbers}, best)
        votes = Counter(
            one for thing in things for one in reduce(self._through, path[::-1], frozenset([thing]))
        )
        return _extreme(votes, best)

    def _through(self, things: Answer, rel: str) -> Answer:
        return self._applied(rel, things)


def _check_kinds(rel: str, things: Answer, known: Iterable[Thing]) -> None:
    """Raise Impossible for a question about other kinds of things, such as the length of a city."""
    kinds = {getattr(one, "kind", "number") for one in things}
    if kinds and kinds.isdisjoint(one.kind for one in known):
        raise Impossible(f"{rel!r} is not a question about a {min(kinds)}")


def is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def _extreme(numbers: dict[Any, Any], best: Callable[[Iterable[Any]], Any]) -> Answer:
    if not numbers:
        return frozenset()
    most = best(numbers.values())
    return frozenset(one for one, n in numbers.items() if n == most)


INVERSES = {"location": "inside", "capital": "seat", "border": "bordering", "course": "crossed",
            "high point": "highest here", "low point": "lowest here"}  # fmt: skip
RELATIONS = {
    "loc_1": ("location",), "loc_2": ("inside",),
    "next_to_1": ("bordering",), "next_to_2": ("border", "bordering"),
    "traverse_1": ("course",), "traverse_2": ("crossed",), "capital_1": ("seat",), "capital_2": ("capital",),
    "high_point_1": ("highest here",), "high_point_2": ("high point",), "low_point_1": ("lowest here",),
    "low_point_2": ("low point",),
}  # fmt: skip
ATTRIBUTES = {"population_1": "population", "area_1": "area", "density_1": "density", "size": "size",
              "len": "length", "elevation_1": "elevation"}  # fmt: skip
EXTREMES = {
    "largest": ("size", max), "longest": ("length", max), "highest": ("elevation", max),
    "smallest": ("size", min), "shortest": ("length", min), "lowest": ("elevation", min),
}  # fmt: skip
FURTHER = {"higher_2": ("elevation", operator.gt), "lower_2": ("elevation", operator.lt),
           "longer": ("length", operator.gt)}  # fmt: skip
BOTH: dict[str, Callable[[Answer, Answer], Answer]] = {"exclude": operator.sub, "intersection": operator.and_}


def load_geobase(directory: str | os.PathLike[str] | None = None) -> Geobase:
    """Read the facts of Geobase."""
    path = find("geoquery_facts", directory) / "geobase.json"
    try:
        return Geobase(json.loads(path.read_text(encoding="utf-8")))
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"has no facts of Geobase ({error!r}); download the file again", str(path)) from None
