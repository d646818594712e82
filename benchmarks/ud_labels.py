"""Joint labels with about 1,000 values: UPOS, FEATS and DEPREL as one label whose parts share weights."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from benchmarks.harness import cpu_timed, in_own_process, publish, table
from benchmarks.ud import TREEBANKS, words

COLUMNS = ("upos", "feats", "deprel")
MEASURED = ("Greek", "Sequoia")
FIGURES = {"labels": 0, "accuracy": 2, "train": 1, "tokens_per_s": 0, "warm_tokens_per_s": 0, "peak_mb": 0}


def measure(treebank: str) -> dict[str, Any]:
    from corpora import find
    from taggers import commands
    from taggers.formats.conllu import COLUMN
    from taggers.model import TaggerModel

    folder = find(TREEBANKS[treebank])
    test, columns = folder / "test.conllu", [COLUMN[name] for name in COLUMNS]
    with tempfile.TemporaryDirectory() as scratch:
        model, output = Path(scratch, "joint.ssvm"), Path(scratch, "tagged.conllu")
        _, seconds = cpu_timed(
            lambda: commands.train("morph", folder / "train.conllu", model, label=columns, dtype="int8")
        )
        tagger = TaggerModel.load(model)
        tokens, cold = cpu_timed(lambda: commands.tag(tagger, test, output))
        _, warm = cpu_timed(lambda: commands.tag(tagger, test, output))
        pairs = zip(words(test), words(output), strict=True)
        right = sum(all(a[k] == b[k] for k in columns) for a, b in pairs)
    return {
        "labels": len(tagger.names), "accuracy": 100 * right / tokens, "train": seconds,
        "tokens_per_s": tokens / cold, "warm_tokens_per_s": tokens / warm,
    }  # fmt: skip


def main(*, quick: bool = False) -> None:
    """Measure both treebanks; quick: the first one, without writing the results."""
    runs = [{"treebank": name} | in_own_process("benchmarks.ud_labels", {"treebank": name})
            for name in MEASURED[: 1 if quick else None]]  # fmt: skip
    if quick:
        print(report(runs))
    else:
        publish("ud-labels", report(runs), runs)


def report(runs: list[dict[str, Any]]) -> str:
    """A table with a row for each treebank."""
    heads = ["treebank", "labels", "accuracy", "training, CPU s", "tokens per CPU s", "again", "peak MB"]
    return table(
        heads, [[run["treebank"], *(f"{run[k]:,.{n}f}" for k, n in FIGURES.items())] for run in runs]
    )
