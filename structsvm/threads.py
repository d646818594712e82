"""Threads that a signal ends soon, and blocks that it does not interrupt."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from threading import current_thread, main_thread
from typing import Any

import numpy as np

from structsvm.signals import Stop, Stopped

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextmanager
def deferred(stop: Stop) -> Iterator[None]:
    """Let signals set `stop`; the handler of the first one runs after the block, not within it."""
    caught: list[tuple[int, Any]] = []

    def note(number: int, frame: Any) -> None:
        caught.append((number, frame))
        stop.ask()

    handlers: dict[int, Any] = {}
    if current_thread() is main_thread():  # only there do handlers run
        handlers = {n: own for n in SIGNALS if callable(own := signal.getsignal(n))}
    for number in handlers:
        signal.signal(number, note)
    try:
        yield
    finally:
        for number, own in handlers.items():
            signal.signal(number, own)
        for number, frame in caught[:1]:
            handlers[number](number, frame)


def stoppable(work: Callable[..., Any], stop: Stop) -> Callable[..., Any]:
    """Wrap `work` so that `stop` ends it at its next check for Ctrl-C; the result is then None."""

    def run(*arguments: Any) -> Any:
        try:
            with stop:
                return work(*arguments)
        except Stopped:
            return None

    return run


def in_threads(tasks: Sequence[Callable[[], Any]], jobs: int, stop: Stop | None = None) -> list[Any]:
    """Run the tasks in several threads, including this one; return their results.

    Ctrl-C and errors set `stop`, and are raised when all threads have ended.
    """
    stop, results = stop or Stop(), [None] * len(tasks)
    remaining = iter(list(enumerate(tasks)))  # each thread takes the next one

    def work() -> None:
        try:
            for k, task in remaining:
                results[k] = task()
        except BaseException:
            stop.ask()
            raise

    with deferred(stop), ThreadPoolExecutor(max(jobs - 1, 1)) as pool:
        others = [pool.submit(work) for _ in range(min(jobs, len(tasks)) - 1)]
        work()
    for other in others:
        other.result()
    return results


def for_each(work: Callable[[int], Any], n: int, jobs: int, stop: Stop | None = None) -> list[Any]:
    """The results of `work` for 0 to n - 1, by `in_threads` if there are several jobs."""
    if min(jobs, n) == 1:
        return [work(k) for k in range(n)]
    return in_threads([partial(work, k) for k in range(n)], jobs, stop)


class StoppablePool(ThreadPoolExecutor):
    """A pool that, on an error or Ctrl-C in its `with` block, stops running tasks and drops waiting ones."""

    def __init__(self, jobs: int) -> None:
        super().__init__(jobs)
        self._stop = Stop()

    def submit(self, work: Callable[..., Any], /, *arguments: Any, **options: Any) -> Any:
        return super().submit(stoppable(work, self._stop), *arguments, **options)

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> bool | None:
        if kind is not None:
            self._stop.ask()
            self.shutdown(wait=False, cancel_futures=True)
        return super().__exit__(kind, error, traceback)


def in_slices(order: np.ndarray, size: int = 256) -> Iterable[np.ndarray]:
    """Split an order into short pieces, so that Ctrl-C can interrupt between them."""
    return (order[at : at + size] for at in range(0, len(order), size))
