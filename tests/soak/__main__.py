"""`python -m tests.soak --seconds 600`: honest clients beside slow ones and an attacker.

16 clients tag, 4 teach, 2 are slow, and one attacks `structsvm serve` without end: entities in XML, endless
trailers, idle connections, search for the token, requests of any size, tokens that cover a text, a journal
that moves away, and pipelines. At the end, the journal must have each acknowledged sentence once, and no
other. The command prints the latency of the taggers, also during each attack, and the memory of the service.
It fails if an answer was lost, doubled or wrong, if the 99th percentile exceeds 250 ms, or if the memory
grew.
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
from bisect import bisect_left
from collections import Counter
from pathlib import Path

import numpy as np

from tests.soak.client import TOKEN, Connection, opened

TAGGERS, LEARNERS, SLOW = 16, 4, 2
TAGS, LESSONS = 5.0, 2.0  # requests per second of each client
MOST_MS = 250.0  # that 99 of 100 taggers may wait
PROGRAM = "from structsvm.cli.entry import main; main()"
X = [["Anna", "sings", "in", "Oslo", "."], ["Otto", "sleeps", "."]]
Y = [["B-PER", "O", "O", "B-LOC", "O"], ["B-PER", "O", "O"]]
Attack = tuple[str, float, float, str | None]  # its name, when it began and ended, and what was wrong


class Soak:
    """The clients, and what they have seen."""

    def __init__(self, port: int, journal: Path, end: float) -> None:
        self.port, self.journal, self.end = port, journal, end
        self.answers: list[tuple[float, float]] = []  # when taggers asked, and how long they waited
        self.versions: list[int] = []  # that learners were told
        self.acknowledged: set[str] = set()
        self.wrong: Counter[str] = Counter()

    async def run(self) -> None:
        """Run all clients until the end."""
        clients = [self.tagger(number) for number in range(TAGGERS)]
        clients += [self.learner(number) for number in range(LEARNERS)]
        clients += [self.slow(number) for number in range(SLOW)]
        await asyncio.gather(*clients)

    async def tagger(self, number: int) -> None:
        """Tag one sentence at a time on one connection; a connection that was closed is opened again."""
        connection, due = Connection(self.port), time.monotonic() + number / TAGS / TAGGERS
        while time.monotonic() < self.end:
            await asyncio.sleep(due - time.monotonic())
            begun = time.monotonic()
            status, answer = await connection.post("/tag", {"tokens": X[0]})
            self.answers.append((begun, time.monotonic() - begun))
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


async def watched(process: int, end: float) -> list[int]:
    """The memory of the service in MB, every five seconds."""
    found = []
    while time.monotonic() < end:
        status = Path(f"/proc/{process}/status").read_text()
        found.append(int(re.search(r"VmRSS:\s+(\d+)", status)[1]) >> 10)  # type: ignore[index]
        await asyncio.sleep(min(5.0, max(0.1, end - time.monotonic())))
    return found


def main() -> None:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory() as name:
        sys.exit(soak(Path(name), seconds))


def soak(folder: Path, seconds: float) -> int:
    """Run it; 1 if something is wrong."""
    from taggers import NerTagger

    NerTagger(epochs=5).fit(X, Y).save(folder / "model", training_state=True)
    journal, log = folder / "journal.jsonl", folder / "log"
    command = [sys.executable, "-c", PROGRAM, "serve", str(folder / "model"), "--journal", str(journal)]
    with log.open("w") as written, subprocess.Popen(
        [*command, "--port", "0"], stdout=subprocess.PIPE, stderr=written, text=True,
        env=os.environ | {"STRUCTSVM_TOKEN": TOKEN},
    ) as service:  # fmt: skip
        assert service.stdout is not None
        port = service.stdout.readline().split(":")[2].split("/")[0]
        attacker = subprocess.Popen(
            [sys.executable, "-m", "tests.soak.attacker", port, str(journal), str(log)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            end = time.monotonic() + seconds
            clients = Soak(int(port), journal, end)
            memory = asyncio.run(both(clients, service.pid, end))
            cpu, waited = used(service.pid)
            attacks = [json.loads(line) for line in attacker.communicate("")[0].splitlines()]
        finally:
            attacker.kill()
            attacker.wait()
            service.send_signal(signal.SIGTERM)
        code = service.wait(60)
    logged = log.read_text()
    print(f"log: {len(logged.splitlines())} lines; {cpu:.0f} CPU s; {waited:.0f} s without a free processor")
    wrong = wrong_answers(clients, attacks, journal) + wrong_memory(memory) + wrong_latency(clients, attacks)
    wrong += ["the service failed"] * (code != 0) + ["Traceback in the log"] * ("Traceback" in logged)
    wrong += ["the attacker failed"] * (attacker.returncode != 0)
    print("\n".join(wrong) or "nothing lost, nothing doubled")
    return bool(wrong)


async def both(clients: Soak, process: int, end: float) -> list[int]:
    """Run the clients, and watch the memory of the service."""
    memory, _ = await asyncio.gather(watched(process, end), clients.run())
    return memory


def used(process: int) -> tuple[float, float]:
    """Processor time of a process, and how long its event loop waited for one, in seconds."""
    ticks = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    waited = Path(f"/proc/{process}/schedstat").read_text().split()[1]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK"), int(waited) / 1e9


def wrong_answers(clients: Soak, attacks: list[Attack], journal: Path) -> list[str]:
    """What is wrong with the answers and the journal."""
    keys = [json.loads(line)["key"] for line in journal.read_text().splitlines()[1:]]
    print(f"{len(clients.answers)} sentences tagged, {len(keys)} learned; {len(attacks)} attacks")
    counts = clients.wrong + Counter(f"{name}: {wrong}" for name, _, _, wrong in attacks if wrong)
    found = [f"{n} times: {what}" for what, n in counts.items()]
    found += ["a sentence was learned twice"] * (len(keys) != len(set(keys)))
    found += ["an acknowledged sentence is lost"] * (not clients.acknowledged <= set(keys))
    found += ["a sentence was learned without an answer"] * (set(keys) != clients.acknowledged)
    found += ["two answers have the same version"] * (len(set(clients.versions)) != len(keys))
    return found


def wrong_memory(memory: list[int]) -> list[str]:
    """Whether the memory grew."""
    third = len(memory) // 3
    early, late = (float(np.median(part)) for part in (memory[third : 2 * third], memory[2 * third :]))
    print(f"memory: {memory[0]} MB at first, {early:.0f} in the second third, {late:.0f} in the last one")
    return ["the memory grew"] * (late > 1.1 * early + 8)


def wrong_latency(clients: Soak, attacks: list[Attack]) -> list[str]:
    """Whether taggers waited too long, in all or during one kind of attack."""
    answers = sorted(clients.answers)
    begun = [start for start, _ in answers]
    waited = {"": [one for _, one in answers]}
    for name, start, end, _ in attacks:
        during = answers[bisect_left(begun, start - 0.1) : bisect_left(begun, end)]
        waited.setdefault(f"during {name}", []).extend(one for _, one in during)
    found = []
    for name, ones in sorted(waited.items()):
        p50, p99, worst = (1e3 * np.quantile(ones or [0.0], [0.5, 0.99, 1.0])).tolist()
        print(f"{name:22} {len(ones):6} answers: p50 {p50:6.1f}, p99 {p99:6.1f}, worst {worst:6.1f} ms")
        found += [f"the 99th percentile {name} is over {MOST_MS:.0f} ms"] * (p99 > MOST_MS)
    return found


if __name__ == "__main__":
    main()
