"""The simulated smart home: each option brings its difficulty, at its share, and no other."""

import re

import pytest

from corpora import simulate_home
from corpora.simulators.home import OPEN
from corpora.simulators.home_language import HERE, LONG, NEW, RELATIONS, SYNONYMS, TYPES, number_words
from semparse.meaning import MR, parse_mr

N = 2000


def golds(bags):
    return [parse_mr(mr) for bag in bags for mr in bag.gold]


def constants(mr):
    return [arg for inner in mr.relations() for arg in inner.args if isinstance(arg, str)]


def said(symbol, text):
    """Whether a text names a constant."""
    names = SYNONYMS.get(symbol, (symbol.replace("_", " "),))
    if symbol.isdigit():
        names = (symbol, number_words(int(symbol)))
    return any(re.search(rf"\b{name}\b", text) for name in names)


@pytest.fixture(scope="module")
def base():
    return simulate_home(N, seed=1)


def test_the_default_is_flat_named_and_ambiguous(base):
    assert all(len(bag.gold) == 1 for bag in base)
    for bag in base:
        mr = parse_mr(bag.gold[0])
        assert len(mr.args) == len(RELATIONS[mr.rel])
        assert all(
            arg in TYPES[kind] and said(arg, bag.text)
            for arg, kind in zip(mr.args, RELATIONS[mr.rel], strict=True)
        )
    assert {mr.rel for mr in golds(base)} == set(RELATIONS)
    assert {len(bag.candidates) for bag in base} == {1, 2, 3, 4, 5}
    assert all(len(set(bag.candidates)) == len(bag.candidates) for bag in base)
    assert sum(bag.gold[0] not in bag.candidates for bag in base) / N == pytest.approx(0.2, abs=0.03)


def test_level_and_missing_choose_the_bags():
    exact = simulate_home(200, level=0, missing=0)
    assert all(bag.candidates == bag.gold for bag in exact)
    assert max(len(bag.candidates) for bag in simulate_home(500, level=4)) == 9
    assert not any(set(bag.gold) & set(bag.candidates) for bag in simulate_home(200, missing=1))


def test_off_topic_sentences_mean_nothing_and_have_candidates():
    bags = simulate_home(N, off_topic=0.4, seed=1)
    nothing = [bag for bag in bags if bag.gold == ()]
    assert len(nothing) / N == pytest.approx(0.4, abs=0.03)
    assert all(bag.candidates for bag in nothing)
    assert len({bag.text for bag in nothing}) > len(nothing) / 3
    # They speak of the same people and rooms as commands do.
    assert sum(any(said(name, bag.text) for name in TYPES["room"]) for bag in nothing) > len(nothing) / 10


def test_two_clauses_have_two_meanings_both_said():
    bags = simulate_home(N, two_clauses=0.3, seed=1)
    two = [bag for bag in bags if len(bag.gold) == 2]
    assert len(two) / N == pytest.approx(0.3, abs=0.03)
    for bag in two:
        assert bag.gold[0] != bag.gold[1]
        assert all(said(name, bag.text) for mr in bag.gold for name in constants(parse_mr(mr)))
        assert len(set(bag.gold) & set(bag.candidates)) in (0, 2)


@pytest.mark.parametrize(
    ("order", "first"), [("before", {True}), ("after", {False}), ("mixed", {True, False})]
)
def test_conditions_nest_and_come_in_the_order_asked_for(order, first):
    bags = simulate_home(N, conditions=0.5, order=order, seed=1)
    nested = [bag for bag in bags if bag.gold[0].startswith("when(")]
    assert len(nested) / N == pytest.approx(0.5, abs=0.03)
    assert {bag.text.startswith(("when", "as soon as", "once")) for bag in nested} == first
    for bag in nested:
        mr = parse_mr(bag.gold[0])
        assert len(mr.args) == 2
        assert all(isinstance(arg, MR) for arg in mr.args)  # sunset(), no constant
        assert str(mr) == bag.gold[0]


def test_an_omitted_room_is_the_hall_and_not_said():
    bags = simulate_home(N, omitted=0.5, seed=1)
    with_room = [(bag, mr) for bag, mr in zip(bags, golds(bags), strict=True) if "room" in RELATIONS[mr.rel]]
    silent = [mr for bag, mr in with_room if not any(said(name, bag.text) for name in TYPES["room"])]
    assert len(silent) / len(with_room) == pytest.approx(0.5, abs=0.04)
    assert all(mr.args[RELATIONS[mr.rel].index("room")] == HERE for mr in silent)


def test_unseen_names_and_numbers_are_in_no_other_sentence():
    known = {
        name for bag in simulate_home(N, off_topic=0.2, conditions=0.2, seed=1) for name in bag.text.split()
    }
    new = simulate_home(500, unseen=1, seed=2)
    fresh = [
        arg for mr in golds(new) for arg, kind in zip(mr.args, RELATIONS[mr.rel], strict=True)
        if kind in (*NEW, "degrees", "percent", "minutes")
    ]  # fmt: skip
    assert {mr.rel for mr in golds(new)} == set(OPEN)
    assert len(fresh) >= 500
    assert not known & set(fresh)


def test_multiword_names_and_number_words_are_spelt_by_their_words():
    bags = simulate_home(N, multiword=True, numbers="words", unseen=0.3, seed=1)
    used = set()
    for bag in bags:
        for name in constants(parse_mr(bag.gold[0])):
            assert said(name, bag.text)
            assert not (name.isdigit() and name in bag.text.split())
            used.add(name)
    assert {name for names in LONG.values() for name in names} <= used


def test_misspelt_words_are_one_typing_error_away():
    clean = simulate_home(N, seed=1, level=0, missing=0)
    known = {word for bag in clean for word in bag.text.split()}
    bags = simulate_home(N, misspelt=0.15, seed=1, level=0, missing=0)
    words = [word for bag in bags for word in bag.text.split()]
    wrong = [word for word in words if word not in known]
    assert 0.1 < len(wrong) / sum(len(word) > 2 for word in words) < 0.16
    assert all(word.isalpha() for word in wrong)
    # A known word has the same letters, but for one at most.
    assert all(
        any(abs(len(word) - len(k)) <= 1 and len(set(word) ^ set(k)) <= 2 for k in known) for word in wrong
    )


def test_seeds_repeat(base):
    assert simulate_home(N, seed=1) == base
    assert simulate_home(N, seed=2) != base
