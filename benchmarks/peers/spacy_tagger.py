"""spaCy's tagger as `spacy init config --pipeline tagger` sets it up for a CPU, a given number of epochs."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from benchmarks.peers.tasks import Task, read, write

IMPORTS = ("spacy", "spacy.cli.init_config", "spacy.training")  # before the clock starts


def train(task: Task, options: dict[str, Any], source: Path, model: Path) -> None:
    from spacy.cli.init_config import init_config
    from spacy.tokens import Doc
    from spacy.training import Example
    from spacy.training.batchers import minibatch_by_words
    from spacy.util import load_model_from_config
    from thinc.api import fix_random_seed

    fix_random_seed(0)
    config = init_config(lang="en", pipeline=["tagger"], optimize="efficiency", gpu=False, silent=True)
    nlp = load_model_from_config(config.interpolate(), auto_fill=True, validate=False)
    examples = []
    for rows in read(source):
        words, tags = [row[0] for row in rows], [row[-1] for row in rows]
        examples.append(Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words, tags=tags)))
    optimizer = nlp.initialize(lambda: examples)
    for _ in range(options["epochs"]):
        random.shuffle(examples)
        for batch in minibatch_by_words(examples, size=1000):
            nlp.update(batch, sgd=optimizer, drop=0.1)
    nlp.to_disk(model)


def load(model: Path) -> Any:
    import spacy

    return spacy.load(model)


def label(task: Task, options: dict[str, Any], source: Path, model: Path, output: Path) -> None:
    from spacy.tokens import Doc

    nlp = load(model)
    sentences = list(read(source))
    docs = nlp.pipe(Doc(nlp.vocab, words=[row[0] for row in rows]) for rows in sentences)
    write(output, ((rows, [token.tag_ for token in doc]) for rows, doc in zip(sentences, docs, strict=True)))
