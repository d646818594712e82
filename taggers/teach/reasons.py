"""Describe features of the built-in templates, for people who do not know templates."""

from __future__ import annotations

import re

PIECE = re.compile(r"(\w+)(?:\.(\w+))?\[(-?\d+)\]")
PREVIOUS = re.compile(r"label\[-([12])\]=(.*)")
AFFIX = re.compile(r"(?:lower_)?(prefix|suffix)\d+")
PLACES = {
    -2: "the word two places before", -1: "the word before", 0: "this word", 1: "the word after",
    2: "the word two places after",
}  # fmt: skip
FLAGS = {
    "is_title": "begins with a capital letter",
    "is_upper": "is in capitals",
    "has_digit": "contains a digit",
    "has_hyphen": "contains a hyphen",
}


def in_words(name: str) -> str:
    """Return what a feature says about a token; the name itself if it is of another kind."""
    if name == "bias":
        return "how common the label is"
    if before := PREVIOUS.fullmatch(name):
        far = before[1] == "2"
        if before[2] == "<start>":
            return f"this is the first {'or second ' * far}word"
        return f"the label {'two places ' * far}before is {before[2]}"
    left, _, right = name.partition("]=")
    pieces, values = f"{left}]".split("|"), right.split("|")
    found = [PIECE.fullmatch(piece) for piece in pieces]
    if len(found) != len(values) or not all(found):
        return name
    said = [
        _said(match[1], match[2], match[3], value)
        for match, value in zip(found, values, strict=True)
        if match
    ]
    return " and ".join(one for one in said if one) if all(said) else name


def _said(column: str, attribute: str | None, offset: str, value: str) -> str | None:
    """Return what one part of a feature says; None for a part of another kind."""
    place = PLACES.get(int(offset))
    if place is None or not value:
        return None
    if value.startswith(("_B-", "_B+")):
        return place.replace("the word", "there is no word")
    if column == "p" and attribute is None:
        return f"the part of speech of {place} is {value}"
    if column != "w":
        return None
    if attribute in (None, "lower"):
        return f"{place} is “{value}”"
    if attribute in FLAGS:
        return f"{place} {FLAGS[attribute]}"
    if affix := AFFIX.fullmatch(attribute):
        return f"{place} {'begins' if affix[1] == 'prefix' else 'ends'} with “{value}”"
    if attribute in ("shape", "short_shape"):
        return f"{place} has the shape {value}"
    if attribute == "cluster":
        return f"{place} belongs to word class {value}"
    return None
