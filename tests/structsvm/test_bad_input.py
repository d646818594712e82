"""Bad input gets one clear exception, and the optimizer is what it was before."""

import numpy as np
import pytest
from scipy import sparse

from structsvm import (
    AmbiguousBags,
    LaRank,
    Multiclass,
    NotFittedError,
    PassiveAggressive,
    Perceptron,
    SVMStruct,
)
from structsvm.validation import check_matrix, check_sample_weight
from tests.structsvm.helpers import OPTIMIZERS, assert_same_bytes, noisy_classes, state_of, unaligned

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
    assert_unharmed(
        optimizer, lambda: getattr(optimizer, method)(X, with_label(label)), ValueError, r"label|NaN"
    )


@pytest.mark.parametrize("method", ["partial_fit", "primal"])
def test_a_matrix_of_another_width_is_refused(method):
    optimizer = LaRank(Multiclass()).fit(X, Y)
    assert_unharmed(
        optimizer, lambda: getattr(optimizer, method)(X[:, :3], Y), ValueError, "X has 3 features"
    )
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
      for C in (0, -1.0, NAN, -INF, "1", None, True)),
    ("larank", {"C": INF}, "C must be"), ("passive-aggressive", {"C": INF}, "C must be"),
    *(("larank", {name: value}, name) for name, value in [
        ("schedule", "random"), ("clock", "sun"), ("rescaling", "both"), ("slack", "l3"), ("tau", 0),
        ("kappa", -1),
        ("mu", 0), ("mu", 2.0), ("epochs", 0), ("epochs", 1.5), ("n_reprocess", -1), ("n_reprocess", 1.0),
        ("gap_tolerance", 0), ("gap_tolerance", "D"), ("random_state", "x"), ("random_state", -1),
        ("random_state", 1.5), ("random_state", True),
    ]),
    ("svmstruct", {"epsilon": 0}, "epsilon"),
    ("svmstruct", {"epsilon": NAN}, "epsilon"),
    ("svmstruct", {"new_constraints": 0}, "new_constraints"),
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


def test_one_class_is_shown_as_you_wrote_it():
    with pytest.raises(ValueError, match=r"^one class only \('a'\);"):
        LaRank(Multiclass()).fit(X, ["a"] * 40)


@pytest.mark.parametrize("bags", [["cat", "dog"], [1, 2], [None, [1]]], ids=["words", "numbers", "none"])
def test_plain_labels_are_not_bags(bags):
    for problem in (AmbiguousBags(), AmbiguousBags(classes=[1, 2])):
        with pytest.raises(ValueError, match="is not a bag of labels"):
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
        with pytest.raises(NotFittedError, match="has seen no data; call fit or partial_fit first"):
            ask()
    assert not hasattr(optimizer, "weights_")


def test_primal_without_data_after_online_training_asks_for_data():
    with pytest.raises(ValueError, match="pass X and y"):
        LaRank(Multiclass()).partial_fit(X, Y).primal()


@pytest.mark.parametrize("scale", [1e160, 1e200, 1e308])
def test_features_too_large_to_square_are_refused(scale):
    optimizer = LaRank(Multiclass())
    with pytest.raises(ValueError, match="too large"):
        optimizer.fit(np.clip(X, -1, 1) * scale, Y)


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array])
def test_arrays_that_are_not_aligned_are_copied(wrap):
    rows = wrap(X)
    shifted = unaligned(X)
    if sparse.issparse(rows):
        shifted = sparse.csr_array((unaligned(rows.data), rows.indices, rows.indptr))
    checked = check_matrix(shifted)
    assert (checked.data if sparse.issparse(checked) else checked).flags.aligned
    assert check_sample_weight(unaligned(np.ones(3)), 3).flags.aligned
    assert type(check_matrix(np.ma.masked_array(X))) is np.ndarray
    found = LaRank(Multiclass()).fit(shifted, Y).weights_
    assert np.array_equal(found, LaRank(Multiclass()).fit(rows, Y).weights_)


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize(
    ("indptr", "indices", "said"),
    [
        ([0, 2, 4, 0], [0, 1, 0, 1], "its indptr must have 4 integers"),
        ([0, 10**6, 3, 4], [0, 1, 0, 1], "its indptr must have 4 integers"),
        ([0, 4], [0, 1, 0, 1], "its indptr must have 4 integers"),
        ([], [0, 1, 0, 1], "its indptr must have 4 integers"),
        ([0.0, 2.0, 3.0, 4.0], [0, 1, 0, 1], "its indptr must have 4 integers"),
        ([0, 2, 3, 4], [0, 1, 10**6, 1], "indices outside 0..2"),
        ([0, 2, 3, 4], [0.0, 1.0, 0.0, 1.0], "indices outside 0..2"),
    ],
)
def test_a_sparse_matrix_that_points_outside_its_arrays_is_rejected(make, indptr, indices, said):
    X = make((np.ones(4), np.array([0, 1, 0, 1]), np.array([0, 2, 3, 4])), shape=(3, 3))
    X.indptr, X.indices = np.array(indptr), np.array(indices)
    with pytest.raises(ValueError, match=said):
        check_matrix(X)


def broken(**parts):
    """A matrix of another format, with arrays replaced; SciPy would read outside them when it converts it."""
    X = {
        "bsr": sparse.bsr_array((np.ones((3, 1, 1)), [0, 1, 2], [0, 1, 2, 3]), shape=(3, 3)),
        "coo": sparse.coo_array((np.ones(3), ([0, 1, 2], [0, 1, 2])), shape=(3, 3)),
        "dia": sparse.dia_array((np.ones((1, 3)), [0]), shape=(3, 3)),
    }[parts.pop("format")]
    for name, values in parts.items():
        setattr(X, name, values)
    return X


@pytest.mark.parametrize(
    ("X", "said"),
    [
        (broken(format="bsr", indices=np.array([0, 1, 10**8])), "column indices outside 0..2"),
        (broken(format="bsr", indptr=np.array([0, 10**7, 2, 3])), "its indptr must have 4 integers"),
        (broken(format="bsr", indptr=np.array([0, 1])), "its indptr must have 4 integers"),
        (broken(format="coo", coords=(np.array([0, 10**7, 2]), np.arange(3))), "row indices outside 0..2"),
        (broken(format="coo", coords=(np.arange(3), np.array([0, -1, 2]))), "column indices outside 0..2"),
        (broken(format="coo", data=np.ones(2)), "row, col and data differ in length"),
        (broken(format="dia", offsets=np.arange(3)), "offsets and data differ in length"),
    ],
)
def test_a_matrix_of_another_format_is_checked_before_it_is_converted(X, said):
    with pytest.raises(ValueError, match=said):
        check_matrix(X)
