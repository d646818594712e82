"""Load `structsvm serve` on this machine: eight clients tag one sentence at a time while another one teaches.

The model is the POS tagger of English EWT with its training state. The load generator has a limited number
of requests and seconds, and connects to 127.0.0.1 only. Paced clients send at fixed times, and the latency
counts from the time at which a request was due, so a slow answer delays no measurement. The processor time is
that of the service's process alone.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import ONE_CORE, publish, table
from corpora import find
from taggers import PosTagger
from taggers.formats.files import read_columns

CLIENTS, RATE, LESSONS = 8, 1000, 20  # requests and lessons per second
MOST_SECONDS = 30.0
TOKEN = "token-of-the-benchmark"

Sentences = list[tuple[list[str], list[str]]]


def main(*, quick: bool = False) -> None:
    """Publish a table: requests per second, processor time and latency."""
    n = 1_000 if quick else 10_000
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "pos.ssvm"
        test = _train(model, quick)
        with _service(model, Path(folder) / "journal.jsonl") as (process, port):
            found = asyncio.run(_measure(process.pid, port, test, n))
    rows = [
        [
            run["what"], run["requests"], f"{run['requests'] / run['seconds']:.0f}",
            f"{1000 * run['cpu'] / run['requests']:.2f}", f"{run['requests'] / run['cpu']:.0f}",
            *[f"{run[key]:.1f}" for key in ("p50", "p99", "worst")], run["failed"], run["lessons"],
        ]
        for run in found
    ]  # fmt: skip
    header = [
        "clients", "requests", "requests/s", "CPU ms each", "requests per CPU second", "p50 ms", "p99 ms",
        "worst ms", "failed", "sentences learned meanwhile",
    ]  # fmt: skip
    text = (
        f"{CLIENTS} connections, one sentence of EWT's test file per request "
        f"({np.mean([len(words) for words, _ in test]):.0f} tokens on average). Paced: {RATE:,} requests per "
        f"second in total; teaching: {LESSONS} sentences per second, each on disk and learned before it is "
        "acknowledged. CPU: the service alone. The empty route shows what HTTP alone costs.\n\n"
    )
    publish(f"serve{'-quick' if quick else ''}", text + table(header, rows), found)


def _train(path: Path, quick: bool) -> Sentences:
    """Train a model on EWT, and return the test sentences with their labels."""
    folder = find("ud_english_ewt")
    tagger = PosTagger(epochs=1 if quick else None)
    train = _sentences(folder / "train.conllu")[: 500 if quick else None]
    tagger.fit([words for words, _ in train], [labels for _, labels in train])
    tagger.save(path, training_state=True)
    return _sentences(folder / "test.conllu")


def _sentences(path: Path) -> Sentences:
    """Words and UPOS of a CoNLL-U file."""
    found: Sentences = []
    for columns in read_columns(str(path), wanted=(1, 3)):
        found += zip(columns.sentences(0), columns.sentences(1), strict=True)
    return found


@contextmanager
def _service(model: Path, journal: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    program = "from structsvm.cli.entry import main; main()"
    command = [sys.executable, "-c", program, "serve", str(model), "--journal", str(journal), "--port", "0"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, **ONE_CORE, "STRUCTSVM_TOKEN": TOKEN}
    )
    try:
        assert process.stdout is not None
        address = re.search(r"http://127\.0\.0\.1:(\d+)/", process.stdout.readline())
        if address is None:
            raise RuntimeError("structsvm serve did not start")
        yield process, int(address[1])
    finally:
        process.terminate()
        process.wait(60)


async def _measure(pid: int, port: int, test: Sentences, n: int) -> list[dict[str, Any]]:
    tag = [_request("tag", {"tokens": words}) for words, _ in test]
    learn = [_request("learn", {"tokens": words, "labels": labels}) for words, labels in test]
    empty = [_request("health", None)]
    await _load(pid, port, "warm-up", tag, n // 10)
    return [
        await _load(pid, port, "empty route, as fast as possible", empty, n),
        await _load(pid, port, "tagging, as fast as possible", tag, n),
        await _load(pid, port, "tagging, paced", tag, n, rate=RATE),
        await _load(pid, port, "tagging and teaching, as fast as possible", tag, n, lessons=learn),
        await _load(pid, port, "tagging and teaching, paced", tag, n, rate=RATE, lessons=learn),
    ]


def _request(path: str, body: Any) -> bytes:
    head = f"{'GET' if body is None else 'POST'} /{TOKEN}/{path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    data = b"" if body is None else json.dumps(body).encode()
    return f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data


async def _load(
    pid: int, port: int, what: str, requests: list[bytes], n: int, *,
    rate: float | None = None, lessons: list[bytes] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Send n requests over all connections, for at most MOST_SECONDS."""
    latencies: list[float] = []
    failed = [0]
    start, cpu = time.perf_counter(), _cpu_seconds(pid)

    async def client(number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for k in range(number, n, CLIENTS):
            due = time.perf_counter() if rate is None else start + k / rate
            await asyncio.sleep(max(due - time.perf_counter(), 0))
            if time.perf_counter() - start > MOST_SECONDS:
                break
            failed[0] += not await _exchange(reader, writer, requests[k % len(requests)])
            latencies.append(time.perf_counter() - due)
        writer.close()

    learned = [0]
    teacher = asyncio.create_task(_teach(port, lessons or [], learned))
    await asyncio.gather(*[client(number) for number in range(CLIENTS)])
    seconds, cpu = time.perf_counter() - start, _cpu_seconds(pid) - cpu
    teacher.cancel()
    p50, p99 = np.percentile(latencies, [50, 99])
    return {
        "what": what, "requests": len(latencies), "seconds": seconds, "cpu": cpu, "failed": failed[0],
        "p50": 1000 * p50, "p99": 1000 * p99, "worst": 1000 * max(latencies), "lessons": learned[0],
    }  # fmt: skip


async def _teach(port: int, lessons: list[bytes], learned: list[int]) -> None:
    if lessons:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for lesson in cycle(lessons):
            learned[0] += await _exchange(reader, writer, lesson)
            await asyncio.sleep(1 / LESSONS)


async def _exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> bool:
    """Send a request and read the whole answer; whether its status is 200."""
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head)
    if length is None:
        raise RuntimeError("an answer without its length")
    await reader.readexactly(int(length[1]))
    return head.startswith(b"HTTP/1.1 200")


def _cpu_seconds(pid: int) -> float:
    """The processor time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
