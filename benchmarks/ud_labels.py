"""Joint labels with about 1,000 values: UPOS, FEATS and DEPREL as one label whose parts share weights.

Each model also labels the test file without its candidates, comparing all labels for each token.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.harness import cpu_timed, in_own_process, publish, table
from benchmarks.ud import TREEBANKS, words

COLUMNS = ("upos", "upos+feats", "upos+feats+deprel")
MEASURED = ("Greek", "Sequoia")
FIGURES = {
    "labels": 0, "accuracy": 2, "accuracy_all": 2, "train": 1, "tokens_per_s": 0, "warm_tokens_per_s": 0,
    "warm_tokens_per_s_all": 0, "peak_mb": 0,
}  # fmt: skip


def measure(treebank: str, columns: str) -> dict[str, Any]:
    from corpora import find
    from taggers import commands
    from taggers.formats.conllu import COLUMN
    from taggers.model import TaggerModel

    folder = find(TREEBANKS[treebank])
    test, places = folder / "test.conllu", [COLUMN[name] for name in columns.split("+")]
    with tempfile.TemporaryDirectory() as scratch:
        model, output = Path(scratch, "joint.ssvm"), Path(scratch, "tagged.conllu")
        _, seconds = cpu_timed(
            lambda: commands.train("morph", folder / "train.conllu", model, label=places, dtype="int8")
        )
        tagger = TaggerModel.load(model)
        tokens, cold = cpu_timed(lambda: commands.tag(tagger, test, output))
        figures: dict[str, Any] = {
            "labels": len(tagger.names), "train": seconds, "tokens_per_s": tokens / cold,
        }  # fmt: skip
        everything = replace(tagger, candidates=None)
        commands.tag(everything, test, output)
        for kind, used in (("", tagger), ("_all", everything)):
            again = partial(commands.tag, used, test, output)
            figures[f"warm_tokens_per_s{kind}"] = tokens / min(cpu_timed(again)[1] for _ in range(5))
            pairs = zip(words(test), words(output), strict=True)
            right = sum(all(a[k] == b[k] for k in places) for a, b in pairs)
            figures[f"accuracy{kind}"] = 100 * right / tokens
    return figures


def main(*, quick: bool = False) -> None:
    """Measure both treebanks; quick: one label set, without writing the results."""
    jobs = [{"treebank": name, "columns": columns} for name in MEASURED for columns in COLUMNS]
    runs = [job | in_own_process("benchmarks.ud_labels", job) for job in jobs[: 1 if quick else None]]
    if quick:
        print(report(runs))
    else:
        publish("ud-labels", report(runs), runs)


def report(runs: list[dict[str, Any]]) -> str:
    """A table with a row for each treebank."""
    heads = [
        "treebank", "labels", "accuracy", "all labels", "training, CPU s", "tokens per CPU s", "again",
        "again, all labels", "peak MB",
    ]  # fmt: skip
    return table(
        heads, [[run["treebank"], *(f"{run[k]:,.{n}f}" for k, n in FIGURES.items())] for run in runs]
    )
