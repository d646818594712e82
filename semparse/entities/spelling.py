"""How constants are spelled, and which words misspell others."""

from __future__ import annotations

from collections.abc import Iterable

from semparse.entities.tokens import tokenize

SHORTEST, LONGEST = 4, 100  # letters of a word that may be misspelt


def spelling(constant: str) -> list[str]:
    """The words of a constant's name: `living_room` is spelled "living room", `McDonald's` "mcdonald 's"."""
    return tokenize(constant.replace("_", " "))


def spellings(constant: str) -> list[list[str]]:
    """The same, and the name split at blanks only: sentences may be given as lists of words."""
    found = [spelling(constant), constant.lower().replace("_", " ").split()]
    return [words for k, words in enumerate(found) if words and words not in found[:k]]


def one_edit(word: str, other: str) -> bool:
    """Whether one edit of a letter, or a swap of two neighbours, turns one word into the other."""
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


def may_be_misspelt(word: str) -> bool:
    return SHORTEST <= len(word) <= LONGEST and word.isalpha()


def shortened(word: str) -> Iterable[str]:
    """The word without one of its letters: words that differ in one edit share one of these, or a word."""
    return {word[:i] + word[i + 1 :] for i in range(len(word))}
