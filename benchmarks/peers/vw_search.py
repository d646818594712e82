"""Vowpal Wabbit's search for sequences, with its own features: neighbours and affixes made by VW itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.peers.tasks import Task, read, write

IMPORTS = ("vowpalwabbit",)  # before the clock starts

NEIGHBOURS = "-2:w,-1:w,1:w,2:w"


def convert(source: Path, target: Path, labels: dict[str, int], *, grow: bool) -> None:
    with target.open("w", encoding="utf-8") as file:
        for sentence in read(source):
            for *row, label in sentence:
                number = labels.setdefault(label, len(labels) + 1) if grow else labels.get(label, 1)
                safe = [cell.replace("|", "PIPE").replace(":", "COLON") for cell in row]
                cells = [f"|{name} {cell}" for name, cell in zip("wp", safe, strict=False)]
                file.write(f"{number} {' '.join(cells)}\n")
            file.write("\n")


def names(model: Path) -> Path:
    return model.with_suffix(".labels")


def train(task: Task, options: dict[str, Any], source: Path, model: Path) -> None:
    from vowpalwabbit import Workspace

    data = model.with_suffix(".vw")
    labels: dict[str, int] = {}
    convert(source, data, labels, grow=True)
    names(model).write_text(json.dumps(labels), encoding="utf-8")
    tags = len(task.columns) > 2
    neighbours = NEIGHBOURS + (",-2:p,-1:p,1:p,2:p" if tags else "")
    pairs = "-q pp" if tags else ""
    workspace = Workspace(
        f"-d {data} --cache_file {data}.cache -k -f {model} --passes {options['passes']} --holdout_off "
        f"--search {len(labels)} --search_task sequence --search_rollout none --search_alpha 1e-8 "
        f"--search_neighbor_features {neighbours} --affix -1w,-2w,-3w,+2w,+3w --spelling w {pairs} "
        "-b 24 --quiet"
    )
    workspace.finish()


def load(model: Path) -> Any:
    from vowpalwabbit import Workspace

    return Workspace(f"-i {model} -t --quiet")


def label(task: Task, options: dict[str, Any], source: Path, model: Path, output: Path) -> None:
    from vowpalwabbit import Workspace

    labels = json.loads(names(model).read_text(encoding="utf-8"))
    data, answers = model.with_suffix(".test.vw"), model.with_suffix(".answers")
    convert(source, data, labels, grow=False)
    Workspace(f"-d {data} -i {model} -t -p {answers} --quiet").finish()
    of = {number: label for label, number in labels.items()}
    found = iter(answers.read_text(encoding="utf-8").split("\n"))
    write(output, ((s, [of[int(number)] for number in next(found).split()]) for s in read(source)))
