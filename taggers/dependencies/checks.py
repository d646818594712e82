"""Check the trees of a file before a parser learns from them or is compared with them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from structsvm.files.errors import DataError
from taggers.formats._columns import Columns

LATER = "correct the file, or leave out trees with --layers"


def checked_heads(columns: Columns, head: int, deprel: int) -> np.ndarray | None:
    """The head of each word, counted from 1 in its sentence; None if no word has one.

    Raise DataError for the first word whose head or label is missing or impossible, and for the first
    sentence whose heads do not form a tree with one root. head, deprel: the places of these columns.
    """
    texts, labels = columns.texts(head), columns.texts(deprel)
    if set(texts) <= {"_"}:
        return None
    heads = np.zeros(len(texts), np.int32)
    for first, last in pairwise(columns.sentence_ptr.tolist()):
        for token in range(first, last):
            heads[token] = _head(columns, token, texts[token], labels[token], last - first)
            if heads[token] == token - first + 1:
                _refuse(columns, token, f"word {heads[token]} is its own head")
        _check_tree(columns, heads[first:last].tolist(), first)
    return heads


def _head(columns: Columns, token: int, text: str, label: str, n: int) -> int:
    if text == "_":
        _refuse(columns, token, "HEAD is missing, but other words have one")
    if not (text.isascii() and text.isdigit()):
        _refuse(columns, token, f"HEAD must be the number of a word, or 0 for the root, got {text!r:.50}")
    if len(text) > 9 or int(text) > n:
        _refuse(columns, token, f"HEAD is {text:.20}, but the sentence has {n} words")
    if label == "_":
        _refuse(columns, token, "DEPREL is missing")
    return int(text)


def _check_tree(columns: Columns, heads: list[int], first: int) -> None:
    """Raise DataError unless the heads form a tree with one root."""
    roots = [word for word, head in enumerate(heads) if head == 0]
    if len(roots) > 1:
        what = f"words {roots[0] + 1} and {roots[1] + 1} both have HEAD 0; a sentence has one root"
        _refuse(columns, first + roots[1], what)
    safe = [False] * len(heads)  # known to reach the root
    for start in range(len(heads)):
        path, word = [start], heads[start] - 1
        while word >= 0 and not safe[word] and word != start and len(path) <= len(heads):
            path.append(word)
            word = heads[word] - 1
        if word >= 0 and not safe[word]:
            cycle = " -> ".join(str(one + 1) for one in [*path[:5], word])
            _refuse(columns, first + start, f"the heads form a cycle: {cycle}")
        for one in path:
            safe[one] = True


def _refuse(columns: Columns, token: int, what: str) -> None:
    raise DataError(f"{what}; {LATER}", columns.name, columns.line(token))
