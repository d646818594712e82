"""The words of a text in lower case, and their places, so that names keep their original form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import accumulate

# Possessives, dates, times, numbers, and words with hyphens, also those of the kind of C++ and C#.
_WORD = re.compile(
    r"['\u2019]s\b|\d{4}-\d\d-\d\d(?!\w)|\d{1,2}:\d\d(?::\d\d)?(?!\w)|[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\w)"
    r"|[+-]?\d+(?:\.\d+)?(?!\w)|\w+(?:-\w+)*(?:(?:\+\+|#)(?!\w))?",
    re.IGNORECASE,
)
_MARK = re.compile(r"[,;:!?()\n]")


class Tokens(list[str]):
    """Words in lower case, with their text and their places in it."""

    def __init__(self, words: Iterable[str], text: str, spans: Sequence[tuple[int, int]]) -> None:
        super().__init__(words)
        self.text, self.spans = text, spans


def read(text: str) -> Tokens:
    """The words of a text."""
    found = list(_WORD.finditer(text))
    return Tokens((_folded(match[0]) for match in found), text, [match.span() for match in found])


def listed(words: Sequence[str]) -> Tokens:
    """Words that are given one by one."""
    ends = accumulate(words, lambda end, word: end + 1 + len(word), initial=-1)
    spans = [(end + 1, end + 1 + len(word)) for end, word in zip(ends, words, strict=False)]
    return Tokens((_folded(word) for word in words), " ".join(words), spans)


def _folded(word: str) -> str:
    return word.lower().replace("\u2019", "'")


def tokenize(text: str) -> list[str]:
    """Words in lower case, without punctuation; "Anna's" becomes two words, so "anna" is recognised."""
    return list(read(text))


def continues(x: Sequence[str], i: int) -> bool:
    """Whether a word and the next one may belong to one name: nothing separates them, and case agrees."""
    if not isinstance(x, Tokens) or x[i + 1].startswith("'"):
        return True
    first, gap, second = original(x, i, i + 1), x.text[x.spans[i][1] : x.spans[i + 1][0]], x.spans[i + 1][0]
    return not _MARK.search(gap) and first[:1].isupper() == x.text[second : second + 1].isupper()


def original(x: Sequence[str], start: int, end: int) -> str:
    """The part of the text from one word to another."""
    if isinstance(x, Tokens):
        return x.text[x.spans[start][0] : x.spans[end - 1][1]]
    return " ".join(x[start:end])
