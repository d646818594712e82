"""Bad input gets one clear exception, and the optimizer is what it was before."""

import numpy as np
import pytest
from scipy import sparse

from structsvm import AmbiguousBags, LaRank, Multiclass, NotFittedError, PassiveAggressive, Perceptron, Problem, SVMStruct
from tests.structsvm.helpers import (
    OPTIMIZERS,
    Ordinal,
    assert_same_bytes,
    noisy_classes,
    ordinal_data,
    state_of,
)

X, Y = noisy_classes(40)
NAN, INF = float("nan"), float("inf")


def spoiled(value):
    rows = X.copy()
    rows[3, 2] = value
    return rows


def with_label(label):
    return [label, *Y[1:].tolist()]


BAD_DATA = {
    "nan": (spoiled(NAN), Y, "NaN or infinity"),
    "inf": (spoiled(INF), Y, "NaN or infinity"),
    "sparse nan": (sparse.csr_array(spoiled(NAN)), Y, "NaN or infinity"),
    "sparse inf": (sparse.csr_matrix(spoiled(-INF)), Y, "NaN or infinity"),
    "complex": (X + 1j, Y, "Complex data not supported"),
    "words": ([["a", "b"], ["c", "d"]], [0, 1], "could not convert"),
    "too few outputs": (X, Y[:-1], "40 patterns but y has 39 outputs"),
    "too few patterns": (X[:-1], Y, "39 patterns but y has 40 outputs"),
    "one dimension": (X[:, 0], Y, "Expected 2D array"),
    "two columns of labels": (X, np.c_[Y, Y], "y must be a 1d array"),
    "real labels": (X, Y + 0.5, "continuous"),
    "nan label": (X, np.where(Y == 0, NAN, Y), "NaN"),
    "no patterns": (X[:0], Y[:0], "empty"),
    "no patterns, lists": ([], [], "empty"),
    "no features": (X[:, :0], Y, "0 feature"),
}


def assert_unharmed(optimizer, action, error, match):
    """`action` raises, and the optimizer trains on as if it had never been called."""
    before, predicted = state_of(optimizer), optimizer.predict(X)
    with pytest.raises(error, match=match):
        action()
    assert_same_bytes(state_of(optimizer), before)
    assert np.array_equal(optimizer.predict(X), predicted)
    untouched = type(optimizer)(Multiclass()).fit(X, Y).partial_fit(X, Y)
    assert_same_bytes(state_of(optimizer.partial_fit(X, Y)), state_of(untouched), but=["slots"])


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("case", BAD_DATA)
@pytest.mark.parametrize("optimizer_class", [LaRank, Perceptron])
def test_bad_data_changes_nothing(optimizer_class, case, method):
    bad_X, bad_y, match = BAD_DATA[case]
    optimizer = optimizer_class(Multiclass()).fit(X, Y)
    assert_unharmed(optimizer, lambda: getattr(optimizer, method)(bad_X, bad_y), ValueError, match)
    with pytest.raises(ValueError, match=match):
        getattr(optimizer_class(Multiclass()), method)(bad_X, bad_y)


@pytest.mark.parametrize("method", ["partial_fit", "primal", "gap"])
@pytest.mark.parametrize("label", [4, -1, "dog", None, NAN], ids=repr)
def test_an_unknown_label_is_refused(method, label):
    optimizer = LaRank(Multiclass()).fit(X, Y)
    assert_unharmed(optimizer, lambda: getattr(optimizer, method)(X, with_label(label)), ValueError, r"label|NaN")


@pytest.mark.parametrize("method", ["partial_fit", "primal"])
def test_a_matrix_of_another_width_is_refused(method):
    optimizer = LaRank(Multiclass()).fit(X, Y)
    assert_unharmed(optimizer, lambda: getattr(optimizer, method)(X[:, :3], Y), ValueError, "X has 3 features")
    with pytest.raises(ValueError, match="X has 3 features"):
        optimizer.predict(X[:, :3])


def test_a_refused_refit_leaves_the_problem_as_it_was():
    problem = Multiclass(classes=range(4))
    optimizer = LaRank(problem).fit(X, Y)
    with pytest.raises(ValueError, match="unknown label 9"):
        optimizer.fit(np.ones((2, 3)), [0, 9])
    optimizer.random_state = "lucky"
    with pytest.raises(ValueError, match="random_state"):
        optimizer.fit(np.ones((2, 3)), [0, 1])
    assert len(optimizer.predict(X)) == 40


@pytest.mark.parametrize("weight", [
    np.full(40, -1.0), np.full(40, NAN), np.full(40, INF), np.ones(39), np.ones((40, 2)), np.zeros(40),
], ids=["negative", "nan", "inf", "short", "2d", "zero"])  # fmt: skip
@pytest.mark.parametrize("method", ["fit", "partial_fit", "primal"])
def test_bad_sample_weights_are_refused(weight, method):
    optimizer = LaRank(Multiclass()).fit(X, Y)
    assert_unharmed(optimizer, lambda: getattr(optimizer, method)(X, Y, weight), ValueError, "sample_weight")


BAD_OPTIONS = [
    *((name, {"C": C}, "C must be") for name in ("larank", "passive-aggressive", "svmstruct")
      for C in (0, -1.0, NAN, INF, "1", None, True)),
    *(("larank", {name: value}, name) for name, value in [
        ("schedule", "random"), ("clock", "sun"), ("rescaling", "both"), ("slack", "l3"), ("tau", 0), ("kappa", -1),
        ("mu", 0), ("mu", 2.0), ("epochs", 0), ("epochs", 1.5), ("n_reprocess", -1), ("n_reprocess", 1.0),
        ("gap_tolerance", 0), ("gap_tolerance", "D"), ("random_state", "x"), ("random_state", -1),
        ("random_state", 1.5), ("random_state", True),
    ]),
    *(("svmstruct", {name: value}, name) for name, value in [("epsilon", 0), ("epsilon", NAN), ("new_constraints", 0)]),
    ("perceptron", {"epochs": 0}, "epochs"),
    ("perceptron", {"random_state": "x"}, "random_state"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options", "match"), BAD_OPTIONS, ids=lambda value: str(value))
def test_a_bad_option_is_named(name, options, match):
    optimizer = OPTIMIZERS[name](Multiclass(), **options)
    for method in (optimizer.fit, optimizer.partial_fit):
        with pytest.raises(ValueError, match=match):
            method(X, Y)
    with pytest.raises(NotFittedError):
        optimizer.predict(X)


@pytest.mark.parametrize("loss", [
    1 - 2 * np.eye(4), np.where(np.eye(4), 0, -1.0), np.where(np.eye(4), 0, NAN), np.where(np.eye(4), 0, INF),
    np.ones((4, 4)), np.ones((3, 3)) - np.eye(3),
], ids=["diagonal", "negative", "nan", "inf", "ones", "shape"])  # fmt: skip
def test_a_bad_loss_matrix_is_refused(loss):
    with pytest.raises(ValueError, match="the loss matrix"):
        LaRank(Multiclass(loss=loss)).fit(X, Y)


@pytest.mark.parametrize("features", [np.ones((3, 2)), np.full((4, 2), NAN), np.ones(4), np.ones((4, 0))],
                         ids=["rows", "nan", "1d", "no columns"])  # fmt: skip
def test_bad_output_features_are_refused(features):
    with pytest.raises(ValueError, match="output_features must be"):
        LaRank(Multiclass(output_features=features)).fit(X, Y)


@pytest.mark.parametrize("problem", [Multiclass(), AmbiguousBags()])
def test_one_class_only_is_refused(problem):
    y = [[1]] * 40 if isinstance(problem, AmbiguousBags) else [1] * 40
    with pytest.raises(ValueError, match=r"one class only|at least two"):
        LaRank(problem).fit(X, y)


@pytest.mark.parametrize("bags", [["cat", "dog"], [1, 2], [None, [1]]], ids=["words", "numbers", "none"])
def test_plain_labels_are_no_bags(bags):
    for problem in (AmbiguousBags(), AmbiguousBags(classes=[1, 2])):
        with pytest.raises(ValueError, match="is no bag of labels"):
            LaRank(problem).fit(X[:2], bags)


def test_an_unknown_label_in_a_bag_is_refused():
    optimizer = LaRank(AmbiguousBags()).fit(X[:3], [[1], [2, 3], [3]])
    with pytest.raises(ValueError, match="unknown label 7"):
        optimizer.partial_fit(X[:2], [[1], [2, 7]])


@pytest.mark.parametrize("optimizer_class", [LaRank, PassiveAggressive, SVMStruct, Perceptron])
def test_what_needs_data_says_so_before_there_are_any(optimizer_class):
    optimizer = optimizer_class(Multiclass())
    for ask in (lambda: optimizer.predict(X), optimizer.primal, optimizer.gap, lambda: optimizer.weights_,
                lambda: optimizer.n_support_vectors_, lambda: optimizer.n_argmax_):  # fmt: skip
        with pytest.raises(NotFittedError, match="has seen no data: call fit or partial_fit first"):
            ask()
    assert not hasattr(optimizer, "weights_")


def test_primal_without_data_after_online_training_asks_for_data():
    with pytest.raises(ValueError, match="pass X and y"):
        LaRank(Multiclass()).partial_fit(X, Y).primal()


class Wrong(Ordinal):
    """A user's problem with one thing wrong, from a certain moment on."""

    wrong = None

    def joint_feature(self, x, y):
        good = super().joint_feature(x, y)
        bad = {
            "nan": good * NAN, "inf": good + INF, "short": good[:-1], "long": np.append(good, 1.0),
            "index": ([0, 8], [1.0, 1.0]), "negative index": ([-1], [1.0]), "real index": ([0.5], [1.0]),
            "dict": {8: 1.0}, "dict nan": {0: NAN}, "uneven": ([0, 1], [1.0]),
            "sparse wide": sparse.csr_array(np.ones((1, 9))), "two rows": sparse.csr_array(np.ones((2, 8))),
        }  # fmt: skip
        return bad.get(self.wrong, good)

    def loss(self, y, other):
        return {"negative loss": -1.0, "nan loss": NAN, "inf loss": INF}.get(self.wrong, super().loss(y, other))

    def argmax(self, x, w):
        return 17 if self.wrong == "outside" else super().argmax(x, w)

    def loss_augmented_argmax(self, x, y, w):
        return 17 if self.wrong == "outside" else super().loss_augmented_argmax(x, y, w)


@pytest.mark.parametrize("optimizer_class", [LaRank, SVMStruct, Perceptron])
@pytest.mark.parametrize(("wrong", "match"), [
    ("nan", "NaN or infinity"), ("inf", "NaN or infinity"), ("short", r"shape \(7,\), but n_features is 8"),
    ("long", "shape"), ("index", r"index 8, outside 0\.\.7"), ("negative index", "index -1, outside"),
    ("real index", "whole numbers"), ("dict", "index 8"), ("dict nan", "NaN"), ("uneven", "2 indices but 1 values"),
    ("sparse wide", "shape"), ("two rows", "shape"), ("negative loss", "finite and not negative"),
    ("nan loss", "finite and not negative"), ("inf loss", "finite and not negative"), ("outside", "returned 17"),
])  # fmt: skip
def test_a_wrong_problem_is_caught_and_changes_nothing(optimizer_class, wrong, match):
    data, grades = ordinal_data()
    problem = Wrong()
    optimizer = optimizer_class(problem).partial_fit(data, grades)
    before = state_of(optimizer)
    problem.wrong = wrong
    with pytest.raises(ValueError, match=match):
        optimizer.partial_fit(data, grades)
    problem.wrong = None
    assert_same_bytes(state_of(optimizer), before)
    untouched = optimizer_class(Wrong()).partial_fit(data, grades).partial_fit(data, grades)
    assert_same_bytes(state_of(optimizer.partial_fit(data, grades)), state_of(untouched), but=["slots"])


def test_an_output_outside_the_space_is_refused_before_training():
    data, grades = ordinal_data()
    optimizer = LaRank(Ordinal()).fit(data, grades)
    before = state_of(optimizer)
    with pytest.raises(ValueError, match=r"y\[1\] = 5 is not one of the outputs"):
        optimizer.partial_fit(data[:2], [0, 5])
    assert_same_bytes(state_of(optimizer), before)


@pytest.mark.parametrize("size", [None, 0, -3, 2.5, 2**31])
def test_a_problem_needs_a_number_of_features(size):
    class Sizeless(Ordinal):
        n_features = size

    with pytest.raises(ValueError, match="n_features must be a number from 1"):
        LaRank(Sizeless()).fit(*ordinal_data())


def test_a_problem_needs_candidates_or_an_argmax():
    class Bare(Problem):
        n_features = 3

        def joint_feature(self, x, y):
            return x

    optimizer = LaRank(Bare())
    with pytest.raises(TypeError, match=r"needs either candidates\(x\), or both argmax"):
        optimizer.fit([np.ones(3)], [1])
    with pytest.raises(NotFittedError):
        optimizer.predict([np.ones(3)])


def test_slack_rescaling_of_a_problem_without_candidates_is_refused():
    class Argmax(Ordinal):
        candidates = Problem.candidates

        def argmax(self, x, w):
            return 0

        loss_augmented_argmax = Problem.loss_augmented_argmax

    for options in ({"rescaling": "slack"}, {"slack": "l2"}):
        with pytest.raises(TypeError, match=r"must define candidates\(x\)"):
            LaRank(Argmax(), **options).fit(*ordinal_data())


@pytest.mark.parametrize("scale", [1e160, 1e200, 1e308])
def test_features_too_large_to_square_are_refused(scale):
    optimizer = LaRank(Multiclass())
    with pytest.raises(ValueError, match="too large"):
        optimizer.fit(np.clip(X, -1, 1) * scale, Y)
