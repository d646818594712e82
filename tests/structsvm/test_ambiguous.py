"""Ambiguous bags against brute force over all choices of label pairs (Bordes' thesis, section 6.1)."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structsvm import AmbiguousBags, LaRank, PassiveAggressive, Perceptron, SVMStruct
from tests.structsvm.qp import solve


def brute_force(x, bag, k):
    """Every c in {0,1}^(|bag| |rest|) as (loss, difference): means of c_ab and of c_ab (Phi_a - Phi_b)."""
    pairs = [(a, b) for a in bag for b in range(k) if b not in bag]
    outputs = []
    for chosen in product((0, 1), repeat=len(pairs)):
        q = np.zeros(k)
        for c, (a, b) in zip(chosen, pairs, strict=True):
            q[a] += c / len(pairs)
            q[b] -= c / len(pairs)
        outputs.append((sum(chosen) / len(pairs), np.outer(x, q).ravel()))
    return outputs


def bags_of(rng, n, k):
    return [sorted(rng.choice(k, size=rng.integers(1, k), replace=False).tolist()) for _ in range(n)]


def problem_of(k):
    return AmbiguousBags(classes=range(k))


@given(seed=st.integers(0, 10**6), k=st.integers(2, 5), scale=st.sampled_from([0.0, 0.3, 1.0, 4.0]))
def test_the_slack_is_the_maximum_over_all_choices_of_pairs(seed, k, scale):
    rng = np.random.default_rng(seed)
    X, bags = rng.normal(size=(4, 3)), bags_of(rng, 4, k)
    optimizer = LaRank(problem_of(k)).fit(X, bags)
    w = optimizer._machine.weights
    w[:] = scale * rng.normal(size=w.shape)
    expected = [
        max(loss - w @ d for loss, d in brute_force(x, bag, k)) for x, bag in zip(X, bags, strict=True)
    ]
    np.testing.assert_allclose(optimizer._machine.slacks(optimizer._held), expected, rtol=1e-10, atol=1e-12)


@given(seed=st.integers(0, 10**6), k=st.integers(2, 5))
def test_support_outputs_are_choices_of_pairs(seed, k):
    rng = np.random.default_rng(seed)
    X, bags = rng.normal(size=(6, 3)), bags_of(rng, 6, k)
    optimizer = LaRank(problem_of(k), n_reprocess=3).fit(X, bags)
    state, entry, at = optimizer._machine.state(), 0, 0
    assert state["counts"].sum() > 0
    for slot, count in zip(state["slots"], state["counts"], strict=True):
        possible = brute_force(X[slot], bags[slot], k)
        for _ in range(count):
            d, n = np.zeros(3 * k), state["lengths"][entry]
            d[state["indices"][at : at + n]] = state["values"][at : at + n]
            assert any(
                abs(loss - state["loss"][entry]) < 1e-12 and np.allclose(d, e, atol=1e-12)
                for loss, e in possible
            )
            np.testing.assert_allclose(d.reshape(3, k).sum(axis=1), 0, atol=1e-12)  # q sums to 0
            at += n
            entry += 1


@given(seed=st.integers(0, 10**6), C=st.sampled_from([0.05, 1.0, 20.0]))
def test_passive_aggressive_makes_the_step_of_algorithm_23(seed, C):
    rng = np.random.default_rng(seed)
    k = 4
    X, bags = rng.normal(size=(5, 3)), bags_of(rng, 5, k)
    optimizer = PassiveAggressive(problem_of(k), C=C)
    w, dual = np.zeros(3 * k), 0.0
    for x, bag in zip(X, bags, strict=True):
        scores = x @ w.reshape(3, k)
        rest = [b for b in range(k) if b not in bag]
        close = [(a, b) for a in bag for b in rest if scores[a] - scores[b] < 1]
        q = np.zeros(k)
        for a, b in close:
            q[a] += 1 / (len(bag) * len(rest))
            q[b] -= 1 / (len(bag) * len(rest))
        psi = np.outer(x, q).ravel()
        loss = len(close) / (len(bag) * len(rest)) - w @ psi
        alpha = min(C, max(0, loss) / (psi @ psi)) if psi.any() else 0.0
        gain = alpha * loss - alpha**2 * (psi @ psi) / 2
        assert gain >= 0
        w, dual = w + alpha * psi, dual + gain
        optimizer.partial_fit([x], [bag])
        np.testing.assert_allclose(optimizer.weights_, w, rtol=1e-9, atol=1e-12)
        assert optimizer.dual_ == pytest.approx(dual, rel=1e-9, abs=1e-14)


@settings(max_examples=10)
@given(seed=st.integers(0, 10**6), C=st.sampled_from([0.1, 1.0]))
def test_reprocessing_reaches_the_optimum_over_all_choices(seed, C):
    rng = np.random.default_rng(seed)
    k, n = 3, 5
    X, bags = rng.normal(size=(n, 3)), bags_of(rng, n, k)
    weight = rng.choice([0.5, 1.0, 2.0], size=n)
    outputs = [brute_force(x, bag, k)[1:] for x, bag in zip(X, bags, strict=True)]
    best = solve(outputs, C * weight)
    assert best.primal - best.dual < 2e-7 * best.primal
    larank = LaRank(problem_of(k), C=C, gap_tolerance=5e-7 * best.dual).fit(X, bags, weight)
    svmstruct = SVMStruct(problem_of(k), C=C, epsilon=1e-7 * best.dual / (C * weight.sum())).fit(
        X, bags, weight
    )
    assert larank.dual_ == pytest.approx(best.dual, rel=1e-6)
    assert svmstruct.dual_ == pytest.approx(best.dual, rel=1e-6)
    assert larank.primal() == pytest.approx(best.primal, rel=1e-6)


@pytest.mark.parametrize("optimizer_class", [LaRank, PassiveAggressive, Perceptron, SVMStruct])
@pytest.mark.parametrize("bag", [[], [0, 1, 2]], ids=["empty", "full"])
def test_bags_that_say_nothing_are_skipped(optimizer_class, bag):
    rng = np.random.default_rng(0)
    X, bags = rng.normal(size=(10, 3)), bags_of(rng, 10, 3)
    with_it = optimizer_class(problem_of(3)).partial_fit(X, bags).partial_fit(rng.normal(size=(1, 3)), [bag])
    without = optimizer_class(problem_of(3)).partial_fit(X, bags)
    if optimizer_class is Perceptron:
        assert np.array_equal(with_it._machine.last, without._machine.last)
    elif optimizer_class is PassiveAggressive:
        assert np.array_equal(with_it.weights_, without.weights_)
    only = optimizer_class(problem_of(3)).partial_fit(X[:1], [bag])
    assert not only.weights_.any()
    assert only.n_support_patterns_ == 0


def test_a_repeated_label_counts_once_and_sets_are_bags():
    X = np.eye(3)
    bags = [["a", "b", "a"], ["b"], ["c", "b"]]
    first = LaRank(AmbiguousBags()).fit(X, bags)
    second = LaRank(AmbiguousBags()).fit(X, [set(bag) for bag in bags])
    assert np.array_equal(first.weights_, second.weights_)


@pytest.mark.parametrize("optimizer_class", [LaRank, PassiveAggressive, Perceptron])
def test_the_right_labels_are_learned_from_ambiguous_ones(optimizer_class):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 600)
    X = np.eye(5)[y] + 0.15 * rng.normal(size=(600, 5))
    bags = [{label, *rng.choice(5, size=2).tolist()} for label in y]
    optimizer = optimizer_class(AmbiguousBags(fit_intercept=True), epochs=5).fit(X[:400], bags[:400])
    assert np.mean(optimizer.predict(X[400:]) == y[400:]) > 0.9


def test_only_the_mean_hinge_is_offered():
    for options in ({"rescaling": "slack"}, {"slack": "l2"}):
        with pytest.raises(ValueError, match="ambiguous bags support only margin rescaling and L1 slacks"):
            LaRank(problem_of(3), **options).fit(np.eye(3), [[0], [1], [2]])
