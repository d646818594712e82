"""CoNLL-2000 chunking with two threads, and on a Dask cluster of four processes, compared with one thread.

Training is timed from file to model and tagging from file to file, without the time to start Python and the
cluster. Figures of threads are medians of three runs; runs with one thread and with two alternate.
"""

from __future__ import annotations

import os
import signal
import statistics
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.harness import child, cpu_timed, measurements, publish, table, timed

MODULE = "benchmarks.parallel"
CASES: dict[str, dict[str, Any]] = {
    "exact, preset": {},
    "exact, classic template": {"template": "conll2000"},
    "greedy, preset": {"inference": "greedy"},
}
SMALL = (100, 1_000, 2_000)  # sentences
COPIES = 20  # of the test file, to tag
KILLS, PASSES = 10, 2


def main(*, quick: bool = False) -> None:
    """Publish three tables."""
    repeats = range(1 if quick else 3)
    cases = {name: {"what": "train", **options} for name, options in CASES.items()}
    cases |= {f"exact, preset, {n:,} sentences": {"what": "train", "sentences": n} for n in SMALL}
    cases["tag"] = {"what": "tag"}
    jobs = [
        {**case, "jobs": threads, "repeat": repeat}
        for repeat in repeats for case in cases.values() for threads in (1, 2)
    ]  # fmt: skip
    found = measurements(MODULE, jobs)
    rows = []
    for name, case in cases.items():
        one, two = (
            [run for job, run in zip(jobs, found, strict=True)
             if job == {**case, "jobs": threads, "repeat": job["repeat"]}]
            for threads in (1, 2)
        )  # fmt: skip
        wall, cpu = (
            [statistics.median(run[key] for run in runs) for runs in (one, two)] for key in ("wall", "cpu")
        )
        rows.append([
            name, *[f"{seconds:.2f}" for seconds in wall], f"{wall[0] / wall[1]:.2f}",
            *[f"{seconds:.2f}" for seconds in cpu], f"{2 * cpu[0] / cpu[1]:.2f}",
            *[f"{run[0]['f1']:.2f}" if "f1" in run[0] else "" for run in (one, two)],
        ])  # fmt: skip
    header = [
        "", "s, 1 thread", "s, 2 threads", "ratio", "CPU s, 1", "CPU s, 2", "bound by CPU time", "F1, 1",
        "F1, 2",
    ]  # fmt: skip
    text = (
        'Wall-clock seconds, and CPU seconds of all cores. "Bound by CPU time" is the ratio if two cores '
        "shared the CPU time evenly; other programs on the machine affect it less.\n\n" + table(header, rows)
    )
    (cluster,) = measurements(MODULE, [{"what": "cluster", "kills": 3 if quick else KILLS}])
    names = ["", "s", "F1", "dual", "gap"]
    lines = [
        [way, *[f"{cluster[way][key]:.2f}" for key in ("wall", "f1", "dual", "gap")]]
        for way in ("one thread", "four shards in two threads", "four processes")
    ]
    text += (
        "\n\nExact, classic template, two passes, from the file to the weights and the gap. The cluster "
        "is running already, and its workers have imported structsvm.\n\n"
        + table(names, lines)
        + f"\n\nWorkers killed: {cluster['killed']}, each in a different round. Same bytes as without "
        f"deaths: {'yes' if cluster['same'] else 'NO'}."
    )
    figures = {"runs": [*zip(jobs, found, strict=True)], "cluster": cluster}
    publish(f"parallel{'-quick' if quick else ''}", text, figures)


def measure(what: str, repeat: int = 0, **options: Any) -> dict[str, Any]:
    """The figures of one run."""
    from corpora import find

    folder = find("conll2000")
    with tempfile.TemporaryDirectory() as scratch:
        if what == "cluster":
            return _cluster(folder, Path(scratch), **options)
        return (_train if what == "train" else _tag)(folder, Path(scratch), **options)


def _train(folder: Path, scratch: Path, sentences: int | None = None, **options: Any) -> dict[str, Any]:
    from taggers import commands

    source = folder / "train.txt"
    if sentences is not None:
        few = source.read_text().split("\n\n")[:sentences]
        source = scratch / "few.txt"
        source.write_text("\n\n".join(few) + "\n\n")
    model = scratch / "model"
    (_, wall), cpu = cpu_timed(lambda: timed(lambda: commands.train("chunk", source, model, **options)))
    return {"wall": wall, "cpu": cpu, "f1": _f1(model, folder, scratch)}


def _tag(folder: Path, scratch: Path, jobs: int) -> dict[str, Any]:
    from taggers import commands

    model, source = scratch / "model", scratch / "many.txt"
    commands.train("chunk", folder / "train.txt", model, inference="greedy", epochs=1)
    source.write_bytes((folder / "test.txt").read_bytes() * COPIES)
    (_, wall), cpu = cpu_timed(lambda: timed(lambda: commands.tag(model, source, scratch / "out", jobs=jobs)))
    return {"wall": wall, "cpu": cpu}


def _f1(model: Path, folder: Path, scratch: Path) -> float:
    from taggers import commands
    from taggers.conlleval import evaluate

    commands.tag(model, folder / "test.txt", scratch / "out.txt")
    blocks = (scratch / "out.txt").read_text().strip().split("\n\n")
    gold, found = ([[line.split()[k] for line in block.split("\n")] for block in blocks] for k in (2, 3))
    return 100 * evaluate(gold, found).f1


def _cluster(folder: Path, scratch: Path, kills: int) -> dict[str, Any]:
    import numpy as np
    from distributed import Client, LocalCluster

    from taggers import Chunker
    from taggers.dask import train
    from taggers.labels.files import read_labelled

    options: dict[str, Any] = {"template": "conll2000", "epochs": PASSES}
    results: dict[str, Any] = {}

    def note(way: str, tagger: Any, wall: float, dual: float, gap: float) -> bytes:
        tagger.save(scratch / "model")
        results[way] = {"wall": wall, "dual": dual, "gap": gap, "f1": _f1(scratch / "model", folder, scratch)}
        return (scratch / "model").read_bytes()

    def alone(**more: Any) -> Any:
        columns, _ = read_labelled(folder / "train.txt")
        tagger = Chunker(**options, **more).fit(columns, columns.width - 1)
        return tagger, tagger.optimizer_.gap()

    for way, more in (("one thread", {}), ("four shards in two threads", {"shards": 4, "jobs": 2})):
        (tagger, gap), wall = timed(partial(alone, **more))
        note(way, tagger, wall, tagger.optimizer_.dual_, gap)
    cluster = LocalCluster(n_workers=4, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster) as client:

        def there(**more: Any) -> Any:
            return train(client, Chunker(**options, shards=4, **more), folder / "train.txt")

        there()  # the workers import our packages
        tagger, wall = timed(there)
        calm = note("four processes", tagger, wall, tagger.model_.report["dual"], tagger.model_.report["gap"])
        deadly = set(np.random.default_rng(0).choice(10 * PASSES, kills, replace=False).tolist())
        rounds, killed = 0, 0

        def strike(point: Any) -> None:
            nonlocal rounds, killed
            if rounds in deadly:
                os.kill(sorted(client.run(os.getpid).values())[killed % 2], signal.SIGKILL)
                killed += 1
            rounds += 1

        struck = note("four processes, struck", there(callback=strike), 0.0, 0.0, 0.0)
    return results | {"same": struck == calm, "killed": killed}


if __name__ == "__main__":
    child(measure)
