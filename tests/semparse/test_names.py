"""Names that a schema lists: each one is recognised as itself, or not at all."""

import random

import pytest

from semparse import Ospas

PATTERNS = [
    ("call", "call {}"),
    ("call", "ring {} now"),
    ("message", "write to {}"),
    ("message", "message {}"),
]


def parser_for(names, heard, seed=0, ambiguous=False, **options):
    """A parser whose schema lists all names, trained on sentences with some of them."""
    rng = random.Random(seed)
    data = [(text.format(name), [f"{rel}({name})"]) for name in heard for rel, text in PATTERNS] * 3
    if ambiguous:
        data = [(text, [*bag, rng.choice(data)[1][0]]) for text, bag in data]
    schema = {"relations": {rel: {"slots": ["person"]} for rel, _ in PATTERNS}, "types": {"person": names}}
    return Ospas(schema=schema, **options).fit(*zip(*data, strict=True))


@pytest.mark.parametrize("heard", [["nora"], ["nora", "anna", "mark"]])
def test_a_listed_name_that_training_lacks_is_not_corrected_to_one_that_it_has(heard):
    parser = parser_for(["nora", "dora", "anna", "hanna", "mark", "marc"], heard)
    for name in ("dora", "hanna", "marc"):
        assert [str(found) for found in parser.parse(f"call {name}")] == [f"call({name})"]
        assert str(parser.match(f"call {name}", [f"call({heard[0]})", f"call({name})"])) == f"call({name})"
        assert parser.match(f"call {name}", ["call(nora)"]) is None
        assert parser.align(f"call {name}", "call(nora)") is None
    assert [str(found) for found in parser.parse("call noora")] == ["call(nora)"]


@pytest.mark.parametrize("seed", range(12))
def test_a_listed_name_is_never_parsed_as_another(seed):
    """Random names, many of them one letter apart, of which training has some, with or without noise."""
    rng = random.Random(seed)
    names = {"".join(rng.choice("abdnor") for _ in range(rng.randint(3, 6))) for _ in range(6)}
    for name in sorted(names):
        at = rng.randrange(len(name))
        names.add(name[:at] + rng.choice("abdnor") + name[at + rng.randint(0, 1) :])
    listed = sorted(names)
    heard = rng.sample(listed, rng.randint(1, len(listed)))
    options = {"unnamed": rng.choice([None, 0.5]), "solver": rng.choice(["pa", "larank"])}
    parser = parser_for(listed, heard, seed, ambiguous=rng.random() < 0.5, **options)
    for name in listed:
        for _, text in PATTERNS:
            for found in parser.parse(text.format(name), 3):
                assert found.mr.args == (name,)


def test_a_word_that_training_knows_as_something_else_is_not_taken_for_a_name():
    """ "in" is no name in "how many people live in rome", even if a schema lists it as an abbreviation."""
    relations = {"people": {"slots": ["town", "state"]}, "area": {"slots": ["town", "state"]}}
    schema = {"relations": relations, "types": {"town": ["rome", "oslo", "bern"], "state": ["in", "me", "_"]}}
    texts = {"people": "how many people live in {}", "area": "give me the area of {}"}
    towns = schema["types"]["town"]
    data = [(text.format(town), [f"{rel}({town}, _)"]) for rel, text in texts.items() for town in towns] * 3
    parser = Ospas(schema=schema).fit(*zip(*data, strict=True))
    for text, bag in data[:6]:
        assert [str(found) for found in parser.parse(text)] == bag


def test_a_short_name_with_a_capital_is_not_read_as_another():
    texts = [f"call {name}" for name in ("Marc", "Nora")] * 6
    parser = Ospas().fit(texts, [["call(Marc)"], ["call(Nora)"]] * 6)
    assert parser.predict(["call Marc", "call nora", "CALL NORA"]).tolist() == [
        "call(Marc)", "call(Nora)", "call(Nora)",
    ]  # fmt: skip
    assert not {"call(Marc)", "call(Nora)"} & set(parser.predict(["call Mary", "call Cora"]))
