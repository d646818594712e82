"""`python -m tests.soak.attacker PORT JOURNAL LOG`: attack the service until the end of the input.

It prints a line of JSON for each attack: its name, when it began and ended, and what was wrong or null.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import resource
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from tests.inception import LAYER, TYPES, xmi
from tests.soak.client import TOKEN, Connection, opened

IDLE = 1100
TRAILERS = 60 << 20  # bytes
PIPELINE = 50_000  # requests
CONFIG = (
    '<View><Labels name="l" toName="t"><Label value="PER"/></Labels><Text name="t" value="$text"/></View>'
)
METADATA = {"layer": LAYER, "feature": "value"}
UTF_7 = '<?xml version="1.0"?><?xml version="1.0" encoding="UTF-7"?>+ADw-+ACE-DOCTYPE x +AFs- +AF0-+AD4-'
CHUNKED = b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n"


def inception(document: str) -> dict[str, Any]:
    """A request of INCEpTION."""
    return {"metadata": METADATA, "document": {"xmi": document}, "typeSystem": TYPES}


def studio(n: int) -> dict[str, Any]:
    """A request of Label Studio with n tasks."""
    return {"project": "1", "label_config": CONFIG, "tasks": [{"data": {"text": "Anna sings."}}] * n}


def webhook() -> dict[str, Any]:
    """A text of 800,000 emoji with 200 regions, of which nothing is learned."""
    region = {"type": "labels", "from_name": "l", "value": {"start": 3, "end": 7, "labels": ["PER"]}}
    return {
        "action": "ANNOTATION_CREATED", "project": {"id": 1, "label_config": CONFIG},
        "task": {"data": {"text": "\U0001f600" * 800_000}}, "annotation": {"result": [region] * 200},
    }  # fmt: skip


# Path, body and expected status. They are encoded once: the attacker should not need much processor time.
Requests = list[tuple[str, Callable[[], Any], int]]
PREDICT = "/inception/predict"
LARGE: Requests = [
    ("/label-studio/predict", lambda: studio(20_000), 413),
    ("/label-studio/predict", lambda: studio(2000), 200),
    ("/label-studio/webhook", webhook, 201),
    ("/tag", lambda: {"sentences": [["a"]] * 1_500_000}, 413),
    ("/tag", lambda: {"sentences": [["a"]] * 20_000}, 200),
    ("/tag", lambda: {"text": "Anna sings in Oslo.\n" * 15_000}, 200),
]
ENTITIES: Requests = [
    (PREDICT, lambda: inception(UTF_7 + xmi("Anna", [(0, 4)], [(0, 4)]).partition("?>")[2]), 400)
]
COVERING: Requests = [
    (PREDICT, lambda: inception(xmi("a " * 200_000, [(0, 400_000)] * 10_000, [(0, 400_000)])), 400)
]


class Attacker:
    """The attacks. Each returns what was wrong, or None."""

    def __init__(self, port: int, journal: Path, log: Path) -> None:
        self.port, self.journal, self.log = port, journal, log
        self.large, self.entities, self.covering = map(self.requests, (LARGE, ENTITIES, COVERING))

    async def run(self, ended: threading.Event) -> None:
        """One attack after the other."""
        attacks = {
            "entities": self.entities, "trailers": self.trailers, "idle": self.idle, "token": self.token,
            "large": self.large, "covering": self.covering, "moved": self.moved, "pipeline": self.pipeline,
        }  # fmt: skip
        while True:
            for name, attack in attacks.items():
                if ended.is_set():
                    return
                begun = time.monotonic()
                wrong = await attack()
                print(json.dumps([name, begun, time.monotonic(), wrong]), flush=True)
                await asyncio.sleep(0.2)

    def requests(self, requests: Requests) -> Callable[[], Awaitable[str | None]]:
        """An attack with requests that must get these statuses."""
        several = [(path, json.dumps(body()).encode(), status) for path, body, status in requests]

        async def attack() -> str | None:
            for path, body, expected in several:
                connection = Connection(self.port)
                status, _ = await connection.post(path, body)
                connection.close()
                if status != expected:
                    return f"{path} with {len(body)} bytes answers {status} instead of {expected}"
            return None

        return attack

    async def trailers(self) -> str | None:
        """Trailers without end and without the token: refused soon; what still comes is thrown away."""
        part = b"a:b\r\n" * 10_000
        async with opened(self.port) as (reader, writer):
            with contextlib.suppress(OSError):
                writer.write(CHUNKED)
                for _ in range(TRAILERS // len(part)):
                    writer.write(part)
                    await asyncio.wait_for(writer.drain(), 30)
            with contextlib.suppress(OSError):
                answer = await asyncio.wait_for(reader.readline(), 30)
                return (
                    None if answer.split()[1:2] in ([b"401"], [b"431"]) else f"answer {answer!r} to trailers"
                )
        return None

    async def idle(self) -> str | None:
        """More connections than the service has places; one of them sends a request in the end."""
        async with contextlib.AsyncExitStack() as stack:
            for _ in range(IDLE):
                await stack.enter_async_context(opened(self.port))
            await asyncio.sleep(0.5)
            status, _ = await Connection(self.port).post("/tag", {"tokens": ["Anna"]})
        return None if status == 200 else f"status {status} beside {IDLE} idle connections"

    async def token(self) -> str | None:
        """Look for the token where other users of the machine can."""
        return await asyncio.to_thread(found_token, self.log)

    async def moved(self) -> str | None:
        """Move the journal away for a second."""
        away = self.journal.with_suffix(".away")
        self.journal.rename(away)
        await asyncio.sleep(1)
        if self.journal.exists():
            return "there is a second journal"
        away.rename(self.journal)
        return None

    async def pipeline(self) -> str | None:
        """Many requests in one connection, which is read at the same time."""
        one, n = f"GET /{TOKEN}/health HTTP/1.1\r\nHost: localhost\r\n\r\n".encode(), 0
        try:
            async with pipelined(self.port, one * 100, PIPELINE // 100) as reader:
                rest = b""
                while part := await reader.read(1 << 16):
                    rest += part
                    n += rest.count(b"HTTP/1.1 200 ")
                    rest = rest[rest.rfind(b"HTTP/1.1 200 ") + 13 :][-4000:]
        except OSError as error:
            return f"a pipeline with {n} answers ended with {error}"
        return None if n == PIPELINE else f"a pipeline with {n} answers"


@contextlib.asynccontextmanager
async def pipelined(port: int, part: bytes, times: int) -> AsyncIterator[asyncio.StreamReader]:
    """The answers to requests that are being sent."""
    async with opened(port) as (reader, writer):

        async def send() -> None:
            for _ in range(times):
                writer.write(part)
                await writer.drain()
            writer.write_eof()

        sending = asyncio.create_task(send())
        try:
            yield reader
        finally:
            await sending


def found_token(log: Path) -> str | None:
    """Where the token stands among the arguments of all processes and in the log, or None."""
    token = TOKEN.encode()
    for path in [*Path("/proc").glob("[0-9]*/cmdline"), log]:
        with contextlib.suppress(OSError):  # the process has ended
            if token in path.read_bytes():
                return f"the token is in {path.name}"
    return None


def main() -> None:
    """Run it from the command line."""
    port, journal, log = sys.argv[1:]
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most if 0 <= most < 1 << 16 else 1 << 16, most))
    ended = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    asyncio.run(Attacker(int(port), Path(journal), Path(log)).run(ended))
    os._exit(0)


if __name__ == "__main__":
    main()
