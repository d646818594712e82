"""Describe the routes as OpenAPI 3.1: `/openapi.json`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import structsvm

STRING, NUMBER, WHOLE, YES = {"type": "string"}, {"type": "number"}, {"type": "integer"}, {"type": "boolean"}
OBJECT: dict[str, Any] = {"type": "object"}


def a_list(of: dict[str, Any]) -> dict[str, Any]:
    """The schema of a list."""
    return {"type": "array", "items": of}


def an_object(required: Sequence[str] = (), **fields: dict[str, Any]) -> dict[str, Any]:
    """The schema of an object."""
    return {"type": "object", "properties": fields} | ({"required": list(required)} if required else {})


TOKENS = a_list({"description": "a word, its columns, or its features",
                 "anyOf": [STRING, a_list({}), OBJECT]})  # fmt: skip
LABELS = a_list({"description": "a label, several allowed labels, or unknown",
                 "anyOf": [STRING, a_list(STRING), {"type": "null"}]})  # fmt: skip
SPAN = an_object(("label",), label=STRING, start=WHOLE, end=WHOLE, tokens=a_list(WHOLE))
SENTENCE = an_object(
    ("tokens", "labels"), tokens=TOKENS, labels=a_list(STRING), offsets=a_list(a_list(WHOLE)),
    spans=a_list(SPAN), probabilities=a_list(NUMBER), margins=a_list({"type": ["number", "null"]}),
)  # fmt: skip
EXAMPLE = an_object(tokens=TOKENS, labels=LABELS, text=STRING, spans=a_list(SPAN))
HEALTH = an_object(("status",), status=STRING, version=WHOLE, learns=YES, labels=WHOLE, model_class=STRING)
# Path: summary, body and answer; a description as str is the media type of an answer that is not JSON.
ROUTES: dict[str, tuple[str, dict[str, Any] | None, dict[str, Any] | str]] = {
    "/": ("What the service serves", None, HEALTH),
    "/health": ("What the service serves; without the token only whether it is up", None, HEALTH),
    "/metrics": ("Counts and durations for Prometheus", None, "text/plain"),
    "/tag": (
        "Label tokens or texts",
        an_object(text=STRING, texts=a_list(STRING), tokens=TOKENS, sentences=a_list(TOKENS), margins=YES,
                  probabilities=YES),
        an_object(("version",), sentences=a_list(SENTENCE), version=WHOLE,
                  texts=a_list(an_object(sentences=a_list(SENTENCE)))),
    ),
    "/learn": (
        "Learn labelled sentences",
        an_object(**EXAMPLE["properties"], sentences=a_list(EXAMPLE)),
        an_object(("learned", "version"), learned=WHOLE, version=WHOLE),
    ),
    "/label-studio": ("Health, for Label Studio", None, HEALTH),
    "/label-studio/": ("Health, for Label Studio", None, HEALTH),
    "/label-studio/health": ("Health, for Label Studio", None, HEALTH),
    "/label-studio/metrics": ("An empty object, for Label Studio", None, OBJECT),
    "/label-studio/setup": ("The label configuration of a project", OBJECT, OBJECT),
    "/label-studio/predict": ("Label the texts of tasks", OBJECT, OBJECT),
    "/label-studio/webhook": ("Learn an annotation", OBJECT, OBJECT),
    "/inception/predict": ("Add predictions to a document", OBJECT, OBJECT),
    "/inception/train": ("Learn documents", OBJECT, OBJECT),
    "/openapi.json": ("This description", None, OBJECT),
}  # fmt: skip
ERROR = {
    "description": "the error in one sentence",
    "content": {"application/json": {"schema": an_object(("error",), error=STRING)}},
}


def description(routes: Sequence[Route]) -> Route:
    """The route of a description of these routes and of itself."""

    async def show(request: Request) -> Response:
        return JSONResponse(content)

    own = Route("/openapi.json", show, methods=["GET"])
    content = {
        "openapi": "3.1.0",
        "info": {"title": "structsvm serve", "version": structsvm.__version__},
        "paths": {route.path: _operation(route) for route in (*routes, own)},
        "security": [{"bearer": []}, {"basic": []}],
        "components": {
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "basic": {"type": "http", "scheme": "basic"},
            }
        },
    }
    return own


def _operation(route: Route) -> dict[str, Any]:
    """The description of a route; those of further models begin with the name of the model."""
    known = route.path if route.path in ROUTES else "/" + route.path.split("/", 2)[2]
    summary, body, answer = ROUTES[known]
    kind, schema = (answer, STRING) if isinstance(answer, str) else ("application/json", answer)
    found = {"description": "the answer", "content": {kind: {"schema": schema}}}
    operation: dict[str, Any] = {"summary": summary, "responses": {"2XX": found, "4XX": ERROR}}
    if body is not None:
        content = {"application/json": {"schema": body}}
        operation["requestBody"] = {"required": True, "content": content}
    if known == "/learn":
        operation["parameters"] = [{"name": "Idempotency-Key", "in": "header", "schema": STRING}]
    return {("get" if body is None else "post"): operation}
