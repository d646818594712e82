"""`python -m tests.faults --kills 200 --seed 0`: kill commands at random moments and look at what is left.

A process with everything imported forks; the child runs one command and is killed after a random share of
the time that the command takes. Afterwards the output must be the old file or the new one, byte by byte, and
nothing else may have appeared under a name that a user would see. SIGTERM must leave no hidden file either.
A journal must contain every record whose `append` returned, in order, and at most one more.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from structsvm.files import load_model, save_model
from structsvm.files.journal import Journal
from tests.taggers.sentences import as_columns

Job = Callable[[], object]
BAGS = b"gus passes to anna\tpass(gus, anna);shot(gus)\nanna shoots\tshot(anna)\n" * 40


def command(*arguments: str) -> Job:
    """A run of the command line in this process, without its output."""

    def job() -> None:
        from structsvm.cli.entry import main

        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        sys.argv = ["structsvm", *arguments]
        main()

    return job


def start(job: Job, folder: Path) -> int:
    """Run a job in a child process; return its number."""
    child = os.fork()
    if child:
        return child
    code = 70
    try:
        os.chdir(folder)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        job()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    finally:
        os._exit(code)


def wait(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def jobs(folder: Path) -> dict[str, tuple[str, Job]]:
    """What is killed, with the file it writes, and the files that it reads."""
    (folder / "train.txt").write_bytes(as_columns(150))
    (folder / "old.txt").write_bytes(as_columns(20))
    (folder / "long.txt").write_bytes(as_columns(4000))
    (folder / "bags.tsv").write_bytes(BAGS)
    for arguments in (
        ("train", "chunk", "old.txt", "-o", "model.ssvm", "-q"),
        ("train", "chunk", "old.txt", "-o", "state.ssvm", "-q", "--keep-state"),
        ("train", "chunk", "old.txt", "-o", "tagger.ssvm", "-q"),
        ("tag", "tagger.ssvm", "old.txt", "-o", "tagged.txt"),
        ("parse", "train", "bags.tsv", "-o", "parser.ssvm", "--seed", "1", "-q"),
    ):
        if code := wait(start(command(*arguments), folder)):
            raise RuntimeError(f"{' '.join(arguments)} exits with {code}")
    arrays, meta = load_model(folder / "tagger.ssvm")
    save_model(folder / "saved.ssvm", arrays, meta)

    def save() -> None:
        padding = arrays | {"padding": load_model(folder / "state.ssvm")[0]["keys"].repeat(2000)}
        for _ in range(5):
            save_model(folder / "saved.ssvm", padding, meta)

    return {
        "train": ("model.ssvm", command("train", "chunk", "train.txt", "-o", "model.ssvm", "-q")),
        "train --keep-state": (
            "state.ssvm",
            command("train", "chunk", "train.txt", "-o", "state.ssvm", "-q", "--keep-state"),
        ),
        "save": ("saved.ssvm", save),
        "tag -o": ("tagged.txt", command("tag", "tagger.ssvm", "long.txt", "-o", "tagged.txt")),
        "parse train": ("parser.ssvm", command("parse", "train", "bags.tsv", "-o", "parser.ssvm", "-q")),
    }


def kill(folder: Path, kills: int, seed: int, number: int = signal.SIGKILL) -> Counter[str]:
    """Send so many signals at random moments; count the old and new files found, and hidden ones left."""
    rng = random.Random(seed)
    work = jobs(folder)
    before, after, seconds = {}, {}, {}
    for name, (output, job) in work.items():
        before[name] = (folder / output).read_bytes()
        began = time.monotonic()
        if code := wait(start(job, folder)):
            raise RuntimeError(f"{name} exits with {code}")
        seconds[name] = time.monotonic() - began
        after[name] = (folder / output).read_bytes()
        if before[name] == after[name]:
            raise RuntimeError(f"{name} writes the same bytes as before")
        (folder / output).write_bytes(before[name])
    names = sorted(os.listdir(folder))
    found: Counter[str] = Counter()
    for _ in range(kills):
        name = rng.choice(sorted(work))
        output, job = work[name]
        child = start(job, folder)
        time.sleep(seconds[name] * rng.random())
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)
        code = wait(child)
        content = (folder / output).read_bytes()
        if content not in (before[name], after[name]):
            raise AssertionError(f"{name}: {output} is neither the old file nor the new one")
        state = "old" if content == before[name] else "new"
        found[f"{name}: {state} file, {'ended' if code == 0 else 'killed'}"] += 1
        left = [path for path in sorted(os.listdir(folder)) if path not in names]
        if any(not path.startswith(".structsvm-") for path in left) or (left and number != signal.SIGKILL):
            raise AssertionError(f"{name} leaves {left}")
        for path in left:
            found[f"{name}: hidden file left"] += 1
            os.unlink(folder / path)
        (folder / output).write_bytes(before[name])
    return found


def kill_journals(folder: Path, kills: int, seed: int) -> Counter[str]:
    """Kill a process that appends to a journal; count the records, and the appends that returned."""
    rng, path = random.Random(seed), folder / "answers.jsonl"
    found: Counter[str] = Counter()
    for _ in range(kills):
        before, acknowledged = found["records"], found["appends acknowledged"]
        read, write = os.pipe()

        def job(first: int = before, done: int = write) -> None:
            with Journal(path) as journal:
                for number in range(first, first + 60_000):
                    journal.append({"number": number, "text": "é" * (number * 997 % 20_000)})
                    os.write(done, b".")

        child = start(job, folder)
        os.close(write)
        found["appends acknowledged"] += len(os.read(read, 1))  # the process has started
        time.sleep(0.3 * rng.random())
        os.kill(child, signal.SIGKILL)
        wait(child)
        with open(read, "rb") as file:
            found["appends acknowledged"] += len(file.read())
        with Journal(path) as journal:
            numbers = [record["number"] for record in journal.records]
        more = len(numbers) - before - (found["appends acknowledged"] - acknowledged)
        if numbers != list(range(len(numbers))) or not 0 <= more <= 1:
            raise AssertionError(f"there are {len(numbers)} records, {more} more than were acknowledged")
        found["records"] = len(numbers)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="times SIGKILL; a quarter as often SIGTERM")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for number, times in ((signal.SIGKILL, options.kills), (signal.SIGTERM, options.kills // 4)):
        with tempfile.TemporaryDirectory() as folder:
            found = kill(Path(folder), times, options.seed, number)
        show(f"{signal.Signals(number).name} {times} times", found)
    with tempfile.TemporaryDirectory() as folder:
        found = kill_journals(Path(folder), options.kills, options.seed)
    show(f"SIGKILL {options.kills} times while a journal grows", found)


def show(title: str, found: Counter[str]) -> None:
    print(title, flush=True)
    for name, count in sorted(found.items()):
        print(f"  {count:4}  {name}", flush=True)


if __name__ == "__main__":
    main()
