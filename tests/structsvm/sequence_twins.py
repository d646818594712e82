"""Small random sentences, labels and weights, and brute force over all label sequences."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import strategies as st

from structsvm._dual.oracle import PythonOracle
from structsvm.problems import SequenceLabels, SequenceProblem, Sequences
from structsvm.problems.sequence._decode import Decoder

LABELS, ROWS = 3, 5
seeds = st.integers(0, 10_000)


class SlowSequences(SequenceProblem):
    """The same problem through the Python door."""

    n_features = 0

    def oracle(self):
        self.n_features = self.offset + ROWS * self.stride
        return PythonOracle(self)


def some_sentences(rng, n=6, longest=4, valued=False):
    """Sentences as lists of {row: value}, and the same as flat arrays."""
    sentences = [
        [
            {
                int(row): float(rng.integers(1, 4)) if valued else 1.0
                for row in rng.choice(ROWS, 2, replace=False)
            }
            for _ in range(rng.integers(1, longest + 1))
        ]
        for _ in range(n)
    ]
    tokens = [token for sentence in sentences for token in sentence]
    rows = np.array([row for token in tokens for row in token], np.int32)
    values = np.array([value for token in tokens for value in token.values()], np.float32) if valued else None
    token_ptr = np.cumsum([0] + [len(token) for token in tokens])
    sentence_ptr = np.cumsum([0] + [len(sentence) for sentence in sentences])
    return sentences, Sequences(rows, token_ptr, sentence_ptr, values)


def some_labels(rng, X):
    codes = rng.integers(0, LABELS, len(X.token_ptr) - 1).astype(np.int32)
    ptr = X.sentence_ptr
    return SequenceLabels(codes, ptr), [tuple(codes[a:b].tolist()) for a, b in pairwise(ptr)]


def some_bars(rng):
    """Forbidden transitions that leave a way for every length: label 0 may always follow itself."""
    follow, last = rng.random((LABELS + 1, LABELS)) < 0.3, rng.random(LABELS) < 0.3
    follow[[0, LABELS], 0] = last[0] = False
    return follow, last


def some_weights(rng, problem):
    weights = np.zeros((problem.history + ROWS, problem.stride))
    weights[:, :LABELS] = np.round(rng.normal(size=(len(weights), LABELS)), 3)
    return weights.reshape(-1)


def ranked(problem, sentence, w):
    """All allowed outputs with their scores, best first."""
    scored = []
    for y in problem.candidates(sentence):
        feature = problem.joint_feature(sentence, y)
        scored.append((sum(value * w[index] for index, value in feature.items()), y))
    return sorted(scored, key=lambda pair: -pair[0])


def check_decoder(problem, sentences, X, w):
    """Labels, margins and the n best of the decoder are those of all outputs, ranked."""
    decoder = Decoder(problem, w)
    margins = np.zeros(len(X.token_ptr) - 1, np.float32)
    found = decoder.labels(X, margins=margins)
    dense, dense_margins = Decoder(problem, w, dense=True), np.zeros_like(margins)
    assert np.array_equal(dense.labels(X, margins=dense_margins), found)
    assert np.array_equal(dense_margins, margins)
    for s, sentence in enumerate(sentences):
        start, stop = X.sentence_ptr[s], X.sentence_ptr[s + 1]
        best = ranked(problem, sentence, w)
        scores = {y: score for score, y in best}
        assert scores[tuple(found[start:stop].tolist())] == pytest.approx(best[0][0], abs=1e-4)
        listed = decoder.n_best(X, s, 4)
        assert [score for score, _ in listed] == pytest.approx([score for score, _ in best[:4]], abs=1e-4)
        shown = [scores[tuple(y.tolist())] for _, y in listed]
        assert shown == pytest.approx([score for score, _ in listed], abs=1e-4)
        for t in range(stop - start):
            others = [score for score, y in best if y[t] != found[start + t]]
            expected = best[0][0] - others[0] if others else np.inf
            assert margins[start + t] == pytest.approx(expected, abs=1e-3)
