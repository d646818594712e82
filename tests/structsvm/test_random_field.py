"""Random fields as an optimizer: against enumeration, against the batch solver, online and saved."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structsvm import Multiclass
from structsvm.machine import Unsupported
from structsvm.optimizers import RandomField
from structsvm.optimizers.crf import CRF
from structsvm.problems.sequence import Decoder, SequenceLabels, SequenceProblem, Sequences
from tests.structsvm.helpers import N_LABELS as L
from tests.structsvm.helpers import N_ROWS, noisy_classes, random_sentences

BARRED = np.zeros((L + 1, L), bool), np.zeros(L, bool)
BARRED[0][0, 1] = BARRED[0][L, 2] = BARRED[1][0] = True


def dense(X):
    """The sentences as the Python problem takes them."""
    values = np.ones(len(X.rows)) if X.values is None else X.values
    for first, stop in zip(X.sentence_ptr, X.sentence_ptr[1:], strict=False):
        sentence = []
        for t in range(first, stop):
            token = {}
            for k in range(X.token_ptr[t], X.token_ptr[t + 1]):
                token[X.rows[k]] = token.get(X.rows[k], 0.0) + float(values[k])
            sentence.append(token)
        yield sentence


def naive(problem, w, x, codes):
    """-log of the share of the labellings that agree with the annotation, by enumeration."""
    allowed = [[*range(L)] if c == -1 else [0, 2] if c == -2 else [c] for c in codes]
    every, right = [], []
    for path in problem.candidates(x):
        score = sum(w[at] * value for at, value in problem.joint_feature(x, path).items())
        every.append(score)
        if all(y in options for y, options in zip(path, allowed, strict=True)):
            right.append(score)
    return np.logaddexp.reduce(every) - np.logaddexp.reduce(right) if right else np.inf


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10**6), st.lists(st.integers(1, 4), min_size=1, max_size=3), st.booleans(), st.booleans()
)
def test_losses_and_gradients_are_those_of_enumeration(seed, lengths, partial, barred):
    rng = np.random.default_rng(seed)
    X, y = random_sentences(rng, lengths, values=seed % 2 == 0, codes=[0, 1, 2, -1, -2] if partial else None)
    problem = SequenceProblem(L, barred=BARRED if barred else None)
    field = RandomField(problem).begin(X, y)
    machine = field._machine
    w = rng.normal(size=machine.n_weights).reshape(-1, problem.stride) * 2
    w[:, L:] = 0
    w = w.reshape(-1)
    machine.start_from(w)
    held = field._held
    sentences = [
        s for s, n in enumerate(lengths) if (y.codes[X.sentence_ptr[s] : X.sentence_ptr[s + 1]] != -1).any()
    ]
    xs, found = [*dense(X)], machine.slacks(held)
    parts = [y.codes[X.sentence_ptr[s] : X.sentence_ptr[s + 1]].tolist() for s in sentences]
    expected = [naive(problem, w, xs[s], part) for s, part in zip(sentences, parts, strict=True)]
    np.testing.assert_allclose(found, expected, atol=1e-9)
    possible = np.isfinite(expected)
    weight = rng.random(len(held)) + 0.5
    gradient = machine.gradient(held, weight)
    assert not gradient.reshape(-1, problem.stride)[:, L:].any()
    for at in rng.choice(len(w), 12):
        if at % problem.stride < L:
            ends = []
            for step in (1e-5, -1e-5):
                moved = w.copy()
                moved[at] += step
                losses = [naive(problem, moved, xs[s], p) for s, p in zip(sentences, parts, strict=True)]
                ends.append((np.array(losses) * weight)[possible].sum())
            assert gradient[at] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-5)


def learnable(n=60, seed=3):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, L, 5 * n)
    seen = np.where(rng.random(5 * n) < 0.8, labels, rng.integers(0, N_ROWS, 5 * n))
    X = Sequences(seen.astype(np.int32), np.arange(5 * n + 1), np.arange(n + 1) * 5)
    return X, SequenceLabels(labels.astype(np.int32), X.sentence_ptr)


def accuracy(field, X, y):
    problem = field.problem
    rows = field.weight_rows(problem.history + X.rows.max() + 1, problem.stride, L)
    out = np.zeros(X.n_tokens, np.int32)
    Decoder(problem, rows).labels(X, 0, len(X), out=out)
    return (out == y.codes).mean()


def test_many_passes_reach_the_minimum_of_the_batch_solver():
    X, y = learnable()
    best = CRF(L, c2=0.5, all_states=True, all_transitions=True, delta=1e-10).fit(X, y)
    field = RandomField(SequenceProblem(L), C=1.0, epochs=100).fit(X, y)
    assert field.primal() == pytest.approx(best.objective(), rel=0.02)
    assert field.primal() - field.gap() <= best.objective()
    assert field.gap() < 0.1 * field.primal()
    assert np.isnan(field.dual_)


def test_a_step_decreases_the_objective_and_few_passes_come_close():
    X, y = learnable()
    few, many = (RandomField(SequenceProblem(L), epochs=n).fit(X, y) for n in (3, 60))
    nothing = 300 * np.log(L)
    assert many.primal() <= few.primal() < nothing
    assert few.primal() == pytest.approx(many.primal(), rel=0.05)


@pytest.mark.parametrize("C", [0.01, 0.1])
def test_two_passes_come_close_with_a_small_C(C):
    X, y = learnable()
    few, many = (RandomField(SequenceProblem(L), C=C, epochs=n).fit(X, y) for n in (2, 60))
    assert few.primal() < 1.02 * many.primal()


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e3, 1e9])
def test_features_of_any_scale_neither_diverge_nor_stand_still(scale):
    X, y = learnable()
    X.values = np.full(len(X.rows), scale, np.float32)
    field = RandomField(SequenceProblem(L), C=1 / scale**2, epochs=5).fit(X, y)
    assert np.isfinite(field.weights_).all()
    assert scale < 1 or accuracy(field, X, y) > 0.7


def test_sample_weights_count_as_copies():
    X, y = learnable(20)
    weight = np.array([3.0] * 10 + [1.0] * 10)
    weighted = RandomField(SequenceProblem(L), epochs=1).fit(X, y, weight)
    primal = weighted.primal()
    copies = np.r_[np.repeat(np.arange(10), 3), np.arange(10, 20)]
    assert primal == pytest.approx(weighted.primal(X[copies], y[copies]))


def test_online_learning_continues_and_new_features_appear():
    X, y = learnable(100)
    field = RandomField(SequenceProblem(L))
    for k in range(0, 100, 10):
        field.partial_fit(X[np.arange(k, k + 10)], y[np.arange(k, k + 10)])
    assert accuracy(field, X, y) > 0.7
    more = Sequences(X.rows + 3, X.token_ptr, X.sentence_ptr)
    field.partial_fit(more, y)
    assert field.n_weights_ == (L + 1 + N_ROWS + 3) * 8


def test_a_resumed_training_makes_the_same_steps():
    X, y = learnable()
    whole = RandomField(SequenceProblem(L), epochs=4).fit(X, y)
    half = RandomField(SequenceProblem(L), epochs=2).fit(X, y)
    again = RandomField(SequenceProblem(L), epochs=2).resume(half.state(), X, y)
    again.continue_fit()
    np.testing.assert_allclose(again.weights_, whole.weights_, atol=1e-10)
    copy = pickle.loads(pickle.dumps(whole))
    np.testing.assert_allclose(copy.weights_, whole.weights_, atol=1e-12)


def test_sentences_that_given_weights_assume_are_not_counted():
    X, y = learnable()
    field = RandomField(SequenceProblem(L)).start_from(RandomField(SequenceProblem(L)).fit(X, y).weights_)
    field.partial_fit(X, y)
    assert field.n_support_patterns_ == 60
    assert pickle.loads(pickle.dumps(field)).n_support_patterns_ == 60


def test_a_forged_state_is_refused():
    X, y = learnable()
    state = RandomField(SequenceProblem(L)).fit(X, y).state()
    for name, value in (
        ("dual.figures", np.full(8, -1.0)),
        ("dual.figures", np.zeros(3)),
        ("dual.assumed", np.full(1, 1e9)),
        ("dual.counters", np.full(3, -1)),
        ("dual.moments", state["dual.moments"][:-1]),
    ):
        with pytest.raises(ValueError, match=r"state|broadcast|figures"):
            RandomField(SequenceProblem(L)).resume(state | {name: value})


def test_labels_that_the_scheme_excludes_are_skipped_with_a_warning():
    X, y = learnable()
    barred = np.zeros((L + 1, L), bool), np.zeros(L, bool)
    barred[0][0, 1] = True
    with pytest.warns(UserWarning, match="of 60 sentences were not learned"):
        field = RandomField(SequenceProblem(L, barred=barred)).fit(X, y)
    assert np.isfinite(field.weights_).all()


@pytest.mark.parametrize(
    "problem",
    [
        SequenceProblem(L, inference="greedy"),
        SequenceProblem(L, loss="hamming"),
        SequenceProblem(L, bigrams=(1,)),
        Multiclass(),
    ],
)
def test_other_structures_are_refused(problem):
    data = noisy_classes(20) if isinstance(problem, Multiclass) else learnable()
    with pytest.raises((Unsupported, ValueError)):
        RandomField(problem).fit(*data)


@pytest.mark.parametrize(("factor", "temperature"), [(1, 1.0), (1, 0.3), (100, 7.0), (10_000, 1.0)])
def test_marginals_of_the_decoder_belong_to_the_likelihood(factor, temperature):
    X, y = learnable(3)
    problem = SequenceProblem(L, barred=BARRED)
    field = RandomField(problem, epochs=3)
    with pytest.warns(UserWarning, match="not learned"):
        field.fit(X, y)
    weights = np.zeros((problem.history + N_ROWS, problem.stride), np.float32)
    weights.reshape(-1)[: len(field.weights_)] = field.weights_
    weights = weights if factor == 1 else np.rint(weights * factor)  # so that float32 adds without errors
    found = Decoder(problem, weights).marginals(X, temperature)
    x, w = next(dense(X)), weights.reshape(-1).astype(float) / temperature
    shares = np.zeros((len(x), L))
    scores = {p: sum(w[a] * v for a, v in problem.joint_feature(x, p).items()) for p in problem.candidates(x)}
    top = np.logaddexp.reduce([*scores.values()])
    for path, score in scores.items():
        for t, label in enumerate(path):
            shares[t, label] += np.exp(score - top)
    np.testing.assert_allclose(found[: len(x)], shares, atol=1e-5)


def test_marginals_survive_transitions_whose_exponentials_underflow():
    problem = SequenceProblem(2)
    weights = np.zeros((problem.history + 2, problem.stride), np.float32)
    weights[:2, 1], weights[-2, 0], weights[-1, 1] = -2000, 1000, 5000
    X = Sequences(np.array([0, 1], np.int32), np.array([0, 1, 2]), np.array([0, 2]))
    np.testing.assert_allclose(Decoder(problem, weights).marginals(X), np.eye(2), atol=1e-6)
