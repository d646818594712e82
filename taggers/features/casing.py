"""How often a word of the training text has a capital: classes that tell names from other words.

A capital at the beginning of a sentence says nothing, and is not counted. One occurrence of each word is
left out, because the counts do not include the words of a new sentence either. Therefore, a word that occurs
only once has no class, like a word that never occurs.
"""

from __future__ import annotations

import numpy as np

from taggers.features._lexicon import hash_string
from taggers.features.word_classes import NONE, WORDS, WordClasses
from taggers.formats._columns import Columns

COUNTS = (2, 5, 20)  # where a new class of frequency begins
SHARES = (0.0, 0.25, 0.75, 1.0)  # of occurrences in lower case: none, fewer than, ..., all
NAMES = tuple(f"{count}{share}" for count in range(len(COUNTS) + 1) for share in "abcde")


def casing(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """The position in `NAMES` of words that occur so often in lower case, and so often with a capital."""
    share = lower / np.maximum(lower + upper, 1)
    step = (share > SHARES[0]) + sum((share >= limit).astype(int) for limit in SHARES[1:])
    return 5 * np.searchsorted(COUNTS, lower + upper, "right") + step


def find_casing(columns: Columns) -> WordClasses:
    """The classes of the words in the first column."""
    if not columns.n_tokens:
        return NONE
    _, first, inverse, counts = np.unique(
        WORDS.keys(columns)[:, 0], return_index=True, return_inverse=True, return_counts=True
    )
    texts = [columns.text(token) for token in first.tolist()]
    capital = np.array([text[:1].isupper() for text in texts])
    ids: dict[str, int] = {}
    word = np.array([ids.setdefault(text.lower(), len(ids)) for text in texts])
    starts = columns.sentence_ptr[:-1][np.diff(columns.sentence_ptr) > 0]
    counts -= capital * np.bincount(inverse[starts], minlength=len(counts))
    lower, upper = (
        np.bincount(word, counts * chosen, len(ids)).astype(np.int64) for chosen in (~capital, capital)
    )
    both = capital & (lower[word] > 0)  # forms of words that also occur in lower case
    forms = [text for text, used in zip(texts, both.tolist(), strict=True) if used]
    known = np.array([hash_string(text) for text in (*forms, *ids)], np.uint64)
    lowers = np.append(lower[word[both]], np.maximum(lower - 1, 0))
    uppers = np.append(np.maximum(upper[word[both]] - 1, 0), np.where(lower > 0, upper, upper - 1))
    keep = (lowers + uppers > 0) & (known != 0)
    order = np.argsort(known[keep])
    return WordClasses(known[keep][order], casing(lowers, uppers)[keep][order].astype(np.uint16), NAMES)
