"""What can be derived from a word: the definitions, computed once for each distinct word by the lexicon.

An attribute is a function from a text to a text, or to None where the word has nothing to say, which drops
the features that ask for it. To add one, add a line to ATTRIBUTES. Short words of plain ASCII take a compiled
path to the same results for those listed here.
"""

from __future__ import annotations

import re
from collections.abc import Callable

LONG = 100  # longer texts have no shape worth telling apart (spaCy's limit)


def shape(text: str) -> str:
    """Xxxx, dd.dd: letters and digits by their kind, runs cut at four, as spaCy does."""
    if len(text) >= LONG:
        return "LONG"
    return re.sub(r"(.)\1{4,}", r"\1\1\1\1", _kinds(text), flags=re.DOTALL)


def short_shape(text: str) -> str:
    """Xx, d.d: the shape with each run as one character."""
    if len(text) >= LONG:
        return "LONG"
    return re.sub(r"(.)\1+", r"\1", _kinds(text), flags=re.DOTALL)


def digits(text: str) -> str:
    """The text with each digit as 0."""
    if len(text) >= LONG:
        return "LONG"
    return "".join("0" if char.isdigit() else char for char in text)


def has_digit(text: str) -> str | None:
    return "1" if any(map(str.isdigit, text)) else None


def has_hyphen(text: str) -> str | None:
    return "1" if "-" in text else None


def is_upper(text: str) -> str | None:
    return "1" if text.isupper() else None


def is_title(text: str) -> str | None:
    return "1" if text.istitle() else None


def _kinds(text: str) -> str:
    return "".join(map(_kind, text))


def _kind(char: str) -> str:
    if char.isalpha():
        return "X" if char.isupper() else "x"
    return "d" if char.isdigit() else char


ATTRIBUTES: dict[str, Callable[[str], str | None]] = {
    "lower": str.lower,
    "shape": shape,
    "short_shape": short_shape,
    "digits": digits,
    "has_digit": has_digit,
    "has_hyphen": has_hyphen,
    "is_upper": is_upper,
    "is_title": is_title,
}


def attribute(name: str) -> Callable[[str], str | None]:
    """The function of that name; ``prefix3`` and ``suffix3`` exist for any length up to 9.

    >>> attribute("suffix3")("walking"), attribute("suffix3")("to")
    ('ing', None)
    """
    if name in ATTRIBUTES:
        return ATTRIBUTES[name]
    match = re.fullmatch(r"(prefix|suffix)([1-9])", name)
    if not match:
        known = ", ".join([*ATTRIBUTES, "prefix1..9", "suffix1..9"])
        raise ValueError(f"no attribute is called {name!r}; there are {known}")
    n = int(match[2])
    if match[1] == "prefix":
        return lambda text: text[:n] if len(text) >= n else None
    return lambda text: text[-n:] if len(text) >= n else None
