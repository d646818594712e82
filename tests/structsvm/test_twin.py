"""The compiled optimizers take the same steps as their naive twins, pattern by pattern."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structsvm import LaRank, Multiclass, PassiveAggressive, Perceptron
from structsvm._dual.schedules import shuffled as compiled_shuffled
from structsvm._dual.schedules import sweep
from tests.structsvm.reference import MulticlassData, NaiveLaRank, naive_perceptron, shuffled


def random_data(seed, n=12, sparse=False):
    rng = np.random.default_rng(seed)
    k, width = rng.integers(2, 5), rng.integers(1, 4)
    X = rng.normal(size=(n, width)) * rng.choice([0.3, 1, 3])
    if sparse:
        X[rng.random(X.shape) < 0.4] = 0
    y = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    loss = rng.uniform(0.2, 2, size=(k, k)) * (1 - np.eye(k))
    weight = rng.choice([0.0, 0.5, 1, 2], size=n, p=[0.1, 0.3, 0.4, 0.2])
    weight[0] = 1
    return X, y, loss, weight


def assert_same_state(optimizer, twin):
    state = optimizer._machine.state()
    assert state["counts"].tolist() == [len(outputs) for _, outputs in twin.support]
    alphas = [out[0] for _, outputs in twin.support for out in outputs]
    np.testing.assert_allclose(state["alpha"], alphas, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(state["weights"], twin.w, rtol=1e-9, atol=1e-10)
    assert optimizer.dual_ == pytest.approx(twin.dual, rel=1e-10)
    assert optimizer.n_argmax_ == twin.n_argmax


def follow(optimizer, twin, X, y, weight, step, epochs=2):
    """Run both one pattern at a time, over several shuffled epochs of one data set."""
    seen = []
    plain_visit = optimizer._visit

    def watched(order):
        for k in range(len(order)):
            plain_visit(order[k : k + 1])
            step(int(order[k]))
            assert_same_state(optimizer, twin)
            seen.append(int(order[k]))

    optimizer._visit = watched
    optimizer.fit(X, y, weight)
    assert len(seen) == epochs * len(y)
    for epoch in range(epochs):
        assert seen[epoch * len(y) : (epoch + 1) * len(y)] == shuffled(
            optimizer.random_state, epoch, range(len(y))
        )


@given(
    seed=st.integers(0, 10**6),
    C=st.sampled_from([0.05, 0.5, 5.0]),
    n_reprocess=st.integers(0, 3),
    sparse=st.booleans(),
)
def test_fixed_larank_takes_the_steps_of_its_twin(seed, C, n_reprocess, sparse):
    X, y, loss, weight = random_data(seed, sparse=sparse)
    optimizer = LaRank(Multiclass(loss=loss), C=C, n_reprocess=n_reprocess, epochs=2, random_state=seed)
    twin = NaiveLaRank(
        MulticlassData(X, y, loss), C * weight, tau=optimizer.tau, kappa=optimizer.kappa, seed=seed
    )
    follow(optimizer, twin, X, y, weight, lambda i: twin.fixed(i, n_reprocess))


@given(
    seed=st.integers(0, 10**6),
    C=st.sampled_from([0.05, 0.5, 5.0]),
    sparse=st.booleans(),
    sweeps=st.booleans(),
)
def test_adaptive_larank_takes_the_steps_of_its_twin(seed, C, sparse, sweeps):
    X, y, loss, weight = random_data(seed, sparse=sparse)
    optimizer = LaRank(Multiclass(loss=loss), C=C, schedule="adaptive", epochs=2, random_state=seed)
    if sweeps:  # as those with kernels do
        adaptive = optimizer._visit
        optimizer._visit = lambda order: (
            sweep(optimizer._machine, order) if optimizer.epochs_done else adaptive(order)
        )
    twin = NaiveLaRank(
        MulticlassData(X, y, loss), C * weight, tau=optimizer.tau, kappa=optimizer.kappa, seed=seed
    )

    def step(i):
        return twin.sweep(i) if sweeps and optimizer.epochs_done else twin.adaptive(i, optimizer.mu)

    follow(optimizer, twin, X, y, weight, step)
    np.testing.assert_allclose(optimizer._rates, twin.rates, rtol=1e-6)
    assert optimizer._machine.cost == twin.cost


@given(seed=st.integers(0, 10**6), C=st.sampled_from([0.05, 0.5, 5.0]))
def test_passive_aggressive_takes_the_steps_of_its_twin(seed, C):
    X, y, loss, weight = random_data(seed)
    optimizer = PassiveAggressive(Multiclass(loss=loss), C=C, epochs=3, random_state=seed)
    twin = NaiveLaRank(
        MulticlassData(X, y, loss), C * weight, tau=optimizer.tau, kappa=optimizer.kappa, seed=seed
    )
    follow(optimizer, twin, X, y, weight, twin.passive_aggressive, epochs=3)


@given(seed=st.integers(0, 10**6), average=st.booleans(), epochs=st.integers(1, 3))
def test_lazy_averaging_equals_the_mean_written_out(seed, average, epochs):
    X, y, loss, weight = random_data(seed)
    optimizer = Perceptron(Multiclass(), average=average, epochs=epochs, random_state=seed).fit(X, y, weight)
    order = [i for epoch in range(epochs) for i in shuffled(seed, epoch, range(len(y)))]
    last, mean, updates = naive_perceptron(MulticlassData(X, y, loss), order, weight)
    np.testing.assert_allclose(optimizer.weights_, mean if average else last, rtol=1e-9, atol=1e-12)
    assert optimizer.n_support_vectors_ == updates


@given(seed=st.integers(0, 2**63 - 1), epoch=st.integers(0, 1000), n=st.integers(0, 50))
def test_the_shuffle_is_the_published_generator(seed, epoch, n):
    order = compiled_shuffled(seed, epoch, np.arange(n))
    assert order.tolist() == shuffled(seed, epoch, range(n))
    assert sorted(order) == list(range(n))
