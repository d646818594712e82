"""Measure all programs: each trains and labels in its own process, in turn, several times.

A run writes a table for each task, plots, and a line of benchmarks/results/history.jsonl with everything.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
import tempfile
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.harness import RESULTS, cpu_timed, in_own_process, machine, timed
from benchmarks.peers import install
from benchmarks.peers.catalogue import CANNOT, METHODS, Method
from benchmarks.peers.tasks import TASKS, prepare, read

MODULE = "benchmarks.peers.measuring"
REPEATS = 3


def measure(step: str, module: str, task: str, options: dict[str, Any], folder: str) -> dict[str, Any]:
    """One step of one program, `train` or `label`; called in its own process."""
    program = import_module(f"benchmarks.peers.{module}")
    for package in program.IMPORTS:
        import_module(package)
    here = Path(folder)
    model, output = here / "model", here / "output.txt"
    what: Any = TASKS.get(task, task)
    if step == "train":
        (_, seconds), wall = timed(
            lambda: cpu_timed(lambda: program.train(what, options, here / "train.txt", model))
        )
        files = [path for path in model.rglob("*") if path.is_file()] if model.is_dir() else [model]
        size = sum(path.stat().st_size for path in files) / 1e6
        return {"train": seconds, "train_wall": wall, "model_mb": size}
    _, loading = cpu_timed(lambda: program.load(model))
    _, seconds = cpu_timed(lambda: program.label(what, options, here / "test.txt", model, output))
    return {"load": loading, "label": seconds}


def once(method: Method, task: str, sentences: int | None = None) -> dict[str, Any]:
    """Train and label once; times, memory, size and score."""
    job = {"module": method.module, "task": task, "options": method.tasks[task]}
    path = [str(install.FOLDER / method.package)] if method.package in install.OTHERS else []
    with tempfile.TemporaryDirectory() as folder:
        prepare(task, Path(folder), sentences)
        found = in_own_process(MODULE, {"step": "train", **job, "folder": folder}, path)
        labelled = in_own_process(MODULE, {"step": "label", **job, "folder": folder}, path)
        scored = score(task, Path(folder, "output.txt"))
    rate = scored["units"] / labelled["label"]
    return found | {"load": labelled["load"], "rate": rate, "score": scored["score"]}


def score(task: str, output: Path) -> dict[str, float]:
    """F1 or accuracy of an output, in percent, and how many tokens (or patterns) it has."""
    if task not in TASKS:
        from benchmarks.peers.classifiers import arrays

        right = [str(label) for label in arrays(output.parent / "test.txt")[1]]
        found = output.read_text(encoding="utf-8").split()
        accuracy = sum(a == b for a, b in zip(right, found, strict=True)) / len(right)
        return {"score": 100 * accuracy, "units": len(right)}
    from taggers.conlleval import evaluate

    rows = list(read(output))
    gold, predicted = ([[row[k] for row in sentence] for sentence in rows] for k in (-2, -1))
    result = evaluate(gold, predicted)
    share = result.f1 if TASKS[task].measure == "F1" else result.accuracy
    return {"score": 100 * share, "units": sum(map(len, gold))}


def obstacle(method: Method) -> str | None:
    """Why a program cannot be measured here."""
    found = install.installed(method.package)
    return f"does not install: {found['failed']}" if "failed" in found else CANNOT.get(method.name)


def collect(
    tasks: Sequence[str], *, repeats: int = REPEATS, sentences: int | None = None
) -> list[dict[str, Any]]:
    """All programs on some tasks, in turns, so that a slow spell of the machine hits all of them."""
    results: dict[tuple[str, str], dict[str, Any]] = {}
    for task in tasks:
        for turn in range(repeats):
            for method in METHODS if turn % 2 == 0 else METHODS[::-1]:
                if task not in method.tasks:
                    continue
                start: dict[str, Any] = {
                    "task": task,
                    "method": method.name,
                    "template": method.template,
                    "runs": [],
                }
                entry = results.setdefault((task, method.name), start)
                entry |= {"version": install.installed(method.package).get("version", "")}
                entry |= {"options": method.tasks[task], "machine": machine()}
                failed = entry.get("failed") or obstacle(method)
                if failed is None:
                    try:
                        entry["runs"].append(once(method, task, sentences))
                    except RuntimeError as error:
                        failed = f"fails: {sentence(error)}"
                if failed is not None:
                    entry["failed"] = failed
                print(task, method.name, turn, entry["runs"][-1:] or failed, file=sys.stderr, flush=True)
    return list(results.values())


def sentence(error: Exception) -> str:
    """
    >>> sentence(RuntimeError("Traceback ...\\nImportError: no name 'six' (/usr/lib/x.py)"))
    "ImportError: no name 'six'"
    """
    last = str(error).strip().splitlines()[-1]
    return re.sub(r"\s*\(?/[^\s)]*\)?", "", last)[:160]  # without places on this machine


def median(entry: dict[str, Any], key: str) -> float:
    return statistics.median(run[key] for run in entry["runs"])


def keep(name: str, record: dict[str, Any], *, history: bool = True) -> None:
    """The last run as JSON, and all runs as lines of a history."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    if not history:
        return
    with (RESULTS / "history.jsonl").open("a", encoding="utf-8") as file:
        print(json.dumps({"benchmark": name, **record}), file=file)
