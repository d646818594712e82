"""`structsvm.batch_by_share.v1`: batches that follow the size of the corpus, so that evaluation does too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

from spacy.util import registry


@registry.batchers("structsvm.batch_by_share.v1")
def make_batcher(shares: int = 10) -> Callable[[Iterable[Any]], Iterator[list[Any]]]:
    """Cut each epoch into `shares` batches of about the same size.

    An update learns from its examples one by one, so the size of a batch does not change what is learned.
    It decides when `spacy train` evaluates: with eval_frequency = 1 and 10 shares, ten times per epoch and
    after the last batch, for a corpus of any size.
    """
    if shares < 1:
        raise ValueError(f"shares must be at least 1, got {shares}")

    def batches(items: Iterable[Any]) -> Iterator[list[Any]]:
        items = list(items)
        count = min(shares, len(items))
        for start, end in pairwise(len(items) * k // max(count, 1) for k in range(count + 1)):
            yield items[start:end]

    return batches
