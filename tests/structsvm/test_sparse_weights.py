"""Rows of weights in files: equal rows are stored once, and are restored exactly."""

import tracemalloc

import numpy as np
import pytest

from structsvm.files import SparseRows, shared_bytes


def repeated(n_rows, n_distinct, n_labels=5, seed=0):
    """Rows that repeat a few distinct ones, among them an empty one."""
    rng = np.random.default_rng(seed)
    distinct = rng.integers(-2, 3, (n_distinct, n_labels)) / 8
    distinct[0] = 0
    return SparseRows.from_dense(distinct[rng.integers(0, n_distinct, n_rows)])


@pytest.mark.parametrize("dtype", ["float16", "int8"])
@pytest.mark.parametrize("n_rows", [0, 1, 500])
def test_equal_rows_are_stored_once_if_this_saves_space(dtype, n_rows):
    rows = repeated(n_rows, 20)
    arrays = rows.packed(dtype)
    assert ("rows" in arrays) == (n_rows == 500)
    if n_rows == 500:
        assert len(arrays["counts"]) == 20
    again = SparseRows.unpacked(arrays, rows.n_labels)
    assert again.ptr.tobytes() == rows.ptr.tobytes()
    assert again.cells.tobytes() == rows.cells.tobytes()
    repacked = again.packed(dtype)
    assert {name: array.tobytes() for name, array in repacked.items()} == {
        name: array.tobytes() for name, array in arrays.items()
    }


def test_rows_are_stored_one_by_one_where_sharing_does_not_pay(monkeypatch):
    assert "rows" not in repeated(500, 20).packed("float32")
    assert "rows" not in repeated(300, 100_000, n_labels=12).packed("int8")  # hardly any two are equal
    monkeypatch.setattr("structsvm.files.sparse_weights.MOST_PLACES", 19)
    assert "rows" not in repeated(500, 20).packed("int8")


DISTINCT = SparseRows.from_dense(np.repeat(np.arange(1, 21)[:, None], 200, 1)).packed("int8")
NONE = SparseRows.from_dense(np.zeros((0, 200))).packed("int8")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (DISTINCT | {"rows": np.array([20], np.uint16)}, "do not match the 20 rows"),
        (DISTINCT | {"rows": np.zeros((1, 1), np.uint16)}, "rows must be uint16 of shape"),
        (DISTINCT | {"rows": np.zeros(1, np.int64)}, "rows must be uint16 of shape"),
        (NONE | {"rows": np.zeros(1, np.uint16)}, "do not match the 0 rows"),
        (DISTINCT | {"values": DISTINCT["values"] * 0, "levels": np.zeros(0, np.float32)}, "levels do not"),
    ],
)
def test_damaged_rows_are_refused(arrays, message):
    with pytest.raises(ValueError, match=message):
        SparseRows.unpacked(arrays, 200)


def test_more_shared_cells_than_can_be_numbered_are_refused_before_they_take_memory():
    one = SparseRows.from_dense(np.ones((1, 65_535))).packed("int8")
    with pytest.raises(ValueError, match="4295032830 weights, more than"):
        SparseRows.unpacked(one | {"rows": np.zeros(65_538, np.uint16)}, 65_535)


def test_shared_rows_take_no_more_memory_than_a_file_is_charged_for():
    arrays = DISTINCT | {"rows": np.zeros(5_000, np.uint16)}
    tracemalloc.start()
    try:
        assert len(SparseRows.unpacked(arrays, 200)) == 5_000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 16 * 200 * 5_000 < peak < shared_bytes(arrays)
    assert shared_bytes({f"a-{name}": array for name, array in arrays.items()}, "a-") == shared_bytes(arrays)
    assert shared_bytes(DISTINCT) == 0


def test_the_mean_of_models_is_that_of_their_arrays(monkeypatch):
    monkeypatch.setattr("structsvm.files.sparse_weights.BLOCK", 64)  # several blocks
    parts = [repeated(50, 7, seed=seed) for seed in range(3)]
    expected = np.mean([part[:] for part in parts], axis=0)
    assert (SparseRows.mean(parts)[:] == expected).all()
