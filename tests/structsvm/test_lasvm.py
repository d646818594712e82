"""LASVM against its definition, against libsvm, and as an active learner."""

import copy
import itertools

import numpy as np
import pytest
from scipy import sparse

from structsvm.binary import LaSVMClassifier, _lasvm, _machine
from structsvm.binary._lasvm import LaSVM
from structsvm.kernels.functions import PrecomputedInputs
from structsvm.threads import in_slices
from structsvm.training import ConvergenceWarning
from tests.structsvm.binary_twins import LaSVMTwin, curved, rbf


def dual_of(alpha, K):
    return np.abs(alpha).sum() - alpha @ K @ alpha / 2


@pytest.mark.parametrize("share", [0.05, 0.4, 0.8, 4.0])
@pytest.mark.parametrize("single", [True, False])
def test_scores_equal_their_definition_with_a_cache_for_a_share_of_the_kernel_matrix(share, single):
    X, y = curved(700)
    X = X.astype(np.float32) if single else X
    megabytes = share * X.itemsize * len(X) ** 2 / 2**20
    model = LaSVMClassifier(100.0, gamma=1.0, cache_size=megabytes, finish_fit=False).fit(X, y)
    for _ in range(2):
        K = rbf(np.asarray(model.support_vectors_, np.float64), 1.0)
        np.testing.assert_allclose(
            model.machine_.state()["f"], K @ model.dual_coef_, atol=0.02 if single else 1e-8
        )
        model.finish()
    whole = LaSVMClassifier(100.0, gamma=1.0, finish_fit=False).fit(X, y).finish()
    assert model.dual_ == pytest.approx(whole.dual_, rel=1e-3)
    assert (model.n_kernels_ > whole.n_kernels_) == (share < 0.5)


@pytest.mark.parametrize("share", [0.02, 0.1, 0.4])
@pytest.mark.parametrize("reorders", [False, True])
def test_the_cache_stays_within_its_size_when_rows_are_copied_or_reordered(share, reorders):
    X, y = curved(400)
    megabytes = share * 8 * len(X) ** 2 / 2**20
    machine = LaSVM(PrecomputedInputs(rbf(X, 1.0)), tau=1e-3, delta_max=np.inf, cache_mb=megabytes, seed=0)
    machine.start(y, np.full(len(y), 100.0))
    for part in in_slices(np.arange(len(y)), 16):
        machine.learn(part)
        assert machine.rows.room >= 0
        if reorders:
            machine.reorder(np.arange(machine.rows.n))
        else:
            machine.rows.cached()
        assert machine.rows.room >= 0


@pytest.mark.parametrize("block", [1, 16])
def test_every_iteration_is_that_of_the_papers_process_and_reprocess(block):
    X, y = curved(160)
    K = rbf(X, 1.0)
    twin = LaSVMTwin(K, y, C=2.0, tau=1e-3)
    machine = LaSVM(PrecomputedInputs(K), tau=1e-3, delta_max=np.inf, cache_mb=1, seed=0)
    machine.start(y, np.full(len(y), 2.0))
    for part in in_slices(np.arange(len(y)), block):
        machine.learn(part)
        for k in part:
            twin.process(k)
            twin.reprocess()
        np.testing.assert_array_equal(machine.coefficients, twin.alpha[twin.S])
        np.testing.assert_array_equal(machine.rows.inputs.vectors(), twin.S)
        assert machine.bias == twin.bias
    rounds, done = 0, False
    while not done:
        done, rounds = twin.finish(5), rounds + 1
        assert machine.finish(5) == done
        np.testing.assert_array_equal(machine.coefficients, twin.alpha[twin.S])
        np.testing.assert_array_equal(machine.state()["f"], twin.f[twin.S])
    np.testing.assert_array_equal(machine.rows.inputs.vectors(), twin.S)
    assert rounds > 3
    assert machine.n_steps > 200
    assert len(twin.S) < len(y)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
@pytest.mark.parametrize("form", ["double", "single", "sparse", "small cache"])
def test_enough_epochs_give_libsvms_dual(kernel, form):
    svm = pytest.importorskip("sklearn.svm")
    X, y = curved(250)
    options = {"C": 2.0, "kernel": kernel, "gamma": 0.7, "degree": 2, "coef0": 1.0}
    libsvm = svm.SVC(**options, tol=1e-6).fit(X, y)
    given = {"single": X.astype(np.float32), "sparse": sparse.csr_matrix(X)}.get(form, X)
    cache = {"cache_size": 0.01} if form == "small cache" else {}
    model = LaSVMClassifier(**options, **cache, epochs=8).fit(given, y)
    K = {"rbf": rbf(X, 0.7), "poly": (0.7 * X @ X.T + 1) ** 2, "linear": X @ X.T}[kernel]
    best = dual_of(libsvm.dual_coef_[0], K[np.ix_(libsvm.support_, libsvm.support_)])
    assert model.dual_ == pytest.approx(best, rel=1e-3)
    np.testing.assert_allclose(model.decision_function(given), libsvm.decision_function(X), atol=0.02)
    if form == "small cache":
        assert model.n_kernels_ > LaSVMClassifier(**options, epochs=8).fit(X, y).n_kernels_


def test_coefficients_stay_feasible_and_the_counts_agree():
    X, y = curved(200)
    weight = np.random.default_rng(1).uniform(0.1, 3, len(y))
    model = LaSVMClassifier(C=2.0, gamma=1.0).fit(X, y, weight)
    state, K = model.machine_.state(), rbf(model.support_vectors_, 1.0)
    alpha = model.dual_coef_
    assert abs(alpha.sum()) < 1e-9
    assert np.all(alpha * state["y"] >= 0)
    assert np.all(np.abs(alpha) <= state["upper"])
    np.testing.assert_allclose(state["f"], K @ alpha, atol=1e-9)
    assert model.dual_ == pytest.approx(dual_of(alpha, K))
    assert model.delta_ <= 1e-3


def test_sample_weights_are_copies():
    svm = pytest.importorskip("sklearn.svm")
    X, y = curved(120)
    weight = 1.0 + (np.arange(len(y)) % 3)
    libsvm = svm.SVC(C=1.5, gamma=1.0, tol=1e-6).fit(X, y, weight)
    model = LaSVMClassifier(C=1.5, gamma=1.0, epochs=8).fit(X, y, weight)
    np.testing.assert_allclose(model.decision_function(X), libsvm.decision_function(X), atol=0.01)


def test_a_precomputed_kernel_and_a_function_are_the_same_machine():
    X, y = curved(150)
    K = rbf(X, 1.0)
    plain = LaSVMClassifier(gamma=1.0, epochs=8).fit(X, y)
    matrix = LaSVMClassifier(kernel="precomputed", epochs=8).fit(K, y)
    function = LaSVMClassifier(kernel=lambda a, b: rbf(np.vstack([a, b]), 1.0)[: len(a), len(a) :], epochs=8)
    # Ties are broken by rounding: only the solution is the same.
    np.testing.assert_allclose(matrix.decision_function(K), plain.decision_function(X), atol=0.01)
    np.testing.assert_allclose(function.fit(X, y).decision_function(X), plain.decision_function(X), atol=0.01)
    np.testing.assert_array_equal(copy.deepcopy(matrix).predict(K), matrix.predict(K))


def test_delta_max_reprocesses_until_the_bias_is_that_certain():
    X, y = curved(150)
    model = LaSVMClassifier(C=10, gamma=1.0, delta_max=0.5, finish_fit=False).fit(X, y)
    plain = LaSVMClassifier(C=10, gamma=1.0, finish_fit=False).fit(X, y)
    assert model.delta_ <= 0.5 < plain.delta_
    assert model.n_steps_ > plain.n_steps_


@pytest.mark.parametrize("selection", ["gradient", "active", "autoactive"])
def test_selections_take_no_more_labels_than_allowed_and_learn(selection):
    X, y = curved(600, noise=0.2)
    model = LaSVMClassifier(C=10, gamma=1.0, selection=selection, max_labels=120).fit(X, y)
    assert model.n_labels_ <= 120
    assert model.score(X, y) > 0.9


def test_gradient_selection_of_all_examples_converges_to_the_svm():
    X, y = curved(150)
    every = LaSVMClassifier(C=2, gamma=1.0, selection="gradient", epochs=6).fit(X, y)
    random = LaSVMClassifier(C=2, gamma=1.0, epochs=8).fit(X, y)
    assert every.n_labels_ == len(y)
    assert every.dual_ == pytest.approx(random.dual_, rel=1e-3)


@pytest.mark.parametrize("selection", ["active", "autoactive"])
def test_active_selection_never_reads_a_label_it_did_not_take(selection):
    X, y = curved(300, noise=0.2)
    options = {"C": 10, "gamma": 1.0, "selection": selection, "max_labels": 60}
    first = LaSVMClassifier(**options).fit(X, y)
    support = {tuple(row) for row in first.support_vectors_}
    differs = 0
    for k in [k for k in range(len(y)) if tuple(X[k]) not in support][:20]:
        other = y.copy()
        other[k] = -other[k]
        again = LaSVMClassifier(**options).fit(X, other)
        differs += not np.array_equal(again.dual_coef_, first.dual_coef_)
    assert differs < 10  # of 240 labels that were not read, and a few that were


def test_an_active_fit_stops_when_nothing_is_left_within_the_margin():
    X, y = curved(500, noise=0.0)
    model = LaSVMClassifier(C=100, gamma=1.0, selection="active", sample=20, finish_fit=False).fit(X, y)
    assert model.n_labels_ < len(y) / 2
    left = [k for k in range(len(y)) if not np.any(np.all(model.support_vectors_ == X[k], axis=1))]
    inside = np.abs(model.decision_function(X[left])) < 1 + model.delta_ / 2
    assert inside.mean() < 0.1  # processed ones that left S again may lie there


def test_query_asks_for_the_nearest_and_for_nothing_when_the_margin_is_empty():
    X, y = curved(500, noise=0.0)
    start = np.concatenate([np.flatnonzero(y > 0)[:5], np.flatnonzero(y < 0)[:5]])
    model = LaSVMClassifier(C=100, gamma=1.0).partial_fit(X[start], y[start]).finish()
    pool = np.setdiff1d(np.arange(len(y)), start)
    asked = len(start)
    while True:
        wanted = model.query(X[pool], 3)
        distance = np.abs(model.decision_function(X[pool]))
        np.testing.assert_array_equal(wanted, np.argsort(distance, kind="stable")[: len(wanted)])
        if not len(wanted):
            break
        model.partial_fit(X[pool[wanted]], y[pool[wanted]]).finish()
        asked += len(wanted)
        pool = np.delete(pool, wanted)
    assert distance.min() >= 1
    assert asked < len(y) / 2
    assert model.score(X, y) > 0.98


def test_query_by_a_sample_stays_within_it_and_an_untrained_model_asks_at_random():
    X, y = curved(300)
    model = LaSVMClassifier(gamma=1.0).fit(X[:100], y[:100])
    rng = np.random.default_rng(0).permutation(300)[:10]
    assert set(model.query(X, 3, sample=10)) <= set(rng)
    first = LaSVMClassifier().query(X, 5)
    assert len(set(first)) == 5
    np.testing.assert_array_equal(first, LaSVMClassifier().query(X, 5))
    with pytest.raises(ValueError, match="n must be"):
        model.query(X, 0)
    with pytest.raises(ValueError, match="3 features"):
        model.query(np.ones((4, 3)))


def test_callback_sees_a_model_that_predicts_and_can_be_finished_as_a_copy():
    X, y = curved(200)
    seen = []

    def watch(model):
        snapshot = copy.deepcopy(model).finish()
        seen.append((model.n_labels_, snapshot.score(X, y), snapshot.delta_ <= snapshot.tau))

    watched = LaSVMClassifier(gamma=1.0, callback=watch).fit(X, y)
    plain = LaSVMClassifier(gamma=1.0).fit(X, y)
    assert [n for n, _, _ in seen] == sorted({n for n, _, _ in seen})
    assert seen[-1][0] == len(y)
    assert all(finished for _, _, finished in seen)
    np.testing.assert_array_equal(watched.dual_coef_, plain.dual_coef_)


def test_a_stream_may_begin_with_one_class_only():
    X, y = curved(100)
    first = np.flatnonzero(y < 0)[:20]
    model = LaSVMClassifier(gamma=1.0)
    for k in [*first, *np.setdiff1d(np.arange(100), first)]:
        model.partial_fit(X[[k]], y[[k]], classes=[-1, 1])
        model.predict(X)
    assert model.finish().score(X, y) > 0.8


def test_a_finishing_step_that_a_kernel_stops_leaves_the_model_as_it_was():
    X, y = curved(300)
    calls = []

    def kernel(a, b):
        calls.append(len(a))
        if len(calls) == stop:
            raise MemoryError("no kernel values today")
        return np.exp(-((a[:, None] - b) ** 2).sum(axis=2))

    stop = -1
    model = LaSVMClassifier(5.0, kernel=kernel, cache_size=0.05, finish_fit=False).fit(X, y)
    twin = copy.deepcopy(model)
    before = model.delta_, model.dual_
    stop = len(calls) + 30
    with pytest.raises(MemoryError, match="no kernel values"):
        model.finish()
    assert (model.delta_, model.dual_) == before
    assert model.finish().delta_ <= model.tau
    assert model.dual_ == pytest.approx(twin.finish().dual_, rel=1e-4)


def test_a_finishing_step_that_does_not_end_warns(monkeypatch):
    monkeypatch.setattr("structsvm.binary.lasvm.MOST_STEPS", 1000)
    rng = np.random.default_rng(0)
    X = 1e4 * rng.normal(size=(200, 5))
    y = X[:, 0] + 2e4 * rng.normal(size=200) > 0
    with pytest.warns(ConvergenceWarning, match="scale the inputs"):
        LaSVMClassifier(kernel="linear", C=1e3).fit(X, y)


def three_classes(n=120):
    rng = np.random.default_rng(4)
    y = np.array(["a", "b", "c"])[np.arange(n) % 3]
    return np.eye(3)[np.arange(n) % 3] * 2 + rng.normal(size=(n, 3)), y


@pytest.mark.parametrize("online", [False, True])
def test_more_than_two_classes_are_one_against_the_rest(online, tmp_path):
    X, y = three_classes()
    model = LaSVMClassifier(gamma=0.5, random_state=3)
    model = model.partial_fit(X[:60], y[:60]).partial_fit(X[60:], y[60:]) if online else model.fit(X, y)
    for name, values in zip("abc", model.decision_function(X).T, strict=True):
        one = LaSVMClassifier(gamma=0.5, random_state=3)
        for part in (slice(60), slice(60, 120)) if online else ():
            one.partial_fit(X[part], y[part] == name)
        if not online:
            one.fit(X, y == name)
        np.testing.assert_array_equal(values, one.decision_function(X))
    assert np.array_equal(model.predict(X), np.array(["a", "b", "c"])[model.decision_function(X).argmax(1)])
    model.finish()
    assert model.delta_ <= model.tau
    model.save(tmp_path / "model.ssvm")
    loaded, copied = LaSVMClassifier.load(tmp_path / "model.ssvm"), copy.deepcopy(model)
    for other in (loaded, copied):
        np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))
        assert (other.dual_, other.n_support_vectors_) == (model.dual_, model.n_support_vectors_)
    with pytest.raises(AttributeError, match="a model for each of 3 classes"):
        model.dual_coef_  # noqa: B018


def test_a_query_for_more_classes_asks_for_what_is_near_any_boundary():
    X, y = three_classes()
    model = LaSVMClassifier(gamma=0.5).fit(X[:90], y[:90])
    asked = model.query(X[90:], 5)
    distance = np.abs(model.decision_function(X[90:])).min(axis=1)
    np.testing.assert_array_equal(asked, np.argsort(distance, kind="stable")[:5])


def test_the_models_of_several_classes_count_passes_and_can_be_saved(tmp_path):
    X, y = three_classes()
    model = LaSVMClassifier(gamma=0.5, epochs=2).fit(X, y).partial_fit(X, y)
    model.save(tmp_path / "all.ssvm")
    for kept in (model, LaSVMClassifier.load(tmp_path / "all.ssvm")):
        kept.estimators_[1].save(tmp_path / "one.ssvm")
        one = LaSVMClassifier.load(tmp_path / "one.ssvm")
        assert (one.n_iter_, kept.n_iter_) == (3, 3)
        np.testing.assert_array_equal(one.decision_function(X), model.decision_function(X)[:, 1])


@pytest.mark.parametrize(("module", "n"), [(_lasvm, 0), (_lasvm, 1), *((_machine, n) for n in range(4))])
def test_training_continues_after_an_allocation_that_failed(module, n, monkeypatch):
    X, y = curved(600)
    model = LaSVMClassifier(1.0, gamma=1.0, finish_fit=False).partial_fit(X[:20], y[:20])
    parts = list(in_slices(np.arange(20, 600), 20))
    allocate, calls = module.longer, itertools.count()

    def failing(array, size):
        if next(calls) == n:
            raise MemoryError
        return allocate(array, size)

    def learn():
        for part in parts:
            model.partial_fit(X[part], y[part])

    with monkeypatch.context() as patch:
        patch.setattr(module, "longer", failing)
        with pytest.raises(MemoryError):
            learn()
    learn()
    K = rbf(np.asarray(model.support_vectors_), 1.0)
    np.testing.assert_allclose(model.machine_.state()["f"], K @ model.dual_coef_, atol=1e-8)
