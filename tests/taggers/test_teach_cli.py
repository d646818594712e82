"""`structsvm teach` without a browser: exports, merges, requests, and what it refuses."""

import contextlib
import json
import os
import signal
import subprocess
import threading
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest

from structsvm.files.journal import Journal
from taggers import NerTagger, PosTagger
from taggers.teach.commands import teach
from tests.taggers.command_line import COMMAND, refused, run
from tests.web import until

RAW = "Anna\nsings\n\nOtto\nwent\nto\nParis\n\nit\nrains\n\n"
LABELS = {"Anna": "B-PER", "Otto": "B-PER", "Paris": "B-LOC"}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "raw.txt").write_text(RAW)
    return tmp_path


def answered(folder, n, *, name="m", wrong=(), **options):
    """A session with n answers."""
    raw, model = folder / "raw.txt", folder / f"{name}.ssvm"
    teaching = teach("ner", raw, model, labels=["PER", "LOC"], annotator=name, format="columns", **options)
    with teaching.session as session:
        for k in range(n):
            question = session.question("a")
            words = question["item"]["tokens"]
            value = ["O" if word in wrong else LABELS.get(word, "O") for word in words]
            session.answer("a", question["id"], value, str(k))
    return teaching


def test_export_writes_every_format_and_the_model(folder):
    answered(folder, 3)
    names = ["a.txt", "a.conllu", "a.jsonl", "a.spacy"]
    exports = [part for name in names for part in ("--export", name)]
    done = run("teach", "ner", "raw.txt", "-o", "m.ssvm", "--format", "columns", *exports, cwd=folder)
    assert done.returncode == 0, done.stderr.decode()
    assert [line.split(":")[1] for line in done.stderr.decode().splitlines()] == [" 3 answers"] * 4
    assert "Paris\tB-LOC" in (folder / "a.txt").read_text()
    assert NerTagger.load(folder / "m.ssvm").predict([["Otto", "went", "to", "Paris"]]) == [
        ["B-PER", "O", "O", "B-LOC"]
    ]


@pytest.mark.parametrize("ending", ["txt", "conllu"])
def test_an_export_is_a_training_file(folder, ending):
    answered(folder, 3)
    export = ("teach", "ner", "raw.txt", "-o", "m.ssvm", "--format", "columns", "--export", f"a.{ending}")
    assert run(*export, cwd=folder).returncode == 0
    column = ("--column", "misc") if ending == "conllu" else ()
    done = run("train", "ner", f"a.{ending}", "-o", "n.ssvm", *column, cwd=folder)
    assert (done.returncode, b"warning" in done.stderr) == (0, False), done.stderr.decode()
    again = run("teach", "ner", "raw.txt", "-o", "b.ssvm", *export[5:7], "--begin", f"a.{ending}", "--export",
                "b.txt", cwd=folder)  # fmt: skip
    assert b"b.txt: 3 answers" in again.stderr, again.stderr.decode()


def test_a_colleague_is_merged_once_and_kappa_is_shown(folder):
    answered(folder, 3, name="bob", wrong=["Paris"])
    answered(folder, 2)
    with Journal(folder / "m.answers.jsonl") as journal:
        mine = [record for record in journal.records if record.get("do") == "answer"]
    command = ("teach", "ner", "raw.txt", "-o", "m.ssvm", "--merge", "bob.answers.jsonl", "--export", "a.txt")
    for new in (1, 0):
        done = run(*command, "--format", "columns", cwd=folder)
        assert done.returncode == 0
        said = done.stderr.decode()
        assert f"bob.answers.jsonl: {new} answers added; on 2 in common, Cohen's kappa is" in said
        asked = any("Paris" in record["item"]["tokens"] for record in mine)
        assert f"{int(asked)} answers differ" in said
        assert "a.txt: 3 answers" in said


def test_journals_are_merged_into_one_file_with_confidences(folder):
    answered(folder, 3, name="bob", wrong=["Paris"])
    answered(folder, 3, name="eve")
    answered(folder, 2)
    command = ("teach", "ner", "raw.txt", "-o", "m.ssvm", "--merged", "gold.jsonl", "--format", "columns")
    alone = run(*command, cwd=folder)
    assert (alone.returncode, b"add --merge" in alone.stderr) == (2, True), alone.stderr
    others = ("--merge", "bob.answers.jsonl", "--merge", "eve.answers.jsonl")
    done = run(*command, *others, cwd=folder)
    assert done.returncode == 0, done.stderr.decode()
    assert b"gold.jsonl: " in done.stderr
    lines = [json.loads(line) for line in (folder / "gold.jsonl").read_text().splitlines()]
    assert len(lines) >= 3
    for line in lines:
        assert len(line["tokens"]) == len(line["labels"]) == len(line["confidence"])
        assert all(0 < one <= 1 for one in line["confidence"])
        for word, label in zip(line["tokens"], line["labels"], strict=True):
            if word == "Paris":
                assert label == "B-LOC"  # two of three say so


def test_journals_without_answers_are_not_merged(folder):
    (folder / "empty.jsonl").touch()
    command = ("teach", "ner", "raw.txt", "-o", "m.ssvm", "--merge", "empty.jsonl", "--merged", "gold.jsonl")
    refused(run(*command, "--format", "columns", cwd=folder), 2, "--merged found no answers in the journals")


def test_a_labelled_file_can_begin_a_session(folder):
    (folder / "begin.txt").write_text("Lima B-LOC\nis O\nfar O\n\n")
    command = ("teach", "ner", "raw.txt", "-o", "m.ssvm", "--begin", "begin.txt", "--export", "a.txt")
    for _ in range(2):  # the second time it adds nothing
        done = run(*command, "--format", "columns", cwd=folder)
        assert done.returncode == 0, done.stderr.decode()
        assert (folder / "a.txt").read_text() == "Lima\tB-LOC\nis\tO\nfar\tO\n\n"


def test_mistakes_are_refused_in_one_sentence(folder):
    PosTagger().fit([["a"]], [["X"]]).save(folder / "pos.ssvm")
    (folder / "other.jsonl").write_text('{"teach":"pos","version":1}\n')
    (folder / "notes").write_text("notes")
    (folder / "none.conllu").write_text("1\tAnna" + 8 * "\t_" + "\n\n")
    cases = [
        (1, ("teach", "ner", "none.txt"), "none.txt: cannot be read"),
        (2, ("teach", "dance", "raw.txt"), "task must be one of"),
        (2, ("teach", "ner", "raw.txt", "--model", "pos.ssvm"), "mark no phrases"),
        (1, ("teach", "ner", "raw.txt", "--labels", "O"), "choose another name"),
        (1, ("teach", "ner", "raw.txt", "--journal", "notes"), "notes:1: not a journal"),
        (1, ("teach", "ner", "raw.txt", "--merge", "other.jsonl"), "other.jsonl:1: is a journal of pos"),
        (1, ("teach", "ner", "raw.txt", "--begin", "raw.txt"), "has only one column"),
        (2, ("teach", "ner", "raw.txt", "--journal", "raw.txt"), "would be overwritten"),
        (2, ("teach", "ner", "raw.txt", "-C", "-1"), "Invalid value for '-C'"),
        (2, ("teach", "ner", "raw.txt", "--export", "a.txt", "--export", "a.tsv"), "an export must end in"),
        (1, ("teach", "ner", "raw.txt", "--export", "a.txt"), "no answers yet, so there is nothing"),
        (1, ("train", "ner", "none.conllu", "--format", "conllu"), "the column upos has no labels"),
    ]
    for code, arguments, sentence in cases:
        more = () if "--format" in arguments else ("--format", "columns")
        refused(run(*arguments, "-o", "m.ssvm", *more, cwd=folder), code, sentence)
        assert not (folder / "m.ssvm").exists()
    assert not (folder / "a.txt").exists()
    assert (folder / "notes").read_text() == "notes"


def test_a_second_program_on_the_same_journal_is_refused(folder):
    with Journal(folder / "m.answers.jsonl"):
        done = run("teach", "ner", "raw.txt", "-o", "m.ssvm", "--format", "columns", cwd=folder)
        refused(done, 1, "another program is using this journal")


def test_the_token_is_in_no_command_line_and_in_no_file_that_others_can_read(folder):
    """Other users see the arguments of all processes, also those of the browser."""
    pytest.importorskip("starlette")
    if not Path("/proc/self/cmdline").exists():
        pytest.skip("needs /proc")
    browser = folder / "browser"
    browser.write_text('#!/bin/sh\necho "$1" > opened.part\nmv opened.part opened\n'
                       "while [ ! -e closed ]; do sleep 0.2; done\n")  # fmt: skip
    browser.chmod(0o700)
    environment = {name: value for name, value in os.environ.items() if name != "STRUCTSVM_TOKEN"}
    process = subprocess.Popen(
        [*COMMAND, "teach", "ner", "raw.txt", "-o", "m.ssvm", "--labels", "PER", "--format", "columns",
         "--allow-host", "box.lan"],
        cwd=folder, stderr=subprocess.PIPE, text=True, env={**environment, "BROWSER": f"{browser} %s &"},
    )  # fmt: skip
    try:
        address = process.stderr.readline().split()[0]
        token = address.split("/")[3].encode()
        assert len(token) == 32
        until((folder / "opened").exists)
        port = int(address.split(":")[2].split("/")[0])
        for host, status in (("box.lan", 200), ("other.lan", 403)):
            connection = HTTPConnection("127.0.0.1", port, timeout=20)
            with contextlib.closing(connection):
                connection.request("GET", f"/{token.decode()}/", headers={"Host": host})
                assert connection.getresponse().status == status
        page = Path(url2pathname(urlsplit((folder / "opened").read_text().strip()).path))
        assert page.parent == folder.resolve()
        assert page.stat().st_mode & 0o777 == 0o600
        assert f'content="0; url={address}"' in page.read_text()
        command_lines = {one: read_if_there(one) for one in Path("/proc").glob("[0-9]*/cmdline")}
        assert any(str(page).encode() in line for line in command_lines.values())  # that of the browser
        assert [one for one, line in command_lines.items() if token in line] == []
        if os.geteuid() == 0:  # as another user, who may read neither the environment nor the page
            files = [page, f"/proc/{process.pid}/environ", f"/proc/{process.pid}/fd"]
            done = subprocess.run(["cat", *map(str, files)], capture_output=True, user=65534, check=False)
            assert (done.returncode, done.stdout) == (1, b"")
    finally:
        (folder / "closed").touch()  # ends the browser, which would keep the pipe open
        process.send_signal(signal.SIGINT)
        logged = process.communicate(timeout=60)[1]
    assert token.decode() not in logged
    assert not page.exists()


def read_if_there(path):
    try:
        return path.read_bytes()
    except OSError:  # the process has ended
        return b""


@pytest.fixture
def client(folder):
    """Post to a running page."""
    pytest.importorskip("starlette")
    teaching = teach("ner", folder / "raw.txt", folder / "m.ssvm", labels=["PER", "LOC"], format="columns")
    service = teaching.app().service(token="a-token-of-the-tests")
    thread = threading.Thread(target=service.run)
    thread.start()
    port = int(service.url.split(":")[2].split("/")[0])

    def post(path, body=None, token="a-token-of-the-tests", **headers):
        connection = HTTPConnection("127.0.0.1", port, timeout=20)
        with contextlib.closing(connection):
            data = None if body is None else json.dumps(body)
            connection.request("GET" if body is None else "POST", f"/{token}/{path}", data, headers)
            answer = connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if "json" in answer.headers["content-type"] else text

    yield post
    service.stop()
    thread.join(20)
    teaching.session.close()


def test_requests_are_checked(client):
    assert client("", token="another-token-of-the-tests")[0] == 401
    assert client("question", {"tab": "a"}, Origin="http://evil.example")[0] == 403
    for path, body, sentence in [
        ("question", {}, "tab must be a string"),
        ("question", {"tab": "x" * 65}, "1 to 64 characters"),
        ("question", {"tab": "a", "id": "no"}, "no such question"),
        ("answer", {"tab": "a", "id": "no", "key": "k", "value": []}, "no such question"),
        ("answer", {"tab": "a", "id": 7, "key": "k"}, "id must be a string"),
        ("answer", {"tab": "a", "id": "x", "key": ""}, "key of 1 to 64"),
        ("name", {"tab": "a", "key": "k", "name": "a b"}, "no spaces"),
        ("explain", {"id": "x", "at": 0}, "no such question"),
    ]:
        status, found = client(path, body)
        assert status == 400
        assert sentence in found["error"]
    assert client("export/../../../etc/passwd")[0] == 404
    assert client("export/exe")[0] == 404
    assert client("page/teach.js")[0] == 404


def test_an_answer_that_cannot_be_written_is_reported_and_asked_again(client, folder):
    journal = folder / "m.answers.jsonl"
    first = client("question", {"tab": "a"})[1]["question"]
    answer = {"tab": "a", "id": first["id"], "key": "1", "value": ["O"] * len(first["item"]["tokens"])}
    journal.rename(folder / "moved")
    status, found = client("answer", answer)
    assert status == 507
    assert "cannot be written (it was moved or deleted" in found["error"]
    (folder / "moved").rename(journal)
    assert client("answer", answer)[1]["stats"]["answered"] == 1


def test_a_tab_labels_and_another_tab_cannot_overwrite_it_by_accident(client, folder):
    first = client("question", {"tab": "a"})[1]["question"]
    assert client("question", {"tab": "b", "id": first["id"]})[1]["question"]["id"] == first["id"]
    value = ["O"] * len(first["item"]["tokens"])
    status, found = client("answer", {"tab": "a", "id": first["id"], "key": "1", "value": value})
    assert status == 200
    assert found["stats"]["answered"] == 1
    assert found["question"]["id"] != first["id"]
    status, found = client("answer", {"tab": "b", "id": first["id"], "key": "2", "value": value})
    assert status == 409
    assert client("alternatives", {"id": first["id"]})[1]["found"]
    assert client("doubts", {})[0] == 200
    assert client("save", {})[1] == {"saved": True}
    assert (folder / "m.ssvm").exists()
    assert client("export/jsonl")[1].count(b"\n") == 1
    assert b"<html" in client("")[1]
    assert client("undo", {"tab": "a", "key": "3"})[1]["question"]["id"] == first["id"]
