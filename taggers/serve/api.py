"""The routes of `structsvm serve` for one model: tag, learn, health and metrics."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from structsvm.integrations.starlette import Refused, check_fields, field, read_json
from taggers.serve.access import Access, Threads, Turns
from taggers.serve.layers import Model
from taggers.serve.learner import Answer, Learner, digest
from taggers.serve.limits import (
    MOST_KEY,
    MOST_LEARNED,
    MOST_REGIONS,
    MOST_SENTENCES,
    MOST_TASKS,
    check_label_lengths,
    check_number,
    check_sentences,
    check_texts,
)
from taggers.serve.metrics import Endpoint, Metrics
from taggers.serve.sentences import (
    Label,
    Sentence,
    Span,
    Tagged,
    check_labels,
    labels_of_spans,
    names_of,
    sentence_of_tokens,
    spans_of_labels,
)

SLICE = 1000  # tokens tagged at a time
LONG_TEXT = 10_000  # characters; longer texts are split into tokens in another thread
CHEAP = 2_000_000  # what costs more runs in another thread, see `Learner.cost`
SLOWER = 20  # learning, compared with tagging
ASKED = ("margins", "probabilities")
Labelled = tuple[list[Any], list[Label]]
Result = TypeVar("Result")


class Api:
    """Tag and learn for all protocols.

    Short work runs in the thread of the event loop, long work in few other threads. Nobody reads a model
    while it learns.
    """

    def __init__(
        self, model: Model, *, path: str = "", metrics: Metrics | None = None, threads: Threads | None = None
    ) -> None:
        self.model, self.path = model, path
        self.metrics = metrics or Metrics()
        self.threads = threads or Threads()
        self.access = Access()
        self._learning = asyncio.Lock()

    def route(self, path: str, endpoint: Endpoint, method: str) -> Route:
        """A route whose requests are counted and timed."""
        path = self.path + path
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
        return f"structsvm-{self.model.n_learned}"

    async def split(self, texts: list[str]) -> list[list[Sentence]]:
        """The sentences of each text."""
        check_number(len(texts), MOST_TASKS, "texts")
        check_texts(texts)
        turns, found = Turns(), []
        for text in texts:
            if len(text) < LONG_TEXT:
                found.append(self.model.split(text))
                await turns.give()
            else:
                found.append(await self.threads.run(self.model.split, text))
        return found

    async def tag(
        self, sentences: list[Sentence], *, margins: bool = True, probabilities: bool = False
    ) -> list[Tagged]:
        """Tag sentences; other requests can run in between."""
        check_sentences([sentence.tokens for sentence in sentences])
        found: list[Tagged] = []
        asked = {"margins": margins, "probabilities": probabilities}
        turns = Turns()
        for part in _slices(sentences):
            X = [sentence.tokens for sentence in part]
            found += await self.read(sum(map(len, X)), lambda X=X: self.model.tag(X, **asked))  # type: ignore[misc]
            await turns.give()
        self.metrics.count("sentences_tagged", len(sentences))
        self.metrics.count("tokens_tagged", sum(len(sentence.tokens) for sentence in sentences))
        return found

    async def read(self, n_tokens: int, work: Callable[[], Result]) -> Result:
        """The result of reading the model; nobody changes it meanwhile."""
        async with self.access.reading():
            if self.model.cost(n_tokens) <= CHEAP:
                return work()
            return await self.threads.run(work)

    async def learn(self, X: list[list[Any]], y: list[list[Label]], key: str | None = None) -> Answer:
        """Write a request to the journal, learn it, and return the answer.

        A request with the key of an earlier one gets the earlier answer, and is not learned again.
        """
        learner = self.learner
        assert learner.journal is not None
        n_tokens = sum(map(len, X))
        check_number(n_tokens, MOST_LEARNED, "tokens to learn")
        check_sentences(X)
        if not (names := names_of(y)):
            raise Refused("no token has a label; label at least one")
        check_label_lengths(names)
        record = {"X": X, "y": y} | ({"key": key} if key else {})
        async with self._learning:
            answer = learner.answered(record)
            if answer is None:
                try:
                    await asyncio.to_thread(learner.journal.append, record)
                except OSError as error:
                    what = f"the journal cannot be written ({error.strerror}), so nothing was learned"
                    raise Refused(what, 507) from None
                async with self.access.changing():
                    if learner.cost(SLOWER * n_tokens) <= CHEAP:
                        answer = learner.apply(record)
                    else:
                        answer = await asyncio.to_thread(learner.apply, record)
                if answer.status == 200:
                    self.metrics.count("sentences_learned", len(X))
            elif answer.digest != digest(record):
                raise Refused("this idempotency key was used for another request", 422)
        return answer

    @property
    def learner(self) -> Learner:
        """The model, or Refused if it does not learn."""
        if not isinstance(self.model, Learner) or self.model.journal is None:
            raise Refused("this service does not learn; start it with --journal FILE", 403)
        return self.model

    # -- requests -------------------------------------------------------------------------------

    async def health(self, request: Request) -> Response:
        """Describe the model and its state."""
        model = self.model
        return JSONResponse({
            "status": "UP", "model_class": model.task, "version": model.n_learned,
            "learns": model.journal is not None, "labels": model.n_labels,
        })  # fmt: skip

    async def show_metrics(self, request: Request) -> Response:
        """The figures for Prometheus."""
        text = self.metrics.text(model_version=self.model.n_learned, model_labels=self.model.n_labels)
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    async def tag_request(self, request: Request) -> Response:
        """`{"text": ...}`, `{"texts": [...]}`, `{"tokens": [...]}` or `{"sentences": [[...], ...]}`."""
        body = await read_json(request)
        check_fields(body, "text", "texts", "tokens", "sentences", *ASKED)
        asked = {name: name in body and field(body, name, bool) for name in ASKED}
        self.model.check_asked(**asked)
        texts = await self._sentences(body)
        found = iter(await self.tag([one for sentences in texts for one in sentences], **asked))
        turns, answers = Turns(), []
        for sentences in texts:
            parts = []
            for sentence in sentences:
                parts.append(json.dumps(self._answer(sentence, next(found)), ensure_ascii=False))
                await turns.give()
            answers.append('"sentences":' + _joined(parts))
        content = "texts" in body and '"texts":' + _joined(f"{{{answer}}}" for answer in answers)
        content = f'{{{content or answers[0]},"version":{self.model.n_learned}}}'
        return Response(content, media_type="application/json")

    async def _sentences(self, body: dict[str, Any]) -> list[list[Sentence]]:
        """The sentences of each text; tokens and sentences count as one text."""
        given = [name for name in ("text", "texts", "tokens", "sentences") if name in body]
        if len(given) != 1:
            raise Refused('send exactly one of "text", "texts", "tokens" and "sentences"')
        width = self.model.width
        if given == ["text"]:
            return await self.split([field(body, "text", str)])
        if given == ["texts"]:
            texts = field(body, "texts", list)
            for number, text in enumerate(texts):
                if not isinstance(text, str):
                    raise Refused(f"texts[{number}] must be a string")
            return await self.split(texts)
        if given == ["tokens"]:
            return [[sentence_of_tokens(body["tokens"], width)]]
        sentences, turns, found = field(body, "sentences", list), Turns(), []
        check_number(len(sentences), MOST_SENTENCES, "sentences")
        for number, tokens in enumerate(sentences):
            found.append(sentence_of_tokens(tokens, width, f"sentences[{number}]"))
            await turns.give()
        return [found]

    def _answer(self, sentence: Sentence, tagged: Tagged) -> dict[str, Any]:
        answer: dict[str, Any] = {"tokens": sentence.tokens, "labels": tagged.labels, **tagged.columns}
        if sentence.offsets is not None:
            answer["offsets"] = sentence.offsets
        if tagged.margins:
            answer["margins"] = [None if one == float("inf") else round(one, 4) for one in tagged.margins]
        if tagged.probabilities:
            answer["probabilities"] = [round(one, 4) for one in tagged.probabilities]
        if self.model.scheme != "none":
            answer["spans"] = [
                {"label": label, **sentence.place(first, end), "tokens": [first, end]}
                for label, first, end in spans_of_labels(tagged.labels, self.model.scheme)
            ]
        return answer

    async def learn_request(self, request: Request) -> Response:
        """`{"tokens": [...], "labels": [...]}`, `{"sentences": [...]}` of such, or a text with spans."""
        body = await read_json(request)
        key = request.headers.get("idempotency-key")
        if key is not None and not 0 < len(key) <= MOST_KEY:
            raise Refused(f"Idempotency-Key must have 1 to {MOST_KEY} characters")
        X, y, turns = [], [], Turns()
        for where, one in self._given(body):
            if not isinstance(one, dict):
                raise Refused(f"{where.rstrip('.')} must be an object with tokens and labels")
            for tokens, labels in await self._labelled(one, where):
                X.append(tokens)
                y.append(labels)
            await turns.give()
        answer = await self.learn(X, y, key)
        return JSONResponse(answer.content, answer.status)

    def _given(self, body: dict[str, Any]) -> list[tuple[str, Any]]:
        """The examples of a request, each with its place in the body for errors."""
        if "sentences" not in body:
            return [("", body)]
        check_fields(body, "sentences")
        sentences = field(body, "sentences", list)
        check_number(len(sentences), MOST_LEARNED, "sentences to learn")
        return [(f"sentences[{n}].", one) for n, one in enumerate(sentences)]

    async def _labelled(self, one: dict[str, Any], where: str) -> list[Labelled]:
        if "text" in one:
            return await self._labelled_text(one, where)
        check_fields(one, "tokens", "labels", "sentences", "text", "spans")
        tokens = sentence_of_tokens(one.get("tokens"), self.model.width, f"{where}tokens").tokens
        return [(tokens, check_labels(one.get("labels"), len(tokens), self.model.scheme, f"{where}labels"))]

    async def _labelled_text(self, one: dict[str, Any], where: str) -> list[Labelled]:
        check_fields(one, "text", "spans")
        text, given = field(one, "text", str, where), field(one, "spans", list, where)
        check_number(len(given), MOST_REGIONS, "spans")
        spans, turns = [], Turns()
        for number, span in enumerate(given):
            at = f"{where}spans[{number}]."
            if not isinstance(span, dict):
                raise Refused(f"{at[:-1]} must be an object with start, end and label")
            check_fields(span, "start", "end", "label", "tokens")  # as /tag answers
            start, end = field(span, "start", int, at), field(span, "end", int, at)
            if not 0 <= start < end <= len(text):
                raise Refused(f"{at[:-1]} lies outside the text or is empty")
            spans.append(Span(start, end, (self.checked_label(field(span, "label", str, at)),)))
            await turns.give()
        return await self.labelled(text, spans)

    async def labelled(self, text: str, spans: list[Span]) -> list[Labelled]:
        """The sentences of a text to learn, with the labels of their tokens."""
        ((sentences),) = await self.split([text])
        check_number(sum(len(sentence.tokens) for sentence in sentences), MOST_LEARNED, "tokens to learn")
        y = labels_of_spans(spans, sentences, self.model.scheme)
        return [(sentence.tokens, labels) for sentence, labels in zip(sentences, y, strict=True)]

    def checked_label(self, label: str) -> str:
        """A label of a span, or Refused."""
        if not label.strip():
            raise Refused("a label must not be empty")
        return label


def _joined(parts: Iterable[str]) -> str:
    """A JSON list of encoded values."""
    return f"[{','.join(parts)}]"


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
