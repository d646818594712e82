"""Switches that the parser sets by itself: logs of another hand need no options."""

import random

import pytest

from corpora.simulators.home import simulate_home
from corpora.simulators.sportscast import simulate_sportscast
from semparse import Ospas
from semparse.evaluation import score_parses
from semparse.meaning import as_mr
from tests.semparse.commentary import commentary
from tests.semparse.greenhouse import ROWS, log


def trained(bags, **options):
    return Ospas(**options).fit([bag.text for bag in bags], [bag.candidates for bag in bags])


@pytest.mark.parametrize("row", ROWS)
def test_a_log_of_another_hand_is_learned_without_options(row):
    parser = trained(log(500, 0, **ROWS[row]))
    assert score_parses(parser, log(150, 1, **ROWS[row])).overall.f1 >= 0.9


@pytest.mark.parametrize(
    "simulate", [lambda two: log(300, 2, two=two), lambda two: simulate_home(300, seed=2, two_clauses=two)]
)
def test_sentences_with_two_clauses_are_noticed(simulate, tmp_path):
    bags = simulate(0.3)
    parser = trained(bags)
    assert parser.model_.clauses >= 2
    double = [bag for bag in bags if len(bag.gold) == 2]
    assert sum(len(parser.parse(bag.text)) == 2 for bag in double) > len(double) / 2
    parser.save(tmp_path / "two.ssvm")
    loaded = Ospas.load(tmp_path / "two.ssvm")
    assert loaded.model_.clauses == parser.model_.clauses
    for bag in double[:10]:
        assert [str(found) for found in loaded.parse(bag.text)] == [str(f) for f in parser.parse(bag.text)]
    assert trained(bags, clauses=1).model_.clauses == 1


def test_estimates_are_reported_saved_and_replaced_by_options(tmp_path):
    bags = log(500, 0, chat=0.6)
    parser = trained(bags)
    assert parser.estimates_.keys() == {"clauses", "nothing", "threshold"}
    assert parser.estimates_["nothing"] > 0.4  # more sentences mean nothing than something
    assert trained(log(500, 0)).estimates_["nothing"] == 0.4
    parser.save(tmp_path / "log.ssvm")
    loaded = Ospas.load(tmp_path / "log.ssvm")
    assert loaded.estimates_ == parser.estimates_
    assert loaded.with_options(threshold=1e6).parse(bags[0].text) == []
    given = {"clauses": 1, "nothing": 0.7, "threshold": 0.25}
    assert trained(bags, **given).estimates_ == {}
    assert Ospas(algorithm="paper").fit(["a b"], [["c(b)"]]).estimates_ == {}


def test_talk_about_known_things_gets_no_answer_even_without_such_talk_in_training():
    parser = trained(log(300, 0))
    chat = {bag.text for bag in log(200, 5, chat=0.9) if not bag.gold}
    assert sum(bool(parser.parse(text)) for text in chat) < 0.1 * len(chat)
    known, new = parser.parse("where is otto")[0], parser.parse("where is otto", 2)[0]
    assert known.unknown == new.unknown == 0
    assert known.lead == known.margin


def test_pairs_of_sentence_and_meaning_have_one_clause():
    X, _, gold = commentary(40)
    assert Ospas().fit(X, [[mr] for mr in gold]).model_.clauses == 1


@pytest.mark.parametrize("bags", [log(200, 3), simulate_home(200, seed=3)], ids=["greenhouse", "home"])
def test_words_without_any_meaning_get_no_answer(bags):
    """Also without off-topic sentences in training, and with colours and names that are known."""
    parser = trained(bags)
    for text in ("cheese", "blorf the grumble", "yesterday was a bore", "thank you so much"):
        assert parser.parse(text) == []


def test_a_parser_of_sentences_that_mostly_mean_nothing_comes_back_from_its_file(tmp_path):
    parser = trained(log(100, 0, chat=0.4), nothing=2.0)
    parser.save(tmp_path / "log.ssvm")
    assert Ospas.load(tmp_path / "log.ssvm").lexicon() == parser.lexicon()


def calls(n, seed):
    """Pairs of sentence and meaning: most names come once, but there are only four rooms."""
    rng = random.Random(seed)
    found = []
    for _ in range(n):
        name = "".join(rng.choice(["ka", "lo", "mi", "su", "ter", "vin"]) for _ in range(4))
        room, again = rng.choice(["attic", "hall", "porch", "study"]), rng.choice(["jo", "ada", "kim"])
        who = name if rng.random() < 0.5 else again
        verb, rel = rng.choice([("call", "call"), ("wake", "wake")])
        found.append((f"{verb} {who} in the {room}", f"{rel}({who}, {room})"))
    return found


def test_names_are_copied_if_training_keeps_bringing_up_new_ones(tmp_path):
    pairs = calls(120, 0)
    parser = Ospas().fit([text for text, _ in pairs], [[mr] for _, mr in pairs])
    assert [str(found) for found in parser.parse("wake zebulon in the attic")] == ["wake(zebulon, attic)"]
    assert parser.parse("wake jo in the cellar")[0].mr != as_mr("wake(jo, cellar)")  # rooms are known
    assert len(parser.opened_) == 2  # of those who are called, and of those who are woken
    assert not any("attic" in kind or "hall" in kind for kind in parser.opened_)
    parser.save(tmp_path / "calls.ssvm")
    assert str(Ospas.load(tmp_path / "calls.ssvm").parse("call zebulon in the hall")[0]) == (
        "call(zebulon, hall)"
    )


@pytest.mark.parametrize(
    "bags", [log(300, 4), simulate_home(300, seed=4), simulate_sportscast(300, seed=4)],
    ids=["greenhouse", "home", "sportscast"],
)  # fmt: skip
def test_lists_that_are_complete_stay_closed(bags):
    assert trained(bags).model_.schemas.opened == set()
