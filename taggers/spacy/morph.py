"""`structsvm_morphologizer` and `structsvm_lemmatizer`: set Token.pos_, Token.morph and Token.lemma_."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from spacy.pipeline.morphologizer import morphologizer_score
from spacy.scorer import Scorer
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import registry

from structsvm.integrations.spacy import factory
from taggers.labels.parts import values
from taggers.lemmas import Lemmatizer, edited, is_script, lemma_template, script
from taggers.model import TaggerModel
from taggers.pipeline import Pipeline
from taggers.spacy.component import FILE, precision
from taggers.spacy.docs import Batch
from taggers.spacy.gold import Gold, attribute_gold
from taggers.spacy.tagger import ATTRIBUTES, Predicted, StructSVMTagger, score_tags
from taggers.tagger import MorphTagger, SequenceTagger


class StructSVMMorphologizer(StructSVMTagger):
    """Sets Token.pos_ and Token.morph with one label, whose parts share weights.

    target: POS|MORPH, POS|TAG|MORPH, TAG|MORPH, MORPH or TAG. It loads the models of `structsvm train morph`.
    From a file of `structsvm train ud`, it uses the layer of XPOS and FEATS. This layer reads Token.pos_, so
    add `structsvm_tagger` with the same file before it.
    """

    LAYER: ClassVar[str] = "morph"
    TAGGER: ClassVar[Any] = MorphTagger
    TARGETS: ClassVar[dict[str, list[str]]] = {
        "POS|MORPH": ["POS", "MORPH"], "MORPH": ["MORPH"], "TAG|MORPH": ["TAG", "MORPH"],
        "POS|TAG|MORPH": ["POS", "TAG", "MORPH"], "TAG": ["TAG"],
    }  # fmt: skip

    def _target_of_file(self) -> str:
        if self.source is None or not self.trained:
            return "POS|MORPH"
        target = "|".join(ATTRIBUTES[part] for part in self.model.model_.parts if part in ATTRIBUTES)
        return target if target in self.TARGETS else "MORPH"

    def _all(self, labels: list[str]) -> list[str]:
        names = self.attributes
        if labels and "MORPH" in names and {values(label, len(names))[-1] for label in labels} <= {"", "_"}:
            warnings.warn(
                f"no token of the examples has features in its gold MORPH, so the component {self.name!r} "
                "will never predict any; use a treebank with FEATS, or use structsvm_tagger instead",
                stacklevel=2,
            )
        return super()._all(labels)

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        examples = list(examples)
        found = {} if self.scorer is None else dict(self.scorer(examples, **kwargs))
        if found and "TAG" in self.attributes:
            found |= score_tags(examples, ["TAG"], **kwargs)
        return found


class StructSVMLemmatizer(StructSVMTagger):
    """Sets Token.lemma_ with edit scripts, given the token and its part of speech.

    With columns=["ORTH", "POS", "MORPH"] it uses the features of words too, as the files of
    `structsvm train lemma` and `structsvm train ud` do.

    memory: the words that such a file remembers, because its model gets them wrong.
    """

    LAYER: ClassVar[str] = "lemma"
    TASK: ClassVar[str] = "lemma"
    memory: Lemmatizer | None = None

    TAGGER: ClassVar[Any] = MorphTagger
    COLUMNS: ClassVar[tuple[str, ...]] = ("ORTH", "POS")
    TARGETS: ClassVar[dict[str, list[str]]] = {"LEMMA": ["LEMMA"]}

    def _new(self) -> MorphTagger:
        self.memory = None
        template = lemma_template(len(self.chosen_columns or self.COLUMNS))
        return MorphTagger(**{"template": template, "order": 0, **self.options})

    def _load(self, path: str | Path) -> SequenceTagger:
        self.memory = None
        return super()._load(path)

    def _layer(self, pipeline: Pipeline, path: str | Path) -> TaggerModel:
        self.memory = pipeline.lemmatizer
        return super()._layer(pipeline, path)

    def _check_labels(self, model: TaggerModel, path: str | Path) -> None:
        if not all(map(is_script, model.names)):
            raise ValueError(
                f"{path} has the label {model.names[0]!r}, which is not an edit script of a lemma; use a "
                "model of structsvm train lemma or train ud"
            )

    def _columns_of_file(self) -> list[str]:
        model = self.model.model_
        if model.files or model.space.template is None:
            return super()._columns_of_file()
        return ["ORTH", "POS", "MORPH"][: model.space.template.width]  # trained here

    def _target_of_file(self) -> str:
        return "LEMMA"

    def _without_gold(self) -> str:
        return "use a treebank with lemmas, or remove the component from the pipeline"

    def _learn(self, examples: list[Example]) -> float:
        if self.memory is not None:
            self._forget(examples)
        return super()._learn(examples)

    def _forget(self, examples: list[Example]) -> None:
        """Let the examples overrule the words that the file remembers."""
        assert self.memory is not None
        batch = self._read([example.predicted for example in examples])
        rows = self.memory.remembered(batch.columns)
        gold = [name for example in examples for name in self._gold(example)]
        for at, row in zip(batch.tokens.tolist(), rows.tolist(), strict=True):
            if row >= 0 and gold[at] is not None:
                self.memory.scripts[row] = gold[at]

    def _label(self, docs: Iterable[Doc]) -> tuple[Batch, np.ndarray, list[str]]:
        batch, ids, names = super()._label(docs)
        if self.memory is None:
            return batch, ids, names
        return batch, *self.memory.corrected(batch.columns, ids, names)

    def _save(self, folder: Path) -> None:
        super()._save(folder)
        if self.memory is not None:
            model = self.model.model_
            pipeline = Pipeline(None, lemmatizer=replace(self.memory, model=model, seen={}))
            pipeline.save(folder / FILE, prune=self.prune, dtype=self.dtype or precision(model))

    def _gold(self, example: Example) -> Gold:
        lemmas = attribute_gold(example, ["LEMMA"])
        pairs = zip((token.text for token in example.predicted), lemmas, strict=True)
        return [None if lemma is None else script(word, lemma) for word, lemma in pairs]

    def set_annotations(self, docs: Iterable[Doc], scores: list[np.ndarray]) -> None:
        names = scores.names if isinstance(scores, Predicted) else self.model.model_.names
        for doc, ids in zip(docs, scores, strict=True):
            for token, k in zip(doc, ids.tolist(), strict=True):
                if self.overwrite or not token.lemma:
                    token.lemma_ = edited(token.text, names[k]) if 0 <= k < len(names) else token.text

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        return {} if self.scorer is None else dict(self.scorer(examples, **kwargs))


def score_morphology(examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
    """Return pos_acc, morph_acc and the scores of single features."""
    return dict(morphologizer_score(examples, **kwargs))


@registry.scorers("structsvm.morph_scorer.v1")
def make_morph_scorer() -> Callable[..., dict[str, Any]]:
    return score_morphology


def score_lemmas(examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
    """Return lemma_acc, the share of correct lemmas."""
    return dict(Scorer.score_token_attr(examples, "lemma", **kwargs))


@registry.scorers("structsvm.lemma_scorer.v1")
def make_lemma_scorer() -> Callable[..., dict[str, Any]]:
    return score_lemmas


make_morphologizer = factory(
    "structsvm_morphologizer", StructSVMMorphologizer, assigns=["token.morph", "token.pos"],
    scorer="structsvm.morph_scorer.v1",
    score_weights={"pos_acc": 0.5, "morph_acc": 0.5, "morph_per_feat": None},
)  # fmt: skip

make_lemmatizer = factory(
    "structsvm_lemmatizer", StructSVMLemmatizer, assigns=["token.lemma"], requires=["token.pos"],
    scorer="structsvm.lemma_scorer.v1", score_weights={"lemma_acc": 1.0},
)  # fmt: skip
