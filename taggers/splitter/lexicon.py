"""The words of a treebank: where they match in a text, as features of characters.

In text without spaces, a unit is a character, elsewhere a run of letters or of other characters. Words match
from the beginning of a unit to the end of one. In training, a word counts at a place only if it also occurs
far from there, so the features say as much about words as they do in new text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taggers.features.extract import KeyTable
from taggers.splitter.characters import Characters, mixed

FOLDS = 8  # parts of the training text; words that occur in one part only are unknown there
LONGEST = {True: 8, False: 4}  # units of a word, by whether units are characters
MATCHES = 5  # columns
# k0 to k2: the lengths of the longest words that begin here, end before this character, and cross it; k3, k4:
# the longest words before and from here.
TEMPLATE = """
    k0[-1..1], k1[-1..1], k2[-1..1], k0[0]|k1[0], k0[0]|k2[0], k1[0]|k2[0], k0[0]|k1[0]|k2[0],
    k0[-1]|k0[0], k0[0]|k0[1], k1[0]|k1[1], k2[-1]|k2[0], k2[0]|k2[1], k0[0]|k1[0]|k2[0]|w[0],
    k0[0]|k1[0]|k2[0]|w[-1], k3[0], k4[0], k3[0]|k4[0], k3[0]|k2[0], k4[0]|k2[0], k3[0]|k0[0], k4[0]|k1[0]
"""


def matching(first: int) -> str:
    """The template of the matches of words, given the number of their first column."""
    return re.sub(r"k(\d)", lambda match: f"c{first + int(match[1])}", TEMPLATE)


@dataclass
class Folds:
    """The parts of the training text: that of each character, and for each word a bit for each part."""

    of_chars: np.ndarray
    of_words: np.ndarray


@dataclass
class Lexicon:
    """Hashes of words in lower case. single: whether units are characters."""

    table: KeyTable
    single: bool

    @classmethod
    def of(
        cls, words: Sequence[str], starts: np.ndarray, n_chars: int, *, single: bool
    ) -> tuple[Lexicon, Folds]:
        """The lexicon of the words of a text of `n_chars` characters, and its folds.

        starts: the place of each word.
        """
        ends = np.cumsum([len(word) + 1 for word in words])
        begins = np.append(0, ends)[:-1]
        chars = Characters("\n".join(words) + "\n")
        table = KeyTable()
        rows = table.rows(chars.substrings(begins, ends - 1), grow=True)
        of_chars = (np.arange(n_chars) * FOLDS // max(n_chars, 1)).astype(np.uint8)
        of_words = np.zeros(len(table), np.uint8)
        np.bitwise_or.at(of_words, rows, np.uint8(1) << of_chars[starts])
        return cls(table, single), Folds(of_chars, of_words)

    def knows(self, keys: np.ndarray, places: np.ndarray, folds: Folds | None) -> np.ndarray:
        """Whether words are known, given the hash of each and where it begins."""
        rows = self.table.rows(keys)
        if folds is None or not len(self.table):
            return np.asarray(rows >= 0)
        elsewhere = folds.of_words[rows] & ~(np.uint8(1) << folds.of_chars[places])
        known: np.ndarray = (rows >= 0) & (elsewhere > 0)
        return known

    def matches(
        self, text: Characters, start: np.ndarray, end: np.ndarray, group: np.ndarray, folds: Folds | None
    ) -> list[np.ndarray]:
        """Hashes for each unit and for the end, given where units begin and end.

        They stand for the lengths of the longest words that begin there, end before it, and cross it, and for
        the longest words that end before it and begin there. group: no word has units of several groups.
        """
        n = len(start)
        lengths = np.zeros((3, n + 1), np.uint64)
        before, after = np.zeros((2, n + 1), np.uint64)
        for size in range(1, min(LONGEST[self.single], n) + 1):
            keys = text.substrings(start[: n - size + 1], end[size - 1 :])
            same = group[: n - size + 1] == group[size - 1 :]
            at = np.flatnonzero(self.knows(keys, start[: n - size + 1], folds) & same)
            lengths[0, at] = lengths[1, at + size] = size
            after[at] = before[at + size] = keys[at]
            for inside in range(1, size):
                lengths[2, at + inside] = size
        return [*mixed(lengths + np.array([[0], [16], [32]], np.uint64)), before, after]

    def columns(self, text: Characters, folds: Folds | None = None) -> list[np.ndarray]:
        """The matches for each character that begins a unit, and for each space before one; elsewhere 0."""
        start, end = text.units(self.single)
        found = self.matches(text, start, end, text.line[start], folds)
        unit = np.searchsorted(start, text.place)
        begins = text.space | (np.append(start, -1)[unit] == text.place)
        return [np.where(begins, values[unit], np.uint64(0)) for values in found]
