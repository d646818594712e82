"""Ctrl-C in a sentence of very many tokens ends training and labelling soon, not after the sentence."""

import signal
from contextlib import contextmanager

import numpy as np
import pytest

from structsvm import LaRank, Perceptron, SVMStruct
from structsvm.problems.sequence import Decoder, SequenceLabels, SequenceProblem, Sequences

N, LABELS = 150_000, 64

rng = np.random.default_rng(0)
X = Sequences(rng.integers(0, 500, N).astype(np.int32), np.arange(N + 1), np.array([0, N]))
Y = SequenceLabels(rng.integers(0, LABELS, N).astype(np.int32), np.array([0, N]))

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer of CPU time")


@contextmanager
def interrupted_after(seconds):
    """Ctrl-C after so much CPU time."""
    before = signal.signal(signal.SIGPROF, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_PROF, seconds)
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def test_training_ends_between_two_steps_and_leaves_a_model():
    learner = LaRank(SequenceProblem(LABELS), n_reprocess=20).begin(X, Y)
    with interrupted_after(0.3):
        learner.epoch()
    assert learner.n_argmax_ < 20
    assert np.isfinite(learner.primal())


@pytest.mark.parametrize("make", [LaRank, Perceptron, SVMStruct])
def test_training_ends_within_an_argmax(make):
    learner = make(SequenceProblem(LABELS)).begin(X, Y)
    with interrupted_after(0.02):
        learner.epoch()
    assert learner.n_argmax_ == 0


@pytest.mark.parametrize("inference", ["exact", "greedy"])
def test_labelling_ends_within_a_sentence(inference):
    problem = SequenceProblem(LABELS, inference=inference)
    n = N if inference == "exact" else 20 * N
    sentence = Sequences(np.resize(X.rows, n), np.arange(n + 1), np.array([0, n]))
    decoder = Decoder(problem, rng.normal(size=(problem.history + 500, problem.stride)))
    labels = np.full(n, -1, np.int32)
    with interrupted_after(0.02):
        decoder.labels(sentence, out=labels)
    assert np.all(labels == -1)
