"""Taggers on a real Dask cluster: files that workers read, exactly one output per input, clear errors."""

import pytest

from structsvm.files import DataError
from taggers import Chunker, SequenceTagger
from taggers.commands.training import read_labelled
from tests.taggers.command_line import refused, run
from tests.taggers.sentences import as_columns, chunk_data

pytest.importorskip("distributed")
from distributed import Client, LocalCluster

from taggers.dask import Share, divided, tag, train

pytestmark = pytest.mark.filterwarnings("ignore")  # of Dask


@pytest.fixture(scope="module")
def client():
    with LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        yield client


@pytest.fixture
def parts(tmp_path):
    for k in range(3):
        (tmp_path / f"part-{k}.txt").write_bytes(as_columns(60, seed=k))
    return tmp_path


def test_a_tagger_learns_from_parts_as_from_the_whole(client, parts):
    X, y = chunk_data(50, seed=9)
    (parts / "dev.txt").write_bytes(as_columns(30, seed=8))
    tagger = Chunker(shards=3, template="w[-1..1], p[-1..1]", cutoff=2)
    train(client, tagger, parts / "part-*.txt", dev=parts / "dev.txt")
    whole = b"".join((parts / f"part-{k}.txt").read_bytes() for k in range(3))
    (parts / "whole.txt").write_bytes(whole)
    alone = Chunker(template="w[-1..1], p[-1..1]", cutoff=2)
    columns = read_labelled(parts / "whole.txt")
    alone.fit(columns, columns.width - 1)
    assert tagger.n_features_ == alone.n_features_
    assert set(tagger.classes_) == set(alone.classes_)
    assert tagger.score(X, y) == pytest.approx(alone.score(X, y), abs=0.02)
    report = tagger.model_.report
    assert 0 <= report["gap"] < report["dual"]
    assert len(tagger.dev_scores_) == 2
    tagger.save(parts / "a")
    files = [parts / f"part-{k}.txt" for k in range(3)]
    train(client, tagger, files, dev=parts / "dev.txt").save(parts / "b")
    assert (parts / "a").read_bytes() == (parts / "b").read_bytes()

    outputs = [parts / f"out-{k}" for k in range(3)]
    assert tag(client, parts / "a", files, outputs) > 0
    run("tag", "a", "part-1.txt", "-o", "one", cwd=parts)
    assert outputs[1].read_bytes() == (parts / "one").read_bytes()
    with pytest.raises(ValueError, match="two files have the same output"):
        tag(client, parts / "a", ["x", "y"], ["z", "z"])


def test_bad_parts_are_refused_with_the_file_and_the_worker(client, parts):
    tagger = SequenceTagger(template="w[0]")
    (parts / "part-3.txt").write_text("only two\n\n")
    differs = r"part-3.txt: has n_columns 2 \(worker tcp://.*\), but .*part-0.txt has 3"
    with pytest.raises(DataError, match=differs):
        train(client, tagger, parts / "part-*.txt")
    with pytest.raises(DataError, match=r"missing.txt: cannot be read: .*\(on worker tcp://"):
        train(client, tagger, [parts / "part-0.txt", parts / "missing.txt"])
    with pytest.raises(DataError, match="no file has a name of this pattern"):
        train(client, tagger, parts / "nothing-*")
    with pytest.raises(ValueError, match="pa trains on one machine only"):
        train(client, SequenceTagger(algorithm="pa"), parts / "part-0.txt")


def test_files_are_divided_among_shards():
    assert divided(["a", "b", "c"], 2) == [Share(("a", "c")), Share(("b",))]
    assert divided(["a", "b"], 3) == [Share(("a",), 0, 2), Share(("b",), 0, 1), Share(("a",), 1, 2)]


def test_the_command_line_names_an_address_without_scheduler(tmp_path):
    (tmp_path / "train.txt").write_bytes(as_columns(5))
    done = run("train", "label", "train.txt", "-o", "m", "--cluster", "tcp://127.0.0.1:9", cwd=tmp_path)
    refused(done, 2, "no Dask scheduler answers at 'tcp://127.0.0.1:9'")
    assert not (tmp_path / "m").exists()
