"""The bound that the benchmark of streams states."""

import pytest

from benchmarks.streams import weight_bytes
from taggers import SequenceTagger


@pytest.mark.parametrize("n_labels", [8, 9])
def test_the_stated_memory_is_that_of_the_weights(n_labels):
    words = [f"w{k}" for k in range(n_labels)]
    tagger = SequenceTagger(template="w[0]").partial_fit([words], [[word.upper() for word in words]])
    optimizer = tagger.optimizer_
    n_rows = tagger.n_features_ + optimizer.problem.history
    assert optimizer.weights_.nbytes == weight_bytes(n_rows, n_labels)
