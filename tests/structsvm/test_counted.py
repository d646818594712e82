"""Sequences with losses that count wrong labels: every form of the problem against brute force."""

import numpy as np
import pytest
from hypothesis import given, settings

from structsvm import LaRank, SVMStruct
from structsvm.problems import SequenceLabels, SequenceProblem
from tests.structsvm.qp import solve
from tests.structsvm.sequence_twins import (
    LABELS,
    SlowSequences,
    seeds,
    some_bars,
    some_labels,
    some_sentences,
    some_weights,
)

FORMS = [(rescaling, slack) for rescaling in ("margin", "slack") for slack in ("l1", "l2")]


@pytest.mark.parametrize("loss", ["hamming", "0/1"])
@pytest.mark.parametrize(("rescaling", "slack"), FORMS)
@settings(max_examples=8)
@given(seed=seeds)
def test_the_most_violated_labelling_is_that_of_brute_force(loss, rescaling, slack, seed):
    rng = np.random.default_rng(seed)
    sentences, X = some_sentences(rng, valued=True)
    y, outputs = some_labels(rng, X)
    bars = some_bars(rng)
    allowed = [
        k for k, y in enumerate(outputs) if y in set(SequenceProblem(LABELS, barred=bars).candidates(y))
    ]
    barred = bars if len(allowed) == len(outputs) else None
    w = some_weights(rng, SequenceProblem(LABELS))
    slacks = []
    for kind, data in ((SequenceProblem, (X, y)), (SlowSequences, (sentences, outputs))):
        optimizer = SVMStruct(kind(LABELS, loss=loss, barred=barred), rescaling=rescaling, slack=slack)
        optimizer.begin(*data)
        optimizer._machine.start_from(w[: optimizer.n_weights_])
        slacks.append(optimizer._machine.slacks(optimizer._held))
    np.testing.assert_allclose(slacks[0], slacks[1], atol=1e-9)


@pytest.mark.parametrize("loss", ["hamming", "0/1"])
@pytest.mark.parametrize(("rescaling", "slack"), FORMS)
def test_training_reaches_the_optimum_over_all_labellings(loss, rescaling, slack):
    rng = np.random.default_rng(1)
    sentences, X = some_sentences(rng, n=4, longest=2)
    y, outputs = some_labels(rng, X)
    slow = SlowSequences(LABELS, loss=loss)
    slow.oracle()

    def feature(x, labels):
        dense = np.zeros(slow.n_features)
        for index, value in slow.joint_feature(x, labels).items():
            dense[index] += value
        return dense

    every = [
        [(slow.loss(right, other), feature(x, right) - feature(x, other)) for other in slow.candidates(x)
         if other != right]
        for x, right in zip(sentences, outputs, strict=True)
    ]  # fmt: skip
    best = solve(every, np.full(4, 0.5), rescaling=rescaling, slack=slack)
    problem, form = SequenceProblem(LABELS, loss=loss), {"rescaling": rescaling, "slack": slack, "C": 0.5}
    for optimizer in (SVMStruct(problem, epsilon=1e-6, **form), LaRank(problem, gap_tolerance=1e-5, **form)):
        optimizer.fit(X, y)
        assert optimizer.dual_ == pytest.approx(best.dual, rel=1e-4)
        assert optimizer.primal() == pytest.approx(best.primal, rel=1e-4)


def test_counted_hamming_is_the_plain_problem_with_margins_and_plain_slacks():
    rng = np.random.default_rng(2)
    _, X = some_sentences(rng, n=20, longest=6)
    y, _ = some_labels(rng, X)
    plain, counted = (
        SVMStruct(SequenceProblem(LABELS, loss=loss), epsilon=1e-5).fit(X, y) for loss in (None, "hamming")
    )
    assert counted.dual_ == pytest.approx(plain.dual_, rel=1e-4)


def test_what_a_counting_loss_cannot_do_is_refused():
    with pytest.raises(ValueError, match="loss must be"):
        SequenceProblem(3, loss="f1")
    with pytest.raises(ValueError, match="needs exact inference"):
        SequenceProblem(3, loss="0/1", inference="greedy")
    with pytest.raises(ValueError, match="needs exact inference"):
        SequenceProblem(3, loss="0/1", bigrams=(1,))
    _, X = some_sentences(np.random.default_rng(0), n=1, longest=1)
    y = SequenceLabels(np.array([-1], np.int32), X.sentence_ptr)
    with pytest.raises(ValueError, match="right label of every token"):
        LaRank(SequenceProblem(3, loss="hamming")).fit(X, y)


def test_stored_sentences_without_a_label_are_refused():
    X = some_sentences(np.random.default_rng(0))[1]
    y, _ = some_labels(np.random.default_rng(0), X)
    oracle = SVMStruct(SequenceProblem(LABELS, loss="0/1")).fit(X, y)._machine.oracle
    rows = oracle.rows(oracle.add(X, y))
    assert len(oracle.add_rows(**rows)) == len(rows["places"])
    with pytest.raises(ValueError, match="needs the right label of every token"):
        oracle.add_rows(**{**rows, "codes": np.full_like(rows["codes"], -1)})
