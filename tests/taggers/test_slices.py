"""Training in slices: the same features and optimum as in memory, a certificate, and clear errors."""

import sys
from functools import partial

import pytest

from structsvm.files import DataError
from taggers import Chunker, slices
from taggers.labels.files import read_labelled, read_labelled_parts
from taggers.slices import SlicedTraining, parse_memory, train_in_slices
from tests.taggers.command_line import refused, run
from tests.taggers.sentences import as_columns, chunk_data

OPTIONS = {"template": "w[-1..1], p[-1..1]", "cutoff": 2}


@pytest.fixture
def file(tmp_path, monkeypatch):
    (tmp_path / "train.txt").write_bytes(as_columns(200))
    small = partial(read_labelled_parts, chunk_size=4096)
    monkeypatch.setattr(slices, "read_labelled_parts", small)
    monkeypatch.setattr(SlicedTraining, "_slices", in_slices_of(500))
    return tmp_path / "train.txt"


def in_slices_of(n):
    original = SlicedTraining._slices
    return lambda self, room: original(self, n)


@pytest.mark.parametrize("inference", ["exact", "greedy"])
def test_slices_reach_the_optimum_of_the_whole_with_the_same_features(file, inference):
    tagger = train_in_slices(Chunker(**OPTIONS, inference=inference, epochs=40), file, 10**10)
    columns = read_labelled(file).columns
    whole = Chunker(**OPTIONS, inference=inference, epochs=40).fit(columns, columns.width - 1)
    report = tagger.model_.report
    assert report["slices"] > 3
    assert sorted(tagger.model_.table.keys) == sorted(whole.model_.table.keys)
    assert report["dual"] == pytest.approx(whole.optimizer_.dual_, rel=0.02)
    assert 0 <= report["gap"] < 0.05 * report["dual"]
    X, y = chunk_data(50, seed=9)
    assert tagger.score(X, y) == pytest.approx(whole.score(X, y), abs=0.02)


def test_the_gap_counts_every_slice_and_a_seed_repeats(file, tmp_path):
    for name in "ab":
        train_in_slices(Chunker(**OPTIONS, epochs=2), file, 10**10, dev=file).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_memory_is_a_size_with_room_for_the_weights(file, tmp_path):
    assert [parse_memory(text) for text in ("200M", "1.5g", "64KB")] == [200_000_000, 1_500_000_000, 64_000]
    for text in ("200", "M", "0M", "much"):
        with pytest.raises(ValueError, match="--memory must be a size such as 200M"):
            parse_memory(text)
    with pytest.raises(DataError, match=r"leave no room in --memory; allow at least \d+M, or drop rare"):
        train_in_slices(Chunker(**OPTIONS), file, 1000)
    for option in ("--shards", "--jobs"):
        done = run("train", "chunk", file, "-o", "m", "--memory", "1G", option, 2, cwd=tmp_path)
        refused(done, 2, "--memory trains larank in one thread on a file")
    run("train", "chunk", file, "-o", "m", "--memory", "1G", cwd=tmp_path)
    assert (tmp_path / "m").exists()


def test_a_system_without_resource_limits_assumes_a_usual_peak(monkeypatch):
    assert slices.peak_bytes() > 1e7
    monkeypatch.setitem(sys.modules, "resource", None)
    assert slices.peak_bytes() == slices.USUAL_PEAK
