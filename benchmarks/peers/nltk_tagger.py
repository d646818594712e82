"""NLTK's PerceptronTagger, with its own features."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.peers.tasks import Task, read, write

IMPORTS = ("nltk.tag.perceptron",)  # before the clock starts


def train(task: Task, options: dict[str, Any], source: Path, model: Path) -> None:
    from nltk.tag.perceptron import PerceptronTagger

    trusted(model)
    tagger = PerceptronTagger(load=False)
    tagger.train(
        [[(row[0], row[-1]) for row in sentence] for sentence in read(source)], nr_iter=options["passes"]
    )
    model.mkdir()
    tagger.save_to_json(lang="xxx", loc=str(model))


def trusted(model: Path) -> None:
    """NLTK writes and reads models in its data folders only: this is one of them."""
    import nltk.data

    nltk.data.path.append(str(model.parent))


def load(model: Path) -> Any:
    from nltk.tag.perceptron import PerceptronTagger

    trusted(model)
    tagger = PerceptronTagger(load=False)
    tagger.load_from_json(lang="xxx", loc=str(model))
    return tagger


def label(task: Task, options: dict[str, Any], source: Path, model: Path, output: Path) -> None:
    tagger = load(model)

    def labels(sentence: list[list[str]]) -> list[str]:
        return [tag for _, tag in tagger.tag([row[0] for row in sentence])]

    write(output, ((sentence, labels(sentence)) for sentence in read(source)))
