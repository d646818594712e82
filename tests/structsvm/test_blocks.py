"""A w in blocks, which take memory when they are written, gives what a w in an array gives, to the bit."""

import numpy as np
import pytest

from structsvm._dual.blocks import Blocks
from structsvm._dual.linear import LinearDual
from structsvm.files import SparseRows
from structsvm.optimizers import LaRank, Perceptron
from structsvm.problems import SequenceLabels, SequenceProblem, Sequences

LABELS = 20  # three blocks a row


class InAnArray(LaRank):
    """The same optimizer with w in one array."""

    def _new_machine(self, oracle, seed):
        return LinearDual(oracle, C=self.C, tau=self.tau, kappa=self.kappa, seed=seed, dense=True)


def some_data(rng, n_rows, valued):
    """Forty sentences whose rows are drawn as words are: a few of them often."""
    tokens = rng.integers(1, 9, 40)
    rows = (n_rows * rng.random((tokens.sum(), 5)) ** 3).astype(np.int32)
    codes = ((rows[:, 0] + rng.integers(0, 3, len(rows))) % LABELS).astype(np.int32)
    ptr = np.concatenate([[0], np.cumsum(tokens)])
    values = rng.choice([0.5, 1.0, 2.0], rows.size).astype(np.float32) if valued else None
    return Sequences(rows.reshape(-1), 5 * np.arange(len(rows) + 1), ptr, values), SequenceLabels(codes, ptr)


@pytest.mark.parametrize("inference", ["exact", "greedy"])
@pytest.mark.parametrize("valued", [False, True])
def test_training_is_the_same_bit_for_bit_while_features_are_added(inference, valued):
    rng = np.random.default_rng(1)
    one, other = (kind(SequenceProblem(LABELS, inference=inference)) for kind in (LaRank, InAnArray))
    for n_rows in (40, 41, 90, 700):
        data = some_data(rng, n_rows, valued)
        for optimizer in (one, other):
            optimizer.partial_fit(*data)
        assert one.dual_ == other.dual_
        assert one.weights_.tobytes() == other.weights_.tobytes()
    state, expected = one.state(), other.state()
    assert all(np.array_equal(state[name], expected[name]) for name in expected)
    assert one.gap(*data) == pytest.approx(other.gap(*data))
    rows = rng.random(one.n_weights_ // one.problem.stride) < 0.7
    rows[: one.problem.history] = True
    for optimizer in (one, other):
        optimizer.forget(patterns=3, rows=rows)
        optimizer.partial_fit(*some_data(np.random.default_rng(3), 600, valued))
    assert one.weights_.tobytes() == other.weights_.tobytes()
    state = one.state()
    resumed = LaRank(SequenceProblem(LABELS, inference=inference)).resume(state)
    for optimizer in (resumed, other):
        optimizer.partial_fit(*data)
    assert resumed.weights_.tobytes() == other.weights_.tobytes()


def test_entries_are_read_and_replaced_as_in_an_array():
    rng = np.random.default_rng(2)
    blocks, array = Blocks(16), np.zeros(16)
    for n in (20, 200, 2000):
        blocks.grow(n)
        array = np.where(rng.random(n) < 0.1, rng.normal(size=n), 0.0)
        blocks.put(array)
        for wanted in (slice(None), slice(5, n, 3), slice(n, None), rng.integers(0, n, (4, 3))):
            assert np.array_equal(blocks.take(wanted), array[wanted])
        assert blocks.norm == pytest.approx(array @ array)
    with pytest.raises(IndexError, match="not one of the 2000 weights"):
        blocks.take(np.array([2000]))


@pytest.mark.parametrize("kind", [LaRank, InAnArray, Perceptron])
def test_rows_of_weights_are_those_of_the_whole_array(kind):
    optimizer = kind(SequenceProblem(LABELS))
    optimizer.fit(*some_data(np.random.default_rng(4), 300, valued=False))
    stride = optimizer.problem.stride
    whole = optimizer.weights_.reshape(-1, stride)
    for n_rows in (0, 7, len(whole), len(whole) + 9):
        found = optimizer.weight_rows(n_rows, stride, LABELS)
        expected = SparseRows.from_dense(whole, LABELS, n_rows)
        assert found.ptr.tolist()[: n_rows + 1] == expected.ptr.tolist()[: n_rows + 1]
        assert found.cells.tobytes() == expected.cells[: expected.ptr[n_rows]].tobytes()
        assert len(found) == n_rows


def test_rows_of_no_weights_are_refused():
    optimizer = LaRank(SequenceProblem(LABELS))
    optimizer.fit(*some_data(np.random.default_rng(4), 30, valued=False))
    for asked in ((1, 0, 0), (-1, optimizer.problem.stride, LABELS)):
        with pytest.raises(ValueError, match="cannot have"):
            optimizer.weight_rows(*asked)


def test_features_that_differ_only_in_the_fourth_byte_of_their_number_are_two_features():
    near, far = 5, 2**24 + 5
    X = Sequences(np.array([near, far], np.int32), np.array([0, 1, 2]), np.array([0, 1, 2]))
    y = SequenceLabels(np.array([0, 1], np.int32), np.array([0, 1, 2]))
    optimizer = LaRank(SequenceProblem(2, inference="greedy")).fit(X, y)
    problem = optimizer.problem
    first = [(problem.history + row) * problem.stride for row in (near, far)]
    found = optimizer.weights_at(np.array([[at, at + 1] for at in first]))
    assert np.sign(found).tolist() == [[1, -1], [-1, 1]]
