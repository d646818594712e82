"""The characters of a text as columns of the splitter, computed for all characters at once."""

from __future__ import annotations

import unicodedata
import zlib
from functools import cached_property
from typing import Any

import numpy as np

from taggers.features.attributes import shape

BASE = np.uint64(0x9E3779B97F4A7C15)  # odd, so that it has an inverse
INVERSE = np.uint64(pow(int(BASE), -1, 1 << 64))


class Characters:
    """The characters of a text and what the features need to know about each."""

    def __init__(self, text: str) -> None:
        self.codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        distinct, self.kind = np.unique(self.codes, return_inverse=True)
        self.distinct = [chr(code) for code in distinct.tolist()]
        self.place = np.arange(len(self.codes))
        self.space = self._each([char.isspace() for char in self.distinct])
        self.ends_line = self._each([char.splitlines() != [char] for char in self.distinct])
        self.line = np.cumsum(self.ends_line) - self.ends_line

    def _each(self, values: list[Any]) -> np.ndarray:
        return np.array(values)[self.kind] if values else np.zeros(0, bool)

    def _hashed(self, chars: list[str]) -> np.ndarray:
        """A hash for each character, given what represents each distinct character."""
        codes = [ord(char) for char in chars]
        return mixed(np.array(codes, np.uint64))[self.kind]

    @cached_property
    def substrings(self) -> Substrings:
        """The hashes of substrings in lower case."""
        return Substrings(self._hashed([char.lower()[0] for char in self.distinct]))

    @cached_property
    def written(self) -> np.ndarray:
        """A hash of each character; all spaces are the same."""
        return self._hashed([" " if char.isspace() else char for char in self.distinct])

    @cached_property
    def kinds(self) -> np.ndarray:
        """A hash of the shape of each character."""
        return self._hashed([" " if char.isspace() else shape(char)[0] for char in self.distinct])

    @cached_property
    def scripts(self) -> np.ndarray:
        """A hash of the script of each letter, and of the category of each other character."""
        names = [script(char) for char in self.distinct]
        return np.array([zlib.crc32(name.encode()) for name in names], np.uint64)[self.kind]

    @property
    def sequences(self) -> np.ndarray:
        """Where lines begin, and the end of the last one."""
        return np.unique([0, *(np.flatnonzero(self.ends_line) + 1).tolist(), len(self.codes)])

    def chunks(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the text between spaces begins and ends."""
        return _runs(np.where(self.space, 0, 1))

    def units(self, single: bool) -> tuple[np.ndarray, np.ndarray]:
        """Where units begin and end: single characters, or runs of letters and runs of other characters."""
        if single:
            start = np.flatnonzero(~self.space)
            return start, start + 1
        return _runs(np.where(self.space, 0, 1 + self._each([is_letter(char) for char in self.distinct])))

    def columns(
        self, starts: np.ndarray, ends: np.ndarray, place: np.ndarray | None = None
    ) -> list[np.ndarray]:
        """The columns of the template, given where chunks begin and end; place: which characters, or all."""
        place = self.place if place is None else place
        chunk = np.searchsorted(starts, place, "right") - 1
        outside = np.append(ends, 0)[chunk] <= place  # spaces belong to the chunk before them
        start = np.where(outside, place, np.append(starts, 0)[chunk])
        end = np.where(outside, place, np.append(ends, 0)[chunk])
        chars, shapes = self.substrings, _Shapes(self.kinds)
        whole, outlines = chars(starts, ends), shapes(starts, ends)
        near = [_neighbours(k, self.line[place], self.line[starts]) for k in (chunk - ~outside, chunk + 1)]
        return [
            self.written[place], self.kinds[place],
            chars(start, place), chars(place, end), shapes(start, place), shapes(place, end),
            *[np.append(values, EDGE)[k] for values in (whole, outlines) for k in near],
        ]  # fmt: skip


def _runs(kinds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where runs of equal numbers above 0 begin and end."""
    changes = kinds[1:] != kinds[:-1]
    starts = np.flatnonzero((kinds > 0) & np.append(True, changes)[: len(kinds)])
    return starts, np.flatnonzero((kinds > 0) & np.append(changes, True)[: len(kinds)]) + 1


def is_letter(char: str) -> bool:
    """Whether a character belongs to a word: a letter, a mark or a digit."""
    return unicodedata.category(char)[0] in "LMN"


def script(char: str) -> str:
    """The first word of the name of a letter, such as HIRAGANA, or the category of another character."""
    category = unicodedata.category(char)
    if category[0] not in "LM" or category == "Lu":
        return category
    return unicodedata.name(char, category).partition(" ")[0]


def _neighbours(chunk: np.ndarray, line: np.ndarray, chunk_line: np.ndarray) -> np.ndarray:
    """The number of a chunk near each character; the number of chunks if it lies on another line."""
    same = np.append(chunk_line, -1)[chunk] == line
    return np.where(same, chunk, len(chunk_line))


class Substrings:
    """Hashes of substrings: differences of prefix sums, as in the Rabin-Karp algorithm.

    counted: which values belong to the sequence; by default all.
    """

    def __init__(self, values: np.ndarray, counted: np.ndarray | None = None) -> None:
        counted = np.ones(len(values), bool) if counted is None else counted
        self.before = np.append(0, np.cumsum(counted))
        powers = np.cumprod(np.full(len(values), BASE), dtype=np.uint64)
        terms = np.where(counted, values * np.append(np.uint64(1), powers)[self.before[:-1]], np.uint64(0))
        self.sums = np.append(np.uint64(0), np.cumsum(terms, dtype=np.uint64))
        inverses = np.cumprod(np.full(len(values), INVERSE), dtype=np.uint64)
        self.inverses = np.append(np.uint64(1), inverses)

    def __call__(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """The hash of each substring; 0, for no feature, if it is empty."""
        moved = (self.sums[end] - self.sums[start]) * self.inverses[self.before[start]]
        return np.where(end > start, mixed(moved), np.uint64(0))


class _Shapes(Substrings):
    """Hashes of substrings in which equal neighbours count once."""

    def __init__(self, kinds: np.ndarray) -> None:
        self.first = np.append(kinds, np.uint64(0))
        super().__init__(kinds, np.append(True, kinds[1:] != kinds[:-1])[: len(kinds)])

    def __call__(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        rest = super().__call__(np.minimum(start + 1, end), end)
        return np.where(end > start, mixed(self.first[start] ^ rest), np.uint64(0))


def mixed(values: np.ndarray) -> np.ndarray:
    """Mix the bits of 64-bit numbers, as in splitmix64."""
    values = values + BASE
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: np.ndarray = values ^ (values >> np.uint64(31))
    return mixed


EDGE = mixed(np.zeros(1, np.uint64))  # instead of a chunk on another line
