"""Wapiti (libwapiti), which reads columns and has a template like CRF++'s, without attributes of words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.peers.tasks import Task, read, write

IMPORTS = ("wapiti", "taggers.features.template")  # before the clock starts


def patterns(task: Task) -> str:
    from taggers.features.template import parse_template

    lines = []
    for number, pattern in enumerate(parse_template(task.template).patterns):
        cells = "/".join(f"%x[{cell.offset},{cell.column}]" for cell in pattern.cells)
        lines.append(f"u{number}:{cells}")
    return "\n".join([*lines, "b"])


def train(task: Task, options: dict[str, Any], source: Path, model: Path) -> None:
    import wapiti

    learner = wapiti.Model(patterns=patterns(task), nthread=1, **options)
    for sentence in read(source):
        learner.add_training_sequence("\n".join(map(" ".join, sentence)))
    learner.train()
    learner.save(str(model))


def load(model: Path) -> Any:
    import wapiti

    return wapiti.Model(model=str(model), nthread=1)


def label(task: Task, options: dict[str, Any], source: Path, model: Path, output: Path) -> None:
    tagger = load(model)

    def labels(sentence: list[list[str]]) -> list[str]:
        text = "\n".join(" ".join(row[:-1]) for row in sentence)
        return tagger.label_sequence(text).decode().split()

    write(output, ((sentence, labels(sentence)) for sentence in read(source)))
