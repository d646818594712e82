"""Instructions and memory traffic a token, counted by Valgrind, and how near that is to the machine's limits.

Counts do not depend on what else the machine does. Two sizes are run and subtracted, so that starting Python
and what does not grow with the data drop out. Caches are simulated: traffic is misses times the size of a
line.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.harness import PACKAGES, in_own_process, publish, table, timed
from benchmarks.peers.tasks import TASKS, prepare

SMALL, LARGE = 100, 500  # sentences
LINE = 64  # bytes of a cache line
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "structsvm greedy, 1 pass": ("ours", {"inference": "greedy", "epochs": 1}),
    "structsvm exact, 1 pass": ("ours", {"inference": "exact", "epochs": 1}),
    "crfsuite ap, 10 iterations": ("crfsuite", {"algorithm": "ap", "max_iterations": 10}),
}


def step(what: str, module: str, options: dict[str, Any], folder: str) -> None:
    """Run the step to be counted: training, or labelling the training file."""
    program = import_module(f"benchmarks.peers.{module}")
    for package in program.IMPORTS:
        import_module(package)
    task, here = TASKS["chunking"], Path(folder)
    if what == "train":
        program.train(task, options, here / "train.txt", here / "model")
    elif what == "label":
        program.label(task, options, here / "train.txt", here / "model", here / "output.txt")


def measure(what: str, module: str, options: dict[str, Any], folder: str) -> dict[str, Any]:
    """Seconds of a step without Valgrind, or the bandwidth of copying; called in its own process."""
    if what == "copy":
        return {"bandwidth": bandwidth()}
    step("", module, options, folder)
    return {"seconds": min(timed(lambda: step(what, module, options, folder))[1] for _ in range(5))}


def bandwidth(megabytes: int = 256) -> float:
    """Bytes per second that one core reads and writes, copying an array far larger than the caches."""
    import numpy as np

    source = np.ones(megabytes << 17)
    target = np.empty_like(source)
    np.copyto(target, source)
    best = min(timed(lambda: np.copyto(target, source))[1] for _ in range(5))
    return 2 * source.nbytes / best


def counted(what: str, module: str, options: dict[str, Any], folder: Path) -> dict[str, float]:
    """Instructions, bytes that missed the first cache and bytes that missed the last one, of a process."""
    call = (
        f"from benchmarks.instructions import step; step({what!r}, {module!r}, {options!r}, {str(folder)!r})"
    )
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", "--cache-sim=yes", f"--callgrind-out-file={folder / 'counts'}",
         sys.executable, "-P", "-c", call],
        env={**os.environ, "PYTHONPATH": PACKAGES, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"Valgrind failed:\n{done.stderr[-2000:]}")

    def total(name: str) -> int:
        found = re.search(rf"{name}:\s*([\d,]+)", done.stderr)
        if found is None:
            raise RuntimeError(f"Valgrind told no {name!r}:\n{done.stderr[-2000:]}")
        return int(found[1].replace(",", ""))

    return {
        "instructions": total("I\\s+refs"),
        "beyond_l1": LINE * total("D1\\s+misses"),
        "beyond_ll": LINE * total("LLd\\s+misses"),
    }


def of_method(name: str, sizes: tuple[int, int]) -> dict[str, Any]:
    """Counts a token of both steps, and seconds a token."""
    module, options = METHODS[name]
    counts: dict[str, list[dict[str, float]]] = {"train": [], "label": []}
    seconds: dict[str, list[float]] = {"train": [], "label": []}
    tokens = []
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            prepare("chunking", Path(folder), size)
            tokens.append(sum(line != "" for line in Path(folder, "train.txt").read_text().splitlines()))
            for what in counts:
                counts[what].append(counted(what, module, options, Path(folder)))
                job = {"what": what, "module": module, "options": options, "folder": folder}
                seconds[what].append(in_own_process("benchmarks.instructions", job)["seconds"])
    more = tokens[1] - tokens[0]
    found: dict[str, Any] = {}
    for what in counts:
        small, large = counts[what]
        found[what] = {key: (large[key] - small[key]) / more for key in small}
        found[what]["ns"] = 1e9 * (seconds[what][1] - seconds[what][0]) / more
    return found


def main(*, quick: bool = False) -> None:
    """Publish counts; quick takes fewer sentences and leaves the peer out."""
    if shutil.which("valgrind") is None:
        sys.exit("Valgrind is not installed: it counts the instructions (apt install valgrind)")
    sizes = (50, 150) if quick else (SMALL, LARGE)
    names = list(METHODS)[:1] if quick else list(METHODS)
    found = {name: of_method(name, sizes) for name in names}
    limit = in_own_process(
        "benchmarks.instructions", {"what": "copy", "module": "", "options": {}, "folder": ""}
    )
    figures = {"sizes": sizes, "methods": found, "copy_bandwidth": limit["bandwidth"]}
    publish("instructions-quick" if quick else "instructions", report(figures), figures)


def report(figures: dict[str, Any]) -> str:
    rows = []
    limit = figures["copy_bandwidth"]
    for name, steps in figures["methods"].items():
        for what, found in steps.items():
            traffic = found["beyond_ll"] / (1e-9 * found["ns"]) if found["ns"] > 0 else float("nan")
            rows.append([
                name, what, f"{found['instructions']:,.0f}", f"{found['ns']:,.0f}",
                f"{found['beyond_l1']:,.0f}", f"{found['beyond_ll']:,.0f}",
                f"{traffic / 1e9:.2f}", f"{100 * traffic / limit:.0f}%",
            ])  # fmt: skip
    header = [
        "CoNLL-2000, a token", "step", "instructions", "ns", "bytes beyond L1", "bytes from memory",
        "GB/s from memory", "of the limit",
    ]  # fmt: skip
    small, large = figures["sizes"]
    return (
        f"{table(header, rows)}\n\nEach number is the difference between {large} and {small} sentences. "
        f"The limit is the rate at which one core copies memory: {limit / 1e9:.1f} GB/s. Valgrind counts "
        "instructions and bytes (with simulated caches and without prefetching); ns are measured without "
        "Valgrind. Far below the limit, the time is spent on instructions and on waiting for single cache "
        "lines, not on bandwidth."
    )
