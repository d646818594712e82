"""`parse teach`: which candidate is meant; each answer is learned."""

import json

import pytest

from corpora.bags import Bag
from semparse import Ospas
from semparse.io import read_bags
from semparse.teach import ParseLearner, export, teach
from structsvm.files import DataError
from structsvm.teach.session import Session
from tests.taggers.command_line import run

PLAYERS = ["anna", "bob", "cleo", "dan"]
BAGS = [
    (f"{a} {verb} {b}", f"{relation}({a}, {b})", f"{other}({b}, {a})")
    for verb, relation, other in (("passes to", "pass", "kick"), ("tackles", "tackle", "pass"))
    for a in PLAYERS
    for b in PLAYERS
    if a != b
]
POOL = [{"text": text, "candidates": [wrong, right]} for text, right, wrong in BAGS]


@pytest.fixture
def game(tmp_path):
    path = tmp_path / "game.jsonl"
    path.write_text("".join(Bag(item["text"], item["candidates"]).to_jsonl() for item in POOL))
    return path


def answer(session, n, tab="a", value=1):
    for k in range(n):
        question = session.question(tab)
        session.answer(tab, question["id"], value, f"{tab}{k}")


def test_answers_teach_the_parser_and_survive_a_restart(tmp_path):
    with Session(ParseLearner(POOL), POOL, tmp_path / "j", random=0.5) as session:
        answer(session, 20)
        session.answer("a", session.question("a")["id"], -1, "none")
        session.answer("a", session.question("a")["id"], None, "skip")
        before = session.learner.guess(POOL)
        assert sum(value == 1 for value, _ in before) >= 20
        assert session.stats()["answered"] == 21
        session.save(tmp_path / "m.ssvm")
        given = session.answers.given()
    with Session(ParseLearner(POOL), POOL, tmp_path / "j") as session:
        assert session.learner.guess(POOL) == before
        assert session.undo("a", "undo") is not None
    assert Ospas.load(tmp_path / "m.ssvm").predict(["anna passes to bob"])[0] == "pass(anna, bob)"
    lines = [json.loads(line) for line in export(given)[0].splitlines()]
    assert lines[0]["gold"] == [lines[0]["candidates"][1]]
    assert lines[-1]["gold"] == []


@pytest.mark.parametrize("value", [2, -2, True, "1", [1], 1.0])
def test_bad_answers_are_refused(tmp_path, value):
    with Session(ParseLearner(POOL), POOL, tmp_path / "j") as session:
        question = session.question("a")
        with pytest.raises(DataError, match="position of a candidate"):
            session.answer("a", question["id"], value, "k")
        with pytest.raises(DataError, match="candidates instead of labels"):
            session.add_name("X")


def test_the_command_exports_what_was_answered_and_shows_agreement(game, tmp_path):
    for name, n in (("mine", 4), ("theirs", 6)):
        with teach(game, tmp_path / f"{name}.ssvm").session as session:
            answer(session, n, name)
    done = run(
        "parse", "teach", "game.jsonl", "-o", "mine.ssvm", "--merge", "theirs.answers.jsonl", "--export",
        "gold.jsonl", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    said = done.stderr.decode()
    assert "Cohen's kappa is 1.000 (100.0% of the decisions agree, 0 answers differ)" in said
    bags = read_bags(tmp_path / "gold.jsonl")
    assert f"gold.jsonl: {len(bags)} answers" in said
    assert all(bag.gold == (bag.candidates[1],) for bag in bags)


def test_explanations_and_doubts(tmp_path):
    with Session(ParseLearner(POOL), POOL, tmp_path / "j") as session:
        answer(session, 10)
        question = session.question("a")
        session.answer("a", question["id"], 0, "wrong")
        assert session.explain(session.questions.ids[0], 0)["reasons"]
        assert session.alternatives(session.questions.ids[0]) == []
        session.rebuild()
        assert {doubt["id"] for doubt in session.doubts()} <= set(session.answers.current)
