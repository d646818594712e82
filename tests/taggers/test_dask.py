"""Taggers on a real Dask cluster: files that workers read, exactly one output per input, clear errors."""

import os
import signal
import subprocess
import sys
import time

import pytest

from structsvm.files import DataError
from taggers import Chunker, SequenceTagger
from taggers.labels.files import read_labelled
from tests.taggers.command_line import COMMAND, refused, run
from tests.taggers.sentences import as_columns, chunk_data

pytest.importorskip("distributed")
from distributed import Client, LocalCluster

from taggers.dask import DaskChunker, tag, train
from taggers.sources.cluster import Share, divided

pytestmark = pytest.mark.filterwarnings("ignore")  # of Dask


@pytest.fixture(scope="module")
def client():
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster) as client:
        yield client


@pytest.fixture
def parts(tmp_path):
    for k in range(3):
        (tmp_path / f"part-{k}.txt").write_bytes(as_columns(60, seed=k))
    return tmp_path


class Watch(list):
    """A callback that wants the primal."""

    primal = True
    __call__ = list.append


def test_a_tagger_learns_from_parts_as_from_the_whole(client, parts):
    X, y = chunk_data(50, seed=9)
    (parts / "dev.txt").write_bytes(as_columns(30, seed=8))
    watch = Watch()
    tagger = Chunker(shards=3, template="w[-1..1], p[-1..1]", cutoff=2, epochs=2, callback=watch)
    train(client, tagger, parts / "part-*.txt", dev=parts / "dev.txt")
    assert [point.round for point in watch] == [*range(1, 8)] * 2
    assert [point.round for point in watch if point.gap == point.gap] == [7, 7]
    assert watch[-1].gap == pytest.approx(tagger.model_.report["gap"])
    whole = b"".join((parts / f"part-{k}.txt").read_bytes() for k in range(3))
    (parts / "whole.txt").write_bytes(whole)
    alone = Chunker(template="w[-1..1], p[-1..1]", cutoff=2)
    columns = read_labelled(parts / "whole.txt").columns
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
    with pytest.raises(DataError, match="no file matches this pattern"):
        train(client, tagger, parts / "nothing-*")
    with pytest.raises(ValueError, match="pa trains only from memory"):
        train(client, SequenceTagger(algorithm="pa"), parts / "part-0.txt")


def test_files_are_divided_among_shards():
    assert divided(["a", "b", "c"], 2) == [Share(("a", "c")), Share(("b",))]
    assert divided(["a", "b"], 3) == [Share(("a",), 0, 2), Share(("b",), 0, 1), Share(("a",), 1, 2)]


def test_the_command_line_names_an_address_without_scheduler(tmp_path):
    (tmp_path / "train.txt").write_bytes(as_columns(5))
    done = run("train", "label", "train.txt", "-o", "m", "--cluster", "tcp://127.0.0.1:9", cwd=tmp_path)
    refused(done, 2, "no Dask scheduler answers at 'tcp://127.0.0.1:9'")
    assert not (tmp_path / "m").exists()


def test_a_wrong_line_gives_one_sentence_and_no_traceback_of_a_worker(parts):
    with (parts / "part-2.txt").open("a") as file:
        file.write("only\n\n")
    done = run(
        "train",
        "label",
        "part-*.txt",
        "-o",
        "m",
        "--template",
        "w[0], p[0]",
        "--cluster",
        "local:2",
        cwd=parts,
    )
    refused(done, 1, "part-2.txt:")
    assert b"(on worker tcp://" in done.stderr
    assert done.stderr.count(b"\n") == 1


def test_shards_not_workers_decide_the_bytes_of_a_model(parts):
    for workers in (1, 2):
        done = run("train", "label", "part-*.txt", "-o", f"m{workers}", "--template", "w[0], p[0]",
                   "--shards", "2", "--cluster", f"local:{workers}", cwd=parts)  # fmt: skip
        assert done.returncode == 0
    assert (parts / "m1").read_bytes() == (parts / "m2").read_bytes()
    text = " ".join(run("train", "--help", cwd=parts).stdout.decode().split())
    assert "depends on the number of threads of the cluster unless you set --shards" in text
    assert "the same seed and number of shards give the same model" in text


def training(parts, cluster):
    """A command that trains until it is stopped, after its first round."""
    arguments = ["train", "label", "part-*.txt", "-o", "m", "--template", "w[0], p[0]", "--epochs", "10000",
                 "--cluster", cluster, "--checkpoint", "rounds"]  # fmt: skip
    process = subprocess.Popen([*COMMAND, *arguments], cwd=parts, stdout=subprocess.PIPE, text=True,
                               stderr=subprocess.PIPE, start_new_session=True)  # fmt: skip
    while process.poll() is None and not list(parts.glob("rounds/*.npz")):
        time.sleep(0.1)
    return process


def test_ctrl_c_for_all_processes_of_a_terminal_gives_one_line(parts):
    process = training(parts, "local:2")
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate(timeout=60) == ("", "interrupted\n")
    assert process.returncode == 130
    assert not (parts / "m").exists()


def test_a_killed_scheduler_gives_one_sentence(parts):
    program = """
import sys, time
from distributed import LocalCluster
if __name__ == "__main__":
    cluster = LocalCluster(n_workers=0, processes=False, protocol="tcp://", dashboard_address="127.0.0.1:0")
    print(cluster.scheduler_address, flush=True)
    time.sleep(600)
"""
    scheduler = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    address = scheduler.stdout.readline().strip()
    worker = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny",
         "--no-dashboard", "--death-timeout", "20"], cwd=parts, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        with Client(address, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=60)
        process = training(parts, address)
        scheduler.kill()
        output, errors = process.communicate(timeout=120)
    finally:
        for one in (scheduler, worker):
            one.kill()
            one.communicate()
    assert (process.returncode, output) == (1, "")
    assert errors.startswith(f"error: lost the cluster {address}: its scheduler")
    assert errors.count("\n") == 1


OPTIONS = {"shards": 3, "template": "w[-1..1], p[-1..1]"}


def test_bags_dataframes_and_files_give_the_same_model(client, parts):
    bag, frame = pytest.importorskip("dask.bag"), pytest.importorskip("dask.dataframe")
    pandas, delayed = pytest.importorskip("pandas"), pytest.importorskip("dask").delayed
    X, y = zip(*[chunk_data(60, seed=k) for k in range(3)], strict=True)
    tokens, labels = (bag.from_delayed([delayed(few) for few in data]) for data in (X, y))
    tagger = DaskChunker(**OPTIONS).fit(tokens, labels)
    files = train(client, Chunker(**OPTIONS), parts / "part-*.txt")
    weights = files.model_.weights.dense(40)
    assert (tagger.model_.weights.dense(40) == weights).all()
    assert tagger.predict(tokens).compute() == [row for few in X for row in files.predict(few)]
    rows = [
        pandas.DataFrame([(n, *token, label) for n, (s, t) in enumerate(zip(few, marks, strict=True))
                          for token, label in zip(s, t, strict=True)])
        for few, marks in zip(X, y, strict=True)
    ]  # fmt: skip
    table = frame.concat([frame.from_pandas(one, npartitions=1) for one in rows])
    assert (train(client, Chunker(**OPTIONS), table).model_.weights.dense(40) == weights).all()


def test_partitions_may_be_empty_or_have_labels_of_their_own(client):
    bag, frame = pytest.importorskip("dask.bag"), pytest.importorskip("dask.dataframe")
    pandas, delayed = pytest.importorskip("pandas"), pytest.importorskip("dask").delayed
    parts = [[], [[("Anna", "NAME")]], [[("sings", "VERB")], [("Otto", "NAME")]], [], [[("here", "ADV")]]]
    sentences = bag.from_delayed([delayed(part) for part in parts])
    tagger = train(client, SequenceTagger(template="w[0]", shards=2), sentences)
    assert set(tagger.classes_) == {"NAME", "VERB", "ADV"}
    rows = [(0, "Anna", "NAME"), (1, "sings", "VERB"), (1, "Otto", "NAME"), (2, "here", "ADV")]
    table = frame.from_pandas(pandas.DataFrame(rows, columns=["n", "word", "label"]), npartitions=2)
    few = train(client, SequenceTagger(template="w[0]", shards=1), table[table.label == "ADV"])
    assert list(few.classes_) == ["ADV"]
    with pytest.raises(ValueError, match="empty"):
        train(client, SequenceTagger(template="w[0]"), bag.from_delayed([delayed([]), delayed([])]))


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_words_and_labels_of_a_dataframe_must_be_strings(client, missing):
    frame, pandas = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    rows = [(0, "Anna", "NAME"), (1, "sings", missing)]
    columns = pandas.DataFrame(rows, columns=["n", "word", "label"]).astype({"label": object})
    table = frame.from_delayed([pytest.importorskip("dask").delayed(columns)], meta=columns)
    with pytest.raises(
        DataError, match=r"partition 0: the column label has (None|nan|<NA>); words and labels"
    ):
        train(client, SequenceTagger(template="w[0]"), table)


class Killed(Exception):
    pass


def test_a_training_continues_after_the_death_of_the_driver_to_the_same_bytes(client, parts, tmp_path):
    (parts / "dev.txt").write_bytes(as_columns(30, seed=8))
    data = {"parts": parts / "part-*.txt", "dev": parts / "dev.txt"}
    train(client, Chunker(**OPTIONS, epochs=3), **data).save(parts / "whole")

    def die(round):
        def callback(point):
            nonlocal round
            round -= 1
            if not round:
                raise Killed

        return callback

    data["checkpoint"] = tmp_path / "c"
    for round in (4, 8, 6):  # of 21: within a pass, and in the next one, again and again
        with pytest.raises(Killed):
            train(client, Chunker(**OPTIONS, epochs=3, callback=die(round)), **data)
    train(client, Chunker(**OPTIONS, epochs=3), **data).save(parts / "continued")
    assert (parts / "continued").read_bytes() == (parts / "whole").read_bytes()
    with pytest.raises(ValueError, match="has the checkpoint of another training"):
        train(client, Chunker(**OPTIONS, C=3.0), **data)
    (path,) = (tmp_path / "c").glob("*.npz")
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(ValueError, match=r"is damaged .*; delete the folder"):
        train(client, Chunker(**OPTIONS), **data)


def test_labels_that_differ_between_parts_name_the_file_and_the_worker(client, parts):
    whole = (parts / "part-2.txt").read_text()
    for change, message in (
        (lambda label: "L" + label, r"part-2.txt: has labels such as L.* \(worker tcp://.*none of which"),
        (lambda label: label.replace("B-", "S-"), r"part-2.txt: has labels of another scheme .* \(worker"),
    ):
        lines = [line.rpartition(" ") for line in whole.split("\n")]
        text = "\n".join(a + b + (change(c) if c else "") for a, b, c in lines)
        (parts / "part-2.txt").write_text(text)
        with pytest.raises(DataError, match=message):
            train(client, Chunker(**OPTIONS), parts / "part-*.txt")


def test_ctrl_c_leaves_a_usable_cluster(client, parts):
    def interrupt(point):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(client, Chunker(**OPTIONS, callback=interrupt), parts / "part-*.txt")
    assert train(client, Chunker(**OPTIONS), parts / "part-*.txt").classes_
