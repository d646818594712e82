"""Train presets with and without `--dev`, and compare cost and score: `python -m benchmarks held-out`.

Each preset is trained from a file to a model with and without `--dev`, with three seeds. The table shows CPU
time, peak memory and the score on the test data, and the time and peak of python-crfsuite on the same
sentences, with the features that its users usually start with.
"""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import reach
from benchmarks.harness import cpu_timed, measurements, peak_memory, publish, spread, table

MODULE = "benchmarks.held_out"
FILES = Path(tempfile.gettempdir(), "structsvm-held-out")
CORPORA = ("Spanish", "Croatian", "Danish", "Portuguese", "BC5CDR", "tweets", "ATIS", "SNIPS")
SEEDS = 3
C1, C2 = 0.1, 0.1  # of CRFsuite, as in the tutorial of sklearn-crfsuite


def main(*, quick: bool = False) -> None:
    """Publish a table; quick: two corpora, one seed, and few iterations of CRFsuite."""
    names, seeds = (CORPORA[2:6:3], 1) if quick else (CORPORA, SEEDS)
    rows: list[list[str]] = []
    kept: dict[str, Any] = {}
    for name in names:
        write(name)
        plain, dev = (
            measurements(MODULE, [{"name": name, "dev": dev, "seed": seed} for seed in range(seeds)])
            for dev in (False, True)
        )
        crf = measurements(MODULE, [{"name": name, "iterations": 5 if quick else reach.ITERATIONS}])[0]
        kept[name] = {"plain": plain, "dev": dev, "crfsuite": crf}
        costs = [[statistics.median(run[key] for run in runs) for key in ("train", "peak")]
                 for runs in (plain, dev, [crf])]  # fmt: skip
        (cpu, peak), (cpu_dev, peak_dev), (cpu_crf, peak_crf) = costs
        rows.append([
            name, spread(plain, "test", 2), spread(dev, "test", 2), f"{cpu:.1f}", f"{cpu_dev / cpu:.2f}",
            f"{cpu_crf / cpu_dev:.1f}", f"{peak:.0f}", f"{peak_dev / peak:.2f}", f"{peak_dev / peak_crf:.2f}",
        ])  # fmt: skip
    header = ["corpus", "test F1", "with `--dev`", "CPU s", "`--dev` / without", "CRFsuite / `--dev`",
              "peak MB", "`--dev` / without", "`--dev` / CRFsuite"]  # fmt: skip
    gain = statistics.mean(
        run["test"] - other["test"]
        for runs in kept.values()
        for run, other in zip(runs["dev"], runs["plain"], strict=True)
    )
    text = f"{table(header, rows)}\n\nMean gain of `--dev` in F1 on the test data: {gain:+.2f}."
    publish(f"held-out{'-quick' if quick else ''}", text, kept)


def write(name: str) -> None:
    """Write a corpus as files of words and labels."""
    FILES.mkdir(exist_ok=True)
    parts = ("train", "dev", "test")
    for part, (X, y) in zip(parts, reach.load(name, *parts), strict=True):
        blocks = ["".join(f"{word}\t{label}\n" for word, label in zip(*pair, strict=True))
                  for pair in zip(X, y, strict=True)]  # fmt: skip
        (FILES / f"{name}.{part}").write_text("\n".join(blocks), encoding="utf-8")


def measure(
    name: str, dev: bool = False, seed: int | None = None, iterations: int = reach.ITERATIONS
) -> dict[str, Any]:
    """Train a preset, or python-crfsuite if there is no seed: CPU seconds, peak in MB and test F1."""
    train, held_out, test = (FILES / f"{name}.{part}" for part in ("train", "dev", "test"))
    if seed is None:
        return {"train": cpu_timed(lambda: crfsuite(train, iterations))[1], "peak": peak_memory()}
    from taggers import commands

    task, model = reach.SETS[name][0], FILES / f"{name}.ssvm"
    options: dict[str, Any] = {"dev": held_out} if dev else {}
    seconds = cpu_timed(lambda: commands.train(task, train, model, random_state=seed, **options))[1]
    figures = {"train": seconds, "peak": peak_memory()}
    return figures | {"test": 100 * commands.evaluate(model, test).f1}


def crfsuite(path: Path, iterations: int) -> None:
    """Read a file sentence by sentence, and train on it."""
    import pycrfsuite

    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.set_params({"c1": C1, "c2": C2, "max_iterations": iterations})
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        words, labels = zip(*(line.split("\t") for line in block.split("\n")), strict=True)
        trainer.append(reach.usual_items(list(words)), labels)
    trainer.train(str(path.with_suffix(".crfsuite")))
