"""sklearn-crfsuite with its defaults, and with the features of the task's template."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.peers.crfsuite import label, load
from benchmarks.peers.tasks import Items, Task, read

__all__ = ["IMPORTS", "label", "load", "train"]

IMPORTS = ("sklearn_crfsuite", "taggers.features.template")  # before the clock starts


def train(task: Task, options: dict[str, Any], source: Path, model: Path) -> None:
    from sklearn_crfsuite import CRF

    items = Items(task.template)
    X, y = [], []
    for sentence in read(source):
        X.append(items(sentence))
        y.append([row[-1] for row in sentence])
    CRF(model_filename=str(model), min_freq=task.cutoff, **options).fit(X, y)
