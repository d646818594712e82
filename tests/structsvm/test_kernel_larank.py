"""The kernel dual against the linear one, against its own definition, and against scipy."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from structsvm import (
    AmbiguousBags,
    KernelLaRank,
    KernelSVMStruct,
    LaRank,
    Multiclass,
    PassiveAggressive,
    SVMStruct,
)
from structsvm.kernels.functions import Inputs, Rbf, kernel_function, squared_norms
from structsvm.kernels.kept_values import KeptValues
from structsvm.kernels.kernel_cache import rbf_single
from structsvm.problems.taxonomies import taxonomy_features, tree_loss


def points(n=120, d=4, k=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.argmax(X @ rng.normal(size=(d, k)) + 0.5 * rng.normal(size=(n, k)), axis=1)
    return X, y


def gram(learner):
    inputs = learner._machine.inputs
    return inputs.with_support(inputs.vectors(), inputs.support_norms[: inputs.n])


@pytest.mark.parametrize("schedule", ["fixed", "adaptive"])
@pytest.mark.parametrize("cache_size", [0.001, 0.05, 500])
@pytest.mark.parametrize("epochs", [1, 4])
def test_stored_scores_and_dual_equal_their_definitions(schedule, cache_size, epochs):
    X, y = points()
    learner = KernelLaRank(
        Multiclass(), C=2, gamma=0.3, schedule=schedule, cache_size=cache_size, epochs=epochs
    ).fit(X, y)
    machine, K = learner._machine, gram(learner)
    beta, labels = machine.coefficients(), machine.support_labels()
    np.testing.assert_allclose(machine.support_scores(), K @ beta, atol=1e-10)
    delta = learner.problem.loss_[labels]
    assert learner.dual_ == pytest.approx(-np.sum(delta * beta) - np.sum(beta * (K @ beta)) / 2, rel=1e-10)
    rows = np.arange(len(labels))
    others = beta.copy()
    others[rows, labels] = 0
    assert np.all(others <= 0)
    assert np.all(beta[rows, labels] <= 2 * (1 + 1e-12))
    np.testing.assert_allclose(beta.sum(axis=1), 0, atol=1e-12)
    assert np.all(np.any(beta != 0, axis=1))
    assert learner.n_support_vectors_ == np.count_nonzero(beta)


def test_dual_never_decreases_and_stays_below_the_primal():
    X, y = points()
    learner = KernelLaRank(Multiclass(), gamma=0.3, epochs=3).fit(X, y)
    duals = [point.dual for point in learner.curve_]
    assert np.all(np.diff(duals) >= -1e-12)
    assert learner.gap() > 0


def test_linear_kernel_reaches_the_optimum_of_the_linear_dual():
    X, y = points()
    kernel = KernelLaRank(Multiclass(), kernel="linear", gap_tolerance=1e-6).fit(X, y)
    linear = LaRank(Multiclass(), gap_tolerance=1e-6).fit(X, y)
    assert kernel.dual_ == pytest.approx(linear.dual_, rel=1e-6)
    np.testing.assert_array_equal(kernel.predict(X), linear.predict(X))


def test_taxonomy_and_tree_loss_agree_with_the_linear_dual():
    X, y = points()
    paths = [("a", "0"), ("a", "1"), ("b", "2"), ("b", "3")]
    options = {"loss": tree_loss(paths), "output_features": taxonomy_features(paths)}
    kernel = KernelLaRank(Multiclass(**options), kernel="linear", gap_tolerance=1e-6).fit(X, y)
    linear = LaRank(Multiclass(**options), gap_tolerance=1e-6).fit(X, y)
    assert kernel.dual_ == pytest.approx(linear.dual_, rel=1e-6)
    np.testing.assert_allclose(
        kernel.decision_function(X), linear.problem.decision_function(X, linear.weights_), atol=2e-3
    )


def test_rbf_optimum_equals_a_quadratic_program_solved_by_scipy():
    X, y = points(n=14, k=3)
    C, gamma, n, k = 1.5, 0.4, 14, 3
    learner = KernelLaRank(Multiclass(), C=C, gamma=gamma, gap_tolerance=1e-7).fit(X, y)
    K = np.exp(-gamma * np.sum((X[:, None] - X[None]) ** 2, axis=2))
    own = np.eye(k)[np.searchsorted(learner.problem.classes_, y)]

    def beta_of(alpha):
        alpha = alpha.reshape(n, k) * (1 - own)
        return own * alpha.sum(axis=1, keepdims=True) - alpha

    def negative(alpha):
        beta = beta_of(alpha)
        scores = K @ beta
        gradient = ((1 - own) - np.sum(own * scores, axis=1, keepdims=True) + scores) * (1 - own)
        return -(np.sum(alpha.reshape(n, k) * (1 - own)) - np.sum(beta * scores) / 2), -gradient.ravel()

    room = {
        "type": "ineq",
        "fun": lambda a: C - (a.reshape(n, k) * (1 - own)).sum(axis=1),
        "jac": lambda a: -np.kron(np.eye(n), np.ones(k)) * (1 - own).ravel(),
    }
    solved = minimize(
        negative, np.zeros(n * k), jac=True, bounds=[(0, None)] * (n * k), constraints=[room], method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 2000},
    )  # fmt: skip
    assert solved.success
    assert learner.dual_ == pytest.approx(-solved.fun, rel=1e-6)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_dense_sparse_precomputed_and_callable_kernels_agree(kernel):
    X, y = points()
    options = {"gamma": 0.3, "degree": 2, "coef0": 1.0, "gap_tolerance": 1e-6}
    values = {
        "rbf": lambda a, b: np.exp(-0.3 * np.sum((a[:, None] - b[None]) ** 2, axis=2)),
        "poly": lambda a, b: (0.3 * a @ b.T + 1) ** 2,
        "linear": lambda a, b: a @ b.T,
    }[kernel]
    dense = KernelLaRank(Multiclass(), kernel=kernel, **options).fit(X, y)
    as_sparse = KernelLaRank(Multiclass(), kernel=kernel, **options).fit(sparse.csr_matrix(X), y)
    own = KernelLaRank(Multiclass(), kernel=values, **options).fit(X, y)
    ready = KernelLaRank(Multiclass(), kernel="precomputed", **options).fit(values(X, X), y)
    for other in (as_sparse, own, ready):
        assert other.dual_ == pytest.approx(dense.dual_, rel=1e-6)
    tests = X[:10] + 0.1
    expected = dense.decision_function(tests)
    np.testing.assert_allclose(as_sparse.decision_function(sparse.csr_matrix(tests)), expected, atol=5e-3)
    np.testing.assert_allclose(ready.decision_function(values(tests, X)), expected, atol=5e-3)


def test_kernel_values_are_counted_and_a_small_cache_computes_more():
    X, y = points(n=300)
    large = KernelLaRank(Multiclass(), gamma=0.3, schedule="fixed").fit(X, y)
    small = KernelLaRank(Multiclass(), gamma=0.3, schedule="fixed", cache_size=0.001).fit(X, y)
    assert 0 < large.n_kernels_ <= 300 * 300
    assert small.n_kernels_ > large.n_kernels_


def test_single_precision_values_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(70, 5)).astype(np.float32), 3 * rng.normal(size=(1000, 5)).astype(np.float32)
    values = Rbf(0.7)(a, b, squared_norms(a), squared_norms(b))
    exact = np.exp(-0.7 * np.sum((a[:, None].astype(float) - b[None]) ** 2, axis=2))
    assert values.dtype == np.float32
    np.testing.assert_allclose(values, exact, rtol=2e-4, atol=1e-37)


def test_exp_in_single_precision_is_within_its_bound_and_0_where_numbers_end():
    small, far = np.geomspace(1e-12, 1, 1000), [87.5, 200, 1e30, 3e38]
    x = -np.concatenate([np.linspace(0, 86.9, 100_001), small, far]).astype(np.float32)
    values = np.zeros((1, len(x)), np.float32)
    assert rbf_single(values, np.zeros(1, np.float32), -x, 1.0)
    exact = np.exp(x.astype(float))
    inside = x >= -87
    np.testing.assert_allclose(values[0, inside], exact[inside], rtol=3e-7, atol=0)
    assert np.all(values[0, ~inside] == 0)
    assert values[0, 0] == 1
    for wrong in (np.nan, -np.inf):
        assert not rbf_single(values, np.full(1, wrong, np.float32), -x, 1.0)


def test_single_precision_gives_nearly_the_same_optimum():
    X, y = points()
    double = KernelLaRank(Multiclass(), gamma=0.3, gap_tolerance=1e-3).fit(X, y)
    single = KernelLaRank(Multiclass(), gamma=0.3, gap_tolerance=1e-3).fit(X.astype(np.float32), y)
    assert single.dual_ == pytest.approx(double.dual_, rel=1e-4)


@pytest.mark.parametrize("as_sparse", [False, True])
def test_partial_fit_keeps_support_patterns_and_continues_after_pickling(as_sparse):
    X, y = points(n=300)
    X = sparse.csr_matrix(X) if as_sparse else X
    learner = KernelLaRank(Multiclass(classes=range(4)), gamma=0.3, schedule="fixed")
    for start in range(0, 300, 50):
        before = learner.dual_ if start else 0
        learner.partial_fit(X[start : start + 50], y[start : start + 50])
        assert learner.dual_ >= before
        learner = pickle.loads(pickle.dumps(learner))
    machine = learner._machine
    assert machine.inputs.n == learner.n_support_patterns_ < 300
    np.testing.assert_allclose(machine.support_scores(), gram(learner) @ machine.coefficients(), atol=1e-9)
    assert np.mean(learner.predict(X) == y) > 0.8
    with pytest.raises(ValueError, match="pass X and y"):
        learner.primal()
    assert learner.gap(X, y) > 0


def test_sample_weight_zero_is_the_same_as_leaving_a_pattern_out_of_the_solution():
    X, y = points()
    weight = np.ones(len(y))
    weight[::3] = 0
    weighted = KernelLaRank(Multiclass(classes=range(4)), gamma=0.3, gap_tolerance=1e-6).fit(X, y, weight)
    without = KernelLaRank(Multiclass(classes=range(4)), gamma=0.3, gap_tolerance=1e-6).fit(
        X[weight > 0], y[weight > 0]
    )
    assert weighted.dual_ == pytest.approx(without.dual_, rel=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "sigmoid"}, "kernel must be"),
        ({"gamma": 0}, "gamma must be"),
        ({"cache_size": -1}, "cache_size must be"),
        ({"eta": -1}, "eta must be"),
        ({"slack": "l3"}, "slack must be"),
        ({"kernel": lambda a, b: np.zeros((1, 1))}, "shape"),
        ({"kernel": lambda a, b: np.full((len(a), len(b)), np.nan)}, "NaN or infinity"),
        ({"kernel": "precomputed"}, "square"),
    ],
)
def test_bad_kernels_are_refused_in_one_sentence(options, message):
    X, y = points()
    with pytest.raises(ValueError, match=message):
        KernelLaRank(Multiclass(), **options).fit(X, y)


def assert_unharmed(learner, action, X, match):
    """`action` is refused, and the learner goes on as if it had never been called."""
    before, problem = pickle.dumps(learner), dict(vars(learner.problem))
    with pytest.raises(ValueError, match=match):
        action()
    assert vars(learner.problem).keys() == problem.keys()
    assert all(vars(learner.problem)[name] is value for name, value in problem.items())
    twin = pickle.loads(before)
    y = learner.predict(X)
    np.testing.assert_array_equal(learner.decision_function(X), twin.decision_function(X))
    learner = pickle.loads(pickle.dumps(learner))  # rows that are computed anew round differently
    assert learner.partial_fit(X, y).dual_ == twin.partial_fit(X, y).dual_


@pytest.mark.parametrize("method", ["fit", "partial_fit", "primal"])
@pytest.mark.parametrize(
    ("spoil", "match"),
    [
        (lambda X, y: (X, y[:-1]), "outputs"),
        (lambda X, y: (X, np.c_[y, y]), "1d array"),
        (lambda X, y: (X, y + 0.5), "continuous|unknown label"),
        (lambda X, y: (X, np.where(y == 0, 17, y)), "unknown label 17"),
        (lambda X, y: (np.where(X > 1, np.nan, X), y), "NaN"),
        (lambda X, y: (X[:0], y[:0]), "empty"),
    ],
)
def test_bad_data_change_neither_the_learner_nor_its_problem(method, spoil, match):
    X, y = points()
    learner = KernelLaRank(Multiclass(classes=range(4)), gamma=0.3).fit(X, y)
    assert_unharmed(learner, lambda: getattr(learner, method)(*spoil(X, y)), X, match)


def test_a_refused_refit_leaves_the_learner_and_its_problem_as_they_were():
    X, y = points()
    learner = KernelLaRank(Multiclass(), gamma=0.3).fit(X, y)
    for name, bad, match in [
        ("kernel", "sigmoid", "kernel"),
        ("random_state", "x", "random_state"),
        ("C", 0, "C must"),
    ]:
        good = getattr(learner, name)
        setattr(learner, name, bad)
        with pytest.raises(ValueError, match=match):
            learner.fit(X[:, :2], np.arange(len(y)) % 2)
        setattr(learner, name, good)
        assert len(learner.problem.classes_) == 4
        assert learner.decision_function(X).shape == (120, 4)


def test_a_generator_is_asked_for_one_seed_by_a_fit_and_for_none_by_a_refused_one_or_a_pickle():
    X, y = points()
    generator = np.random.default_rng(5)
    learner = KernelLaRank(Multiclass(), gamma=0.3, random_state=generator).fit(X, y)
    once = np.random.default_rng(5)
    once.integers(2**63)
    assert generator.bit_generator.state == once.bit_generator.state
    with pytest.raises(ValueError, match="outputs"):
        learner.fit(X, y[:-1])
    revived = pickle.loads(pickle.dumps(learner))
    assert generator.bit_generator.state == once.bit_generator.state
    assert revived.random_state.bit_generator.state == once.bit_generator.state


@pytest.mark.parametrize("first", [True, False])
def test_a_fit_that_is_interrupted_leaves_the_new_model_with_what_it_learned(first):
    X, y = points(n=1000)
    learner = KernelLaRank(Multiclass(), gamma=0.3)
    if not first:
        learner.fit(X[:100], y[:100])

    def stop(point):
        raise KeyboardInterrupt

    learner.callback = stop
    with pytest.raises(KeyboardInterrupt):
        learner.fit(X, y)
    learner.callback = None
    assert 0 < learner.dual_ < learner.primal()
    machine = learner._machine
    np.testing.assert_allclose(machine.support_scores(), gram(learner) @ machine.coefficients(), atol=1e-9)
    assert learner.partial_fit(X, y).dual_ > 0
    assert np.mean(learner.predict(X) == y) > 0.7


@pytest.mark.parametrize("problem", [AmbiguousBags(), Multiclass(fit_intercept=True)])
def test_a_problem_that_has_no_kernel_form_is_refused(problem):
    with pytest.raises(ValueError, match="kernels require a Multiclass problem"):
        KernelLaRank(problem).fit(*points())


class KernelPassiveAggressive(KernelLaRank):
    """PA-I makes one step a visit: both duals can be compared step by step."""

    def _visit(self, order):
        self._machine.visit(order)


def test_passive_aggressive_steps_are_those_of_the_linear_dual():
    X, y = points(n=60)
    kernel = KernelPassiveAggressive(Multiclass(), kernel="linear", C=0.5, epochs=4, tau=1e-10).fit(X, y)
    linear = PassiveAggressive(Multiclass(), C=0.5, epochs=4).fit(X, y)
    assert [p.n_support_vectors for p in kernel.curve_] == [p.n_support_vectors for p in linear.curve_]
    np.testing.assert_allclose([p.dual for p in kernel.curve_], [p.dual for p in linear.curve_], rtol=1e-9)
    assert kernel.n_argmax_ == linear.n_argmax_ == 4 * 60


@pytest.mark.parametrize("new_constraints", [1, 100])
def test_cutting_planes_end_where_no_slack_is_exceeded_by_more_than_epsilon(new_constraints):
    X, y = points()
    options = {"C": 0.5, "epsilon": 1e-3, "new_constraints": new_constraints}
    kernel = KernelSVMStruct(Multiclass(), kernel="linear", **options).fit(X, y)
    linear = SVMStruct(Multiclass(), **options).fit(X, y)
    assert kernel.dual_ == pytest.approx(linear.dual_, rel=1e-4)
    assert kernel.gap() < 0.5 * len(y) * 2e-3
    rbf = KernelSVMStruct(Multiclass(), gamma=0.3, **options).fit(X, y)
    best = KernelLaRank(Multiclass(), gamma=0.3, C=0.5, gap_tolerance=1e-5).fit(X, y)
    assert best.dual_ - 0.5 * len(y) * 2e-3 < rbf.dual_ <= best.dual_ + 1e-5
    assert len(rbf.curve_) > 0
    assert rbf.curve_[-1].dual == rbf.dual_


def test_a_later_batch_in_another_precision_is_taken_in_the_first_one():
    X, y = points(n=200)
    learner = KernelLaRank(Multiclass(), gamma=0.3).fit(X.astype(np.float32), y).partial_fit(X, y)
    machine = learner._machine
    np.testing.assert_allclose(machine.support_scores(), gram(learner) @ machine.coefficients(), atol=1e-3)


@pytest.mark.parametrize("first", ["dense", "sparse"])
def test_dense_and_sparse_batches_may_take_turns(first):
    X, y = points(n=200)
    forms = [X, sparse.csr_matrix(X)] if first == "dense" else [sparse.csr_matrix(X), X]
    learner = KernelLaRank(Multiclass(), gamma=0.3).partial_fit(forms[0], y).partial_fit(forms[1], y)
    machine = learner._machine
    np.testing.assert_allclose(machine.support_scores(), gram(learner) @ machine.coefficients(), atol=1e-9)
    np.testing.assert_allclose(
        learner.decision_function(forms[0]), learner.decision_function(forms[1]), atol=1e-9
    )


def gap_run(kernel, cache_size, X, y):
    problem = Multiclass()
    optimizer = KernelLaRank(
        problem, C=1.0, kernel=kernel, gamma=0.5, cache_size=cache_size, gap_tolerance=0.5, epochs=None
    )
    return optimizer.fit(X, y)


@pytest.mark.parametrize("kernel", ["rbf", "linear", lambda a, b: (a @ b.T).toarray()])
def test_scans_keep_kernel_values_and_find_the_same_slacks(kernel):
    X, y = points(300, seed=3)
    X = sparse.csr_array(X) if callable(kernel) else X
    roomy, tight = (gap_run(kernel, size, X, y) for size in (100.0, 0.02))
    assert roomy.n_kernels_ < 0.8 * tight.n_kernels_
    for optimizer in (roomy, tight):
        assert optimizer.gap() < 0.5
        slacks = optimizer._machine.slacks(np.arange(300))
        scores = optimizer.decision_function(X)
        assert slacks == pytest.approx(optimizer._machine.slacks_at(scores, y), abs=1e-6)
    assert roomy.dual_ == pytest.approx(tight.dual_, abs=1.0)


def test_kept_values_are_those_of_the_kernel():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(40, 3))
    inputs = Inputs(kernel_function("rbf", gamma=0.3, degree=3, coef0=0.0), X)
    exact = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(-1))
    kept = KeptValues(inputs, 40)
    for n_support, expected in ((5, 35 * 5), (9, 31 * 4)):  # only pairs that are new are computed
        for position in range(inputs.n, n_support):
            inputs.insert(position, position)
        support, beta = np.arange(n_support), rng.normal(size=(n_support, 2))
        found = list(kept.scan(np.arange(n_support, 40), support, beta, room=1e9))
        slots = np.concatenate([part for part, *_ in found])
        assert sorted(slots) == list(range(n_support, 40))
        assert np.concatenate([scores for _, scores, _ in found]) == pytest.approx(
            exact[slots][:, support] @ beta
        )
        assert sum(n for *_, n in found) == expected
        some = np.array([39, 12, 30])
        values, computed = kept.rows(some, support)
        np.testing.assert_allclose(values, exact[some][:, support])
        assert computed == 0
    inputs.insert(9, 9)
    values, computed = kept.rows(some, np.arange(10))
    np.testing.assert_allclose(values, exact[some][:, :10])
    assert computed == len(some)  # with the new support pattern
    kept.shrink(0)
    assert (kept.blocks, kept.n_bytes, kept.held.sum()) == ([], 0, 0)
    assert kept.rows(some, np.arange(10))[1] == 10 * len(some)
