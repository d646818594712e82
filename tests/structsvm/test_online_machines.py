"""The Huller, kernel perceptrons and tracking algorithms against their definitions and their theorems."""

import numpy as np
import pytest

from structsvm.binary import HullerClassifier, KernelPassiveAggressive, KernelPerceptron, TrackingClassifier
from tests.structsvm.binary_twins import curved, huller_update, perceptron_twin, rbf, separable
from tests.structsvm.reference import SplitMix


def by_row(model, X):
    """alpha of each row of X."""
    alpha = np.zeros(len(X))
    for vector, value in zip(model.support_vectors_, model.dual_coef_, strict=True):
        alpha[np.flatnonzero(np.all(vector == X, axis=1))[0]] = value
    return alpha


@pytest.mark.parametrize("epochs", [1, 3])
def test_perceptrons_are_the_papers(epochs):
    X, y = curved(150)
    K, order = rbf(X, 1.0), np.tile(np.arange(150), epochs)
    cases = [
        (KernelPerceptron(gamma=1.0), {"margin": 0.0}),
        (KernelPerceptron(gamma=1.0, margin=0.3, budget=20), {"margin": 0.3, "budget": 20}),
        (KernelPassiveAggressive(0.7, gamma=1.0), {"margin": 1.0, "C": 0.7}),
    ]
    for model, options in cases:
        for _ in range(epochs):
            # A second pass over a stream is of new examples; the rows of one fit are the same ones.
            model.partial_fit(X, y)
        if epochs == 1:
            np.testing.assert_allclose(by_row(model, X), perceptron_twin(K, y, order, **options), atol=1e-9)
        fitted = type(model)(**{**model.get_params(), "epochs": epochs, "random_state": 3}).fit(X, y)
        rng = np.random.default_rng(3)
        order = np.concatenate([rng.permutation(150) for _ in range(epochs)])
        expected = perceptron_twin(K, y, order, **options)
        np.testing.assert_allclose(by_row(fitted, X), expected, atol=1e-9)
        assert fitted.intercept_ == 0
        order = np.tile(np.arange(150), epochs)


def test_the_averaged_perceptron_predicts_with_the_mean_of_all_coefficients():
    X, y = curved(80)
    K = rbf(X, 1.0)
    model = KernelPerceptron(gamma=1.0, average=True)
    for part in (slice(0, 30), slice(30, 80)):
        model.partial_fit(X[part], y[part], classes=[-1, 1])
    each = [perceptron_twin(K, y, np.arange(t), margin=0.0) for t in range(1, 81)]
    np.testing.assert_allclose(by_row(model, X), np.mean(each, axis=0), atol=1e-9)
    with pytest.raises(ValueError, match="average cannot be combined with budget"):
        KernelPerceptron(average=True, budget=5).fit(X, y)


def test_a_budget_is_kept():
    X, y = curved(300)
    model = KernelPerceptron(gamma=1.0, budget=12, margin=0.5).fit(X, y)
    assert model.n_support_vectors_ == 12


def test_every_update_of_the_huller_is_the_papers():
    X, y = separable(60)
    K, alpha = rbf(X, 1.0), np.zeros(len(y))
    model, dice = HullerClassifier(gamma=1.0, random_state=5), SplitMix(5)
    support: list[int] = []
    for k in range(len(y)):
        model.partial_fit(X[[k]], y[[k]], classes=[-1, 1])
        huller_update(K, y, alpha, k)
        support = followed(support, [k], alpha)
        if (y[support] > 0).any() and (y[support] < 0).any():
            huller_update(K, y, alpha, support[dice.below(len(support))])
            support = followed(support, [], alpha)
        np.testing.assert_allclose(model.dual_coef_, (y * alpha)[support], atol=1e-9)
    positive, negative = np.where(y > 0, alpha, 0), np.where(y < 0, alpha, 0)
    assert model.margin_ == pytest.approx(np.sqrt((positive - negative) @ K @ (positive - negative)))
    assert model.intercept_ == pytest.approx((negative @ K @ negative - positive @ K @ positive) / 2)


def followed(support, new, alpha):
    """Positions after an update: what is new comes last, what leaves is replaced by the last one."""
    support = support + [k for k in new if alpha[k] > 0]
    for place in range(len(support) - 1, -1, -1):
        if alpha[support[place]] == 0:
            support[place] = support[-1]
            support.pop()
    return support


def test_the_huller_finds_the_hard_margin():
    svm = pytest.importorskip("sklearn.svm")
    X, y = separable()
    hard = svm.SVC(C=1e8, gamma=1.0, tol=1e-8).fit(X, y)
    model = HullerClassifier(gamma=1.0, epochs=100).fit(X, y)
    assert model.margin_ == pytest.approx(2 / np.sqrt(np.abs(hard.dual_coef_).sum()), rel=1e-4)
    scaled = model.decision_function(X) * 2 / model.margin_**2
    np.testing.assert_allclose(scaled, hard.decision_function(X), atol=1e-3)
    assert {tuple(row) for row in model.support_vectors_} == {tuple(row) for row in hard.support_vectors_}
    assert model.dual_coef_[model.dual_coef_ > 0].sum() == pytest.approx(1)
    assert abs(model.dual_coef_.sum()) < 1e-9


@pytest.mark.parametrize("process", [True, False])
def test_tracking_steps_are_those_of_algorithms_15_and_16(process):
    X, y = curved(40)
    K, C = rbf(X, 1.0), 0.8
    alpha, dice, primals, gain = np.zeros(40), SplitMix(9), [], 0.0

    def dual():
        return alpha.sum() - (y * alpha) @ K @ (y * alpha) / 2

    def ascend(i):
        g = 1 - y[i] * ((y * alpha) @ K[i])
        alpha[i] += max(-alpha[i], min(C - alpha[i], g / K[i, i]))

    for t in range(40):
        before = dual()
        if process:
            ascend(t)
        gain += dual() - before
        mean = np.zeros(40)
        for _ in range(7):
            ascend(dice.below(t + 1))
            mean += alpha / 7
        w = y * mean
        primals.append(w @ K @ w / 2 + C * np.maximum(0, 1 - y * (K @ w))[: t + 1].sum())
    model = TrackingClassifier(C, gamma=1.0, K=7, process=process, random_state=9).partial_fit(X, y)
    np.testing.assert_allclose(model.primals_, primals)
    np.testing.assert_allclose(by_row(model, X), y * mean, atol=1e-12)
    assert model.dual_ == pytest.approx(dual())
    assert model.process_gain_ == pytest.approx(gain, abs=1e-12)


def optima(X, y, C):
    """min P_t for each t, by coordinate ascent to convergence."""
    K, alpha, result = rbf(X, 1.0), np.zeros(len(y)), []
    for t in range(1, len(y) + 1):
        signed = y[:t, None] * K[:t, :t] * y[:t]
        for _ in range(400):
            for i in range(t):
                alpha[i] = np.clip(alpha[i] + 1 - signed[i] @ alpha[:t], 0, C)
        result.append(alpha[:t].sum() - alpha[:t] @ signed @ alpha[:t] / 2)
    return np.array(result)


@pytest.mark.parametrize("process", [True, False])
def test_the_tracking_inequality_holds(process):
    X, y = curved(25)
    C, T = 0.5, np.arange(1, 26)
    best = optima(X, y, C)
    runs = [
        TrackingClassifier(C, gamma=1.0, K=4, process=process, random_state=seed).partial_fit(X, y)
        for seed in range(10)
    ]
    for run in runs:
        assert np.all(run.primals_ >= best - 1e-6)
    excess = np.mean([np.mean((run.primals_ - best) / (C * T)) for run in runs])
    bound = np.mean([run.bound(best[-1]) for run in runs])
    assert 0 < excess <= bound
    assert all(run.bound() >= run.bound(best[-1]) for run in runs)


def test_the_bound_is_refused_where_its_assumption_fails():
    X, y = curved(30)
    model = TrackingClassifier(kernel="linear").fit(3 * X, y)
    with pytest.raises(ValueError, match="k\\(x, x\\) <= 1"):
        model.bound()
