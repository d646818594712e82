"""What holds of the dual at every moment, whatever the schedule."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structsvm import LaRank, Multiclass, Problem, SVMStruct
from tests.structsvm.helpers import DUAL_OPTIMIZERS, Ordinal, assert_invariants, noisy_classes, ordinal_data

forms = st.fixed_dictionaries(
    {"rescaling": st.sampled_from(["margin", "slack"]), "slack": st.sampled_from(["l1", "l2"])}
)
scales = st.sampled_from([0.01, 0.3, 10.0])


@pytest.mark.parametrize("name", DUAL_OPTIMIZERS)
@given(form=forms, C=scales, seed=st.integers(0, 1000), weighted=st.booleans())
def test_invariants_hold_after_every_slice(name, form, C, seed, weighted):
    X, y = noisy_classes(30, seed=seed)
    rng = np.random.default_rng(seed)
    weight = rng.uniform(0.1, 3, 30) if weighted else None
    loss = rng.uniform(0.3, 2, (4, 4)) * (1 - np.eye(4))
    optimizer = DUAL_OPTIMIZERS[name](Multiclass(loss=loss), C=C, random_state=seed, **form)
    plain_visit, duals = optimizer._visit, [0.0]

    def one_at_a_time(order):
        for k in range(len(order)):
            plain_visit(order[k : k + 1])
            duals.append(optimizer.dual_)
            assert duals[-1] >= duals[-2]
            assert_invariants(optimizer)

    optimizer._visit = one_at_a_time
    optimizer.fit(X, y, weight)
    assert_invariants(optimizer)
    assert optimizer.dual_ > 0
    assert optimizer.dual_ <= optimizer.primal() * (1 + 1e-12)
    curve = [point.dual for point in optimizer.curve_]
    assert curve == sorted(curve)


@pytest.mark.parametrize("name", DUAL_OPTIMIZERS)
def test_invariants_hold_for_a_problem_written_in_python(name):
    X, y = ordinal_data()
    optimizer = DUAL_OPTIMIZERS[name](Ordinal()).fit(X, y)
    assert_invariants(optimizer)
    assert 0 < optimizer.dual_ <= optimizer.primal()
    assert np.mean(optimizer.predict(X) == y) > np.mean(y == np.bincount(y).argmax())


@pytest.mark.parametrize("name", DUAL_OPTIMIZERS)
def test_the_dual_stays_below_the_primal_of_the_data_seen_online(name):
    X, y = noisy_classes(90, seed=3)
    optimizer = DUAL_OPTIMIZERS[name](Multiclass())
    for start in range(0, 90, 30):
        optimizer.partial_fit(X[start : start + 30], y[start : start + 30])
        assert_invariants(optimizer)
        assert optimizer.dual_ <= optimizer.primal(X[: start + 30], y[: start + 30])
        assert optimizer.gap(X[: start + 30], y[: start + 30]) >= 0


@given(C=st.sampled_from([0.1, 1.0]), data_seed=st.integers(0, 100), form=forms)
def test_converged_duals_of_two_seeds_agree(C, data_seed, form):
    X, y = noisy_classes(40, seed=data_seed)
    duals = [
        LaRank(Multiclass(), C=C, epochs=60, random_state=seed, **form).fit(X, y).dual_ for seed in (1, 2)
    ] + [SVMStruct(Multiclass(), C=C, epsilon=1e-3, random_state=3, **form).fit(X, y).dual_]
    assert max(duals) - min(duals) < 1e-3 * max(duals)


def test_primal_ignores_the_state():
    X, y = noisy_classes(40)
    optimizer = LaRank(Multiclass()).fit(X, y)
    before, argmax = optimizer._machine.state(), optimizer.n_argmax_
    first = optimizer.primal()
    other = optimizer.primal(X[:7], y[:7], np.full(7, 2.0))
    assert optimizer.primal() == first
    assert optimizer.primal(X, y) == pytest.approx(first, rel=1e-12)
    assert other < first
    assert optimizer.n_argmax_ == argmax
    for name, array in optimizer._machine.state().items():
        assert array.tobytes() == before[name].tobytes(), name


def test_primal_is_the_written_out_objective():
    X, y = noisy_classes(25)
    weight = np.linspace(0.5, 2, 25)
    optimizer = LaRank(Multiclass(), C=0.3).fit(X, y, weight)
    scores = X @ optimizer.weights_.reshape(6, 4)
    xi = [max(float(c != t) + row[c] - row[t] for c in range(4)) for row, t in zip(scores, y, strict=True)]
    w = optimizer.weights_
    assert optimizer.primal() == pytest.approx(w @ w / 2 + 0.3 * weight @ xi, rel=1e-12)


def test_a_sample_weight_counts_like_copies_of_the_sample():
    X, y = noisy_classes(12, seed=8)
    times = np.arange(12) % 3 + 1
    weighted = LaRank(Multiclass(), gap_tolerance=1e-7).fit(X, y, times)
    copied = LaRank(Multiclass(), gap_tolerance=1e-7).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert weighted.dual_ == pytest.approx(copied.dual_, rel=1e-5)
    np.testing.assert_allclose(weighted.weights_, copied.weights_, atol=2e-3)


def test_the_adaptive_schedule_ends_where_nothing_is_left_to_gain():
    X, y = np.where(np.arange(40000)[:, None] % 2, 1.0, -1.0), np.arange(40000) % 2
    optimizer = LaRank(Multiclass(), C=100.0, schedule="adaptive").fit(X, y)
    assert optimizer.dual_ == pytest.approx(0.25)
    assert (optimizer._rates > 0).all()


def test_an_output_found_is_the_one_that_enters_where_rounding_hides_the_difference():
    # Violations near 2^39, where tau lies between half the distance of two numbers and all of it.
    class Scripted(Problem):
        n_features, asked = 3, 0

        def joint_feature(self, x, y):
            return np.eye(3)[y] / 128

        def loss(self, y, other):
            return 0.0 if y == other else 2.0**39 + (2.0**-13 if other == 2 else 0.0)

        def candidates(self, x):
            return range(3)

        def loss_augmented_argmax(self, x, y, w):
            self.asked += 1
            return 1 if self.asked == 1 else 2

    learner = LaRank(Scripted(), tau=1e-4).fit([None], [0])
    np.testing.assert_allclose(learner.weights_, np.array([1, 0, -1]) / 128)
    state = learner._machine.state()
    np.testing.assert_array_equal(state["loss"], [2.0**39 + 2.0**-13])
