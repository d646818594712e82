"""What can be derived from a word: the definitions, computed once for each distinct word by the lexicon.

An attribute is a function from a text to a text, or to None where the word has nothing to say, which drops
the features that ask for it. To add one, add a line to ATTRIBUTES. Short words of plain ASCII take a compiled
path to the same results for those listed here. One attribute, `cluster`, is not defined here but found in the
training text, see `taggers.features.word_classes`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

AFFIX = re.compile(r"(lower_)?(prefix|suffix)([1-9])")
CLUSTER = "cluster"
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


def attribute(name: str, clusters: Callable[[str], str | None] | None = None) -> Callable[[str], str | None]:
    """The function of that name.

    ``prefix3`` and ``suffix3`` exist for any length up to 9, ``lower_prefix3`` and ``lower_suffix3`` too:
    those of the word in lower case.

    clusters: what ``cluster`` is; without it, no word has one.

    >>> attribute("suffix3")("walking"), attribute("suffix3")("to"), attribute("lower_suffix3")("GOING")
    ('ing', None, 'ing')
    """
    if name == CLUSTER:
        return clusters or (lambda text: None)
    if name in ATTRIBUTES:
        return ATTRIBUTES[name]
    match = AFFIX.fullmatch(name)
    if not match:
        affixes = [f"{kind}1..9" for kind in ("prefix", "suffix", "lower_prefix", "lower_suffix")]
        raise ValueError(
            f"no attribute is called {name!r}; there are {', '.join([*ATTRIBUTES, *affixes, CLUSTER])}"
        )
    lower, n = bool(match[1]), int(match[3])
    return _affix(n, lower) if match[2] == "prefix" else _affix(-n, lower)


def _affix(n: int, lower: bool) -> Callable[[str], str | None]:
    """The first n characters, or the last -n."""
    part = slice(n) if n > 0 else slice(n, None)

    def affix(text: str) -> str | None:
        text = text.lower() if lower else text
        return text[part] if len(text) >= abs(n) else None

    return affix
