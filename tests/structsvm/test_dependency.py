"""Dependency trees over arcs, compared with the enumeration of all trees."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structsvm import LaRank, Problem, RandomField
from structsvm.machine import Unsupported
from structsvm.problems import DependencyProblem, arc_features
from structsvm.problems.dependency.problem import is_projective, is_tree
from structsvm.problems.dependency.spanning import Trees
from tests.structsvm.helpers import DUAL_OPTIMIZERS, OPTIMIZERS, trees


def score_of(scores, heads):
    return sum(scores[head, word] for word, head in enumerate(heads, 1))


@pytest.mark.parametrize(("n", "all_trees", "projective"), [(3, 9, 7), (4, 64, 30), (6, 7776, 728)])
def test_the_enumeration_finds_as_many_trees_as_combinatorics_says(n, all_trees, projective):
    assert len(trees(n, False)) == all_trees == n ** (n - 1)
    assert len(trees(n, True)) == projective


@settings(max_examples=200, deadline=None)
@given(st.data(), st.integers(1, 6), st.booleans(), st.booleans())
def test_the_best_tree_is_that_of_enumeration(data, n, projective, ties):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    scores = rng.integers(-2, 3, (n + 1, n + 1)).astype(float) if ties else rng.normal(size=(n + 1, n + 1))
    heads = Trees().best(scores, projective).tolist()
    assert tuple(heads) in trees(n, projective)
    best = max(score_of(scores, tree) for tree in trees(n, projective))
    assert score_of(scores, heads) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("n", [20, 60])
def test_the_best_tree_of_a_long_sentence_is_a_tree_and_beats_random_ones(n):
    rng = np.random.default_rng(n)
    scores = rng.normal(size=(n + 1, n + 1))
    projective, free = (Trees().best(scores, kind).tolist() for kind in (True, False))
    assert is_tree(projective)
    assert is_projective(projective)
    assert is_tree(free)
    assert score_of(scores, free) >= score_of(scores, projective)
    for word in range(n):  # no change of one head improves the tree
        for head in range(n + 1):
            other = [*free[:word], head, *free[word + 1 :]]
            assert not is_tree(other) or score_of(scores, other) <= score_of(scores, free) + 1e-9


class Slow(DependencyProblem):
    """The same problem through the door for Python, which enumerates all trees."""

    oracle = Problem.oracle
    argmax = Problem.argmax
    loss_augmented_argmax = Problem.loss_augmented_argmax


def random_data(n_sentences, seed, *, n_labels=0, projective=True, longest=4):
    rng = np.random.default_rng(seed)
    X, y = [], []
    for n in rng.integers(1, longest + 1, n_sentences).tolist():
        X.append(arc_features(n, lambda h, d: rng.integers(0, 12, rng.integers(0, 4)).tolist()))
        heads = trees(n, projective)[rng.integers(len(trees(n, projective)))]
        y.append([(head, int(rng.integers(n_labels))) for head in heads] if n_labels else list(heads))
    return X, y


@pytest.mark.parametrize("n_labels", [0, 3])
@pytest.mark.parametrize("projective", [True, False])
def test_the_most_violated_tree_is_that_of_enumeration(n_labels, projective):
    X, y = random_data(15, 1, n_labels=n_labels, projective=projective, longest=3)
    fast = DependencyProblem(12, n_labels=n_labels, projective=projective)
    slow = Slow(12, n_labels=n_labels, projective=projective)
    rng = np.random.default_rng(2)
    for x, tree in zip(X, y, strict=True):
        w = rng.normal(size=fast.n_features)

        def violation(other, x=x, tree=tree, w=w):
            return fast.loss(tree, other) + fast.score(x, other, w)

        found = fast.loss_augmented_argmax(x, tree, w)
        assert violation(found) == pytest.approx(violation(slow.loss_augmented_argmax(x, tree, w)))
        assert fast.score(x, fast.argmax(x, w), w) == pytest.approx(slow.score(x, slow.argmax(x, w), w))


@pytest.mark.parametrize("projective", [True, False])
@pytest.mark.parametrize("n_labels", [0, 2])
def test_both_doors_reach_the_same_dual(n_labels, projective):
    X, y = random_data(12, 3, n_labels=n_labels, projective=projective, longest=3)
    problems = [kind(12, n_labels=n_labels, projective=projective) for kind in (DependencyProblem, Slow)]
    fast, slow = (LaRank(one, C=0.1, gap_tolerance=1e-2, epochs=500).fit(X, y) for one in problems)
    assert fast.gap(X, y) < 0.02
    assert fast.dual_ == pytest.approx(slow.dual_, abs=0.02)
    # The dual, recomputed from its definition: primal and dual meet at the optimum.
    w = fast.weights_
    slacks = sum(
        max(problems[1].loss(t, o) - problems[1].score(x, t, w) + problems[1].score(x, o, w)
            for o in problems[1].candidates(x))
        for x, t in zip(X, y, strict=True)
    )  # fmt: skip
    assert fast.primal(X, y) == pytest.approx(0.5 * w @ w + 0.1 * slacks)


@pytest.fixture(scope="module")
def solved():
    """Trees with labels, and the dual at its optimum."""
    X, y = random_data(12, 3, n_labels=2, longest=3)
    best = LaRank(DependencyProblem(12, n_labels=2), C=0.5, gap_tolerance=1e-3, epochs=500).fit(X, y)
    return X, y, best.dual_


@pytest.mark.parametrize("name", DUAL_OPTIMIZERS)
def test_the_gap_bounds_how_far_the_dual_is_from_its_optimum(name, solved):
    X, y, best = solved
    fast, slow = DependencyProblem(12, n_labels=2), Slow(12, n_labels=2)
    one = DUAL_OPTIMIZERS[name](fast).fit(X, y)
    w = one.weights_
    slacks = [
        max(slow.loss(t, o) - slow.score(x, t, w) + slow.score(x, o, w) for o in slow.candidates(x))
        for x, t in zip(X, y, strict=True)
    ]
    assert one.gap() == pytest.approx(0.5 * w @ w + 0.5 * sum(slacks) - one.dual_)
    assert one.gap(X, y) == pytest.approx(one.gap())
    assert best - one.dual_ < one.gap() + 1e-9
    if name == "svmstruct":
        assert one.gap() <= 0.5 * len(X) * 0.05  # C n epsilon


@pytest.mark.parametrize("name", sorted(OPTIMIZERS.keys() - DUAL_OPTIMIZERS.keys()))
def test_a_perceptron_has_no_gap(name, solved):
    X, y, _ = solved
    assert np.isnan(OPTIMIZERS[name](DependencyProblem(12, n_labels=2)).fit(X, y).gap())


def test_a_random_field_refuses_trees(solved):
    with pytest.raises(Unsupported, match="needs sequences"):
        RandomField(DependencyProblem(12, n_labels=2)).fit(*solved[:2])


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer_learns_trees(name):
    rng = np.random.default_rng(5)
    w = rng.normal(size=12)
    problem = DependencyProblem(12)
    X, _ = random_data(40, 6)
    y = [problem.argmax(x, w) for x in X]
    found = OPTIMIZERS[name](DependencyProblem(12)).fit(X, y).predict(X)
    untrained = [problem.argmax(x, np.zeros(12)) for x in X]
    wrong = sum(problem.loss(a, b) for a, b in zip(y, found, strict=True))
    assert wrong < 0.7 * sum(problem.loss(a, b) for a, b in zip(y, untrained, strict=True))


@pytest.mark.parametrize(
    ("heads", "told"),
    [
        ([0, 0], "one root"),
        ([2, 1], "one root"),
        ([0], "2 words"),
        ([0, 3], "one root"),
        ([3, 4, 0, 3], "projective"),
    ],
)
def test_impossible_trees_are_refused(heads, told):
    n = max(len(heads), 2)
    x = arc_features(n, lambda h, d: [0])
    with pytest.raises(ValueError, match=told):
        LaRank(DependencyProblem(3)).fit([x], [heads])


def test_other_rescaling_and_long_sentences_are_refused():
    x = arc_features(2, lambda h, d: [0])
    with pytest.raises(Unsupported, match="margin rescaling with L1 slacks"):
        LaRank(DependencyProblem(3), slack="l2").fit([x], [[0, 1]])
    with pytest.raises(ValueError, match=r"5000 words.*split it"):
        arc_features(5000, lambda h, d: [])
    with pytest.raises(ValueError, match="a feature outside"):
        LaRank(DependencyProblem(3)).fit([arc_features(2, lambda h, d: [3])], [[0, 1]])
    with pytest.raises(ValueError, match="finite"):
        Trees().best(np.full((3, 3), np.inf))
