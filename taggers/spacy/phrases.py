"""`structsvm_chunker` and `structsvm_ner`: set phrases as a group of spans and as entities."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from spacy.attrs import ENT_IOB, ENT_TYPE
from spacy.language import Language
from spacy.scorer import Scorer, get_ner_prf
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.util import registry

from structsvm.integrations.spacy import factory
from taggers.labels import schemes
from taggers.model import TaggerModel
from taggers.spacy.component import SequencePipe
from taggers.spacy.gold import Gold, entity_gold, phrase_labels, phrase_types, span_gold
from taggers.tagger import Chunker, NerTagger

WORD_TASKS = {"pos": "structsvm_tagger", "morph": "structsvm_morphologizer"}


class PhrasePipe(SequencePipe):
    """A component whose labels mark phrases."""

    PHRASE: ClassVar[str]
    COLUMN: ClassVar[str]  # of a file for `spacy train`

    def _check_labels(self, model: TaggerModel, path: str | Path) -> None:
        if _scheme(model) == "none" and any(name != schemes.OUTSIDE for name in model.names):
            raise ValueError(
                f"the labels of {path} ({', '.join(model.names[:5])}, ...) do not mark phrases; add the "
                "component structsvm_tagger instead"
            )

    def _adapt(self, examples: list[Example], nlp: Language | None) -> None:
        gold = {name for example in examples for name in self._gold(example) if name is not None}
        empty = not gold and len(examples) == 1  # what nlp.initialize() without examples passes
        if gold <= {schemes.OUTSIDE} and not empty:
            warnings.warn(
                f"no token of the examples has {self.PHRASE}, so the component {self.name!r} learns none; in "
                f"a config, use a file of columns, not CoNLL-U, and name the right column {self.COLUMN}",
                stacklevel=2,
            )

    def _shown(self, names: list[str]) -> list[str]:
        return phrase_types(names)

    def _all(self, labels: list[str]) -> list[str]:
        return phrase_labels(labels)

    def predict(self, docs: Iterable[Doc]) -> list[list[schemes.Span]]:
        """Return the phrases of each doc as (type, start, end)."""
        batch, ids, names = self._label(docs)
        model = self.model.model_
        scheme, found = _scheme(model), [list[schemes.Span]() for _ in batch.bounds[1:]]
        # A model that has learned nothing finds no phrases, although all labels have the same score.
        if scheme != "none" and names and len(model.space):
            tokens, labels = batch.tokens.tolist(), [names[k] for k in ids.tolist()]
            for doc, first, end in batch.sentences():
                at = batch.bounds[doc]
                for type_, start, stop in schemes.spans(labels[first:end], scheme):
                    found[doc].append((type_, tokens[first + start] - at, tokens[first + stop - 1] + 1 - at))
        return found

    def set_annotations(self, docs: Iterable[Doc], scores: list[list[schemes.Span]]) -> None:
        for doc, phrases in zip(docs, scores, strict=True):
            self._set(doc, [Span(doc, start, end, label=type_) for type_, start, end in phrases])

    def _learn(self, examples: list[Example]) -> float:
        if self.trained:
            model = self.model.model_
            if model.labels.outer == "none" and not schemes.has("IOB2", model.names):
                raise ValueError(
                    f"{self.name!r} learns labels in IOB2, but the model has {model.names[0]!r}; "
                    "train it from files with --resume"
                )
        return super()._learn(examples)

    @abstractmethod
    def _set(self, doc: Doc, spans: list[Span]) -> None:
        """Store the spans in the doc."""


class StructSVMChunker(PhrasePipe):
    """Sets chunks in doc.spans[spans_key]; displacy.render(doc, style="span") shows spans_key="sc"."""

    PHRASE: ClassVar[str] = "a chunk"
    COLUMN: ClassVar[str] = "CHUNK"
    TAGGER: ClassVar[Any] = Chunker
    OTHER_TASKS: ClassVar[dict[str, str]] = {**WORD_TASKS, "ner": "structsvm_ner"}
    COLUMNS: ClassVar[tuple[str, ...]] = ("ORTH", "TAG")

    def __init__(self, *args: Any, spans_key: str = "chunks", **options: Any) -> None:
        super().__init__(*args, **options)
        self.spans_key = spans_key
        self.cfg["spans_key"] = spans_key

    def _gold(self, example: Example) -> Gold:
        return span_gold(example, self.spans_key)

    def _set(self, doc: Doc, spans: list[Span]) -> None:
        if self.overwrite or self.spans_key not in doc.spans:
            doc.spans[self.spans_key] = spans


class StructSVMNer(PhrasePipe):
    """Sets named entities in doc.ents around those that are set already, such as by an `entity_ruler`.

    As with spaCy's own `ner`, entities and blocked tokens that the Doc has stay as they are, and a predicted
    entity that overlaps one of them is dropped. overwrite: replace them instead.
    """

    PHRASE: ClassVar[str] = "an entity"
    COLUMN: ClassVar[str] = "NER"
    TAGGER: ClassVar[Any] = NerTagger
    OTHER_TASKS: ClassVar[dict[str, str]] = {**WORD_TASKS, "chunk": "structsvm_chunker"}

    def __init__(self, *args: Any, overwrite: bool = False, **options: Any) -> None:
        super().__init__(*args, overwrite=overwrite, **options)

    def _gold(self, example: Example) -> Gold:
        return entity_gold(example)

    def _set(self, doc: Doc, spans: list[Span]) -> None:
        iob, kind = doc.to_array([ENT_IOB, ENT_TYPE]).T
        preset = (iob == 1) | (iob == 3)
        if self.overwrite or not preset.any():
            doc.set_ents(spans)
            return
        blocked = [doc[at : at + 1] for at in np.flatnonzero(preset & (kind == 0)).tolist()]
        spans = [span for span in spans if not preset[span.start : span.end].any()]
        doc.set_ents([*doc.ents, *spans], blocked=blocked)


def _scheme(model: TaggerModel) -> str:
    """Return the scheme of the labels; models of other programs do not name theirs."""
    if model.labels.outer != "none":
        return model.labels.outer
    phrases = all(name == schemes.OUTSIDE or schemes.marks_phrase(name) for name in model.names)
    return schemes.detect([model.names]) if phrases else "none"


def score_chunks(examples: Iterable[Example], spans_key: str = "chunks", **kwargs: Any) -> dict[str, Any]:
    """Return spans_chunks_p, _r, _f and _per_type."""
    prefix = "spans_"
    kwargs.setdefault("getter", lambda doc, attr: doc.spans.get(attr[len(prefix) :], []))
    kwargs.setdefault("has_annotation", lambda doc: spans_key in doc.spans)
    return Scorer.score_spans(examples, f"{prefix}{spans_key}", **kwargs)


@registry.scorers("structsvm.chunk_scorer.v1")
def make_chunk_scorer() -> Callable[..., dict[str, Any]]:
    return score_chunks


@registry.scorers("structsvm.ner_scorer.v1")
def make_ner_scorer() -> Callable[..., dict[str, Any]]:
    return get_ner_prf


make_chunker = factory(
    "structsvm_chunker", StructSVMChunker, assigns=["doc.spans"], requires=["token.tag"],
    scorer="structsvm.chunk_scorer.v1",
    score_weights={"spans_chunks_f": 1.0, "spans_chunks_p": 0.0, "spans_chunks_r": 0.0},
)  # fmt: skip
make_ner = factory(
    "structsvm_ner", StructSVMNer, assigns=["doc.ents", "token.ent_iob", "token.ent_type"],
    scorer="structsvm.ner_scorer.v1",
    score_weights={"ents_f": 1.0, "ents_p": 0.0, "ents_r": 0.0, "ents_per_type": None},
)  # fmt: skip
