"""The routes of `structsvm serve`: tag, learn, health and metrics."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from structsvm.integrations.starlette import Refused, check_fields, field, read_json
from taggers.serve.learner import Answer, Learner, digest
from taggers.serve.limits import MOST_KEY, MOST_LEARNED, check_number
from taggers.serve.metrics import Endpoint, Metrics
from taggers.serve.sentences import (
    Label,
    Sentence,
    Span,
    check_labels,
    labels_of_spans,
    sentence_of_tokens,
    sentences_of_text,
    spans_of_labels,
)

SLICE = 1000  # tokens tagged before other requests get a turn
LONG_TEXT = 10_000  # characters; longer texts are split into tokens in another thread

Tagged = tuple[list[str], list[float]]


class Api:
    """Tag and learn for all protocols.

    Everything that touches the model runs in the thread of the event loop, so predictions never use a
    half-trained model: they wait until the current sentence is learned, about a millisecond. Other threads
    only write to the disk and split long texts.
    """

    def __init__(self, learner: Learner) -> None:
        self.learner = learner
        self.metrics = Metrics()
        self._learning = asyncio.Lock()

    def route(self, path: str, endpoint: Endpoint, method: str) -> Route:
        """A route whose requests are counted and timed."""
        return Route(path, self.metrics.measured(path, endpoint), methods=[method])

    def routes(self) -> list[Route]:
        """The routes of this module."""
        return [
            self.route("/", self.health, "GET"),
            self.route("/health", self.health, "GET"),
            self.route("/metrics", self.show_metrics, "GET"),
            self.route("/tag", self.tag_request, "POST"),
            self.route("/learn", self.learn_request, "POST"),
        ]

    # -- for all protocols ----------------------------------------------------------------------

    @property
    def version(self) -> str:
        """The current version of the model; it changes with every sentence that is learned."""
        return f"structsvm-{self.learner.n_learned}"

    async def split(self, text: str) -> list[Sentence]:
        """The sentences of a text."""
        if len(text) < LONG_TEXT:
            return sentences_of_text(text, self.learner.width)
        return await asyncio.to_thread(sentences_of_text, text, self.learner.width)

    async def tag(self, sentences: list[Sentence], *, margins: bool = True) -> list[Tagged]:
        """Labels and margins of sentences; other requests can run in between."""
        found: list[Tagged] = []
        for part in _slices(sentences):
            if found:
                await asyncio.sleep(0)
            found += self.learner.tag([sentence.tokens for sentence in part], margins=margins)
        self.metrics.count("sentences_tagged", len(sentences))
        self.metrics.count("tokens_tagged", sum(len(sentence.tokens) for sentence in sentences))
        return found

    async def learn(self, X: list[list[Any]], y: list[list[Label]], key: str | None = None) -> Answer:
        """Write a request to the journal, learn it, and return the answer.

        A request with the key of an earlier one gets the earlier answer, and is not learned again.
        """
        journal = self.learner.journal
        if journal is None:
            raise Refused("this service does not learn; start it with --journal FILE", 403)
        check_number(sum(map(len, X)), MOST_LEARNED, "tokens to learn")
        if not any(label is not None for labels in y for label in labels):
            raise Refused("no token has a label; label at least one")
        record = {"X": X, "y": y} | ({"key": key} if key else {})
        async with self._learning:
            answer = self.learner.answered(record)
            if answer is None:
                try:
                    await asyncio.to_thread(journal.append, record)
                except OSError as error:
                    what = f"the journal cannot be written ({error.strerror}), so nothing was learned"
                    raise Refused(what, 507) from None
                answer = self.learner.apply(record)
                if answer.status == 200:
                    self.metrics.count("sentences_learned", len(X))
            elif answer.digest != digest(record):
                raise Refused("this idempotency key was used for another request", 422)
        return answer

    # -- requests -------------------------------------------------------------------------------

    async def health(self, request: Request) -> Response:
        """Answer that the service runs."""
        learner = self.learner
        return JSONResponse({
            "status": "UP", "model_class": learner.task, "version": learner.n_learned,
            "learns": learner.journal is not None, "labels": len(learner.tagger.model_.names),
        })  # fmt: skip

    async def show_metrics(self, request: Request) -> Response:
        """The figures for Prometheus."""
        text = self.metrics.text(
            model_version=self.learner.n_learned, model_labels=len(self.learner.tagger.model_.names)
        )
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    async def tag_request(self, request: Request) -> Response:
        """`{"text": ...}`, `{"tokens": [...]}` or `{"sentences": [[...], ...]}`."""
        body = await read_json(request)
        check_fields(body, "text", "tokens", "sentences", "margins")
        with_margins = "margins" in body and field(body, "margins", bool)
        sentences = await self._sentences(body)
        found = await self.tag(sentences, margins=with_margins)
        answers = [
            self._answer(sentence, *tagged, with_margins)
            for sentence, tagged in zip(sentences, found, strict=True)
        ]
        return JSONResponse({"sentences": answers, "version": self.learner.n_learned})

    async def _sentences(self, body: dict[str, Any]) -> list[Sentence]:
        given = [name for name in ("text", "tokens", "sentences") if name in body]
        if len(given) != 1:
            raise Refused('send exactly one of "text", "tokens" and "sentences"')
        width = self.learner.width
        if given == ["text"]:
            return await self.split(field(body, "text", str))
        if given == ["tokens"]:
            return [sentence_of_tokens(body["tokens"], width)]
        return [
            sentence_of_tokens(tokens, width, f"sentences[{number}]")
            for number, tokens in enumerate(field(body, "sentences", list))
        ]

    def _answer(
        self, sentence: Sentence, labels: list[str], margins: list[float], with_margins: bool
    ) -> dict[str, Any]:
        answer: dict[str, Any] = {"tokens": sentence.tokens, "labels": labels}
        if sentence.offsets is not None:
            answer["offsets"] = sentence.offsets
        if with_margins:
            answer["margins"] = [None if margin == float("inf") else round(margin, 4) for margin in margins]
        if self.learner.scheme != "none":
            spans = spans_of_labels(labels, self.learner.scheme)
            answer["spans"] = [{"label": label, "first": a, "end": b} for label, a, b in spans]
        return answer

    async def learn_request(self, request: Request) -> Response:
        """`{"tokens": [...], "labels": [...]}`, `{"sentences": [...]}` of such, or a text with spans."""
        body = await read_json(request)
        key = request.headers.get("idempotency-key")
        if key is not None and not 0 < len(key) <= MOST_KEY:
            raise Refused(f"Idempotency-Key must have 1 to {MOST_KEY} characters")
        X, y = await self._labelled(body)
        answer = await self.learn(X, y, key)
        return JSONResponse(answer.content, answer.status)

    async def _labelled(self, body: dict[str, Any]) -> tuple[list[list[Any]], list[list[Label]]]:
        if "text" in body:
            return await self._labelled_text(body)
        check_fields(body, "tokens", "labels", "sentences", "text", "spans")
        if "sentences" in body:
            check_fields(body, "sentences")
            given = [(f"sentences[{n}].", one) for n, one in enumerate(field(body, "sentences", list))]
        else:
            given = [("", body)]
        X, y = [], []
        for where, one in given:
            if not isinstance(one, dict):
                raise Refused(f"{where.rstrip('.')} must be an object with tokens and labels")
            check_fields(one, "tokens", "labels")
            X.append(sentence_of_tokens(one.get("tokens"), self.learner.width, f"{where}tokens").tokens)
            y.append(check_labels(one.get("labels"), len(X[-1]), self.learner.scheme, f"{where}labels"))
        return X, y

    async def _labelled_text(self, body: dict[str, Any]) -> tuple[list[list[Any]], list[list[Label]]]:
        check_fields(body, "text", "spans")
        text = field(body, "text", str)
        spans = []
        for number, span in enumerate(field(body, "spans", list)):
            where = f"spans[{number}]."
            if not isinstance(span, dict):
                raise Refused(f"{where[:-1]} must be an object with start, end and label")
            check_fields(span, "start", "end", "label")
            start, end = field(span, "start", int, where), field(span, "end", int, where)
            if not 0 <= start < end <= len(text):
                raise Refused(f"{where[:-1]} lies outside the text or is empty")
            spans.append(Span(start, end, (self.checked_label(field(span, "label", str, where)),)))
        sentences = await self.split(text)
        y = labels_of_spans(spans, sentences, self.learner.scheme)
        return [sentence.tokens for sentence in sentences], y

    def checked_label(self, label: str) -> str:
        """A label of a span, or Refused."""
        if not label.strip():
            raise Refused("a label must not be empty")
        return label


def _slices(sentences: list[Sentence]) -> Iterator[list[Sentence]]:
    part: list[Sentence] = []
    size = 0
    for sentence in sentences:
        if part and size + len(sentence.tokens) > SLICE:
            yield part
            part, size = [], 0
        part.append(sentence)
        size += len(sentence.tokens)
    if part:
        yield part
