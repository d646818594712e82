"""`structsvm parse serve`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("starlette")

from semparse import Ospas
from semparse.serve import new_service
from tests.semparse.commentary import commentary
from tests.web import call, running

TOKEN = "a-token-of-the-tests"


@pytest.fixture(scope="module")
def parser() -> Ospas:
    return Ospas().fit(*commentary(40)[:2])


@pytest.fixture(scope="module")
def port(parser: Ospas) -> Iterator[int]:
    with running(new_service(parser, token=TOKEN)) as number:
        yield number


def post(port: int, body: Any) -> tuple[int, Any]:
    return call(port, f"/{TOKEN}/parse", json.dumps(body).encode())


def test_a_sentence_is_parsed_as_the_parser_does(port: int, parser: Ospas) -> None:
    text = commentary(40)[0][0]
    expected = [parse.to_json() for parse in parser.parse(text, 2)]
    assert expected
    assert post(port, {"text": text, "n": 2}) == (200, {"parses": expected})
    assert post(port, {"text": ""}) == (200, {"parses": []})
    assert call(port, f"/{TOKEN}/health")[1]["model_class"] == "Ospas"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "text must be a string"),
        ({"text": "a", "n": 0}, "n must be from 1 to 100"),
        ({"text": "a", "n": "1"}, "n must be a number"),
        ({"text": "a " * 201}, "text must not have more than 200 words"),
        ({"text": "a " * 2001}, "a sentence has 2001 words, but at most 2000 are allowed; split it"),
        ({"text": "a" * 10_001}, "text must not have more than 10000 characters"),
        ({"text": "a", "candidates": []}, "unknown field 'candidates'; the fields are text, n"),
    ],
)
def test_bad_requests_get_one_sentence(port: int, body: Any, message: str) -> None:
    assert post(port, body) == (400, {"error": message})
