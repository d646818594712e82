"""Arc-hybrid transitions, compared with all trees and with all sequences of actions."""

from functools import lru_cache
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structsvm.problems.dependency.problem import is_projective, is_tree
from structsvm.problems.dependency.transitions import ArcHybrid


@lru_cache
def trees(n):
    """All projective trees of n words with one root."""
    return [heads for heads in product(range(n + 1), repeat=n) if is_tree(heads) and is_projective(heads)]


def state_after(n, actions):
    state = ArcHybrid(n)
    for action in actions:
        state.apply(action)
    return state


@lru_cache
def reachable(n, actions):
    """The trees that can follow some actions."""
    state = state_after(n, actions)
    if state.done:
        return frozenset([tuple(state.heads)])
    return frozenset().union(*[reachable(n, (*actions, action)) for action in state.legal()])


@pytest.mark.parametrize("n", range(1, 6))
def test_the_actions_reach_every_projective_tree_and_no_other(n):
    assert reachable(n, ()) == frozenset(trees(n))


@settings(max_examples=150, deadline=None)
@given(st.data(), st.integers(1, 6))
def test_a_cost_is_the_loss_that_an_action_adds_to_the_best_reachable_tree(data, n):
    gold = data.draw(st.sampled_from(trees(n)))
    actions = ()
    state = ArcHybrid(n)

    def least_loss(actions):
        return min(sum(a != b for a, b in zip(tree, gold, strict=True)) for tree in reachable(n, actions))

    while not state.done:
        costs = state.costs(gold)
        now = least_loss(actions)
        for action in state.legal():
            assert costs[action] == least_loss((*actions, action)) - now
        actions = (*actions, data.draw(st.sampled_from(state.legal())))
        state = state_after(n, actions)


def test_impossible_actions_and_wrong_sizes_are_refused():
    state = ArcHybrid(2)
    with pytest.raises(ValueError, match="action 1 is not possible"):
        state.apply(1)
    with pytest.raises(ValueError, match="1 heads for 2 words"):
        state.costs([0])
    with pytest.raises(ValueError, match="number of words"):
        ArcHybrid(0)
