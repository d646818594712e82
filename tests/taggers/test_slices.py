"""Training in slices: the same features and optimum as in memory, a certificate, and clear errors."""

import sys
from functools import partial

import pytest

from structsvm.files import DataError
from taggers import Chunker
from taggers.labels.files import read_labelled, read_labelled_parts
from taggers.sources import disk
from taggers.sources.disk import DiskSource, parse_memory
from tests.taggers.command_line import refused, run
from tests.taggers.sentences import as_columns, chunk_data

OPTIONS = {"template": "w[-1..1], p[-1..1]", "cutoff": 2}


@pytest.fixture
def file(tmp_path, monkeypatch):
    (tmp_path / "train.txt").write_bytes(as_columns(200))
    small = partial(read_labelled_parts, chunk_size=4096)
    monkeypatch.setattr(disk, "read_labelled_parts", small)
    monkeypatch.setattr(DiskSource, "_slices", in_slices_of(500))
    return tmp_path / "train.txt"


def in_slices_of(n):
    original = DiskSource._slices
    return lambda self, parts, table, room: original(self, parts, table, n)


@pytest.mark.parametrize("inference", ["exact", "greedy"])
def test_slices_reach_the_optimum_of_the_whole_with_the_same_features(file, inference):
    tagger = Chunker(**OPTIONS, inference=inference, epochs=40).fit_source(DiskSource(file, 10**10))
    columns = read_labelled(file).columns
    whole = Chunker(**OPTIONS, inference=inference, epochs=40).fit(columns, columns.width - 1)
    report = tagger.model_.report
    assert report["slices"] > 3
    assert sorted(tagger.model_.space.table.keys) == sorted(whole.model_.space.table.keys)
    assert report["dual"] == pytest.approx(whole.optimizer_.dual_, rel=0.02)
    assert 0 <= report["gap"] < 0.05 * report["dual"]
    X, y = chunk_data(50, seed=9)
    assert tagger.score(X, y) == pytest.approx(whole.score(X, y), abs=0.02)


def test_the_gap_counts_every_slice_and_a_seed_repeats(file, tmp_path):
    held_out = read_labelled(file)
    for name in "ab":
        tagger = Chunker(**OPTIONS, epochs=2).fit_source(DiskSource(file, 10**10), *held_out)
        tagger.save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_memory_is_a_size_with_room_for_the_weights(file, tmp_path):
    assert [parse_memory(text) for text in ("200M", "1.5g", "64KB")] == [200_000_000, 1_500_000_000, 64_000]
    for text in ("200", "M", "0M", "much"):
        with pytest.raises(ValueError, match="--memory must be a size such as 200M"):
            parse_memory(text)
    with pytest.raises(DataError, match=r"leave no room in --memory; allow at least \d+M, or drop rare"):
        Chunker(**OPTIONS).fit_source(DiskSource(file, 1000))
    for option, why in (("--shards", "cannot be combined with"), ("--jobs", "has no effect without --dev:")):
        done = run("train", "chunk", file, "-o", "m", "--memory", "1G", option, 2, cwd=tmp_path)
        refused(done, 2, option, why, "--memory")
    done = run("train", "chunk", "-", "-o", "m", "--memory", "1G", cwd=tmp_path, stdin=file.read_bytes())
    refused(done, 2, "--memory reads its file several times")
    run("train", "chunk", file, "-o", "m", "--memory", "1G", cwd=tmp_path)
    assert (tmp_path / "m").exists()


def test_a_system_without_resource_limits_assumes_a_usual_peak(monkeypatch):
    assert disk.peak_bytes() > 1e7
    monkeypatch.setitem(sys.modules, "resource", None)
    assert disk.peak_bytes() == disk.USUAL_PEAK
