"""The simulated child's world: grammar, nesting, and the windows of meanings."""

import re
from collections import Counter

import pytest

from corpora.simulators.child_world import ANIMALS, PEOPLE, THINGS, VERBS, simulate_child_world

# P(number of candidates) at each level, for windows a before and b after, both even on 0 .. level.
SHARES = {
    0: [1],
    1: [0.25, 0.5, 0.25],
    2: [1 / 9, 2 / 9, 3 / 9, 2 / 9, 1 / 9],
    3: [1 / 16, 2 / 16, 3 / 16, 4 / 16, 3 / 16, 2 / 16, 1 / 16],
}


def names(mr):
    return re.findall(r"\w+", mr)


@pytest.fixture(scope="module")
def bags():
    return simulate_child_world(4000, level=1, seed=5)


def test_there_are_15_verbs_and_37_nouns(bags):
    assert len(VERBS) == 15
    assert len(PEOPLE) + len(ANIMALS) + len(THINGS) == 37
    used = {symbol for bag in bags for symbol in bag.symbols}
    assert used == {*VERBS, *PEOPLE, *ANIMALS, *THINGS, "-"}


@pytest.mark.parametrize("level", SHARES)
def test_numbers_of_candidates_are_those_of_the_windows(level):
    bags = simulate_child_world(4000, level=level, seed=level)
    counts = Counter(len(bag.candidates) for bag in bags)
    assert [counts[k + 1] / len(bags) for k in range(2 * level + 1)] == pytest.approx(SHARES[level], abs=0.03)
    assert sum(counts.values()) == len(bags)
    assert sum(k * n for k, n in counts.items()) / len(bags) == pytest.approx(1 + level, abs=0.1)
    for bag in bags:
        assert bag.gold[0] in bag.candidates
        assert len(set(bag.candidates)) == len(bag.candidates)


def test_meanings_have_one_to_four_relations(bags):
    relations = Counter(bag.gold[0].count("(") for bag in bags)
    assert set(relations) == {1, 2, 3, 4}
    assert relations[1] > relations[2] > relations[3]


def test_words_name_the_symbols_of_the_meaning(bags):
    for bag in bags:
        assert sorted(symbol for symbol in bag.symbols if symbol != "-") == sorted(names(bag.gold[0]))


def test_meanings_close_in_time_share_a_context(bags):
    """Two candidates of a bag have far more symbols in common than two of different contexts."""

    def shared(pairs):
        overlaps = [len(set(names(a)) & set(names(b))) / len(set(names(a)) | set(names(b))) for a, b in pairs]
        return sum(overlaps) / len(overlaps)

    near = [bag.candidates[:2] for bag in bags if len(bag.candidates) > 1]
    far = [(a.gold[0], b.gold[0]) for a, b in zip(bags, bags[1000:], strict=False)]
    assert shared(near) > 3 * shared(far)


def test_a_world_where_all_has_happened_continues():
    bags = simulate_child_world(40, level=60, seed=0)
    assert len(bags) == 40
    assert max(len(bag.candidates) for bag in bags) > 60


def test_a_seed_repeats_and_another_differs(bags):
    assert simulate_child_world(100, level=1, seed=5) == bags[:100]
    assert simulate_child_world(100, level=1, seed=6) != bags[:100]


def test_a_negative_level_is_refused():
    with pytest.raises(ValueError, match="level must be"):
        simulate_child_world(5, level=-2)
