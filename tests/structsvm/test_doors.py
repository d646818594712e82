"""The compiled and the Python door lead to the same model."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from structsvm import LaRank, Multiclass, Problem
from structsvm._dual.gram import GramDual
from structsvm._dual.linear import LinearDual
from structsvm.optimizers import ParallelLaRank
from tests.structsvm.helpers import (
    DUAL_OPTIMIZERS,
    OPTIMIZERS,
    SlowMulticlass,
    assert_same_bytes,
    noisy_classes,
    state_of,
)


def assert_same_model(fast, slow, X, y):
    np.testing.assert_allclose(fast.weights_, slow.weights_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(fast.dual_, slow.dual_, rtol=1e-9)
    assert fast.n_argmax_ == slow.n_argmax_
    assert fast.n_support_patterns_ == slow.n_support_patterns_
    assert fast.n_support_vectors_ == slow.n_support_vectors_
    assert fast.primal() == pytest.approx(slow.primal(), rel=1e-9)
    assert np.array_equal(fast.predict(X), slow.predict(X))


def in_eighths(values):
    """Values of which both doors compute exact differences: violations tie after a step."""
    return np.round(values * 8) / 8


@pytest.mark.parametrize("name", [name for name in OPTIMIZERS if name != "adaptive"])
@settings(max_examples=5)
@given(seed=st.integers(0, 1000), with_features=st.booleans(), fit_intercept=st.booleans())
def test_both_doors_give_the_same_model(name, seed, with_features, fit_intercept):
    X, y = noisy_classes(20, seed=seed)
    X = in_eighths(X)
    rng = np.random.default_rng(seed)
    options = {
        "loss": rng.uniform(0.3, 2, (4, 4)) * (1 - np.eye(4)),
        "output_features": in_eighths(rng.normal(size=(4, 3))) if with_features else None,
        "fit_intercept": fit_intercept,
    }
    weight = rng.uniform(0.5, 2, 20)
    fast = OPTIMIZERS[name](Multiclass(**options)).fit(X, y, weight)
    slow = OPTIMIZERS[name](SlowMulticlass(**options)).fit(X, y, weight)
    assert_same_model(fast, slow, X, y)


@pytest.mark.parametrize(("rescaling", "slack"), [("slack", "l1"), ("margin", "l2"), ("slack", "l2")])
@pytest.mark.parametrize("name", [name for name in DUAL_OPTIMIZERS if name != "adaptive"])
def test_both_doors_agree_on_every_form_of_the_problem(name, rescaling, slack):
    X, y = noisy_classes(20, seed=4)
    loss = np.random.default_rng(4).uniform(0.3, 2, (4, 4)) * (1 - np.eye(4))
    make = DUAL_OPTIMIZERS[name]
    fast = make(Multiclass(loss=loss), rescaling=rescaling, slack=slack).fit(X, y)
    slow = make(SlowMulticlass(loss=loss), rescaling=rescaling, slack=slack).fit(X, y)
    assert_same_model(fast, slow, X, y)


@pytest.mark.parametrize("slack", ["l1", "l2"])
@pytest.mark.parametrize("kind", ["normal", "counts", "binary", "signs", "empty rows"])
def test_shared_inputs_round_as_copied_ones(kind, slack):
    # Bytes, not tolerances: after a step, violations tie, and rounding decides which output is next.
    X, y = noisy_classes(40, width=9, seed=6)
    if kind == "empty rows":
        X[::5] = 0
    elif kind != "normal":
        X = np.clip(np.round(X), *{"counts": (0, 3), "binary": (0, 1), "signs": (-1, 1)}[kind])
    models = [
        LaRank(problem(fit_intercept=intercept), C=0.5, epochs=3, slack=slack).fit(sparse.csr_array(X), y)
        for intercept in (False, True)
        for problem in (Multiclass, SlowMulticlass)
    ]
    for fast, slow in (models[:2], models[2:]):
        # Their costs differ, but both store patterns in the same slots.
        assert_same_bytes(state_of(fast), state_of(slow), but=("objective",))
        assert fast.dual_ == slow.dual_


class Searching(SlowMulticlass):
    """Finds outputs by its own search; there are no candidates to enumerate."""

    candidates = Problem.candidates

    def argmax(self, x, w):
        return max(self.classes_, key=lambda y: self.score(x, y, w))

    def loss_augmented_argmax(self, x, y, w):
        return max(self.classes_, key=lambda other: self.loss(y, other) + self.score(x, other, w))

    def most_violated(self, x, y, w, violation):
        return max(self.classes_, key=violation)


@pytest.mark.parametrize(("rescaling", "slack"), [("slack", "l1"), ("margin", "l2"), ("slack", "l2")])
def test_an_own_search_serves_every_form_of_the_problem(rescaling, slack):
    X, y = noisy_classes(20, seed=4)
    loss = np.random.default_rng(4).uniform(0.3, 2, (4, 4)) * (1 - np.eye(4))
    fast = LaRank(Multiclass(loss=loss), rescaling=rescaling, slack=slack).fit(X, y)
    slow = LaRank(Searching(loss=loss), rescaling=rescaling, slack=slack).fit(X, y)
    assert_same_model(fast, slow, X, y)


def test_both_doors_converge_to_one_dual_with_the_adaptive_schedule():
    # Their costs differ, and with them the steps drawn; the optimum does not.
    X, y = noisy_classes(20, seed=5)
    duals = [
        LaRank(problem, schedule="adaptive", gap_tolerance=1e-6).fit(X, y).dual_
        for problem in (Multiclass(), SlowMulticlass())
    ]
    assert duals[0] == pytest.approx(duals[1], rel=1e-6)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_dense_sparse_and_single_precision_inputs_give_the_same_model(name):
    X, y = noisy_classes(40)
    X[abs(X) < 0.7] = 0
    X = X.astype(np.float32)
    dense = OPTIMIZERS[name](Multiclass()).fit(X.astype(np.float64), y)
    for same in (
        X,
        sparse.csr_matrix(X),
        sparse.csr_array(X),
        sparse.coo_array(X),
        X.tolist(),
        np.asfortranarray(X),
    ):
        other = OPTIMIZERS[name](Multiclass()).fit(same, y)
        assert np.array_equal(other.weights_, dense.weights_)
        assert np.array_equal(other.predict(same), dense.predict(X))


def test_training_leaves_the_callers_sparse_matrix_alone():
    def arrays():
        return np.array([1.0, 2, 3, 4]), np.array([1, 1, 2, 0]), np.array([0, 2, 4])

    X = sparse.csr_array(arrays(), shape=(2, 4))
    for array in (X.data, X.indices, X.indptr):
        array.flags.writeable = False
    optimizer = LaRank(Multiclass()).fit(X, [0, 1])
    optimizer.predict(X)
    for array, before in zip((X.data, X.indices, X.indptr), arrays(), strict=True):
        assert np.array_equal(array, before)
    again = LaRank(Multiclass()).fit(np.array([[0, 3.0, 0, 0], [4, 0, 3, 0]]), [0, 1])
    assert np.array_equal(optimizer.weights_, again.weights_)


@pytest.mark.parametrize("labels", [["a", "b", "c", "d"], [10, -3, 7, 99], [0.0, 1.0, 2.0, 3.0]])
def test_labels_come_back_as_they_were_given(labels):
    X, y = noisy_classes(40, noise=0.2)
    labels = np.array(labels)
    optimizer = LaRank(Multiclass(), epochs=5).fit(X, labels[y])
    assert np.array_equal(optimizer.predict(X), labels[y])


def test_two_duals_over_one_oracle_each_take_the_differences_they_know():
    X, y = noisy_classes(30, width=5, seed=3, noise=2.0)
    problem = Multiclass(fit_intercept=False)
    problem.prepare(X, y)
    steps = {"C": 0.05, "tau": 1e-3, "kappa": 0.1, "seed": 0}

    def trained(one, other):
        linear = LinearDual(one, **steps)
        linear.admit(slots, np.ones(30))
        linear.visit(slots)
        gram = GramDual(other, np.eye(5), offset=0, stride=4, eta=1.0, **steps)
        gram.admit(slots, np.ones(30))
        for dual in (gram, linear, gram, linear):
            dual.visit(slots)
        return linear, gram

    one, other = problem.oracle(), problem.oracle()
    slots = one.add(X, y)
    other.add(X, y)
    for together, alone in zip(trained(one, one), trained(one, other), strict=True):
        assert_same_bytes(together.state(), alone.state())
        assert together.slacks(slots).tobytes() == alone.slacks(slots).tobytes()


@pytest.mark.parametrize("kind", ["normal", "counts"])
def test_shards_round_shared_inputs_as_copied_ones(kind):
    X, y = noisy_classes(60, k=20, width=20, seed=6)  # the weights of a feature fill several blocks of w
    X = np.where(np.abs(X) < 0.5, 0, X if kind == "normal" else np.clip(np.round(X), 0, 3))
    fast, slow = (
        ParallelLaRank(problem(), C=0.5, epochs=3, shards=3, jobs=2).fit(sparse.csr_array(X), y)
        for problem in (Multiclass, SlowMulticlass)
    )
    assert_same_bytes(state_of(fast), state_of(slow), but=("objective",))
