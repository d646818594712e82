"""A seed gives the same bytes: again, in other slices, through a pickle, beside another thread."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from structsvm import AmbiguousBags, KernelLaRank, LaRank, Multiclass, PassiveAggressive, Perceptron
from structsvm._dual import schedules
from tests.structsvm.helpers import (
    DUAL_OPTIMIZERS,
    OPTIMIZERS,
    Ordinal,
    assert_same_bytes,
    noisy_classes,
    ordinal_data,
    state_of,
)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_seed_gives_the_same_bytes(name):
    X, y = noisy_classes(80)
    first, second = (OPTIMIZERS[name](Multiclass(), random_state=7).fit(X, y) for _ in range(2))
    assert_same_bytes(state_of(first), state_of(second))
    first.fit(X[::-1], y[::-1])
    assert_same_bytes(state_of(first.fit(X, y)), state_of(second))


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_another_seed_visits_in_another_order(name):
    X, y = noisy_classes(80)
    first, second = (OPTIMIZERS[name](Multiclass(), random_state=seed).fit(X, y) for seed in (7, 8))
    assert not np.array_equal(first.weights_, second.weights_)


@pytest.mark.parametrize(
    "random_state", [np.random.default_rng(3), np.random.RandomState(3)], ids=["Generator", "RandomState"]
)
def test_numpy_generators_are_seeds(random_state):
    X, y = noisy_classes(40)
    first = LaRank(Multiclass(), random_state=copy.deepcopy(random_state)).fit(X, y)
    second = LaRank(Multiclass(), random_state=copy.deepcopy(random_state)).fit(X, y)
    assert_same_bytes(state_of(first), state_of(second))


@pytest.mark.parametrize("name", sorted(OPTIMIZERS.keys() - {"parallel"}))  # whose slices are rounds
@pytest.mark.parametrize("size", [1, 7])
def test_slicing_does_not_matter(name, size):
    X, y = noisy_classes(50)
    weight = np.where(np.arange(50) < 40, 1.0, 0.0)
    whole, sliced = (OPTIMIZERS[name](Multiclass(), random_state=1) for _ in range(2))
    plain_visit = sliced._visit

    def in_pieces(order):
        for start in range(0, len(order), size):
            plain_visit(order[start : start + size])

    sliced._visit = in_pieces
    assert_same_bytes(state_of(whole.fit(X, y, weight)), state_of(sliced.fit(X, y, weight)))


@pytest.mark.parametrize("name", sorted(OPTIMIZERS.keys() - {"parallel"}))
def test_one_partial_fit_equals_many(name):
    X, y = noisy_classes(60)
    if name == "svmstruct":
        pytest.skip("SVMstruct optimizes its working set at the end of every call")
    whole = OPTIMIZERS[name](Multiclass(classes=range(4))).partial_fit(X, y)
    pieces = OPTIMIZERS[name](Multiclass(classes=range(4)))
    for start in range(0, 60, 12):
        pieces.partial_fit(X[start : start + 12], y[start : start + 12])
    assert_same_bytes(state_of(whole), state_of(pieces), but=["slots"])


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("door", ["compiled", "python"])
def test_training_continues_after_a_pickle_as_if_nothing_happened(name, door):
    X, y = noisy_classes(60) if door == "compiled" else ordinal_data(60)
    problem = Multiclass() if door == "compiled" else Ordinal()
    optimizer = OPTIMIZERS[name](problem, random_state=5).partial_fit(X[:30], y[:30])
    revived = pickle.loads(pickle.dumps(optimizer))
    assert_same_bytes(state_of(optimizer), state_of(revived), but=["slots"])
    assert np.array_equal(optimizer.predict(X), revived.predict(X))
    for start in (30, 45):
        optimizer.partial_fit(X[start : start + 15], y[start : start + 15])
        revived.partial_fit(X[start : start + 15], y[start : start + 15])
    assert_same_bytes(state_of(optimizer), state_of(revived), but=["slots"])
    assert np.array_equal(optimizer.weights_, revived.weights_)


@pytest.mark.parametrize("name", DUAL_OPTIMIZERS)
def test_a_pickle_after_fit_continues_like_the_original(name):
    X, y = noisy_classes(60)
    more = {"gap_tolerance": 1e-3, "epochs": None} if name in ("larank", "adaptive") else {}
    optimizer = DUAL_OPTIMIZERS[name](Multiclass(), **more).fit(X[:40], y[:40])
    revived = pickle.loads(pickle.dumps(optimizer))
    assert_same_bytes(
        state_of(optimizer.partial_fit(X[40:], y[40:])),
        state_of(revived.partial_fit(X[40:], y[40:])),
        but=["slots"],
    )


def test_only_the_adaptive_schedule_with_kernels_has_sweeps(monkeypatch):
    sweeps = []
    monkeypatch.setattr(schedules, "sweep", lambda machine, order: sweeps.append(len(order)))
    optimizer = LaRank(Multiclass(), epochs=3).fit(*noisy_classes(40))
    assert optimizer.state()["rates"].tolist() == [1, 1, 1]
    LaRank(Multiclass(), epochs=3, schedule="adaptive").fit(*noisy_classes(40))
    problem = Multiclass(fit_intercept=False)
    KernelLaRank(problem, epochs=3, schedule="fixed").fit(*noisy_classes(40))
    learner = KernelLaRank(problem, epochs=1).fit(*noisy_classes(40))
    learner.partial_fit(*noisy_classes(40))
    assert not sweeps
    KernelLaRank(problem, epochs=3).fit(*noisy_classes(40))
    assert sum(sweeps) == 2 * 40


def test_an_optimizer_that_has_seen_nothing_can_be_pickled():
    revived = pickle.loads(pickle.dumps(LaRank(Multiclass(), C=3.0)))
    X, y = noisy_classes(20)
    assert_same_bytes(state_of(revived.fit(X, y)), state_of(LaRank(Multiclass(), C=3.0).fit(X, y)))


def test_a_pickle_of_ambiguous_bags_continues():
    X, y = noisy_classes(60)
    bags = [{label, (label + 1) % 4} for label in y]
    optimizer = LaRank(AmbiguousBags()).partial_fit(X[:30], bags[:30])
    revived = pickle.loads(pickle.dumps(optimizer))
    for each in (optimizer, revived):
        each.partial_fit(X[30:], bags[30:])
    assert_same_bytes(state_of(optimizer), state_of(revived), but=["slots"])


def test_raw_memory_refuses_to_be_pickled_by_itself():
    optimizer = LaRank(Multiclass()).fit(*noisy_classes(20))
    perceptron = Perceptron(Multiclass()).fit(*noisy_classes(20))
    for part in (optimizer._machine, optimizer._machine.oracle, perceptron._machine):
        with pytest.raises(TypeError, match=r"memory|oracle"):
            pickle.dumps(part)


@pytest.mark.parametrize("damage", ["indices", "counts", "lengths", "weights", "slots"])
def test_a_damaged_state_is_refused(damage):
    optimizer = LaRank(Multiclass()).fit(*noisy_classes(20))
    state = optimizer.__getstate__()
    dual, rows = state["_saved"]
    spoiled = {"indices": dual["indices"] + 1000, "counts": dual["counts"] + 1,
               "lengths": dual["lengths"][:-1],
               "weights": dual["weights"][:-1], "slots": dual["slots"] * 0}[damage]  # fmt: skip
    if damage == "slots":
        revived = optimizer._new_machine(optimizer.problem.oracle(), 0)
        revived.oracle.add_rows(**rows)
        with pytest.raises(ValueError, match="inconsistent"):
            revived.restore(dict(dual, slots=spoiled))
        return
    state["_saved"] = (dict(dual, **{damage: spoiled}), rows)
    with pytest.raises(ValueError, match="inconsistent"):
        LaRank.__new__(LaRank).__setstate__(state)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_two_threads_give_the_serial_results(name):
    data = [noisy_classes(3000, seed=seed) for seed in (0, 1)]
    more = {"epsilon": 0.5} if name == "svmstruct" else {}
    serial = [state_of(OPTIMIZERS[name](Multiclass(), **more).fit(X, y)) for X, y in data]
    with ThreadPoolExecutor(2) as pool:
        threads = [pool.submit(OPTIMIZERS[name](Multiclass(), **more).fit, X, y) for X, y in data]
    for thread, expected in zip(threads, serial, strict=True):
        assert_same_bytes(state_of(thread.result()), expected)


@pytest.mark.parametrize("kind", [LaRank, PassiveAggressive, Perceptron])
@pytest.mark.parametrize("problem", [Multiclass, AmbiguousBags])
def test_a_state_resumes_on_its_data_or_without_them(kind, problem):
    X, y = noisy_classes(40)
    y = y if problem is Multiclass else [[label] for label in y]
    whole = kind(problem(), random_state=3).begin(X, y)
    whole.epoch()
    state = whole.state()
    whole.epoch()
    same = kind(whole.problem, random_state=3).resume(state, X, y)
    same.epoch()
    assert np.array_equal(same.weights_, whole.weights_)
    alone = kind(whole.problem, random_state=3).resume(state)  # the support patterns are stored again
    assert alone.n_support_patterns_ == kind(whole.problem).resume(state, X, y).n_support_patterns_ > 0
    assert np.isfinite(alone.partial_fit(X[:5], y[:5]).weights_).all()
    if kind is not Perceptron:  # which keeps no patterns
        with pytest.raises(ValueError, match="another data set"):
            kind(whole.problem).resume(state, X[:7], y[:7])


def test_a_state_of_other_data_of_the_same_size_is_refused():
    X, y = noisy_classes(40)
    trained = LaRank(Multiclass(), C=0.5).fit(X, y)
    for other in ((X[::-1], y[::-1]), (2 * X, y), (X, (y + 1) % 3)):
        with pytest.raises(ValueError, match=r"belongs to another data set|inconsistent"):
            LaRank(trained.problem, C=0.5).resume(trained.state(), *other)


def test_a_state_without_the_places_of_its_patterns_is_refused():
    X, y = noisy_classes(40)
    trained = LaRank(Multiclass(), C=0.5).fit(X, y)
    state = {name: array for name, array in trained.state().items() if name != "place"}
    state["dual.slots"] = np.arange(trained.n_support_patterns_) + 1000
    with pytest.raises(ValueError, match="a support pattern is not stored"):
        LaRank(trained.problem, C=0.5).resume(state)


def test_a_refused_state_leaves_the_optimizer_as_it_was():
    X, y = noisy_classes(20)
    state = LaRank(Multiclass(), schedule="adaptive").fit(X, y)
    fresh = LaRank(state.problem, schedule="adaptive")
    saved = state.state()
    for name, value in (
        ("progress", np.array([-1, 0])), ("rates", np.ones(1)), ("rates", np.full(3, np.nan)),
        ("rates", np.array([1.0, -1.0, 1.0])),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="training state"):
            fresh.resume({**saved, name: value})
        assert not fresh.is_started
