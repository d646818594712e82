"""Conditional random fields: likelihoods against enumeration, and minima against an independent solver."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structsvm.optimizers.crf import CRF
from structsvm.problems.sequence import Decoder, SequenceLabels, SequenceProblem, Sequences
from structsvm.problems.sequence._likelihood import Likelihood
from tests.structsvm.helpers import N_LABELS as L
from tests.structsvm.helpers import N_ROWS, random_sentences


def all_cells():
    return np.arange(N_ROWS + 1) * L, np.tile(np.arange(L, dtype=np.int32), N_ROWS)


def naive(w, X, y):
    """-log of the share of the labellings that agree with the annotation, by enumeration."""
    total = 0.0
    allowed = [[*range(L)] if c == -1 else [0, 2] if c == -2 else [c] for c in y.codes.tolist()]
    for first, stop in zip(X.sentence_ptr, X.sentence_ptr[1:], strict=False):
        scores = {}
        for path in product(range(L), repeat=int(stop - first)):
            score = 0.0
            for i, t in enumerate(range(first, stop)):
                for k in range(X.token_ptr[t], X.token_ptr[t + 1]):
                    value = 1.0 if X.values is None else X.values[k]
                    score += value * w[X.rows[k] * L + path[i]]
                if i:
                    score += w[N_ROWS * L + path[i - 1] * L + path[i]]
            scores[path] = score
        right = [s for path, s in scores.items() if all(p in allowed[first + i] for i, p in enumerate(path))]
        total += np.logaddexp.reduce([*scores.values()]) - np.logaddexp.reduce(right)
    return total


def differences(w, X, y):
    steps = 1e-5 * np.eye(len(w))
    return np.array([(naive(w + step, X, y) - naive(w - step, X, y)) / 2e-5 for step in steps])


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.lists(st.integers(0, 4), min_size=1, max_size=3), st.booleans())
def test_the_likelihood_and_its_gradient_are_those_of_enumeration(seed, lengths, partial):
    rng = np.random.default_rng(seed)
    X, y = random_sentences(rng, lengths, values=seed % 2 == 0, codes=[0, 1, 2, -1, -2] if partial else None)
    likelihood = Likelihood(X, y, L, *all_cells())
    w = rng.normal(size=likelihood.n_weights) * 3
    value, gradient = likelihood.gradient(w)
    assert value == pytest.approx(naive(w, X, y), abs=1e-9)
    np.testing.assert_allclose(gradient, differences(w, X, y), atol=1e-6)


def test_large_weights_do_not_overflow():
    X, y = random_sentences(np.random.default_rng(0), [3, 50])
    w = np.random.default_rng(1).normal(size=N_ROWS * L + L * L) * 1e3
    value, gradient = Likelihood(X, y, L, *all_cells()).gradient(w)
    assert value == np.inf or np.isfinite(gradient).all()
    moderate, gradient = Likelihood(X, y, L, *all_cells()).gradient(w / 10)
    assert np.isfinite(moderate)
    assert np.isfinite(gradient).all()


def test_a_stochastic_step_follows_the_gradient_of_a_sentence():
    X, y = random_sentences(np.random.default_rng(2), [4])
    likelihood = Likelihood(X, y, L, *all_cells())
    w = np.random.default_rng(3).normal(size=likelihood.n_weights)
    value, gradient = likelihood.gradient(w)
    stepped, decay, rate = w.copy(), 0.5, 0.1
    loss = likelihood.steps(stepped, np.array([0]), rate, decay, 0.0, np.zeros(L * L, np.uint8))
    assert loss == pytest.approx(value)
    np.testing.assert_allclose(stepped, (1 - rate * decay) * (w - rate * gradient))


@pytest.fixture(scope="module")
def trained():
    X, y = random_sentences(np.random.default_rng(5), [5] * 20)
    return X, y, CRF(L, c2=0.3, all_states=True, all_transitions=True, delta=1e-12).fit(X, y)


def test_the_minimum_is_that_of_an_independent_solver(trained):
    from scipy.optimize import minimize

    X, y, crf = trained
    likelihood = Likelihood(X, y, L, *all_cells())

    def objective(w):
        value, gradient = likelihood.gradient(w)
        return value + 0.3 * w @ w, gradient + 0.6 * w

    other = minimize(objective, np.zeros(likelihood.n_weights), jac=True, method="BFGS", tol=1e-8)
    assert crf.objective() == pytest.approx(other.fun, rel=1e-8)
    np.testing.assert_allclose(crf.w_, other.x, atol=1e-3)
    assert crf.converged_


def test_the_gap_bounds_the_distance_to_the_minimum(trained):
    X, y, best = trained
    for iterations in (0, 1, 3):
        crf = CRF(L, c2=0.3, all_states=True, all_transitions=True, passes=1, max_iterations=iterations)
        crf.fit(X, y)
        assert 0 <= crf.objective() - best.objective() + 1e-9 <= crf.gap() + 1e-8
    assert best.gap() < 1e-4 * best.objective()


def numeric_data(scale):
    """Sentences whose labels show in a feature with large values, and in a feature of each label."""
    rng = np.random.default_rng(8)
    labels = rng.integers(0, L, 300)
    rows = np.stack([np.where(rng.random(300) < 0.7, labels, rng.integers(0, L, 300)), np.full(300, L)], 1)
    values = np.stack([np.ones(300), scale * (rng.normal(size=300) + labels / 2)], 1)
    X = Sequences(
        rows.reshape(-1).astype(np.int32), np.arange(301) * 2, np.arange(61) * 5,
        values.reshape(-1).astype(np.float32),
    )  # fmt: skip
    return X, SequenceLabels(labels.astype(np.int32), X.sentence_ptr)


@pytest.mark.parametrize("scale", [1.0, 1e2, 1e3, 1e4, 1e6, 1e18])
@pytest.mark.parametrize("c2", [1.0, 0.01])
def test_values_of_any_scale_reach_the_minimum(scale, c2):
    X, y = numeric_data(scale)
    best = CRF(L, c2=c2, passes=0, delta=1e-12).fit(X, y)
    crf = CRF(L, c2=c2).fit(X, y)
    assert crf.objective() == pytest.approx(best.objective(), rel=1e-3)
    assert crf.converged_
    assert CRF(L, c2=c2, max_iterations=0).fit(X, y).objective() <= best._objective_of_zeros()


@pytest.mark.parametrize("codes", [[0, 1, 2], [0, 1, 2, -1, -2]])
def test_the_objective_of_zeros_counts_the_allowed_labels(codes):
    X, y = random_sentences(np.random.default_rng(9), [4, 0, 7], codes=codes)
    crf = CRF(L, max_iterations=0, passes=0).fit(X, y)
    assert crf._objective_of_zeros() == pytest.approx(crf.objective())


def test_a_halt_far_from_the_minimum_does_not_count_as_convergence():
    X, y = numeric_data(1e4)
    crf = CRF(L, passes=0, max_iterations=0).fit(X, y)
    crf.passes, crf.max_iterations = 5, 1000
    crf._descend_stochastically()  # every rate diverges
    crf._descend(*crf._objective(crf.w_))
    assert len(crf.progress) < 1000
    best = CRF(L, passes=0, delta=1e-12).fit(X, y)
    assert crf.objective() > 1.1 * best.objective()
    assert not crf.converged_


def test_an_l1_term_leaves_only_weights_that_pay():
    X, y = random_sentences(np.random.default_rng(6), [5] * 20)
    crf = CRF(L, c1=3.0, c2=0.1, all_states=True, all_transitions=True, delta=1e-12).fit(X, y)
    _, gradient = Likelihood(X, y, L, *all_cells()).gradient(crf.w_)
    gradient += 0.2 * crf.w_
    zero = crf.w_ == 0
    assert 0 < zero.sum() < len(zero)
    assert (np.abs(gradient[zero]) <= 3.0 + 1e-2).all()
    np.testing.assert_allclose(gradient[~zero], -3.0 * np.sign(crf.w_[~zero]), atol=2e-2)


def test_only_pairs_that_occur_have_weights():
    X = Sequences(np.array([0, 1, 0], np.int32), np.array([0, 1, 2, 3]), np.array([0, 3]))
    y = SequenceLabels(np.array([0, 1, 0], np.int32), X.sentence_ptr)
    crf = CRF(L).fit(X, y)
    rows = crf.weight_rows(2)[:]
    assert (rows[[0, 1], [1, 0]] != 0).all()
    assert (rows[[4, 5], [0, 1]] != 0).all()
    assert np.count_nonzero(rows) == 4
    often = CRF(L, min_count=2).fit(X, y).weight_rows(2)[:]
    assert often[4, 0] != 0
    assert often[5, 1] == 0


def test_rows_of_weights_predict_with_the_trained_probabilities(trained):
    X, _, crf = trained
    decoder = Decoder(SequenceProblem(L), crf.weight_rows(N_ROWS))
    marginals = decoder.marginals(X)
    for t in range(5):  # -log p(label) is the likelihood of an annotation of one token
        codes = np.full(5, -1, np.int32)
        codes[t] = 1
        one = Likelihood(X[:1], SequenceLabels(codes, X[:1].sentence_ptr), L, *all_cells())
        assert np.exp(-one.gradient(crf.w_)[0]) == pytest.approx(marginals[t, 1], abs=1e-5)


def test_training_is_repeatable_and_stops_on_demand(trained):
    X, y, crf = trained
    again = CRF(L, c2=0.3, all_states=True, all_transitions=True, delta=1e-12).fit(X, y)
    assert np.array_equal(again.w_, crf.w_)
    points = []

    def stop(point):
        points.append(point)
        return len(points) == 3

    CRF(L, passes=2, callback=stop).fit(X, y)
    assert [point.number for point in points] == [1, 2, 3]
    assert len(CRF(L, passes=2, callback=lambda point: True).fit(X, y).progress) == 1


def test_labels_may_be_missing(trained):
    X, y, _ = trained
    partial = SequenceLabels(np.where(np.arange(100) % 3 == 0, -1, y.codes).astype(np.int32), y.sentence_ptr)
    crf = CRF(L, c2=0.3).fit(X, partial)
    assert np.isfinite(crf.objective())
    assert np.isnan(crf.gap())


def test_wrong_numbers_are_refused():
    X, y = random_sentences(np.random.default_rng(0), [2])
    for name, value in [
        ("c1", -1), ("c2", np.nan), ("delta", -1e-9), ("delta", np.inf), ("epsilon", -1.0), ("period", 0),
        ("period", 2.5), ("memories", 0), ("max_iterations", -1), ("passes", -1), ("min_count", -1),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=f"{name} must be"):
            CRF(L, **{name: value})
    with pytest.raises(ValueError, match="unknown label"):
        CRF(2).fit(X, SequenceLabels(np.array([5, 0], np.int32), X.sentence_ptr))
    with pytest.raises(ValueError, match="weights instead of"):
        Likelihood(X, y, L, *all_cells()).gradient(np.zeros(3))


@pytest.mark.parametrize("wrong", [1e39, -1e300, np.nan])
@pytest.mark.parametrize("place", [0, -1])
def test_weights_that_no_model_can_hold_are_refused(trained, wrong, place):
    crf = CRF(L, max_iterations=1).fit(*trained[:2])
    crf.w_[place] = wrong
    with pytest.raises(ValueError, match="a weight is too large for the model; raise c2"):
        crf.weight_rows(N_ROWS)
