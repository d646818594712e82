"""Sentences as words: what `Ospas` does with a string."""

from __future__ import annotations

import re
from collections.abc import Sequence

_WORD = re.compile(r"'s\b|[+-]?\d+(?:\.\d+)?(?!\w)|\w+(?:-\w+)*")


def tokenize(text: str) -> list[str]:
    """Words in lower case, without punctuation; "Anna's" is two words, so that "anna" is known again."""
    return _WORD.findall(text.lower())


def as_tokens(sentence: str | Sequence[str]) -> list[str]:
    """The words of a sentence, given as a text or as words (in lower case then, but else as they are)."""
    if isinstance(sentence, str):
        return tokenize(sentence)
    tokens = list(sentence)
    for token in tokens:
        if not isinstance(token, str):
            raise ValueError(f"{token!r} is no word: a sentence is a string or a list of strings")
    return [token.lower() for token in tokens]
