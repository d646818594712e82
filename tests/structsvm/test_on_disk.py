"""Arrays in temporary files: the same numbers, wherever there is room for them."""

import tempfile

import numpy as np
import pytest

from structsvm.files.atomic import drop_pages, joined_on_disk, on_disk
from structsvm.problems.sequence import Sequences
from taggers.features import extract
from taggers.features._table import KeyTable


class Full(np.ndarray):
    """An array that a full disk refuses."""

    def tofile(self, file):
        file.write(b"half")
        raise OSError("no space left on device")


def parts():
    return [np.arange(start, start + 3, dtype=np.int32) for start in (0, 3, 6)]


def test_arrays_are_joined_in_a_file():
    found = joined_on_disk(iter(parts()), np.int32)
    assert isinstance(found, np.memmap)
    drop_pages(found)
    np.testing.assert_array_equal(found, np.arange(9))
    drop_pages(found[2:])
    np.testing.assert_array_equal(found[2:], np.arange(2, 9))
    drop_pages(np.arange(3))  # nothing happens to arrays in memory


@pytest.mark.parametrize("full", [0, 1, 2])
def test_a_full_disk_leaves_arrays_in_memory(full):
    given = parts()
    given[full] = given[full].view(Full)
    found = joined_on_disk(iter(given), np.int32)
    assert not isinstance(found, np.memmap)
    np.testing.assert_array_equal(found, np.arange(9))


def test_without_a_folder_for_files_arrays_stay_in_memory(monkeypatch):
    def refuse(*_):
        raise OSError("no folder")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    np.testing.assert_array_equal(joined_on_disk(iter(parts()), np.int32), np.arange(9))
    np.testing.assert_array_equal(on_disk(np.arange(4)), np.arange(4))


def test_no_numbers_need_no_file():
    assert len(joined_on_disk([], np.int32)) == len(on_disk(np.zeros(0))) == 0


@pytest.mark.parametrize("written", [1, 7, 100])
def test_rare_features_are_cut_on_disk_as_in_memory(monkeypatch, written):
    monkeypatch.setattr(extract, "WRITTEN", written)
    rng = np.random.default_rng(0)
    token_ptr = np.append(0, np.cumsum(rng.integers(0, 5, 50)))
    rows = rng.integers(0, 40, token_ptr[-1]).astype(np.int32)
    sentence_ptr = np.array([0, 20, 20, 50])
    tables = [KeyTable(np.arange(1, 41, dtype=np.uint64) * 977) for _ in range(2)]
    found = [
        extract.cut([Sequences(own, token_ptr, sentence_ptr)], table, 3)
        for own, table in zip((rows, on_disk(rows)), tables, strict=True)
    ]
    (((memory,), kept), ((disk,), again)) = found
    assert 0 < len(kept) < 40
    assert isinstance(disk.rows, np.memmap)
    np.testing.assert_array_equal(memory.rows, disk.rows)
    np.testing.assert_array_equal(memory.token_ptr, disk.token_ptr)
    np.testing.assert_array_equal(kept.keys, again.keys)
