"""The simulated sportscast: ambiguity, noise and predicates as in RoboCup, in words of its own."""

import re
from collections import Counter

import pytest

from corpora import find
from corpora.simulators.sportscast import MODES, WINDOW, broadcast, simulate_sportscast

ARITY = {
    "ballstopped": 0, "kick": 1, "pass": 2, "turnover": 2, "badPass": 2, "playmode": 1, "steal": 1,
    "defense": 2, "block": 1,
}  # fmt: skip
# Of the comments that mean something, in the real games.
SHARES = {
    "pass": 0.694, "badPass": 0.104, "turnover": 0.079, "kick": 0.046, "playmode": 0.034, "steal": 0.030,
    "defense": 0.006, "block": 0.006,
}  # fmt: skip


@pytest.fixture(scope="module")
def bags():
    return simulate_sportscast(8000, seed=2)


def split(mr):
    rel, *args = re.findall(r"\w+", mr)
    return rel, args


def team(player):
    return player.rstrip("0123456789")


def test_ambiguity_and_noise_are_those_of_robocup(bags):
    assert sum(len(set(bag.candidates)) for bag in bags) / len(bags) == pytest.approx(2.2, abs=0.1)
    lacking = sum(not set(bag.gold) & set(bag.candidates) for bag in bags) / len(bags)
    assert lacking == pytest.approx(0.27, abs=0.02)
    assert sum(not bag.gold for bag in bags) / len(bags) == pytest.approx(0.20, abs=0.02)
    assert all(len(bag.gold) <= 1 for bag in bags)


def test_predicates_are_spoken_of_as_often(bags):
    told = Counter(split(mr)[0] for bag in bags for mr in bag.gold)
    for rel, share in SHARES.items():
        assert told[rel] / sum(told.values()) == pytest.approx(share, abs=0.03), rel
    assert set(told) == set(SHARES)


def test_arguments_obey_the_rules_of_the_game(bags):
    players = {f"{side}{k}" for side in ("pink", "purple") for k in range(1, 12)}
    modes = {f"{mode}_{side}" for mode in MODES for side in "lr"} | {"play_on"}
    seen = set()
    for bag in bags:
        for mr in bag.candidates:
            rel, args = split(mr)
            seen.add(rel)
            assert len(args) == ARITY[rel]
            assert set(args) <= (modes if rel == "playmode" else players)
            if rel == "pass":
                assert args[0] != args[1]
                assert team(args[0]) == team(args[1])
            elif rel in ("turnover", "badPass"):
                assert team(args[0]) != team(args[1])
            elif rel == "defense":
                assert args[0] == args[1]
    assert seen == set(ARITY)


def test_candidates_are_the_actions_of_the_five_steps_before():
    actions, comments = broadcast(300, seed=4)
    bags = {(bag.time, bag.text): bag for bag in simulate_sportscast(250, seed=4)}
    checked = 0
    for comment in comments:
        bag = bags.get((comment.time, comment.text))
        if bag is not None:
            near = [a for a in actions if a.end >= comment.time - WINDOW and a.start <= comment.time]
            assert set(bag.candidates) == {str(action) for action in near}
            checked += 1
    assert checked >= 250


def test_comments_come_in_order_of_time_and_seeds_repeat(bags):
    assert [bag.time for bag in bags] == sorted(bag.time for bag in bags)
    assert simulate_sportscast(200, seed=2) == bags[:200]
    assert simulate_sportscast(200, seed=3) != bags[:200]


@pytest.mark.corpora
def test_no_sentence_is_one_of_the_real_corpus(bags):
    """Not even with other players in it."""

    def form(text):
        return re.sub(r"(pink|purple)\d+", "P", " ".join(re.findall(r"\w+", text.lower())))

    real = set()
    for path in (find("robocup") / "nl").iterdir():
        real |= {form(line.partition("|")[2]) for line in path.read_text().splitlines()}
    assert len(real) > 300
    assert not real & {form(bag.text) for bag in bags}
