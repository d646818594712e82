"""Meaning representations (MRs): relations over constants and other relations, as text, JSON and objects.

    pass(purple10, purple8)                a relation with two constants
    believe(mother, break(dog, box))       relations nest
    ballstopped                            a relation without arguments; as an argument it is `ballstopped()`
    cityid('new york', _)                  quotes, single or double, where a name has blanks or marks
    call('Rosie O\\'Neil')                  a backslash before a quote that is a part of the name
    dim([lamp, spot], 20)                  a list is a relation, list(lamp, spot)

JSON has `{"rel": "pass", "args": ["purple10", "purple8"]}`; an argument is a string, a number, true, false,
a list or such an object.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

DEEPEST = 100
LIST = "list"
LARGEST = 500  # names in one MR; each takes time and memory in training

_TOKEN = re.compile(
    r"""\s*(?: (?P<mark>[(),;\[\]]) | '(?P<single>(?:[^'\\]|\\.)*)' | "(?P<double>(?:[^"\\]|\\.)*)"
    | (?P<name>[^\s(),;\[\]'"]+) )""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPED = re.compile(r"""\\([\\'"])""")
_END = re.compile(r"\s*\Z")
_PLAIN = re.compile(r"[^\s(),;\[\]'\"]+")


class MeaningError(ValueError):
    """A text or an object is not a meaning representation; the message says where and why."""


@dataclass(frozen=True)
class MR:
    """A relation and its arguments: constants (strings) or MRs."""

    rel: str
    args: tuple[MR | str, ...] = ()

    def __str__(self) -> str:
        return _text(self) if self.args else _quoted(self.rel)

    def relations(self) -> Iterator[MR]:
        """This relation and those nested in it, from the outside in and from left to right."""
        yield self
        for arg in self.args:
            if isinstance(arg, MR):
                yield from arg.relations()

    def symbols(self) -> list[str]:
        """Names of relations and constants, with repetitions, in the order of the text."""
        found = [self.rel]
        for arg in self.args:
            found += arg.symbols() if isinstance(arg, MR) else [arg]
        return found

    def to_json(self) -> dict[str, Any]:
        args = [arg.to_json() if isinstance(arg, MR) else arg for arg in self.args]
        return {"rel": self.rel, "args": args}


def parse_mr(text: str) -> MR:
    """Read one MR; raises MeaningError."""
    mrs = parse_mrs(text)
    if len(mrs) != 1:
        raise MeaningError(f"{text!r} holds {len(mrs)} meaning representations; one was expected")
    return mrs[0]


def parse_mrs(text: str) -> list[MR]:
    """Read MRs separated by semicolons; an empty text contains none."""
    return _Reader(text).mrs()


def as_mr(value: Any) -> MR:
    """Convert the text or JSON object of an MR to an MR; an MR is returned unchanged."""
    if isinstance(value, str):
        return parse_mr(value)
    return _checked(value if isinstance(value, MR) else _from_json(value, 0))


def _checked(mr: MR) -> MR:
    """Return the MR; raise MeaningError if it is too deep or too large."""
    n, level = 0, [mr]
    for _ in range(DEEPEST + 2):
        n += sum(1 + len(each.args) for each in level)
        level = [arg for each in level for arg in each.args if isinstance(arg, MR)]
        n -= len(level)
        if n > LARGEST:
            raise MeaningError(f"a meaning representation has more than {LARGEST} names; split it")
        if not level:
            return mr
    raise MeaningError(f"relations nest deeper than {DEEPEST}")


def _from_json(value: Any, depth: int) -> MR:
    if not isinstance(value, dict) or set(value) - {"rel", "args"} or "rel" not in value:
        raise MeaningError(f'{value!r} is not a meaning representation; write {{"rel": name, "args": [...]}}')
    rel, args = value["rel"], value.get("args", [])
    if not isinstance(rel, str) or not rel or not isinstance(args, (list, tuple)):
        raise MeaningError(f"{value!r}: rel must be a name and args a list")
    if depth > DEEPEST:
        raise MeaningError(f"relations nest deeper than {DEEPEST}")
    return MR(rel, tuple(_argument(arg, depth) for arg in args))


def _argument(value: Any, depth: int) -> MR | str:
    """An argument in JSON: a name, a number, true or false, an object, or a list of arguments."""
    if isinstance(value, str) and value:
        return value
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    if isinstance(value, dict):
        return _from_json(value, depth + 1)
    if isinstance(value, list):
        if depth > DEEPEST:
            raise MeaningError(f"lists nest deeper than {DEEPEST}")
        return MR(LIST, tuple(_argument(one, depth + 1) for one in value))
    raise MeaningError(f"{value!r} is not an argument; use a name or an object with rel and args")


def distinct(mrs: Iterable[MR]) -> list[MR]:
    """The MRs without repetitions, in order."""
    return list(dict.fromkeys(mrs))


def _text(mr: MR) -> str:
    args = ", ".join(_text(arg) if isinstance(arg, MR) else _quoted(arg) for arg in mr.args)
    return f"{_quoted(mr.rel)}({args})"


def _quoted(name: str) -> str:
    if _PLAIN.fullmatch(name):
        return name
    mark = '"' if "'" in name and '"' not in name else "'"
    escaped = name.replace("\\", "\\\\").replace(mark, f"\\{mark}")
    return f"{mark}{escaped}{mark}"


class _Reader:
    """A recursive descent over the tokens of a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0
        self.next()

    def next(self) -> None:
        """Step to the next token: a mark, a name, or the end (both None)."""
        self.mark = self.name = None
        if _END.match(self.text, self.place):
            self.place = len(self.text)
            return
        match = _TOKEN.match(self.text, self.place)
        if match is None:
            raise self.error("a quote is not closed")
        self.mark = match["mark"]
        quoted = match["single"] or match["double"]
        self.name = match["name"] or (quoted and _ESCAPED.sub(r"\1", quoted))
        if self.mark is None and self.name is None:
            raise self.error("a name is empty")
        self.place = match.end()

    def error(self, what: str) -> MeaningError:
        return MeaningError(
            f"{self.text!r} is not a meaning representation: {what}, near character {self.place}"
        )

    def mrs(self) -> list[MR]:
        found: list[MR] = []
        while self.mark is not None or self.name is not None:
            value = self.value(0)
            found.append(_checked(value if isinstance(value, MR) else MR(value)))
            if self.mark == ";":
                self.next()
            elif self.mark is not None or self.name is not None:
                raise self.error(f"{self.mark or self.name!r} comes after its end")
        return found

    def value(self, depth: int) -> MR | str:
        """A constant, a relation with its arguments, or a list."""
        if self.mark == "[" and depth <= DEEPEST:
            return self.relation(LIST, "]", depth)
        if self.name is None:
            raise self.error(f"a name was expected{f' in place of {self.mark!r}' if self.mark else ''}")
        if depth > DEEPEST:
            raise self.error(f"relations nest deeper than {DEEPEST}")
        name = self.name
        self.next()
        if self.mark != "(":
            return name
        return self.relation(name, ")", depth)

    def relation(self, name: str, end: str, depth: int) -> MR:
        """The arguments up to a closing mark."""
        self.next()
        args: list[MR | str] = []
        if self.mark != end:
            args.append(self.value(depth + 1))
            while self.mark == ",":
                self.next()
                args.append(self.value(depth + 1))
        if self.mark != end:
            raise self.error(f'a "{end}" is missing')
        self.next()
        return MR(name, tuple(args))
