"""Vowpal Wabbit's search for sequences, with the features of the task's template."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.peers.tasks import Items, Task, read, write

IMPORTS = ("vowpalwabbit", "taggers.features.template")  # before the clock starts
SAFE = str.maketrans({"|": "\\", ":": ";"})  # both have a meaning in VW's files


def convert(task: Task, source: Path, target: Path, labels: dict[str, int], *, grow: bool) -> None:
    items = Items(task.template)
    with target.open("w", encoding="utf-8") as file:
        for sentence in read(source):
            for row, features in zip(sentence, items(sentence), strict=True):
                number = labels.setdefault(row[-1], len(labels) + 1) if grow else labels.get(row[-1], 1)
                file.write(f"{number} | {' '.join(features).translate(SAFE)}\n")
            file.write("\n")


def names(model: Path) -> Path:
    return model.with_suffix(".labels")


def train(task: Task, options: dict[str, Any], source: Path, model: Path) -> None:
    from vowpalwabbit import Workspace

    data = model.with_suffix(".vw")
    labels: dict[str, int] = {}
    convert(task, source, data, labels, grow=True)
    names(model).write_text(json.dumps(labels), encoding="utf-8")
    workspace = Workspace(
        f"-d {data} --cache_file {data}.cache -k -f {model} --passes {options['passes']} --holdout_off "
        f"--search {len(labels)} --search_task sequence --search_rollout none -b 24 --quiet"
    )
    workspace.finish()


def load(model: Path) -> Any:
    from vowpalwabbit import Workspace

    return Workspace(f"-i {model} -t --quiet")


def label(task: Task, options: dict[str, Any], source: Path, model: Path, output: Path) -> None:
    from vowpalwabbit import Workspace

    labels = json.loads(names(model).read_text(encoding="utf-8"))
    data, answers = model.with_suffix(".test.vw"), model.with_suffix(".answers")
    convert(task, source, data, labels, grow=False)
    Workspace(f"-d {data} -i {model} -t -p {answers} --quiet").finish()
    of = {number: label for label, number in labels.items()}
    found = iter(answers.read_text(encoding="utf-8").split("\n"))
    write(output, ((s, [of[int(number)] for number in next(found).split()]) for s in read(source)))
