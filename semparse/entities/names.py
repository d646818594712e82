"""Normalize words for the parser: join multiword names, numbers, times and dates, and correct misspelt words.

A number, time, date or quantity is read from digits or words ("twenty seven", "half past six", "3 May 2026",
"five minutes") if a type of the schema is open to it. A word that occurs at most once is read as a frequent
word that differs in one letter, if there is one, unless it is the name of a constant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from semparse.entities import quantities
from semparse.entities.dates import date
from semparse.entities.numbers import number
from semparse.entities.spelling import may_be_misspelt, one_edit, shortened, spellings
from semparse.entities.times import time
from semparse.entities.tokens import original
from semparse.schema import Schema

NUMBER_FORM, TIME_FORM, DATE_FORM, QUANTITY_FORM = "<number>", "<time>", "<date>", "<quantity>"
OFTEN = 5  # times as often as a word that is read as this one
SHORT = 5  # letters of names that are often one letter apart
REMEMBERED = 100_000  # words whose form is remembered


class Word(NamedTuple):
    """A word as the model sees it, the text that it spells, and its place."""

    form: str
    text: str
    start: int
    end: int
    values: tuple[str, ...] = ()  # the constants that a number, time, date or quantity spells

    @property
    def exact(self) -> str:
        """The form, or the number, time, date or quantity itself."""
        return self.text if self.values else self.form


class Words:
    """Reads sentences, given the constants of a schema and how often each word occurred so far.

    units: how constants write the units of sentences, see `quantities.written`.
    """

    def __init__(
        self,
        counts: Counter[str],
        schema: Schema,
        units: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> None:
        self.counts, self.units = counts, units
        constants = {symbol for symbols in schema.types.values() for symbol in symbols}
        self.names: dict[str, list[list[str]]] = {}
        self.spelled: dict[str, list[str]] = {}  # by the words of a constant's name, those constants
        for constant in sorted(constants):
            for name in (constant, *schema.aliases.get(constant, ())):
                for words in spellings(name):
                    self.spelled.setdefault(" ".join(words), []).append(constant)
                    if len(words) > 1:
                        self.names.setdefault(words[0], []).append(words)
        for names in self.names.values():
            names.sort(key=len, reverse=True)
        patterns = schema.patterns.values()
        self.readers: list[tuple[str, Callable[[Sequence[str], int], tuple[int, str | None]]]] = []
        if any(p.fullmatch("2026-05-03") and not p.fullmatch("any text") for p in patterns):
            self.readers.append((DATE_FORM, date))
        if any(p.fullmatch("12:30") for p in patterns):
            self.readers.append((TIME_FORM, time))
        if any(map(quantities.is_open, patterns)):
            self.readers.append((QUANTITY_FORM, quantities.quantity))
        if "" in units or any(p.fullmatch("27") for p in patterns):
            self.readers.append((NUMBER_FORM, number))
        self.frequent: dict[str, set[str]] = {}
        self._forms: dict[str, str] = {}
        self.met(counts)

    def met(self, words: Iterable[str]) -> None:
        """Update the words whose counts have changed."""
        for word in words:
            if (
                self.counts[word] >= OFTEN
                and may_be_misspelt(word)
                and word not in self.frequent.get(word, ())
            ):
                for key in (word, *shortened(word)):
                    self.frequent.setdefault(key, set()).add(word)
                self._forms.clear()

    def read(self, x: list[str]) -> list[Word]:
        return list(self._words(x))

    def _words(self, x: list[str]) -> Iterator[Word]:
        i = 0
        while i < len(x):
            name = next((n for n in self.names.get(x[i], ()) if x[i : i + len(n)] == n), None)
            if name is not None:
                word = Word(" ".join(name), " ".join(name), i, i + len(name))
            else:
                form = x[i] if _is_short_name(x, i) else self.form(x[i])
                word = self._value(x, i) or Word(form, x[i], i, i + 1)
            yield word
            i = word.end

    def _value(self, x: list[str], i: int) -> Word | None:
        """The date, time, quantity or number that begins at a word; "one" is more often a pronoun."""
        for form, reader in self.readers:
            end, value = reader(x, i)
            if value is not None and not (value == "1" and x[i] == "one"):
                if form in (QUANTITY_FORM, NUMBER_FORM):
                    return Word(form, value, i, end, quantities.written(value, self.units))
                return Word(form, value, i, end, (value, value.zfill(5)))
        return None

    def form(self, word: str) -> str:
        """Return the word, or the frequent word that it misspells; a name is not misspelt."""
        if self.counts[word] > 1 or word in self.spelled or not may_be_misspelt(word):
            return word
        if word not in self._forms:
            keys = (word, *shortened(word))
            near = {other for key in keys for other in self.frequent.get(key, ()) if one_edit(word, other)}
            if len(self._forms) >= REMEMBERED:
                self._forms.clear()
            self._forms[word] = max(sorted(near), key=lambda other: self.counts[other], default=word)
        return self._forms[word]


def _is_short_name(x: list[str], i: int) -> bool:
    """Whether a short word has a capital within a sentence: "Mary" is then not a misspelt "Marc"."""
    text = original(x, i, i + 1)
    return i > 0 and len(text) <= SHORT and text[:1].isupper() and not text.isupper()


def joined(text: str) -> str:
    return "_".join(text.split())


# How a constant of an open type is written, given the words of the text; the first is usual.
STYLES: dict[str, Callable[[str], str]] = {
    "exact": str,
    "lower": str.lower,
    "joined": joined,
    "lower joined": lambda text: joined(text.lower()),
}


def found_style(examples: Iterable[tuple[list[str], str]]) -> str | None:
    """The style that fits most (sentence, constant) pairs; None if no sentence spells its constant."""
    hits: Counter[str] = Counter()
    for x, constant in examples:
        for words in spellings(constant):
            n = len(words)
            place = next((i for i in range(len(x) - n + 1) if x[i : i + n] == words), None)
            if place is not None:
                text = original(x, place, place + n)
                hits.update(name for name, style in STYLES.items() if style(text) == constant)
    return max(STYLES, key=lambda name: hits[name]) if hits else None
