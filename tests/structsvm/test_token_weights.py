"""Weights of tokens: losses against brute force over all label sequences, stored states and refusals."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings

from structsvm import LaRank, PassiveAggressive, Perceptron, SVMStruct
from structsvm.optimizers import ParallelLaRank, RandomField
from structsvm.optimizers.crf import CRF
from structsvm.problems import SequenceLabels, SequenceProblem, Sequences
from structsvm.problems.sequence.bigrams import Bigrams
from tests.structsvm.sequence_twins import LABELS, SlowSequences, ranked, seeds, some_labels, some_sentences

SETS = [np.array([True, False, True])]
KINDS = {"exact": {}, "greedy": {"inference": "greedy", "order": 2}, "bigrams": {"bigrams": (1,)}}


def weighed(rng, X, *, sets=True):
    """Labels, some of them sets or gaps, with weights of which some are 0."""
    n = X.n_tokens
    codes = rng.integers(-2 if sets else 0, LABELS, n).astype(np.int32)
    weights = rng.choice([0.0, 0.25, 0.5, 1.0, 3.0], n).astype(np.float32)
    codes[X.sentence_ptr[:-1]], weights[X.sentence_ptr[:-1]] = 0, 0.5
    return SequenceLabels(codes, X.sentence_ptr, SETS if sets else [], weights)


def allowed(code):
    return {-1: range(LABELS), -2: (0, 2)}.get(code, (code,))


def with_bigrams(rng, X):
    ids = rng.integers(-1, 2, (X.n_tokens, 1)).astype(np.int32)
    rows = np.array([[0, 1, 2, 3], [1, 2, 3, 4]], np.int32)
    return Sequences(X.rows, X.token_ptr, X.sentence_ptr, X.values, Bigrams(ids, rows))


def some_data(rng, kind, n=6):
    _, X = some_sentences(rng, n=n)
    return with_bigrams(rng, X) if kind == "bigrams" else X


def naive_slacks(sentences, y, w, stride):
    """The weighted slack of each sentence, with exact inference, over all label sequences."""
    problem, found = SequenceProblem(LABELS), []
    assert problem.stride == stride
    for s, sentence in enumerate(sentences):
        start, stop = y.sentence_ptr[s], y.sentence_ptr[s + 1]
        names = [allowed(code) for code in y.codes[start:stop].tolist()]
        outputs = ranked(problem, sentence, w)
        right = max(a for a, out in outputs if all(c in n for c, n in zip(out, names, strict=True)))
        factor = y.weights[start:stop].tolist()
        mean = np.mean([f for f, code in zip(factor, y.codes[start:stop], strict=True) if code != -1])
        worst = max(
            a + sum(f / mean * (c not in n) for f, c, n in zip(factor, out, names, strict=True))
            for a, out in outputs
        )
        found.append(mean * max(0.0, worst - right))
    return found


@pytest.mark.parametrize("make", [LaRank, PassiveAggressive, SVMStruct, ParallelLaRank])
@settings(max_examples=10)
@given(seed=seeds)
def test_slacks_of_sentences_are_those_of_brute_force(make, seed):
    rng = np.random.default_rng(seed)
    sentences, X = some_sentences(rng, valued=True)
    y = weighed(rng, X)
    options = {"shards": 2} if make is ParallelLaRank else {}
    optimizer = make(SequenceProblem(LABELS), C=0.5, **options).fit(X, y)
    w = optimizer.weights_
    slacks = naive_slacks(sentences, y, np.append(w, np.zeros(200)), optimizer.problem.stride)
    assert optimizer.primal() == pytest.approx(w @ w / 2 + 0.5 * sum(slacks), abs=1e-3)


@settings(max_examples=25)
@given(seeds)
def test_slacks_of_tokens_are_those_of_all_labels(seed):
    """Greedy inference: each labelled token is an example, given the labels before it."""
    rng = np.random.default_rng(seed)
    sentences, X = some_sentences(rng)
    y = weighed(rng, X)
    problem = SequenceProblem(LABELS, inference="greedy")
    optimizer = LaRank(problem, C=0.5).fit(X, y)
    w, expected = np.append(optimizer.weights_, np.zeros(200)), 0.0
    for s, sentence in enumerate(sentences):
        start, stop = y.sentence_ptr[s], y.sentence_ptr[s + 1]
        before = LABELS
        for code, factor, token in zip(y.codes[start:stop], y.weights[start:stop], sentence, strict=True):
            scores = [
                w[before * problem.stride + c]
                + sum(v * w[problem.offset + row * problem.stride + c] for row, v in token.items())
                for c in range(LABELS)
            ]
            right = max(scores[c] for c in allowed(code))
            worst = max(scores[c] + (c not in allowed(code)) for c in range(LABELS))
            expected += factor * (worst - right)
            before = code if code >= 0 else LABELS
    norm = optimizer.weights_ @ optimizer.weights_
    assert optimizer.primal() == pytest.approx(norm / 2 + 0.5 * expected, abs=1e-6)


class Weighed(tuple):
    """The labels of a sentence, with the relative weights of its tokens."""

    weights: list


class SlowWeighed(SlowSequences):
    """The same problem through the Python door."""

    def loss(self, y, other):
        return float(sum(f * (a != b) for f, a, b in zip(y.weights, y, other, strict=True)))


@settings(max_examples=8)
@given(seeds)
def test_both_doors_give_the_same_dual(seed):
    rng = np.random.default_rng(seed)
    sentences, X = some_sentences(rng, valued=True)
    y, plain = some_labels(rng, X)
    y = SequenceLabels(y.codes, y.sentence_ptr, [], rng.choice([0.25, 0.5, 2.0], X.n_tokens))
    tuples, means = [], []
    for one, (start, stop) in zip(plain, pairwise(y.sentence_ptr.tolist()), strict=True):
        tuples.append(Weighed(one))
        means.append(y.weights[start:stop].mean())
        tuples[-1].weights = (y.weights[start:stop] / means[-1]).tolist()
    fast = LaRank(SequenceProblem(LABELS), C=0.3, epochs=200).fit(X, y)
    slow = LaRank(SlowWeighed(LABELS), C=0.3, epochs=200).fit(sentences, tuples, means)
    assert fast.dual_ == pytest.approx(slow.dual_, rel=1e-2, abs=1e-6)


@pytest.mark.parametrize("make", [LaRank, PassiveAggressive, SVMStruct, ParallelLaRank])
@pytest.mark.parametrize("kind", KINDS)
def test_weights_of_one_change_nothing(make, kind):
    rng = np.random.default_rng(3)
    X = some_data(rng, kind, n=20)
    y = weighed(rng, X)
    plain = SequenceLabels(y.codes, y.sentence_ptr, y.sets)
    ones = SequenceLabels(y.codes, y.sentence_ptr, y.sets, np.ones(X.n_tokens))
    options = {"shards": 2} if make is ParallelLaRank else {}
    first, second, third = (
        make(SequenceProblem(LABELS, **KINDS[kind]), C=0.5, **options).fit(X, labels)
        for labels in (plain, ones, y)
    )
    assert first.weights_.tobytes() == second.weights_.tobytes()
    assert first.dual_ == second.dual_
    assert first.weights_.tobytes() != third.weights_.tobytes()


@pytest.mark.parametrize("make", [LaRank, PassiveAggressive, SVMStruct, ParallelLaRank])
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_weight_for_all_tokens_of_a_sentence_is_a_sample_weight(make, kind):
    rng = np.random.default_rng(9)
    X = some_data(rng, kind, n=20)
    y = weighed(rng, X)
    y = SequenceLabels(np.where(y.codes == -1, 1, y.codes), y.sentence_ptr, y.sets)
    sample_weight = rng.choice([0.25, 1.0, 3.0], len(X))
    tokens = np.repeat(sample_weight, np.diff(X.sentence_ptr))
    options = {"shards": 2} if make is ParallelLaRank else {}
    first, second = (make(SequenceProblem(LABELS, **KINDS[kind]), C=0.5, **options) for _ in range(2))
    first.fit(X, y, sample_weight)
    second.fit(X, SequenceLabels(y.codes, y.sentence_ptr, y.sets, tokens))
    assert first.weights_.tobytes() == second.weights_.tobytes()
    assert first.dual_ == second.dual_


@pytest.mark.parametrize("kind", KINDS)
def test_a_weight_of_zero_is_an_open_token(kind):
    rng = np.random.default_rng(4)
    X = some_data(rng, kind, n=20)
    codes = rng.integers(0, LABELS, X.n_tokens).astype(np.int32)
    weights = rng.choice([0.0, 1.0], X.n_tokens)
    closed = SequenceLabels(codes, X.sentence_ptr, [], weights)
    opened = SequenceLabels(np.where(weights == 0, -1, codes), X.sentence_ptr)
    problem = SequenceProblem(LABELS, **KINDS[kind])
    first, second = (LaRank(problem, C=0.5).fit(X, y) for y in (closed, opened))
    assert first.weights_.tobytes() == second.weights_.tobytes()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("make", [LaRank, ParallelLaRank])
def test_stored_patterns_keep_their_weights(make, kind):
    """A copy that was stored between two parts of the data learns the same from the second part."""
    rng = np.random.default_rng(5)
    options = {"shards": 2} if make is ParallelLaRank else {}
    optimizer = make(SequenceProblem(LABELS, **KINDS[kind]), C=0.5, **options)
    X = some_data(rng, kind, n=20)
    optimizer.partial_fit(X, weighed(rng, X))
    rows = optimizer._machine.oracle.rows(optimizer._machine.state()["slots"])
    assert set(np.unique(rows["weights"])) - {0.0, 1.0}
    copy = pickle.loads(pickle.dumps(optimizer))
    X = some_data(rng, kind, n=20)
    plain = SequenceLabels(weighed(rng, X).codes, X.sentence_ptr, SETS)
    for one in (optimizer, copy):
        one.partial_fit(X, plain)
    assert optimizer.weights_.tobytes() == copy.weights_.tobytes()
    assert optimizer.dual_ == copy.dual_


def test_some_of_the_sentences_have_their_weights():
    rng = np.random.default_rng(6)
    _, X = some_sentences(rng, n=9)
    y = weighed(rng, X)
    chosen = y[np.array([7, 2])]
    ptr = y.sentence_ptr
    expected = [*range(ptr[7], ptr[8]), *range(ptr[2], ptr[3])]
    assert np.array_equal(chosen.weights, y.weights[expected])
    assert np.array_equal(chosen.codes, y.codes[expected])


@pytest.mark.parametrize("bad", [np.nan, -0.5, np.inf, 1e7, 1e-9])
def test_numbers_out_of_range_are_refused(bad):
    with pytest.raises(ValueError, match="must be 0 or from 1e-06 to 1,000,000"):
        SequenceLabels(np.zeros(3, np.int32), np.array([0, 3]), [], np.array([1.0, bad, 1.0]))


def test_other_arrays_are_refused():
    codes, ptr = np.zeros(3, np.int32), np.array([0, 3])
    for bad in (np.ones(2), np.ones(4), np.ones(3, np.int64), np.ones((3, 1))):
        with pytest.raises(ValueError, match="an array of as many floats"):
            SequenceLabels(codes, ptr, [], bad)
    X = Sequences(np.zeros(3, np.int32), np.arange(4), ptr)
    y = SequenceLabels(codes, ptr, [], np.ones(3))
    y.weights = np.ones(2)  # changed later: compiled code must not read beyond it
    with pytest.raises(ValueError, match="an array of as many floats"):
        LaRank(SequenceProblem(LABELS)).fit(X, y)


@pytest.mark.parametrize("name", ["weights", "codes"])
def test_damaged_patterns_are_refused(name):
    rng = np.random.default_rng(7)
    _, X = some_sentences(rng)
    oracle = SequenceProblem(LABELS).oracle()
    rows = oracle.rows(oracle.add(X, weighed(rng, X)))
    rows[name] = rows[name][:-1]
    with pytest.raises(ValueError, match="tokens"):
        SequenceProblem(LABELS).oracle().add_rows(**rows)


def test_learners_without_losses_of_tokens_are_refused():
    rng = np.random.default_rng(8)
    _, X = some_sentences(rng)
    y = weighed(rng, X, sets=False)
    for learner in (Perceptron(SequenceProblem(LABELS)), RandomField(SequenceProblem(LABELS)), CRF(LABELS)):
        with pytest.raises(ValueError, match=f"{type(learner).__name__} does not support weights of tokens"):
            learner.fit(X, y)
    known = SequenceLabels(np.zeros(X.n_tokens, np.int32), X.sentence_ptr, [], np.ones(X.n_tokens))
    for loss in ("hamming", "0/1"):
        with pytest.raises(ValueError, match="counts wrong labels without weights of tokens"):
            LaRank(SequenceProblem(LABELS, loss=loss)).fit(X, known)
