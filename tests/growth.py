"""Compare the time and memory of some work on n, 2n and 4n elements."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from itertools import pairwise
from typing import Any

MOST = 2.5  # for each doubling
SLACK_SECONDS, SLACK_BYTES = 0.01, 1 << 16
ATTEMPTS = 6


def check_growth(prepare: Callable[[int], Callable[[], Any]], n: int) -> None:
    """Raise AssertionError if the work grows faster than its input.

    prepare: makes the work for so many elements; only the work itself counts. Processor time varies, so the
    least of several attempts counts.
    """
    sizes = (n, 2 * n, 4 * n)
    least = [_seconds(prepare(size)) for size in sizes]
    for _ in range(ATTEMPTS):
        if all(b <= MOST * a + SLACK_SECONDS for a, b in pairwise(least)):
            break
        least = [min(old, _seconds(prepare(size))) for old, size in zip(least, sizes, strict=True)]
    else:
        raise AssertionError(f"the time grows too fast: {least}")
    peaks = [_peak(prepare(size)) for size in sizes]
    assert all(b <= MOST * a + SLACK_BYTES for a, b in pairwise(peaks)), f"the memory grows too fast: {peaks}"


def _seconds(work: Callable[[], Any]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


def _peak(work: Callable[[], Any]) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
