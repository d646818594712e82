"""UDPipe 1 (ufal.udpipe): its tagger, UPOS only, with its own features."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.peers.tasks import Task, read, write

IMPORTS = ("ufal.udpipe",)  # before the clock starts

ONLY_UPOS = ";".join(
    f"{verb}_{what}=0" for what in ("lemma", "xpostag", "feats") for verb in ("use", "provide")
)


def sentence_of(rows: list[list[str]], *, labelled: bool) -> Any:
    from ufal.udpipe import Sentence

    sentence = Sentence()
    for row in rows:
        word = sentence.addWord(row[0])
        if labelled:
            word.upostag = row[-1]
    return sentence


def train(task: Task, options: dict[str, Any], source: Path, model: Path) -> None:
    from ufal.udpipe import ProcessingError, Sentences, Trainer

    data = Sentences()
    for rows in read(source):
        data.append(sentence_of(rows, labelled=True))
    error = ProcessingError()
    tagger = f"iterations={options['passes']};{ONLY_UPOS}"
    trained = Trainer.train("morphodita_parsito", data, Sentences(), "none", tagger, "none", error)
    if error.occurred():
        raise RuntimeError(error.message)
    model.write_bytes(trained)


def load(model: Path) -> Any:
    from ufal.udpipe import Model

    return Model.load(str(model))


def label(task: Task, options: dict[str, Any], source: Path, model: Path, output: Path) -> None:
    tagger = load(model)

    def labels(rows: list[list[str]]) -> list[str]:
        sentence = sentence_of(rows, labelled=False)
        tagger.tag(sentence, tagger.DEFAULT)
        return [sentence.words[k].upostag for k in range(1, len(rows) + 1)]

    write(output, ((rows, labels(rows)) for rows in read(source)))
