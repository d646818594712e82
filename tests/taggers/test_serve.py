"""`structsvm serve`: tag and learn over HTTP, and nothing lost over a restart."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("starlette")

from structsvm.files import DataError
from taggers import Chunker, NerTagger, PosTagger, SequenceTagger
from taggers.formats.utf16 import Offsets
from taggers.pipeline import Pipeline
from taggers.serve.layers import open_served
from taggers.serve.learner import Learner
from taggers.serve.metrics import Metrics
from taggers.serve.sentences import Sentence, Span, labels_of_spans
from taggers.serve.service import new_service, serve
from taggers.teach.learner import TagLearner
from tests.taggers.command_line import COMMAND, refused, run
from tests.taggers.crfsuite_models import SMALL, crfsuite_model
from tests.web import call, running, until

TOKEN = "a-token-of-the-tests"
NAMES = [
    ["Anna", "Berg", "visits", "Oslo", "."],
    ["Otto", "lives", "in", "Rome", "."],
    ["The", "firm", "grows", "."],
]
ENTITIES = [["B-PER", "I-PER", "O", "B-LOC", "O"], ["B-PER", "O", "O", "B-LOC", "O"], ["O", "O", "O", "O"]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("serve") / "names.ssvm"
    NerTagger(epochs=5).fit(NAMES, ENTITIES).save(path, training_state=True)
    return path


class Client:
    """Calls a service that runs in a thread."""

    def __init__(self, port: int) -> None:
        self.port = port

    def get(self, path: str) -> tuple[int, Any]:
        return call(self.port, f"/{TOKEN}{path}")

    def post(self, path: str, body: Any, **headers: str) -> tuple[int, Any]:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return call(self.port, f"/{TOKEN}{path}", data, **headers)


@pytest.fixture
def client(learner: Learner) -> Iterator[Client]:
    with running(new_service(learner, token=TOKEN)) as port:
        yield Client(port)


def learned_sentence(number: int) -> dict[str, Any]:
    return {"tokens": [f"Name{number}", "sings"], "labels": ["B-PER", "O"]}


def test_a_text_is_split_and_labelled_with_offsets(client: Client) -> None:
    text = "Otto visits Rome. Anna \U0001f600 <script>alert(1)</script>"
    status, answer = client.post("/tag", {"text": text})
    assert (status, answer["version"]) == (200, 0)
    first, second = answer["sentences"]
    assert first["tokens"] == ["Otto", "visits", "Rome", "."]
    assert first["labels"] == ["B-PER", "O", "B-LOC", "O"]
    assert first["spans"] == [
        {"label": "PER", "start": 0, "end": 4, "tokens": [0, 1]},
        {"label": "LOC", "start": 12, "end": 16, "tokens": [2, 3]},
    ]
    for sentence in (first, second):
        assert [text[start:end] for start, end in sentence["offsets"]] == sentence["tokens"]


def test_tokens_are_labelled_as_the_tagger_labels_them(client: Client, model: Path) -> None:
    tagger = NerTagger.load(model)
    status, answer = client.post("/tag", {"sentences": NAMES, "margins": True})
    assert status == 200
    assert [sentence["labels"] for sentence in answer["sentences"]] == tagger.predict(NAMES)
    for sentence, margins in zip(answer["sentences"], tagger.predict_margins(NAMES), strict=True):
        shown = [float("inf") if margin is None else margin for margin in sentence["margins"]]
        assert shown == pytest.approx(margins, abs=1e-3)
    assert client.post("/tag", {"tokens": NAMES[0]})[1]["sentences"][0]["labels"] == ENTITIES[0]
    assert client.post("/tag", {"text": " \n"})[1]["sentences"] == []


def test_what_is_learned_changes_the_next_answer(client: Client) -> None:
    tokens = ["Zoe", "paints", "Zagreb"]
    labels = ["B-PER", "O", "B-CITY"]  # a new label
    assert client.post("/tag", {"tokens": tokens})[1]["sentences"][0]["labels"] != labels
    for number in range(1, 4):
        answer = client.post("/learn", {"tokens": tokens, "labels": labels})
        assert answer == (200, {"learned": 1, "version": number})
    assert client.post("/tag", {"tokens": tokens})[1]["sentences"][0]["labels"] == labels
    assert client.get("/health")[1]["version"] == 3


def test_partial_annotation_and_spans_of_a_text_are_learned(client: Client, learner: Learner) -> None:
    sentences = [{"tokens": ["Ada", "or", "Eva"], "labels": [["B-PER", "B-LOC"], None, "B-PER"]}]
    assert client.post("/learn", {"sentences": sentences})[0] == 200
    spans = [{"start": 6, "end": 15, "label": "PER"}, {"start": 20, "end": 24, "label": "LOC"}]
    assert client.post("/learn", {"text": "I saw Mara Wind in Kiel.", "spans": spans})[0] == 200
    assert learner.journal is not None
    last = json.loads(learner.journal.path.read_text(encoding="utf-8").splitlines()[-1])
    assert last["X"] == [["I", "saw", "Mara", "Wind", "in", "Kiel", "."]]
    assert last["y"] == [["O", "O", "B-PER", "I-PER", "O", None, None]]  # where the second span is wrong


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("/tag", {}, 'send exactly one of "text"'),
        ("/tag", {"text": "a", "tokens": ["a"]}, 'send exactly one of "text"'),
        ("/tag", {"txt": "a"}, "unknown field 'txt'; the fields are text, texts, tokens, sentences, margins"),
        ("/tag", {"texts": ["a", 3]}, "texts[1] must be a string"),
        ("/tag", {"tokens": ["a"], "probabilities": True}, "the probabilities of this model are not calibr"),
        ("/learn", {"sentences": [{"text": "ab", "spans": [{"start": 0}]}]}, "sentences[0].spans[0].end"),
        ("/tag", {"text": 3}, "text must be a string"),
        ("/tag", {"text": "a", "margins": 1}, "margins must be true or false"),
        ("/tag", {"tokens": []}, "tokens must be a list with at least one token"),
        ("/tag", {"tokens": ["a", ""]}, "tokens[1] must be a string that is not empty"),
        ("/tag", {"tokens": [["a", "b"]]}, "tokens[0] has 2 columns; this model needs 1"),
        ("/tag", {"sentences": [["a"], [3]]}, "sentences[1][0] must be a string"),
        ("/tag", {"tokens": ["a"] * 10_001}, "tokens has 10001 tokens; the longest sentence has 10000"),
        ("/tag", {"text": "a " * 10_001}, "a sentence has 10001 tokens; the longest sentence has 10000"),
        ("/learn", {"tokens": ["a"]}, "labels must be a list with one label for each of the 1 tokens"),
        ("/learn", {"tokens": ["a"], "labels": ["B-X", "O"]}, "labels must be a list"),
        ("/learn", {"tokens": ["a"], "labels": [None]}, "no token has a label"),
        ("/learn", {"tokens": ["a"], "labels": [[]]}, "labels[0] must be a label"),
        ("/learn", {"tokens": ["a"], "labels": ["Q-X"]}, "labels[0]: Label 'Q-X' is not of scheme IOB2"),
        ("/learn", {"tokens": ["a"], "labels": ["O"], "lang": 1}, "unknown field 'lang'"),
        ("/learn", {"sentences": [3]}, "sentences[0] must be an object"),
        ("/learn", {"text": "ab", "spans": [{"start": 1, "end": 9, "label": "X"}]}, "spans[0] lies outside"),
        ("/learn", {"text": "ab", "spans": [{"start": True, "end": 2, "label": "X"}]}, "spans[0].start must"),
        ("/learn", {"text": "ab", "spans": [{"start": 0, "end": 2, "label": " "}]}, "a label must not be"),
    ],
)  # fmt: skip
def test_bad_requests_get_one_sentence_and_change_nothing(
    client: Client, learner: Learner, path: str, body: Any, message: str
) -> None:
    assert learner.journal is not None
    before = learner.journal.path.read_bytes()
    status, answer = client.post(path, body)
    assert status == 400
    assert answer["error"].startswith(message)
    assert (learner.n_learned, learner.journal.path.read_bytes()) == (0, before)


def test_several_texts_are_tagged_in_one_request(client: Client) -> None:
    texts = ["Otto visits Rome. Anna sings.", "", "Anna"]
    status, answer = client.post("/tag", {"texts": texts})
    assert (status, answer["version"], len(answer["texts"])) == (200, 0, 3)
    for text, found in zip(texts, answer["texts"], strict=True):
        assert found["sentences"] == client.post("/tag", {"text": text})[1]["sentences"]


def test_spans_of_an_answer_can_be_sent_back_to_learn(client: Client, learner: Learner) -> None:
    text = "\U0001f600 Otto visits Rome."
    (sentence,) = client.post("/tag", {"text": text})[1]["sentences"]
    assert [text[one["start"] : one["end"]] for one in sentence["spans"]] == ["Otto", "Rome"]
    assert client.post("/learn", {"sentences": [{"text": text, "spans": sentence["spans"]}]})[0] == 200
    assert learner.journal is not None
    last = json.loads(learner.journal.path.read_text(encoding="utf-8").splitlines()[-1])
    assert (last["X"], last["y"]) == ([sentence["tokens"]], [sentence["labels"]])
    (sentence,) = client.post("/tag", {"tokens": sentence["tokens"]})[1]["sentences"]
    assert sentence["spans"][0] == {"label": "PER", "tokens": [1, 2]}  # there is no text


def test_calibrated_models_give_probabilities(tmp_path: Path) -> None:
    tagger = NerTagger(epochs=5).fit(NAMES, ENTITIES).calibrate(NAMES, ENTITIES)
    tagger.save(tmp_path / "calibrated.ssvm")
    with running(new_service(Learner(tmp_path / "calibrated.ssvm"), token=TOKEN)) as port:
        status, answer = Client(port).post("/tag", {"sentences": NAMES, "probabilities": True})
    assert status == 200
    for sentence, marginals in zip(answer["sentences"], tagger.predict_marginals(NAMES), strict=True):
        wanted = [row[label] for row, label in zip(marginals, sentence["labels"], strict=True)]
        assert sentence["probabilities"] == pytest.approx(wanted, abs=1e-3)


def test_probabilities_after_learning_do_not_wait_for_all_weights(tmp_path: Path) -> None:
    NerTagger(epochs=5).fit(NAMES, ENTITIES).calibrate(NAMES, ENTITIES).save(
        tmp_path / "m.ssvm", training_state=True
    )
    learner = Learner(tmp_path / "m.ssvm", tmp_path / "journal.jsonl")
    learner.tagger.partial_fit(NAMES[:1], ENTITIES[:1])
    for _ in range(20):  # together, more features than the model has
        learner.tag([NAMES[0][:1]], probabilities=True)
    assert learner.tagger._fitted()._pending  # type: ignore[union-attr]
    learner.close()


def test_a_pipeline_is_served_with_all_its_columns() -> None:
    pipeline, text = Pipeline.load("en"), "The dogs slept. They couldn't bark!"
    with running(new_service(open_served("en"), token=TOKEN)) as port:
        client = Client(port)
        status, answer = client.post("/tag", {"text": text, "margins": True})
        assert status == 200
        tokens = [sentence["tokens"] for sentence in answer["sentences"]]
        assert tokens[1] == ["They", "could", "n't", "bark", "!"]
        for sentence, words in zip(answer["sentences"], pipeline.predict(tokens), strict=True):
            assert sentence["labels"] == [word["upos"] for word in words]
            assert len(sentence["margins"]) == len(sentence["offsets"]) == len(words)
            for column in ("xpos", "feats", "lemma"):
                assert sentence[column] == [word[column] for word in words]
        assert client.get("/health")[1]["model_class"] == "Pipeline"
        assert client.post("/tag", {"text": text, "probabilities": True})[0] == 400
        assert client.post("/learn", learned_sentence(1))[0] == 403
        config = '<View><Labels name="l" toName="t"><Label value="NOUN"/></Labels>'
        config += '<Text name="t" value="$t"/></View>'
        body = {"tasks": [{"data": {"t": text}}], "label_config": config}
        (result,) = client.post("/label-studio/predict", body)[1]["results"]
        assert [one["value"]["text"] for one in result["result"]][:1] == ["dogs"]
    with pytest.raises(ValueError, match="en has several layers, so it cannot learn; leave out the journal"):
        serve("en", journal="never.jsonl")


def test_several_models_are_served_under_their_names(model: Path, tmp_path: Path) -> None:
    PosTagger(epochs=2).fit([["a", "cat"]], [["DET", "NOUN"]]).save(tmp_path / "pos.ssvm")
    process = Process(model, "--model", f"pos={tmp_path / 'pos.ssvm'}", "--journal", tmp_path / "journal")
    client = process.client
    assert client.post("/tag", {"tokens": NAMES[0]})[1]["sentences"][0]["labels"] == ENTITIES[0]
    assert client.post("/pos/tag", {"text": "a cat"})[1]["sentences"][0]["labels"] == ["DET", "NOUN"]
    assert client.get("/pos/health")[1]["model_class"] == "PosTagger"
    assert client.post("/learn", learned_sentence(1))[0] == 200  # only the first one learns
    assert client.post("/pos/learn", learned_sentence(1))[0] == 403
    assert client.post("/other/tag", {"text": "a cat"})[0] == 404
    assert process.end(signal.SIGTERM)[0] == 0
    for wrong in ("pos", "=x", "tag=x", "a/b=x"):
        refused(run("serve", model, "--model", wrong, cwd=tmp_path), 2, "NAME=FILE")


def test_the_description_of_the_routes_is_complete(model: Path) -> None:
    service = new_service(Learner(model), {"pos": open_served("en-pos")}, token=TOKEN)
    with running(service) as port:
        status, answer = Client(port).get("/openapi.json")
    assert (status, answer["openapi"]) == (200, "3.1.0")
    served = {(route.path, method.lower()) for route in service._router.routes for method in route.methods}
    described = {(path, method) for path, methods in answer["paths"].items() for method in methods}
    assert described == {(path, method) for path, method in served if method != "head"}
    assert ("/pos/tag", "post") in described
    schema = answer["paths"]["/tag"]["post"]["responses"]["2XX"]["content"]["application/json"]["schema"]
    with running(new_service(Learner(model), token=TOKEN)) as port:
        (sentence,) = Client(port).post("/tag", {"text": "Anna sings", "margins": True})[1]["sentences"]
    assert sentence.keys() <= schema["properties"]["sentences"]["items"]["properties"].keys()


def test_workers_share_the_port_and_are_replaced(model: Path, tmp_path: Path) -> None:
    process = Process(model, "--workers", "2")
    assert process.client.post("/tag", {"tokens": NAMES[0]})[1]["sentences"][0]["labels"] == ENTITIES[0]
    workers = children(process.process.pid)
    assert len(workers) == 2
    time.sleep(1.1)  # a worker that ends at once is not replaced
    os.kill(workers[0], signal.SIGKILL)
    until(lambda: len({*children(process.process.pid)} - {workers[0]}) == 2)
    workers = children(process.process.pid)
    code, error = process.end(signal.SIGINT)
    assert (code, "ended with status -9" in error) == (0, True)
    assert not any(Path(f"/proc/{worker}").exists() for worker in workers)
    with pytest.raises(ValueError, match="--journal cannot be combined with --workers"):
        serve(str(model), journal=str(tmp_path / "journal"), workers=2)


def test_workers_end_when_the_first_process_is_killed(model: Path) -> None:
    process = Process(model, "--workers", "2")
    assert process.client.get("/")[0] == 200
    workers = children(process.process.pid)
    process.end(signal.SIGKILL)
    until(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers))


def children(process: int) -> list[int]:
    """The processes that a process has started."""
    path = Path(f"/proc/{process}/task/{process}/children")
    if not path.exists():
        pytest.skip("needs Linux")
    return [int(one) for one in path.read_text().split()]


def test_requests_that_are_too_large_are_refused(client: Client) -> None:
    many = [learned_sentence(number) for number in range(2501)]
    status, answer = client.post("/learn", {"sentences": many})
    assert (status, answer["error"]) == (413, "5002 tokens to learn in one request; send at most 5000")
    labels = [[f"B-T{number}" for number in range(1001)]]
    status, answer = client.post("/learn", {"tokens": ["a"], "labels": labels})
    assert (status, answer["error"]) == (400, "the model would have more than 1000 labels")
    status, answer = client.post("/learn", {"tokens": ["a"], "labels": ["B-" + "x" * 199]})
    assert (status, answer["error"].partition("... ")[2]) == (400, "has 201 characters; send at most 200")
    for long in ({"tokens": ["a" * 1_000_001]}, {"text": "a" * 1_000_001}):
        status, answer = client.post("/tag", long)
        assert (status, answer["error"]) == (413, "1000001 characters in one request; send at most 1000000")
    status, answer = client.post("/learn", {"tokens": ["a" * 1_000_001], "labels": ["O"]})
    assert status == 413


def test_a_service_without_a_journal_does_not_learn(model: Path) -> None:
    with running(new_service(Learner(model), token=TOKEN)) as port:
        status, answer = Client(port).post("/learn", learned_sentence(0))
        assert (status, answer["error"]) == (403, "this service does not learn; start it with --journal FILE")
        assert Client(port).get("/health")[1]["learns"] is False


def test_a_model_with_several_columns_needs_tokens(tmp_path: Path) -> None:
    X, y = [[("the", "DT"), ("cat", "NN")]], [["B-NP", "I-NP"]]
    Chunker(epochs=1).fit(X, y).save(tmp_path / "chunk.ssvm")
    with running(new_service(Learner(tmp_path / "chunk.ssvm"), token=TOKEN)) as port:
        client = Client(port)
        status, answer = client.post("/tag", {"text": "the cat"})
        assert status == 400
        assert "tokens of 2 columns" in answer["error"]
        assert client.post("/tag", {"tokens": X[0]})[1]["sentences"][0]["labels"] == y[0]
        assert client.post("/inception/predict", {})[0] == 404


def test_labels_without_a_scheme_have_no_spans(tmp_path: Path) -> None:
    PosTagger(epochs=2).fit([["a", "cat"]], [["DET", "NOUN"]]).save(tmp_path / "pos.ssvm")
    with running(new_service(Learner(tmp_path / "pos.ssvm"), token=TOKEN)) as port:
        assert Client(port).post("/tag", {"tokens": ["a", "cat"]})[1]["sentences"] == [
            {"tokens": ["a", "cat"], "labels": ["DET", "NOUN"]}
        ]


def test_models_of_crfsuite_are_served_with_ready_features(tmp_path: Path) -> None:
    path = tmp_path / "small.crfsuite"
    path.write_bytes(crfsuite_model(*SMALL))
    X: list[Any] = [[{"w=dog": 1.0}, ["w=barks", "cap"]], [[]]]
    learner, tagger = Learner(path), SequenceTagger.load(path)
    with running(new_service(learner, token=TOKEN)) as port:
        client = Client(port)
        status, body = client.post("/tag", {"sentences": X, "margins": True, "probabilities": True})
        assert status == 200
        assert [one["labels"] for one in body["sentences"]] == tagger.predict(X)
        assert body["sentences"][0]["tokens"] == X[0]
        likely = [max(token.values()) for one in tagger.predict_marginals(X) for token in one]
        found = [p for one in body["sentences"] for p in one["probabilities"]]
        assert found == pytest.approx(likely, abs=1e-4)
        for bad, said in (
            ({"text": "a dog"}, "the features of each token"),
            ({"tokens": ["dog"]}, "tokens[0] must be an object"),
            ({"tokens": [{"w": None}]}, "token 0"),
            ({"tokens": [[], [3]]}, "token 1"),
            ({"tokens": [{"w": 1e99}]}, "token 0"),
            ({"tokens": [{"w": 10**400}]}, "token 0"),
            (b'{"tokens": [{"w": "\\ud800"}]}', ""),
            (b'{"tokens": [' + b'{"a":' * 400 + b"1" + b"}" * 400 + b"]}", ""),
        ):
            status, body = client.post("/tag", bad)
            assert status == 400, (bad, status, body)
            assert said in body["error"]
            assert "\n" not in body["error"]
        long = {"a": {"b" * 10_000: dict.fromkeys(map(str, range(100)), 1)}}  # each of the 100 names has "b"s
        assert client.post("/tag", {"tokens": [long]})[0] == 413
    with pytest.raises(ValueError, match="use a model that reads words"):
        Learner(path, tmp_path / "journal")


def test_models_that_need_python_or_cannot_learn_are_refused(tmp_path: Path) -> None:
    own, twice = tmp_path / "own", tmp_path / "twice"
    NerTagger(features=lambda tokens, at: {"n": len(tokens)}).fit(NAMES, ENTITIES).save(own)
    NerTagger(template="w[0], doc_label[0]").fit(NAMES, ENTITIES).save(twice)
    with pytest.raises(ValueError, match="works only from Python"):
        Learner(own)
    assert Learner(twice).tag(NAMES)
    with pytest.raises(ValueError, match="cannot learn more; leave out the journal"):
        Learner(twice, tmp_path / "journal")
    assert not (tmp_path / "journal").exists()
    for path, message in ((own, "user-defined features"), (twice, "cannot learn more")):
        with pytest.raises(ValueError, match=message):
            TagLearner("ner", model=path)


def test_metrics_are_those_of_prometheus(client: Client) -> None:
    client.post("/tag", {"tokens": ["Anna", "sings"]})
    client.post("/tag", {})
    with_connection = HTTPConnection("127.0.0.1", client.port, timeout=20)
    with_connection.request("GET", f"/{TOKEN}/metrics")
    answer = with_connection.getresponse()
    text = answer.read().decode()
    with_connection.close()
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'structsvm_requests_total{route="/tag",status="200"} 1\n' in text
    assert 'structsvm_requests_total{route="/tag",status="400"} 1\n' in text
    assert 'structsvm_request_seconds_count{route="/tag"} 2\n' in text
    assert 'structsvm_request_seconds_bucket{route="/tag",le="+Inf"} 2\n' in text
    assert "structsvm_tokens_tagged_total 2\n" in text
    several = Metrics(by_process=True)
    several.count("x", 3)
    assert f'\nstructsvm_x_total{{process="{os.getpid()}"}} 3\n' in several.text()
    for line in text.splitlines():
        assert re.fullmatch(r'# TYPE \w+ \w+|\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? [\d.]+', line), line


def test_eight_clients_tag_while_one_teaches(client: Client) -> None:
    answers: list[int] = []

    def tag() -> None:
        connection = HTTPConnection("127.0.0.1", client.port, timeout=30)
        for _ in range(20):
            connection.request("POST", f"/{TOKEN}/tag", json.dumps({"tokens": NAMES[0]}))
            answer = connection.getresponse()
            found = json.loads(answer.read())
            answers.append(answer.status if len(found["sentences"][0]["labels"]) == 5 else 0)
        connection.close()

    threads = [threading.Thread(target=tag) for _ in range(8)]
    for thread in threads:
        thread.start()
    for number in range(20):
        assert client.post("/learn", learned_sentence(number))[0] == 200
    for thread in threads:
        thread.join(60)
    assert answers == [200] * 160


def test_a_repeated_key_is_answered_the_same_and_learned_once(client: Client, learner: Learner) -> None:
    sentence = learned_sentence(1)
    header = {"Idempotency-Key": "request 1"}
    first = client.post("/learn", sentence, **header)
    assert first == (200, {"learned": 1, "version": 1})
    client.post("/learn", learned_sentence(2))
    assert client.post("/learn", sentence, **header) == first
    assert learner.n_learned == 2
    assert client.post("/learn", learned_sentence(3), **header)[0] == 422
    assert client.post("/learn", sentence, **{"Idempotency-Key": "x" * 201})[0] == 400


def test_a_full_disk_is_reported_and_nothing_is_learned(
    client: Client, learner: Learner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        status, answer = client.post("/learn", learned_sentence(1))
    assert status == 507
    assert answer["error"].startswith("the journal cannot be written (No space left on device)")
    assert learner.n_learned == 0
    assert client.post("/learn", learned_sentence(1)) == (200, {"learned": 1, "version": 1})


@pytest.mark.parametrize("deleted", [True, False])
def test_a_journal_that_was_moved_or_deleted_is_reported_and_nothing_is_learned(
    client: Client, learner: Learner, model: Path, deleted: bool
) -> None:
    assert learner.journal is not None
    path = learner.journal.path
    other = path.with_suffix(".moved")
    path.rename(other)
    if deleted:
        other.unlink()
    status, answer = client.post("/learn", learned_sentence(1))
    assert status == 507
    assert answer["error"].startswith("the journal cannot be written (it was moved or deleted")
    assert learner.n_learned == 0
    with pytest.raises(DataError, match="another program is using this journal"):
        Learner(model, path)
    if not deleted:
        other.rename(path)
        assert client.post("/learn", learned_sentence(1)) == (200, {"learned": 1, "version": 1})


def test_refused_requests_are_refused_again_after_a_restart(model: Path, tmp_path: Path) -> None:
    labels = [[f"B-T{number}" for number in range(1001)]]
    record = {"X": [["a"]], "y": [labels], "key": "k"}
    path = tmp_path / "journal.jsonl"
    learner = Learner(model, path)
    assert learner.journal is not None
    learner.journal.append(record)
    answer = learner.apply(record)
    learner.close()
    again = Learner(model, path)
    assert again.answered(record) == answer
    assert (answer.status, again.n_learned) == (400, 0)
    again.close()


def test_a_restart_gives_the_same_model(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    learner = Learner(model, path)
    assert learner.journal is not None
    for number in range(30):
        record = {"X": [[f"w{number % 7}", "Oslo"]], "y": [["B-PER", None if number % 3 else "B-LOC"]]}
        learner.journal.append(record)
        learner.apply(record)
        learner.tag([["Anna"]])
    learner.save(str(tmp_path / "before.ssvm"))
    learner.close()
    again = Learner(model, path)
    assert again.n_learned == 30
    again.save(str(tmp_path / "after.ssvm"))
    again.close()
    assert (tmp_path / "before.ssvm").read_bytes() == (tmp_path / "after.ssvm").read_bytes()


def test_a_journal_of_another_model_is_refused(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    Learner(model, path).close()
    before = path.read_bytes()
    other = tmp_path / "other.ssvm"
    NerTagger(epochs=1).fit(NAMES, ENTITIES).save(other)
    with pytest.raises(DataError, match="does not belong to the model"):
        Learner(other, path)
    path.write_bytes(before + b'{"X": 3}\n')
    with pytest.raises(DataError, match=r"journal\.jsonl:2: not a record of structsvm serve"):
        Learner(model, path)


class Process:
    """`structsvm serve` in a process of its own."""

    def __init__(self, *arguments: Any) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "serve", *map(str, arguments), "--port", "0"], stdout=subprocess.PIPE, text=True,
            stderr=subprocess.PIPE, env=os.environ | {"STRUCTSVM_TOKEN": TOKEN},
        )  # fmt: skip
        assert self.process.stdout is not None
        self.line = self.process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/", self.line)
        assert found, self.process.communicate()[1]
        assert TOKEN not in self.line  # it may be written to a log
        self.client = Client(int(found[1]))

    def end(self, number: signal.Signals) -> tuple[int, str]:
        self.process.send_signal(number)
        error = self.process.communicate(timeout=60)[1]
        return self.process.returncode, error


def test_nothing_is_lost_or_learned_twice_over_kill_9(model: Path, tmp_path: Path) -> None:
    journal, output = tmp_path / "journal.jsonl", tmp_path / "learned.ssvm"
    process = Process(model, "--journal", journal)
    acknowledged: list[int] = []

    def teach() -> None:
        for number in range(10_000):
            try:
                answer = process.client.post(
                    "/learn", learned_sentence(number), **{"Idempotency-Key": str(number)}
                )
            except (OSError, HTTPException):  # killed before the answer, or in the middle of it
                return
            assert answer == (200, {"learned": 1, "version": number + 1})
            acknowledged.append(number)

    thread = threading.Thread(target=teach)
    thread.start()
    while len(acknowledged) < 20 and thread.is_alive():
        time.sleep(0.01)
    process.end(signal.SIGKILL)
    thread.join(60)
    assert len(acknowledged) >= 20
    second = Process(model, "--journal", journal, "--output", output)
    version = second.client.get("/health")[1]["version"]
    assert version in (len(acknowledged), len(acknowledged) + 1)  # the last one may lack its answer
    for number in range(len(acknowledged) + 1):  # the client asks again
        answer = second.client.post("/learn", learned_sentence(number), **{"Idempotency-Key": str(number)})
        assert answer == (200, {"learned": 1, "version": number + 1})
    assert second.client.get("/health")[1]["version"] == len(acknowledged) + 1
    code, error = second.end(signal.SIGTERM)
    assert (code, error) == (0, "")
    assert NerTagger.load(output).tag(["Name1", "sings"]) == ["B-PER", "O"]


def test_ctrl_c_ends_the_service(model: Path) -> None:
    process = Process(model)
    assert process.line.startswith(f"{model} at http://127.0.0.1:")
    assert "/$STRUCTSVM_TOKEN/ (Ctrl-C" in process.line
    assert process.client.get("/")[1]["status"] == "UP"
    assert process.end(signal.SIGINT) == (0, "")


def test_bad_options_are_refused_in_one_sentence(model: Path, tmp_path: Path) -> None:
    refused(run("serve", "nothing.ssvm", cwd=tmp_path), 2, "nothing.ssvm does not exist")
    with pytest.raises(ValueError, match="--output has no effect without --journal"):
        serve(str(model), output="x.ssvm")
    with pytest.raises(ValueError, match="is an input and would be overwritten"):
        serve(str(model), journal=str(model))
    other, journal = tmp_path / "other.ssvm", str(tmp_path / "j.jsonl")
    other.write_bytes(model.read_bytes())
    with pytest.raises(ValueError, match="is an input and would be overwritten"):
        serve(str(model), models={"b": str(other)}, journal=journal, output=str(other))
    with pytest.raises(ValueError, match="16 to 256 letters"):
        serve(str(model), token="short")
    with (
        running(new_service(Learner(model), token=TOKEN)) as port,
        pytest.raises(ValueError, match=f"port {port} is in use"),
    ):
        serve(str(model), port=port)


def test_a_missing_package_is_reported_with_its_extra(model: Path, tmp_path: Path) -> None:
    program = "import sys; sys.modules['starlette'] = None; from structsvm.cli.entry import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "serve", str(model)], capture_output=True, check=False
    )
    refused(done, 2, 'run pip install "structsvm-nlp[serve]"')


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
BODIES = {
    "/tag": {"tokens": ["Anna"], "margins": True},
    "/learn": {"sentences": [{"tokens": ["Eva", "sings"], "labels": ["B-PER", None]}]},
    "/label-studio/predict": {
        "tasks": [{"id": 1, "data": {"text": "Anna"}}], "project": "1.2",
        "label_config": '<View><Labels name="l" toName="t"><Label value="PER"/></Labels>'
                        '<Text name="t" value="$text"/></View>',
    },
    "/label-studio/webhook": {
        "action": "ANNOTATION_CREATED", "task": {"data": {"text": "Anna"}},
        "project": {"id": 1, "label_config": "<View/>"},
        "annotation": {"id": 3, "result": [{"type": "labels"}]},
    },
    "/inception/predict": {
        "metadata": {"layer": "x", "feature": "value", "range": {"begin": 0, "end": 3}},
        "document": {"xmi": "<a/>"}, "typeSystem": "<b/>",
    },
    "/inception/train": {
        "metadata": {"layer": "x", "feature": "v"}, "documents": [{"xmi": "<a"}], "typeSystem": "",
    },
}  # fmt: skip


def mutated(value: Any, data: st.DataObject) -> Any:
    """A body of which some part is replaced."""
    if data.draw(st.integers(0, 3)) == 0:
        return data.draw(ANYTHING)
    if isinstance(value, dict) and value:
        key = data.draw(st.sampled_from(sorted(value)))
        return value | {key: mutated(value[key], data)}
    if isinstance(value, list) and value:
        at = data.draw(st.integers(0, len(value) - 1))
        return [*value[:at], mutated(value[at], data), *value[at + 1 :]]
    return data.draw(ANYTHING)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted(BODIES)), st.data())
def test_no_body_makes_the_service_fail(client: Client, path: str, data: st.DataObject) -> None:
    status, answer = client.post(path, mutated(BODIES[path], data))
    assert status in (200, 201, 204, 400, 413, 422, 429), answer
    if status >= 400:
        assert "\n" not in answer["error"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["a", "é", "\u4e00", "\U0001f600"]), max_size=12), st.data())
def test_offsets_in_utf_16_units_and_back(letters: list[str], data: st.DataObject) -> None:
    text = "".join(letters)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    offsets = Offsets(text)
    assert offsets.units(start) == len(text[:start].encode("utf-16-le")) // 2
    assert [offsets.characters(offsets.units(at)) for at in (start, end)] == [start, end]
    before = text.encode("utf-16-le")[: 2 * end].decode("utf-16-le", "ignore")  # perhaps without half a pair
    assert offsets.characters(end) == len(before)


def test_spans_that_do_not_fit_the_tokens_are_unknown() -> None:
    sentences = [
        Sentence(["New", "York", "is"], [(0, 3), (4, 8), (9, 11)]),
        Sentence(["big", "."], [(12, 15), (15, 16)]),
    ]

    def labels(*spans: tuple[int, int, str], scheme: str = "IOB2") -> list[Any]:
        given = [Span(start, end, (label,)) for start, end, label in spans]
        return [label for labels in labels_of_spans(given, sentences, scheme) for label in labels]

    assert labels((0, 8, "LOC")) == ["B-LOC", "I-LOC", "O", "O", "O"]
    assert labels((0, 6, "LOC")) == [None, None, "O", "O", "O"]  # ends inside a token
    assert labels((3, 4, "LOC")) == ["O"] * 5  # only white space
    assert labels((0, 8, "LOC"), (4, 8, "X")) == ["B-LOC", None, "O", "O", "O"]
    assert labels((9, 15, "X")) == ["O", "O", None, None, "O"]  # crosses sentences
    assert labels((0, 3, "LOC"), scheme="IOBES") == ["S-LOC", "O", "O", "O", "O"]
    assert labels((0, 3, "NOUN"), scheme="none") == ["NOUN", None, None, None, None]
    both = [Span(0, 8, ("LOC", "ORG"))]
    assert labels_of_spans(both, sentences, "IOB2")[0] == [["B-LOC", "B-ORG"], ["I-LOC", "I-ORG"], "O"]
