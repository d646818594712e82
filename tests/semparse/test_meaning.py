import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semparse import MR, MeaningError, Schema, SchemaError, as_mr, parse_mr, parse_mrs

names = st.one_of(
    st.from_regex(r"[a-z][a-z0-9_]{0,6}", fullmatch=True),
    st.sampled_from(["new york", "it's", "a,b", "(", '"', "_", "a=", "b=c", "=", "1=2"]),
)
mrs = st.recursive(
    st.builds(MR, names),
    lambda inner: st.builds(
        lambda rel, args: MR(rel, tuple(args)), names, st.lists(st.one_of(names, inner), max_size=3)
    ),
    max_leaves=8,
)


@given(mrs)
def test_text_and_json_come_back_as_they_were(mr):
    assert parse_mr(str(mr)) == mr
    assert as_mr(json.loads(json.dumps(mr.to_json()))) == mr
    assert as_mr(mr) is mr


@given(st.lists(mrs, max_size=4))
def test_lists_of_mrs_come_back_as_they_were(found):
    assert parse_mrs(";".join(map(str, found))) == found


def test_blanks_around_marks_do_not_matter():
    assert parse_mr(" pass ( ann , bob ) ") == parse_mr("pass(ann,bob)") == MR("pass", ("ann", "bob"))
    assert str(parse_mr("pass(ann,bob)")) == "pass(ann, bob)"


def test_a_nested_mr_tells_its_relations_and_symbols():
    mr = parse_mr("believe(mother, break(dog, box))")
    assert [inner.rel for inner in mr.relations()] == ["believe", "break"]
    assert mr.symbols() == ["believe", "mother", "break", "dog", "box"]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("pass(ann", r'"\)" is missing'),
        ("pass(ann,)", "name was expected"),
        ("pass ann", "'ann' comes after its end"),
        ("pass(ann))", r"'\)' comes after its end"),
        ("(ann)", "name was expected in place of"),
        ("pass('ann)", "quote is not closed"),
        ("pass('')", "name is empty"),
        ("", "holds 0 meaning representations"),
        ("a(" * 200 + ")" * 200, "nest deeper"),
        (f"a({', '.join('b' * 500)})", "more than 500 names"),
    ],
)
def test_what_is_not_a_mr_is_reported_with_its_place(text, what):
    with pytest.raises(MeaningError, match=what):
        parse_mr(text)


@pytest.mark.parametrize(
    "value",
    [3, None, {}, {"rel": ""}, {"rel": "a", "args": "b"}, {"rel": "a", "args": [None]},
     {"rel": "a", "more": 1}, {"rel": "a", "args": [""]}],
)  # fmt: skip
def test_what_is_not_a_json_of_an_mr_is_refused(value):
    with pytest.raises(MeaningError):
        as_mr(value)


def nested(depth, mr="b"):
    for _ in range(depth):
        mr = MR("a", (mr,))
    return mr


@pytest.mark.parametrize("form", [str, MR.to_json, lambda mr: mr])
def test_the_size_of_an_mr_is_limited_in_every_form(form):
    for mr in (MR("a", ("b",) * 499), MR("a", (MR("c", ("d",) * 99),) * 4), nested(100)):
        assert as_mr(form(mr)) == mr
    for mr in (MR("a", ("b",) * 500), MR("a", (MR("c", ("d",) * 99),) * 5)):
        with pytest.raises(MeaningError, match="more than 500 names"):
            as_mr(form(mr))
    with pytest.raises(MeaningError, match="nest deeper than 100"):
        as_mr(form(nested(150)))


GAME = parse_mrs(
    "pass(ann,bob);pass(bob,cid);kick(cid);start(half1);defend(ann,ann);defend(bob,bob);defend(cid,cid);halt"
)


def test_a_schema_learns_arity_types_and_copies():
    schema = Schema.learn(GAME)
    assert schema.relations["pass"].slots == schema.relations["kick"].slots * 2
    assert schema.relations["start"].slots != schema.relations["kick"].slots
    assert schema.relations["defend"].copies == ((1, 0),)
    assert schema.relations["pass"].copies == ()
    assert schema.valid(parse_mr("pass(cid, ann)"))
    assert "no relation 'shot'" in schema.fault(parse_mr("shot(ann)"))
    assert "takes 2 argument(s), not 1" in schema.fault(parse_mr("pass(ann)"))
    assert "'half1' is no" in schema.fault(parse_mr("kick(half1)"))


def test_a_schema_learns_nesting_and_optional_arguments():
    schema = Schema.learn(parse_mrs("say(ann, run(dog));get(ann, dog);get(ann, dog, box)"))
    assert schema.valid(parse_mr("say(ann, run(dog))"))
    assert not schema.valid(parse_mr("say(ann, dog)"))
    assert not schema.valid(parse_mr("say(ann, run(box))"))
    assert (schema.relations["get"].least, len(schema.relations["get"].slots)) == (2, 3)


@given(st.lists(mrs, max_size=6))
def test_every_mr_conforms_to_the_schema_learned_from_it(found):
    schema = Schema.learn(found)
    assert [schema.fault(mr) for mr in found] == [None] * len(found)
    assert Schema.from_json(json.loads(json.dumps(schema.to_json()))) == schema


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"relations": {"a": {}}, "types": {}},
        {"relations": {"a": {"slots": ["person"]}}, "types": {}},
        {"relations": {"a": {"slots": [], "least": 2}}, "types": {}},
        {"relations": [], "types": {}},
    ],
)
def test_a_malformed_schema_is_refused(value):
    with pytest.raises(SchemaError):
        Schema.from_json(value)


@pytest.mark.parametrize("name", ['it\'s "fine"', "C:\\", "a\\'b", "x[0]", "'", '"', "\\", "two\nlines", "7"])
def test_every_name_can_be_written_as_text(name):
    for mr in (MR("say", (name,)), MR(name), MR(name, (MR(name, (name,)),))):
        assert parse_mr(str(mr)) == mr


def test_lists_and_values_of_json_are_arguments():
    given = {"rel": "dim", "args": ["hall", 21, -0.5, True, ["lamp", ["spot", 2]]]}
    mr = as_mr(given)
    assert str(mr) == "dim(hall, 21, -0.5, true, list(lamp, list(spot, 2)))"
    assert parse_mr("dim(hall, 21, -0.5, true, [lamp, [spot, 2]])") == mr
    assert as_mr({"rel": "off", "args": [[]]}) == parse_mr("off([])") == MR("off", (MR("list"),))
    for wrong in ("f([a)", "f(a])", "f([a, b)", "[" * 200):
        with pytest.raises(MeaningError):
            parse_mr(wrong)
    with pytest.raises(MeaningError, match="None is not an argument"):
        as_mr({"rel": "f", "args": [None]})


def test_types_are_named_after_what_they_hold():
    texts = [
        "wake(anna, 7:30)",
        "wake(bob, 6:15)",
        "wake(bob, 9:00)",
        "dim(hall, 3)",
        "dim(hall, 4)",
        "dim(attic, 5)",
    ]
    found = Schema.learn(map(parse_mr, [*texts, "when(wake(bob, 9:00), dim(hall, 3))"]))
    assert {rel: relation.slots for rel, relation in found.relations.items()} == {
        "wake": ("anna_or_bob", "time"), "dim": ("attic_or_hall", "number"), "when": ("wake", "dim")
    }  # fmt: skip
    assert all(map(found.valid, map(parse_mr, texts)))
    assert found.open.keys() == {"time", "number"}


CALL = "dim(device='floor lamp', level=20, on=true)"


@pytest.mark.parametrize(
    "value",
    [
        "dim(on=true, level=20, device= 'floor lamp')",
        {"name": "dim", "arguments": {"on": True, "level": 20, "device": "floor lamp", "room": None}},
        {"name": "dim", "arguments": '{"level": 20, "device": "floor lamp", "on": true}'},
        {"type": "tool_use", "id": "1", "name": "dim",
         "input": {"level": 20, "device": "floor lamp", "on": True}},
        {"type": "function", "function":
         {"name": "dim", "arguments": '{"level": 20, "device": "floor lamp", "on": true}'}},
        {"intent": "dim", "slots": {"level": "20", "device": "floor lamp", "on": "true"}},
    ],
)  # fmt: skip
def test_calls_of_tools_are_meanings_with_named_arguments(value):
    mr = as_mr(value)
    assert str(mr) == CALL
    assert mr.to_call() == {"name": "dim", "arguments": {"device": "floor lamp", "level": 20, "on": True}}
    assert as_mr(mr.to_call()) == as_mr(json.loads(json.dumps(mr.to_json()))) == mr


def test_calls_may_contain_lists_and_calls():
    call = {"name": "when", "arguments": {"do": {"name": "dim", "arguments": {"level": 5}},
                                          "rooms": ["hall", "office"], "zip": "0123"}}  # fmt: skip
    assert str(as_mr(call)) == "when(do=dim(level=5), rooms=list(hall, office), zip=0123)"
    assert as_mr(call).to_call() == call
    assert parse_mr("dim(lamp, level=5)").to_call() is None
    assert parse_mr("sunset").to_call() == {"name": "sunset", "arguments": {}}
    assert str(parse_mr("f('a=b', x==y)")) == "f('a=b', x==y)"  # constants


@pytest.mark.parametrize("number", ["9" * 5000, "9" * 400 + ".5", "1\u0663", "007"])
def test_calls_are_json_for_numbers_of_any_kind(number):
    call = parse_mr(f"dim(level={number})").to_call()
    assert call == {"name": "dim", "arguments": {"level": number}}
    assert json.loads(json.dumps(call, allow_nan=False)) == call


def test_named_arguments_of_json_objects_are_put_in_order():
    level, room = {"rel": "level=", "args": ["20"]}, {"rel": "room=", "args": ["hall"]}
    assert as_mr({"rel": "dim", "args": [room, "x", level]}) == parse_mr("dim(x, level=20, room=hall)")
    with pytest.raises(MeaningError, match="argument twice"):
        as_mr({"rel": "dim", "args": [level, level]})


@pytest.mark.parametrize(
    ("value", "what"),
    [({"name": "dim", "arguments": [1]}, "an object"), ({"name": "dim", "arguments": "{"}, "not JSON"),
     ({"name": 3, "arguments": {}}, "must be a name"), ({"name": "dim", "arguments": {"a b": 1}}, "letters"),
     ({"name": "dim", "more": 1}, "arguments"), ("dim(level=5, level=6)", "argument twice")],
)  # fmt: skip
def test_objects_that_are_not_calls_are_refused(value, what):
    with pytest.raises(MeaningError, match=what):
        as_mr(value)
