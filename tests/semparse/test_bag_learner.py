"""Algorithms 23 and 24 against brute force, the core's own problem, and a trace by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semparse._bags import STRATEGIES, BagLearner
from structsvm import AmbiguousBags, PassiveAggressive


def learner_with(weights, C=0.1, seed=0):
    learner = BagLearner(C, seed)
    weights = np.array(weights, dtype=float)
    learner.grow(*weights.shape)
    counts = np.array([1, weights.shape[1]], np.int64)
    learner.set_state(weights, np.zeros_like(weights), counts, np.array([7], np.uint64))
    return learner


def brute_force(scores, inside, n_features, C):
    """The loss, its direction and the step of Algorithm 23, pair by pair."""
    bag, rest = np.flatnonzero(inside), np.flatnonzero(~inside)
    loss, q = 0.0, np.zeros(len(scores))
    for a in bag:
        for b in rest:
            if scores[a] - scores[b] < 1:
                loss += (1 - scores[a] + scores[b]) / (len(bag) * len(rest))
                q[a] += 1 / (len(bag) * len(rest))
                q[b] -= 1 / (len(bag) * len(rest))
    norm = n_features * (q @ q)
    return loss, q, (min(C, loss / norm) if norm else 0.0)


problems = st.integers(2, 7).flatmap(
    lambda labels: st.tuples(
        st.lists(st.lists(st.floats(-3, 3), min_size=labels, max_size=labels), min_size=1, max_size=3),
        st.lists(st.booleans(), min_size=labels, max_size=labels),
        st.sampled_from([0.01, 0.1, 1.0, 100.0]),
    )
)


@given(problems)
def test_the_dual_step_is_that_of_brute_force(problem):
    rows, inside, C = problem
    weights, inside = np.array(rows), np.array(inside)
    learner = learner_with(weights, C)
    ids = np.arange(len(weights), dtype=np.int32)
    loss, alpha, q = learner.dual_step(ids, inside.astype(np.uint8))
    expected = brute_force(weights.sum(0), inside, len(weights), C)
    assert loss == pytest.approx(expected[0], abs=1e-12)
    assert q == pytest.approx(expected[1], abs=1e-12)
    assert alpha == pytest.approx(expected[2], abs=1e-12)
    assert q.sum() == pytest.approx(0, abs=1e-12)
    assert learner.state()[0][: len(weights)] == pytest.approx(weights + expected[2] * expected[1])
    assert alpha * loss - alpha**2 * len(weights) * (q @ q) / 2 >= -1e-12  # the dual goes up
    after = brute_force(learner.scores(ids, False), inside, len(weights), C)[0]
    assert after <= loss + 1e-9 or alpha < C  # a short step lowers the loss


def test_it_is_passive_aggressive_on_the_problem_of_the_core():
    rng = np.random.default_rng(0)
    learner = learner_with(np.zeros((4, 5)))
    core = PassiveAggressive(AmbiguousBags(classes=range(5)), C=0.1)
    for _ in range(30):
        word, bag = int(rng.integers(4)), rng.choice(5, size=rng.integers(1, 4), replace=False)
        inside = np.zeros(5, np.uint8)
        inside[bag] = 1
        learner.dual_step(np.array([word], np.int32), inside)
        core.partial_fit(np.eye(4)[[word]], [bag.tolist()])
    assert core.weights_.reshape(4, 5) == pytest.approx(learner.state()[0])


def test_algorithm_24_is_as_traced_by_hand():
    """Three words, bag {-, x, y}, from left to right, C = 0.1.

    1. a: x is best and in the bag: taken.
    2. b: x again, but only {-, y} are left: step 0.1 along q = (1/2, -1, 1/2).
    3. c: - is best: taken.
    4. b: still x, and {y} is left: step 0.1 along q = (-1/2, -1/2, 1). All were tried: end.
    """
    learner = learner_with([[0, 0.5, 0], [0, 0.6, 0.1], [0.2, 0, 0.1]])
    bag = np.array([[1, 1, 1]], np.int32)
    words, ptr = np.arange(3, dtype=np.int32), np.arange(4, dtype=np.int64)
    labels = learner.label(words, ptr, np.zeros(3, np.int32), bag, STRATEGIES["left-right"], False)
    assert labels.tolist() == [1, -1, 0]
    assert bag.tolist() == [[0, 0, 1]]
    assert learner.state()[0] == pytest.approx(np.array([[0, 0.5, 0], [0, 0.45, 0.25], [0.2, 0, 0.1]]))


def test_order_free_takes_the_surest_word_first():
    learner = learner_with([[0, 0.5, 0], [0, 0.6, 0.1]])
    bag = np.array([[1, 1, 0]], np.int32)
    words, ptr = np.arange(2, dtype=np.int32), np.arange(3, dtype=np.int64)
    labels = learner.label(words, ptr, np.zeros(2, np.int32), bag, STRATEGIES["order-free"], False)
    assert labels[1] == 1
    assert labels[0] != 1


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_no_label_is_used_more_often_than_the_bag_holds_it(strategy):
    rng = np.random.default_rng(1)
    learner = learner_with(rng.normal(size=(6, 4)))
    for _ in range(20):
        words = rng.integers(6, size=5).astype(np.int32)
        bag = rng.integers(3, size=(1, 4)).astype(np.int32)
        before = bag.copy()
        ptr, groups = np.arange(6, dtype=np.int64), np.zeros(5, np.int32)
        labels = learner.label(words, ptr, groups, bag, STRATEGIES[strategy], False)
        used = np.bincount(labels[labels >= 0], minlength=4)
        assert (used <= before[0]).all()
        assert (bag[0] == before[0] - used).all()


def test_a_bag_of_every_label_teaches_nothing():
    learner = learner_with(np.zeros((1, 3)))
    loss, alpha, _ = learner.dual_step(np.zeros(1, np.int32), np.ones(3, np.uint8))
    assert (loss, alpha) == (0, 0)
    assert not learner.state()[0].any()
