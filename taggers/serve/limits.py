"""Limits of the content of a request, the same in every protocol of `structsvm serve`."""

from __future__ import annotations

from structsvm.integrations.starlette import Refused

MOST_BYTES = 16 << 20  # of a body: documents of INCEpTION are large
MOST_CHARACTERS = 2_000_000  # of the texts of a request
MOST_TOKENS = 200_000
MOST_SENTENCES = 50_000
LONGEST = 10_000  # tokens of a sentence
MOST_TASKS = 2_000  # texts or documents
MOST_REGIONS = 20_000  # spans or annotations
MOST_ELEMENTS = 300_000  # of an XML document
MOST_LEARNED = 5_000  # tokens to learn
MOST_LABELS = 1_000  # of a model that learns
MOST_KEY = 200  # characters of an idempotency key


def check_number(n: int, most: int, what: str) -> None:
    """Refuse a request with more of something than the limit."""
    if n > most:
        raise Refused(f"{n} {what} in one request; send at most {most}", 413)


def check_length(n_tokens: int, where: str) -> None:
    """Refuse a sentence with too many tokens."""
    if n_tokens > LONGEST:
        raise Refused(f"{where} has {n_tokens} tokens; the longest sentence has {LONGEST}: split it")
