"""Kernel machines in all forms of the problem, against scipy, against linear machines and each other."""

import pickle

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

from structsvm import KernelLaRank, KernelSVMStruct, LaRank, Multiclass, Problem, SVMStruct
from structsvm.problems import JointKernelProblem, SequenceLabels, SequenceProblem, Sequences
from structsvm.problems.sequence import Decoder
from tests.structsvm.qp import multiclass_outputs, solve
from tests.structsvm.sequence_twins import LABELS, some_bars, some_labels, some_sentences

FORMS = [(rescaling, slack) for rescaling in ("margin", "slack") for slack in ("l1", "l2")]
drawn_problems = st.fixed_dictionaries({"seed": st.integers(0, 10**6), "C": st.sampled_from([0.1, 3.0])})


def factor(K):
    """Vectors with the inner products K."""
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0))


def rbf(A, B, gamma=0.4):
    return np.exp(-gamma * np.sum((A[:, None] - B[None]) ** 2, axis=2))


def small_data(seed):
    rng = np.random.default_rng(seed)
    n, k = rng.integers(4, 8), rng.integers(2, 5)
    X, y = rng.normal(size=(n, 3)), np.append([0, 1], rng.integers(0, k, n - 2))
    loss = rng.uniform(0.1, 2, size=(k, k)) * (1 - np.eye(k))
    features = rng.normal(size=(k, 3)) if seed % 2 else None
    weight = rng.choice([0.5, 1.0, 3.0], size=n)
    return X, y, weight, {"classes": range(k), "loss": loss, "output_features": features}


@pytest.mark.parametrize(("rescaling", "slack"), FORMS)
@settings(max_examples=15)
@given(drawn=drawn_problems)
def test_kernel_svmstruct_larank_gap_and_scipy_reach_the_same_optimum(rescaling, slack, drawn):
    X, y, weight, options = small_data(drawn["seed"])
    C, form = drawn["C"], {"rescaling": rescaling, "slack": slack}
    outputs = multiclass_outputs(factor(rbf(X, X)), y, options["loss"], options["output_features"])
    best = solve(outputs, C * weight, **form)
    assume(best.primal - best.dual < 2e-7 * best.primal)  # SLSQP does not always converge that far
    tolerance, epsilon = 5e-7 * best.dual, 1e-7 * best.dual / (C * weight.sum())
    larank = KernelLaRank(Multiclass(**options), C=C, gamma=0.4, gap_tolerance=tolerance, **form)
    struct = KernelSVMStruct(Multiclass(**options), C=C, gamma=0.4, epsilon=epsilon, **form)
    for learner in (larank.fit(X, y, weight), struct.fit(X, y, weight)):
        assert learner.dual_ == pytest.approx(best.dual, rel=1e-6)
        assert learner.primal() == pytest.approx(best.primal, rel=1e-6)
    scores = factor(rbf(X, X)) @ best.w.reshape(len(X), -1)
    scores = scores if options["output_features"] is None else scores @ options["output_features"].T
    np.testing.assert_allclose(larank.decision_function(X), scores, atol=0.01 * np.abs(scores).max() + 1e-3)


@pytest.mark.parametrize(("rescaling", "slack"), FORMS)
def test_the_linear_kernel_gives_the_dual_and_the_scores_of_the_linear_machine(rescaling, slack):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 3
    options = {"C": 0.5, "epsilon": 1e-5, "rescaling": rescaling, "slack": slack}
    loss = np.array([[0, 1, 3], [2, 0, 1], [1, 1, 0]])
    linear = SVMStruct(Multiclass(loss=loss), **options).fit(X, y)
    kernel = KernelSVMStruct(Multiclass(loss=loss), kernel="linear", **options).fit(X, y)
    assert kernel.dual_ == pytest.approx(linear.dual_, rel=1e-5)
    assert kernel.gap() <= 1.2 * 1e-5 * 0.5 * 60 * (linear.primal() if slack == "l2" else 1)
    expected = linear.problem.decision_function(X, linear.weights_)
    np.testing.assert_allclose(kernel.decision_function(X), expected, atol=1e-2)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_dense_sparse_precomputed_and_callable_kernels_agree_with_slack_rescaling(kernel):
    rng = np.random.default_rng(2)
    X, new, y = rng.normal(size=(40, 4)), rng.normal(size=(9, 4)), np.arange(40) % 3
    values = {
        "rbf": rbf,
        "poly": lambda A, B: (0.4 * A @ B.T + 1) ** 2,
        "linear": lambda A, B: A @ B.T,
    }[kernel]
    options = {"rescaling": "slack", "C": 2.0, "epsilon": 1e-6, "gamma": 0.4, "degree": 2, "coef0": 1.0}
    dense = KernelSVMStruct(Multiclass(), kernel=kernel, **options).fit(X, y)
    thin = KernelSVMStruct(Multiclass(), kernel=kernel, **options).fit(sparse.csr_array(X), y)
    given_values = KernelSVMStruct(Multiclass(), kernel="precomputed", **options).fit(values(X, X), y)
    own = KernelSVMStruct(Multiclass(), kernel=values, **options).fit(X, y)
    expected = dense.decision_function(new)
    assert dense.n_kernels_ == 1600
    for other, inputs in ((thin, sparse.csr_array(new)), (given_values, values(new, X)), (own, new)):
        np.testing.assert_allclose(other.decision_function(inputs), expected, atol=1e-3)
        np.testing.assert_array_equal(other.predict(inputs), dense.predict(new))


# -- hard margin --------------------------------------------------------------------------------


def separable(seed, n=12):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.append([0, 1, 2], np.argmax(X[3:, :3], axis=1))


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_the_hard_margin_is_the_smallest_w_that_meets_all_constraints(rescaling, kernel):
    X, y = separable(3)
    loss = np.array([[0, 1, 2.0], [0.5, 0, 1], [1, 3, 0]])
    Z = X if kernel is None else factor(rbf(X, X))
    # A C that no coefficient reaches: the soft margin of scipy is then the hard one.
    best = solve(multiclass_outputs(Z, y, loss), np.full(len(y), 1e4), rescaling=rescaling)
    kind, options = (SVMStruct, {}) if kernel is None else (KernelSVMStruct, {"kernel": kernel, "gamma": 0.4})
    hard = kind(Multiclass(loss=loss), C=np.inf, epsilon=1e-4, rescaling=rescaling, **options).fit(X, y)
    assert hard.dual_ == pytest.approx(best.dual, rel=1e-3)
    assert hard.primal() == pytest.approx(best.primal, rel=1e-3)
    np.testing.assert_array_equal(hard.predict(X), y)
    outputs = multiclass_outputs(Z, y, loss)
    margins = [(Delta, best.w @ d) for of_pattern in outputs for Delta, d in of_pattern]
    assert min(margin - (Delta if rescaling == "margin" else 1) for Delta, margin in margins) > -1e-4


@pytest.mark.parametrize("slack", ["l1", "l2"])
def test_a_large_c_approaches_the_hard_margin(slack):
    X, y = separable(4)
    hard = SVMStruct(Multiclass(), C=np.inf, epsilon=1e-5, slack=slack).fit(X, y)
    soft = SVMStruct(Multiclass(), C=1e7, epsilon=1e-5, slack=slack).fit(X, y)
    np.testing.assert_allclose(hard.weights_, soft.weights_, rtol=1e-3, atol=1e-3)
    assert pickle.loads(pickle.dumps(hard)).dual_ == hard.dual_


@pytest.mark.parametrize("slack", ["l1", "l2"])
@pytest.mark.parametrize("kernel", [None, "linear"])
def test_a_training_set_that_is_not_separable_has_no_hard_margin(slack, kernel):
    X, y = separable(5, n=60)
    X, y = np.concatenate([X, X[:1]]), np.append(y, (y[0] + 1) % 3)  # one example twice, with two labels
    kind, options = (SVMStruct, {}) if kernel is None else (KernelSVMStruct, {"kernel": kernel})
    with pytest.raises(ValueError, match=r"not separable .* use a finite C"):
        kind(Multiclass(), C=np.inf, slack=slack, **options).fit(X, y)


@pytest.mark.parametrize("slack", ["l1", "l2"])
@pytest.mark.parametrize("kernel", [None, "linear"])
def test_a_loss_of_zero_between_two_classes_keeps_the_limit_of_the_hard_margin(slack, kernel):
    X, y = separable(5, n=60)
    X, y = np.concatenate([X, X[:1]]), np.append(y, (y[0] + 1) % 3)
    loss = 1 - np.eye(3)
    loss[y[0], (y[0] + 2) % 3] = loss[(y[0] + 2) % 3, y[0]] = 0
    kind, options = (SVMStruct, {}) if kernel is None else (KernelSVMStruct, {"kernel": kernel})
    with pytest.raises(ValueError, match="not separable"):
        kind(Multiclass(loss=loss), C=np.inf, slack=slack, **options).fit(X, y)


def test_an_example_without_features_has_no_hard_margin():
    with pytest.raises(ValueError, match="not separable"):
        SVMStruct(Multiclass(), C=np.inf).fit(np.array([[1.0], [-1.0], [0.0]]), [0, 1, 0])


def test_only_n_slack_svmstruct_has_a_hard_margin():
    X, y = separable(4)
    with pytest.raises(ValueError, match="C=inf has no slacks"):
        SVMStruct(Multiclass(), C=np.inf, formulation="1-slack").fit(X, y)
    with pytest.raises(ValueError, match=r"C must be at most 1e\+100, got inf"):
        LaRank(Multiclass(), C=np.inf).fit(X, y)
    with pytest.raises(ValueError, match="C must be a number above 0 or inf, got nan"):
        SVMStruct(Multiclass(), C=np.nan).fit(X, y)


# -- sequences ----------------------------------------------------------------------------------


def expanded(sentences):
    """Tokens with the features of the kernel (1 + <x, x'>)^2, written out for 5 rows."""
    pairs = [(r, s) for r in range(5) for s in range(r + 1)]
    rows, values = [], []
    for token in (token for sentence in sentences for token in sentence):
        x = np.array([token.get(r, 0.0) for r in range(5)])
        squares = [x[r] * x[s] * (1 if r == s else np.sqrt(2)) for r, s in pairs]
        rows.append(np.arange(21))
        values.append(np.concatenate([[1], np.sqrt(2) * x, squares]))
    ptr = np.cumsum([0, *map(len, sentences)])
    return Sequences(
        np.concatenate(rows).astype(np.int32), 21 * np.arange(ptr[-1] + 1), ptr,
        np.concatenate(values).astype(np.float32),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("options", "form"),
    [
        ({}, {}),
        ({"loss": "hamming"}, {"rescaling": "slack"}),
        ({"loss": "hamming"}, {"slack": "l2"}),
        ({"loss": "0/1"}, {"rescaling": "slack", "slack": "l2"}),
        ({"inference": "greedy", "order": 2}, {}),
        ({"barred": True}, {}),
    ],
)
def test_a_polynomial_kernel_between_tokens_is_the_linear_machine_on_its_features(options, form):
    rng = np.random.default_rng(6)
    sentences, X = some_sentences(rng, n=12, valued=True)
    y, _ = some_labels(rng, X)
    if "barred" in options:
        options = {"barred": some_bars(rng)}
        y.codes[:] = 0  # label 0 may always follow itself
        y.codes[X.sentence_ptr[:-1]] = 0
    problem = SequenceProblem(LABELS, **options)
    written, kernel = expanded(sentences), {"kernel": "poly", "degree": 2, "coef0": 1.0}
    for linear, machine in (
        (SVMStruct(problem, epsilon=1e-5, **form), KernelSVMStruct(problem, epsilon=1e-5, **kernel, **form)),
        (LaRank(problem, gap_tolerance=1e-4, **form),
         KernelLaRank(problem, gap_tolerance=1e-4, **kernel, **form)),
    ):  # fmt: skip
        linear.fit(written, y)
        machine.fit(X, y)
        assert machine.dual_ == pytest.approx(linear.dual_, rel=1e-3)
        assert machine.primal() == pytest.approx(linear.primal(), rel=1e-3)
        weights = np.zeros((problem.history + 21, problem.stride), np.float32)
        weights.reshape(-1)[: len(linear.weights_)] = linear.weights_
        new, new_X = some_sentences(np.random.default_rng(7), n=12, valued=True)
        decoder = Decoder(problem, weights)
        for other, wanted in ((X, written), (new_X, expanded(new))):
            margins = np.zeros(other.n_tokens, np.float32)
            labels = decoder.labels(wanted, margins=margins)
            clear = margins > 0.05  # both machines are this far from their common optimum
            assert clear.mean() > 0.3
            np.testing.assert_array_equal(machine.predict(other)[clear], labels[clear])


def test_eta_weighs_the_transitions():
    rng = np.random.default_rng(8)
    _, X = some_sentences(rng, n=10, valued=True)
    y, _ = some_labels(rng, X)
    problem = SequenceProblem(LABELS)
    # Transitions with eta and tokens are, up to the factor eta^2 of ||w||^2, those without and tokens / eta.
    scaled = Sequences(X.rows, X.token_ptr, X.sentence_ptr, X.values / 4)
    eta = KernelSVMStruct(problem, kernel="linear", eta=4.0, C=1.0, epsilon=1e-6).fit(X, y)
    linear = SVMStruct(problem, C=16.0, epsilon=1e-6).fit(scaled, y)
    assert 16 * eta.dual_ == pytest.approx(linear.dual_, rel=1e-4)
    weights = np.zeros((problem.history + 5, problem.stride), np.float32)
    weights.reshape(-1)[: len(linear.weights_)] = linear.weights_
    np.testing.assert_array_equal(eta.predict(X), Decoder(problem, weights).labels(scaled))


def test_an_eta_that_changes_after_fit_changes_no_prediction_and_no_pickle():
    rng = np.random.default_rng(8)
    _, X = some_sentences(rng, n=10, valued=True)
    y, _ = some_labels(rng, X)
    learner = KernelSVMStruct(SequenceProblem(LABELS), kernel="linear", epsilon=1e-3).fit(X, y)
    labels, norm = learner.predict(X), learner._machine.norm
    learner.eta = 30.0
    np.testing.assert_array_equal(learner.predict(X), labels)
    copy = pickle.loads(pickle.dumps(learner))
    np.testing.assert_array_equal(copy.predict(X), labels)
    assert copy._machine.norm == pytest.approx(norm)
    assert (learner.fit(X, y).predict(X) != labels).any()


def test_features_that_training_never_saw_count_in_the_norm_only():
    X = Sequences(np.array([0, 1, 0], np.int32), np.arange(4), np.array([0, 2, 3]))
    y = SequenceLabels(np.array([0, 1, 0], np.int32), X.sentence_ptr)
    learner = KernelSVMStruct(SequenceProblem(2), kernel="rbf", gamma=0.5, C=10.0).fit(X, y)
    new = Sequences(np.array([1, 7], np.int32), np.array([0, 2]), np.array([0, 1]))
    values = learner._gram.values(*learner._gram.matrix(new, 2))
    np.testing.assert_allclose(values, [[np.exp(-0.5 * 3), np.exp(-0.5 * 1), np.exp(-0.5 * 3)]])


def test_sentences_with_a_repeated_feature_stay_as_they_are():
    X = Sequences(np.array([3, 3, 1], np.int32), np.array([0, 2, 3]), np.array([0, 2]))
    y = SequenceLabels(np.array([0, 1], np.int32), X.sentence_ptr)
    KernelSVMStruct(SequenceProblem(2), kernel="rbf").fit(X, y).predict(X)
    assert (X.rows.tolist(), X.token_ptr.tolist()) == ([3, 3, 1], [0, 2, 3])


# -- joint kernels ------------------------------------------------------------------------------


class Strings(JointKernelProblem):
    """Outputs are numbers; J = k(x, x') / (1 + |y - y'|), which is positive definite for y = 0, 1, 2."""

    def joint_kernel(self, x, y, other_x, other_y):
        return float(np.exp(-0.4 * np.sum((x - other_x) ** 2))) / (1 + abs(y - other_y))

    def loss(self, y, other):
        return float(abs(y - other))

    def candidates(self, x):
        return [0, 1, 2]


@pytest.mark.parametrize(("rescaling", "slack"), FORMS)
def test_a_joint_kernel_of_a_user_equals_the_same_kernel_by_output_features(rescaling, slack):
    rng = np.random.default_rng(9)
    X, y = rng.normal(size=(20, 3)), np.arange(20) % 3
    similarity = 1 / (1 + np.abs(np.subtract.outer(range(3), range(3))))
    multiclass = Multiclass(
        loss=np.abs(np.subtract.outer(range(3), range(3))), output_features=np.linalg.cholesky(similarity)
    )
    options = {"C": 2.0, "epsilon": 1e-5, "rescaling": rescaling, "slack": slack}
    own = KernelSVMStruct(Strings(), **options).fit(X, y.tolist())
    built_in = KernelSVMStruct(multiclass, gamma=0.4, **options).fit(X, y)
    assert own.dual_ == pytest.approx(built_in.dual_, rel=1e-4)
    new = rng.normal(size=(10, 3))
    assert own.predict(new) == built_in.predict(new).tolist()


class Indefinite(Strings):
    def joint_kernel(self, x, y, other_x, other_y):
        return 1.0 - 3.0 * (y == other_y)


def test_a_kernel_that_is_not_positive_semi_definite_is_reported():
    with pytest.raises(ValueError, match="not positive semi-definite"):
        KernelSVMStruct(Indefinite(), slack="l2").fit(np.eye(4), [0, 1, 2, 0])


# -- the rest of the life of a machine ----------------------------------------------------------


def machines():
    rng = np.random.default_rng(10)
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 3
    _, sentences = some_sentences(rng, n=10)
    labels, _ = some_labels(rng, sentences)
    return [
        (KernelSVMStruct(Multiclass(), slack="l2", C=3.0), X, y),
        (KernelLaRank(Multiclass(), rescaling="slack", epochs=3), X, y),
        (KernelSVMStruct(SequenceProblem(LABELS), kernel="poly", degree=2), sentences, labels),
        (KernelSVMStruct(Strings(), rescaling="slack"), X, y.tolist()),
    ]


@pytest.mark.parametrize("k", range(4))
def test_a_pickle_predicts_and_repeats_bit_for_bit(k):
    learner, X, y = machines()[k]
    learner.fit(X, y)
    copy = pickle.loads(pickle.dumps(learner))
    np.testing.assert_array_equal(copy.predict(X), learner.predict(X))
    np.testing.assert_allclose(copy._machine.coefficients(), learner._machine.coefficients(), atol=1e-12)
    assert copy.dual_ == learner.dual_
    assert copy._machine.norm == pytest.approx(learner._machine.norm)
    again, *_ = machines()[k]
    np.testing.assert_array_equal(again.fit(X, y)._machine.coefficients(), learner._machine.coefficients())


@pytest.mark.parametrize("k", range(4))
def test_stored_scores_and_dual_equal_their_definitions(k):
    learner, X, y = machines()[k]
    machine, span = learner.fit(X, y)._machine, learner._gram
    A, at = machine.coefficients(), span.offset
    width = (len(A) - at) // span.n
    scores = np.concatenate([A[:at], (span.gram @ A[at:].reshape(span.n, width)).ravel()])
    np.testing.assert_allclose(machine.state()["weights"], scores, atol=1e-10)
    assert machine.norm == pytest.approx(A @ scores)
    assert machine.dual == pytest.approx(machine.losses - machine.norm / 2)


@pytest.mark.parametrize("k", range(4))
def test_what_needs_the_whole_kernel_matrix_refuses_batches_weights_and_large_data(k):
    learner, X, y = machines()[k]
    with pytest.raises(ValueError, match="partial_fit cannot train this problem with kernels"):
        learner.partial_fit(X, y)
    learner.fit(X, y)
    predictions = learner.predict(X)
    with pytest.raises(AttributeError, match="no weight vector"):
        _ = learner.weights_
    with pytest.raises(ValueError, match="no state of arrays"):
        learner.state()
    learner.cache_size = 1e-4
    with pytest.raises(ValueError, match=r"kernel matrix of \d+ inputs needs .* raise cache_size"):
        learner.fit(X, y)
    np.testing.assert_array_equal(learner.predict(X), predictions)


@pytest.mark.parametrize("k", range(4))
def test_what_needs_the_whole_kernel_matrix_knows_the_primal_of_its_own_data_only(k):
    learner, X, y = machines()[k]
    primal, gap = learner.fit(X, y).primal(), learner.gap()
    for method in (learner.primal, learner.gap):
        with pytest.raises(ValueError, match="know only the data of fit: call them without X and y"):
            method(X, y)
    assert (learner.primal(), learner.gap()) == (primal, gap)
    learner.continue_fit()


def test_bad_data_leave_a_fitted_machine_as_it_was():
    learner, X, y = machines()[0]
    predictions = learner.fit(X, y).predict(X)
    with pytest.raises(ValueError, match="but y has 30 outputs"):
        learner.fit(X[:20], y)
    with pytest.raises(ValueError, match="features"):
        learner.predict(X[:, :2])
    np.testing.assert_array_equal(learner.predict(X), predictions)


def test_problems_without_a_kernel_are_named():
    class Own(Problem):
        n_features = 1

        def joint_feature(self, x, y):
            return [x]

    with pytest.raises(ValueError, match="a SequenceProblem or a JointKernelProblem"):
        KernelSVMStruct(Own()).fit([1.0], [0])
    with pytest.raises(TypeError, match="joint kernel and no joint features"):
        SVMStruct(Strings()).fit(np.eye(2), [0, 1])
