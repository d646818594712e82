"""Readers of GeoQuery and CLang as distributed with WASP; neighbouring sentences make the meanings
ambiguous."""

from __future__ import annotations

import os
import random
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from corpora.bags import Bag
from corpora.registry import find
from structsvm.files import DataError

_CLANG_OPEN = {"*t:Num": r"[+-]?\d+(\.\d+)?", "*t:Unum": r"\d+", "*t:Ident": r"\w+"}
_INTEGER = re.compile(r"^([+-]?\d+)\.0+$")
_RULE = re.compile(r"^definerule\([^,()]+,[^,()]+,(.*)\)$", re.DOTALL)
_LISP = re.compile(r'[(){}]|"[^"]*"|[^\s(){}"]+')


LANGUAGES = ("en", "es", "ja", "tr")  # of the 250 questions of GeoQuery


def load_geoquery(
    directory: str | os.PathLike[str] | None = None, *, n: int = 880, language: str = "en"
) -> list[Bag]:
    """Read GeoQuery with FunQL meanings: all 880 questions, or the 250 of the first experiments.

    The 250 questions are also in Spanish (es), Japanese (ja) and Turkish (tr).
    """
    folder = find("geoquery", directory)
    if n not in (250, 880) or language not in LANGUAGES:
        what = f"n={n} and language={language!r}"
        raise ValueError(f"n must be 880 or 250, and language one of {', '.join(LANGUAGES)}, got {what}")
    if language != "en" and n != 250:
        raise ValueError(f"only 250 questions are in {language}; set n=250")
    wanted = set((folder / f"id-{n}").read_text(encoding="ascii").split())
    bags = read_wasp(folder / "corpus-gappy-0.xml", "geo-funql", text=language, partial=language != "en")
    return [bag for bag in bags if bag.id in wanted]


def geoquery_schema(directory: str | os.PathLike[str] | None = None) -> dict[str, Any]:
    """The grammar of FunQL as the JSON object of a schema: relations, what fills their slots, and names."""
    return _schema(find("geoquery", directory) / "mrl-grammar", _pattern, {"*t:Num": r"\d+"})


def clang_schema(directory: str | os.PathLike[str] | None = None) -> dict[str, Any]:
    """The grammar of CLang as the JSON object of a schema; numbers and the names of regions are open."""
    return _schema(find("clang", directory) / "mrl-grammar", _lisp_pattern, _CLANG_OPEN)


def _schema(path: Path, pattern_of: Callable[[str], Any], open_types: dict[str, str]) -> dict[str, Any]:
    """A grammar as a schema. open_types: regular expressions of its terminals."""
    rules: dict[str, list[Any]] = {}
    for number, line in enumerate(path.read_text(encoding="ascii").splitlines(), 1):
        match = re.fullmatch(r"\*n:(\w+) -> \(\{ (.*) \}\)( zero-fertility| reorder-args \d)?", line.strip())
        if match is None:
            raise DataError("is not a rule; download the file again", str(path), number)
        if not match[2].startswith("*^"):  # a variable of WASP
            rules.setdefault(match[1], []).append(pattern_of(match[2]))
    slots: dict[str, list[set[str]]] = {}
    least: dict[str, int] = {}
    for patterns in rules.values():
        for pattern in patterns:
            _add_slots(pattern, rules, slots, least)
    relations = {
        rel: {"slots": [f"{rel} {k}" for k in range(len(its))], "least": least[rel]}
        for rel, its in slots.items()
    }
    types = {f"{rel} {k}": names for rel, its in slots.items() for k, names in enumerate(its)}
    ends = {kind: sorted(names & open_types.keys()) for kind, names in types.items()}
    return {
        "relations": relations,
        "types": {kind: sorted(names - open_types.keys()) for kind, names in types.items()},
        "open": {kind: "|".join(open_types[end] for end in its) for kind, its in ends.items() if its},
    }


def _pattern(text: str) -> Any:
    """The right side of a rule: a nonterminal "*n:City", a constant, or a pair (relation, arguments)."""
    tokens = re.findall(r"'[^']*'|[(),]|[^\s(),]+", text)

    def value(at: int) -> tuple[Any, int]:
        name = " ".join(tokens[at].strip("'").split())
        if at + 1 == len(tokens) or tokens[at + 1] != "(":
            return name, at + 1
        at, args = at + 2, []
        while tokens[at] != ")":
            arg, at = value(at + (tokens[at] == ","))
            args.append(arg)
        return (name, args), at + 1

    return value(0)[0]


def _lisp_pattern(text: str) -> Any:
    """The right side of a rule of CLang; as `_list` reads meanings."""
    tokens = [token for token in text.split() if token != '"']

    def value(at: int) -> tuple[Any, int]:
        if tokens[at] not in "({":
            return tokens[at], at + 1
        closing = ")" if tokens[at] == "(" else "}"
        at, items = at + 1, []
        while tokens[at] != closing:
            item, at = value(at)
            items.append(item)
        if closing == "}":
            return ("set", items), at + 1
        if isinstance(items[0], tuple) or items[0].startswith("*"):
            return ("rule", items), at + 1
        return (items[0], items[1:]), at + 1

    return value(0)[0]


def _add_slots(
    pattern: Any, rules: dict[str, list[Any]], slots: dict[str, list[set[str]]], least: dict[str, int]
) -> None:
    if isinstance(pattern, tuple):
        rel, args = pattern
        its = slots.setdefault(rel, [])
        least[rel] = min(least.get(rel, len(args)), len(args))
        while len(its) < len(args):
            its.append(set())
        for names, arg in zip(its, args, strict=False):
            names |= _heads(arg, rules)
            _add_slots(arg, rules, slots, least)


def _heads(pattern: Any, rules: dict[str, list[Any]]) -> set[str]:
    """The names that a part of a rule may begin with."""
    if isinstance(pattern, tuple):
        return {pattern[0]}
    if not pattern.startswith("*n:"):
        return {pattern}
    return {name for other in rules[pattern[3:]] for name in _heads(other, rules)}


def load_clang(directory: str | os.PathLike[str] | None = None) -> list[Bag]:
    """Read CLang, advice to a football coach; `(pos (half our))` becomes `pos(half(our))`.

    A rule is read without the name that `definerule` gives it, which no sentence contains.
    """
    return read_wasp(find("clang", directory) / "corpus-gappy-0.xml", "robocup-clang")


def read_wasp(
    path: str | os.PathLike[str], language: str, *, text: str = "en", partial: bool = False
) -> list[Bag]:
    """Read a corpus file of WASP: texts of one language, each with its meaning as only candidate and as gold.

    partial: leave out the examples that lack this text.
    """
    path = Path(path)
    try:
        root = ElementTree.fromstring(path.read_bytes())
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror}); check its name", str(path)) from None
    except ElementTree.ParseError as error:
        line = error.position[0]
        raise DataError(f"malformed XML ({error}); download the file again", str(path), line) from None
    bags = []
    for example in root.iter("example"):
        name = example.get("id", "?")
        texts = [nl.text for nl in example.iter("nl") if nl.get("lang", "en") == text]
        meanings = [mrl.text for mrl in example.iter("mrl") if mrl.get("lang") == language]
        if partial and not texts:
            continue
        if not texts or not meanings or not texts[0] or not meanings[0]:
            raise DataError(f"example {name} lacks its text ({text}) or its {language} meaning", str(path))
        meaning = _from_lisp(meanings[0]) if language == "robocup-clang" else " ".join(meanings[0].split())
        bags.append(Bag(" ".join(texts[0].split()), (meaning,), (meaning,), id=name))
    return bags


def with_ambiguity(bags: Sequence[Bag], level: int, *, seed: int = 0) -> list[Bag]:
    """Give each sentence the meanings from a before to b after its own, a and b uniform on 0..level.

    That is `level` more on average, as in AmbigGeoQuery of Kate and Mooney (2007); the right meaning is
    always included. Shuffle the bags first if neighbours are alike.
    """
    if level < 0:
        raise ValueError(f"level must be at least 0, got {level}")
    rng = random.Random(seed)
    found = []
    for place, bag in enumerate(bags):
        first, last = place - rng.randint(0, level), place + rng.randint(0, level)
        near = [meaning for other in bags[max(first, 0) : last + 1] for meaning in other.gold or ()]
        found.append(replace(bag, candidates=tuple(dict.fromkeys(near))))
    return found


def _from_lisp(text: str) -> str:
    """Lists `(head arg ...)` as `head(arg,...)`; one that begins with a list is a `rule`, `{...}` a `set`."""
    tokens = _LISP.findall(text)
    value, rest = _list(tokens, 0)
    value = _RULE.sub(r"\1", value)
    if rest != len(tokens):
        raise DataError(f"{text.strip()!r} has too many closing brackets")
    return value


def _list(tokens: list[str], place: int) -> tuple[str, int]:
    if place >= len(tokens):
        raise DataError("a meaning of CLang ends too early; add the missing brackets")
    token = tokens[place]
    if token not in "({":
        return _INTEGER.sub(r"\1", token), place + 1
    closing = ")" if token == "(" else "}"
    items, place = [], place + 1
    while place < len(tokens) and tokens[place] != closing:
        item, place = _list(tokens, place)
        items.append(item)
    if place >= len(tokens):
        raise DataError("a meaning of CLang ends too early; add the missing brackets")
    if token == "{":
        return f"set({','.join(items)})", place + 1
    if not items or "(" in items[0] or items[0].startswith('"'):  # its condition may be a name
        return f"rule({','.join(items)})", place + 1
    return f"{items[0]}({','.join(items[1:])})", place + 1
