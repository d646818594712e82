"""No request keeps others waiting, and its time and memory grow with its size."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")

from structsvm.integrations.starlette import LocalService
from taggers import NerTagger
from taggers.serve import limits
from taggers.serve.learner import Learner
from taggers.serve.service import new_service
from tests.fuzz.services import send
from tests.growth import check_growth
from tests.inception import LAYER, TYPES, xmi

CONFIG = (
    '<View><Labels name="label" toName="text"><Label value="PER"/><Label value="LOC"/></Labels>'
    '<Text name="text" value="$text"/></View>'
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("load") / "names.ssvm"
    X = [["Anna", "sings", "in", "Oslo", "."], ["Otto", "sleeps", "."]]
    y = [["B-PER", "O", "O", "B-LOC", "O"], ["B-PER", "O", "O"]]
    NerTagger(epochs=5).fit(X, y).save(path, training_state=True)
    return path


@pytest.fixture
def app(learner: Learner) -> Iterator[LocalService]:
    service = new_service(learner)
    yield service
    service._socket.close()


# -- requests of any size -----------------------------------------------------------------------------


def tag_text(n: int, line: str = "Anna sings in Oslo.\n", **more: Any) -> bytes:
    return json.dumps({"text": line * n, **more}).encode()


def tag_texts(n: int) -> bytes:
    return json.dumps({"texts": ["Anna sings in Oslo."] * n}).encode()


def tag_tokens(n: int) -> bytes:
    return json.dumps({"tokens": ["Anna", "sings"] * n, "margins": True}).encode()


def tag_sentences(n: int) -> bytes:
    return json.dumps({"sentences": [["Anna", "sings"]] * n}).encode()


def learn_sentences(n: int) -> bytes:
    one = {"tokens": ["Anna", "sings"], "labels": ["B-PER", "O"]}
    return json.dumps({"sentences": [one] * n}).encode()


def learn_spans(n: int) -> bytes:
    spans = [{"start": 12 * k, "end": 12 * k + 4, "label": "PER"} for k in range(n)]
    return json.dumps({"text": "Anna sings.\n" * n, "spans": spans}).encode()


def learn_overlapping_spans(n: int) -> bytes:
    spans = [{"start": 0, "end": 2400, "label": "PER"}] * n
    return json.dumps({"text": "Anna sings.\n" * 200, "spans": spans}).encode()


def studio_predict(n: int, text: str = "Anna sings in Oslo.") -> bytes:
    tasks = [{"data": {"text": text}}] * n
    return json.dumps({"tasks": tasks, "project": "1", "label_config": CONFIG}).encode()


def studio_webhook(n: int, text: str = "\U0001f600 Anna sings.\n" * 100) -> bytes:
    region = {"type": "labels", "from_name": "label", "value": {"start": 3, "end": 7, "labels": ["PER"]}}
    return json.dumps({
        "action": "ANNOTATION_CREATED", "project": {"id": 1, "label_config": CONFIG},
        "task": {"data": {"text": text}}, "annotation": {"result": [region] * n},
    }).encode()  # fmt: skip


def studio_long_webhook(n: int) -> bytes:
    """A text that is as long as it has regions."""
    return studio_webhook(n, "\U0001f600" * 40 * n)


def studio_labels(n: int) -> bytes:
    config = CONFIG.replace('<Label value="PER"/>', '<Label value="PER"/>' * n)
    return json.dumps({"project": "1", "schema": config}).encode()


def inception_predict(n: int) -> bytes:
    tokens = [(11 * k + at, 11 * k + end) for k in range(n) for at, end in ((0, 4), (5, 10))]
    document = {"xmi": xmi("Anna sings " * n, tokens, [(11 * k, 11 * k + 11) for k in range(n)])}
    metadata = {"layer": LAYER, "feature": "value"}
    return json.dumps({"metadata": metadata, "document": document, "typeSystem": TYPES}).encode()


def inception_covering(n: int) -> bytes:
    """Tokens that each cover the whole text."""
    document = {"xmi": xmi("a " * 20 * n, [(0, 40 * n)] * n, [(0, 40 * n)])}
    metadata = {"layer": LAYER, "feature": "value"}
    return json.dumps({"metadata": metadata, "document": document, "typeSystem": TYPES}).encode()


def inception_attributes(n: int) -> bytes:
    """An element with attributes, which is no document."""
    document = {"xmi": "<a " + " ".join(f"a{k}=''" for k in range(n)) + "/>"}
    metadata = {"layer": LAYER, "feature": "value"}
    return json.dumps({"metadata": metadata, "document": document, "typeSystem": TYPES}).encode()


def inception_train(n: int) -> bytes:
    document = {"xmi": xmi("Anna sings ", [(0, 4), (5, 10)], [(0, 11)], names=n)}
    return json.dumps({"metadata": {"layer": LAYER, "feature": "value"}, "documents": [document]}).encode()


def inception_types(n: int) -> bytes:
    types = TYPES.replace("<types>", "<types>" + "<typeDescription><name>a</name></typeDescription>" * n)
    document = {"xmi": xmi("Anna sings ", [(0, 4), (5, 10)], [(0, 11)])}
    metadata = {"layer": LAYER, "feature": "value"}
    return json.dumps({"metadata": metadata, "document": document, "typeSystem": types}).encode()


Case = tuple[str, Callable[[int], bytes], int]
# Route, request, and n: its time and memory are compared with those of 4n, near the limits.
GROWING: list[Case] = [
    ("/tag", tag_text, 500), ("/tag", tag_texts, 250), ("/tag", tag_tokens, 1000),
    ("/tag", tag_sentences, 1000), ("/learn", learn_sentences, 300), ("/learn", learn_spans, 300),
    ("/learn", learn_overlapping_spans, 5000),
    ("/label-studio/predict", studio_predict, 250), ("/label-studio/webhook", studio_webhook, 5000),
    ("/label-studio/webhook", studio_long_webhook, 1250),
    ("/label-studio/setup", studio_labels, 2000),
    ("/inception/predict", inception_predict, 50), ("/inception/predict", inception_covering, 1250),
    ("/inception/predict", inception_types, 2000), ("/inception/train", inception_train, 1250),
]  # fmt: skip
# Requests that are far too large, and the largest that are allowed.
HUGE: list[tuple[str, Callable[[], bytes], int]] = [
    ("/tag", lambda: b'{"sentences":[' + b",".join([b'["a"]'] * 1_500_000) + b"]}", 413),
    ("/tag", lambda: b'{"a":{' + b",".join(b'"%d":1' % k for k in range(1_000_000)) + b"}}", 413),
    ("/tag", lambda: b'{"a":"' + b"\\n" * 8_000_000 + b'"}', 400),
    ("/tag", lambda: tag_text(2_000_000, "a b c. "), 413),
    ("/tag", lambda: tag_text(200_000, "a b\n"), 413),
    ("/tag", lambda: tag_text(3000, margins=True), 200),
    ("/tag", lambda: json.dumps({"sentences": [["a"]] * limits.MOST_SENTENCES}).encode(), 200),
    ("/tag", lambda: json.dumps({"sentences": [["a"] * limits.LONGEST] * 10}).encode(), 200),
    ("/tag", lambda: json.dumps({"sentences": [["a"] * limits.LONGEST] * 11}).encode(), 413),
    ("/tag", lambda: json.dumps({"tokens": ["a" * limits.MOST_CHARACTERS]}).encode(), 200),
    ("/tag", lambda: json.dumps({"tokens": ["a" * limits.MOST_CHARACTERS * 15]}).encode(), 413),
    ("/learn", lambda: learn_sentences(2500), 200),
    ("/learn", lambda: learn_sentences(20_000), 413),
    ("/label-studio/predict", lambda: studio_predict(20_000), 413),
    ("/label-studio/predict", lambda: studio_predict(limits.MOST_TASKS), 200),
    ("/label-studio/webhook", lambda: studio_webhook(200, "\U0001f600" * 800_000), 201),
    ("/label-studio/webhook", lambda: studio_webhook(20_001), 413),
    ("/label-studio/setup", lambda: studio_labels(20_000), 200),
    ("/label-studio/setup", lambda: studio_labels(200_000), 413),
    ("/inception/predict", lambda: inception_attributes(9_000), 400),
    ("/inception/predict", lambda: inception_attributes(500_000), 413),
    ("/inception/predict", lambda: inception_covering(10_000), 400),
    ("/inception/predict", lambda: inception_predict(2000), 200),
    ("/inception/train", lambda: inception_train(20_001), 413),
]


@pytest.mark.parametrize(("path", "request_", "status"), HUGE)
def test_no_request_keeps_the_event_loop_busy(
    app: LocalService, path: str, request_: Callable[[], bytes], status: int
) -> None:
    """Between two turns of other requests lie at most 250 ms of processor time, in any of three attempts."""
    body, longest = request_(), []

    async def measured() -> int:
        asked = asyncio.create_task(send(app, path, body))
        last = time.thread_time()
        while not asked.done():
            await asyncio.sleep(0.001)
            now = time.thread_time()
            longest[-1], last = max(longest[-1], now - last), now
        return await asked

    gc.freeze()  # as the service does
    try:
        for _ in range(3):
            longest.append(0.0)
            assert asyncio.run(measured()) == status
            if longest[-1] < 0.25:
                return
    finally:
        gc.unfreeze()
    raise AssertionError(f"the event loop was busy for {min(longest):.3f} s")


@pytest.mark.parametrize(("path", "request_", "n"), GROWING)
def test_time_and_memory_of_a_request_grow_with_its_size(
    model: Path, tmp_path: Path, path: str, request_: Callable[[int], bytes], n: int
) -> None:
    """At most 2.5 times for each doubling."""

    number = count()
    with contextlib.ExitStack() as stack:

        def prepare(n: int) -> Callable[[], None]:
            """One request to a service that has learned nothing."""
            learner = stack.enter_context(
                contextlib.closing(Learner(model, tmp_path / f"journal-{next(number)}"))
            )
            app, body = new_service(learner), request_(n)
            stack.callback(app._socket.close)

            def work() -> None:
                status = asyncio.run(send(app, path, body))
                assert status in (200, 201, 204, 400), status

            return work

        check_growth(prepare, n, limit=4 * n)
