"""seqlearn's structured perceptron, with the features of the task's template, hashed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.peers.tasks import Items, Task, read, write

IMPORTS = (
    "seqlearn.perceptron",
    "sklearn.feature_extraction",
    "taggers.features.template",
)  # before the clock starts


def hashed(items: Items, sentences: list[list[list[str]]]) -> Any:
    from sklearn.feature_extraction import FeatureHasher

    return FeatureHasher(n_features=2**20, input_type="string").transform(
        token for sentence in sentences for token in items(sentence)
    )


def train(task: Task, options: dict[str, Any], source: Path, model: Path) -> None:
    from seqlearn.perceptron import StructuredPerceptron

    sentences = list(read(source))
    X = hashed(Items(task.template), sentences)
    y = [row[-1] for sentence in sentences for row in sentence]
    learner = StructuredPerceptron(max_iter=options["passes"]).fit(X, y, [len(s) for s in sentences])
    import joblib

    joblib.dump(learner, model)


def load(model: Path) -> Any:
    import joblib

    return joblib.load(model)


def label(task: Task, options: dict[str, Any], source: Path, model: Path, output: Path) -> None:
    learner, items = load(model), Items(task.template)
    write(output, ((s, list(learner.predict(hashed(items, [s]), [len(s)]))) for s in read(source)))
