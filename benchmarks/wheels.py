"""The cost of the stable ABI: train and tag with the abi3 wheel and with the wheel of one Python version.

`make package` builds both wheels in dist/. Each is installed in its own environment in build/wheels,
and the runs alternate between the two.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.harness import publish, table
from corpora import find

ROOT = Path(__file__).parents[1]
WHEELS = {"default": "*-cp3*-cp3*.whl", "abi3": "*-abi3-*.whl"}
COPIES = 15  # of the test file


def main(*, quick: bool = False) -> None:
    """Publish the CPU seconds of each build, and their ratio."""
    folder, corpus = ROOT / "build" / "wheels", find("conll2000")
    programs = {kind: installed(folder / kind, pattern) for kind, pattern in WHEELS.items()}
    text = folder / "text.txt"
    text.write_bytes((corpus / "test.txt").read_bytes() * (1 if quick else COPIES))
    seconds: dict[str, dict[str, list[float]]] = {"train chunk": {}, "tag": {}}
    for _ in range(1 if quick else 3):
        for kind, program in programs.items():
            model = folder / f"{kind}.ssvm"
            train = [program, "train", "chunk", corpus / "train.txt", "-o", model, "-q"]
            tag = [program, "tag", model, text, "-o", folder / "labels.txt"]
            seconds["train chunk"].setdefault(kind, []).append(cpu_seconds(train))
            seconds["tag"].setdefault(kind, []).append(cpu_seconds(tag))
    rows = []
    for name, found in seconds.items():
        default, abi3 = (min(found[kind]) for kind in WHEELS)
        rows.append([name, f"{default:.2f}", f"{abi3:.2f}", f"{abi3 / default:.2f}"])
    header = ["command", "default wheel, CPU s", "abi3 wheel, CPU s", "ratio"]
    publish(f"wheels{'-quick' if quick else ''}", table(header, rows), seconds)


def installed(folder: Path, pattern: str) -> Path:
    """The `structsvm` program of a wheel; install the wheel if necessary."""
    program = folder / "bin" / "structsvm"
    if not program.exists():
        (wheel,) = (ROOT / "dist").glob(pattern)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "--quiet", wheel], check=True)
    return program


def cpu_seconds(command: list[Any]) -> float:
    """The processor time of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
