"""Label Studio and INCEpTION: requests as these programs send them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")

from taggers import NerTagger
from taggers.serve.label_studio import confidence, read_config
from taggers.serve.learner import Learner
from taggers.serve.service import new_service
from tests.web import call, running

TOKEN = "a-token-of-the-tests"
NAMES = [
    ["Anna", "Berg", "visits", "Oslo", "."], ["Otto", "visits", "Rome"], ["Anna", "sings"],
    ["\U0001f600", "Otto", "visits", "Rome"], ["The", "firm", "grows", "."],
]  # fmt: skip
ENTITIES = [
    ["B-PER", "I-PER", "O", "B-LOC", "O"], ["B-PER", "O", "B-LOC"], ["B-PER", "O"],
    ["O", "B-PER", "O", "B-LOC"], ["O", "O", "O", "O"],
]  # fmt: skip
CONFIG = """<View>
  <Labels name="label" toName="text"><Label value="PER"/><Label value="LOC"/></Labels>
  <Text name="text" value="$text"/>
</View>"""
NER = "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity"
SEGMENTATION = "de.tudarmstadt.ukp.dkpro.core.api.segmentation.type"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("protocols") / "names.ssvm"
    NerTagger(epochs=5, inference="greedy").fit(NAMES, ENTITIES).save(path, training_state=True)
    return path


@pytest.fixture
def port(learner: Learner) -> Iterator[int]:
    with running(new_service(learner, token=TOKEN)) as number:
        yield number


def post(port: int, path: str, body: Any) -> tuple[int, Any]:
    return call(port, f"/{TOKEN}{path}", json.dumps(body).encode())


def journalled(learner: Learner) -> list[Any]:
    assert learner.journal is not None
    return [json.loads(line) for line in learner.journal.path.read_text(encoding="utf-8").splitlines()[1:]]


# -- Label Studio -----------------------------------------------------------------------------------


def predict_request(*texts: str) -> dict[str, Any]:
    return {
        "tasks": [{"id": number, "data": {"text": text}} for number, text in enumerate(texts)],
        "model_version": None, "project": "12.1700000000", "label_config": CONFIG,
        "params": {"login": None, "password": None, "context": {}},
    }  # fmt: skip


def region(start: int, end: int, *labels: str, text: str | None = None) -> dict[str, Any]:
    value: dict[str, Any] = {"start": start, "end": end, "labels": list(labels)}
    if text is not None:
        value["text"] = text
    return {"id": "x1", "from_name": "label", "to_name": "text", "type": "labels", "value": value}


def webhook(text: str, *regions: dict[str, Any], **annotation: Any) -> dict[str, Any]:
    return {
        "action": "ANNOTATION_CREATED", "project": {"id": 12, "label_config": CONFIG},
        "task": {"id": 1, "data": {"text": text}}, "annotation": {"result": list(regions), **annotation},
    }  # fmt: skip


@pytest.mark.parametrize("path", ["/label-studio", "/label-studio/", "/label-studio/health"])
def test_label_studio_sees_that_the_backend_is_up(port: int, path: str) -> None:
    status, answer = call(port, f"/{TOKEN}{path}")
    assert status == 200
    assert answer["status"] == "UP"
    assert answer["model_class"] == "NerTagger"
    assert call(port, f"/{TOKEN}/label-studio/metrics") == (200, {})


def test_setup_returns_the_version_and_keeps_the_configuration(port: int) -> None:
    body = {"project": "12.1700000000", "schema": CONFIG, "extra_params": None}
    assert post(port, "/label-studio/setup", body) == (200, {"model_version": "structsvm-0"})
    request = predict_request("Otto sings") | {"project": "12.1700000001"}
    del request["label_config"]
    assert post(port, "/label-studio/predict", request)[0] == 200
    status, answer = post(port, "/label-studio/predict", request | {"project": "13.1"})
    assert (status, answer["error"]) == (
        400,
        "no label configuration of project '13'; send label_config, or call setup",
    )


def test_every_task_gets_an_entry_with_spans_in_characters(port: int) -> None:
    texts = ["Otto visits Rome", "", "\U0001f600 Otto visits Rome", "<script>alert(1)</script>"]
    status, answer = post(port, "/label-studio/predict", predict_request(*texts))
    assert (status, answer["model_version"]) == (200, "structsvm-0")
    results = answer["results"]
    assert len(results) == len(texts)
    assert [
        (one["from_name"], one["to_name"], one["type"], one["value"]) for one in results[0]["result"]
    ] == [
        ("label", "text", "labels", {"start": 0, "end": 4, "text": "Otto", "labels": ["PER"]}),
        ("label", "text", "labels", {"start": 12, "end": 16, "text": "Rome", "labels": ["LOC"]}),
    ]
    assert results[1]["result"] == []
    assert [(one["value"]["start"], one["value"]["text"]) for one in results[2]["result"]] == [
        (2, "Otto"),
        (14, "Rome"),
    ]
    for result in results:
        assert 0 <= result["score"] <= 1
        assert all(0 <= one["score"] <= 1 for one in result["result"])


def test_labels_that_the_project_does_not_have_are_left_out(port: int) -> None:
    request = predict_request("Otto visits Rome") | {
        "label_config": CONFIG.replace('value="PER"', 'value="X"')
    }
    found = post(port, "/label-studio/predict", request)[1]["results"][0]["result"]
    assert [one["value"]["labels"] for one in found] == [["LOC"]]


def test_an_annotation_is_learned_before_the_webhook_is_answered(port: int, learner: Learner) -> None:
    body = webhook(
        "Zoe paints Zagreb.",
        region(0, 3, "PER"),
        region(11, 17, "LOC"),
        id=7,
        updated_at="2026-01-01T00:00:00Z",
    )
    status, answer = post(port, "/label-studio/webhook", body)
    assert (status, answer) == (201, {"result": {"learned": 1, "version": 1}, "status": "ok"})
    assert journalled(learner)[0]["y"] == [["B-PER", "O", "B-LOC", "O"]]
    assert post(port, "/label-studio/webhook", body) == (status, answer)  # Label Studio repeats it
    assert learner.n_learned == 1
    body["action"], body["annotation"]["updated_at"] = "ANNOTATION_UPDATED", "2026-01-02T00:00:00Z"
    assert post(port, "/label-studio/webhook", body)[1]["result"] == {"learned": 1, "version": 2}
    assert post(port, "/label-studio/predict", predict_request("Zoe"))[1]["model_version"] == "structsvm-2"


def test_offsets_of_annotations_may_count_utf_16_units_or_characters(port: int, learner: Learner) -> None:
    text = "\U0001f600 Otto"
    for start in (3, 2):
        assert (
            post(port, "/label-studio/webhook", webhook(text, region(start, start + 4, "PER", text="Otto")))[
                0
            ]
            == 201
        )
    assert [record["y"] for record in journalled(learner)] == [[["O", "B-PER"]]] * 2


def test_annotations_that_cannot_be_used_are_left_out(port: int, learner: Learner) -> None:
    other = region(0, 3, "PER") | {"type": "choices"}
    cancelled = webhook("Zoe paints.", region(0, 3, "PER"), was_cancelled=True)
    assert post(port, "/label-studio/webhook", cancelled)[0] == 201
    assert learner.n_learned == 0
    assert post(port, "/label-studio/webhook", webhook("Zoe paints.", other))[0] == 201
    assert journalled(learner)[0]["y"] == [["O", "O", "O"]]  # a finished annotation without entities
    several = webhook("Zoe paints.", region(0, 3, "PER", "LOC"), region(4, 7, "LOC"))
    assert post(port, "/label-studio/webhook", several)[0] == 201
    assert journalled(learner)[1]["y"] == [[["B-LOC", "B-PER"], None, "O"]]


@pytest.mark.parametrize(
    ("action", "status"),
    [("START_TRAINING", 201), ("ANNOTATION_DELETED", 200), ("PROJECT_UPDATED", 200), (None, 200)],
)
def test_other_actions_are_answered_and_learn_nothing(
    port: int, learner: Learner, action: Any, status: int
) -> None:
    assert post(port, "/label-studio/webhook", {"action": action, "project": {"id": 12}})[0] == status
    assert learner.n_learned == 0


def test_bad_regions_are_refused(port: int, learner: Learner) -> None:
    for wrong in (region(0, 99, "PER"), region(-1, 3, "PER"), region(0, 3), region(0, 3, "PER", text="Eva")):
        status, answer = post(port, "/label-studio/webhook", webhook("Zoe paints.", wrong))
        assert status == 400
        assert answer["error"].startswith("annotation.result[0].value")
    assert journalled(learner) == []


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("<View>", "the label configuration is not XML: "),
        ("<View/>", 'the label configuration needs <Labels name="label" toName="text">'),
        ('<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><View>&x;</View>',
         "the label configuration has a DOCTYPE"),
        ('<View><Labels name="a" toName="b"/><Text name="b" value="../../x"/></View>',
         "the label configuration needs"),
    ],
)  # fmt: skip
def test_bad_configurations_are_refused(port: int, config: str, message: str) -> None:
    status, answer = post(port, "/label-studio/setup", {"project": "1.2", "schema": config})
    assert status == 400
    assert answer["error"].startswith(message)


def test_confidence_is_ordered_like_margins() -> None:
    assert confidence(0.0) < confidence(0.5) < confidence(5.0) < confidence(float("inf")) == 1.0


def test_predictions_are_valid_for_the_sdk_of_label_studio(port: int) -> None:
    interface = pytest.importorskip("label_studio_sdk.label_interface")
    checker = interface.LabelInterface(CONFIG)
    for result in post(port, "/label-studio/predict", predict_request("Otto visits Rome", "\U0001f600 Otto"))[
        1
    ]["results"]:
        assert checker.validate_prediction(result, return_errors=True) == []
    assert read_config(CONFIG).labels == {"PER", "LOC"}


# -- INCEpTION --------------------------------------------------------------------------------------


def new_document(sentences: list[list[str]], **entities: tuple[int, int]) -> tuple[str, str]:
    """XMI and type system of a document with DKPro's tokens and sentences, and with entities."""
    cassis = pytest.importorskip("cassis")
    types = cassis.TypeSystem()
    token = types.create_type(f"{SEGMENTATION}.Token", "uima.tcas.Annotation")
    sentence = types.create_type(f"{SEGMENTATION}.Sentence", "uima.tcas.Annotation")
    entity = types.create_type(NER, "uima.tcas.Annotation")
    for name, kind in (
        ("value", "String"), ("identifier", "String"), ("inception_internal_predicted", "Boolean"),
        ("value_score", "Double"), ("value_score_explanation", "String"), ("value_auto_accept", "Boolean"),
    ):  # fmt: skip
        types.create_feature(entity, name, f"uima.cas.{kind}")
    cas = cassis.Cas(types)
    cas.sofa_string = " ".join(word for words in sentences for word in words)
    cas.sofa_mime = "text/plain"
    at = 0
    for words in sentences:
        begin = at
        for word in words:
            cas.add(token(begin=at, end=at + len(word)))
            at += len(word) + 1
        cas.add(sentence(begin=begin, end=at - 1))
    for label, (begin, end) in entities.items():
        cas.add(entity(begin=begin, end=end, value=label))
    return cas.to_xmi(), types.to_xml()


def inception_request(xmi: str, types: str, **metadata: Any) -> dict[str, Any]:
    return {
        "metadata": {
            "layer": NER, "feature": "value", "projectId": 1, "anchoringMode": "tokens",
            "crossSentence": False, **metadata,
        },
        "document": {"xmi": xmi, "documentId": 5, "userId": "ann"}, "typeSystem": types,
    }  # fmt: skip


def train_request(*documents: tuple[str, str]) -> dict[str, Any]:
    body = inception_request(*documents[0])
    del body["document"]
    found = [{"xmi": xmi, "documentId": number, "userId": "ann"} for number, (xmi, _) in enumerate(documents)]
    return body | {"documents": found}


def entities_in(xmi: str, types: str) -> list[tuple[str, str, bool, float]]:
    cassis = pytest.importorskip("cassis")
    cas = cassis.load_cas_from_xmi(xmi, cassis.load_typesystem(types))
    return [
        (one.get_covered_text(), one.value, one.inception_internal_predicted, one.value_score)
        for one in cas.select(NER)
    ]


def test_inception_gets_its_document_with_predictions(port: int) -> None:
    xmi, types = new_document([["\U0001f600", "Otto", "visits", "Rome"], ["Anna", "sings"]])
    status, answer = post(port, "/inception/predict", inception_request(xmi, types))
    assert status == 200
    found = entities_in(answer["document"], types)
    assert [one[:3] for one in found] == [("Otto", "PER", True), ("Rome", "LOC", True), ("Anna", "PER", True)]
    assert all(score > 0 for *_, score in found)


def test_inception_gets_alternatives_from_models_with_exact_inference(tmp_path: Path) -> None:
    path, words = tmp_path / "exact.ssvm", ["Rome", "visits", "Anna"]
    tagger = NerTagger(epochs=5, inference="exact").fit(NAMES, ENTITIES)
    tagger.save(path)
    xmi, types = new_document([words])
    with running(new_service(Learner(path), token=TOKEN)) as port:
        document = post(port, "/inception/predict", inception_request(xmi, types))[1]["document"]
    found = {(text, f"B-{label}"): score for text, label, _, score in entities_in(document, types)}
    (best, labels), *others = tagger.predict_nbest([words], 3)[0]
    outside = {(word, "O") for word in words}
    first = set(zip(words, labels, strict=True)) - outside
    assert all(found[pair] > 0 for pair in first)
    for score, labels in others:
        for pair in set(zip(words, labels, strict=True)) - outside - first:
            assert found.pop(pair) == pytest.approx(score - best, abs=1e-4)
    assert set(found) == first


def test_inception_may_ask_for_a_range_in_utf_16_units(port: int) -> None:
    xmi, types = new_document([["\U0001f600", "Otto", "visits", "Rome"], ["Anna", "sings"]])
    for begin, end, names in (
        (0, 5, ["Otto", "Rome"]),
        (20, 22, ["Anna"]),
        (0, 22, ["Otto", "Rome", "Anna"]),
        (99, 99, []),
    ):
        request = inception_request(xmi, types, range={"begin": begin, "end": end})
        document = post(port, "/inception/predict", request)[1]["document"]
        assert [one[0] for one in entities_in(document, types)] == names


def test_inception_trains_on_annotated_sentences_and_only_on_new_ones(port: int, learner: Learner) -> None:
    sentences = [["Zoe", "paints", "Zagreb"], ["Nobody", "came"]]
    document = new_document(sentences, PER=(0, 3), CITY=(11, 17))
    assert post(port, "/inception/train", train_request(document)) == (204, None)
    assert [(record["X"], record["y"]) for record in journalled(learner)] == [
        ([sentences[0]], [["B-PER", "O", "B-CITY"]])
    ]
    assert post(port, "/inception/train", train_request(document)) == (204, None)  # it sends all each time
    assert learner.n_learned == 1
    changed = new_document(sentences, LOC=(0, 3), PER=(18, 24))
    assert post(port, "/inception/train", train_request(document, changed))[0] == 204
    assert learner.n_learned == 3


def test_many_sentences_are_learned_and_known_after_a_restart(
    port: int, learner: Learner, model: Path
) -> None:
    sentences = [[f"Name{number}", "sings"] for number in range(20)]
    cassis = pytest.importorskip("cassis")
    xmi, types = new_document(sentences)
    cas = cassis.load_cas_from_xmi(xmi, cassis.load_typesystem(types))
    for token in cas.select(f"{SEGMENTATION}.Token")[::2]:
        cas.add(cas.typesystem.get_type(NER)(begin=token.begin, end=token.end, value="PER"))
    request = train_request((cas.to_xmi(), types))
    assert post(port, "/inception/train", request)[0] == 204
    assert [len(record["X"]) for record in journalled(learner)] == [16, 4]
    learner.close()
    assert learner.journal is not None
    again = Learner(model, learner.journal.path)
    assert again.n_learned == 20
    assert all(again.knows(words, ["B-PER", "O"]) for words in sentences)  # type: ignore[arg-type]
    again.close()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"typeSystem": "<typeSystemDescription"}, "the type system is not XML: unclosed token"),
        ({"document": {"xmi": "<a"}}, "the XMI is not XML: unclosed token"),
        ({"document": {"xmi": "<a/>"}}, "the XMI must have one cas:Sofa with the sofaID _InitialView"),
        ({"document": {"xmi": "<?xml version='1.0' encoding='UTF-16'?><a/>"}},
         "the XMI declares the encoding 'UTF-16'; only UTF-8 is allowed"),
        ({"document": {"xmi": 3}}, "xmi must be a string"),
        ({"document": {"xmi": "<a>" * 101 + "</a>" * 101}}, "the XMI has more than 100 elements within"),
        ({"document": {"xmi": "<!DOCTYPE a>"}}, "the XMI has a DOCTYPE, which is not allowed"),
        ({"metadata": {"layer": "no.such.Layer", "feature": "value"}}, "the type no.such.Layer needs"),
        ({"metadata": {"layer": NER, "feature": "nothing"}}, f"the type {NER} needs the features nothing"),
        ({"metadata": {"layer": NER}}, "metadata.feature must be a string"),
        ({"metadata": {"layer": NER, "feature": "value", "range": {"begin": 3, "end": 1}}}, "range.begin"),
    ],
)  # fmt: skip
def test_bad_documents_are_refused(port: int, change: dict[str, Any], message: str) -> None:
    request = inception_request(*new_document([["Otto"]])) | change
    status, answer = post(port, "/inception/predict", request)
    assert status == 400, answer
    assert answer["error"].startswith(message)


def test_only_elements_within_each_other_count_as_deep(port: int) -> None:
    """ElementTree writes a document by recursion."""
    xmi, types = new_document([["Otto"]])
    for depth, status in ((99, 200), (100, 400), (3000, 400)):
        nested = xmi.replace("<cas:View", "<x>" * depth + "</x>" * depth + "<x/>" * 200 + "<cas:View")
        assert post(port, "/inception/predict", inception_request(nested, types))[0] == status


@pytest.mark.parametrize("entity", ['SYSTEM "{}"', '"do not tell"'])
def test_xml_with_entities_is_refused_and_opens_no_file(port: int, tmp_path: Path, entity: str) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("do not tell")
    xmi, types = new_document([["Otto"]])
    attack = f"<!DOCTYPE x [<!ENTITY e {entity.format(secret.as_uri())}>]>"
    encoded = attack  # UTF-7 hides the DOCTYPE
    for character in '<>!"[]':
        encoded = encoded.replace(
            character, f"+{base64.b64encode(character.encode('utf-16-be'))[:3].decode()}-"
        )
    declaration = '<?xml version="1.0" encoding="UTF-7"?>'
    heads = (
        attack,
        declaration + encoded,
        f'<?xml version="1.0"?>{declaration}{encoded}',
        f" {declaration}{encoded}",
    )
    for head in heads:
        body = xmi.partition("?>")[2].replace("Otto", "&e;")
        status, answer = post(port, "/inception/predict", inception_request(head + body, types))
        assert status == 400
        assert "do not tell" not in json.dumps(answer)


@pytest.mark.parametrize("kind", ["Token", "Sentence"])
def test_tokens_and_sentences_that_overlap_are_refused(port: int, kind: str) -> None:
    cassis = pytest.importorskip("cassis")
    xmi, types = new_document([["Otto", "visits", "Rome"]])
    cas = cassis.load_cas_from_xmi(xmi, cassis.load_typesystem(types))
    for _ in range(2):
        cas.add(cas.typesystem.get_type(f"{SEGMENTATION}.{kind}")(begin=0, end=16))
    status, answer = post(port, "/inception/predict", inception_request(cas.to_xmi(), types))
    assert (status, answer["error"]) == (400, f"the {kind.lower()}s of the document overlap at character 0")


def test_inherited_features_and_other_views_are_understood(port: int) -> None:
    cassis = pytest.importorskip("cassis")
    xmi, types = new_document([["Otto", "visits", "Rome"]])
    system = cassis.load_typesystem(types)
    system.create_type("custom.Person", NER)
    cas = cassis.load_cas_from_xmi(xmi, system)
    other = cas.create_view("other")
    other.sofa_string, other.sofa_mime = "Anna", "text/plain"
    other.add(system.get_type(f"{SEGMENTATION}.Sentence")(begin=0, end=4))
    request = inception_request(cas.to_xmi(), system.to_xml(), layer="custom.Person")
    status, answer = post(port, "/inception/predict", request)
    assert status == 200
    found = cassis.load_cas_from_xmi(answer["document"], cassis.load_typesystem(system.to_xml()))
    assert [one.get_covered_text() for one in found.select("custom.Person")] == ["Otto", "Rome"]
    assert found.get_view("other").sofa_string == "Anna"


def test_a_second_training_is_postponed(port: int, learner: Learner, monkeypatch: pytest.MonkeyPatch) -> None:
    from taggers.serve import inception

    request = train_request(new_document([["Zoe", "sings"]], PER=(0, 3)))
    second: list[int] = []
    original = inception._new

    def slow(*arguments: Any) -> Any:
        second.append(post(port, "/inception/train", request)[0])
        return original(*arguments)

    monkeypatch.setattr(inception, "_new", slow)
    assert post(port, "/inception/train", request)[0] == 204
    assert second == [429]
