"""Train on files of 1 to 20 million tokens with `--memory 200M`: time and memory by size.

The corpus is synthetic: words of a fixed vocabulary follow Zipf's law, and each word has a label. For a tenth
of the words, the label depends on the previous word.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import child, cpu_timed, figure, measurements, publish, table

MODULE = "benchmarks.memory"
MEMORY = "200M"
WORDS, LABELS, LENGTH, NOISE = 30_000, 7, 20, 0.02


def main(*, quick: bool = False) -> None:
    """Publish a table and a plot."""
    sizes = (0.1, 0.2) if quick else (1, 2, 5, 10, 20)
    found = measurements(MODULE, [{"millions": size} for size in sizes])
    rows = [
        [f"{size:g}", f"{run['mb']:.0f}", f"{run['cpu']:.1f}", f"{run['cpu'] / size:.2f}",
         f"{run['peak_mb']:.0f}", run["slices"], f"{run['gap'] / run['dual']:.3f}"]
        for size, run in zip(sizes, found, strict=True)
    ]  # fmt: skip
    slope = float(np.polyfit(np.log(sizes), np.log([run["cpu"] for run in found]), 1)[0])
    with figure(f"memory{'-quick' if quick else ''}", "million tokens", "CPU seconds") as axes:
        axes.plot(sizes, [run["cpu"] for run in found], marker="o", label=f"--memory {MEMORY}")
        axes.plot(sizes, [found[0]["cpu"] / sizes[0] * size for size in sizes], "--", label="linear")
        axes.set_ylim(bottom=0)
    header = ["million tokens", "file, MB", "CPU s", "s per million", "peak, MB", "slices", "gap / dual"]
    text = (
        f"{WORDS:,} words, {LABELS} labels, greedy, features w[0] and w[-1], one pass, --memory {MEMORY}; "
        "from file to model, with the duality gap. CPU time grows with the tokens to the power of "
        f"{slope:.2f}.\n\n" + table(header, rows)
    )
    publish(f"memory{'-quick' if quick else ''}", text, found)


def measure(millions: float) -> dict[str, Any]:
    """CPU seconds and results of one training."""
    from taggers import commands

    with tempfile.TemporaryDirectory() as scratch:
        path, model = Path(scratch, "train.txt"), Path(scratch, "model")
        write_corpus(path, int(millions * 1e6))
        options: dict[str, Any] = {"template": "w[0], w[-1]", "inference": "greedy", "epochs": 1, "C": 0.1}
        tagger, cpu = cpu_timed(
            lambda: commands.train("label", path, model, memory=MEMORY, cutoff=2, **options)
        )
        report = tagger.model_.report
        kept = {name: report[name] for name in ("slices", "gap", "dual", "tokens", "features")}
        return {"cpu": cpu, "mb": path.stat().st_size / 1e6, **kept}


def write_corpus(path: Path, n_tokens: int) -> None:
    """Write sentences of words and labels, a million tokens at a time."""
    rng = np.random.default_rng(0)
    label = rng.integers(LABELS, size=WORDS)
    lines = [
        f"w{word} L{(label[word] + shift) % LABELS}\n".encode() for shift in (0, 1) for word in range(WORDS)
    ]
    chances = 1 / np.arange(1, WORDS + 1)
    steps = np.cumsum(chances / chances.sum())
    with path.open("wb") as out:
        for start in range(0, n_tokens, 1_000_000):
            n = min(1_000_000, n_tokens - start)
            words = np.searchsorted(steps, rng.random(n)).clip(max=WORDS - 1)
            other = (words % 10 == 0) & (np.append(0, words[:-1]) % 2 == 1) | (rng.random(n) < NOISE)
            ids = (words + WORDS * other).tolist()
            for first in range(0, n, LENGTH):
                out.write(b"".join(map(lines.__getitem__, ids[first : first + LENGTH])) + b"\n")


if __name__ == "__main__":
    child(measure)
