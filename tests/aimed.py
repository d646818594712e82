"""`python -m tests.aimed --kills 300 --seed 0`: kill every writer within its write window.

The window of a file begins before its temporary file is created and ends when the file gets its final name;
that of a journal is an append. About half of the kills are exact: a profiler in the process counts the calls
and returns within the window, and the process kills itself at one of them. About half of these hit the end
of the window, where the data reach the disk and the file gets its name. The other kills come from outside, in
the middle of system calls: the parent kills the process when its temporary file has reached a random size.

Afterwards each file must be the old one or the new one, and the folder must contain no other new files except
hidden temporary ones. A journal must hold every record whose append returned, in order, and at most one more,
and a session must be able to continue with it.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from structsvm.files import atomic
from structsvm.files.journal import Journal, read_journal
from structsvm.teach.session import Session
from taggers.serve.learner import Learner
from taggers.teach.learner import TagLearner
from tests.faults import BAGS, command, show, start, wait
from tests.taggers.sentences import as_columns

WRITE = atomic._whole.__wrapped__.__code__  # type: ignore[attr-defined]
APPEND = Journal.extend.__code__
LAST = 16  # events at the end of a window, from the flush to the name
JOURNALS = {"serve --journal": "served.jsonl", "teach": "taught.jsonl"}
POOL = [{"tokens": f"Anna number {k} sings in Rome".split()} for k in range(12)]


class Aim:
    """Count the calls and returns within the write windows of this process; kill it at one of them."""

    def __init__(self, target: int, report: int) -> None:
        self.target, self.report = target, report
        self.count, self.inside, self.stage = 0, False, b"o"

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        code = frame.f_code
        if event == "call" and code in (WRITE, APPEND):
            self.inside = True
        if not self.inside:
            return
        self.count += 1
        if event == "c_return" and code in (WRITE, APPEND):
            name = arg.__name__
            self.stage = {"write": b"w", "pwrite": b"w", "fsync": b"s", "link": b"l", "replace": b"r"}.get(
                name, self.stage
            )
        if self.count == self.target:
            os.write(self.report, b"w" if self.stage == b"o" and self.written() else self.stage)
            os.kill(os.getpid(), signal.SIGKILL)
        done = event == "c_return" and arg is os.replace and code is WRITE
        if done or (event == "return" and code is APPEND):
            self.inside, self.stage = False, b"o"

    def written(self) -> bool:
        return any(size for _, size in temporaries(os.getpid(), Path.cwd()))


STAGES = {
    b"o": "opened", b"w": "partly written", b"s": "synced", b"l": "linked", b"r": "renamed", b"": "ended",
}  # fmt: skip
WINDOW = [name for name in STAGES.values() if name != "ended"]


def temporaries(process: int, folder: Path) -> list[tuple[str, int]]:
    """The temporary files that a process has open in a folder, and their sizes."""
    found = []
    with contextlib.suppress(OSError):
        for number in os.listdir(f"/proc/{process}/fd"):
            link = f"/proc/{process}/fd/{number}"
            with contextlib.suppress(OSError):
                target = os.readlink(link)
                if target.startswith(f"{folder}/") and ("(deleted)" in target or ".structsvm-" in target):
                    found.append((link, os.stat(link).st_size))
    return found


class Writer(NamedTuple):
    """The files that a job writes; the job, which acknowledges each append; and a check of its journal."""

    outputs: tuple[str, ...]
    job: Callable[[Callable[[], object]], object]
    check: Callable[[int], object] | None = None


def writers(folder: Path) -> dict[str, Writer]:
    """All writers, and the files that they read."""
    (folder / "train.txt").write_bytes(as_columns(60))
    (folder / "old.txt").write_bytes(as_columns(10))
    (folder / "long.txt").write_bytes(as_columns(3000))
    (folder / "bags.tsv").write_bytes(BAGS)
    (folder / "few.tsv").write_bytes(BAGS[: len(BAGS) // 40])
    for arguments in (
        "train chunk old.txt -q -o tagger.ssvm", "train label old.txt -q -o served.ssvm --keep-state",
        "parse train few.tsv -q -o semantic.ssvm",
    ):  # fmt: skip
        if code := wait(start(command(*arguments.split()), folder)):
            raise RuntimeError(f"{arguments} exits with {code}")

    def cli(text: str, *outputs: str) -> Writer:
        return Writer(outputs, lambda acknowledge: command(*text.split())())

    return {
        "train -o": cli("train chunk train.txt -q -o m.ssvm", "m.ssvm"),
        "train --keep-state": cli("train chunk train.txt -q --keep-state -o s.ssvm", "s.ssvm"),
        "train --curve": cli("train chunk train.txt -q -o c.ssvm --curve c.tsv", "c.ssvm", "c.tsv"),
        "tag -o": cli("tag tagger.ssvm long.txt -o tagged.txt", "tagged.txt"),
        "tag -o gz": cli("tag tagger.ssvm long.txt -o tagged.gz", "tagged.gz"),
        "tune -o": cli("tune pos old.txt -q --trials 2 --epochs 1 -o t.ssvm", "t.ssvm"),
        "parse train -o": cli("parse train bags.tsv -q -o p.ssvm", "p.ssvm"),
        "parse apply -o": cli("parse apply semantic.ssvm bags.tsv -o applied.tsv", "applied.tsv"),
        "serve -o": Writer(("learned.ssvm",), lambda _: Learner("served.ssvm").save("learned.ssvm")),
        "serve --journal": Writer((), serve, lambda done: served(folder, done)),
        "teach": Writer((), teach, lambda done: taught(folder, done)),
    }  # fmt: skip


def serve(acknowledge: Callable[[], object]) -> None:
    """What the service does with each request to learn."""
    learner = Learner("served.ssvm", "served.jsonl")
    for k in range(12):
        record = {"key": str(k), "X": [[["Anna", "NNP"], [f"word{k}", "NN"]]], "y": [["B-NP", "I-NP"]]}
        learner.journal.append(record)  # type: ignore[union-attr]
        learner.apply(record)
        acknowledge()


def served(folder: Path, done: int) -> None:
    kept = [record["key"] for record in read_journal(folder / "served.jsonl")[1:]]
    if kept != [str(k) for k in range(len(kept))] or len(kept) not in (done, done + 1):
        raise AssertionError(f"serve: {len(kept)} records, {done} acknowledged")
    learner = Learner(folder / "served.ssvm", folder / "served.jsonl")
    learner.close()
    if learner.n_learned != len(kept):
        raise AssertionError("serve: the journal was not learned again")


def session(folder: Path) -> Session:
    return Session(TagLearner("ner", pool=POOL), POOL, folder / "taught.jsonl", names=("PER", "LOC"))


def teach(acknowledge: Callable[[], object]) -> None:
    """What the page does with each answer."""
    with session(Path()) as taught:
        for k in range(len(POOL)):
            question = taught.question("a")
            assert question is not None
            taught.answer("a", question["id"], ["B-PER", "O", "O", "O", "O", "B-LOC"], f"a{k}")
            acknowledge()


def taught(folder: Path, done: int) -> None:
    with session(folder) as again:
        if len(again.answers.given()) not in (done, done + 1):
            raise AssertionError(f"teach: {len(again.answers.given())} answers, {done} acknowledged")


def content(path: Path) -> object:
    """The bytes of a file; for a curve, whose points depend on timing, only its header and its end."""
    data = path.read_bytes()
    if not data.startswith(b"seconds\t"):
        return data
    head, *_, last, end = data.split(b"\n")
    return head, last.split(b"\t")[4:], end  # from the dual on


class Shot(NamedTuple):
    """The stage of a process when it was killed, b"" if it ended; its events; the appends that returned."""

    stage: bytes
    events: int
    acknowledged: int


def fire(writer: Writer, folder: Path, target: int = 0, size: float = 0.0) -> Shot:
    """Run a writer; kill it at an event of its windows, or when its temporary file has reached a size."""
    read, write = os.pipe()

    def job() -> None:
        aim = Aim(target, write)
        if not size:
            sys.setprofile(aim)
        try:
            writer.job(lambda: os.write(write, b"."))
        finally:
            sys.setprofile(None)
            os.write(write, b"=%d" % aim.count)

    child = start(job, folder)
    os.close(write)
    hit = bool(size) and watch(child, folder, size)
    code = wait(child)
    with open(read, "rb") as file:
        report = file.read()
    if code not in (0, -signal.SIGKILL):
        raise AssertionError(f"the exit code is {code}")
    told, _, events = report.partition(b"=")
    stage = b"w" if hit and not events else told.strip(b".")
    return Shot(stage, int(events or 0), told.count(b"."))


def watch(child: int, folder: Path, size: float) -> bool:
    """Kill a process when one of its temporary files has reached a size; False if it ended before that."""
    while os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        if any(reached >= size for _, reached in temporaries(child, folder)):
            os.kill(child, signal.SIGKILL)
            return True
    return False


def aim(folder: Path, kills: int, seed: int, names: Sequence[str] = ()) -> Counter[str]:
    """Kill each writer in turn; count where in its window it was hit, and the old and the new files found."""
    rng, found = random.Random(seed), Counter[str]()
    known = writers(folder)
    known = {name: known[name] for name in names or known}
    old = (folder / "old.txt").read_bytes()  # stands for an earlier file of the user
    events, new, sizes = {}, {}, {}
    for name, writer in known.items():
        restore(folder, writer, old)
        events[name] = fire(writer, folder).events
        new |= {output: content(folder / output) for output in writer.outputs}
        sizes[name] = min([(folder / output).stat().st_size for output in writer.outputs], default=0)
    for writer in known.values():
        restore(folder, writer, old)
    present = sorted(os.listdir(folder))
    for k in range(kills):
        name = list(known)[k % len(known)]
        writer = known[name]
        if k // len(known) % 2 or not writer.outputs:
            first = max(1, events[name] - LAST) if rng.random() < 0.5 else 1
            shot = fire(writer, folder, target=rng.randint(first, events[name]))
        else:
            shot = fire(writer, folder, size=1 + rng.random() * sizes[name])
        found[f"{name}: {STAGES[shot.stage]}"] += 1
        for output in writer.outputs:
            state = content(folder / output)
            if state not in (old, new[output]):
                raise AssertionError(f"{name}: {output} is neither the old file nor the new one")
            found[f"{name}: {output} is {'old' if state == old else 'new'}"] += 1
        left = [path for path in os.listdir(folder) if path not in (*present, *JOURNALS.values())]
        if any(not path.startswith(".structsvm-") for path in left):
            raise AssertionError(f"{name} leaves {left}")
        for path in left:
            found[f"{name}: hidden file left"] += 1
            os.unlink(folder / path)
        if writer.check is not None and (folder / JOURNALS[name]).exists():
            writer.check(shot.acknowledged)
        restore(folder, writer, old)
    return found


def restore(folder: Path, writer: Writer, old: bytes) -> None:
    for output in writer.outputs:
        (folder / output).write_bytes(old)
    for journal in JOURNALS.values():
        (folder / journal).unlink(missing_ok=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.aimed", description=__doc__)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = aim(Path(folder).resolve(), options.kills, options.seed)
    inside = sum(count for name, count in found.items() if name.split(": ")[1] in WINDOW)
    show(f"SIGKILL {options.kills} times, {inside} times within a write window", found)


if __name__ == "__main__":
    main()
