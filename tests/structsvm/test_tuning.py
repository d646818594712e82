"""`structsvm.tuning`: a parameter chosen by one pass."""

import numpy as np
import pytest
from scipy import sparse

from structsvm import LaRankClassifier
from structsvm.binary import LaSVMClassifier, SGDQNClassifier
from structsvm.tuning import tune


def rings(n, seed=0):
    """Two features that matter and noise: two rings, a tenth of the labels wrong."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.hypot(X[:, 0], X[:, 1]) > 1.2
    return X, np.where(rng.random(n) < 0.1, ~y, y).astype(int)


MODELS = {
    "larank": (LaRankClassifier(kernel="rbf", gamma=1.0), "C", (1e-4, 1.0, 1e4)),
    "lasvm": (LaSVMClassifier(gamma=1.0), "C", (1e-4, 1.0, 1e4)),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_chosen_value_is_the_best_on_other_data(name):
    model, parameter, values = MODELS[name]
    X, y = rings(600)
    before = model.get_params()
    tuning = tune(model, X, y, values, parameter=parameter)
    other = rings(2000, seed=1)
    scores = {v: type(model)(**model.get_params() | {parameter: v}).fit(X, y).score(*other) for v in values}
    assert tuning.value == max(scores, key=scores.get) == 1.0
    assert tuning.model.score(*other) == scores[1.0]
    assert list(tuning.losses) == list(values)
    assert model.get_params() == before
    assert not model.__sklearn_is_fitted__()


def test_the_loss_is_that_of_predictions_before_learning():
    X, y = rings(90)
    X = sparse.csr_array(X)
    tuning = tune(SGDQNClassifier(), X, y, [1e-3], parameter="lam", blocks=3)
    order = np.random.default_rng(0).permutation(90)
    model, wrong = SGDQNClassifier(lam=1e-3), 0
    model.partial_fit(X[order[:30]], y[order[:30]])
    for part in (order[30:60], order[60:]):
        wrong += np.sum(model.predict(X[part]) != y[part])
        model.partial_fit(X[part], y[part])
    assert tuning.losses == {1e-3: wrong / 60}


def test_balanced_classes_and_sample_weights_count():
    X, y = rings(200)
    y = np.where(np.arange(200) % 20 == 0, 2, y)
    weight = (np.arange(200) % 3 > 0).astype(float)
    model = LaRankClassifier(class_weight="balanced", random_state=3)
    tuning = tune(model, X, y, [0.1], sample_weight=weight, blocks=2)
    factors = weight * (200 / (3 * np.bincount(y)))[y]
    first, rest = np.array_split(np.random.default_rng(3).permutation(200), 2)
    twin = LaRankClassifier(C=0.1).partial_fit(
        X[first], y[first], classes=[0, 1, 2], sample_weight=factors[first]
    )
    assert tuning.losses[0.1] == pytest.approx(
        np.average(twin.predict(X[rest]) != y[rest], weights=factors[rest])
    )
    assert tuning.model.class_weight == "balanced"


@pytest.mark.parametrize("parameter", ["finish_fit", "epochs", "probability", "warm_start", "callback"])
def test_parameters_that_only_fit_reads_are_refused(parameter):
    with pytest.raises(ValueError, match=f"cannot compare values of {parameter}; cross-validate them"):
        tune(LaSVMClassifier(), *rings(40), [True, False], parameter=parameter)


def test_of_equal_losses_the_first_value_wins():
    X = np.array([[1.0], [-1.0]] * 30)
    y = np.array([0, 1] * 30)
    assert tune(LaRankClassifier(), X, y, [10.0, 1.0]).value == 10.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parameter": "c"}, "LaRankClassifier has no parameter 'c'"),
        ({"parameter": "epochs", "values": [1, 5]}, "partial_fit cannot compare values of epochs"),
        ({"parameter": "random_state", "values": [1, 2]}, "cannot compare values of random_state"),
        ({"parameter": "class_weight", "values": [None]}, "cannot compare values of class_weight"),
        ({"values": []}, "values is empty"),
        ({"blocks": 1}, "blocks must be an integer of at least 2"),
        ({"blocks": 41}, "needs a row for each of 41 blocks, got 40 rows"),
        ({"values": [-1.0]}, "C must be"),
        ({"sample_weight": np.arange(40) == np.random.default_rng(0).permutation(40)[0]}, "only rows of the"),
    ],
)
def test_bad_options_are_rejected(options, message):
    with pytest.raises(ValueError, match=message):
        tune(LaRankClassifier(), *rings(40), **options)
