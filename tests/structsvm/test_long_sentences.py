"""Ctrl-C in a sentence of very many tokens ends training and labelling soon, not after the sentence."""

import os
import signal
import threading
from contextlib import contextmanager

import numpy as np
import pytest

from structsvm import LaRank, Perceptron, SVMStruct
from structsvm.optimizers import ParallelLaRank
from structsvm.problems import Grammar, TreeProblem
from structsvm.problems.sequence import Decoder, SequenceLabels, SequenceProblem, Sequences
from structsvm.threads import StoppablePool

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


def looks(work, seconds=0.01):
    """How often the handler of a signal that keeps coming runs while `work` does."""
    seen, before = [], signal.signal(signal.SIGPROF, lambda number, frame: seen.append(number))
    try:
        signal.setitimer(signal.ITIMER_PROF, seconds, seconds)
        work()
        return len(seen)
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


def test_training_of_a_grammar_ends_within_an_argmax():
    problem = TreeProblem(Grammar.from_string("A -> A A | B A | x\nB -> A B | x", start=["A"]))
    sentences = [["x"] * 64]
    trees = problem.predict(sentences, np.arange(len(problem.grammar), dtype=float))
    learner = LaRank(problem).begin(sentences, trees)
    with interrupted_after(0.1):
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


def test_probabilities_look_at_signals_within_a_sentence():
    problem = SequenceProblem(LABELS)
    decoder = Decoder(problem, rng.normal(size=(problem.history + 500, problem.stride)))
    assert looks(lambda: decoder.marginals(X)) > 3


def test_a_round_in_threads_ends_within_an_argmax():
    two = np.array([0, N, 2 * N])
    X2 = Sequences(np.tile(X.rows, 2), np.arange(2 * N + 1), two)
    learner = ParallelLaRank(SequenceProblem(LABELS), jobs=2, shards=2)
    learner.begin(X2, SequenceLabels(np.tile(Y.codes, 2), two))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    sender = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
    try:
        sender.start()
        with pytest.raises(KeyboardInterrupt):
            learner.epoch()
    finally:
        sender.join()
        signal.signal(signal.SIGINT, before)
    assert learner.n_argmax_ == 0
    assert np.isfinite(learner.primal())


def test_an_error_ends_labelling_in_other_threads_within_a_sentence():
    problem = SequenceProblem(LABELS)
    decoder = Decoder(problem, rng.normal(size=(problem.history + 500, problem.stride)))
    labels, started = [np.full(N, -1, np.int32) for _ in range(3)], threading.Event()

    def label(out):
        started.set()
        decoder.labels(X, out=out)

    def interrupted():
        with StoppablePool(1) as pool:
            for out in labels:
                pool.submit(label, out)
            assert started.wait(60)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert all(np.all(out == -1) for out in labels)


def test_an_interruption_leaves_a_step_of_many_entries_done_or_not_begun():
    n, width = 100_000, 8
    wide = Sequences(
        rng.integers(0, 5000, n * width).astype(np.int32), np.arange(n + 1) * width, np.array([0, n])
    )
    gold = SequenceLabels(rng.integers(0, 3, n).astype(np.int32), np.array([0, n]))
    for seconds in np.linspace(0.02, 0.3, 5):
        learner = LaRank(SequenceProblem(3), n_reprocess=3).begin(wide, gold)
        with interrupted_after(seconds):
            while True:
                learner.epoch()
        machine = learner._machine
        assert machine.dual == pytest.approx(machine.losses - machine.norm / 2, rel=1e-6, abs=1e-9)
        assert np.isfinite(learner.primal())
