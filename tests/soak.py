"""`python -m tests.soak --seconds 600`: honest clients beside slow ones and an attacker.

16 clients tag, 4 teach, 2 are slow, and one attacks `structsvm serve` without end: entities in XML, endless
trailers, idle connections, requests of any size, tokens that cover a text, a journal that moves away, and
pipelines. At the end, the journal must have each acknowledged sentence once, and no other. The command
prints the latency of the taggers and the memory of the service, and fails if an answer was lost, doubled or
wrong, if the 99th percentile exceeds 250 ms, or if the memory grew.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.inception import LAYER, TYPES, xmi

TAGGERS, LEARNERS, SLOW = 16, 4, 2
TAGS, LESSONS = 5.0, 2.0  # requests per second of each client
TOKEN = "a-token-of-the-soak"
MOST_LATENCY = 0.25  # seconds, of 99 requests in 100
CONFIG = (
    '<View><Labels name="l" toName="t"><Label value="PER"/></Labels><Text name="t" value="$text"/></View>'
)
X = [["Anna", "sings", "in", "Oslo", "."], ["Otto", "sleeps", "."]]
Y = [["B-PER", "O", "O", "B-LOC", "O"], ["B-PER", "O", "O"]]


class Soak:
    """The clients, and what they have seen."""

    def __init__(self, port: int, journal: Path, end: float) -> None:
        self.port, self.journal, self.end = port, journal, end
        self.latencies: list[float] = []
        self.versions: list[int] = []  # that learners were told
        self.acknowledged: set[str] = set()
        self.wrong: Counter[str] = Counter()
        self.attacks: Counter[str] = Counter()

    async def run(self) -> None:
        clients = [self.tagger(number) for number in range(TAGGERS)]
        clients += [self.learner(number) for number in range(LEARNERS)]
        clients += [self.slow(number) for number in range(SLOW)]
        await asyncio.gather(*clients, self.attacker())

    # -- honest clients -------------------------------------------------------------------------------

    async def tagger(self, number: int) -> None:
        """Tag one sentence at a time on one connection; a connection that was closed is opened again."""
        connection, due = Connection(self.port), time.monotonic() + number / TAGS / TAGGERS
        while time.monotonic() < self.end:
            await asyncio.sleep(due - time.monotonic())
            begun = time.monotonic()
            status, answer = await connection.post("/tag", {"tokens": X[0]})
            self.latencies.append(time.monotonic() - begun)
            if status != 200 or len(answer["sentences"][0]["labels"]) != len(X[0]):
                self.wrong[f"tag {status}"] += 1
            due = max(due + 1 / TAGS, time.monotonic())

    async def learner(self, number: int) -> None:
        """Teach sentences, each with a key, until each is acknowledged."""
        connection, k = Connection(self.port), 0
        while time.monotonic() < self.end:
            key, k = f"{number}-{k}", k + 1
            body = {"tokens": [f"Name{k % 500}", "sings"], "labels": ["B-PER", "O"]}
            while True:
                status, answer = await connection.post("/learn", body, f"Idempotency-Key: {key}\r\n")
                if status != 507:  # the attacker has moved the journal
                    break
                await asyncio.sleep(0.1)
            if status == 200:
                self.acknowledged.add(key)
                self.versions.append(answer["version"])
            else:
                self.wrong[f"learn {status}"] += 1
            await asyncio.sleep(1 / LESSONS)

    async def slow(self, number: int) -> None:
        """Send or read a byte now and then."""
        while time.monotonic() < self.end:
            with contextlib.suppress(OSError):  # closed to make room
                await self.trickle(0.2 if number else 0.5)

    async def trickle(self, pause: float) -> None:
        """Send a request byte by byte."""
        async with opened(self.port) as (reader, writer):
            head = f"POST /{TOKEN}/tag HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20\r\n\r\n"
            for byte in (head + '{"text": "Anna sin').encode():
                if time.monotonic() > self.end:
                    return
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(pause)
            await reader.read(1)

    # -- the attacker ---------------------------------------------------------------------------------

    async def attacker(self) -> None:
        attacks = [
            self.entities,
            self.trailers,
            self.idle,
            self.large,
            self.covering,
            self.moved,
            self.pipeline,
        ]
        while time.monotonic() < self.end:
            for attack in attacks:
                with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                    await attack()
                self.attacks[attack.__name__] += 1
                await asyncio.sleep(0.2)

    async def entities(self) -> None:
        head = '<?xml version="1.0"?><?xml version="1.0" encoding="UTF-7"?>+ADwAIQ-DOCTYPE x+AFs-+AD4-'
        document = {"xmi": head + xmi("Anna &e;", [(0, 4)], [(0, 4)]).partition("?>")[2]}
        await self.ask("/inception/predict", metadata={"layer": LAYER, "feature": "value"}, document=document,
                       typeSystem=TYPES)  # fmt: skip

    async def trailers(self) -> None:
        async with opened(self.port) as (_, writer):
            writer.write(
                b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n"
            )
            for _ in range(200):
                writer.write(b"a:b\r\n" * 10_000)
                await asyncio.wait_for(writer.drain(), 10)

    async def idle(self) -> None:
        async with contextlib.AsyncExitStack() as stack:
            for _ in range(600):
                await stack.enter_async_context(opened(self.port))
            await asyncio.sleep(0.5)

    async def large(self) -> None:
        await self.ask("/label-studio/predict", project="1", label_config=CONFIG,
                       tasks=[{"data": {"text": "Anna sings."}}] * 20_000)  # fmt: skip
        await self.ask("/label-studio/predict", project="1", label_config=CONFIG,
                       tasks=[{"data": {"text": "Anna sings."}}] * 2000)  # fmt: skip
        await self.ask("/tag", sentences=[["a"]] * 200_000)
        await self.ask("/tag", text="Anna sings in Oslo.\n" * 15_000)

    async def covering(self) -> None:
        document = {"xmi": xmi("a " * 200_000, [(0, 400_000)] * 10_000, [(0, 400_000)])}
        await self.ask("/inception/predict", metadata={"layer": LAYER, "feature": "value"}, document=document,
                       typeSystem=TYPES)  # fmt: skip

    async def moved(self) -> None:
        away = self.journal.with_suffix(".away")
        self.journal.rename(away)
        await asyncio.sleep(1)
        away.rename(self.journal)

    async def pipeline(self) -> None:
        async with opened(self.port) as (reader, writer):
            one = f"GET /{TOKEN}/health HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()

            async def send() -> None:
                for _ in range(20):
                    writer.write(one * 100)
                    await writer.drain()
                writer.write_eof()

            sending = asyncio.create_task(send())
            found = b""
            while part := await reader.read(1 << 16):
                found += part
            await sending
            if (n := found.count(b"HTTP/1.1 200 ")) != 2000:
                self.wrong[f"pipeline with {n} answers"] += 1

    async def ask(self, path: str, **body: Any) -> None:
        status, _ = await Connection(self.port).post(path, body)
        if status not in (200, 400, 413):
            self.wrong[f"attack {path} {status}"] += 1


class Connection:
    """Posts JSON; opens the connection again if the service closed it to make room."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, body: Any, header: str = "") -> tuple[int, Any]:
        data = json.dumps(body).encode()
        head = (
            f"POST /{TOKEN}{path} HTTP/1.1\r\nHost: localhost\r\n{header}Content-Length: {len(data)}\r\n\r\n"
        )
        for _ in range(20):
            try:
                if self.streams is None:
                    self.streams = await asyncio.open_connection("127.0.0.1", self.port)
                reader, writer = self.streams
                writer.write(head.encode() + data)
                await writer.drain()
                found = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"content-length: (\d+)", found)
                content = await reader.readexactly(int(length[1]) if length else 0)
                if b"connection: close" in found:
                    self.close()
                return int(found.split()[1]), json.loads(content or b"null")
            except (OSError, asyncio.IncompleteReadError):
                self.close()
        return 0, None

    def close(self) -> None:
        if self.streams is not None:
            self.streams[1].transport.abort()
            self.streams = None


@contextlib.asynccontextmanager
async def opened(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection that is closed at once in the end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def watched(process: int, end: float) -> list[int]:
    """The memory of the service in MB, every five seconds."""
    found = []
    while time.monotonic() < end:
        status = Path(f"/proc/{process}/status").read_text()
        found.append(int(re.search(r"VmRSS:\s+(\d+)", status)[1]) >> 10)  # type: ignore[index]
        await asyncio.sleep(min(5.0, max(0.1, end - time.monotonic())))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sys.exit(soak(folder, seconds))


def soak(folder: Path, seconds: float) -> int:
    """Run it; 1 if something is wrong."""
    from taggers import NerTagger

    NerTagger(epochs=5).fit(X, Y).save(folder / "model", training_state=True)
    journal = folder / "journal.jsonl"
    program = "from structsvm.cli.entry import main; main()"
    command = [sys.executable, "-c", program, "serve", str(folder / "model"), "--journal", str(journal)]
    with (folder / "log").open("w+") as log, subprocess.Popen(
        [*command, "--port", "0"], stdout=subprocess.PIPE, stderr=log, text=True,
        env=os.environ | {"STRUCTSVM_TOKEN": TOKEN},
    ) as process:  # fmt: skip
        assert process.stdout is not None
        port = int(process.stdout.readline().split(":")[2].split("/")[0])
        end = time.monotonic() + seconds
        clients = Soak(port, journal, end)

        async def both() -> list[int]:
            memory, _ = await asyncio.gather(watched(process.pid, end), clients.run())
            return memory

        try:
            memory = asyncio.run(both())
            cpu = sum(
                map(int, Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[11:13])
            )
        finally:
            process.send_signal(signal.SIGTERM)
        code = process.wait(60)
        log.seek(0)
        logged = log.read()
    keys = [json.loads(line)["key"] for line in journal.read_text().splitlines()[1:]]
    p50, p99, worst = np.quantile(clients.latencies, [0.5, 0.99, 1.0]).tolist()
    third = len(memory) // 3
    early, late = (float(np.median(part)) for part in (memory[third : 2 * third], memory[2 * third :]))
    shown = f"p50 {1e3 * p50:.1f}, p99 {1e3 * p99:.1f}, worst {1e3 * worst:.1f} ms"
    seconds = cpu / os.sysconf("SC_CLK_TCK")
    print(f"{len(clients.latencies)} sentences tagged: {shown}")
    print(f"{len(keys)} sentences learned; {sum(clients.attacks.values())} attacks; {seconds:.0f} CPU s")
    print(f"memory: {memory[0]} MB at first, {early:.0f} in the second third, {late:.0f} in the last one")
    print(f"log: {len(logged.splitlines())} lines")
    wrong = [f"{n} times: {what}" for what, n in clients.wrong.items()]
    wrong += ["the service failed"] * (code != 0) + ["Traceback in the log"] * ("Traceback" in logged)
    wrong += ["a sentence was learned twice"] * (len(keys) != len(set(keys)))
    wrong += ["an acknowledged sentence is lost"] * (not clients.acknowledged <= set(keys))
    wrong += ["a sentence was learned without an answer"] * (set(keys) != clients.acknowledged)
    wrong += ["two answers have the same version"] * (len(set(clients.versions)) != len(keys))
    wrong += [f"the 99th percentile is over {1e3 * MOST_LATENCY:.0f} ms"] * (p99 > MOST_LATENCY)
    wrong += ["the memory grew"] * (late > 1.1 * early + 8)
    print("\n".join(wrong) or "nothing lost, nothing doubled")
    return bool(wrong)


if __name__ == "__main__":
    main()
