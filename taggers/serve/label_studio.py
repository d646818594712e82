"""The protocol of Label Studio's machine-learning backends: health, setup, predict and webhook."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from structsvm.integrations.starlette import Refused, field, read_json
from taggers.formats.labelstudio import region_place
from taggers.formats.utf16 import Offsets
from taggers.serve.access import Turns
from taggers.serve.api import Api
from taggers.serve.limits import MOST_CONFIG, MOST_REGIONS, MOST_TASKS, check_number
from taggers.serve.sentences import Sentence, Span, Tagged, spans_of_labels
from taggers.serve.xml import read_xml

PREFIX = "/label-studio"
PROJECTS = 200  # whose label configurations are remembered
LEARNED = ("ANNOTATION_CREATED", "ANNOTATION_UPDATED")


@dataclass(frozen=True)
class Config:
    """The content of a label configuration: the names of the two tags, the field of the text, the labels."""

    from_name: str
    to_name: str
    field: str
    labels: frozenset[str]


def read_config(xml: str) -> Config:
    """Find `<Labels>` and the `<Text>` that it belongs to."""
    root = read_xml(xml, "the label configuration")
    texts = {tag.get("name", ""): tag.get("value", "") for tag in root.iter("Text")}
    for tag in root.iter("Labels"):
        value = re.fullmatch(r"\$(\w+)", texts.get(tag.get("toName", ""), ""))
        if tag.get("name") and value:
            labels = frozenset(label.get("value", "") for label in tag.iter("Label"))
            return Config(tag.get("name", ""), tag.get("toName", ""), value[1], labels)
    raise Refused(
        'the label configuration needs <Labels name="label" toName="text"> and <Text name="text" '
        'value="$text">'
    )


class LabelStudio:
    """The routes of the protocol."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self._configs: dict[str, Config] = {}  # by project

    def routes(self) -> list[Route]:
        """The routes; the address for Label Studio ends in /label-studio."""
        api = self.api
        return [
            api.route(PREFIX, api.health, "GET"),
            api.route(f"{PREFIX}/", api.health, "GET"),
            api.route(f"{PREFIX}/health", api.health, "GET"),
            api.route(f"{PREFIX}/metrics", self.metrics, "GET"),
            api.route(f"{PREFIX}/setup", self.setup, "POST"),
            api.route(f"{PREFIX}/predict", self.predict, "POST"),
            api.route(f"{PREFIX}/webhook", self.webhook, "POST"),
        ]

    async def metrics(self, request: Request) -> Response:
        """Label Studio expects an object; the figures are in /metrics of the service."""
        return JSONResponse({})

    async def setup(self, request: Request) -> Response:
        """Remember the label configuration of a project."""
        body = await read_json(request)
        self._config(body.get("project"), field(body, "schema", str))
        return JSONResponse({"model_version": self.api.version})

    async def predict(self, request: Request) -> Response:
        """Label the texts of tasks, with an entry for each task."""
        body = await read_json(request)
        config = self._config(body.get("project"), body.get("label_config"))
        tasks = field(body, "tasks", list)
        check_number(len(tasks), MOST_TASKS, "tasks")
        texts = [_text(task, config, f"tasks[{number}].") for number, task in enumerate(tasks)]
        split = await self.api.split(texts)
        found = iter(await self.api.tag([sentence for sentences in split for sentence in sentences]))
        turns, results = Turns(), []
        for text, sentences in zip(texts, split, strict=True):
            results.append(await self._prediction(text, sentences, [next(found) for _ in sentences], config))
            await turns.give()
        content = f'{{"results":[{",".join(results)}],"model_version":{json.dumps(self.api.version)}}}'
        return Response(content, media_type="application/json")

    async def webhook(self, request: Request) -> Response:
        """Learn an annotation that was created or updated."""
        body = await read_json(request)
        action = body.get("action")
        if action not in LEARNED:
            # every annotation is learned when it is made, so there is nothing to train
            started = action == "START_TRAINING"
            return JSONResponse({"result": {}, "status": "ok"}, 201 if started else 200)
        project, annotation = field(body, "project", dict), field(body, "annotation", dict)
        config = self._config(project.get("id"), project.get("label_config"))
        text = _text(field(body, "task", dict), config, "task.")
        if annotation.get("was_cancelled"):
            return JSONResponse({"result": {}, "status": "ok"}, 201)
        spans = await _spans(field(annotation, "result", list, "annotation."), text, config)
        known = [(tokens, labels) for tokens, labels in await self.api.labelled(text, spans)
                 if any(label is not None for label in labels)]  # fmt: skip
        if not known:
            return JSONResponse({"result": {"learned": 0}, "status": "ok"}, 201)
        answer = await self.api.learn(
            [X for X, _ in known], [labels for _, labels in known], _key(annotation)
        )
        if answer.status != 200:
            return JSONResponse(answer.content, answer.status)
        return JSONResponse({"result": answer.content, "status": "ok"}, 201)

    def _config(self, project: Any, xml: Any) -> Config:
        """The configuration in a request, or the last one of its project."""
        name = str(project)[:100].partition(".")[0]
        if isinstance(xml, str) and xml:
            check_number(len(xml), MOST_CONFIG, "characters of a label configuration")
            self._configs.pop(name, None)
            self._configs[name] = config = read_config(xml)
            while len(self._configs) > PROJECTS:
                del self._configs[next(iter(self._configs))]
        elif name in self._configs:
            config = self._configs[name]
        else:
            raise Refused(f"no label configuration of project {name!r}; send label_config, or call setup")
        return config

    async def _prediction(
        self, text: str, sentences: list[Sentence], found: list[Tagged], config: Config
    ) -> str:
        """The spans of a text as JSON; labels that the configuration does not have are left out."""
        turns = Turns()
        result: list[str] = []
        for sentence, (labels, margins, *_) in zip(sentences, found, strict=True):
            assert sentence.offsets is not None
            for label, first, end in spans_of_labels(labels, self.api.model.scheme):
                if label not in config.labels:
                    continue
                start, stop = sentence.offsets[first][0], sentence.offsets[end - 1][1]
                value = {"start": start, "end": stop, "text": text[start:stop], "labels": [label]}
                result.append(json.dumps({
                    "from_name": config.from_name, "to_name": config.to_name, "type": "labels",
                    "value": value, "score": confidence(min(margins[first:end])),
                }))  # fmt: skip
                await turns.give()
        least = min((margin for one in found for margin in one.margins), default=float("inf"))
        score = json.dumps({"score": confidence(least), "model_version": self.api.version})
        return f'{{"result":[{",".join(result)}],{score[1:]}'


def confidence(margin: float) -> float:
    """A margin as a number from 0 to 1; it orders predictions, but is not a probability."""
    return 1.0 if margin == float("inf") else round(margin / (1.0 + margin), 4)


def _text(task: Any, config: Config, where: str) -> str:
    if not isinstance(task, dict):
        raise Refused(f"{where[:-1]} must be an object")
    return field(field(task, "data", dict, where), config.field, str, f"{where}data.")


async def _spans(result: list[Any], text: str, config: Config) -> list[Span]:
    """The labelled spans of an annotation, in characters of the text."""
    check_number(len(result), MOST_REGIONS, "regions")
    spans, offsets, turns = [], Offsets(text), Turns()
    for number, region in enumerate(result):
        await turns.give()
        where = f"annotation.result[{number}]."
        if not isinstance(region, dict):
            raise Refused(f"{where[:-1]} must be an object")
        if region.get("type") != "labels" or region.get("from_name") != config.from_name:
            continue
        value = field(region, "value", dict, where)
        start, end = field(value, "start", int, f"{where}value."), field(value, "end", int, f"{where}value.")
        labels = field(value, "labels", list, f"{where}value.")
        if not labels or not all(isinstance(label, str) and label.strip() for label in labels):
            raise Refused(f"{where}value.labels must be a list of labels")
        place = region_place(text, offsets, start, end, value.get("text"))
        if place is None:
            raise Refused(f"{where}value: start and end do not fit the text")
        spans.append(Span(*place, tuple(labels)))
    return spans


def _key(annotation: dict[str, Any]) -> str | None:
    """The idempotency key of an annotation: Label Studio repeats a webhook that was not answered."""
    number, updated = annotation.get("id"), annotation.get("updated_at")
    if isinstance(number, int) and isinstance(updated, str):
        return f"label-studio {number} {updated[:40]}"
    return None
