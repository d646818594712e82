"""Limits of the content of a request, the same in every protocol of `structsvm serve`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from structsvm.integrations.starlette import Refused

MOST_BYTES = 16 << 20  # of a body: documents of INCEpTION are large
MOST_VALUES = 250_000  # of a body: commas and brackets
MOST_CHARACTERS = 1_000_000  # of the texts or tokens of a request
MOST_TOKENS = 100_000
MOST_SENTENCES = 20_000
LONGEST = 10_000  # tokens of a sentence
MOST_TASKS = 2_000  # texts or documents
MOST_REGIONS = 20_000  # spans or annotations
MOST_ELEMENTS = 300_000  # of an XML document
MOST_ATTRIBUTES = 10_000  # of an element: the parser reads all of them in one step
MOST_CONFIG = 500_000  # characters of a label configuration
DEEPEST = 20  # features in features, as `taggers.features._ready_features` refuses more
MOST_DEPTH = 100  # of elements in elements: ElementTree writes them by recursion
MOST_LEARNED = 5_000  # tokens to learn
MOST_LABELS = 1_000  # of a model that learns
MOST_LABEL = 200  # characters of a label to learn: answers repeat it for each token
MOST_KEY = 200  # characters of an idempotency key


def check_number(n: int, most: int, what: str) -> None:
    """Refuse a request with more of something than the limit."""
    if n > most:
        raise Refused(f"{n} {what} in one request; send at most {most}", 413)


def check_length(n_tokens: int, where: str) -> None:
    """Refuse a sentence with too many tokens."""
    if n_tokens > LONGEST:
        raise Refused(f"{where} has {n_tokens} tokens; the longest sentence has {LONGEST}: split it")


def check_texts(texts: Iterable[str]) -> None:
    """Refuse texts that are too long together, before they are split."""
    check_number(sum(map(len, texts)), MOST_CHARACTERS, "characters")


def check_sentences(sentences: Sequence[Sequence[str | Iterable[Any]]]) -> None:
    """Refuse too many sentences, or too many tokens or characters in them.

    A token is a word, its columns, or its features.
    """
    check_number(len(sentences), MOST_SENTENCES, "sentences")
    check_number(sum(map(len, sentences)), MOST_TOKENS, "tokens")
    check_number(sum(_characters(token) for sentence in sentences for token in sentence), MOST_CHARACTERS,
                 "characters")  # fmt: skip


def _characters(token: Any, before: int = 0, depth: int = 0) -> int:
    """The characters of a word, of columns or of features; a nested feature repeats the names before it."""
    if isinstance(token, str):
        return before + len(token)
    if not isinstance(token, (dict, list, tuple)) or depth > DEEPEST:
        return before
    if not isinstance(token, dict):
        return sum(before + len(part) for part in token if isinstance(part, str))
    return sum(_characters(value, before + len(name) + 1, depth + 1) for name, value in token.items())


def check_label_lengths(labels: Iterable[str]) -> None:
    """Refuse labels that are too long."""
    longest = max(labels, key=len, default="")
    if len(longest) > MOST_LABEL:
        what = f"has {len(longest)} characters; send at most {MOST_LABEL}"
        raise Refused(f"the label {longest[:40]!r}... {what}")
