"""Attributes of words, such as suffixes and shapes; the lexicon computes them once for each distinct word.

An attribute is a function from a text to a text, or to None for no value: features that need the
value are dropped then. To add an attribute, add a line to ATTRIBUTES. Compiled code computes those
listed here for short words. Other attributes come from word classes and gazetteers, see
`taggers.features.knowledge`; two of them, `cluster` and `casing`, are learned from the training text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from taggers.features.knowledge import Knowledge

AFFIX = re.compile(r"(lower_)?(prefix|suffix)([1-9])")
GRAM = re.compile(r"gram([2-9])_([1-9]\d?)")
GRAMS = 10  # n-grams of a word that are features
CLUSTER, CASING = LEARNED = ("cluster", "casing")
VALUE = "value"  # of a column that holds numbers
DOCUMENT = ("doc_form", "doc_label")  # of a word in its document, see `taggers.features.documents`
LONG = 100  # longer texts share one shape (as in spaCy)


def shape(text: str) -> str:
    """Xxxx, dd.dd: each letter and digit by its kind, runs cut at four, as in spaCy."""
    if len(text) >= LONG:
        return "LONG"
    return re.sub(r"(.)\1{4,}", r"\1\1\1\1", _kinds(text), flags=re.DOTALL)


def short_shape(text: str) -> str:
    """Xx, d.d: the shape with each run shortened to one character."""
    if len(text) >= LONG:
        return "LONG"
    return re.sub(r"(.)\1+", r"\1", _kinds(text), flags=re.DOTALL)


def digits(text: str) -> str:
    """The text with each digit replaced by 0."""
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


def attribute(name: str, knowledge: Knowledge | None = None) -> Callable[[str], str | None]:
    """The function of that name.

    ``prefix3`` and ``suffix3`` exist for any length up to 9; ``lower_prefix3`` and ``lower_suffix3`` are
    those of the word in lower case. ``gram4_1`` is the first of the `GRAMS` different n-grams of four
    characters that templates call ``gram4``. knowledge: the word classes; ``brown4`` is the beginning of a
    path of the classes called brown.

    >>> attribute("suffix3")("walking"), attribute("suffix3")("to"), attribute("lower_suffix3")("GOING")
    ('ing', None, 'ing')
    """
    if name in ATTRIBUTES:
        return ATTRIBUTES[name]
    if match := AFFIX.fullmatch(name):
        lower, n = bool(match[1]), int(match[3])
        return _affix(n, lower) if match[2] == "prefix" else _affix(-n, lower)
    if match := GRAM.fullmatch(name):
        return _gram(int(match[1]), int(match[2]))
    found = knowledge.word_class(name) if knowledge is not None else None
    if found is not None:
        classes, bits = found
        return lambda text: classes(text, bits)
    if re.fullmatch(rf"({'|'.join(LEARNED)})\d*", name):
        return lambda text: None  # until the classes are known
    from structsvm.validation import meant  # with numpy: only for the error

    affixes = [f"{kind}1..9" for kind in ("prefix", "suffix", "lower_prefix", "lower_suffix")]
    own = knowledge.names if knowledge is not None else ()
    known = [*ATTRIBUTES, *affixes, "gram2..9", *LEARNED, *DOCUMENT, *own]
    raise ValueError(f"unknown attribute {name!r}; choose one of {', '.join(known)}{meant(name, known)}")


def _affix(n: int, lower: bool) -> Callable[[str], str | None]:
    """The first n characters, or the last -n."""
    part = slice(n) if n > 0 else slice(n, None)

    def affix(text: str) -> str | None:
        text = text.lower() if lower else text
        return text[part] if len(text) >= abs(n) else None

    return affix


def _gram(n: int, place: int) -> Callable[[str], str | None]:
    """The n-gram of characters in lower case at a place, from 1, among the different ones of a word."""

    def gram(text: str) -> str | None:
        if len(text) >= LONG:
            return None
        text = text.lower()
        different = dict.fromkeys(text[start : start + n] for start in range(len(text) - n + 1))
        return list(different)[place - 1] if place <= len(different) else None

    return gram
