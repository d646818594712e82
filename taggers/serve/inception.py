"""The protocol of INCEpTION's external recommenders: predict and train, with documents as CAS XMI."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, SubElement, tostring

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from structsvm.integrations.starlette import Refused, field, read_json
from taggers.formats.utf16 import Offsets
from taggers.labels.schemes import OUTSIDE
from taggers.serve.access import Turns
from taggers.serve.api import Api
from taggers.serve.learner import Learner
from taggers.serve.limits import (
    MOST_REGIONS,
    MOST_TASKS,
    MOST_TOKENS,
    check_length,
    check_number,
    check_sentences,
    check_texts,
)
from taggers.serve.sentences import Label, Sentence, Span, labels_of_spans, spans_of_labels
from taggers.serve.xml import read_xml

PREFIX = "/inception"
SENTENCE = "de.tudarmstadt.ukp.dkpro.core.api.segmentation.type.Sentence"
TOKEN = "de.tudarmstadt.ukp.dkpro.core.api.segmentation.type.Token"
PREDICTED = "inception_internal_predicted"
TOGETHER = 16  # sentences learned with one write to the journal
ALTERNATIVES = 2  # labellings besides the best one
SLOWER = 100  # how much longer it takes to find them than the best one
ID = "{http://www.omg.org/XMI}id"
CAS = "{http:///uima/cas.ecore}"
VIEW = "_InitialView"
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


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
        document, sentences, features = await self.api.threads.run(
            _to_predict, field(body, "document", dict), field(body, "typeSystem", str), layer
        )
        sentences = _within(sentences, body, document.offsets)
        turns, found = Turns(), []
        for sentence, tagged in zip(sentences, await self.api.tag(sentences), strict=True):
            found.append(await self._suggestions(sentence, tagged.labels, tagged.margins))
            await turns.give()
        xmi = await self.api.threads.run(_with_predictions, document, layer, features, sentences, found)
        return JSONResponse({"document": xmi})

    async def _suggestions(
        self, sentence: Sentence, labels: list[str], margins: Sequence[float]
    ) -> list[Suggestion]:
        """The phrases of the best labelling, and others of the next ones, for INCEpTION's active learning."""
        model, tokens = self.api.model, sentence.tokens
        found = {}
        for label, first, end in spans_of_labels(labels, model.scheme):
            margin = min(min(margins[first:end]), 1e9)
            found[label, first, end] = Suggestion(label, first, end, margin, f"margin {margin:.3g}")
        others = await self.api.read(SLOWER * len(tokens), lambda: model.alternatives(tokens, ALTERNATIVES))
        for labels, behind in others:
            for span in spans_of_labels(labels, model.scheme):
                found.setdefault(span, Suggestion(*span, behind, f"{-behind:.3g} behind the best labelling"))
        return list(found.values())

    async def train(self, request: Request) -> Response:
        """Learn the annotated sentences that are new or have changed."""
        learner = self.api.learner
        if self._training:
            return Response(status_code=429)
        self._training = True
        try:
            await self._train(await read_json(request), learner)
        finally:
            self._training = False
        return Response(status_code=204)

    async def _train(self, body: dict[str, Any], learner: Learner) -> None:
        layer = _layer(body)
        new: list[tuple[list[Any], list[Label]]] = []
        documents = field(body, "documents", list)
        check_number(len(documents), MOST_TASKS, "documents")
        for document in documents:
            if not isinstance(document, dict):
                raise Refused("documents must be a list of objects")
            new += await self.api.threads.run(_new, document, layer, learner)
        for start in range(0, len(new), TOGETHER):
            part = new[start : start + TOGETHER]
            answer = await self.api.learn([X for X, _ in part], [y for _, y in part])
            if answer.status != 200:
                raise Refused(answer.content["error"], answer.status)


def _layer(body: dict[str, Any]) -> Layer:
    metadata = field(body, "metadata", dict)
    return Layer(field(metadata, "layer", str, "metadata."), field(metadata, "feature", str, "metadata."))


class Document:
    """A CAS in XMI: the text and the annotations of its initial view."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.root = read_xml(field(document, "xmi", str), "the XMI")
        sofas = [one for one in self.root.iter(f"{CAS}Sofa") if one.get("sofaID") == VIEW]
        if len(sofas) != 1:
            raise Refused(f"the XMI must have one cas:Sofa with the sofaID {VIEW}")
        self.sofa = sofas[0].get(ID, "")
        self.text = sofas[0].get("sofaString", "")
        check_texts([self.text])
        self.offsets = Offsets(self.text)
        views = [one for one in self.root.iter(f"{CAS}View") if one.get("sofa") == self.sofa]
        self.view = views[0] if views else SubElement(self.root, f"{CAS}View", {"sofa": self.sofa})
        self._members = set(self.view.get("members", "").split())

    def annotations(self, type: str) -> list[tuple[int, int, Element]]:
        """First and last offset of each annotation, in characters and in order."""
        found = []
        for one in self.root.iter(_tag(type)):
            if one.get(ID) in self._members:
                start, end = (_number(one.get(name, "0"), name) for name in ("begin", "end"))
                start, end = self.offsets.characters(start), self.offsets.characters(end)
                if not start <= end <= len(self.text):
                    raise Refused(f"an annotation of {type} lies outside the text")
                found.append((start, end, one))
        check_number(len(found), MOST_TOKENS, f"annotations of {type}")
        return sorted(found, key=lambda one: one[:2])

    def sentences(self) -> list[Sentence]:
        """The sentences that have tokens."""
        tokens = [(start, end) for start, end, _ in self.annotations(TOKEN) if start < end]
        sentences: list[Sentence] = []
        at = last = 0
        for start, end, _ in self.annotations(SENTENCE):
            if start < last:
                raise Refused(f"the sentences of the document overlap at character {start}")
            while at < len(tokens) and tokens[at][0] < start:
                at += 1
            first = at
            while at < len(tokens) and tokens[at][1] <= end:
                if tokens[at][0] < last:
                    raise Refused(f"the tokens of the document overlap at character {tokens[at][0]}")
                last = tokens[at][1]
                at += 1
            last = end
            if first < at:
                check_length(at - first, "a sentence of the document")
                places = tokens[first:at]
                sentences.append(Sentence([self.text[a:b] for a, b in places], places))
        check_sentences([sentence.tokens for sentence in sentences])
        return sentences

    def add(self, layer: Layer, annotations: list[dict[str, str]]) -> None:
        """Add annotations with new identifiers to the view."""
        last = max((_number(one.get(ID, "0"), "xmi:id") for one in self.root.iter()), default=0)
        for number, values in enumerate(annotations, last + 1):
            SubElement(self.root, _tag(layer.type), {ID: str(number), "sofa": self.sofa, **values})
        new = [str(last + 1 + number) for number in range(len(annotations))]
        self.view.set("members", " ".join([*self.view.get("members", "").split(), *new]))

    def xmi(self) -> str:
        """The document as INCEpTION reads it."""
        return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(self.root, "unicode")


def _tag(type: str) -> str:
    """The XMI name of a UIMA type."""
    package, _, name = type.rpartition(".")
    return f"{{http:///{package.replace('.', '/') or 'uima/noNamespace'}.ecore}}{name}"


def _number(text: str, name: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise Refused(f"{name} of an annotation must be a number, got {text[:20]!r}")
    return int(text)


def _features(types: str, layer: Layer) -> set[str]:
    """The names of the features of the layer's type, which must include those of a prediction."""
    kinds: dict[str, tuple[str, set[str]]] = {}  # supertype and features
    for one in read_xml(types, "the type system").iter():
        if _local(one) == "typeDescription":
            children = {_local(child): child for child in one}
            names = {_child(feature, "name") for feature in children.get("features", ())}
            kinds[_child(one, "name")] = (_child(one, "supertypeName"), names)
    found: set[str] = set()
    name = layer.type
    while name in kinds:
        name, names = kinds.pop(name)
        found |= names
    if not found >= {layer.feature, PREDICTED}:
        raise Refused(f"the type {layer.type} needs the features {layer.feature} and {PREDICTED}")
    return found


def _local(element: Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _child(element: Element, name: str) -> str:
    return next(((child.text or "").strip() for child in element if _local(child) == name), "")


def _to_predict(
    document: dict[str, Any], types: str, layer: Layer
) -> tuple[Document, list[Sentence], set[str]]:
    features = _features(types, layer)
    found = Document(document)
    return found, found.sentences(), features


def _within(sentences: list[Sentence], body: dict[str, Any], offsets: Offsets) -> list[Sentence]:
    """The sentences in the range that INCEpTION asks for, which counts UTF-16 units."""
    wanted = body["metadata"].get("range")
    if not isinstance(wanted, dict):
        return sentences
    begin, end = field(wanted, "begin", int, "range."), field(wanted, "end", int, "range.")
    if not 0 <= begin <= end:
        raise Refused("range.begin must not be greater than range.end")
    first, last = offsets.characters(begin), offsets.characters(end)
    return [s for s in sentences if s.offsets and s.offsets[0][0] < last and s.offsets[-1][1] > first]


def _with_predictions(
    document: Document,
    layer: Layer,
    features: set[str],
    sentences: list[Sentence],
    found: list[list[Suggestion]],
) -> str:
    """The document as XMI, with the suggestions as annotations of the layer."""
    place, annotations = document.offsets.units, []
    for sentence, suggestions in zip(sentences, found, strict=True):
        assert sentence.offsets is not None
        for one in suggestions:
            values = {
                layer.feature: NOT_XML.sub("\ufffd", one.label), PREDICTED: "true",
                f"{layer.feature}_score": repr(one.score), f"{layer.feature}_score_explanation": one.why,
            }  # fmt: skip
            known = {name: value for name, value in values.items() if name in features}
            begin, end = sentence.offsets[one.first][0], sentence.offsets[one.end - 1][1]
            annotations.append({"begin": str(place(begin)), "end": str(place(end)), **known})
    document.add(layer, annotations)
    return document.xmi()


def _new(document: dict[str, Any], layer: Layer, learner: Learner) -> list[tuple[list[Any], list[Label]]]:
    """The sentences of a document that have annotations of the layer and were not learned, with labels."""
    found = Document(document)
    sentences = found.sentences()
    spans = [
        Span(start, end, (label,))
        for start, end, one in found.annotations(layer.type)
        if (label := one.get(layer.feature, "")).strip()
    ]
    check_number(len(spans), MOST_REGIONS, "annotations")
    return [
        (sentence.tokens, labels)
        for sentence, labels in zip(sentences, labels_of_spans(spans, sentences, learner.scheme), strict=True)
        if any(label not in (None, OUTSIDE) for label in labels)
        and not learner.knows(sentence.tokens, labels)
    ]
