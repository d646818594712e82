"""One slack for all examples: another working set, the same optimum as n slacks and as LaRank."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structsvm import KernelSVMStruct, LaRank, Multiclass, SVMStruct
from structsvm.problems import SequenceLabels, SequenceProblem, Sequences
from tests.structsvm.helpers import (
    Ordinal,
    SlowMulticlass,
    assert_same_bytes,
    noisy_classes,
    ordinal_data,
    state_of,
)
from tests.structsvm.qp import small_problem


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), C=st.sampled_from([0.03, 0.3, 3.0]))
def test_one_slack_reaches_the_optimum_of_all_slacks(rescaling, seed, C):
    problem, X, y, weight, best = small_problem(seed, C, rescaling, "l1")
    epsilon = 1e-7 * best.dual / (C * weight.sum())
    one = SVMStruct(problem, C=C, epsilon=epsilon, rescaling=rescaling, formulation="1-slack")
    one.fit(X, y, weight)
    assert one.dual_ == pytest.approx(best.dual, rel=1e-6)
    assert one.primal() == pytest.approx(best.primal, rel=1e-6)


def sentences(n=30, labels=4, features=20, seed=0):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 7, n)
    ptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    codes = rng.integers(labels, size=ptr[-1]).astype(np.int32)
    rows = np.stack([codes * 4 + rng.integers(4, size=ptr[-1]), rng.integers(16, features, size=ptr[-1])])
    token_ptr = 2 * np.arange(ptr[-1] + 1, dtype=np.int64)
    return Sequences(rows.T.ravel().astype(np.int32), token_ptr, ptr), SequenceLabels(codes, ptr)


def test_three_solvers_agree_on_sequences():
    X, y = sentences()
    options = {"C": 0.1}
    larank = LaRank(SequenceProblem(4), gap_tolerance=1e-4, **options).fit(X, y)
    for formulation in ("n-slack", "1-slack"):
        other = SVMStruct(SequenceProblem(4), epsilon=1e-4, formulation=formulation, **options).fit(X, y)
        assert other.dual_ == pytest.approx(larank.dual_, rel=1e-3)
        assert other.primal() == pytest.approx(larank.primal(), rel=1e-3)


def test_epsilon_bounds_the_gap_as_with_n_slacks():
    X, y = noisy_classes(60)
    weight = np.random.default_rng(0).uniform(0.5, 2, 60)
    for epsilon in (0.5, 0.05, 0.005):
        for formulation in ("n-slack", "1-slack"):
            one = SVMStruct(Multiclass(), C=0.7, epsilon=epsilon, formulation=formulation).fit(X, y, weight)
            # Its working set is optimized up to a tenth of epsilon.
            assert -1e-9 < one.gap() <= 1.2 * epsilon * 0.7 * weight.sum()


def test_both_doors_and_a_second_run_end_at_the_same_place():
    X, y = noisy_classes(30, seed=3)
    fast, again, slow = (
        SVMStruct(problem(), C=0.3, epsilon=1e-5, formulation="1-slack").fit(X, y)
        for problem in (Multiclass, Multiclass, SlowMulticlass)
    )
    assert_same_bytes(state_of(fast), state_of(again))
    assert fast.dual_ == pytest.approx(slow.dual_, rel=1e-5)
    np.testing.assert_allclose(fast.weights_, slow.weights_, atol=0.02)
    assert np.array_equal(fast.predict(X), slow.predict(X))


def test_the_dual_is_that_of_its_coefficients_and_never_falls():
    X, y = noisy_classes(50)
    optimizer = SVMStruct(Multiclass(), C=0.3, epsilon=1e-3, formulation="1-slack").fit(X, y)
    state = optimizer._machine.state()
    w = np.zeros(len(state["weights"]))
    output = np.repeat(np.arange(len(state["alpha"])), state["lengths"])
    np.add.at(w, state["indices"], state["alpha"][output] * state["values"])
    np.testing.assert_allclose(w, state["weights"], atol=1e-9)
    assert optimizer.dual_ == pytest.approx(state["alpha"] @ state["loss"] - w @ w / 2, rel=1e-9)
    assert state["alpha"].sum() <= 0.3 * 50 * (1 + 1e-12)
    duals = [point.dual for point in optimizer.curve_]
    assert duals == sorted(duals)


def test_constraints_are_few_and_each_asks_every_example():
    X, y = noisy_classes(200)
    many = SVMStruct(Multiclass(), C=0.1).fit(X, y)
    one = SVMStruct(Multiclass(), C=0.1, formulation="1-slack").fit(X, y)
    assert one.n_support_patterns_ == 1
    assert one.n_support_vectors_ < many.n_support_vectors_ / 3
    assert one.n_argmax_ % 200 == 0
    assert one.n_constraints_ == one.n_argmax_ // 200 - 1  # each round but the last adds one
    assert many.n_constraints_ >= many.n_support_vectors_ - many.n_support_patterns_


def test_a_problem_in_python_and_a_pickle_in_between():
    X, y = ordinal_data()
    whole = SVMStruct(Ordinal(), epsilon=0.01, formulation="1-slack").fit(X, y)
    many = SVMStruct(Ordinal(), epsilon=0.01).fit(X, y)
    assert whole.dual_ == pytest.approx(many.dual_, rel=0.02)
    again = pickle.loads(pickle.dumps(whole))
    assert again.predict(X) == whole.predict(X)
    for optimizer in (whole, again):
        optimizer.partial_fit(X[:20], 4 - np.asarray(y[:20]))
    assert np.array_equal(again.weights_, whole.weights_)
    assert again.n_support_patterns_ == 2


def test_batches_come_and_go():
    # A batch without anything to learn leaves no trace; one with something keeps its examples.
    X, y = noisy_classes(40, noise=0.1)
    optimizer = SVMStruct(Multiclass(), C=10.0, formulation="1-slack").fit(X, y)
    oracle = optimizer._machine.oracle
    assert (oracle.n_stored, oracle.inner.n_stored) == (1, 40)
    optimizer.partial_fit(3 * X[:10], y[:10])
    optimizer.partial_fit(X[:10], (y[:10] + 1) % 4)
    assert oracle.n_stored == optimizer.n_support_patterns_ == 2
    assert oracle.inner.n_stored == 50


def test_slots_of_dropped_batches_are_given_out_again():
    X, y = noisy_classes(40, noise=0.1)
    optimizer = SVMStruct(Multiclass(), C=10.0, formulation="1-slack").fit(X, y)
    for _ in range(20):
        optimizer.partial_fit(3 * X[:10], y[:10])  # nothing to learn
    oracle = optimizer._machine.oracle
    assert oracle.n_stored == 1
    slots = [int(oracle.add(X[:5], y[:5])[0]) for _ in range(3)]
    assert max(slots) <= 4
    assert len(set(slots)) == oracle.n_stored - 1 == 3
    np.testing.assert_array_equal(oracle.shares(slots[2]), np.ones(5))


def test_batches_whose_sizes_do_not_fit_are_refused():
    X, y = noisy_classes(10)
    oracle = SVMStruct(Multiclass(), formulation="1-slack").fit(X, y)._machine.oracle
    slots = oracle.add(X, y)
    stored = oracle.rows(slots)
    assert len(oracle.add_rows(**stored)) == 1
    for change in (
        {"shares": stored["shares"][:-1]},
        {"counts": stored["counts"] + 1},
        {"counts": np.array([-1, 11])},
        {"counts": stored["counts"] + 1, "shares": np.ones(11)},
    ):
        with pytest.raises(ValueError, match="examples with"):
            oracle.add_rows(**{**stored, **change})
    with pytest.raises(ValueError, match="weights for 10 examples"):
        oracle.slot_weights(slots, np.ones(11))


def test_squared_slacks_and_unknown_formulations_are_refused():
    X, y = noisy_classes(20)
    with pytest.raises(ValueError, match="supports only slack"):
        SVMStruct(Multiclass(), formulation="1-slack", slack="l2").fit(X, y)
    with pytest.raises(ValueError, match="formulation must be"):
        SVMStruct(Multiclass(), formulation="2-slack").fit(X, y)
    with pytest.raises(ValueError, match="formulation='n-slack'"):
        KernelSVMStruct(Multiclass(), kernel="rbf", formulation="1-slack").fit(X, y)
    with pytest.raises(ValueError, match="pickle the optimizer"):
        SVMStruct(Multiclass(), formulation="1-slack").fit(X, y).state()


@pytest.mark.parametrize("where", [0, 100])
def test_an_exception_in_an_example_leaves_a_model_that_continues(where):
    class Failing(Ordinal):
        calls = 0

        def loss_augmented_argmax(self, x, y, w):
            Failing.calls += 1
            if Failing.calls == where:
                raise KeyboardInterrupt
            return super().loss_augmented_argmax(x, y, w)

    X, y = ordinal_data()
    optimizer = SVMStruct(Failing(), formulation="1-slack")
    if where:
        with pytest.raises(KeyboardInterrupt):
            optimizer.fit(X, y)
        assert 0 <= optimizer.dual_ <= optimizer.primal()
    optimizer.fit(X, y)
    assert optimizer.gap() <= 1.2 * 0.01 * len(X)
