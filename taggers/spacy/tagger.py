"""`structsvm_tagger`: set parts of speech in Token.tag_, in Token.pos_, or in both."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from spacy.attrs import IDS
from spacy.language import FactoryMeta, Language
from spacy.parts_of_speech import IDS as PARTS_OF_SPEECH
from spacy.scorer import Scorer
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import registry
from spacy.vocab import Vocab

from structsvm.integrations.spacy import factory
from taggers.formats.base import FileColumns
from taggers.formats.conllu import COLUMN, FORMAT
from taggers.formats.registry import FORMATS
from taggers.labels.parts import values
from taggers.model import TaggerModel
from taggers.pipeline import Pipeline
from taggers.spacy.component import CONLLU, SequencePipe
from taggers.spacy.gold import Gold, attribute_gold
from taggers.tagger import PosTagger

ATTRIBUTES = {"upos": "POS", "xpos": "TAG", "feats": "MORPH", "lemma": "LEMMA", "split": "SENT_START"}
UPOS = frozenset(name for name in PARTS_OF_SPEECH if name)
SPACE = {"TAG": "_SP", "POS": "SPACE", "MORPH": ""}


class Predicted(list[np.ndarray]):
    """Labels of docs, as indices into names."""

    names: list[str]


class StructSVMTagger(SequencePipe):
    """Sets the attribute `target`: TAG, POS, or POS|TAG for labels such as NOUN|NN.

    With target=None it is the attribute that the model was trained for. Without a model it is TAG, or POS if
    the examples passed to `initialize` have POS but no TAG. From a file of `structsvm train ud`, it uses the
    layer of UPOS; `structsvm_morphologizer` sets the other columns.
    """

    TAGGER: ClassVar[Any] = PosTagger
    TASK: ClassVar[str] = ""  # of a model that works only in spaCy
    LAYER: ClassVar[str] = "upos"
    OTHER_TASKS: ClassVar[dict[str, str]] = {"chunk": "structsvm_chunker", "ner": "structsvm_ner"}
    TARGETS: ClassVar[dict[str, list[str]]] = {"TAG": ["TAG"], "POS": ["POS"], "POS|TAG": ["POS", "TAG"]}

    def __init__(self, *args: Any, target: str | None = None, **options: Any) -> None:
        if target is not None and target not in self.TARGETS:
            raise ValueError(f"target must be one of {', '.join(self.TARGETS)}, got {target!r}")
        self.target = target
        self.usual = "TAG"  # the target if there is no model
        self.given: set[str] = set()  # the attributes of the examples
        super().__init__(*args, **options)

    def _layer(self, pipeline: Pipeline, path: str | Path) -> TaggerModel:
        model = super()._layer(pipeline, path)
        predicts = "|".join(ATTRIBUTES[part] for part in model.parts or [self.LAYER])
        if self.target not in (None, predicts):
            raise ValueError(
                f"the layer {self.LAYER} of {path} predicts {predicts}, not {self.target}; leave out target"
            )
        return model

    def _check_labels(self, model: TaggerModel, path: str | Path) -> None:
        columns = model.parts or _label_columns(model)
        predicts = "|".join(ATTRIBUTES[name] for name in columns if name in ATTRIBUTES)
        if predicts not in ("", *self.TARGETS) and self.target is None:
            raise ValueError(f"{path} predicts {predicts}, which {self.name!r} cannot set; {_hint(predicts)}")
        attributes = self.attributes
        for label in model.names:
            row = values(label, len(attributes))
            if len(row) != len(attributes) or not all(map(_fits, attributes, row)):
                raise ValueError(
                    f"{path} has the label {label!r}, which is not a value of {'|'.join(attributes)}; choose "
                    "another model or target"
                )

    @property
    def attributes(self) -> list[str]:
        """The token attributes that the component sets."""
        return self.TARGETS[self.target or self.saved.get("target") or self._target_of_file()]

    def describe(self, meta: FactoryMeta) -> FactoryMeta:
        """Adapt the attributes and score weights to the target."""
        meta = super().describe(meta)
        if self.pending and self.target is None:
            return meta
        names = [name.lower() for name in self.attributes]
        weights: dict[str, float | None]
        weights = {score: None for score, weight in (meta.default_score_weights or {}).items() if not weight}
        weights |= {f"{name}_acc": 1 / len(names) for name in names}
        assigns = [*(f"token.{name}" for name in names), *(one for one in meta.assigns if "._." in one)]
        return replace(meta, assigns=assigns, default_score_weights=weights, scores=list(weights))

    def _target_of_file(self) -> str:
        """Return the attribute that the labels of a model file stand for."""
        if self.source is None or not self.trained:
            return self.usual
        model = self.model.model_
        if _label_columns(model) == ["xpos"]:
            return "TAG"
        if all(label in UPOS for label in model.names):
            return "POS"
        return "POS|TAG" if all(values(label, 2)[0] in UPOS for label in model.names) else "TAG"

    def _shown(self, names: list[str]) -> list[str]:
        return sorted(names)

    def _all(self, labels: list[str]) -> list[str]:
        if not labels:
            names = " and ".join(self.attributes)
            raise ValueError(
                f"no token of the examples has a gold {names}, so the component {self.name!r} cannot learn; "
                + self._without_gold()
            )
        return labels

    def _without_gold(self) -> str:
        """Return advice for when no example has a gold label."""
        for target, names in self.TARGETS.items():
            if self.given >= {*names}:
                return f"choose another target: pass --components.{self.name}.target {target} to spacy train"
        possible = dict.fromkeys(chain.from_iterable(self.TARGETS.values()))
        return f"use examples with {' or '.join(possible)}, or remove the component from the pipeline"

    def _adapt(self, examples: list[Example], nlp: Language | None) -> None:
        names = ("TAG", "POS", "MORPH")
        self.given = {name for name in names if any(any(attribute_gold(one, [name])) for one in examples)}
        self.usual = "POS" if "POS" in self.given and "TAG" not in self.given else "TAG"
        if nlp is not None and self.attributes == ["TAG"]:
            self._weigh(nlp, "tag_acc", "pos_acc")
        if nlp is not None and self.attributes == ["POS"]:
            self._weigh(nlp, "pos_acc", "tag_acc")

    def _weigh(self, nlp: Language, learned: str, other: str) -> None:
        """Let a score take over the weight of the other one, unless another component has that score.

        A saved config has the weight of the attribute that its pipeline learned; `spacy train` would count
        this score, which does not exist here.
        """
        others = (nlp.get_pipe_meta(name) for name in nlp.component_names if name != self.name)
        if not any(other in (meta.default_score_weights or {}) for meta in others):
            weights = nlp.config["training"]["score_weights"]
            weights[learned] = weights.pop(other, None) or weights.get(learned)

    def _gold(self, example: Example) -> Gold:
        return attribute_gold(example, self.attributes)

    def predict(self, docs: Iterable[Doc]) -> Predicted:
        """Return for each doc the labels as indices into the model's names, -1 for white space."""
        batch, ids, names = self._label(docs)
        found = np.full(batch.bounds[-1], -1, np.int32)
        found[batch.tokens] = ids
        predicted = Predicted(found[start:end] for start, end in pairwise(batch.bounds))
        predicted.names = names
        return predicted

    def set_annotations(self, docs: Iterable[Doc], scores: list[np.ndarray]) -> None:
        names = scores.names if isinstance(scores, Predicted) else self.model.model_.names
        if not names:
            return
        attributes = [IDS[name] for name in self.attributes]
        vocab, values = None, np.empty(0)
        for doc, ids in zip(docs, scores, strict=True):
            if len(doc):
                if doc.vocab is not vocab:
                    vocab, values = doc.vocab, self._values(names, doc.vocab)
                new = values[ids]
                if not self.overwrite:
                    old = doc.to_array(attributes).reshape(new.shape)
                    new = np.where(old, old, new)
                doc.from_array(attributes, new)

    def _values(self, names: list[str], vocab: Vocab) -> np.ndarray:
        """Return spaCy's ids, one row per label and a last one for white space, one column per attribute."""
        attributes = self.attributes
        rows = [values(name, len(attributes)) for name in names]
        rows.append([SPACE[attribute] for attribute in attributes])
        return np.array(
            [[_id(*cell, vocab) for cell in zip(attributes, row, strict=True)] for row in rows], np.uint64
        )

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        if self.scorer is None:
            return {}
        return dict(self.scorer(examples, attributes=self.attributes, **kwargs))

    def _files(self) -> FileColumns:
        column = {attribute: COLUMN[name] for name, attribute in CONLLU.items()}
        if not column.keys() >= {*self.columns, *self.attributes}:
            return {}
        inputs, labels = ([column[name] for name in names] for names in (self.columns, self.attributes))
        files: FileColumns = {"format": FORMAT.name, "inputs": inputs, "label": labels[0]}
        files["task"] = self.TASK or self.TAGGER.TASK
        if len(labels) > 1:
            files["parts"] = [FORMAT.names[k] for k in labels]
        return files

    def _settings(self) -> dict[str, Any]:
        return {**super()._settings(), "target": "|".join(self.attributes)}


def _label_columns(model: TaggerModel) -> list[str]:
    """Return a list with the name of a model's label column; empty if its columns have no names."""
    columns = FORMATS[model.files.get("format", "columns")].names
    return [columns[model.files["label"]]] if columns and not model.parts else []


def _id(attribute: str, text: str, vocab: Vocab) -> int:
    """Return the id of a value in a vocab, to which it is added."""
    if attribute == "POS" and text not in UPOS:
        raise ValueError(f"the label {text!r} is not a universal part of speech; use target='TAG'")
    if attribute == "MORPH":
        return int(vocab.morphology.add("" if text == "_" else text))
    return PARTS_OF_SPEECH[text] if attribute == "POS" else vocab.strings.add(text)


def _fits(attribute: str, value: str) -> bool:
    """Return whether a token attribute can have this value."""
    if attribute == "MORPH":
        return value in ("", "_") or all("=" in feature for feature in value.split("|"))
    return attribute != "POS" or value in UPOS


def _hint(predicts: str) -> str:
    """Return what to do with a model that predicts these attributes."""
    if predicts == "LEMMA":
        return "train lemmas with structsvm train lemma"
    return f"add the component structsvm_{'morphologizer' if 'MORPH' in predicts else 'tagger'} instead"


def score_tags(
    examples: Iterable[Example], attributes: Iterable[str] = ("TAG",), **kwargs: Any
) -> dict[str, Any]:
    """Return tag_acc and pos_acc, the shares of correct tokens."""
    examples = list(examples)
    found: dict[str, Any] = {}
    for name in attributes:
        found |= Scorer.score_token_attr(examples, name.lower(), **kwargs)
    return found


@registry.scorers("structsvm.tag_scorer.v1")
def make_tag_scorer() -> Callable[..., dict[str, Any]]:
    return score_tags


make_tagger = factory(
    "structsvm_tagger", StructSVMTagger, assigns=["token.tag", "token.pos"],
    scorer="structsvm.tag_scorer.v1", score_weights={"tag_acc": 0.5, "pos_acc": 0.5},
)  # fmt: skip
