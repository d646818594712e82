"""The presets from training file to test score: chunk and pos with their defaults, ner greedy and in IOB2.

These settings were chosen on development files (pos, ner) or on parts of the training file (chunk). For ner,
`train --dev` chooses them on Spanish. It trains with the defaults first and then with these settings, so it
takes the time of both trainings, with up to 8 passes each; the row has the time of one, with 2 passes. Times
are CPU times of one thread, so that other work on the machine disturbs them less.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness import cpu_timed, in_own_process, kept_figures, publish, spread, table

SEEDS = 3
# preset, corpus, training and test file, options; ner with those that `--dev esp.testa` chooses
TASKS: dict[str, tuple[str, str, str, str, dict[str, Any]]] = {
    "chunk, CoNLL-2000": ("chunk", "conll2000", "train.txt", "test.txt", {}),
    "pos, EWT, UPOS": ("pos", "ud_english_ewt", "train.conllu", "test.conllu", {"label": 3}),
    "pos, EWT, XPOS": ("pos", "ud_english_ewt", "train.conllu", "test.conllu", {"label": 4}),
    "ner, CoNLL-2002 Spanish, greedy, IOB2": (
        "ner",
        "conll2002",
        "esp.train",
        "esp.testb",
        {"inference": "greedy", "labels": "IOB2"},
    ),
}


def measure(name: str, seed: int) -> dict[str, Any]:
    from corpora import find
    from taggers import commands

    preset, corpus, train, test, reading = TASKS[name]
    folder = find(corpus)
    with tempfile.TemporaryDirectory() as scratch:
        model, output = Path(scratch, "model"), Path(scratch, "output")
        _, seconds = cpu_timed(
            lambda: commands.train(preset, folder / train, model, random_state=seed, **reading)
        )
        tokens, tagging = cpu_timed(lambda: commands.tag(model, folder / test, output))
        result = commands.evaluate(model, folder / test)
        return {
            "score": 100 * (result.accuracy if preset == "pos" else result.f1),
            "train": seconds,
            "tokens_per_s": tokens / tagging,
            "model_mb": model.stat().st_size / 1e6,
        }


def main(*, quick: bool = False, tasks: Sequence[str] = ()) -> None:
    """tasks: measure only these rows, and keep the other results."""
    title = "presets-quick" if quick else "presets"
    runs: dict[str, list[dict[str, Any]]] = dict(kept_figures(title)) if tasks else {}
    runs |= {name: [] for name in TASKS if not tasks or name in tasks}
    for seed in range(1 if quick else SEEDS):
        for name in tasks or TASKS:
            runs[name].append(in_own_process("benchmarks.presets", {"name": name, "seed": seed}))
            print(name, seed, runs[name][-1], file=sys.stderr)
    rows = [
        [
            name, "accuracy" if name.startswith("pos") else "F1", spread(found, "score", 2),
            *[f"{statistics.median(run[key] for run in found if key in run):,.{digits}f}"
              for key, digits in (("train", 1), ("tokens_per_s", 0), ("model_mb", 1), ("peak_mb", 0))],
        ]
        for name, found in runs.items()
    ]  # fmt: skip
    header = [
        "preset",
        "measure",
        f"test, {1 if quick else SEEDS} seeds",
        "training, CPU s",
        "tagging, tokens/CPU s",
    ]
    publish(title, table([*header, "model MB", "peak MB"], rows), runs)
