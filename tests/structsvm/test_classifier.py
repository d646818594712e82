"""`LaRankClassifier` as scikit-learn and as a demanding user see it."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from structsvm import LaRankClassifier, NotFittedError
from structsvm.persist import ModelFileError

BY_NATURE = dict.fromkeys(
    ["check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"],
    "two copies of a row are visited at two different times",
)


def blobs(n=300, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    return np.eye(3)[y] * 2 + rng.normal(size=(n, 3)), np.array(["a", "b", "c"])[y]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_scikit_learns_own_checks_pass(kernel):
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    results = checks.check_estimator(
        LaRankClassifier(kernel=kernel), expected_failed_checks=BY_NATURE, on_fail=None
    )
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert failed == {}
    assert {r["check_name"] for r in results if r["status"] == "xfail"} == set(BY_NATURE)


def test_grid_search_pipeline_and_cross_validation_work():
    pytest.importorskip("sklearn")
    from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = blobs()
    search = GridSearchCV(
        make_pipeline(StandardScaler(), LaRankClassifier()), {"larankclassifier__C": [0.01, 1]}, cv=3
    )
    assert search.fit(X, y).best_score_ > 0.8
    assert cross_val_score(LaRankClassifier(), X, y, cv=3).mean() > 0.8
    assert np.mean(cross_val_predict(LaRankClassifier(kernel="rbf"), X, y, cv=3) == y) > 0.8


def test_import_does_not_pull_in_scikit_learn():
    code = "import sys, structsvm; structsvm.LaRankClassifier(); assert 'sklearn' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("shape", ["dense", "single", "sparse"])
def test_saved_and_pickled_models_predict_and_continue_alike(kernel, shape, tmp_path):
    X, y = blobs()
    X = {"dense": X, "single": X.astype(np.float32), "sparse": sparse.csr_matrix(X)}[shape]
    model = LaRankClassifier(C=2, kernel=kernel).fit(X[:200], y[:200])
    first, second = tmp_path / "first.ssvm", tmp_path / "second.ssvm"
    model.save(first)
    loaded, pickled = LaRankClassifier.load(first), pickle.loads(pickle.dumps(model))
    loaded.save(second)
    assert first.read_bytes() == second.read_bytes()
    assert loaded.get_params() == model.get_params()
    for other in (loaded, pickled):
        np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))
        assert other.dual_ == model.dual_
    loaded.partial_fit(X[200:], y[200:])
    pickled.partial_fit(X[200:], y[200:])
    np.testing.assert_array_equal(loaded.decision_function(X), pickled.decision_function(X))
    if kernel == "linear":  # kernel rows are computed anew after loading, and round differently
        model.partial_fit(X[200:], y[200:])
        np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


def test_a_model_saved_without_training_state_is_smaller_and_predicts_the_same(tmp_path):
    X, y = blobs()
    model = LaRankClassifier().fit(X, y)
    model.save(tmp_path / "full.ssvm")
    model.save(tmp_path / "light.ssvm", training_state=False)
    assert (tmp_path / "light.ssvm").stat().st_size < (tmp_path / "full.ssvm").stat().st_size
    light = LaRankClassifier.load(tmp_path / "light.ssvm")
    np.testing.assert_array_equal(light.predict(X), model.predict(X))
    assert light.partial_fit(X, y).score(X, y) > 0.8


def test_foreign_and_inconsistent_model_files_are_refused(tmp_path):
    from structsvm.persist import load_model, save_model

    X, y = blobs()
    path = tmp_path / "model.ssvm"
    LaRankClassifier().fit(X, y).save(path)
    arrays, meta = load_model(path)
    arrays["dual.indices"] = arrays["dual.indices"] + 1000
    save_model(path, arrays, meta)
    with pytest.raises(ModelFileError, match="fits together"):
        LaRankClassifier.load(path)
    save_model(path, arrays, {"kind": "tagger"})
    with pytest.raises(ModelFileError, match="no classifier"):
        LaRankClassifier.load(path)


def test_coefficients_reproduce_the_decision_function():
    X, y = blobs()
    model = LaRankClassifier().fit(X, y)
    np.testing.assert_allclose(X @ model.coef_.T + model.intercept_, model.decision_function(X))
    assert np.any(model.intercept_ != 0)


def test_class_weight_moves_errors_to_the_cheaper_class():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=2000)
    X = y[:, None] + rng.normal(size=(2000, 1))
    plain = LaRankClassifier().fit(X, y).predict(X)
    careful = LaRankClassifier(class_weight={1: 10.0}).fit(X, y).predict(X)
    assert np.sum((careful == 0) & (y == 1)) < np.sum((plain == 0) & (y == 1))


def test_loss_matrix_is_obeyed():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=2000)
    X = y[:, None] + rng.normal(size=(2000, 1))
    model = LaRankClassifier(loss=[[0, 1], [10, 0]]).fit(X, y)
    assert np.mean(model.predict(X) == 1) > np.mean(LaRankClassifier().fit(X, y).predict(X) == 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"C": 0}, "C must be"),
        ({"C": "1"}, "C must be"),
        ({"kernel": "other"}, "kernel must be"),
        ({"kernel": "rbf", "gamma": "wide"}, "gamma must be"),
        ({"schedule": "never"}, "schedule must be"),
        ({"epochs": 0}, "epochs must be"),
        ({"tol": -1}, "gap_tolerance must be"),
        ({"loss": [[0, 1], [1, 0]]}, "loss matrix has shape"),
        ({"loss": -1 * (1 - np.eye(3))}, "negative loss"),
        ({"output_features": np.ones((2, 2))}, "output_features must be"),
        ({"class_weight": "heavy"}, "class_weight must be"),
    ],
)
def test_bad_options_are_refused_and_leave_a_fitted_model_as_it_was(change, message):
    X, y = blobs()
    model = LaRankClassifier().fit(X, y)
    before = model.decision_function(X)
    model.set_params(**change)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    model.set_params(**LaRankClassifier().get_params())
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_predict_before_fit_says_so():
    with pytest.raises((NotFittedError, ValueError), match="not fitted"):
        LaRankClassifier().predict([[1.0]])


def test_partial_fit_refuses_classes_it_was_not_told_of():
    X, y = blobs()
    model = LaRankClassifier().partial_fit(X[:50], y[:50], classes=["a", "b", "c"])
    with pytest.raises(ValueError, match="unknown label 'z'"):
        model.partial_fit(X[:1], ["z"])
    with pytest.raises(ValueError, match="not the same as on last call"):
        model.partial_fit(X[:1], ["a"], classes=["a", "z"])


def test_fit_makes_five_passes_unless_told_otherwise_and_partial_fit_one():
    X, y = blobs()
    assert LaRankClassifier().fit(X, y).n_iter_ == 5
    assert LaRankClassifier(epochs=1).fit(X, y).n_iter_ == 1
    assert LaRankClassifier(tol=1e-4).fit(X, y).n_iter_ > 5
    assert LaRankClassifier().partial_fit(X, y).n_iter_ == 1
    assert LaRankClassifier().fit(X, y).partial_fit(X, y).n_iter_ == 6


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_fit_that_is_broken_off_leaves_the_model_as_it_was(kernel):
    X, y = blobs()
    model = LaRankClassifier(kernel=kernel).fit(X, y)
    before = model.decision_function(X)
    model.callback = lambda point: 1 / 0
    with pytest.raises(ZeroDivisionError):
        model.fit(X[:50], y[::-1][:50])
    np.testing.assert_array_equal(model.decision_function(X), before)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_what_the_optimizer_reports_is_there_after_fit_only(kernel):
    names = [
        "dual_",
        "n_support_patterns_",
        "n_support_vectors_",
        "n_argmax_",
        "n_kernels_",
        "curve_",
        "coef_",
    ]
    model = LaRankClassifier(kernel=kernel)
    assert not any(hasattr(model, name) for name in names)
    model.fit(*blobs())
    absent = {"n_kernels_"} if kernel == "linear" else {"coef_"}
    assert {name for name in names if not hasattr(model, name)} == absent
    assert model.dual_ == model.optimizer_.dual_ == model.curve_[-1].dual


@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_memory_mapped_and_read_only_data_work(kernel, as_sparse, tmp_path):
    X, y = blobs(80)
    X = X @ X.T if kernel == "precomputed" else X
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "weight.npy", np.ones(80))
    expected = LaRankClassifier(kernel=kernel).fit(X, y).decision_function(X)
    mapped, weight = (
        np.load(tmp_path / "X.npy", mmap_mode="r"),
        np.load(tmp_path / "weight.npy", mmap_mode="r"),
    )
    y.flags.writeable = False
    if as_sparse:
        mapped = sparse.csr_matrix(mapped)
        for part in (mapped.data, mapped.indices, mapped.indptr):
            part.flags.writeable = False
    model = LaRankClassifier(kernel=kernel).fit(mapped, y, weight)
    np.testing.assert_allclose(model.decision_function(mapped), expected, atol=0.2 if as_sparse else 0)
    if kernel != "precomputed":
        model.partial_fit(mapped, y, sample_weight=weight)
    assert model.gap(mapped, y) > 0
