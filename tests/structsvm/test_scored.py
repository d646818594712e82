"""Probabilities of the classifiers: calibrated, saved, and only where there is a calibration."""

import numpy as np
import pytest
from scipy import sparse

from structsvm import LaRankClassifier
from structsvm.binary import LaSVMClassifier, SGDQNClassifier
from structsvm.files.persist import ModelFileError, load_model, save_model
from structsvm.scored import best_scaling, folds, log_softmax

MODELS = {
    "linear": lambda **more: LaRankClassifier(C=0.1, **more),
    "rbf": lambda **more: LaRankClassifier(C=1.0, kernel="rbf", **more),
    "lasvm": lambda **more: LaSVMClassifier(C=1.0, **more),
    "sgdqn": lambda **more: SGDQNClassifier(**more),
}


def noisy(n, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(9).normal(size=(n_classes, 4))
    y = rng.integers(0, n_classes, n)
    return centres[y] + rng.normal(size=(n, 4)), np.array(["a", "b", "c"])[y]


def log_loss(model, X, y, factor=1):
    logs = np.log(model.predict_proba(X)) / factor
    return -log_softmax(logs)[np.arange(len(y)), np.searchsorted(model.classes_, y)].mean()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_the_calibration_of_fit_is_nearly_the_best_for_new_rows(name, n_classes, tmp_path):
    X, y = noisy(400, n_classes)
    new = noisy(1000, n_classes, seed=1)
    model = MODELS[name](probability=True).fit(X, y)
    probable = model.predict_proba(new[0])
    assert probable.sum(axis=1) == pytest.approx(np.ones(1000))
    assert np.mean(model.classes_[probable.argmax(axis=1)] == model.predict(new[0])) > 0.9
    best = MODELS[name](probability=True).fit(X, y).calibrate(*new)
    found = log_loss(model, *new)
    assert found <= log_loss(best, *new) + 0.05
    assert found < min(log_loss(model, *new, factor) for factor in (4, 0.25))
    model.save(tmp_path / "model")
    assert np.array_equal(type(model).load(tmp_path / "model").predict_proba(new[0]), probable)


@pytest.mark.parametrize("name", MODELS)
def test_sparse_rows_and_balanced_classes_get_probabilities_too(name):
    X, y = noisy(60, 3)
    model = MODELS[name](probability=True, class_weight="balanced").fit(sparse.csr_array(X), y)
    assert model.predict_proba(sparse.csr_array(X)).shape == (60, 3)


@pytest.mark.parametrize("name", MODELS)
def test_there_are_not_probabilities_without_a_calibration(name):
    X, y = noisy(100, 3)
    model = MODELS[name]().fit(X, y)
    assert not hasattr(model, "predict_proba")
    assert hasattr(model.calibrate(X, y), "predict_proba")
    assert not hasattr(model.fit(X, y), "predict_proba")
    online = MODELS[name](probability=True).partial_fit(X, y)
    with pytest.raises(ValueError, match="call calibrate first"):
        online.predict_proba(X)
    assert online.calibrate(X, y).predict_proba(X).shape == (100, 3)
    later = MODELS[name](probability=True).fit(X, y).partial_fit(X, y)
    with pytest.raises(ValueError, match="call calibrate first"):
        later.predict_proba(X)


def test_files_with_bad_offsets_are_refused_and_older_files_have_none(tmp_path):
    X, y = noisy(100, 3)
    path = tmp_path / "model"
    LaRankClassifier().fit(X, y).calibrate(X, y).save(path)
    arrays, meta = load_model(path)
    for wrong in ([0.0, 1.0], [0.0, 1.0, float("inf")], "abc", None):
        save_model(path, arrays, meta | {"offsets": wrong})
        with pytest.raises(ModelFileError):
            LaRankClassifier.load(path)
    del meta["offsets"]
    save_model(path, arrays, meta)
    assert LaRankClassifier.load(path).offsets_.tolist() == [0, 0, 0]


def test_bad_requests_for_probabilities_are_refused():
    X, y = noisy(100, 2)
    with pytest.raises(ValueError, match="probability must be True or False, got 'yes'"):
        LaRankClassifier(probability="yes").fit(X, y)
    with pytest.raises(ValueError, match="precomputed"):
        LaRankClassifier(kernel="precomputed", probability=True).fit(X @ X.T, y)
    with pytest.raises(ValueError, match="at least 8 rows"):
        SGDQNClassifier(probability=True).fit(X[:4], ["a", "b", "a", "b"])
    with pytest.raises(ValueError, match="classes other than"):
        LaRankClassifier().fit(X, y).calibrate(X, np.full(100, "z"))
    with pytest.raises(ValueError, match="scores that are not finite"):
        best_scaling(np.full((4, 2), np.nan), np.zeros(4, int), np.ones(4))


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 1, 1: 50}])
@pytest.mark.parametrize("name", MODELS)
def test_class_weights_do_not_shift_probabilities(name, class_weight):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 4))
    y = (X[:, 0] + rng.normal(size=1500) > 2).astype(int)
    model = MODELS[name](probability=True, class_weight=class_weight).fit(X[:1000], y[:1000])
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), abs=0.04)
    constant = -np.log(np.where(y == 1, y.mean(), 1 - y.mean())[1000:]).mean()
    assert log_loss(model, X[1000:], y[1000:]) < constant + 0.01


def test_every_class_keeps_a_row_to_learn_from():
    X, y = noisy(60, 2)
    for place in range(0, 60, 7):
        rare = np.where(np.arange(60) == place, "rare", y)
        assert place not in np.concatenate(folds(rare, np.ones(60)))
        probable = LaRankClassifier(C=0.1, probability=True).fit(X, rare).predict_proba(X)
        assert np.all(np.isfinite(probable))
    classes = np.repeat([0, 1, 2], [40, 12, 8])
    assert [np.bincount(classes[part]).tolist() for part in folds(classes, np.ones(60))] == 4 * [[10, 3, 2]]
    assert [len(part) for part in folds(np.arange(5000) % 2, np.ones(5000))] == [1250]


def test_rows_without_weight_do_not_calibrate():
    X, y = noisy(100, 2)
    weight = np.ones(100)
    weight[::3] = 0
    model = LaRankClassifier(C=0.1, probability=True).fit(X, np.where(weight > 0, y, y[::-1]), weight)
    same = LaRankClassifier(C=0.1, probability=True).fit(X, np.where(weight > 0, y, "a"), weight)
    assert model.temperature_ == pytest.approx(same.temperature_)
    assert log_loss(model, X, y) < np.log(2)
    with pytest.raises(ValueError, match="two rows whose sample weight is above 0"):
        LaRankClassifier(probability=True).fit(X[:8], np.arange(8))


def test_scores_without_information_warn():
    places = np.arange(300) % 3
    with pytest.warns(UserWarning, match="calibrate with more rows"):
        temperature, offsets = best_scaling(-np.eye(3)[places], places, np.ones(300))
    assert temperature > 100
    assert offsets == pytest.approx(np.zeros(3), abs=0.01)


def test_a_best_scaling_is_a_minimum_and_stays_finite_without_errors():
    rng = np.random.default_rng(0)
    scores = 3.0 * rng.normal(size=(4000, 3))
    shifts = np.array([1.0, 0.5, -1.5])
    places = np.array([rng.choice(3, p=np.exp(row)) for row in log_softmax(scores / 2 + shifts)])
    temperature, offsets = best_scaling(scores, places, np.ones(4000))
    assert temperature == pytest.approx(2, rel=0.1)
    assert offsets == pytest.approx(shifts, abs=0.15)
    temperature, offsets = best_scaling(scores, scores.argmax(axis=1), np.ones(4000))
    assert 1e-3 < temperature < 1
    assert np.abs(offsets).max() < 1


def test_sgdqn_queries_rows_within_the_margin():
    X, y = noisy(300, 3)
    model = SGDQNClassifier().fit(X, y)
    wanted = model.query(X, 5)
    best = np.sort(model.decision_function(X), axis=1)
    margins = best[:, -1] - best[:, -2]
    assert len(wanted) == 5
    assert margins[wanted].max() == np.sort(margins)[4]
