"""warm_start: a second fit on the same rows continues from the solution of the first."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from structsvm import LaRankClassifier
from structsvm.binary import LaSVMClassifier, SGDQNClassifier
from structsvm.optimizers import LaRank
from structsvm.problems import Multiclass

MODELS = {
    "linear": LaRankClassifier(C=0.1, warm_start=True),
    "shards": LaRankClassifier(C=0.1, shards=2, warm_start=True),
    "rbf": LaRankClassifier(C=1.0, kernel="rbf", warm_start=True),
    "lasvm": LaSVMClassifier(C=1.0, finish_fit=False, warm_start=True),
    "sgdqn": SGDQNClassifier(warm_start=True),
}
FORMS = {"dense": np.asarray, "single": lambda X: X.astype(np.float32), "sparse": sparse.csr_array}


def rows(n_classes=3, n=150, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    return rng.normal(size=(n, 4)) + np.eye(4)[y], np.array(["a", "b", "c"])[y]


def fitted(name, data, **change):
    return clone(MODELS[name]).set_params(**change).fit(*data)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_two_fits_of_one_and_two_epochs_equal_one_fit_of_three(name, n_classes, form):
    X, y = rows(n_classes)
    data = FORMS[form](X), y
    warm = fitted(name, data, epochs=1).set_params(epochs=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warm.fit(data[0].copy(), y.copy())
    whole = fitted(name, data, epochs=3)
    assert np.array_equal(warm.decision_function(X), whole.decision_function(X))
    assert not np.array_equal(warm.decision_function(X), fitted(name, data, epochs=2).decision_function(X))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_an_array_that_changes_between_two_fits_does_not_change_the_rows_of_the_model(name, n_classes, form):
    X, y = rows(n_classes)
    data, weight = FORMS[form](X.copy()), np.ones(len(y))
    models = [clone(MODELS[name]).set_params(epochs=1).fit(each, y, weight) for each in (data, data.copy())]
    data *= -3
    weight *= 2
    for model in models:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.fit(FORMS[form](X), y)
    first, second = (model.decision_function(X) for model in models)
    assert np.array_equal(first, second)


@pytest.mark.parametrize("name", ["linear", "shards", "rbf", "lasvm"])
def test_the_dual_never_falls_and_no_row_counts_twice(name):
    data = rows()
    model, duals = fitted(name, data, epochs=1), []
    for _ in range(30):
        duals.append(model.dual_)
        model.fit(*data)
    assert np.all(np.diff(duals) >= -1e-9)
    assert duals[-1] > duals[0]
    best = fitted(name, data, epochs=300)  # a row with a second bound would raise the optimum
    assert model.dual_ <= best.dual_ + 1e-3 * abs(best.dual_)
    assert model.n_support_vectors_ <= 2 * best.n_support_vectors_


def test_the_objective_of_sgdqn_falls_with_more_fits():
    data = rows(n=400)
    model = fitted("sgdqn", data, epochs=1)
    first = model.primal(*data)
    for _ in range(20):
        model.fit(*data)
    assert model.primal(*data) < first


def test_a_gap_is_reached_sooner_from_the_solution_of_a_larger_gap():
    data = rows()
    model = fitted("rbf", data, tol=5.0).set_params(tol=0.05)
    done = model.n_kernels_
    assert model.fit(*data).gap() < 0.05
    assert model.n_kernels_ - done < fitted("rbf", data, tol=0.05).n_kernels_


def test_labels_of_earlier_fits_count():
    X, y = rows(2)
    model = fitted("lasvm", (X, y), selection="gradient", max_labels=10)
    assert model.n_labels_ == 10
    model.set_params(max_labels=140).fit(X, y)
    assert model.n_labels_ > 140
    assert model.finish().fit(X, y).n_labels_ <= len(y)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("change", ["rows", "labels", "weights", "order", "parameter", "stream", "plain"])
def test_other_data_or_parameters_start_from_scratch_with_a_warning(name, change):
    X, y = rows()
    weight = np.ones(len(y))
    model = fitted(name, (X, y))
    if change == "rows":
        X = X + 1e-3
    elif change == "labels":
        y = np.roll(y, 1)
    elif change == "weights":
        weight[3] = 2
    elif change == "order":
        X, y = X[::-1], y[::-1]
    elif change == "parameter":
        model.set_params(**({"lam": 1e-3} if name == "sgdqn" else {"C": 0.3}))
    elif change == "stream":
        model.partial_fit(X, y)
    else:
        model.set_params(warm_start=False).fit(X, y).set_params(warm_start=True)
    with pytest.warns(UserWarning, match="fit starts from scratch"):
        model.fit(X, y, weight)
    anew = clone(model).fit(X, y, weight)
    assert np.array_equal(model.decision_function(X), anew.decision_function(X))


@pytest.mark.parametrize("name", MODELS)
def test_a_copy_continues_or_says_that_it_does_not(name):
    data = rows()
    model = fitted(name, data)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        if name == "sgdqn":
            assert np.array_equal(other.fit(*data).coef_, copy.deepcopy(model).fit(*data).coef_)
        else:
            with pytest.warns(UserWarning, match="in this process"):
                other.fit(*data)
    assert clone(model).get_params()["warm_start"] is True


@pytest.mark.parametrize("name", ["linear", "rbf", "lasvm", "sgdqn"])
def test_a_file_does_not_keep_the_rows(name, tmp_path):
    data = rows()
    model = fitted(name, data)
    model.save(tmp_path / "model")
    loaded = type(model).load(tmp_path / "model")
    assert loaded.warm_start
    with pytest.warns(UserWarning, match="fit starts from scratch"):
        loaded.fit(*data)


@pytest.mark.parametrize("name", MODELS)
def test_probabilities_are_calibrated_without_a_warning(name):
    data = rows()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fitted(name, data, probability=True).fit(*data)
    assert model.predict_proba(data[0]).shape == (150, 3)


def test_a_callback_that_raises_leaves_what_was_learned():
    X, y = rows(2)
    model = fitted("lasvm", (X, y))
    before = model.dual_
    seen = []

    def broken(current):
        seen.append(current.dual_)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.set_params(callback=broken).fit(X, y)
    assert before <= model.dual_ == seen[-1]
    assert model.set_params(callback=None).fit(X, y).dual_ >= seen[-1]


@pytest.mark.parametrize("name", MODELS)
def test_warm_start_must_be_true_or_false(name):
    with pytest.raises(ValueError, match="warm_start must be True or False"):
        fitted(name, rows(), warm_start="yes")


def test_an_optimizer_without_data_cannot_continue():
    X, y = rows()
    optimizer = LaRank(Multiclass()).partial_fit(X, y)
    with pytest.raises(ValueError, match="no training data held"):
        optimizer.continue_fit()
