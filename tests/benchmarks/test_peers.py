"""The peers' harness: the same template for all, scores, and peers that fail told in the table."""

import json
import re
import subprocess

import pytest

from benchmarks import guard, pages
from benchmarks.peers import install, measuring, reporting, tasks
from benchmarks.peers.catalogue import METHODS, Method
from taggers import SequenceTagger
from taggers.features.template import cell_value, parse_template

SENTENCE = [["the", "DT", "B-NP"], ["old-fashioned", "JJ", "I-NP"], ["Cat", "NN", "I-NP"]]


@pytest.mark.parametrize("task", tasks.TASKS)
def test_strings_for_peers_are_the_features_of_our_template(task):
    template = tasks.TASKS[task].template
    columns = [list(column) for column in zip(*SENTENCE, strict=True)]
    for token, features in enumerate(tasks.Items(template)(SENTENCE)):
        expected = []
        for number, pattern in enumerate(parse_template(template).patterns):
            values = [cell_value(cell, columns, token, range(3)) for cell in pattern.cells]
            if None not in values:
                expected.append(f"{number}={'|'.join(values)}")
        assert features == expected


@pytest.mark.filterwarnings("ignore:no pattern of the template reads")
def test_every_template_is_one_that_our_tagger_takes():
    for task in tasks.TASKS.values():
        SequenceTagger(template=parse_template(task.template)).fit(
            [[tuple(row[:2]) for row in SENTENCE]] * 3, [[row[2] for row in SENTENCE]] * 3
        )


def test_peers_with_fewer_passes_than_their_default_say_so_in_the_table():
    for name in ("udpipe", "spacy_tagger"):
        (method,) = [method for method in METHODS if method.module == name]
        (options,) = method.tasks.values()
        (passes,) = options.values()
        assert re.search(rf", {passes} (iterations|epochs)$", method.name)


def test_files_are_read_as_written(tmp_path):
    path = tmp_path / "labelled.txt"
    tasks.write(path, iter([(SENTENCE, ["A", "B", "C"]), (SENTENCE[:1], ["D"])]))
    first, second = tasks.read(path)
    assert first == [[*row, label] for row, label in zip(SENTENCE, "ABC", strict=True)]
    assert second == [[*SENTENCE[0], "D"]]


def test_scores_are_those_of_conlleval(tmp_path):
    path = tmp_path / "output.txt"
    tasks.write(path, iter([(SENTENCE, ["B-NP", "I-NP", "I-NP"]), (SENTENCE[:1], ["O"])]))
    found = measuring.score("chunking", path)
    assert found["units"] == 4
    assert found["score"] == pytest.approx(100 * 2 / 3)


def test_every_method_has_a_module_and_known_tasks():
    for method in METHODS:
        assert set(method.tasks) <= set(tasks.TITLES), method.name
        assert method.module or method.name in measuring.CANNOT


def test_a_peer_that_does_not_install_or_fails_is_reported_in_the_table(monkeypatch, tmp_path):
    monkeypatch.setattr(install, "FOLDER", tmp_path)
    monkeypatch.setattr(
        subprocess, "run",
        lambda command, **_: subprocess.CompletedProcess(command, 1, "", "ERROR: no such package\nnote: x"),
    )  # fmt: skip
    assert install.install("nosuchpeer") == {"failed": "ERROR: no such package"}
    peers = [
        Method("ours", "ours", "", {"chunking": {}}),
        Method("absent", "absent", "nosuchpeer", {"chunking": {}}),
        Method("broken", "broken", "", {"chunking": {}}),
    ]

    def once(method, task, sentences):
        if method.name == "broken":
            raise RuntimeError("failed:\nImportError: gone")
        return {"train": 2.0, "model_mb": 1.0, "peak_mb": 9.0, "load": 0.1, "rate": 10.0, "score": 90.0}

    monkeypatch.setattr(measuring, "METHODS", peers)
    monkeypatch.setattr(measuring, "once", once)
    text = reporting.markdown(measuring.collect(["chunking"], repeats=2))
    assert "| absent | does not install: ERROR: no such package |" in text
    assert "| broken | fails: ImportError: gone |" in text
    assert "| ours | 90.00 | 2.00 (2.00 to 2.00) |" in text


def test_all_run_three_times_in_turns_and_every_second_turn_backwards(monkeypatch):
    order = []
    monkeypatch.setattr(measuring, "METHODS", [Method(name, "ours", "", {"ner": {}}) for name in "abc"])
    monkeypatch.setattr(measuring, "once", lambda method, *_: order.append(method.name) or {"train": 1.0})
    found = {entry["method"]: len(entry["runs"]) for entry in measuring.collect(["ner"])}
    assert found == {"a": 3, "b": 3, "c": 3}
    assert "".join(order) == "abccbaabc"


def test_the_guard_ends_with_an_error_where_something_is_worse(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(guard, "REFERENCE", tmp_path / "reference.json")
    ratios = {"greedy: train, times as fast": 7.0, "greedy: F1": 93.4}
    monkeypatch.setattr(guard, "ratios", lambda: ratios)
    guard.main(record=True)
    guard.main()
    ratios = ratios | {"greedy: train, times as fast": 5.0}
    with pytest.raises(SystemExit) as ended:
        guard.main()
    assert "greedy: train" in str(ended.value)
    assert "WORSE" in capsys.readouterr().out


def test_pages_hold_what_was_measured_last(monkeypatch, tmp_path):
    runs = [{"train": 2.0, "model_mb": 1.0, "peak_mb": 9.0, "load": 0.1, "rate": 10.0, "score": 90.0}]
    entry = {"task": "chunking", "method": "peer", "version": "1.2", "template": "its own", "runs": runs}
    entries = [entry | {"machine": "a machine"}, entry | {"task": "pos", "machine": "yesterday"}]
    (tmp_path / "peers.json").write_text(json.dumps({"entries": entries}))
    (tmp_path / "other.md").write_text("| new |\n")
    shown = {"name": "LaRank", "measure": "dual", "digits": 1, "relative": False}
    rows = [{"paper": 200.0, "ours": [198.0]}, {"paper": None, "ours": [3.0]}]
    (tmp_path / "table-5.7.json").write_text(json.dumps({"rows": [row | shown for row in rows]}))
    monkeypatch.setattr(pages, "RESULTS", tmp_path)
    names = ("other", "peers-chunking", "papers")
    text = "\n".join(f"before\n<!-- table: {name} -->\nold\n<!-- end -->" for name in names)
    filled = pages.filled(text)
    assert "old" not in filled
    assert "before\n<!-- table: other -->\n| new |\n<!-- end -->" in filled
    assert "| CoNLL-2000 chunking | F1 |" in filled
    assert "| peer | 90.00 | 2.00 |" in filled
    assert "a machine; peer 1.2" in filled
    assert "yesterday" not in filled
    assert reporting.machines(entries) == "chunking: a machine; pos: yesterday"
    assert re.search(r"\[table-5.7\].* \| 1 \|  \| 1 \| 1.0% \|", filled)
    assert pages.filled(filled) == filled
