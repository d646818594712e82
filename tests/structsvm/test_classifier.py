"""`LaRankClassifier` as scikit-learn and as a demanding user see it."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from structsvm import LaRankClassifier, NotFittedError
from structsvm.files.persist import ModelFileError, load_model, save_model

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
    before = light.coef_
    assert light.partial_fit(X, y).score(X, y) > 0.8
    assert not np.array_equal(light.coef_, before)


def test_foreign_and_inconsistent_model_files_are_refused(tmp_path):
    from structsvm.files.persist import load_model, save_model

    X, y = blobs()
    path = tmp_path / "model.ssvm"
    LaRankClassifier().fit(X, y).save(path)
    arrays, meta = load_model(path)
    arrays["dual.indices"] = arrays["dual.indices"] + 1000
    save_model(path, arrays, meta)
    with pytest.raises(ModelFileError, match="consistent classifier"):
        LaRankClassifier.load(path)
    save_model(path, arrays, {"kind": "tagger"})
    with pytest.raises(ModelFileError, match="is not a classifier"):
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
        ({"tol": -1}, "tol must be"),
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


def test_fit_makes_more_passes_over_few_rows_and_partial_fit_makes_one():
    X, y = blobs()
    assert LaRankClassifier(epochs=1).fit(X, y).n_iter_ == 1
    assert LaRankClassifier(tol=1e-4).fit(X, y).n_iter_ > 5
    assert LaRankClassifier().partial_fit(X, y).n_iter_ == 1
    assert LaRankClassifier(epochs=5).fit(X, y).partial_fit(X, y).n_iter_ == 6
    for kernel, passes in (("linear", 3), ("rbf", 2)):
        few = LaRankClassifier(kernel=kernel).fit(X, y)
        assert few.n_iter_ == 10_000 // len(X)
        assert few.gap() < 1e-3 * few.dual_
        many = np.repeat(X, 5000 // len(X) + 1, axis=0)
        model = LaRankClassifier(kernel=kernel, C=0.001)
        assert model.fit(many, np.repeat(y, len(many) // len(y))).n_iter_ == passes


def test_the_schedule_is_fixed_without_a_kernel_and_adaptive_with_one():
    X, y = blobs()
    for kernel, default in (("linear", "fixed"), ("rbf", "adaptive")):
        models = [LaRankClassifier(kernel=kernel, epochs=2, schedule=s).fit(X, y) for s in (None, default)]
        assert models[0].dual_ == models[1].dual_
        assert models[0].get_params()["schedule"] is None


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_fit_that_is_interrupted_leaves_the_model_as_it_was(kernel):
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
    expected = LaRankClassifier(kernel=kernel, epochs=5).fit(X, y).decision_function(X)
    mapped, weight = (
        np.load(tmp_path / "X.npy", mmap_mode="r"),
        np.load(tmp_path / "weight.npy", mmap_mode="r"),
    )
    y.flags.writeable = False
    if as_sparse:
        mapped = sparse.csr_matrix(mapped)
        for part in (mapped.data, mapped.indices, mapped.indptr):
            part.flags.writeable = False
    model = LaRankClassifier(kernel=kernel, epochs=5).fit(mapped, y, weight)
    np.testing.assert_allclose(model.decision_function(mapped), expected, atol=0.2 if as_sparse else 0)
    assert model.gap(mapped, y) > 0
    if kernel != "precomputed":
        dual = model.dual_
        assert model.partial_fit(mapped, y, sample_weight=weight).dual_ > dual


@pytest.mark.parametrize("kind", [int, np.int64, str])
def test_class_weights_survive_a_file(kind, tmp_path):
    X, y = blobs()
    y = np.searchsorted(["a", "b", "c"], y) if kind is not str else y
    weights = {kind(label): 2.0 + k for k, label in enumerate(np.unique(y)[1:])}
    model = LaRankClassifier(class_weight=weights).fit(X, y)
    model.save(tmp_path / "model.ssvm")
    loaded = LaRankClassifier.load(tmp_path / "model.ssvm")
    assert loaded.class_weight == weights
    np.testing.assert_array_equal(
        loaded.partial_fit(X, y).decision_function(X), model.partial_fit(X, y).decision_function(X)
    )
    LaRankClassifier(class_weight="balanced").fit(X, y).save(tmp_path / "model.ssvm")
    assert LaRankClassifier.load(tmp_path / "model.ssvm").class_weight == "balanced"


def test_a_file_holds_the_parameters_of_the_training(tmp_path):
    X, y = blobs()
    model = LaRankClassifier(C=2, kernel="rbf").fit(X, y)
    before = model.get_params()
    expected = model.decision_function(X)
    model.set_params(C=7, kernel="linear", gamma=3.0, loss=np.ones(2), class_weight={"a": 9})
    model.save(tmp_path / "model.ssvm")
    loaded = LaRankClassifier.load(tmp_path / "model.ssvm")
    assert loaded.get_params() == before
    np.testing.assert_array_equal(loaded.decision_function(X), expected)


@pytest.mark.parametrize("unused", [{"gamma": 0.0}, {"degree": 3.0}, {"cache_size": 0}])
def test_a_linear_file_loads_whatever_the_options_of_kernels_are(unused, tmp_path):
    X, y = blobs()
    model = LaRankClassifier().fit(X, y)
    model.save(tmp_path / "model.ssvm")
    arrays, meta = load_model(tmp_path / "model.ssvm")
    save_model(tmp_path / "model.ssvm", arrays, {**meta, "parameters": meta["parameters"] | unused})
    loaded = LaRankClassifier.load(tmp_path / "model.ssvm")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize(
    "change",
    [{"C": 2}, {"kernel": "poly"}, {"gamma": 3.0}, {"schedule": "fixed"}, {"loss": 2 - 2 * np.eye(3)}],
)
def test_partial_fit_refuses_parameters_changed_since_fit(change):
    X, y = blobs()
    model = LaRankClassifier(kernel="rbf", loss=(1 - np.eye(3)).tolist()).fit(X, y)
    model.partial_fit(X, y)
    model.set_params(**change)
    with pytest.raises(ValueError, match=f"{next(iter(change))} was changed since fit; call fit again"):
        model.partial_fit(X, y)
    assert model.fit(X, y).partial_fit(X, y).n_iter_ == 10_000 // len(X) + 1
    model.set_params(epochs=2, class_weight={"a": 2.0}).partial_fit(X, y)


@pytest.mark.parametrize("offset", [0, 1000, -3000])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_single_precision_is_right_far_from_the_origin(form, offset, tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=600)
    X = (
        np.round((np.eye(3)[y] * 2 + rng.normal(size=(600, 3))) * 256) / 256
    )  # exact in float32 with the offset
    near = LaRankClassifier(kernel="rbf", gamma=0.3, epochs=5).fit(X[:400], y[:400])
    far = form((X + offset).astype(np.float32))
    model = LaRankClassifier(kernel="rbf", gamma=0.3, epochs=5).fit(far[:400], y[:400])
    assert abs(model.score(far[400:], y[400:]) - near.score(X[400:], y[400:])) < 0.02
    assert abs(model.dual_ - near.dual_) < 0.01 * near.dual_
    scores = model.decision_function(far)
    np.testing.assert_allclose(scores, near.decision_function(X), atol=0.2)
    model.save(tmp_path / "model.ssvm")
    for other in (LaRankClassifier.load(tmp_path / "model.ssvm"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.decision_function(far), scores)
    other_form = far.toarray() if sparse.issparse(far) else sparse.csr_array(far)
    np.testing.assert_allclose(model.decision_function(other_form), scores, atol=1e-3)
    assert model.partial_fit(far[400:], y[400:]).score(far, y) > 0.8


@pytest.mark.parametrize(
    "labels",
    [
        [1, "a", 1, "a"],
        ["a", np.nan, "b", "a"],
        ["a", None, "b", "a"],
        [1, None, 2, 1],
        [b"a", "a", "b", "a"],
    ],
)
@pytest.mark.parametrize("as_objects", [False, True])
def test_labels_of_several_types_and_missing_ones_are_refused(labels, as_objects):
    labels = np.array(labels, dtype=object) if as_objects else labels
    for fit in (LaRankClassifier().fit, LaRankClassifier().partial_fit):
        with pytest.raises(ValueError, match=r"mixes labels of type|None or NaN"):
            fit(np.eye(4), labels)
    with pytest.raises(ValueError, match=r"mixes labels of type|None or NaN"):
        LaRankClassifier().partial_fit(np.eye(4), ["a", "b", "a", "b"], classes=labels)


def test_strings_in_an_object_array_can_be_saved(tmp_path):
    X, y = blobs()
    model = LaRankClassifier().fit(X, y.astype(object))
    assert model.classes_.dtype.kind == "U"
    model.save(tmp_path / "model.ssvm")
    assert LaRankClassifier.load(tmp_path / "model.ssvm").score(X, y.astype(object)) == model.score(X, y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"class_weight": [1, 2, 3]}, "class_weight must be a dict"),
        ({"class_weight": 2.0}, "class_weight must be a dict"),
        ({"class_weight": "heavy"}, "class_weight must be a dict"),
        ({"class_weight": {"z": 1.0}}, "class_weight names 'z'"),
        ({"class_weight": {"a": -1.0}}, "class_weight of 'a' must be"),
        ({"class_weight": {"a": "2"}}, "class_weight of 'a' must be"),
        ({"class_weight": {"a": float("nan")}}, "class_weight of 'a' must be"),
        ({"class_weight": {"a": 0, "b": 0, "c": 0}}, "class_weight and sample_weight leave"),
        ({"coef0": float("nan")}, "coef0 must be"),
        ({"coef0": "1"}, "coef0 must be"),
        ({"callback": 3}, "callback must be"),
    ],
)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_bad_class_weights_coef0_and_callbacks_are_refused_before_anything_changes(change, message, method):
    X, y = blobs()
    model = LaRankClassifier().fit(X, y)
    before = model.decision_function(X)
    model.set_params(**change)
    with pytest.raises(ValueError, match=message):
        getattr(model, method)(X[:100], y[:100])
    np.testing.assert_array_equal(model.decision_function(X), before)
    with pytest.raises(ValueError, match=message):
        getattr(LaRankClassifier(**change), method)(X, y)


def test_balanced_weights_are_for_fit_only():
    X, y = blobs()
    with pytest.raises(ValueError, match="does not support class_weight='balanced'"):
        LaRankClassifier(class_weight="balanced").partial_fit(X, y)
    weights = {"a": 2.0}
    LaRankClassifier(class_weight=weights).partial_fit(X[y != "a"], y[y != "a"], classes=["a", "b", "c"])


def test_a_pickled_model_has_no_callback_and_neither_has_its_optimizer(tmp_path):
    X, y = blobs()
    model = LaRankClassifier(callback=lambda point: None).fit(X, y)
    model.save(tmp_path / "model.ssvm")
    for other in (pickle.loads(pickle.dumps(model)), LaRankClassifier.load(tmp_path / "model.ssvm")):
        assert other.callback is other.optimizer_.callback is None
    seen = []
    model.set_params(callback=seen.append).partial_fit(X, y)
    assert seen
    assert model.optimizer_.callback == model.callback


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("features", [None, np.array([[1.0, 0], [0.5, 0.5], [0, 1]])])
@pytest.mark.parametrize("form", [np.asarray, np.float32, np.asfortranarray, sparse.csr_array, list])
def test_scores_are_those_of_the_encoded_inputs(intercept, features, form):
    X, y = blobs()
    model = LaRankClassifier(fit_intercept=intercept, output_features=features).fit(X, y)
    problem, w = model._problem, model.optimizer_.weights_
    X = form(X)
    expected = problem.encode_inputs(X) @ (w.reshape(problem.n_inputs, -1) @ problem.output_features_.T)
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(problem.decision_function(X, w), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_primal_and_gap_take_the_weights_of_training(kernel):
    X, y = blobs()
    sample_weight = np.linspace(0.1, 2, len(y))
    for class_weight in ({"a": 5.0}, "balanced"):
        model = LaRankClassifier(kernel=kernel, class_weight=class_weight).fit(X, y, sample_weight)
        assert model.primal(X, y, sample_weight) == pytest.approx(model.primal())
        assert model.gap(X, y, sample_weight) == pytest.approx(model.gap())
        assert model.primal(X, y) != pytest.approx(model.primal())
        for method in (model.primal, model.gap):
            with pytest.raises(ValueError, match="must be passed together"):
                method(X)
            with pytest.raises(ValueError, match="must be passed together"):
                method(y=y)
            with pytest.raises(ValueError, match="sample_weight requires"):
                method(sample_weight=sample_weight)
