"""A user's problem that is wrong gets one clear exception, and the optimizer is what it was before."""

import copy

import numpy as np
import pytest
from scipy import sparse

from structsvm import LaRank, NotFittedError, Perceptron, Problem, SVMStruct
from tests.structsvm.helpers import Ordinal, assert_same_bytes, ordinal_data, state_of

NAN, INF = float("nan"), float("inf")

BAD_FEATURES = {
    "nan": lambda good: good * NAN,
    "inf": lambda good: good + INF,
    "short": lambda good: good[:-1],
    "long": lambda good: np.append(good, 1.0),
    "index": lambda good: ([0, 8], [1.0, 1.0]),
    "negative index": lambda good: ([-1], [1.0]),
    "real index": lambda good: ([0.5], [1.0]),
    "dict": lambda good: {8: 1.0},
    "dict nan": lambda good: {0: NAN},
    "uneven": lambda good: ([0, 1], [1.0]),
    "sparse wide": lambda good: sparse.csr_array(np.ones((1, 9))),
    "two rows": lambda good: sparse.csr_array(np.ones((2, 8))),
}


class Wrong(Ordinal):
    """A user's problem with one thing wrong, from a certain moment on."""

    wrong = None

    def joint_feature(self, x, y):
        good = super().joint_feature(x, y)
        return BAD_FEATURES[self.wrong](good) if self.wrong in BAD_FEATURES else good

    def loss(self, y, other):
        return {"negative loss": -1.0, "nan loss": NAN, "inf loss": INF}.get(
            self.wrong, super().loss(y, other)
        )

    def argmax(self, x, w):
        return 17 if self.wrong == "outside" else super().argmax(x, w)

    def loss_augmented_argmax(self, x, y, w):
        return 17 if self.wrong == "outside" else super().loss_augmented_argmax(x, y, w)


@pytest.mark.parametrize("optimizer_class", [LaRank, SVMStruct, Perceptron])
@pytest.mark.parametrize(("wrong", "match"), [
    ("nan", "NaN or infinity"), ("inf", "NaN or infinity"), ("short", r"shape \(7,\), but n_features is 8"),
    ("long", "shape"), ("index", r"index 8, outside 0\.\.7"), ("negative index", "index -1, outside"),
    ("real index", "must be integers"), ("dict", "index 8"), ("dict nan", "NaN"),
    ("uneven", "2 indices but 1 values"),
    ("sparse wide", "shape"), ("two rows", "shape"), ("negative loss", "finite and at least 0"),
    ("nan loss", "finite and at least 0"), ("inf loss", "finite and at least 0"),
    ("outside", "returned 17"),
])  # fmt: skip
def test_a_wrong_problem_is_caught_and_changes_nothing(optimizer_class, wrong, match):
    data, grades = ordinal_data(10)
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


class Enumerated(Problem):
    """A few outputs of any type, told apart by their place."""

    n_features = 3

    def __init__(self, outputs):
        self.outputs = outputs

    def place(self, y):
        return next(k for k, other in enumerate(self.outputs) if y is other)

    def joint_feature(self, x, y):
        return {self.place(y): x}

    def candidates(self, x):
        return self.outputs


@pytest.mark.parametrize("outputs", [
    [(1, (2, 3)), (1, 2), ((1, 2), 3)],
    [np.array([1, 2]), np.array([1, 3]), np.array([1, 2, 3])],
    [(np.array([1, 2]), np.array([1])), (np.array([1, 2]), np.array([2])), (np.array([1]),)],
    [np.array([]), np.array([0]), np.array([1])],
], ids=["trees", "arrays", "tuples of arrays", "empty"])  # fmt: skip
def test_outputs_of_any_shape_are_compared(outputs):
    problem = Enumerated(outputs)
    assert [[problem.loss(a, b) for b in outputs] for a in outputs] == (1 - np.eye(3)).tolist()
    assert all(problem.contains(1.0, copy.deepcopy(y)) for y in outputs)
    assert not problem.contains(1.0, (9, (9, 9)))
    LaRank(problem).fit([1.0, 1.0, -1.0], outputs)


def test_outputs_that_cannot_be_compared_say_so():
    class Odd:
        def __eq__(self, other):
            raise ValueError("ambiguous")

    with pytest.raises(ValueError, match="Odd cannot be compared with =="):
        Enumerated([Odd(), Odd(), Odd()]).loss(Odd(), Odd())
