"""chaine, a fork of crfsuite with a Python interface of its own, with the features of the task's template."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.peers.tasks import Items, Task, read, write

IMPORTS = ("chaine", "taggers.features.template")  # before the clock starts


def features(items: Items, sentence: list[list[str]]) -> list[dict[str, bool]]:
    return [dict.fromkeys(token, True) for token in items(sentence)]


def train(task: Task, options: dict[str, Any], source: Path, model: Path) -> None:
    import chaine

    items = Items(task.template)
    sentences = list(read(source))
    X = [features(items, sentence) for sentence in sentences]
    y = [[row[-1] for row in sentence] for sentence in sentences]
    chaine.train(X, y, model_filepath=str(model), verbose=0, min_freq=task.cutoff, **options)


def load(model: Path) -> Any:
    import chaine

    return chaine.Model(str(model))


def label(task: Task, options: dict[str, Any], source: Path, model: Path, output: Path) -> None:
    tagger, items = load(model), Items(task.template)
    write(output, ((s, tagger.predict_single(features(items, s))) for s in read(source)))
