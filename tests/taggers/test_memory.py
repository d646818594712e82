"""The memory that a training needs is estimated, warned of and refused before it is taken."""

import json
import os
import subprocess
import sys
import textwrap
import warnings

import pytest

from structsvm.files import DataError
from taggers import Chunker, SequenceTagger, memory
from taggers.memory import TrainingMemoryWarning
from tests.taggers.command_line import COMMAND
from tests.taggers.sentences import chunk_data

X, Y = chunk_data(80)

PEAK = textwrap.dedent("""
    import json, re, sys
    import numpy as np
    from taggers import SequenceTagger
    from taggers import trainer

    options = json.loads(sys.argv[1])
    rng = np.random.default_rng(0)
    words = rng.permutation(40_000).reshape(-1, 20)
    X = [[f"w{k}" for k in row] for row in words]
    Y = [[f"L{k % 400}" for k in row] for row in words]
    estimates = []
    check = trainer.check_memory

    def peak():  # of this program; ru_maxrss would include the process that started it
        with open("/proc/self/status") as status:
            return int(re.search(r"VmHWM:\\s*(\\d+) kB", status.read())[1]) * 1024

    def noted(*arguments):
        from taggers.memory import needed_memory
        estimates.append(needed_memory(*arguments))
        estimates.append(peak())
        return check(*arguments)

    trainer.check_memory = noted
    SequenceTagger(template="w[0], w[-1], w[1]", epochs=1, **options).fit(X, Y)
    print(*estimates, peak())
""")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems count memory in other ways")
@pytest.mark.skipif(os.environ.get("STRUCTSVM_BUILD") == "sanitize", reason="sanitizers use memory too")
@pytest.mark.parametrize(
    "options",  # reprocessing takes time and no memory
    [
        {"reprocess": 0},
        {"reprocess": 0, "inference": "greedy"},
        {"algorithm": "perceptron"},
        {"algorithm": "crf"},
        {"algorithm": "pa"},
        {"reprocess": 0, "shards": 2},
    ],
)
def test_the_estimate_is_near_the_real_peak(options):
    result = subprocess.run(
        [sys.executable, "-c", PEAK, json.dumps(options)], capture_output=True, text=True, check=True
    )
    estimate, before, peak = map(int, result.stdout.split())
    assert peak - before > 5e7
    assert 1 / 1.5 < (peak - before) / estimate < 1.5


def test_a_large_training_is_warned_of_once_with_a_remedy(monkeypatch):
    monkeypatch.setattr(memory, "LARGE", 1e5)
    with pytest.warns(TrainingMemoryWarning, match=r"a cutoff of 2 leaves \d+\.\d GB") as seen:
        tagger = Chunker().fit(X, Y)
    assert len(seen) == 1
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tagger.partial_fit(X, Y)
        monkeypatch.undo()
        Chunker().fit(X, Y)


def test_a_stream_is_warned_of_when_it_has_grown(monkeypatch):
    tagger = SequenceTagger().partial_fit(X, Y)
    monkeypatch.setattr(memory, "LARGE", 1e5)
    with pytest.warns(TrainingMemoryWarning) as seen:
        tagger.partial_fit(X, Y).partial_fit(X, Y)
    assert len(seen) == 1


def test_more_memory_than_there_is_is_refused_and_changes_nothing(monkeypatch):
    tagger = Chunker().fit(X, Y)
    before = tagger.predict(X)
    monkeypatch.setattr(memory, "LARGE", 1e5)
    monkeypatch.setattr(memory, "machine_memory", lambda: 1e5)
    for train in (tagger.fit, Chunker().partial_fit):
        with pytest.raises(DataError, match=r"training needs about .* features and .* labels"):
            train(X, Y)
    assert tagger.predict(X) == before
    with pytest.raises(DataError, match="labels in 2 shards; to reduce this, use fewer shards, drop rare"):
        Chunker(shards=2).fit(X, Y)


@pytest.mark.parametrize(("room", "code"), [("1e12", 0), ("1e5", 1)])
def test_the_command_line_says_it_too(room, code, tmp_path):
    rows = [
        f"{word}\t{pos}\t{label}"
        for sentence, labels in zip(X, Y, strict=True)
        for (word, pos), label in zip(sentence, labels, strict=True)
    ]
    (tmp_path / "train.tsv").write_text("\n".join(rows) + "\n")
    patch = f"from taggers import memory; memory.LARGE = 1e5; memory.machine_memory = lambda: {room}; "
    done = subprocess.run(
        [sys.executable, "-c", patch + COMMAND[-1], "train", "chunk", "train.tsv", "-o", "model"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == code
    assert done.stderr.count("training needs about") == 1
    assert "cutoff of 2" in done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "model").exists() == (code == 0)


def test_the_limit_of_a_container_counts(monkeypatch, tmp_path):
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(memory, "LIMIT", limit)
    free = memory.machine_memory()
    assert free > 1e8
    limit.write_text("1000000\n")
    assert memory.machine_memory() == 1e6
    limit.write_text("max\n")
    assert memory.machine_memory() == free
