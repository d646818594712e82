"""Share the event loop, the threads and the model among requests, so that none keeps others waiting."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

TURN = 0.004  # seconds
Result = TypeVar("Result")


class Access:
    """Many requests may read a model at the same time; one that changes it is alone.

    A request that wants to change it waits for those that read it already, and goes before new ones.
    """

    def __init__(self) -> None:
        self._changing = asyncio.Lock()
        self._n_reading = 0
        self._unread, self._unchanged = asyncio.Event(), asyncio.Event()
        self._unread.set()
        self._unchanged.set()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[None]:
        """The model does not change meanwhile."""
        while not self._unchanged.is_set():
            await self._unchanged.wait()
        self._n_reading += 1
        self._unread.clear()
        try:
            yield
        finally:
            self._n_reading -= 1
            if not self._n_reading:
                self._unread.set()

    @asynccontextmanager
    async def changing(self) -> AsyncIterator[None]:
        """Nobody else reads or changes the model meanwhile."""
        async with self._changing:
            self._unchanged.clear()
            try:
                while self._n_reading:
                    await self._unread.wait()
                yield
            finally:
                self._unchanged.set()


class Turns:
    """Gives other requests a turn whenever this one has worked for some milliseconds."""

    def __init__(self) -> None:
        self._since = time.monotonic()

    async def give(self) -> None:
        """Call it between two pieces of work."""
        if time.monotonic() - self._since > TURN:
            await asyncio.sleep(0)
            self._since = time.monotonic()


class Threads:
    """Runs long work in few threads: with many of them, the event loop would wait too long for the GIL."""

    def __init__(self, most: int = 2) -> None:
        self._free = asyncio.Semaphore(most)

    async def run(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """The result of `work(*arguments)`."""
        async with self._free:
            return await asyncio.to_thread(work, *arguments)
