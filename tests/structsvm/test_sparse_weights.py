"""Rows of weights in files: equal rows are stored once, and are restored exactly."""

import numpy as np
import pytest

from structsvm.files import SparseRows, budget


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


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.array([20], np.uint16), "row indices"),
        (np.zeros((1, 1), np.uint16), "row indices"),
        (np.zeros(1, np.int64), "row indices"),
        (np.zeros(1 << 20, np.uint16), "times the size of the file"),
    ],
)
def test_damaged_rows_are_refused_before_they_take_memory(rows, message, monkeypatch):
    monkeypatch.setattr(budget, "ALLOWANCE", 0)
    monkeypatch.setattr(budget, "MULTIPLE", 10)
    arrays = SparseRows.from_dense(np.ones((20, 200))).packed("int8")
    with pytest.raises(ValueError, match=message):
        SparseRows.unpacked({**arrays, "rows": rows}, 200)


def test_rows_that_would_exceed_the_memory_of_a_file_are_not_shared(monkeypatch):
    monkeypatch.setattr(budget, "ALLOWANCE", 0)
    monkeypatch.setattr(budget, "MULTIPLE", 10)
    rows = SparseRows.from_dense(np.ones((1000, 200)))
    arrays = rows.packed("int8")
    assert "rows" not in arrays
    assert SparseRows.unpacked(arrays, 200).cells.tobytes() == rows.cells.tobytes()
