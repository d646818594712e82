"""Doubts: planted errors come first, with the right suggestion, on the command line and in `teach`."""

from __future__ import annotations

import json

import numpy as np
import pytest

from taggers.commands import doubts as commands
from taggers.labels import schemes
from taggers.labels.files import read_labelled
from taggers.weak import doubts, find_label_errors
from tests.taggers.command_line import refused, run
from tests.taggers.sentences import names_in_context as corpus
from tests.taggers.sentences import write_columns as write


def test_planted_errors_come_first_with_the_right_labels():
    X, y = corpus()
    wrong, places = doubts.plant_errors(y, "IOB2", share=0.05, seed=7)
    found = find_label_errors(X, wrong, folds=5)
    first = found[: len(places)]
    assert {one.sentence for one in first} == {place[0] for place in places}
    for one in first:
        mended = list(wrong[one.sentence])
        mended[one.start : one.stop] = one.suggested
        assert mended == y[one.sentence]
    scores = [one.score for one in found]
    assert scores == sorted(scores, reverse=True)


def test_each_kind_of_error_has_its_name():
    X, y = corpus()
    wanted = {3: "missing", 9: "type", 15: "border", 21: "spurious"}
    for sentence, kind in wanted.items():
        ((name, start, stop),) = schemes.spans(y[sentence], "IOB2")
        n = len(y[sentence])
        new = {
            "missing": [], "type": [("PER" if name == "LOC" else "LOC", start, stop)],
            "border": [(name, start, stop + 1)], "spurious": [(name, start, stop), ("LOC", 0, 1)],
        }[kind]  # fmt: skip
        y[sentence] = schemes.encode(new, n, "IOB2")
    found = {one.sentence: one.kind for one in find_label_errors(X, y, folds=5)[:4]}
    assert found == wanted


def test_parts_of_speech_are_doubted_token_by_token():
    X, _ = corpus(100)
    y = [["NOUN" if word[0].isupper() else "NUM" if word.isdigit() else "X" for word in words] for words in X]
    y[5][1] = "NUM"
    (first, *_) = find_label_errors(X, y, folds=5)
    assert (first.sentence, first.start, first.suggested, first.kind) == (5, 1, ["X"], "label")


def test_missing_labels_and_sets_are_never_doubted():
    X, y = corpus(100)
    for labels in y[:20]:
        labels[2:] = [None] * len(labels[2:])
    y[20][0] = {"O", "B-LOC"}
    assert not any(one.sentence < 20 and one.stop > 2 for one in find_label_errors(X, y, folds=5))


def test_a_label_whose_only_token_gets_a_planted_error_is_doubted():
    X, _ = corpus(30)
    y = [[f"N{s}-{k}" if s > 15 else "X" for k in range(len(words))] for s, words in enumerate(X)]
    assert find_label_errors(X, y, folds=3)


def test_planting_changes_only_the_places_that_it_names():
    _, y = corpus(60)
    wrong, places = doubts.plant_errors(y, "IOB2", share=0.2, seed=1)
    named = {(sentence, k) for sentence, start, stop in places for k in range(start, stop)}
    changed = {(s, k) for s, row in enumerate(y) for k in range(len(row)) if row[k] != wrong[s][k]}
    assert changed
    assert changed <= named


def test_a_seed_gives_the_same_doubts():
    X, y = corpus(60)
    y[4] = ["O"] * len(y[4])
    assert find_label_errors(X, y, folds=4) == find_label_errors(X, y, folds=4)


def test_fewer_sentences_than_folds_are_refused():
    X, y = corpus(6)
    with pytest.raises(ValueError, match="6 sentences cannot be split into 10 folds; use fewer folds"):
        find_label_errors(X, y)


@pytest.fixture
def file(tmp_path):
    X, y = corpus()
    y[50] = ["O"] * len(y[50])
    return write(tmp_path / "train.conll", X, y), X


def test_the_command_names_the_line(file, tmp_path):
    path, _X = file
    done = run("doubts", path, "--folds", 5, "--most", 1, "--json", cwd=tmp_path)
    one = json.loads(done.stdout)
    assert one["sentence"] == 50
    assert one["kind"] == "missing"
    assert path.read_text().splitlines()[one["line"] - 1].split()[0] == one["words"].split()[0]
    assert b"missing" in run("doubts", path, "--folds", 5, "--most", 1, cwd=tmp_path).stdout


def test_the_command_names_the_row_of_a_table(tmp_path):
    X, y = corpus()
    y[50] = ["O"] * len(y[50])
    rows = [f"{number},{word},{label}" for number, (words, labels) in enumerate(zip(X, y, strict=True))
            for word, label in zip(words, labels, strict=True)]  # fmt: skip
    (tmp_path / "train.csv").write_text("\n".join(["sentence,word,ner", *rows]) + "\n")
    done = run("doubts", "train.csv", "--folds", 5, "--most", 1, "--json", cwd=tmp_path)
    one = json.loads(done.stdout)
    assert one["start"] > 0
    assert rows[one["line"] - 2].startswith(f"50,{one['words'].split()[0]},")


@pytest.mark.parametrize("task", ["auto", "ner"])
def test_the_command_and_python_find_the_same_doubts(task, tmp_path):
    X, y = corpus(100)
    wrong, _ = doubts.plant_errors(y, "IOB2", share=0.1, seed=7)
    found = commands.doubts(write(tmp_path / "train.conll", X, wrong), task=task, folds=4).found
    assert found == find_label_errors(X, wrong, folds=4)


def test_the_models_do_not_read_the_label_column(tmp_path, recwarn):
    X, _ = corpus(100)
    y = [["NOUN" if word[0].isupper() else "X" for word in words] for words in X]
    columns = read_labelled(write(tmp_path / "train.conll", X, y)).columns
    assert find_label_errors(columns, 1, folds=4) == find_label_errors(X, y, folds=4)
    assert not recwarn.list  # of an input column that the template does not read


def test_teach_opens_the_queue_as_conflicts(file, tmp_path):
    from taggers.teach.commands import teach

    path, X = file
    queue = tmp_path / "queue.answers.jsonl"
    run("doubts", path, "--folds", 5, "--queue", queue, "-q", cwd=tmp_path)
    teaching = teach(
        "ner", path, tmp_path / "m.ssvm", begin=[path], merge=[queue], inputs=[0], format="columns"
    )
    with teaching.session:
        first = teaching.conflicts[0]
    assert first["item"]["tokens"] == X[50]
    assert set(first["value"]) == {"O"}
    assert first["at"]


def test_a_file_with_one_label_is_refused(tmp_path):
    path = write(tmp_path / "x.conll", [["a", "b"]] * 20, [["O", "O"]] * 20)
    refused(run("doubts", path, cwd=tmp_path), 1, "all labels are the same", "choose another --column")


def test_the_queue_may_not_replace_the_file(file, tmp_path):
    path, _ = file
    before = path.read_bytes()
    refused(run("doubts", path, "--queue", path, cwd=tmp_path), 2, "would be overwritten")
    assert path.read_bytes() == before


def test_probabilities_of_other_folds_are_complete():
    from taggers.tagger import NerTagger
    from taggers.weak.crossing import cross_predict

    X, y = corpus(40)
    crossed = cross_predict(NerTagger(**doubts.CHEAP), X, y, folds=4)
    assert np.allclose(crossed.probabilities.sum(axis=1), 1, atol=1e-4)
    assert crossed.sentence_ptr[-1] == sum(map(len, X)) == len(crossed.ids)
