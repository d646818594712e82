"""Schemas of meaning representations: the relations, the number of their arguments and their types.

A schema is given, or learned from MRs. Two slots have the same type if they share half of the constants of
the smaller one (as all slots of players do) and the same relations may fill them. A type of numbers, times or
quantities is open. So is a type whose constants are often new and spelled by their sentences. A slot that
always repeats an earlier one copies it, as in `defense(pink5, pink5)`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from semparse.entities import quantities
from semparse.entities.dates import DATE
from semparse.entities.numbers import NUMBER
from semparse.entities.times import LONG_TIME, TIME
from semparse.meaning import MR
from structsvm.files.codec import Field, Table, items, mapped, names, row, text, whole

ENOUGH_TO_COPY = 3  # that many MRs with equal arguments, and none with different ones
SHARED = 0.5  # of the constants of the smaller of two slots, for both to be of one type
VALUES = (NUMBER, TIME, LONG_TIME, DATE)
KINDS = {NUMBER: "number", LONG_TIME: "time", TIME: "time", DATE: "date"}
ENOUGH_TO_OPEN = 3  # different numbers or times, and not fewer than other constants: the type is open
LONGEST_PATTERN = 1000
SEEN = Table(
    Field("fillers", mapped(items(names())), "the constants of each slot, by relation"),
    Field("inner", mapped(items(names())), "the relations of each slot, by relation"),
    Field("least", mapped(whole()), "the fewest arguments, by relation"),
    Field("repeats", items(row(text(), whole(1), whole(), whole(-1))),
          "how often a slot of a relation repeated an earlier one; -1 if it once did not"),
    Field("opened", items(row(text(), whole())), "slots often filled with new names", default=[]),
)  # fmt: skip


@dataclass(frozen=True)
class Relation:
    """The types of the slots of a relation.

    The first `least` slots must be filled; `copies` has pairs (slot, the earlier slot that it repeats).
    """

    slots: tuple[str, ...]
    least: int
    copies: tuple[tuple[int, int], ...] = ()


class SchemaError(ValueError):
    """An MR does not conform to a schema, or a schema is not well formed; the message says why."""


class Schema:
    """Relations by name, and the symbols of each type.

    open: types with further constants, as {type: True} for any, or {type: a regular expression} for those
    that match it as a whole. A parser reads such a constant from the words that spell it. aliases: other
    names of constants, as {constant: [name, ...]}.
    """

    def __init__(
        self,
        relations: Mapping[str, Relation],
        types: Mapping[str, Iterable[str]],
        open: Mapping[str, bool | str] | None = None,
        aliases: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.relations = dict(relations)
        self.types = {name: frozenset(symbols) for name, symbols in types.items()}
        self.open = {name: value for name, value in (open or {}).items() if value is not False}
        self.aliases = _aliases(aliases or {}, self.types)
        self.patterns = {name: _pattern(name, value, self.types) for name, value in self.open.items()}
        for name, symbols in self.types.items():
            if isinstance(types[name], str) or not all(isinstance(symbol, str) for symbol in symbols):
                raise SchemaError(f"type {name!r} must be a list of names, got {types[name]!r}")
        for name, relation in self.relations.items():
            unknown = [slot for slot in relation.slots if slot not in self.types]
            if unknown:
                raise SchemaError(
                    f"relation {name!r} has a slot of type {unknown[0]!r}, which the schema lacks"
                )
            if type(relation.least) is not int or not 0 <= relation.least <= len(relation.slots):
                raise SchemaError(
                    f"relation {name!r} has {len(relation.slots)} slots but needs {relation.least}"
                )
            for later, earlier in relation.copies:
                if not 0 <= earlier < later < len(relation.slots):
                    raise SchemaError(
                        f"relation {name!r} copies slot {earlier} to {later}; "
                        "copy an earlier slot to a later one"
                    )

    def allows(self, kind: str, constant: str) -> bool:
        """Whether a constant is of a type, listed or open."""
        pattern = self.patterns.get(kind)
        return constant in self.types[kind] or (pattern is not None and bool(pattern.fullmatch(constant)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self.to_json() == other.to_json()

    def fault(self, mr: MR) -> str | None:
        """The reason why an MR does not conform, or None if it does."""
        relation = self.relations.get(mr.rel)
        if relation is None:
            return f"{mr}: the schema has no relation {mr.rel!r}"
        if not relation.least <= len(mr.args) <= len(relation.slots):
            return f"{mr}: {mr.rel!r} takes {_arity(relation)} argument(s), not {len(mr.args)}"
        for arg, slot in zip(mr.args, relation.slots, strict=False):
            name = arg.rel if isinstance(arg, MR) else arg
            if name not in self.types[slot] and (isinstance(arg, MR) or not self.allows(slot, name)):
                return f"{mr}: {name!r} is not a {slot}"
            if isinstance(arg, MR) and (fault := self.fault(arg)):
                return fault
        return None

    def valid(self, mr: MR) -> bool:
        return self.fault(mr) is None

    def check(self, mr: MR) -> None:
        """Raise SchemaError if an MR does not conform."""
        if fault := self.fault(mr):
            raise SchemaError(f"{fault}; correct the data or the schema")

    @classmethod
    def learn(cls, mrs: Iterable[MR]) -> Schema:
        """The narrowest schema of this form that every one of the MRs conforms to."""
        learner = SchemaLearner()
        for mr in mrs:
            learner.see(mr)
        return learner.schema().named()

    def named(self) -> Schema:
        """The same with types named after what they hold: number, time, or two of their symbols."""
        names: dict[str, str] = {}
        for kind, symbols in self.types.items():
            plain = [symbol for symbol in sorted(symbols) if re.fullmatch(r"\w+", symbol)]
            name = _kind(self.open.get(kind)) or "_or_".join(plain[:2]) or kind
            taken = sum(other.rstrip("0123456789") == name for other in names.values())
            names[kind] = f"{name}{taken + 1}" if taken else name
        if len(set(names.values())) < len(names):
            return self
        relations = {
            rel: replace(relation, slots=tuple(names[kind] for kind in relation.slots))
            for rel, relation in self.relations.items()
        }
        types = {names[kind]: symbols for kind, symbols in self.types.items()}
        return Schema(
            relations, types, {names[kind]: value for kind, value in self.open.items()}, self.aliases
        )

    def to_json(self) -> dict[str, Any]:
        relations = {
            name: {"slots": list(r.slots), "least": r.least, "copies": [list(pair) for pair in r.copies]}
            for name, r in sorted(self.relations.items())
        }
        types = {name: sorted(s) for name, s in sorted(self.types.items())}
        more = {"open": self.open, "aliases": self.aliases}
        return {
            "relations": relations,
            "types": types,
            **{name: value for name, value in more.items() if value},
        }

    @classmethod
    def from_json(cls, value: Any) -> Schema:
        """Build from an object of `to_json`; `least`, `copies`, `open` and `aliases` are optional.

        A list holds the definitions of tools, see `semparse.tools`.
        """
        if isinstance(value, list):
            from semparse.tools import schema_of

            return cls.from_json(schema_of(value))
        try:
            relations = {
                name: Relation(
                    tuple(r["slots"]),
                    r.get("least", len(r["slots"])),
                    tuple((int(a), int(b)) for a, b in r.get("copies", [])),
                )
                for name, r in value["relations"].items()
            }
            return cls(relations, value["types"], value.get("open"), value.get("aliases"))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            if isinstance(error, SchemaError):
                raise
            raise SchemaError(
                'a schema is {"relations": {name: {"slots": [type, ...]}}, "types": {type: [symbol, ...]}}; '
                f"this one is not ({error})"
            ) from error


def _pattern(name: str, value: bool | str, types: Mapping[str, Any]) -> re.Pattern[str]:
    if name not in types:
        raise SchemaError(f"open names the type {name!r}, which is missing from the schema")
    if value is not True and (not isinstance(value, str) or len(value) > LONGEST_PATTERN):
        raise SchemaError(f"open[{name!r}] must be true or a regular expression, got {value!r}")
    try:
        return re.compile(r"\S(.*\S)?" if value is True else str(value))
    except (re.error, OverflowError, RecursionError) as error:
        raise SchemaError(f"open[{name!r}] is not a regular expression: {error}") from None


def _aliases(
    aliases: Mapping[str, Sequence[str]], types: Mapping[str, Collection[str]]
) -> dict[str, list[str]]:
    constants = {symbol for symbols in types.values() for symbol in symbols}
    for constant, others in aliases.items():
        if constant not in constants:
            raise SchemaError(f"aliases has {constant!r}, which no type lists")
        if isinstance(others, str) or not all(isinstance(name, str) and name.strip() for name in others):
            raise SchemaError(f"the aliases of {constant!r} must be a list of names, got {others!r}")
    return {constant: list(others) for constant, others in aliases.items()}


def _arity(relation: Relation) -> str:
    most = len(relation.slots)
    return str(most) if relation.least == most else f"{relation.least} to {most}"


class SchemaLearner:
    """Learn a schema from the MRs seen so far."""

    def __init__(self) -> None:
        self.fillers: dict[str, list[set[str]]] = {}  # constants
        self.inner: dict[str, list[set[str]]] = {}  # relations
        self.least: dict[str, int] = {}
        self.repeats: dict[tuple[str, int, int], int] = {}  # MRs with equal arguments; -1: seen different
        self.opened: set[tuple[str, int]] = set()  # slots whose types are open to any name
        self._schema: Schema | None = None

    def open_slots(self, slots: Iterable[tuple[str, int]]) -> None:
        """Open the types of these slots to any name."""
        self.opened = set(slots)
        self._schema = None

    def see(self, mr: MR) -> None:
        """Take in one MR and those nested in it."""
        for inner in mr.relations():
            self._see(inner)

    def _see(self, mr: MR) -> None:
        slots, inner = self.fillers.setdefault(mr.rel, []), self.inner.setdefault(mr.rel, [])
        least = self.least.get(mr.rel, len(mr.args))
        known = len(slots) >= len(mr.args) >= least and mr.rel in self.least
        while len(slots) < len(mr.args):
            slots.append(set())
            inner.append(set())
        self.least[mr.rel] = min(least, len(mr.args))
        for k, arg in enumerate(mr.args):
            seen, name = (inner[k], arg.rel) if isinstance(arg, MR) else (slots[k], arg)
            known = known and name in seen
            seen.add(name)
        for later in range(1, len(mr.args)):
            for earlier in range(later):
                key = (mr.rel, later, earlier)
                count = self.repeats.get(key, 0)
                if count >= 0:
                    self.repeats[key] = count + 1 if mr.args[later] == mr.args[earlier] else -1
                    known = known and count + 1 != ENOUGH_TO_COPY
        if not known:
            self._schema = None

    def schema(self) -> Schema:
        if self._schema is None:
            self._schema = self._made()
        return self._schema

    def _made(self) -> Schema:
        constants = _merged({frozenset(slot) for its in self.fillers.values() for slot in its})
        symbols = {
            (rel, k): constants[frozenset(slot)] | self.inner[rel][k]
            for rel, its in self.fillers.items()
            for k, slot in enumerate(its)
        }
        names = {found: f"type{k}" for k, found in enumerate(sorted(set(symbols.values()), key=sorted), 1)}
        relations = {
            rel: Relation(
                tuple(names[symbols[rel, k]] for k in range(len(its))), self.least[rel], self._copies(rel)
            )
            for rel, its in self.fillers.items()
        }
        patterns: dict[str, bool | str] = {
            relations[rel].slots[slot]: True for rel, slot in sorted(self.opened)
        }
        patterns |= {name: pattern for found, name in names.items() if (pattern := _values(found))}
        return Schema(relations, {name: found for found, name in names.items()}, patterns)

    def double(self) -> set[str]:
        """The relations that are constants, too: `latlong` in latlong(one) and size(latlong)."""
        return self.fillers.keys() & {name for its in self.fillers.values() for slot in its for name in slot}

    def to_json(self) -> dict[str, Any]:
        """Everything that was seen, so that learning can be resumed later."""
        return {
            "fillers": {rel: [sorted(slot) for slot in slots] for rel, slots in self.fillers.items()},
            "inner": {rel: [sorted(slot) for slot in slots] for rel, slots in self.inner.items()},
            "least": self.least,
            "repeats": [[*key, count] for key, count in self.repeats.items()],
            "opened": [list(slot) for slot in sorted(self.opened)],
        }

    def set_json(self, value: Any, given: Schema | None = None) -> None:
        """Restore the result of `to_json`; raise ValueError if it is inconsistent or breaks the schema."""
        found = SEEN.read({}, value)
        self.fillers = {rel: [*map(set, slots)] for rel, slots in found["fillers"].items()}
        self.inner = {rel: [*map(set, found["inner"][rel])] for rel in self.fillers}
        self.least = {rel: found["least"][rel] for rel in self.fillers}
        for rel, slots in self.inner.items():
            if len(slots) != len(self.fillers[rel]) or not all(s <= self.fillers.keys() for s in slots):
                raise ValueError(f"the relations seen as arguments of {rel!r} do not fit the others")
            if self.least[rel] > len(slots):
                raise ValueError(f"{rel!r} has fewer arguments than it must have")
        self.repeats = {(rel, later, earlier): times for rel, later, earlier, times in found["repeats"]}
        if not all(earlier < later < len(self.fillers[rel]) for rel, later, earlier in self.repeats):
            raise ValueError("a slot that repeats another does not exist")
        self.opened = {(rel, slot) for rel, slot in found["opened"]}
        if not all(slot < len(self.fillers[rel]) for rel, slot in self.opened):
            raise ValueError("an open slot does not exist")
        self._schema = self._made()
        if given is None:
            return
        for rel, slots in self.fillers.items():
            types = given.relations[rel].slots
            fits = len(slots) <= len(types) and all(
                given.allows(kind, name) for its, kind in zip(slots, types, strict=False) for name in its
            )
            if not fits or not all(
                its <= given.types[kind] for its, kind in zip(self.inner[rel], types, strict=False)
            ):
                raise SchemaError(f"the arguments seen of {rel!r} do not conform to the schema")

    def _copies(self, rel: str) -> tuple[tuple[int, int], ...]:
        found: dict[int, int] = {}
        for (name, later, earlier), count in self.repeats.items():
            if name == rel and count >= ENOUGH_TO_COPY:
                found[later] = min(earlier, found.get(later, earlier))
        return tuple(sorted(found.items()))


def _kind(pattern: bool | str | None) -> str | None:
    """The name of a type with this pattern, if its constants are numbers, times or quantities."""
    if not isinstance(pattern, str):
        return None
    return KINDS.get(pattern) or ("quantity" if pattern.startswith(NUMBER) else None)


def _values(symbols: Collection[str]) -> str | None:
    """The pattern of numbers, times or quantities, if enough symbols match it, and no fewer than do not."""
    for usual in VALUES:
        n = sum(re.fullmatch(usual, symbol) is not None for symbol in symbols)
        if n >= ENOUGH_TO_OPEN and 2 * n >= len(symbols):
            long = usual == TIME and not any(re.fullmatch(r"\d:\d\d", symbol) for symbol in symbols)
            return LONG_TIME if long else usual
    pattern = quantities.open_pattern(symbols)
    return pattern if pattern and len(pattern) <= LONGEST_PATTERN else None


def _merged(slots: Iterable[frozenset[str]]) -> dict[frozenset[str], frozenset[str]]:
    """For each set of constants, the union of those that are alike, directly or through others."""
    ordered = sorted(slots, key=sorted)
    group = {slot: slot for slot in ordered}
    for n, slot in enumerate(ordered):
        for other in ordered[:n]:
            old, new = group[slot], group[other]
            if old != new and len(slot & other) >= SHARED * max(min(len(slot), len(other)), 1):
                group = {found: new if its == old else its for found, its in group.items()}
    union: dict[frozenset[str], set[str]] = {}
    for slot, its in group.items():
        union.setdefault(its, set()).update(slot)
    return {slot: frozenset(union[its]) for slot, its in group.items()}
