"""The cost of word classes and gazetteers in time: `python -m benchmarks knowledge`.

We train the preset ner on the Spanish data of CoNLL-2002, with and without `--knowledge es`. One process
measures CPU times with and without knowledge alternately, so that both see the same machine. Each time, we
tag a file with a model that was just loaded, so it looks up every word again.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.harness import cpu_timed, measurements, publish, table
from benchmarks.reach import GREEDY

REPEATS = 5
SETTINGS: dict[str, dict[str, Any]] = {"exact, IOBES": {}, "greedy, IOB2": GREEDY}
KNOWLEDGE: dict[str, dict[str, Any]] = {
    "none": {},
    "es": {"knowledge": "es"},
}


def measure(settings: str, repeats: int) -> dict[str, Any]:
    """CPU seconds of training and tagging for each kind of knowledge, alternately."""
    from corpora import find
    from taggers import commands
    from taggers.model import TaggerModel

    folder = find("conll2002")
    times: dict[str, Any] = {name: {"train": [], "tag": []} for name in KNOWLEDGE}
    with tempfile.TemporaryDirectory() as scratch:
        for _ in range(repeats):
            for name, known in KNOWLEDGE.items():
                options = SETTINGS[settings] | known
                train = partial(commands.train, "ner", folder / "esp.train", Path(scratch, name), **options)
                times[name]["train"].append(cpu_timed(train)[1])
        for _ in range(4 * repeats):  # short, so more often
            for name in KNOWLEDGE:
                model = TaggerModel.load(Path(scratch, name))
                tag = partial(commands.tag, model, folder / "esp.testb", Path(scratch, "tagged"))
                tokens, seconds = cpu_timed(tag)
                times[name]["tag"].append(seconds)
                times[name]["tokens"] = tokens
    return times


def main(*, quick: bool = False) -> None:
    jobs = [{"settings": name, "repeats": 1 if quick else REPEATS} for name in SETTINGS]
    rows, figures = [], {}
    for settings, times in zip(SETTINGS, measurements("benchmarks.knowledge", jobs), strict=True):
        print(settings, times, file=sys.stderr)
        figures[settings] = times
        plain = {step: statistics.median(times["none"][step]) for step in ("train", "tag")}
        for name in KNOWLEDGE:
            train, tag = (statistics.median(times[name][step]) for step in ("train", "tag"))
            rows.append([
                settings, name, f"{train:.1f}", f"{train / plain['train']:.2f}",
                f"{times[name]['tokens'] / tag:,.0f}", f"{100 * plain['tag'] / tag:.0f}%",
            ])  # fmt: skip
    header = ["ner", "knowledge", "training, CPU s", "relative time", "tokens/CPU s", "relative speed"]
    publish("knowledge-quick" if quick else "knowledge", table(header, rows), figures)
