"""Compare `structsvm tune --dev` with `train --dev`: `python -m benchmarks tune`.

Both get the first sentences of the training file, choose on the same development data, and are scored once on
the test data. `tune` tries all its candidates. The table also shows the options that it chose.
"""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks import held_out
from benchmarks.harness import measurements, publish, table

CORPORA = ("Danish", "Croatian", "Portuguese", "tweets", "BC5CDR", "ATIS", "SNIPS", "CoNLL-2000", "Sequoia")
SENTENCES = 2000
SEARCH = ["--trials", "99"]  # all candidates
Run = dict[str, Any]


def main(*, quick: bool = False) -> None:
    """Publish a table; quick: one corpus."""
    kept: dict[str, dict[str, Run]] = {}
    for name in CORPORA[: 1 if quick else None]:
        held_out.write(name)
        X, y = held_out.read(held_out.FILES / f"{name}.train")
        held_out.write_columns(held_out.FILES / f"{name}.first", X[:SENTENCES], y[:SENTENCES])
        job = {"name": name, "dev": True, "seed": 0, "part": "first"}
        plain, tuned = measurements(held_out.MODULE, [job, job | {"search": SEARCH}])
        kept[name] = {"train --dev": plain, "tune --dev": tuned}
    publish(f"tune{'-quick' if quick else ''}", report(kept), kept)


def report(kept: dict[str, dict[str, Run]]) -> str:
    """The scores and CPU seconds of both commands, and the mean gain."""
    rows = [
        [name, *(f"{run['test']:.2f}" for run in runs.values()),
         *(f"{run['train']:.1f}" for run in runs.values()),
         f"`{runs['tune --dev']['options'] or 'defaults'}`"]
        for name, runs in kept.items()
    ]  # fmt: skip
    gains = [runs["tune --dev"]["test"] - runs["train --dev"]["test"] for runs in kept.values()]
    header = ["corpus", "test, `train --dev`", "test, `tune --dev`", "CPU s, `train --dev`",
              "CPU s, `tune --dev`", "options chosen"]  # fmt: skip
    gain = f"Mean gain of `tune --dev`: {statistics.mean(gains):+.2f}; lowest {min(gains):+.2f}."
    return f"{table(header, rows)}\n\n{SENTENCES:,} training sentences. {gain}"
