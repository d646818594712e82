"""Compare the time and memory of some work on n and 4n elements."""

from __future__ import annotations

import gc
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

MOST = 2.5**2  # for four times the input: 2.5 for each doubling
LEAST = 2.25  # below it, fixed costs would hide a quadratic part that is as large as the linear one
LEAST_SECONDS = 0.004  # of the work on n elements; shorter times are not reliable
SLACK_BYTES = 1 << 16
ATTEMPTS = 8

Prepare = Callable[[int], Callable[[], Any]]


def check_growth(prepare: Prepare, n: int, limit: int = 1 << 20) -> None:
    """Raise AssertionError if the work grows faster than its input, or if its growth cannot be seen.

    prepare: makes the work for so many elements; only the work itself counts. n is doubled until the work
    takes long enough, as long as 4n is at most the limit. Processor time varies, so the least of several
    attempts counts.
    """
    if sys.platform == "win32":
        pytest.skip("Windows counts processor time in steps of 16 ms")
    while 8 * n <= limit and min(_seconds(prepare(n)), _seconds(prepare(n))) < LEAST_SECONDS:
        n *= 2
    few, many = float("inf"), float("inf")
    for _ in range(ATTEMPTS):
        few, many = min(few, _seconds(prepare(n))), min(many, _seconds(prepare(4 * n)))
        if LEAST * few <= many <= MOST * few:
            break
    assert many <= MOST * few, f"the time for {n} and {4 * n} elements grows too fast: {few}, {many}"
    assert many >= LEAST * few, f"{n} elements are too few to see how the time grows: {few}, {many}"
    few, many = _peak(prepare(n)), _peak(prepare(4 * n))
    assert many <= MOST * few + SLACK_BYTES, f"the memory grows too fast: {few} to {many} bytes"


def _seconds(work: Callable[[], Any]) -> float:
    gc.disable()  # a collection takes longer, the more objects the tests have made
    try:
        before = time.process_time()
        work()
        return time.process_time() - before
    finally:
        gc.enable()


def _peak(work: Callable[[], Any]) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
