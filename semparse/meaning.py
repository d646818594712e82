"""Meaning representations (MRs): relations over constants and other relations, as text, JSON and objects.

    pass(purple10, purple8)                a relation with two constants
    believe(mother, break(dog, box))       relations nest
    ballstopped                            a relation without arguments; as an argument it is `ballstopped()`
    cityid('new york', _)                  quotes, single or double, where a name has blanks or marks
    call('Rosie O\\'Neil')                  a backslash before a quote that is a part of the name
    dim([lamp, spot], 20)                  a list is a relation, list(lamp, spot)
    dim(device=lamp, level=20)             arguments with names, in the order of the names

JSON has `{"rel": "pass", "args": ["purple10", "purple8"]}`; an argument is a string, a number, true, false,
a list or such an object. A named argument `level=20` is a relation called `level=`. `call` and JSON objects
`{"name": "dim", "arguments": {"device": "lamp", "level": 20}}`, as language models call tools, have only such
arguments; so have intents with slots, `{"intent": "dim", "slots": {"level": 20}}`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

DEEPEST = 100
LIST = "list"
UNKNOWN, REST = "?", "..."  # an argument, and all that remain: see `semparse.frames`
LARGEST = 500  # names in one MR; each takes time and memory in training

_TOKEN = re.compile(
    r"""\s*(?: (?P<mark>[(),;\[\]]) | '(?P<single>(?:[^'\\]|\\.)*)' | "(?P<double>(?:[^"\\]|\\.)*)"
    | (?P<name>[^\s(),;\[\]'"]+) )""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPED = re.compile(r"""\\([\\'"])""")
_END = re.compile(r"\s*\Z")
_PLAIN = re.compile(r"[^\s(),;\[\]'\"]+")
_NAMED = re.compile(r"([^\W\d][\w.-]*=)(?!=)(.*)", re.DOTALL)
_CALLS = {"name": ("arguments", "input"), "intent": ("slots",)}  # the names and the arguments of calls
_VALUE = re.compile(r"true|false|-?(0|[1-9][0-9]{,299})(\.[0-9]+)?")  # more digits are not a finite number


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

    def to_call(self) -> dict[str, Any] | None:
        """A name and its arguments as JSON values; None unless all arguments have different names.

        It has numbers, true and false as such, even if the training data had them as strings.
        """
        names = [arg.rel if isinstance(arg, MR) and is_named(arg) else "" for arg in self.args]
        if not all(names) or len(set(names)) < len(names):
            return None
        values = [_json_value(arg.args[0]) for arg in self.args if isinstance(arg, MR)]
        return {"name": self.rel, "arguments": dict(zip([n[:-1] for n in names], values, strict=True))}


def is_open(mr: MR) -> bool:
    """Whether an argument of a meaning is unknown."""
    return any(is_open(arg) if isinstance(arg, MR) else arg in (UNKNOWN, REST) for arg in mr.args)


def is_named(mr: MR) -> bool:
    """Whether this is a named argument, such as `level=20`."""
    return is_name(mr.rel) and len(mr.args) == 1


def is_name(rel: str) -> bool:
    """Whether a relation is the name of an argument, such as `level=`."""
    return rel.endswith("=") and bool(_NAMED.fullmatch(rel))


def in_order(mr: MR) -> bool:
    """Whether all named arguments come in the order of their names, each once, as all readers make them."""
    for inner in mr.relations():
        names = [arg.rel for arg in inner.args if isinstance(arg, MR) and is_named(arg)]
        if any(first >= second for first, second in pairwise(names)):
            return False
    return True


def _ordered(args: list[MR | str]) -> tuple[MR | str, ...] | None:
    """The arguments, those with names last and in the order of the names; None if a name occurs twice."""
    named = {arg.rel: arg for arg in args if isinstance(arg, MR) and is_named(arg)}
    others = [arg for arg in args if not isinstance(arg, MR) or not is_named(arg)]
    if len(named) + len(others) < len(args):
        return None
    return (*others, *(named[one] for one in sorted(named)))


def _json_value(arg: MR | str) -> Any:
    if isinstance(arg, MR):
        if arg.rel == LIST:
            return [_json_value(one) for one in arg.args]
        return arg.to_call() or arg.to_json()
    return json.loads(arg) if _VALUE.fullmatch(arg) else arg


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
    """Convert the text or JSON object of an MR, or of a call, to an MR; an MR is returned unchanged."""
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
    if isinstance(value, dict) and "rel" not in value and (call := _call(value, depth)):
        return call
    if not isinstance(value, dict) or set(value) - {"rel", "args"} or "rel" not in value:
        raise MeaningError(
            f'{value!r} is not a meaning representation; write {{"rel": name, "args": [...]}} or '
            '{"name": name, "arguments": {...}}'
        )
    rel, args = value["rel"], value.get("args", [])
    if not isinstance(rel, str) or not rel or not isinstance(args, (list, tuple)):
        raise MeaningError(f"{value!r}: rel must be a name and args a list")
    if depth > DEEPEST:
        raise MeaningError(f"relations nest deeper than {DEEPEST}")
    if (ordered := _ordered([_argument(arg, depth) for arg in args])) is None:
        raise MeaningError(f"{rel!r} has an argument twice; write a list")
    return MR(rel, ordered)


def _call(value: dict[str, Any], depth: int) -> MR | None:
    """A relation with named arguments; None for other objects. Arguments that are null are left out."""
    inner = value.get("function")
    if isinstance(inner, dict) and not set(value) - {"function", "type", "id"}:
        return _call(inner, depth)
    for key, others in _CALLS.items():
        given = [other for other in others if other in value]
        if key not in value or len(given) > 1 or set(value) - {key, *others, "type", "id"}:
            continue
        name, args = value[key], value[given[0]] if given else {}
        if args == REST and isinstance(name, str) and name:
            return MR(name, (REST,))
        if isinstance(args, str):  # as some language models write them
            try:
                args = json.loads(args or "{}")
            except (ValueError, RecursionError) as error:
                raise MeaningError(f"{value!r}: the arguments are not JSON ({error})") from None
        if not isinstance(name, str) or not name or not isinstance(args, dict):
            raise MeaningError(f"{value!r}: {key} must be a name, and {others[0]} an object")
        wrong = next((one for one in args if not is_name(f"{one}=")), None)
        if wrong is not None:
            raise MeaningError(f"{wrong!r} cannot be the name of an argument; use letters, digits and _")
        if depth > DEEPEST:
            raise MeaningError(f"relations nest deeper than {DEEPEST}")
        known = sorted((f"{one}=", its) for one, its in args.items() if its is not None)
        return MR(name, tuple(MR(one, (_argument(its, depth + 1),)) for one, its in known))
    return None


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
    return f"{_quoted(mr.rel)}({', '.join(map(_argument_text, mr.args))})"


def _argument_text(arg: MR | str) -> str:
    if isinstance(arg, str):
        return _quoted(arg)
    return f"{arg.rel}{_argument_text(arg.args[0])}" if is_named(arg) else _text(arg)


def _quoted(name: str) -> str:
    if _PLAIN.fullmatch(name) and not _NAMED.fullmatch(name):
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
        self.plain = False
        if _END.match(self.text, self.place):
            self.place = len(self.text)
            return
        match = _TOKEN.match(self.text, self.place)
        if match is None:
            raise self.error("a quote is not closed (names with apostrophes need double quotes)")
        self.mark = match["mark"]
        quoted = match["single"] or match["double"]
        self.name = match["name"] or (quoted and _ESCAPED.sub(r"\1", quoted))
        self.plain = match["name"] is not None
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

    def argument(self, depth: int) -> MR | str:
        """A value, or a name and a value."""
        named = _NAMED.fullmatch(self.name) if self.name and self.plain else None
        if named is None:
            return self.value(depth)
        if named[2]:
            self.name = named[2]
        else:
            self.next()
        return MR(named[1], (self.value(depth + 1),))

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
            args.append(self.argument(depth + 1))
            while self.mark == ",":
                self.next()
                args.append(self.argument(depth + 1))
        if self.mark != end:
            raise self.error(f'a "{end}" is missing')
        self.next()
        if (ordered := _ordered(args)) is None:
            raise self.error(f"{name!r} has an argument twice; write a list")
        return MR(name, ordered)
