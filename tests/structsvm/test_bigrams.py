"""Features that look at a label before: both inferences and both trainings against brute force."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structsvm import LaRank, PassiveAggressive, Perceptron, SVMStruct
from structsvm._dual.oracle import PythonOracle
from structsvm.problems import SequenceLabels, SequenceProblem
from structsvm.problems.sequence._decode import Decoder
from structsvm.problems.sequence.bigrams import Bigrams
from structsvm.problems.sequence.resize import wider_state, wider_weights
from tests.structsvm.sequence_twins import (
    LABELS,
    ROWS,
    check_decoder,
    ranked,
    some_bars,
    some_labels,
    some_sentences,
)

NUMBERS = 4
ALL_ROWS = ROWS + NUMBERS * (LABELS + 1)
seeds = st.integers(0, 10_000)


class Slow(SequenceProblem):
    """The same problem through the Python door: a token is ({row: value}, its bigram numbers)."""

    n_features = 0
    rows: np.ndarray

    def oracle(self):
        self.n_features = self.offset + ALL_ROWS * self.stride
        return PythonOracle(self)

    def joint_feature(self, x, y):
        feature = super().joint_feature([token for token, _ in x], y)
        for t, (_, numbers) in enumerate(x):
            for number in numbers:
                row = self.rows[number, y[t - 1] if t else LABELS] if number >= 0 else -1
                if row >= 0:
                    index = self.offset + int(row) * self.stride + y[t]
                    feature[index] = feature.get(index, 0.0) + 1.0
        return feature


def some_bigrams(rng, X, kinds=2):
    rows = (ROWS + np.arange(NUMBERS * (LABELS + 1), dtype=np.int32)).reshape(NUMBERS, LABELS + 1)
    rows[rng.random(rows.shape) < 0.2] = -1
    ids = rng.integers(-1, NUMBERS, (len(X.token_ptr) - 1, kinds)).astype(np.int32)
    return Bigrams(ids, rows)


def some_data(rng, **options):
    """Sentences with bigrams: for the Python door, and as flat arrays."""
    sentences, X = some_sentences(rng, **options)
    bigrams = some_bigrams(rng, X)
    numbers = iter(bigrams.ids.tolist())
    return [[(token, next(numbers)) for token in s] for s in sentences], replace(X, bigrams=bigrams)


def slow_twin(X, **options):
    twin = Slow(LABELS, bigrams=(1, 1), **options)
    twin.rows = X.bigrams.rows
    return twin


def some_weights(rng, problem):
    weights = np.zeros((problem.history + ALL_ROWS, problem.stride))
    weights[:, :LABELS] = np.round(rng.normal(size=(len(weights), LABELS)), 3)
    return weights


@settings(max_examples=30)
@given(seeds, st.booleans())
def test_exact_labels_margins_and_n_best_are_those_of_brute_force(seed, barred):
    rng = np.random.default_rng(seed)
    sentences, X = some_data(rng)
    twin = slow_twin(X, barred=some_bars(rng) if barred else None)
    w = some_weights(rng, twin).reshape(-1)
    check_decoder(twin, sentences, X, w)


@settings(max_examples=20)
@given(seeds)
def test_exact_slacks_are_those_of_brute_force_also_with_partial_annotation(seed):
    rng = np.random.default_rng(seed)
    sentences, X = some_data(rng)
    codes = rng.integers(-1, LABELS, len(X.token_ptr) - 1).astype(np.int32)
    codes[X.sentence_ptr[:-1]] = 0
    optimizer = LaRank(SequenceProblem(LABELS, bigrams=(1, 1)), C=0.5).fit(
        X, SequenceLabels(codes, X.sentence_ptr)
    )
    w, expected = optimizer.weights_, 0.0
    for s, sentence in enumerate(sentences):
        gold = codes[X.sentence_ptr[s] : X.sentence_ptr[s + 1]]
        outputs = ranked(slow_twin(X), sentence, np.append(w, np.zeros(500)))
        fits = [score for score, y in outputs if all(g in (-1, c) for g, c in zip(gold, y, strict=True))]
        expected += max(
            sum(g not in (-1, c) for g, c in zip(gold, y, strict=True)) + score - max(fits)
            for score, y in outputs
        )
    assert optimizer.primal() == pytest.approx(w @ w / 2 + 0.5 * expected, abs=1e-3)


@pytest.mark.parametrize("make", [LaRank, PassiveAggressive, SVMStruct])
@settings(max_examples=5)
@given(seeds)
def test_both_doors_give_the_same_dual(make, seed):
    rng = np.random.default_rng(seed)
    sentences, X = some_data(rng, valued=True)
    y, tuples = some_labels(rng, X)
    options = {"C": 0.3} | ({} if make is SVMStruct else {"epochs": 60})
    fast = make(SequenceProblem(LABELS, bigrams=(1, 1)), **options).fit(X, y)
    slow = make(slow_twin(X), **options).fit(sentences, tuples)
    assert fast.dual_ == pytest.approx(slow.dual_, rel=0.03 if make is SVMStruct else 1e-2, abs=1e-6)


def greedy_scores(problem, w, X, t, start, labels):
    """The scores of all labels of a token, given those before."""
    scores = w[problem.history + X.rows[X.token_ptr[t] : X.token_ptr[t + 1]]].sum(axis=0)
    for back in range(1, problem.order + 1):
        before = labels[t - back] if t - back >= start else LABELS
        scores = scores + w[(back - 1) * (LABELS + 1) + before]
    for number, back in zip(X.bigrams.ids[t], problem.bigrams, strict=True):
        row = X.bigrams.rows[number, labels[t - back] if t - back >= start else LABELS] if number >= 0 else -1
        scores = scores + (w[problem.history + row] if row >= 0 else 0)
    return scores[:LABELS]


@settings(max_examples=20)
@given(seeds, st.integers(0, 2))
def test_greedy_choices_are_the_best_given_those_before(seed, order):
    rng = np.random.default_rng(seed)
    _, X = some_data(rng, longest=5)
    problem = SequenceProblem(LABELS, inference="greedy", order=order, bigrams=(1, 3))
    w = some_weights(rng, problem)
    found = Decoder(problem, w.reshape(-1)).labels(X)
    for start, stop in zip(X.sentence_ptr[:-1], X.sentence_ptr[1:], strict=True):
        for t in range(start, stop):
            scores = greedy_scores(problem, w, X, t, start, found)
            assert scores[found[t]] == pytest.approx(scores.max(), abs=1e-5)


@settings(max_examples=20)
@given(seeds)
def test_greedy_training_sees_the_features_of_the_true_history(seed):
    """The primal is the sum over tokens of the hinge, given the gold labels before."""
    rng = np.random.default_rng(seed)
    _, X = some_data(rng, longest=5)
    y, _ = some_labels(rng, X)
    problem = SequenceProblem(LABELS, inference="greedy", order=1, bigrams=(1, 2))
    optimizer = LaRank(problem, C=0.5, epochs=3).fit(X, y)
    flat = optimizer.weights_
    w = np.append(flat, np.zeros((problem.history + ALL_ROWS) * problem.stride - len(flat)))
    w, slack = w.reshape(-1, problem.stride), 0.0
    for start, stop in zip(X.sentence_ptr[:-1], X.sentence_ptr[1:], strict=True):
        for t in range(start, stop):
            scores = greedy_scores(problem, w, X, t, start, y.codes)
            slack += max(scores + (np.arange(LABELS) != y.codes[t])) - scores[y.codes[t]]
    assert optimizer.primal() == pytest.approx(flat @ flat / 2 + 0.5 * slack, abs=1e-6)


@pytest.mark.parametrize("inference", ["exact", "greedy"])
@pytest.mark.parametrize("make", [LaRank, Perceptron])
def test_training_continues_bit_for_bit_after_a_pause(make, inference):
    rng = np.random.default_rng(3)
    _, X = some_data(rng, n=40)
    y, _ = some_labels(rng, X)

    def fresh():
        return make(SequenceProblem(LABELS, inference=inference, bigrams=(1, 1)))

    whole = fresh().begin(X, y)
    whole.epoch()
    state = {name: array.copy() for name, array in whole.state().items()}
    whole.epoch()
    halves = fresh().resume(state, X, y)
    halves.epoch()
    assert halves.weights_.tobytes() == whole.weights_.tobytes()


@pytest.mark.parametrize("inference", ["exact", "greedy"])
def test_support_patterns_outlive_their_data_and_a_wider_layout(inference):
    rng = np.random.default_rng(5)
    _, X = some_data(rng, n=30)
    y, _ = some_labels(rng, X)
    old, new = (SequenceProblem(LABELS + more, inference=inference, bigrams=(1, 1)) for more in (0, 2))
    optimizer = LaRank(old).partial_fit(X, y)
    wide = LaRank(new).resume(wider_state(optimizer.state(), old, new))
    assert wide.dual_ == optimizer.dual_
    rows = X.bigrams.rows
    more = np.hstack([rows[:, :-1], np.full((NUMBERS, 2), -1, np.int32), rows[:, -1:]])
    wider = replace(X, bigrams=Bigrams(X.bigrams.ids, more))
    weights = wider_weights(optimizer.weights_, old, new)
    weights.reshape(-1, new.stride)[:, LABELS : LABELS + 2] = -1e6
    weights = np.append(weights, np.zeros((new.history + ALL_ROWS) * new.stride - len(weights)))
    plain = np.append(
        optimizer.weights_, np.zeros((old.history + ALL_ROWS) * old.stride - len(optimizer.weights_))
    )
    assert np.array_equal(Decoder(new, weights).labels(wider), Decoder(old, plain).labels(X))
    before = wide.dual_
    assert wide.partial_fit(wider, y).dual_ > before


def test_arrays_that_do_not_fit_are_refused():
    rng = np.random.default_rng(0)
    _, X = some_data(rng)
    y, _ = some_labels(rng, X)
    problem = SequenceProblem(LABELS, bigrams=(1, 1))
    for bad, message in [
        (replace(X, bigrams=None), "if and only if"),
        (replace(X, bigrams=replace(X.bigrams, ids=X.bigrams.ids[1:])), "bigram ids"),
        (replace(X, bigrams=replace(X.bigrams, rows=X.bigrams.rows[:, 1:])), "bigram rows"),
        (replace(X, bigrams=replace(X.bigrams, rows=X.bigrams.rows[:1])), "outside"),
    ]:
        with pytest.raises(ValueError, match=message):
            LaRank(problem).fit(bad, y)
    with pytest.raises(ValueError, match="if and only if"):
        LaRank(SequenceProblem(LABELS)).fit(X, y)
    with pytest.raises(ValueError, match="one label back"):
        SequenceProblem(LABELS, bigrams=(2,))
    for inference in ("exact", "greedy"):
        with pytest.raises(ValueError, match="at least 1 label back, got 0"):
            SequenceProblem(LABELS, inference=inference, bigrams=(0,))


def test_more_weights_than_can_be_counted_are_refused_also_if_bigrams_have_them():
    rng = np.random.default_rng(0)
    _, X = some_data(rng)
    y, _ = some_labels(rng, X)
    problem = SequenceProblem(LABELS, bigrams=(1, 1))
    state = LaRank(problem).fit(X, y).state()
    many = X.bigrams.rows.copy()
    many[0, 0] = 2**31 // problem.stride
    with pytest.raises(ValueError, match="more than 2"):
        problem.check_sequences(replace(X, bigrams=replace(X.bigrams, rows=many)), y)
    with pytest.raises(ValueError, match="more than 2"):
        LaRank(problem).resume(state | {"rows.bigram_rows": many})
