"""Cross-validation and several training files, in Python and on the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest

from taggers import NerTagger, PosTagger
from taggers.commands import train
from taggers.commands.crossing import crossval
from taggers.features.documents import document_starts
from taggers.formats.files import read_all
from taggers.labels.files import joined, read_files
from taggers.sources.memory import MemorySource
from taggers.weak.crossing import Folds
from tests.taggers.command_line import refused, run
from tests.taggers.sentences import names_in_context as corpus
from tests.taggers.sentences import write_columns as write


def documents(path, X, y, size):
    """A file with a document mark before each `size` sentences."""
    lines = []
    for number, (words, labels) in enumerate(zip(X, y, strict=True)):
        lines += ["-DOCSTART- O\n\n"] * (number % size == 0)
        lines += [f"{word} {label}\n" for word, label in zip(words, labels, strict=True)] + ["\n"]
    path.write_text("".join(lines))
    return path


@pytest.mark.parametrize("tagger", [NerTagger(epochs=1), PosTagger(epochs=1)])
def test_each_fold_is_labelled_as_by_a_tagger_that_was_trained_on_the_others(tagger):
    X, y = corpus(60)
    folds = Folds(tagger, MemorySource(X, y), folds=3, seed=4)
    for number, one in enumerate(folds):
        others = [k for k in range(60) if k not in set(one.sentences.tolist())]
        alone = type(tagger)(epochs=1, random_state=4 + number)
        alone.fit([X[k] for k in others], [y[k] for k in others])
        found = [one.model.names[k] for k in one.model.tag(one.X)]
        assert found == [label for row in alone.predict([X[k] for k in one.sentences]) for label in row]


def test_documents_stay_in_one_fold_and_are_what_the_bootstrap_draws(tmp_path):
    X, y = corpus(60)
    path = documents(tmp_path / "a.conll", X, y, 5)
    starts = document_starts(read_all(path, wanted=[0]))
    assert len(starts) == 12
    found = crossval("ner", path, folds=4, epochs=1)
    assert (found.units, found.total, len(found.scores)) == ("documents", 12, 4)
    assert found.evaluation.interval.sentences == 12
    (data,) = read_files(path)
    numbers = np.searchsorted(starts, np.arange(data.columns.n_sentences), "right")
    folds = Folds(NerTagger(), MemorySource(*data), folds=4, groups=numbers)
    for number in set(numbers.tolist()):
        assert len(set(folds.fold_of[numbers == number].tolist())) == 1


def test_too_few_documents_give_folds_of_sentences(tmp_path):
    X, y = corpus(40)
    found = crossval("ner", documents(tmp_path / "a.conll", X, y, 20), folds=4, epochs=1)
    assert found.units == "sentences"


def test_the_scores_of_the_folds_and_of_all_answers_agree(tmp_path):
    X, y = corpus(80)
    found = crossval("ner", write(tmp_path / "a.conll", X, y), folds=4, epochs=1)
    assert found.measure == "F1"
    assert min(found.scores) <= found.evaluation.f1 <= max(found.scores)
    assert found.evaluation.interval.score == pytest.approx(found.evaluation.f1)
    assert found.evaluation.tokens.total == sum(map(len, X))


@pytest.mark.filterwarnings("ignore:.*means that a token has no label")
def test_tokens_without_labels_are_not_scored(tmp_path):
    X, y = corpus(40)
    y = [["_", *labels[1:]] for labels in y]
    found = crossval("ner", write(tmp_path / "a.conll", X, y), folds=4, epochs=1)
    assert found.evaluation.tokens.total == sum(map(len, X)) - 40


def test_the_command_prints_the_interval_and_the_folds(tmp_path):
    X, y = corpus(60)
    path = write(tmp_path / "a.conll", X, y)
    done = run("crossval", "ner", path, "-k", 3, "--epochs", 1, cwd=tmp_path)
    assert done.returncode == 0
    assert b"FB1:" in done.stdout
    assert b"95% interval of FB1" in done.stdout
    assert b"3 folds: F1 from" in done.stdout
    told = json.loads(run("crossval", "pos", path, "-k", 3, "--json", cwd=tmp_path).stdout)
    assert len(told["folds"]["scores"]) == 3
    assert told["folds"]["measure"] == "accuracy"
    refused(run("crossval", "ner", path, "-k", 100, cwd=tmp_path), 2, "use fewer folds")
    refused(run("crossval", "ner", path, "--text", "none.txt", cwd=tmp_path), 1, "none.txt")


# -- several files ------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path):
    X, y = corpus(60)
    return write(tmp_path / "a.conll", X[:25], y[:25]), write(tmp_path / "b.conll", X[25:], y[25:]), X, y


def test_several_files_train_the_model_of_one_joined_file(files, tmp_path):
    a, b, X, y = files
    whole = write(tmp_path / "whole.conll", X, y)
    for option in ({}, {"memory": "4G"}):
        train("ner", [a, b], tmp_path / "two.ssvm", **option)
        train("ner", whole, tmp_path / "one.ssvm", **option)
        assert (tmp_path / "two.ssvm").read_bytes() == (tmp_path / "one.ssvm").read_bytes()


def test_files_of_different_formats_are_joined(files, tmp_path):
    a, b, X, y = files
    run("convert", b, "--to", "jsonl", "-o", tmp_path / "b.jsonl", cwd=tmp_path)
    data = joined(read_files([a, tmp_path / "b.jsonl"]))
    assert data.columns.sentences(0) == X
    assert data.gold.lists() == y


def test_each_file_begins_a_document_if_one_marks_documents(files, tmp_path):
    a, _, X, y = files
    marked = documents(tmp_path / "c.conll", X[:20], y[:20], 10)
    starts = document_starts(joined(read_files([a, marked])).columns)
    assert starts.tolist() == [0, 25, 35]


def test_warnings_name_the_file_and_the_line(files, tmp_path):
    a, b, X, y = files
    y = [list(labels) for labels in y]
    y[30][0] = "I-LOC"
    write(b, X[25:], y[25:])
    done = run("train", "ner", a, b, "-o", tmp_path / "m.ssvm", cwd=tmp_path)
    line = 1 + sum(len(words) + 1 for words in X[25:30])
    assert (
        f"b.conll: 1 label is out of place in IOB2 (the first at line {line}: I-LOC)" in done.stderr.decode()
    )


def test_a_file_with_other_columns_or_given_twice_is_refused(files, tmp_path):
    a, b, X, _ = files
    b.write_text("".join(f"{word} NN O\n" for word in X[0]))
    out = tmp_path / "m.ssvm"
    for option in ((), ("--memory", "4G")):
        refused(run("train", "ner", a, b, "-o", out, *option, cwd=tmp_path), 1, "b.conll", "columns")
    refused(run("train", "ner", a, a, "-o", out, cwd=tmp_path), 2, "is given twice")
    refused(run("train", "ud", a, b, "-o", out, cwd=tmp_path), 2, "train ud learns from one file")
    assert not out.exists()


def test_tune_reads_several_files_and_names_them_in_its_command(files, tmp_path):
    a, b, *_ = files
    done = run(
        "tune", "ner", a, b, "-o", tmp_path / "m.ssvm", "--trials", 2, "--template", "label", cwd=tmp_path
    )
    assert f"{a} {b}" in done.stdout.decode()
