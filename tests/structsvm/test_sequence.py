"""Sequences: every inference against brute force over all label sequences, and both doors to one dual."""

import tracemalloc
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structsvm import LaRank, PassiveAggressive, Perceptron, SVMStruct
from structsvm.files import SparseRows
from structsvm.problems import SequenceLabels, SequenceProblem, Sequences
from structsvm.problems.sequence._decode import Decoder
from structsvm.problems.sequence.resize import wider_state, wider_weights
from tests.structsvm.helpers import unaligned
from tests.structsvm.sequence_twins import (
    LABELS,
    ROWS,
    SlowSequences,
    check_decoder,
    ranked,
    seeds,
    some_bars,
    some_labels,
    some_sentences,
    some_weights,
)


@settings(max_examples=40)
@given(seeds, st.booleans(), st.booleans())
def test_viterbi_margins_and_n_best_are_those_of_brute_force(seed, valued, barred):
    rng = np.random.default_rng(seed)
    sentences, X = some_sentences(rng, valued=valued)
    problem = SequenceProblem(LABELS, barred=some_bars(rng) if barred else None)
    w = some_weights(rng, problem)
    check_decoder(problem, sentences, X, w)


@settings(max_examples=25)
@given(seeds)
def test_forced_labels_are_kept_and_the_rest_is_the_best_around_them(seed):
    rng = np.random.default_rng(seed)
    sentences, X = some_sentences(rng)
    problem = SequenceProblem(LABELS)
    w = some_weights(rng, problem)
    forced = np.where(
        rng.random(len(X.token_ptr) - 1) < 0.4, rng.integers(0, LABELS, len(X.token_ptr) - 1), -1
    )
    found = Decoder(problem, w).labels(X, forced=forced.astype(np.int32))
    for s, sentence in enumerate(sentences):
        start, stop = X.sentence_ptr[s], X.sentence_ptr[s + 1]
        part = forced[start:stop]
        allowed = [
            pair
            for pair in ranked(problem, sentence, w)
            if all(f in (-1, y) for f, y in zip(part, pair[1], strict=True))
        ]
        scores = dict((y, score) for score, y in allowed)
        assert scores[tuple(found[start:stop].tolist())] == pytest.approx(allowed[0][0], abs=1e-4)


@settings(max_examples=25)
@given(seeds, st.booleans())
def test_slacks_are_those_of_brute_force_also_with_partial_annotation(seed, barred):
    """The primal asks the loss-augmented argmax of each sentence."""
    rng = np.random.default_rng(seed)
    sentences, X = some_sentences(rng)
    loss = rng.uniform(0.5, 2, (LABELS, LABELS)) * (1 - np.eye(LABELS))
    problem = SequenceProblem(LABELS, loss=loss, barred=some_bars(rng) if barred else None)
    codes = rng.integers(-2, LABELS, len(X.token_ptr) - 1).astype(np.int32)
    codes[X.sentence_ptr[:-1]] = 0  # each sentence has something to learn, and a path that is allowed
    codes[codes > 0] = 0 if barred else 1
    both = np.array([True, False, True])
    y = SequenceLabels(codes, X.sentence_ptr, [both])
    optimizer = LaRank(problem, C=0.5).fit(X, y)
    w, expected = optimizer.weights_, 0.0
    for s, sentence in enumerate(sentences):
        gold = codes[X.sentence_ptr[s] : X.sentence_ptr[s + 1]]
        sets = [range(LABELS) if g == -1 else (0, 2) if g == -2 else (g,) for g in gold]
        outputs = ranked(problem, sentence, np.append(w, np.zeros(200)))
        right = max(
            score for score, out in outputs if all(c in names for c, names in zip(out, sets, strict=True))
        )

        def cost(out, sets=sets):
            return sum(
                min(loss[g, c] for g in names) if c not in names else 0
                for c, names in zip(out, sets, strict=True)
            )

        expected += max(0.0, max(cost(out) + score - right for score, out in outputs))
    assert optimizer.primal() == pytest.approx(w @ w / 2 + 0.5 * expected, abs=1e-3)


@pytest.mark.parametrize("make", [LaRank, PassiveAggressive, SVMStruct, Perceptron])
@settings(max_examples=5)
@given(seeds, st.booleans())
def test_both_doors_give_the_same_dual(make, seed, barred):
    rng = np.random.default_rng(seed)
    sentences, X = some_sentences(rng, valued=True)
    y, tuples = some_labels(rng, X)
    bars = some_bars(rng) if barred else None
    if barred:
        y.codes[:] = 0
        tuples = [(0,) * len(one) for one in tuples]
    options = {} if make is Perceptron else {"C": 0.3}
    fast = make(SequenceProblem(LABELS, barred=bars), **options).fit(X, y)
    slow = make(SlowSequences(LABELS, barred=bars), **options).fit(sentences, tuples)
    if make is Perceptron:
        assert fast.n_argmax_ == slow.n_argmax_
        return
    # Viterbi adds in single precision: ties may fall otherwise, converged duals may not.
    if make is SVMStruct:
        assert fast.dual_ == pytest.approx(slow.dual_, rel=0.03)
    else:
        fast, slow = (
            make(p, epochs=200, **options).fit(*data)
            for p, data in (
                (SequenceProblem(LABELS, barred=bars), (X, y)),
                (SlowSequences(LABELS, barred=bars), (sentences, tuples)),
            )
        )
        assert fast.dual_ == pytest.approx(slow.dual_, rel=1e-2, abs=1e-6)


@settings(max_examples=20)
@given(seeds, st.integers(0, 3))
def test_greedy_choices_are_the_best_given_those_before(seed, order):
    rng = np.random.default_rng(seed)
    sentences, X = some_sentences(rng, longest=5)
    problem = SequenceProblem(LABELS, inference="greedy", order=order)
    w = some_weights(rng, problem).reshape(-1, problem.stride)
    found = Decoder(problem, w.reshape(-1)).labels(X)
    for s, sentence in enumerate(sentences):
        y = found[X.sentence_ptr[s] : X.sentence_ptr[s + 1]].tolist()
        for t, token in enumerate(sentence):
            scores = sum(w[problem.history + row] for row in token)
            for back in range(1, order + 1):
                scores = scores + w[(back - 1) * (LABELS + 1) + (y[t - back] if t >= back else LABELS)]
            assert scores[y[t]] == pytest.approx(scores[:LABELS].max(), abs=1e-5)


@given(seeds)
def test_exact_without_transitions_is_greedy_of_order_0(seed):
    rng = np.random.default_rng(seed)
    _, X = some_sentences(rng)
    exact, greedy = SequenceProblem(LABELS), SequenceProblem(LABELS, inference="greedy", order=0)
    w = some_weights(rng, greedy)
    padded = np.append(np.zeros(exact.offset), w)
    assert Decoder(exact, padded).labels(X).tolist() == Decoder(greedy, w).labels(X).tolist()


@pytest.mark.parametrize("inference", ["exact", "greedy"])
@pytest.mark.parametrize("make", [LaRank, PassiveAggressive, SVMStruct, Perceptron])
def test_two_passes_are_one_pass_and_one_more_after_a_pause(make, inference):
    rng = np.random.default_rng(3)
    _, X = some_sentences(rng, n=40, valued=True)
    y, _ = some_labels(rng, X)

    def fresh():
        return make(SequenceProblem(LABELS, inference=inference))

    whole = fresh().begin(X, y)
    whole.epoch()
    state = {name: array.copy() for name, array in whole.state().items()}
    whole.epoch()
    halves = fresh().resume(state, X, y)
    halves.epoch()
    assert halves.weights_.tobytes() == whole.weights_.tobytes()
    assert halves.n_argmax_ == whole.n_argmax_
    after, other = whole.state(), halves.state()
    assert all(after[name].tobytes() == other[name].tobytes() for name in after if name != "dual.counters")


@pytest.mark.parametrize(("inference", "order"), [("exact", 1), ("greedy", 2)])
def test_a_wider_layout_scores_as_before(inference, order):
    rng = np.random.default_rng(5)
    _, X = some_sentences(rng, n=30)
    y, _ = some_labels(rng, X)
    old = SequenceProblem(LABELS, inference=inference, order=order)
    new = SequenceProblem(LABELS + 9, inference=inference, order=order)
    optimizer = LaRank(old).fit(X, y)
    weights = wider_weights(optimizer.weights_, old, new)
    table = weights.reshape(-1, new.stride)
    assert np.abs(weights).sum() == pytest.approx(np.abs(optimizer.weights_).sum())
    table[:, LABELS : LABELS + 9] = -1e6  # no one chooses a label that is new
    assert np.array_equal(Decoder(new, weights).labels(X), Decoder(old, optimizer.weights_).labels(X))
    wide = LaRank(new).resume(wider_state(optimizer.state(), old, new))
    assert wide.dual_ == optimizer.dual_
    assert wide.partial_fit(X, y).dual_ > optimizer.dual_


def test_candidates_are_all_sequences():
    assert len(list(SequenceProblem(LABELS).candidates([{}] * 3))) == len(
        list(product(range(LABELS), repeat=3))
    )


@pytest.mark.parametrize("inference", ["exact", "greedy"])
def test_a_margin_is_infinite_where_no_other_label_is_possible(inference):
    rng = np.random.default_rng(0)
    _, X = some_sentences(rng)
    n = len(X.token_ptr) - 1
    margins = np.zeros(n, np.float32)
    follow, last = np.zeros((LABELS + 1, LABELS), bool), np.zeros(LABELS, bool)
    follow[LABELS, 1:] = True  # a sentence begins with label 0
    problem = SequenceProblem(LABELS, inference=inference, barred=(follow, last))
    first = np.isin(np.arange(n), X.sentence_ptr)
    found = Decoder(problem, some_weights(rng, problem)).labels(X, margins=margins)
    assert (found[first] == 0).all()
    assert np.array_equal(np.isinf(margins), first)
    forced = np.where(np.arange(n) % 2, -1, 0).astype(np.int32)
    Decoder(problem, some_weights(rng, problem)).labels(X, margins=margins, forced=forced)
    assert np.array_equal(np.isinf(margins), first | (forced >= 0))
    single = SequenceProblem(1, inference=inference)
    Decoder(single, np.ones((single.history + ROWS, single.stride))).labels(X, margins=margins)
    assert np.isinf(margins).all()


def test_arrays_and_bounds_that_do_not_fit_are_refused_by_the_decoder():
    rng = np.random.default_rng(0)
    _, X = some_sentences(rng)
    problem = SequenceProblem(LABELS)
    decoder = Decoder(problem, some_weights(rng, problem))
    n, sentences = len(X.token_ptr) - 1, len(X)
    for size in (0, n - 1, n + 1):
        with pytest.raises(ValueError, match="margins must have"):
            decoder.labels(X, margins=np.zeros(size, np.float32))
        with pytest.raises(ValueError, match="out must have"):
            decoder.labels(X, out=np.zeros(size, np.int32))
        with pytest.raises(ValueError, match="forced labels"):
            decoder.labels(X, forced=np.full(size, -1, np.int32))
    for start, stop in [(-1, 1), (0, sentences + 1), (2, 1), (sentences + 1, None), (0, -1)]:
        with pytest.raises(ValueError, match="not among the"):
            decoder.labels(X, start, stop)
    assert decoder.labels(X, sentences, sentences).tolist() == [0] * n


@pytest.mark.parametrize("inference", ["exact", "greedy"])
def test_a_problem_from_a_message_need_not_be_aligned(inference):
    """Sanitizers report an oracle that reads such numbers; other builds read them all the same."""
    rng = np.random.default_rng(0)
    _, X = some_sentences(rng)
    y, _ = some_labels(rng, X)
    problems = [SequenceProblem(LABELS, inference=inference, loss=1 - np.eye(LABELS)) for _ in range(2)]
    for name in ("barred", "barred_end", "_loss"):
        setattr(problems[1], name, unaligned(getattr(problems[1], name)))
    one, other = (LaRank(problem).fit(X, y).weights_ for problem in problems)
    assert np.array_equal(one, other)
    assert np.array_equal(*(Decoder(problem, one).labels(X) for problem in problems))


@pytest.mark.parametrize("n", [1000, 3000])
@pytest.mark.parametrize("valued", [False, True])
def test_the_features_of_a_token_are_stored_in_order_however_many_there_are(n, valued):
    rows = np.random.default_rng(n).permutation(n).astype(np.int32)
    values = (rows / 7 + 1).astype(np.float32) if valued else None
    oracle, ptr = SequenceProblem(LABELS).oracle(), np.array([0, 1])
    X, y = Sequences(rows, np.array([0, n]), ptr, values), SequenceLabels(np.zeros(1, np.int32), ptr)
    stored = oracle.rows(oracle.add(X, y))
    assert stored["rows"].tolist() == list(range(n))
    if valued:
        assert stored["values"].tolist() == (np.arange(n) / 7 + 1).astype(np.float32).tolist()


def test_n_best_compares_few_paths_at_a_time():
    """Its memory grows with labels x n, not with labels x labels x n."""
    n_labels, n = 300, 60
    rng = np.random.default_rng(0)
    rows = SparseRows.from_dense(rng.normal(size=(n_labels + 3, n_labels)).astype(np.float32))
    decoder = Decoder(SequenceProblem(n_labels), rows)
    X = Sequences(np.array([0, 1, 0], np.int32), np.arange(4), np.array([0, 3]))
    tracemalloc.start()
    try:
        found = decoder.n_best(X, 0, n)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 48 << 20
    lattice, last = decoder.lattice(X, 0), np.asarray(rows.dense(n_labels), np.float64)
    first = lattice[0] + last[n_labels]
    scores = first[:, None, None] + last[:n_labels][:, :, None] + lattice[1][None, :, None]
    scores = scores + last[:n_labels][None] + lattice[2][None, None]
    best = np.argsort(-scores.ravel(), kind="stable")[:n]
    np.testing.assert_allclose([score for score, _ in found], scores.ravel()[best])
    paths = np.stack(np.unravel_index(best, scores.shape), axis=1)
    assert [path.tolist() for _, path in found] == paths.tolist()
