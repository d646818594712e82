"""`structsvm_senter`: set Token.is_sent_start."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from spacy.attrs import SENT_START
from spacy.language import FactoryMeta, Language
from spacy.pipeline.senter import senter_score
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import registry

from structsvm.integrations.spacy import factory
from taggers.formats.base import FileColumns
from taggers.formats.conllu_text import LABELS, OUTSIDE
from taggers.model import TaggerModel
from taggers.pipeline import Pipeline
from taggers.spacy.component import SequencePipe
from taggers.spacy.gold import Gold, same_tokens
from taggers.spacy.tagger import Predicted, StructSVMTagger
from taggers.splitter import Splitter
from taggers.tagger import SequenceTagger

START, INSIDE = "S", "I"  # as in spaCy's own senter
TEMPLATE = """
    w[-2..2], lower[-2..2], w[-1]|w[0], w[0]|w[1], w[-2]|w[-1]|w[0], shape[-2..2], short_shape[-2..2],
    w[-1]|short_shape[0], short_shape[-2]|w[-1]|short_shape[0], lower[-2]|w[-1]|short_shape[0],
    short_shape[-1]|short_shape[0]|short_shape[1], w[-1]|lower[0], bias
"""


class StructSVMSenter(StructSVMTagger):
    """Sets Token.is_sent_start; each doc is labelled as a whole.

    From a file of `structsvm train ud`, it uses the layer that splits text. That layer reads characters, so
    further examples cannot train it.
    """

    LAYER: ClassVar[str] = "split"
    WHOLE: ClassVar[bool] = True
    TASK: ClassVar[str] = "senter"

    TAGGER: ClassVar[Any] = SequenceTagger
    TARGETS: ClassVar[dict[str, list[str]]] = {"SENT_START": ["SENT_START"]}

    def _new(self) -> SequenceTagger:
        fixed = {"template": TEMPLATE, "inference": "greedy", "constrained": False}
        return SequenceTagger(**{**fixed, **self.options})

    def _load(self, path: str | Path) -> SequenceTagger:
        tagger = super()._load(path)
        if _splits(tagger.model_):
            if self.margins or self.nbest:
                raise ValueError(f"{path} splits text without margins; leave out margins and nbest")
            return tagger
        if strange := {*tagger.model_.names} - {START, INSIDE}:
            raise ValueError(
                f"{path} has the label {min(strange)!r}, but the labels of {self.name!r} are {START} and "
                f"{INSIDE}; train the component with nlp.initialize or spacy train"
            )
        return tagger

    def _layer(self, pipeline: Pipeline, path: str | Path) -> TaggerModel:
        if pipeline.splitter is not None and pipeline.splitter.lexicon is not None:
            raise ValueError(
                f"{path} splits text with a lexicon, which {self.name!r} does not read; split the text with "
                "Pipeline.load(...).split instead"
            )
        return super()._layer(pipeline, path)

    @property
    def splits(self) -> bool:
        """Whether the model splits text, character by character."""
        return self.trained and _splits(self.model.model_)

    def _check_labels(self, model: TaggerModel, path: str | Path) -> None:
        """Do nothing: `_load` checks the labels of every file."""

    def _columns_of_file(self) -> list[str]:
        return ["ORTH"] if self.splits else super()._columns_of_file()

    def _target_of_file(self) -> str:
        return "SENT_START"

    def describe(self, meta: FactoryMeta) -> FactoryMeta:
        """Keep the scores of the factory: there is only one target."""
        return SequencePipe.describe(self, meta)

    def predict(self, docs: Iterable[Doc]) -> Predicted:
        self.require_model()
        if not self.splits:
            return super().predict(docs)
        splitter = Splitter(self.model.model_)
        predicted = Predicted(_sentence_starts(splitter, doc) for doc in docs)
        predicted.names = [INSIDE, START]
        return predicted

    def _gold(self, example: Example) -> Gold:
        if self.splits:
            raise ValueError(
                f"{self.name!r} splits text by its characters, so it cannot learn from examples; add it to "
                "frozen_components under [training], or train it without a model file"
            )
        if not example.reference.has_annotation("SENT_START"):
            return [None] * len(example.predicted)
        if same_tokens(example):
            values = example.reference.to_array(SENT_START).tolist()
        else:
            values = example.get_aligned("SENT_START")
        # Like spaCy's own senter: where there are boundaries, unset tokens are inside a sentence.
        return [None if value is None else START if value == 1 else INSIDE for value in values]

    @property
    def hide_labels(self) -> bool:
        return True

    def _adapt(self, examples: list[Example], nlp: Language | None) -> None:
        empty = len(examples) == 1  # what nlp.initialize() without examples passes
        if not empty and not any(label for example in examples for label in self._gold(example)):
            super()._all([])  # raises the error

    def _all(self, labels: list[str]) -> list[str]:
        return sorted({*labels, START, INSIDE})

    def add_label(self, label: str) -> int:
        raise NotImplementedError(f"the labels of {self.name!r} are {START} and {INSIDE}, and no others")

    def set_annotations(self, docs: Iterable[Doc], scores: list[np.ndarray]) -> None:
        names = scores.names if isinstance(scores, Predicted) else self.model.model_.names
        values = np.array([1 if name == START else -1 for name in [*names, INSIDE]], np.int64)
        for doc, ids in zip(docs, scores, strict=True):
            if len(doc):
                new = values[ids]
                new[0] = 1
                if not self.overwrite:
                    old = doc.to_array(SENT_START).view(np.int64)
                    new = np.where(old, old, new)
                doc.from_array([SENT_START], new.view(np.uint64).reshape(-1, 1))

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        return {} if self.scorer is None else dict(self.scorer(examples, **kwargs))

    def _files(self) -> FileColumns:
        template = self.model.model_.space.template
        assert template is not None
        return {"format": "columns", "inputs": list(range(template.width)), "label": -1, "task": self.TASK}


def _splits(model: TaggerModel) -> bool:
    """Return whether the labels of a model are those of a text splitter."""
    return OUTSIDE in model.names and {*model.names} <= {*LABELS}


def _sentence_starts(splitter: Splitter, doc: Doc) -> np.ndarray:
    """Return for each token whether a sentence begins in it, as 0 or 1.

    The first sentence begins with the first token, even if that is white space.
    """
    begins = [sentence[0].start for sentence in splitter.split(doc.text)][1:]
    found = np.zeros(len(doc), np.int32)
    found[:1] = 1
    found[np.searchsorted([token.idx for token in doc], begins, "right") - 1] = 1
    return found


@registry.scorers("structsvm.senter_scorer.v1")
def make_senter_scorer() -> Callable[..., dict[str, Any]]:
    return score_sentences


def score_sentences(examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
    """Return sents_p, sents_r and sents_f."""
    return dict(senter_score(examples, **kwargs))


make_senter = factory(
    "structsvm_senter", StructSVMSenter, assigns=["token.is_sent_start"], scorer="structsvm.senter_scorer.v1",
    score_weights={"sents_f": 1.0, "sents_p": 0.0, "sents_r": 0.0},
)  # fmt: skip
