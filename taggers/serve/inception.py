"""The protocol of INCEpTION's external recommenders: predict and train, with documents as CAS XMI."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, NamedTuple

import cassis
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from structsvm.integrations.starlette import Refused, field, read_json
from taggers.labels.schemes import OUTSIDE
from taggers.serve.api import Api
from taggers.serve.sentences import Label, Sentence, Span, characters, labels_of_spans, spans_of_labels
from taggers.serve.xml import safe_xml

PREFIX = "/inception"
SENTENCE = "de.tudarmstadt.ukp.dkpro.core.api.segmentation.type.Sentence"
TOKEN = "de.tudarmstadt.ukp.dkpro.core.api.segmentation.type.Token"
PREDICTED = "inception_internal_predicted"
TOGETHER = 16  # sentences learned with one write to the journal
ALTERNATIVES = 2  # labellings besides the best one


class Layer(NamedTuple):
    """The annotations to predict: their type, and the feature that holds the label."""

    type: str
    feature: str


class Suggestion(NamedTuple):
    """A label for the tokens from `first` up to but not including `end`."""

    label: str
    first: int
    end: int
    score: float
    why: str


class Inception:
    """The routes of the protocol."""

    def __init__(self, api: Api) -> None:
        if api.learner.width > 1:
            raise ValueError("INCEpTION sends only words, but the model has more than one input column")
        self.api = api
        self._training = False

    def routes(self) -> list[Route]:
        """The routes; the address for INCEpTION ends in /inception."""
        return [
            self.api.route(f"{PREFIX}/predict", self.predict, "POST"),
            self.api.route(f"{PREFIX}/train", self.train, "POST"),
        ]

    async def predict(self, request: Request) -> Response:
        """Add predictions to a document."""
        body = await read_json(request)
        layer = _layer(body)
        document = field(body, "document", dict)
        cas = await asyncio.to_thread(_load, document, field(body, "typeSystem", str))
        sentences = _within(list(_sentences(cas)), body, cas.sofa_string or "")
        found = [
            await self._suggestions(sentence, *tagged)
            for sentence, tagged in zip(sentences, await self.api.tag(sentences), strict=True)
        ]
        xmi = await asyncio.to_thread(_with_predictions, cas, layer, sentences, found)
        return JSONResponse({"document": xmi})

    async def _suggestions(
        self, sentence: Sentence, labels: list[str], margins: list[float]
    ) -> list[Suggestion]:
        """The phrases of the best labelling, and others of the next ones, for INCEpTION's active learning."""
        learner = self.api.learner
        found = {}
        for label, first, end in spans_of_labels(labels, learner.scheme):
            margin = min(min(margins[first:end]), 1e9)
            found[label, first, end] = Suggestion(label, first, end, margin, f"margin {margin:.3g}")
        await asyncio.sleep(0)  # other requests get a turn
        for others, behind in learner.alternatives(sentence.tokens, ALTERNATIVES):
            for span in spans_of_labels(others, learner.scheme):
                found.setdefault(span, Suggestion(*span, behind, f"{-behind:.3g} behind the best labelling"))
        return list(found.values())

    async def train(self, request: Request) -> Response:
        """Learn the annotated sentences that are new or have changed."""
        if self.api.learner.journal is None:
            raise Refused("this service does not learn; start it with --journal FILE", 403)
        if self._training:
            return Response(status_code=429)
        self._training = True
        try:
            await self._train(await read_json(request))
        finally:
            self._training = False
        return Response(status_code=204)

    async def _train(self, body: dict[str, Any]) -> None:
        layer, types = _layer(body), field(body, "typeSystem", str)
        new: list[tuple[list[Any], list[Label]]] = []
        for document in field(body, "documents", list):
            if not isinstance(document, dict):
                raise Refused("documents must be a list of objects")
            labelled = await asyncio.to_thread(_labelled, document, types, layer, self.api.learner.scheme)
            new += [pair for pair in labelled if not self.api.learner.knows(*pair)]
        for start in range(0, len(new), TOGETHER):
            part = new[start : start + TOGETHER]
            answer = await self.api.learn([X for X, _ in part], [y for _, y in part])
            if answer.status != 200:
                raise Refused(answer.content["error"], answer.status)


def _layer(body: dict[str, Any]) -> Layer:
    metadata = field(body, "metadata", dict)
    return Layer(field(metadata, "layer", str, "metadata."), field(metadata, "feature", str, "metadata."))


def _load(document: dict[str, Any], types: str) -> Any:
    """The CAS of a document, or Refused."""
    xmi = safe_xml(field(document, "xmi", str), "the XMI")
    try:
        return cassis.load_cas_from_xmi(xmi, cassis.load_typesystem(safe_xml(types, "the type system")))
    except Exception as error:  # cassis and lxml raise many kinds
        raise Refused(f"the document or its type system cannot be read: {_line(error)}") from None


def _line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


def _sentences(cas: Any) -> Iterator[Sentence]:
    """The sentences of a CAS that have tokens."""
    try:
        for sentence in cas.select(SENTENCE):
            tokens = [(t.begin, t.end, t.get_covered_text()) for t in cas.select_covered(TOKEN, sentence)]
            words = [token for token in tokens if token[2]]
            if words:
                yield Sentence([text for _, _, text in words], [(begin, end) for begin, end, _ in words])
    except Exception as error:
        raise Refused(f"the sentences and tokens of the document cannot be read: {_line(error)}") from None


def _within(sentences: list[Sentence], body: dict[str, Any], text: str) -> list[Sentence]:
    """The sentences in the range that INCEpTION asks for, which counts UTF-16 units."""
    wanted = body["metadata"].get("range")
    if not isinstance(wanted, dict):
        return sentences
    begin, end = field(wanted, "begin", int, "range."), field(wanted, "end", int, "range.")
    if not 0 <= begin <= end:
        raise Refused("range.begin must not be greater than range.end")
    first, last = characters(text, begin, end)
    return [s for s in sentences if s.offsets and s.offsets[0][0] < last and s.offsets[-1][1] > first]


def _with_predictions(
    cas: Any, layer: Layer, sentences: list[Sentence], found: list[list[Suggestion]]
) -> str:
    """The document as XMI, with the suggestions as annotations of the layer."""
    try:
        kind = cas.typesystem.get_type(layer.type)
        names = {feature.name for feature in kind.all_features}
        if layer.feature not in names or PREDICTED not in names:
            raise Refused(f"the type {layer.type} needs the features {layer.feature} and {PREDICTED}")
        for sentence, suggestions in zip(sentences, found, strict=True):
            assert sentence.offsets is not None
            for one in suggestions:
                values = {
                    layer.feature: one.label, PREDICTED: True, f"{layer.feature}_score": one.score,
                    f"{layer.feature}_score_explanation": one.why,
                }  # fmt: skip
                known = {name: value for name, value in values.items() if name in names}
                begin, end = sentence.offsets[one.first][0], sentence.offsets[one.end - 1][1]
                cas.add(kind(begin=begin, end=end, **known))
        return str(cas.to_xmi())
    except Refused:
        raise
    except Exception as error:
        raise Refused(f"the predictions cannot be added to the document: {_line(error)}") from None


def _labelled(
    document: dict[str, Any], types: str, layer: Layer, scheme: str
) -> list[tuple[list[Any], list[Label]]]:
    """The sentences of a document that have annotations of the layer, with their labels."""
    cas = _load(document, types)
    sentences = list(_sentences(cas))
    try:
        spans = [Span(a.begin, a.end, (label,)) for a in cas.select(layer.type)
                 if isinstance(label := a.get(layer.feature), str) and label.strip()]  # fmt: skip
    except Exception as error:
        raise Refused(f"the annotations of {layer.type} cannot be read: {_line(error)}") from None
    return [
        (sentence.tokens, labels)
        for sentence, labels in zip(sentences, labels_of_spans(spans, sentences, scheme), strict=True)
        if any(label not in (None, OUTSIDE) for label in labels)
    ]
