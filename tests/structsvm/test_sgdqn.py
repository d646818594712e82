"""SVMSGD2 and SGD-QN: each step, the bounds of the diagonal, and the solution of liblinear."""

import numpy as np
import pytest
from scipy import sparse

from structsvm.binary import SGDQNClassifier
from structsvm.training import ConvergenceWarning
from tests.structsvm.binary_twins import sgdqn_twin


def sparse_data(n=300, width=30, density=0.3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, width)) * (rng.random((n, width)) < density)
    y = np.where(X @ rng.normal(size=width) + 0.3 * rng.normal(size=n) > 0, 1, -1)
    return X, y


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("algorithm", ["sgdqn", "svmsgd2"])
@pytest.mark.parametrize("form", ["dense", "single", "sparse"])
def test_every_step_is_that_of_algorithm_8(loss, algorithm, form):
    X, y = sparse_data()
    options = {"lam": 0.01, "t0": 50.0, "skip": 7}
    X = X.astype(np.float32).astype(np.float64)
    w, B = sgdqn_twin(X, y, range(len(y)), loss=loss, second_order=algorithm == "sgdqn", **options)
    given = {"dense": X, "single": X.astype(np.float32), "sparse": sparse.csr_matrix(X)}[form]
    model = SGDQNClassifier(**options, loss=loss, algorithm=algorithm, fit_intercept=False)
    for part in np.array_split(np.arange(len(y)), 4):
        model.partial_fit(given[part], y[part], classes=[-1, 1])
    np.testing.assert_allclose(model.coef_[0], w, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(1 / model.curvature_[0], B, rtol=1e-9)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("t0", [None, 1e-3, 1e6])
def test_the_diagonal_stays_within_its_bounds(loss, t0):
    X, y = sparse_data()
    model = SGDQNClassifier(0.01, algorithm="sgdqn", loss=loss, t0=t0, skip=3, epochs=4).fit(X, y)
    scale = 0.01 / model.curvature_
    assert np.all(scale >= 1e-2 - 1e-12)
    assert np.all(scale <= 1 + 1e-12)
    if loss == "squared_hinge" and t0 != 1e6:
        assert scale.min() < 0.9  # it was estimated, not left alone


@pytest.mark.parametrize("algorithm", ["sgdqn", "svmsgd2", "rescaled"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_many_epochs_give_liblinears_primal(loss, algorithm):
    svm = pytest.importorskip("sklearn.svm")
    X, y = sparse_data(n=1000)
    lam = 0.01
    C = 1 / (lam * len(y)) / (1 if loss == "hinge" else 2)
    best = svm.LinearSVC(C=C, loss=loss, fit_intercept=False, tol=1e-8, max_iter=100000).fit(X, y)
    slack = np.maximum(0, 1 - y * best.decision_function(X))
    primal = lam * np.sum(best.coef_**2) / 2 + np.mean(slack if loss == "hinge" else slack**2 / 2)
    model = SGDQNClassifier(lam, loss=loss, algorithm=algorithm, epochs=100, fit_intercept=False).fit(X, y)
    assert primal <= model.primal(X, y) * (1 + 1e-9)
    assert model.primal(X, y) == pytest.approx(primal, rel=0.02)


def test_the_gain_is_chosen_by_the_primal_on_a_part():
    X, y = sparse_data(n=2000)
    chosen = SGDQNClassifier(1e-3, epochs=1).fit(X, y)
    tried = [chosen.t0_[0] * factor for factor in (1e-2, 1e2)]
    far = [SGDQNClassifier(1e-3, epochs=1, t0=t0).fit(X, y).primal(X, y) for t0 in tried]
    assert chosen.primal(X, y) < min(far)


def test_the_published_ratio_is_blind_to_scales_of_dense_data_and_rescaling_is_not():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 6)) * 10.0 ** np.arange(-2, 1, 0.5)
    y = np.where(X @ (10.0 ** -np.arange(-2, 1, 0.5)) + 0.3 * rng.normal(size=3000) > 0, 1, -1)
    options = {"lam": 1e-4, "epochs": 3, "fit_intercept": False}
    names = ("sgdqn", "svmsgd2", "rescaled")
    models = {name: SGDQNClassifier(**options, algorithm=name).fit(X, y) for name in names}
    assert np.ptp(models["sgdqn"].curvature_) < 1e-12
    np.testing.assert_allclose(models["rescaled"].curvature_[0], 1e-4 + np.mean(X**2, axis=0) / 10, rtol=0.2)
    primals = {name: model.primal(X, y) for name, model in models.items()}
    assert SGDQNClassifier().algorithm == "rescaled"
    assert primals["rescaled"] < 0.8 * min(primals["sgdqn"], primals["svmsgd2"])


def test_more_classes_are_one_against_the_rest():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=600)
    X = np.eye(3)[y] * 3 + rng.normal(size=(600, 3))
    model = SGDQNClassifier(1e-3, epochs=10).fit(X, y)
    assert model.coef_.shape == (3, 3)
    assert model.score(X, y) > 0.85
    single = SGDQNClassifier(1e-3, epochs=10).fit(X, y == 1)
    np.testing.assert_array_equal(single.coef_[0], model.coef_[1])


def test_partial_fit_continues_where_fit_stopped():
    X, y = sparse_data()
    model = SGDQNClassifier(epochs=1).fit(X, y)
    before = model.primal(X, y)
    for _ in range(5):
        model.partial_fit(X, y)
    assert model.primal(X, y) < before


@pytest.mark.parametrize("algorithm", ["rescaled", "svmsgd2", "sgdqn"])
@pytest.mark.parametrize("size", [1, 7, 150])
def test_a_stream_in_small_batches_is_learned(algorithm, size):
    X, y = sparse_data(n=1500, density=0.2)
    X[500:] *= 3
    model = SGDQNClassifier(1e-4, algorithm=algorithm)
    for part in np.array_split(np.arange(1500), 1500 // size):
        model.partial_fit(X[part], y[part], classes=[-1, 1])
    assert np.abs(model.coef_).max() < 100
    assert model.score(X, y) > 0.68


def test_weights_that_are_not_numbers_are_reported():
    X, y = sparse_data()
    with pytest.warns(ConvergenceWarning, match="diverged"):
        SGDQNClassifier(1e-6, t0=1e-3, algorithm="svmsgd2", epochs=20).fit(1e3 * X, y)


def test_a_stream_continues_alike_after_its_file(tmp_path):
    X, y = sparse_data(n=400)
    model = SGDQNClassifier().partial_fit(X[:3], y[:3], classes=[-1, 1])
    model.save(tmp_path / "stream.ssvm")
    loaded = SGDQNClassifier.load(tmp_path / "stream.ssvm")
    for k in range(3, 400):
        for each in (model, loaded):
            each.partial_fit(X[[k]] * (1 + k / 100), y[[k]])
    np.testing.assert_array_equal(loaded.coef_, model.coef_)
    assert model.t0_[0] > SGDQNClassifier().partial_fit(X[:3], y[:3], classes=[-1, 1]).t0_[0]


def test_gains_chosen_on_enough_rows_are_kept():
    X, y = sparse_data(n=600)
    model = SGDQNClassifier().partial_fit(X[:300], y[:300])
    chosen = model.t0_.copy()
    model.partial_fit(0.5 * X[300:], y[300:])
    np.testing.assert_array_equal(model.t0_, chosen)
    model.partial_fit(10 * X[300:], y[300:])
    assert model.t0_[0] > 10 * chosen[0]
