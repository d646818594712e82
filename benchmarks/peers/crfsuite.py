"""python-crfsuite, with the features of the task's template."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.peers.tasks import Items, Task, read, write

IMPORTS = ("pycrfsuite", "taggers.features.template")  # before the clock starts


def train(task: Task, options: dict[str, Any], source: Path, model: Path) -> None:
    import pycrfsuite

    parameters = {key: value for key, value in options.items() if key != "algorithm"}
    trainer = pycrfsuite.Trainer(algorithm=options["algorithm"], verbose=False)
    trainer.set_params({**parameters, "feature.minfreq": task.cutoff})
    items = Items(task.template)
    for sentence in read(source):
        trainer.append(items(sentence), [row[-1] for row in sentence])
    trainer.train(str(model))


def load(model: Path) -> Any:
    import pycrfsuite

    tagger = pycrfsuite.Tagger()
    tagger.open(str(model))
    return tagger


def label(task: Task, options: dict[str, Any], source: Path, model: Path, output: Path) -> None:
    tagger, items = load(model), Items(task.template)
    write(output, ((sentence, tagger.tag(items(sentence))) for sentence in read(source)))
