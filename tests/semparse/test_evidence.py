"""Evidence of other kinds than candidates: their weights, meanings that are wrong, and open frames."""

import json
import random
from collections import Counter

import numpy as np
import pytest

from semparse import Ospas, Schema, as_mr
from semparse.commands import train
from semparse.entities.names import Words
from semparse.evidence import Candidates
from semparse.examples import as_tokens
from semparse.frames import filled_bags
from semparse.latent.alignment import Alignment
from structsvm.files import DataError

ROOMS = ["kitchen", "cellar", "attic", "porch"]
WORDS = {"heat": "zorp", "cool": "mib", "sweep": "tav"}  # no letters of the relations


def guesses(n, seed, *, trusted):
    """Sentences with two guesses of another parser, whose score is good or a coin."""
    rng = random.Random(seed)
    for _ in range(n):
        right, other = rng.sample(sorted(WORDS), 2)
        room = rng.choice(ROOMS)
        scores = [0.9, 0.1] if trusted else [0.5, 0.5]
        yield f"{WORDS[right]} the {room} please", [f"{right}({room})", f"{other}({room})"], scores


def accuracy(parser):
    return np.mean([
        parser.predict([f"{word} the {room} please"])[0] == f"{rel}({room})"
        for rel, word in WORDS.items() for room in ROOMS
    ])  # fmt: skip


def test_a_candidate_of_weight_0_and_a_wrong_one_are_left_out():
    a, b, c = map(as_mr, ("go(a)", "go(b)", "go(c)"))
    bag = Candidates([a, b, c, a], [1, 0, 4, 1], [c])
    assert list(bag) == [a]
    assert bag.log_weights([(a,), ()]).tolist() == [0.0, 0.0]
    assert list(Candidates([a, b, c, a], [1, 0, 4, 1])) == [a, c]
    assert Candidates([a, c], [1, 4]).log_weights([(a,), (c,), (a, c)]) == pytest.approx(
        [np.log(1 / 4), 0, np.log(1 / 4)]
    )
    assert Candidates([], wrong=[c]).only_wrong


def test_equal_weights_change_nothing():
    data = list(guesses(60, 0, trusted=False))
    texts, bags, weights = zip(*data, strict=True)
    plain = Ospas().fit(texts, bags)
    weighted = Ospas().fit(texts, bags, weights=weights)
    for one, two in zip(plain.model_.tables.all.values(), weighted.model_.tables.all.values(), strict=True):
        np.testing.assert_array_equal(one.w, two.w)


def test_weights_are_the_prior_of_a_candidate():
    alignment = Alignment()
    X, bags = [["x"], ["x"]], [[["a"], ["b"]], [["a"], ["b"]]]
    logs = [np.log([0.8, 0.2])] * 2
    posteriors, _ = alignment.fit(X, bags, 1, 0.0, logs)
    assert posteriors[0] == pytest.approx([0.8, 0.2])


def test_a_parser_learns_from_scores_where_bags_alone_cannot_tell():
    """Two rival words always come with the same two guesses: only the scores say which is which."""
    pairs = [("heat", "cool"), ("cool", "heat")]
    rng = random.Random(0)
    texts, bags, weights = [], [], []
    for k in range(60):
        right = pairs[k % 2][0]
        room = rng.choice(ROOMS)
        texts.append(f"{WORDS[right]} the {room} please")
        bags.append([f"heat({room})", f"cool({room})"])
        weights.append([0.6, 0.4] if right == "heat" else [0.4, 0.6])
    parser = Ospas().fit(texts, bags, weights=weights)
    for rel, _ in pairs:
        assert parser.predict([f"{WORDS[rel]} the porch please"])[0] == f"{rel}(porch)"


def test_tiny_weights_and_arrays_of_weights_are_weights():
    a, b = as_mr("go(a)"), as_mr("go(b)")
    tiny = Candidates([a, b], [1e6, 5e-324])
    assert [*tiny] == [a, b]
    assert tiny.logs[a] == 0
    assert tiny.logs[b] < -700
    texts, bags, weights = zip(*guesses(60, 1, trusted=True), strict=True)
    assert accuracy(Ospas().fit(texts, bags, weights=np.array(weights))) == 1


def test_what_a_sentence_does_not_mean_corrects_the_parser():
    texts = [f"{WORDS[rel]} the {room} please" for rel in ("heat", "cool") for room in ROOMS] * 3
    right = [[f"{rel}({room})"] for rel in ("heat", "cool") for room in ROOMS] * 3
    new = "zorp the attic just for fun"
    parser = Ospas().fit(texts, right)
    wrong = str(parser.parse(new)[0].mr)
    wrongs = [*[None] * len(texts), *[[wrong]] * 3]
    told = Ospas().fit([*texts, *[new] * 3], [*right, *[[]] * 3], wrong=wrongs)
    assert told.predict([new])[0] != wrong
    assert all(told.predict(texts[:8]) == [bag[0] for bag in right[:8]])  # the others stay right
    for _ in range(5):
        parser.partial_fit(new, wrong=[wrong])
    assert parser.predict([new])[0] != wrong


def test_wrong_meanings_are_left_out_of_the_candidates():
    texts, bags, _ = zip(*guesses(60, 1, trusted=False), strict=True)
    wrong = [[bag[1]] for bag in bags]
    assert accuracy(Ospas().fit(texts, bags, wrong=wrong)) == 1


def test_wrong_meanings_with_unknown_relations_change_nothing():
    texts, bags, _ = zip(*guesses(60, 1, trusted=False), strict=True)
    parser = Ospas().fit([*texts, "hum"], [*bags, []], wrong=[*[["fly(moon)"]] * len(texts), ["fly(moon)"]])
    assert "fly" not in parser.schema_.relations


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"weights": [[0.5]]}, "sentence 0 has 2 candidates; weights must be"),
        ({"weights": [[0.5, -1]]}, "weights must be a number from 0"),
        ({"weights": [[0, 0]]}, "all weights of sentence 0 are 0"),
        ({"weights": []}, "1 sentences but 0 lists of weights"),
        ({"wrong": [["go("]]}, "sentence 0: 'go"),
        ({"wrong": ["go(a)"]}, "the wrong meanings of sentence 0 must be a list"),
    ],
)
def test_faulty_evidence_is_refused(more, message):
    with pytest.raises(ValueError, match=message):
        Ospas().fit(["go there"], [["go(a)", "go(b)"]], **more)


def test_the_algorithm_of_the_thesis_has_no_weights():
    with pytest.raises(ValueError, match="paper"):
        Ospas(algorithm="paper").fit(["go there"], [["go(a)", "go(b)"]], weights=[[1, 2]])


def test_files_have_weights_and_wrong_meanings(tmp_path):
    lines = [
        {"text": text, "candidates": bag, "weights": weights, "wrong": ["sweep(attic)"]}
        for text, bag, weights in guesses(60, 2, trusted=True)
    ]
    file = tmp_path / "guesses.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    parser, bags = train([file], tmp_path / "model")
    assert bags[0].weights == (0.9, 0.1)
    assert bags[0].wrong == ("sweep(attic)",)
    assert json.loads(bags[0].to_jsonl())["weights"] == [0.9, 0.1]
    assert accuracy(parser) > 0.9
    file.write_text('{"text": "a", "candidates": ["go(a)"], "weights": [1, 2]}\n')
    with pytest.raises(DataError, match=r"guesses.jsonl:1: the line has 1 candidates; weights"):
        train([file], tmp_path / "model")


LAMPS = {
    "relations": {"dim": {"slots": ["lamp", "n"]}, "call": {"slots": ["person"]}, "rest": {"slots": []},
                  "move": {"slots": ["lamp", "room"], "least": 1}},
    "types": {"lamp": ["spot", "floor_lamp"], "n": ["1"],
              "person": ["anna", "bob"], "room": ["hall", "attic"]},
    "open": {"n": r"\d+"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "frame", "filled"),
    [
        ("the floor lamp to 20", "dim(...)", ["dim(floor_lamp, 20)"]),
        ("the floor lamp to 20", "dim(spot, ?)", ["dim(spot, 20)"]),
        ("ring him", "call(?)", ["call(anna)", "call(bob)"]),
        ("anna or bob", "call(...)", ["call(anna)", "call(bob)"]),
        ("the spot please", "move(...)", ["move(spot)"]),
        ("the spot to the attic", "move(...)", ["move(spot, attic)"]),
        ("the spot to 5", "dim(?, ?)", ["dim(spot, 5)"]),
        ("the spot a bit lower", "dim(...)", ["dim(spot, 1)"]),
        ("good night", "rest(...)", ["rest"]),
    ],
)
def test_an_open_frame_is_filled_with_what_the_sentence_mentions(text, frame, filled):
    schema = Schema.from_json(LAMPS)
    x = as_tokens(text)
    (bag,) = filled_bags([x], [Candidates([as_mr(frame)])], Words(Counter(x), schema), schema)
    assert list(map(str, bag)) == filled


def test_frames_of_tools_are_filled_too():
    tools = [{"name": "dim", "parameters": {"required": ["level"], "properties": {
        "level": {"type": "integer"}, "room": {"enum": ["hall", "attic"]}}}}]  # fmt: skip
    schema = Schema.from_json(tools)
    x = as_tokens("lights in the hall to 30")
    for frame in ({"name": "dim", "arguments": "..."}, "dim(level=?, ...)", "dim(level=30, room=?)"):
        (bag,) = filled_bags([x], [Candidates([as_mr(frame)])], Words(Counter(x), schema), schema)
        assert list(map(str, bag)) == ["dim(level=30, room=hall)"]


def test_frames_whose_named_arguments_leave_no_room_are_filled_at_once():
    """The names before z= are fewer than the slots, so most combinations are out of order."""
    names = [f"n{letter}=" for letter in "abcdefg"]
    values = [f"v{k}" for k in range(15)]
    schema = Schema.from_json({
        "relations": {
            "go": {"slots": ["any"] * 8, "least": 1},
            **{name: {"slots": ["value"]} for name in [*names, "z="]},
        },
        "types": {"any": [*names, "z="], "value": values},
    })  # fmt: skip
    x = as_tokens("do it now")
    (bag,) = filled_bags([x], [Candidates([as_mr("go(z=?, ...)")])], Words(Counter(x), schema), schema)
    assert {str(mr) for mr in bag} == {f"go(z={value})" for value in values}


def test_a_named_argument_whose_value_may_have_its_name_is_filled():
    schema = Schema.from_json({
        "relations": {"go": {"slots": ["any"]}, "a=": {"slots": ["any"]}}, "types": {"any": ["a=", "x"]}
    })  # fmt: skip
    x = as_tokens("do it now")
    (bag,) = filled_bags([x], [Candidates([as_mr("go(?)")])], Words(Counter(x), schema), schema)
    assert {str(mr) for mr in bag} == {"go(x)", "go(a=x)"}


def test_a_parser_learns_from_intents_without_their_slots():
    rng = random.Random(0)
    lamps = {"spot": "spot", "floor_lamp": "floor lamp"}

    def sentences(n):
        for _ in range(n):
            lamp, level, person = rng.choice(list(lamps)), rng.randint(2, 90), rng.choice(["anna", "bob"])
            yield rng.choice([
                (f"put the {lamps[lamp]} on {level} percent", "dim", f"dim({lamp}, {level})"),
                (f"could you reach {person} now", "call", f"call({person})"),
            ])  # fmt: skip

    data, test = list(sentences(60)), list(sentences(40))
    parser = Ospas(schema=LAMPS).fit([text for text, *_ in data], [[f"{rel}(...)"] for _, rel, _ in data])
    assert [*parser.predict([text for text, *_ in test])] == [mr for *_, mr in test]
    parser.partial_fit("could you reach anna now", ["call(...)"])


def test_faulty_frames_are_refused(tmp_path):
    with pytest.raises(ValueError, match="no relation 'fly'"):
        Ospas(schema=LAMPS).fit(["a"], [["fly(...)"]])
    with pytest.raises(ValueError, match=r"dim\(spot, \?, \?\): 'dim' takes 2 argument"):
        Ospas(schema=LAMPS).fit(["a"], [["dim(spot, ?, ?)"]])
    with pytest.raises(ValueError, match="'moon' is not a lamp"):
        Ospas(schema=LAMPS).fit(["a"], [["dim(moon, ?)"]])
    with pytest.raises(ValueError, match="no relation 'call'"):  # no candidate shows its arguments
        Ospas().fit(["a", "b"], [["call(...)"], ["go(b)"]])
    (tmp_path / "schema.json").write_text(json.dumps(LAMPS))
    (tmp_path / "a.tab").write_text("the spot\tdim(...)\nanna\tfly(...)\n")
    with pytest.raises(DataError, match=r"a.tab:2: fly\(\.\.\.\): the schema has no relation"):
        train([tmp_path / "a.tab"], tmp_path / "model", schema=tmp_path / "schema.json")


def test_a_whole_intent_can_be_wrong():
    x = as_tokens("the spot to 5")
    schema = Schema.from_json(LAMPS)
    bag = Candidates(map(as_mr, ["dim(spot, 5)", "move(spot)"]), wrong=[as_mr("dim(...)")])
    (found,) = filled_bags([x], [bag], Words(Counter(x), schema), schema)
    assert list(map(str, found)) == ["move(spot)"]
