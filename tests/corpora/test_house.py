"""The simulated house: its size, its laws, and what its sentences promise."""

from collections import Counter
from itertools import islice, pairwise

import pytest

from corpora.simulators.house import (
    ACTORS,
    CONCEPTS,
    FURNITURE,
    HOME,
    OBJECTS,
    ROOMS,
    THINGS,
    VERBS,
    House,
    coherent,
    execute,
    simulate_house,
)
from corpora.simulators.house_language import pronoun


@pytest.fixture(scope="module")
def scenes():
    return list(islice(House(pronouns=0.64, seed=3).scenes(), 3000))


def test_the_universe_has_the_concepts_of_the_thesis():
    sizes = [len(group) for group in (VERBS, ACTORS, OBJECTS, ROOMS, FURNITURE, set(CONCEPTS))]
    assert sizes == [15, 10, 15, 6, 12, 58]


def test_words_symbols_and_verbs(scenes):
    plain = simulate_house(3000, level=0, seed=1)
    assert len({word for scene in scenes for word in scene.tokens}) == 75
    assert len({word for bag in plain for word in bag.text.split()}) == 74
    assert {symbol for bag in plain for symbol in bag.symbols} == {*CONCEPTS, "-"}
    assert {scene.verb for scene in scenes} == set(VERBS)


def test_about_55_percent_of_the_sentences_are_ambiguous(scenes):
    assert 0.52 < sum(scene.ambiguous for scene in scenes) / len(scenes) < 0.58


def test_a_pronoun_can_mean_one_thing_only(scenes):
    for scene in scenes:
        words = set(zip(scene.tokens, scene.symbols, strict=True))
        hidden = [k for k, arg in enumerate(scene.args) if (pronoun(arg, k), arg) in words]
        for k in hidden:
            said = pronoun(scene.args[k], k)
            fits = [
                other
                for other in THINGS
                if pronoun(other, k) == said
                and coherent(scene.verb, (*scene.args[:k], other, *scene.args[k + 1 :]), scene.universe)
            ]
            assert fits == [scene.args[k]]
        assert bool(hidden) == scene.ambiguous


def test_actions_make_sense_and_the_world_stays_whole(scenes):
    for scene, following in pairwise(scenes):
        u = scene.universe
        assert coherent(scene.verb, scene.args, u)
        for thing, holder in u.contained_by.items():
            assert u.location[thing] == u.location[holder]
            assert holder not in OBJECTS
        assert {f: u.location[f] for f in FURNITURE} == HOME
        assert all(u.contained_by[actor] in ("bed", "couch") for actor in u.asleep)
        beds = [place for actor, place in u.contained_by.items() if actor in ACTORS]
        assert len(beds) == len(set(beds)), "two on one seat"
        if scene.verb not in ("eat", "drink"):  # these draw where the next portion is
            after = u.copy()
            execute(scene.verb, scene.args, after, None)
            assert after == following.universe


def test_symbols_are_the_concepts_of_the_meaning():
    for bag in simulate_house(500, level=2, seed=4):
        (right,) = bag.gold
        named = sorted(symbol for symbol in bag.symbols if symbol != "-")
        assert sorted(right.replace("(", ", ").rstrip(")").split(", ")) == named
        assert len(bag.symbols) == len(bag.text.split())


@pytest.mark.parametrize("level", [0, 1, 3])
def test_a_level_is_the_mean_number_of_wrong_candidates(level):
    bags = simulate_house(1500, level=level, seed=level)
    counts = Counter(len(bag.candidates) for bag in bags)
    assert set(counts) == set(range(1, 2 * level + 2))
    assert sum(k * n for k, n in counts.items()) / len(bags) == pytest.approx(1 + level, abs=0.15)
    assert all(bag.gold[0] in bag.candidates for bag in bags)
    assert all(len(set(bag.candidates)) == len(bag.candidates) for bag in bags)


def test_a_seed_repeats_and_another_differs():
    assert simulate_house(50, level=1, seed=7) == simulate_house(50, level=1, seed=7)
    assert simulate_house(50, level=1, seed=7) != simulate_house(50, level=1, seed=8)


def test_more_candidates_than_there_are_actions_come_to_an_end():
    bags = simulate_house(1, level=300, seed=0)
    assert all(len(set(bag.candidates)) == len(bag.candidates) < 600 for bag in bags)


def test_a_negative_level_is_refused():
    with pytest.raises(ValueError, match="level must be"):
        simulate_house(5, level=-1)
