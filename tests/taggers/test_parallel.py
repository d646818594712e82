"""Training taggers in threads: the same bytes for a number of shards, the same labels as one thread."""

from types import SimpleNamespace

import pytest

from structsvm.cli.progress import Progress
from taggers import Chunker, NerTagger, SequenceTagger
from taggers.features import extract
from taggers.trainer import TrainingPoint
from tests.taggers.command_line import run
from tests.taggers.sentences import as_columns, chunk_data


@pytest.mark.parametrize("kind", [SequenceTagger, Chunker, NerTagger])
def test_the_number_of_threads_changes_no_byte_of_a_model(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(extract, "SMALLEST", 1)
    X, y = chunk_data(120)
    contents = set()
    for jobs in (1, 2, 4):
        kind(template="label", shards=4, jobs=jobs).fit(X, y).save(tmp_path / "m", training_state=True)
        contents.add((tmp_path / "m").read_bytes())
    assert len(contents) == 1


def test_shards_learn_what_one_thread_learns_and_certify_it():
    X, y = chunk_data(120)
    one = SequenceTagger(epochs=20).fit(X, y)
    four = SequenceTagger(epochs=20, shards=4).fit(X, y)
    assert four.predict(X) == one.predict(X)
    assert 0 <= four.optimizer_.gap() < 0.05 * four.optimizer_.dual_


def test_a_model_of_shards_is_resumed_exactly_and_learns_online(tmp_path):
    X, y = chunk_data(120)
    whole = SequenceTagger(shards=3, epochs=3).fit(X, y)
    SequenceTagger(shards=3, epochs=2).fit(X, y).save(tmp_path / "m", training_state=True)
    resumed = SequenceTagger.load(tmp_path / "m", epochs=1).resume(X, y)
    assert resumed.shards == 3
    assert (resumed.optimizer_.weights_ == whole.optimizer_.weights_).all()
    more, labels = chunk_data(20, seed=1)
    more.append([("unseen", "NN")])
    labels.append(["B-NEW"])
    assert "B-NEW" in resumed.partial_fit(more, labels).classes_


class Watch(list):
    """A callback that wants the primal."""

    primal = True
    __call__ = list.append


@pytest.mark.parametrize("shards", [1, 3])
def test_a_callback_gets_the_gap_at_the_end_of_a_pass_if_it_wants_it(shards):
    X, y = chunk_data(60)
    watch = Watch()
    tagger = SequenceTagger(shards=shards, epochs=2, callback=watch).fit(X, y)
    ends = [point for point in watch if point.gap == point.gap]
    assert [point.epoch for point in ends] == [0, 1]
    assert ends[-1].gap == tagger.optimizer_.gap()
    watch.clear()
    watch.primal = False
    SequenceTagger(shards=shards, callback=watch).fit(X, y)
    assert all(point.primal != point.primal for point in watch)


def test_without_shards_jobs_leave_small_data_alone():
    X, y = chunk_data(120)
    assert type(SequenceTagger(jobs=4).fit(X, y).optimizer_).__name__ == "LaRank"


def test_the_command_line_trains_in_threads(tmp_path):
    (tmp_path / "train.txt").write_bytes(as_columns(120))
    for jobs in (1, 0):
        run("train", "label", "train.txt", "-o", f"{jobs}.ssvm", "--shards", 2, "--jobs", jobs, cwd=tmp_path)
    assert (tmp_path / "0.ssvm").read_bytes() == (tmp_path / "1.ssvm").read_bytes()


def test_the_progress_of_a_cluster_has_round_dual_primal_gap_and_score():
    progress, lines = Progress(shown=False), []
    progress.bar = SimpleNamespace(update=lambda n: None, set_postfix_str=lines.append)
    point = TrainingPoint(1.0, 0, 10, 10.0, 2.0, 3, 4, round=5)
    progress(point)
    progress(point._replace(primal=3.5))
    progress.scored(0.9)
    progress(point._replace(epoch=1, round=1))
    assert lines == [
        "pass 1, round 5, dual 2.0",
        "pass 1, round 5, dual 2.0, primal 3.5 and gap 1.5 after pass 1",
        "pass 2, round 1, dual 2.0, primal 3.5 and gap 1.5 after pass 1, dev 90.00",
    ]
