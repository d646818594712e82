"""Normalize words for the parser: join multiword names and numbers, and correct misspelt words.

A number is read from digits or number words ("twenty seven") if a type of the schema is open to it.
A word that occurs at most once is read as a frequent word that differs in one letter, if there is one, unless
it is the name of a constant.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from semparse.schema import NUMBER, Schema

NUMBER_FORM = "<number>"
SHORTEST = 4  # letters of a word that may be misspelt
OFTEN = 5  # times as often as a word that is read as this one
_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
)
_SMALL = {name: k for k, name in enumerate((_UNITS + " seventeen eighteen nineteen").split())}
_DECADES = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_TENS = {name: 10 * k for k, name in enumerate(_DECADES, 2)}
_DIGITS = re.compile(NUMBER)


class Word(NamedTuple):
    """A word as the model sees it, the text that it spells, and its place."""

    form: str
    text: str
    start: int
    end: int


class Words:
    """Reads sentences, given the constants of a schema and how often each word occurred so far."""

    def __init__(self, counts: Counter[str], schema: Schema) -> None:
        self.counts = counts
        constants = {symbol for symbols in schema.types.values() for symbol in symbols}
        self.names: dict[str, list[list[str]]] = {}
        self.spelled: dict[str, list[str]] = {}  # by the words of a constant's name, those constants
        for constant in sorted(constants):
            words = spelling(constant)
            self.spelled.setdefault(" ".join(words), []).append(constant)
            if len(words) > 1:
                self.names.setdefault(words[0], []).append(words)
        for names in self.names.values():
            names.sort(key=len, reverse=True)
        self.numbers = any(pattern.fullmatch("27") for pattern in schema.patterns.values())
        self.frequent: dict[str, set[str]] = {}
        self._forms: dict[str, str] = {}
        self.met(counts)

    def met(self, words: Iterable[str]) -> None:
        """Update the words whose counts have changed."""
        for word in words:
            if (
                self.counts[word] >= OFTEN
                and _may_be_misspelt(word)
                and word not in self.frequent.get(word, ())
            ):
                for key in (word, *_shortened(word)):
                    self.frequent.setdefault(key, set()).add(word)
                self._forms.clear()

    def read(self, x: list[str]) -> list[Word]:
        return list(self._words(x))

    def _words(self, x: list[str]) -> Iterator[Word]:
        i = 0
        while i < len(x):
            name = next((n for n in self.names.get(x[i], ()) if x[i : i + len(n)] == n), None)
            if name is not None:
                end, text = i + len(name), " ".join(name)
                yield Word(text, text, i, end)
            else:
                end, value = number(x, i) if self.numbers else (i + 1, None)
                if value is None or (value == "1" and x[i] == "one"):
                    yield Word(self.form(x[i]), x[i], i, i + 1)
                    end = i + 1
                else:
                    yield Word(NUMBER_FORM, value, i, end)
            i = end

    def form(self, word: str) -> str:
        """Return the word, or the frequent word that it misspells; a name is not misspelt."""
        if self.counts[word] > 1 or word in self.spelled or not _may_be_misspelt(word):
            return word
        if word not in self._forms:
            keys = (word, *_shortened(word))
            near = {other for key in keys for other in self.frequent.get(key, ()) if one_edit(word, other)}
            self._forms[word] = max(sorted(near), key=lambda other: self.counts[other], default=word)
        return self._forms[word]


def spelling(constant: str) -> list[str]:
    """The words of a constant's name: `living_room` is spelled "living room"."""
    return re.findall(r"[^\s_]+", constant.lower())


def number(x: list[str], i: int) -> tuple[int, str | None]:
    """Where the number that begins at a word ends, and its digits; None if no number begins there."""
    if _DIGITS.fullmatch(x[i]):
        return i + 1, x[i]
    parts = [part for word in x[i : i + 6] for part in (*word.split("-"), "")]
    total, used = 0, 0
    current: int | None = None
    last = 1000
    for place, part in enumerate(parts):
        value = _SMALL.get(part, _TENS.get(part))
        if part == "":
            continue
        if part == "hundred" and current is not None and 0 < current < 10:
            current, last = 100 * current, 100
        elif value is not None and (current is None or (value and _fits(value, last))):
            current, last = (current or 0) + value, value if value >= 20 else 1
        else:
            break
        if place + 1 < len(parts) and parts[place + 1] == "":
            used, total = i + sum(p == "" for p in parts[: place + 2]), current
    return (used, str(total)) if used else (i + 1, None)


def _fits(value: int, last: int) -> bool:
    """Whether a number word continues one that ended with `last`: "twenty seven", "two hundred five"."""
    return value < 10 if 20 <= last < 100 else last == 100 and value < 100


def one_edit(word: str, other: str) -> bool:
    """Whether one letter more, less or changed, or two neighbours exchanged, make one word the other."""
    if word == other or abs(len(word) - len(other)) > 1:
        return word == other
    i = next((k for k, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), None)
    if i is None:
        return True
    swapped = word[:i] + word[i + 1 : i + 2] + word[i] + word[i + 2 :]
    return (
        word[i + 1 :] == other[i + 1 :] or word[i + 1 :] == other[i:] or word[i:] == other[i + 1 :]
        or swapped == other
    )  # fmt: skip


def _may_be_misspelt(word: str) -> bool:
    return len(word) >= SHORTEST and word.isalpha()


def _shortened(word: str) -> Iterable[str]:
    return {word[:i] + word[i + 1 :] for i in range(len(word))}
