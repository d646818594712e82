"""`structsvm_morphologizer` and `structsvm_lemmatizer`: set Token.pos_, Token.morph and Token.lemma_."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import numpy as np
from spacy.pipeline.morphologizer import morphologizer_score
from spacy.scorer import Scorer
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import registry

from structsvm.integrations.spacy import factory
from taggers.features.template import parse_template
from taggers.lemmas import TEMPLATE, edited, script
from taggers.spacy.gold import Gold, attribute_gold
from taggers.spacy.tagger import Predicted, StructSVMTagger
from taggers.tagger import MorphTagger


class StructSVMMorphologizer(StructSVMTagger):
    """Sets Token.pos_ and Token.morph with one label, whose parts share weights.

    target: POS|MORPH, or MORPH alone. It loads the models of `structsvm train morph`.
    """

    TAGGER: ClassVar[Any] = MorphTagger
    TARGETS: ClassVar[dict[str, list[str]]] = {"POS|MORPH": ["POS", "MORPH"], "MORPH": ["MORPH"]}

    def _target_of_file(self) -> str:
        if self.source is not None and self.trained and self.model.model_.parts != ["upos", "feats"]:
            return "MORPH"
        return "POS|MORPH"

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        return {} if self.scorer is None else dict(self.scorer(examples, **kwargs))


class StructSVMLemmatizer(StructSVMTagger):
    """Sets Token.lemma_ with edit scripts, given the token and its part of speech.

    With columns=["ORTH", "POS", "MORPH"] it uses the features of words too.
    """

    TAGGER: ClassVar[Any] = MorphTagger
    COLUMNS: ClassVar[tuple[str, ...]] = ("ORTH", "POS")
    TARGETS: ClassVar[dict[str, list[str]]] = {"LEMMA": ["LEMMA"]}

    def _new(self) -> MorphTagger:
        template = parse_template(TEMPLATE).within(len(self.chosen_columns or self.COLUMNS))
        return MorphTagger(**{"template": template, "order": 0, **self.options})

    def _target_of_file(self) -> str:
        return "LEMMA"

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
