"""String kernels against their definition, and the choice among strings against the plain problem."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structsvm import KernelLaRank, LaRank, Multiclass, SVMStruct
from structsvm.problems import StringProblem
from structsvm.problems.string import subsequence_features, subsequence_kernel
from structsvm.problems.taxonomies import similarity_features

strings = st.text("abc", max_size=6)


def by_definition(string, subsequence, decay):
    """The sum over all places where the subsequence is found of decay^(places from its first to its last)."""
    return sum(
        decay ** (places[-1] - places[0] + 1)
        for places in combinations(range(len(string)), len(subsequence))
        if all(string[place] == letter for place, letter in zip(places, subsequence, strict=True))
    )


@settings(max_examples=50)
@given(a=strings, b=strings, length=st.integers(1, 4), decay=st.sampled_from([0.01, 0.5, 1.0]))
def test_the_kernel_and_its_features_are_those_of_the_definition(a, b, length, decay):
    u, v = ([by_definition(s, each, decay) for each in product("abc", repeat=length)] for s in (a, b))
    kernel = subsequence_kernel(a, b, length=length, decay=decay)
    assert kernel == pytest.approx(np.dot(u, v), rel=1e-9, abs=1e-15)
    features = subsequence_features([a, b], alphabet="abc", length=length, decay=decay)
    for row, expected in zip(features, (u, v), strict=True):
        np.testing.assert_allclose(row, np.array(expected) / (np.linalg.norm(expected) or 1), atol=1e-12)


def some_strings(n=30, seed=0):
    rng = np.random.default_rng(seed)
    X = ["".join(rng.choice(list("abc"), rng.integers(4, 8))) for _ in range(n)]
    return X, [max("abc", key=x.count) * 2 + x[0] for x in X]


def test_a_string_problem_is_its_kernel_on_both_sides():
    X, y = some_strings()
    explicit = LaRank(StringProblem(decay=0.5), C=10.0, gap_tolerance=1e-4).fit(X, y)

    def normalised(strings):
        K = np.array([[subsequence_kernel(a, b, decay=0.5) for b in strings] for a in strings])
        return K / np.sqrt(np.outer(K.diagonal(), K.diagonal()))

    outputs = sorted(set(y))
    L = normalised(outputs)
    problem = Multiclass(
        classes=outputs,
        output_features=similarity_features(L),
        loss=np.clip(1 - L, 0, 1) * (1 - np.eye(len(L))),
    )
    implicit = KernelLaRank(problem, kernel="precomputed", C=10.0, gap_tolerance=1e-4).fit(normalised(X), y)
    assert explicit.dual_ == pytest.approx(implicit.dual_, rel=1e-3)
    assert np.mean(explicit.predict(X) == np.array(y)) > 0.9


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_candidates_of_all_outputs_are_the_compiled_problem(rescaling):
    X, y = some_strings(12)
    outputs = sorted(set(y))
    fast, slow = (
        SVMStruct(StringProblem(decay=0.5, generate=generate), epsilon=1e-4, rescaling=rescaling).fit(X, y)
        for generate in (None, lambda x: outputs)
    )
    assert fast.dual_ == pytest.approx(slow.dual_, rel=1e-3)
    assert list(fast.predict(X)) == list(slow.predict(X))


def test_only_what_is_generated_is_answered():
    X, y = some_strings()
    problem = StringProblem(outputs=["aaa", *y], generate=lambda x: [s for s in y if s[-1] == x[0]])
    answers = LaRank(problem, epochs=2).fit(X, y).predict(X)
    assert all(answer[-1] == x[0] for answer, x in zip(answers, X, strict=True))


@pytest.mark.parametrize(
    ("X", "y", "options", "message"),
    [
        ("abc", "abc", {}, "is a single string"),
        (["abc", 3], ["a", "b"], {}, r"X\[1\] = 3 is not a string"),
        (["abc", "abd"], ["aab", "bba"], {"alphabet": "abc"}, "'abd' has the letter 'd'"),
        (["abc", "abd"], ["aab", "bba"], {"length": 0}, "length"),
        (["abc", "abd"], ["aab", "bba"], {"decay": 1.5}, "decay must be"),
        (["abcdefghijklmnop" * 2, "abd"], ["aab", "bba"], {"length": 6}, "too many to enumerate"),
    ],
)
def test_wrong_strings_are_refused(X, y, options, message):
    with pytest.raises(ValueError, match=message):
        LaRank(StringProblem(**options)).fit(X, y)
