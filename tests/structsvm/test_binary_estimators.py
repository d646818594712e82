"""What every binary classifier must do: scikit-learn's checks, files, seeds, bad input, Ctrl-C."""

import copy
import pickle
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from scipy import sparse

from structsvm.binary import (
    HullerClassifier,
    KernelPassiveAggressive,
    KernelPerceptron,
    LaSVMClassifier,
    SGDQNClassifier,
    TrackingClassifier,
)
from structsvm.files.persist import ModelFileError, load_model, save_model
from tests.structsvm.binary_twins import curved

ESTIMATORS = {
    "lasvm": LaSVMClassifier(2.0, epochs=2),
    "linear": LaSVMClassifier(kernel="linear"),
    "small cache": LaSVMClassifier(kernel="poly", gamma=0.7, cache_size=0.01),
    "active": LaSVMClassifier(selection="active", max_labels=40),
    "huller": HullerClassifier(),
    "perceptron": KernelPerceptron(epochs=2),
    "budget": KernelPerceptron(budget=40, margin=0.1),
    "averaged": KernelPerceptron(average=True),
    "passive-aggressive": KernelPassiveAggressive(),
    "tracking": TrackingClassifier(K=2),
    "sgdqn": SGDQNClassifier(algorithm="sgdqn"),
    "rescaled": SGDQNClassifier(loss="hinge"),
}
KERNEL_MACHINES = {name: model for name, model in ESTIMATORS.items() if hasattr(model, "kernel")}
BY_NATURE = dict.fromkeys(
    ["check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"],
    "two copies of a row are visited at two different times",
)

NOT_ALL = {
    "huller": {"check_classifiers_train": "its blobs overlap, and the Huller has a hard margin"},
    "sgdqn": {"check_class_weight_classifiers": "weights of 1 to 10^7 take more than five epochs of 50 rows"},
}
UNCHECKED = ("active", "averaged", "linear", "perceptron", "small cache")  # the same classes as others


def fresh(name, **change):
    model = ESTIMATORS[name]
    return type(model)(**{**model.get_params(), **change})


def data():
    X, y = curved(150)
    return X, np.where(y > 0, "up", "down")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name not in UNCHECKED])
def test_scikit_learns_own_checks_pass(name):
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    expected = {**BY_NATURE, **NOT_ALL.get(name, {})}
    results = checks.check_estimator(fresh(name), expected_failed_checks=expected, on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert failed == {}


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("form", ["double", "single", "sparse"])
def test_saved_and_pickled_models_predict_and_continue_alike(name, form, tmp_path):
    X, y = data()
    X = {"double": X, "single": X.astype(np.float32), "sparse": sparse.csr_matrix(X)}[form]
    model = fresh(name).fit(X[:100], y[:100])
    first, second = tmp_path / "first.ssvm", tmp_path / "second.ssvm"
    model.save(first)
    loaded, pickled = type(model).load(first), pickle.loads(pickle.dumps(model))
    loaded.save(second)
    assert first.read_bytes() == second.read_bytes()
    assert loaded.get_params() == model.get_params()
    for other in (loaded, pickled):
        np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))
    for each in (model, loaded, pickled):
        each.partial_fit(X[100:130], y[100:130])
        if hasattr(each, "finish"):
            each.finish()
        each.partial_fit(X[130:], y[130:])
    for other in (loaded, pickled):
        np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("name", KERNEL_MACHINES)
@pytest.mark.parametrize("form", ["double", "single", "sparse"])
def test_a_copy_continues_like_the_model_that_continues_undisturbed(name, form):
    X, y = data()
    X = {"double": X, "single": X.astype(np.float32), "sparse": sparse.csr_matrix(X)}[form]
    model, alone = fresh(name).fit(X[:100], y[:100]), fresh(name).fit(X[:100], y[:100])
    other = copy.deepcopy(model)
    for each in (model, alone, other):
        each.partial_fit(X[100:], y[100:])
    np.testing.assert_array_equal(model.decision_function(X), alone.decision_function(X))
    np.testing.assert_array_equal(other.decision_function(X), alone.decision_function(X))


def test_a_pickle_changes_nothing_and_a_kernel_matrix_can_be_finished_after_it():
    X, y = data()
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    options = {"kernel": "precomputed", "C": 10, "finish_fit": False}
    model, alone = (LaSVMClassifier(**options).fit(K, y) for _ in range(2))
    other = pickle.loads(pickle.dumps(model))
    for each in (alone, model, other):
        each.finish()
        np.testing.assert_array_equal(each.dual_coef_, alone.dual_coef_)
        assert each.delta_ <= each.tau
    assert alone.machine_.rows.inputs.stale == []


def test_ctrl_c_while_the_support_set_is_put_in_order_is_handled_and_the_counts_agree():
    X, y = curved(400, noise=1.0)
    model = LaSVMClassifier(100.0, gamma=1.0, finish_fit=False).fit(X, y)
    inputs, taken = model.machine_.rows.inputs, []
    take = inputs.take

    def interrupted(arrays):
        taken.append(len(arrays[0]))
        if len(taken) == 1:
            raise KeyboardInterrupt
        take(arrays)

    inputs.take = interrupted
    with pytest.raises(KeyboardInterrupt):
        model.finish()
    assert len(taken) >= 2
    state, S = model.machine_.state(), model.support_vectors_
    K = np.exp(-((S[:, None] - S[None]) ** 2).sum(axis=2))
    np.testing.assert_allclose(state["f"], K @ state["alpha"], atol=1e-9)
    assert model.finish().delta_ <= model.tau


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_seed_repeats_bit_for_bit_and_another_one_differs(name):
    X, y = data()
    runs = [fresh(name, random_state=seed).fit(X, y).decision_function(X) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])


@pytest.mark.parametrize("name", ESTIMATORS)
def test_n_iter_counts_the_passes_over_data(name, tmp_path):
    X, y = data()
    model = fresh(name, epochs=3)
    assert not hasattr(model, "n_iter_")
    assert model.fit(X, y).n_iter_ == 3
    assert model.partial_fit(X, y).n_iter_ == 4
    model.save(tmp_path / "model.ssvm")
    assert type(model).load(tmp_path / "model.ssvm").partial_fit(X, y).n_iter_ == 5
    if "warm_start" in model.get_params():
        again = fresh(name, epochs=3, warm_start=True).fit(X, y)
        assert again.set_params(epochs=2).fit(X, y).n_iter_ == 5
    arrays, meta = load_model(tmp_path / "model.ssvm")
    del meta["n_iter"]  # as files of earlier versions
    save_model(tmp_path / "old.ssvm", arrays, meta)
    old = type(model).load(tmp_path / "old.ssvm")
    old.save(tmp_path / "again.ssvm")
    assert (old.n_iter_, type(model).load(tmp_path / "again.ssvm").partial_fit(X, y).n_iter_) == (0, 1)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_prediction_is_pure_and_classes_keep_their_names(name):
    X, y = data()
    model = fresh(name).fit(X, y)
    before = model.decision_function(X)
    assert set(model.predict(X)) <= {"up", "down"}
    np.testing.assert_array_equal(model.decision_function(X), before)
    np.testing.assert_array_equal(model.predict(X) == "up", before > 0)
    assert model.score(X, y) > 0.6


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("lasvm", {"C": -1}, "C must be"),
        ("lasvm", {"C": 1e200}, "C must be at most"),
        ("lasvm", {"tau": 0}, "tau must be"),
        ("lasvm", {"kernel": "other"}, "kernel must be"),
        ("lasvm", {"gamma": "wide"}, "gamma must be"),
        ("lasvm", {"gamma": 0}, "gamma must be"),
        ("lasvm", {"coef0": np.nan}, "coef0 must be"),
        ("lasvm", {"selection": "best"}, "selection must be"),
        ("lasvm", {"sample": 0}, "sample must be"),
        ("lasvm", {"max_labels": 0}, "max_labels must be"),
        ("lasvm", {"delta_max": "x"}, "delta_max must be"),
        ("lasvm", {"epochs": 1.5}, "epochs must be"),
        ("lasvm", {"cache_size": 0}, "cache_size must be"),
        ("lasvm", {"class_weight": {"left": 2}}, "not a class of y"),
        ("lasvm", {"random_state": "x"}, "random_state must be"),
        ("budget", {"budget": 0}, "budget must be"),
        ("budget", {"margin": -1}, "margin must be"),
        ("tracking", {"K": 0}, "K must be"),
        ("sgdqn", {"lam": 0}, "lam must be"),
        ("sgdqn", {"loss": "log"}, "loss must be"),
        ("sgdqn", {"algorithm": "adam"}, "algorithm must be"),
        ("sgdqn", {"t0": -1}, "t0 must be"),
        ("sgdqn", {"skip": 0}, "skip must be"),
    ],
)
def test_bad_options_are_refused_and_leave_a_fitted_model_as_it_was(name, change, message):
    X, y = data()
    model = fresh(name).fit(X, y)
    before = model.decision_function(X)
    model.set_params(**change)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), before)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_bad_data_get_a_clear_sentence(name):
    X, y = data()
    with pytest.raises(ValueError, match="not fitted"):
        fresh(name).predict(X)
    with pytest.raises(ValueError, match="not fitted"):
        fresh(name).save("nowhere.ssvm")
    for bad, labels, message in [
        (X, y[:-1], "150 patterns but y has 149"),
        (X[:0], y[:0], "0 sample"),
        (np.where(X > 1, np.nan, X), y, "NaN"),
        (X, np.full(150, "up"), "one class"),
        (X, np.linspace(0, 1, 150), "continuous"),
    ]:
        with pytest.raises(ValueError, match=message):
            fresh(name).fit(bad, labels)
    with pytest.raises(ValueError, match="at least 0"):
        fresh(name).fit(X, y, np.full(150, -1.0))
    model = fresh(name).fit(X, y)
    with pytest.raises(ValueError, match="1 features"):
        model.predict(X[:, :1])
    with pytest.raises(ValueError, match="classes other than"):
        model.partial_fit(X, np.full(150, "left"))
    with pytest.raises(ValueError, match="not the same"):
        model.partial_fit(X, y, classes=["down", "left"])


@pytest.mark.parametrize("name", ["averaged", "huller", "passive-aggressive", "tracking"])
def test_kernel_machines_tell_what_to_do_with_more_classes(name):
    X, _ = data()
    with pytest.raises(ValueError, match="OneVsRestClassifier"):
        fresh(name).fit(X, np.arange(150) % 3)


def test_parameters_of_a_model_cannot_change_in_the_middle():
    X, y = data()
    model = LaSVMClassifier().fit(X, y)
    with pytest.raises(ValueError, match="C was changed"):
        model.set_params(C=3.0).partial_fit(X, y)
    with pytest.raises(ValueError, match="balanced"):
        LaSVMClassifier(class_weight="balanced").partial_fit(X, y)
    with pytest.raises(ValueError, match="precomputed"):
        LaSVMClassifier(kernel="precomputed").partial_fit(np.eye(150), y)
    with pytest.raises(ValueError, match="square"):
        LaSVMClassifier(kernel="precomputed").fit(X, y)
    with pytest.raises(ValueError, match="built-in kernel"):
        LaSVMClassifier(kernel="precomputed").fit(X @ X.T, y).save("nowhere.ssvm")


def test_a_model_of_another_kind_is_refused(tmp_path):
    X, y = data()
    path = tmp_path / "model.ssvm"
    HullerClassifier().fit(X, y).save(path)
    with pytest.raises(ModelFileError, match="contains 'HullerClassifier', not 'LaSVMClassifier'"):
        LaSVMClassifier.load(path)


@pytest.mark.parametrize("name", ["lasvm", "huller", "tracking", "sgdqn"])
def test_damaged_arrays_are_refused_or_give_a_model(name, tmp_path):
    X, y = data()
    path = tmp_path / "model.ssvm"
    model = fresh(name).fit(X, y)
    model.save(path)
    arrays, meta = load_model(path)
    refused = 0
    for key, array in arrays.items():
        changes = [array[:0], array[:-1], array[:, None], np.repeat(array, 2, axis=0), array.astype("U5")]
        if array.dtype.kind == "f":
            changes += [np.full_like(array, value) for value in (np.nan, np.inf, -1e99, 1e308, 0, -1)]
        for changed in changes:
            save_model(path, dict(arrays, **{key: changed}), meta)
            try:
                loaded = type(model).load(path)
            except ModelFileError:
                refused += 1
                continue
            loaded.predict(X)
            loaded.partial_fit(X[:20], np.resize(loaded.classes_, 20))
    assert refused > 4 * len(arrays)
    for key in arrays:
        save_model(path, {k: v for k, v in arrays.items() if k != key}, meta)
        with pytest.raises(ModelFileError):
            type(model).load(path)


INTERRUPTED = """
    import os, signal, sys, threading, time
    import numpy as np
    from structsvm.binary import LaSVMClassifier, SGDQNClassifier, TrackingClassifier
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40000, 10)); y = X[:, 0] + rng.normal(size=40000) > 0
    model = {"lasvm": LaSVMClassifier(C=10, epochs=1000), "tracking": TrackingClassifier(K=1000),
             "sgdqn": SGDQNClassifier(epochs=10**7)}[sys.argv[1]]
    small = type(model)(**{**model.get_params(), "epochs": 1}).fit(X[:200], y[:200])
    before = small.decision_function(X[:100])
    small.set_params(**model.get_params())
    signal.signal(signal.SIGINT, signal.default_int_handler)    # which background jobs ignore
    threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try:
        small.fit(X, y)
    except KeyboardInterrupt:
        assert np.array_equal(small.decision_function(X[:100]), before)
        print("heard")
"""


@pytest.mark.skipif(not hasattr(signal, "SIGINT"), reason="no signals")
@pytest.mark.parametrize("name", ["lasvm", "tracking", "sgdqn"])
def test_ctrl_c_is_handled_and_the_model_is_what_it_was(name):
    code = textwrap.dedent(INTERRUPTED)
    done = subprocess.run([sys.executable, "-c", code, name], capture_output=True, text=True, timeout=120)
    assert done.stdout == "heard\n", done.stderr


def test_weights_of_examples_count_for_the_perceptron():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = X[:, 0] + rng.normal(size=60) > 0
    weighted = KernelPerceptron(gamma=0.1).fit(X, y, sample_weight=np.full(60, 2.0))
    plain = KernelPerceptron(gamma=0.1).fit(X, y)
    np.testing.assert_allclose(weighted.decision_function(X), 2 * plain.decision_function(X))


def test_an_intercept_is_asked_for_or_not():
    with pytest.raises(ValueError, match="fit_intercept must be True or False, got 2"):
        SGDQNClassifier(fit_intercept=2).fit([[0.0], [1.0]], [0, 1])


def test_a_kernel_that_fails_leaves_coefficients_and_scores_in_step():
    calls_left = []

    def kernel(A, B):
        if calls_left:
            calls_left.pop()
            if not calls_left:
                raise FloatingPointError("no value")
        return np.exp(-0.5 * ((A[:, None] - B[None]) ** 2).sum(2))

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = X[:, 0] * X[:, 1] > 0
    failures = 0
    for number in range(5, 60, 3):
        if number % 2:
            model = TrackingClassifier(kernel=kernel, cache_size=1e-9).fit(X[:40], y[:40])
        else:
            model = LaSVMClassifier(10.0, kernel=kernel, cache_size=1e-9, finish_fit=False).fit(X, y)
        calls_left[:] = range(number)
        try:
            model.partial_fit(X[40:], y[40:]) if number % 2 else model.finish()
        except FloatingPointError:
            failures += 1
        calls_left.clear()
        state = model.machine_.state()
        K = kernel(model.support_vectors_, model.support_vectors_)
        np.testing.assert_allclose(K @ state["alpha"], state["f"], atol=1e-9)
    assert failures > 10
