"""Calls of tools: schemas from their definitions, and parsers that answer with calls."""

import json
import random

import pytest

from semparse import Ospas, Schema, SchemaError, as_mr
from semparse.commands import evaluate, train, windows

TOOLS = [
    {"type": "function", "function": {"name": "dim", "parameters": {
        "required": ["level"], "properties": {
            "level": {"type": "integer"}, "room": {"type": "string", "enum": ["hall", "guest room"]}}}}},
    {"name": "play", "input_schema": {"required": ["song"], "properties": {
        "song": {"type": "string"}, "room": {"enum": ["hall", "guest room"]},
        "shuffle": {"type": ["boolean", "null"]}}}},
    {"name": "stop"},
]  # fmt: skip
SONGS = ("Yellow Taxi", "hurt", "Don't Look Back", "polka party")


def request(rng):
    """A sentence and the call that it asks for; rooms and shuffling are optional."""
    room = rng.choice(["hall", "guest room", None])
    place = f" in the {room}" if room else ""
    args = {"room": room} if room else {}
    kind = rng.randrange(3)
    if kind == 0:
        level = rng.randint(1, 99)
        frame = rng.choice(["lights to {}{}", "dim to {} percent{}"])
        return frame.format(level, place), {"name": "dim", "arguments": {"level": level, **args}}
    if kind == 1:
        song, shuffle = rng.choice(SONGS), rng.random() < 0.4
        more = {"shuffle": True} if shuffle else {}
        text = rng.choice(["play {}{}{}", "i want to hear {}{}{}"])
        text = text.format(song, place, " in random order" if shuffle else "")
        return text, {"name": "play", "arguments": {"song": song, **args, **more}}
    return rng.choice(["be quiet", "stop it"]), {"name": "stop", "arguments": {}}


def requests(n, seed):
    rng = random.Random(seed)
    for _ in range(n):
        text, call = request(rng)
        candidates = [call, *(request(rng)[1] for _ in range(rng.randint(0, 2)))]
        yield {"text": text, "candidates": rng.sample(candidates, len(candidates)), "gold": [call]}


def test_calls_are_learned_from_bags_with_the_definitions_of_the_tools(tmp_path):
    for name, n in (("train", 200), ("test", 80)):
        lines = (json.dumps(one) + "\n" for one in requests(n, name))
        (tmp_path / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    (tmp_path / "tools.json").write_text(json.dumps(TOOLS), encoding="utf-8")
    train([tmp_path / "train.jsonl"], tmp_path / "m.ssvm", schema=tmp_path / "tools.json")
    scores = evaluate(tmp_path / "m.ssvm", tmp_path / "test.jsonl")
    assert scores["parsing"].f1 > 0.9
    parser = Ospas.load(tmp_path / "m.ssvm")
    assert not any("=" in doubt for doubt in parser.doubts_)
    found = parser.parse("play Blue Moon in the guest room in random order")[0].to_json()["call"]
    wanted = {"room": "guest room", "shuffle": True, "song": "Blue Moon"}
    assert found == {"name": "play", "arguments": wanted}
    for text in ("lights to 47", "lights to 9 in the hall in the guest room"):
        for parse in parser.parse(text, 10):  # each argument at most once
            assert as_mr(parse.mr.to_call()) == parse.mr


def test_a_schema_of_tools_allows_exactly_their_calls():
    schema = Schema.from_json(TOOLS)
    assert schema == Schema.from_json(schema.to_json())
    for text in ("dim(level=3)", "dim(level=3, room=hall)", "play(song='any thing')", "stop",
                 "play(room=hall, shuffle=true, song=hurt)", "play(shuffle=false, song=hurt)"):  # fmt: skip
        assert schema.fault(as_mr(text)) is None
    for text in ("dim(room=hall)", "dim(level=x)", "dim(level=3, room=attic)", "dim(song=hurt)", "stop(a=1)",
                 "play(shuffle=yes, song=hurt)", "dim"):  # fmt: skip
        assert schema.fault(as_mr(text))


@pytest.mark.parametrize(
    ("tool", "what"),
    [({"name": "a", "parameters": {"properties": {"b": {"type": "array"}}}}, "a: b: its type is 'array'"),
     ({"parameters": {}}, "is not a tool"), (3, "is not a tool"), ({"name": "stop"}, "two tools"),
     ({"name": "a", "parameters": {"properties": {"b c": {}}}}, "cannot be a parameter"),
     ({"name": "a", "parameters": {"required": ["b"]}}, "requires 'b'"),
     ({"name": "a", "parameters": {"required": True}}, "required must be a list of names, got True"),
     ({"name": "a", "parameters": {"required": [["b"]]}}, "required must be a list of names"),
     ({"name": "a", "parameters": {"properties": {"b": {"type": {}}}}}, "a: b: its type is {}")],
)  # fmt: skip
def test_what_is_not_a_tool_is_refused(tool, what):
    with pytest.raises(SchemaError, match=what):
        Schema.from_json([*TOOLS, tool])


def test_logs_may_contain_calls(tmp_path):
    (tmp_path / "said.csv").write_text("time,text\n1,dim to 5\n", encoding="utf-8")
    call = {"time": 2, "tool": "dim", "arguments": {"level": 5}, "user": "x"}
    (tmp_path / "done.jsonl").write_text(json.dumps(call), encoding="utf-8")
    bags = windows(tmp_path / "said.csv", tmp_path / "done.jsonl", tmp_path / "b.jsonl", fields=["name=tool"])
    assert [list(bag.candidates) for bag in bags] == [["dim(level=5)"]]


def test_a_new_value_of_an_open_type_is_matched_without_a_warning(recwarn):
    data = list(requests(60, 1))
    parser = Ospas(schema=TOOLS).fit([one["text"] for one in data], [one["candidates"] for one in data])
    assert str(parser.match("dim to 100 percent", ["dim(level=100)", "stop"])) == "dim(level=100)"
    assert not recwarn
