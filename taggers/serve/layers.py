"""A pipeline of several layers behind the same service: it tags, but does not learn."""

from __future__ import annotations

import os
from itertools import pairwise
from typing import Any

import numpy as np

from structsvm.integrations.starlette import Refused
from taggers.formats._columns import Columns
from taggers.pipeline import Pipeline, open_model
from taggers.serve.learner import Learner
from taggers.serve.sentences import Sentence, Tagged, Token, sentences_of_text

COST = 20_000  # of a token, see `Learner.cost`


class Layers:
    """A pipeline with the attributes of `Learner` that do not concern learning.

    Its labels are those of its first layer, usually UPOS; the other columns come with them.
    """

    journal: Any = None
    scheme = "none"
    task = "Pipeline"
    n_learned = 0

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        self.width = len(pipeline.inputs)
        first = pipeline.first
        self.n_labels = len(pipeline.parts) if first is None else len(first.names)

    def cost(self, n_tokens: int) -> int:
        """How long it takes to tag this many tokens, in the unit of `Learner.cost`."""
        return n_tokens * COST

    def split(self, text: str) -> list[Sentence]:
        """The sentences of a text, as the pipeline splits it."""
        return sentences_of_text(text, self.width, self.pipeline.split)

    def tag(
        self, sentences: list[list[Token]], *, margins: bool = True, probabilities: bool = False
    ) -> list[Tagged]:
        """The values of each column, with the margins of the first one if requested."""
        columns = Columns.from_sentences(sentences)
        scores = np.zeros(columns.n_tokens, np.float32)
        found = self.pipeline.tag(columns, margins=scores)
        shown = scores.tolist() if margins else []
        values = {name: [one.names[k] for k in one.ids.tolist()] for name, one in found.items()}
        first, *others = values
        return [
            Tagged(values[first][a:b], shown[a:b], (), {name: values[name][a:b] for name in others})
            for a, b in pairwise(columns.sentence_ptr.tolist())
        ]

    def check_asked(self, *, margins: bool, probabilities: bool) -> None:
        """Refuse what the layers do not compute."""
        if probabilities:
            raise Refused("a pipeline has no probabilities; serve a calibrated model of one layer")
        if margins and self.pipeline.upos is None:
            raise Refused("a pipeline that predicts only lemmas or trees has no margins")

    def alternatives(self, tokens: list[Token], n: int) -> list[tuple[list[str], float]]:
        """There are none."""
        return []

    def close(self) -> None:
        """There is nothing to close."""


Model = Learner | Layers


def open_served(path: str | os.PathLike[str], journal: str | os.PathLike[str] | None = None) -> Model:
    """A model of one or of several layers; with a journal, it learns."""
    loaded = open_model(path)
    if not isinstance(loaded, Pipeline):
        return Learner(path, journal, loaded)
    if journal is not None:
        raise ValueError(f"{path} has several layers, so it cannot learn; leave out the journal")
    return Layers(loaded)
