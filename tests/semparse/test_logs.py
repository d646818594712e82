"""Texts and events with times: CSV and JSONL become bags, and wrong rows are told by file and line."""

import json
import subprocess
import sys

import pytest

from semparse import commands
from semparse.logs import read_windows
from structsvm.files import DataError

TEXTS = "time,text,gold,id\n10,it is too dark,turn_on(lamp);open(blinds),7\n\n2,good morning,,8\n"
EVENTS = (
    '{"time": 11.5, "meaning": "turn_on(lamp)", "user": "anna"}\n'
    '{"start": 3, "end": 5, "rel": "open", "args": ["blinds"]}\n'
    '{"time": "12.5", "meaning": "ring"}\n'
)
COMMAND = [sys.executable, "-c", "from structsvm.cli.entry import main; main()", "parse"]


def run(*arguments, cwd):
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "texts.csv").write_text(TEXTS)
    (tmp_path / "events.jsonl").write_text(EVENTS)
    return tmp_path


def test_windows_reach_before_and_after_a_text(folder):
    bags = read_windows(folder / "texts.csv", folder / "events.jsonl")
    assert [bag.text for bag in bags] == ["it is too dark", "good morning"]
    assert [bag.candidates for bag in bags] == [("turn_on(lamp)", "open(blinds)"), ("open(blinds)",)]
    assert [bag.gold for bag in bags] == [("turn_on(lamp)", "open(blinds)"), ()]
    assert [(bag.time, bag.id) for bag in bags] == [(10, "7"), (2, "8")]
    bags = read_windows(folder / "texts.csv", folder / "events.jsonl", before=0, after=0.5)
    assert [bag.candidates for bag in bags] == [(), ()]


def test_tables_and_objects_dates_and_marks_say_the_same(folder):
    said = [("2026-05-01T10:00:10", "it is too dark"), ("2026-05-01 10:00:02Z", "good morning")]
    (folder / "texts.jsonl").write_text("".join(json.dumps({"time": t, "text": x}) + "\n" for t, x in said))
    (folder / "events.tsv").write_text(
        "Meaning\tTime\tEnd\nturn_on(lamp)\t2026-05-01T12:00:11.5+02:00\t\n"
        "open(blinds)\t2026-05-01T10:00:03\t2026-05-01T10:00:05\n"
    )
    (folder / "events.csv").write_text(
        "time;end;meaning\n2026-05-01T10:00:11.5;;turn_on(lamp)\n"
        "2026-05-01T10:00:03;2026-05-01T10:00:05;open(blinds)\n"
    )
    for name in ("events.tsv", "events.csv"):
        with pytest.warns(UserWarning, match="some dates have a time zone and some do not"):
            bags = read_windows(folder / "texts.jsonl", folder / name)
        assert [bag.candidates for bag in bags] == [("turn_on(lamp)", "open(blinds)"), ("open(blinds)",)]
        assert [bag.gold for bag in bags] == [None, None]


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("texts.csv", "", "texts.csv: is empty"),
        ("texts.csv", "time,text\n", "texts.csv: has a header only"),
        ("texts.csv", "3,a b\n4,c d\n", "texts.csv:1: the first line has a time instead of names"),
        ("texts.csv", "when,text\n1,a b\n", "texts.csv:2: has no 'time'.*--field"),
        ("texts.csv", "time,words\n1,a b\n", "texts.csv:2: has no 'text'.*--field"),
        ("texts.csv", "time,text\n1,\n2, \n", "texts.csv: all its texts are empty"),
        ("texts.csv", "time,text\n1,yes, please\n", "texts.csv:2: the row has 3 values.*in quotes"),
        ("texts.csv", 'time,text\n1,"a b\n', "texts.csv:2: no CSV"),
        ("texts.csv", "time,text\nnoon,a b\n", "texts.csv:2: 'noon' is not a time"),
        ("texts.csv", "time,text\nnan,a b\n", "texts.csv:2: 'nan' is not a time"),
        ("texts.csv", "time,text\n1,a\n2026-05-01,b\n", "texts.csv:3: some times are numbers"),
        ("texts.csv", "time,text\n2026-05-01,b\n", "events.jsonl: its times are numbers.*are dates"),
        ("texts.csv", "time,text,gold\n1,a,f(\n", "texts.csv:2: 'f\\(' is not a meaning"),
        ("texts.csv", '{"time": 1, "text": "a", "gold": 3}\n', "texts.csv:1: gold must be a list"),
        ("texts.csv", '{"time": true, "text": "a"}\n', "texts.csv:1: True is not a time"),
        ("texts.csv", '{"time": 1e999, "text": "a"}\n', "texts.csv:1: inf is not a time"),
        ("texts.csv", '{"time": 1, "text": "a"}\n[1]\n', "texts.csv:2: is not a JSON object"),
        ("events.jsonl", '{"time": 1}\n', "events.jsonl:1: has no 'meaning'"),
        ("events.jsonl", '{"time": 1, "meaning": "f("}\n', "events.jsonl:1: 'f\\(' is not a meaning"),
        ("events.jsonl", '{"time": 1, "meaning": "f(d\'Arcy)"}\n', "events.jsonl:1: .* need double quotes"),
        ("events.jsonl", '{"start": 2, "end": 1, "meaning": "f"}\n', "events.jsonl:1: the event ends before"),
        ("events.jsonl", '{"time": 1, "meaning": "f"\n', "events.jsonl:1: no JSON"),
        ("events.jsonl", '{"time": 1, "rel": "f", "args": "a"}\n', "events.jsonl:1: .* args a list"),
    ],
)
def test_wrong_rows_are_reported_by_file_and_line(name, content, what, folder):
    (folder / name).write_text(content)
    with pytest.raises(DataError, match=what):
        commands.windows(folder / "texts.csv", folder / "events.jsonl", folder / "out.jsonl")
    assert not (folder / "out.jsonl").exists()


def test_empty_texts_are_counted_and_left_out(folder):
    (folder / "texts.csv").write_text("time,text\n1,\n2,it is dark\n3, \n")
    with pytest.warns(UserWarning, match=r"texts.csv:2: the text is empty; 2 such rows are left out"):
        bags = read_windows(folder / "texts.csv", folder / "events.jsonl")
    assert [bag.text for bag in bags] == ["it is dark"]


def test_the_command_writes_bags_that_train_reads(folder):
    done = run("windows", "texts.csv", "events.jsonl", "-o", "bags.jsonl", cwd=folder)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert done.stderr == "bags.jsonl: 2 sentences with 3 candidates; 0 without any\n"
    lines = [json.loads(line) for line in (folder / "bags.jsonl").read_text().splitlines()]
    assert [line["candidates"] for line in lines] == [["turn_on(lamp)", "open(blinds)"], ["open(blinds)"]]
    assert run("train", "bags.jsonl", "-o", "m.ssvm", cwd=folder).returncode == 0
    done = run("windows", "texts.csv", "events.jsonl", "--after", -1, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Invalid value for '--after'" in done.stderr
    done = run("windows", "texts.csv", "texts.csv", cwd=folder)
    assert (done.returncode, done.stdout) == (1, "")
    done = run("windows", "texts.csv", "events.jsonl", "-o", "texts.csv", cwd=folder)
    assert done.returncode == 2
    assert (folder / "texts.csv").read_text() == TEXTS


def test_windows_without_any_event_are_reported_by_windows_and_by_train(folder):
    narrow = ("--before", 0, "--after", 0)
    done = run("windows", "texts.csv", "events.jsonl", *narrow, "-o", "bags.jsonl", cwd=folder)
    assert done.returncode == 0
    warning, summary = done.stderr.splitlines()
    assert "no sentence has a candidate, because no event is in its window; use a larger --before" in warning
    assert summary == "bags.jsonl: 2 sentences with 0 candidates; 2 without any"
    for options in ((), ("--format", "jsonl"), ("--empty-bags", "nothing")):
        done = run("train", "bags.jsonl", *options, "-o", "m.ssvm", cwd=folder)
        assert done.returncode == 1
        assert done.stderr.startswith("error: bags.jsonl:1: no sentence has a candidate meaning")
        assert done.stderr.count("\n") == 1


def test_events_of_other_users_are_not_candidates(folder):
    (folder / "texts.csv").write_text("time,text,User\n1,open it,ann\n1,close it,bo\n1,who is it,\n")
    (folder / "events.jsonl").write_text(
        '{"time": 1, "meaning": "open(it)", "User": "ann"}\n'
        '{"time": 1, "meaning": "close(it)", "User": "bo"}\n'
        '{"time": 2, "meaning": "ring"}\n{"time": 90, "meaning": "ring", "User": "ann"}\n'
    )
    done = run("windows", "texts.csv", "events.jsonl", "--by", "User", "-o", "bags.jsonl", cwd=folder)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in (folder / "bags.jsonl").read_text().splitlines()]
    assert [line["candidates"] for line in lines] == [["open(it)", "ring"], ["close(it)", "ring"], ["ring"]]
    done = run("windows", "texts.csv", "events.jsonl", "--by", "machine", cwd=folder)
    assert (done.returncode, done.stderr) == (
        1, "error: texts.csv: has no 'machine'; name a column of both files\n"
    )  # fmt: skip


def test_logs_keep_their_own_names_of_fields(folder):
    (folder / "texts.csv").write_text("At,utterance\n1,start the press at three\n")
    (folder / "events.jsonl").write_text(
        '{"At": 1, "type": "start", "machine": "press", "level": 3}\n'
        '{"At": 2, "type": "stop", "machine": "saw"}\n'
    )
    named = {"time": "At", "text": "utterance", "rel": "type", "args": "machine,level"}
    flags = [part for name, column in named.items() for part in ("--field", f"{name}={column}")]
    done = run("windows", "texts.csv", "events.jsonl", *flags, cwd=folder)
    assert json.loads(done.stdout)["candidates"] == ["start(press, 3)", "stop(saw)"], done.stderr
    for field, what in (
        ("time", "'time' is not a field; write a name and a column"),
        ("when=At", "no field is called 'when'; name one of time, start"),
        ("end=Till", "has no 'Till'"),
    ):
        done = run("windows", "texts.csv", "events.jsonl", *flags, "--field", field, cwd=folder)
        assert done.returncode != 0
        assert what in done.stderr
        assert done.stderr.count("\n") == 1


def test_two_files_may_use_different_names(tmp_path):
    (tmp_path / "texts.csv").write_text("when,who,text\n1,ann,lights\n1,bob,heat\n")
    (tmp_path / "events.csv").write_text("at,user,meaning\n2,bob,heat(hall)\n2,ann,light(hall)\n")
    bags = commands.windows(
        tmp_path / "texts.csv", tmp_path / "events.csv", tmp_path / "out",
        by="user,who", fields=["time=at", "time=when"],
    )  # fmt: skip
    assert [list(bag.candidates) for bag in bags] == [["light(hall)"], ["heat(hall)"]]
