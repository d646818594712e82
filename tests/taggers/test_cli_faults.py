"""The command line where things go wrong: closed streams, signals, endless lines, odd files and names."""

import gzip
import os
import shlex
import signal
import subprocess

import pytest

from structsvm.files.errors import DataError
from taggers.formats.files import read_all, read_columns
from taggers.formats.registry import FORMATS
from tests.taggers.command_line import COMMAND, refused, run
from tests.taggers.sentences import as_columns


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("faults")
    (path / "train.txt").write_bytes(as_columns(30))
    assert run("train", "chunk", "train.txt", "-o", "chunk.ssvm", "-q", cwd=path).returncode == 0
    return path


def shell(command, cwd):
    line = f"{shlex.join(COMMAND)} {command}"
    return subprocess.run(["bash", "-c", line], cwd=cwd, capture_output=True, timeout=120, check=False)


@pytest.mark.parametrize(
    ("command", "code", "text"),
    [
        ("tag chunk.ssvm <&-", 1, b"error: standard input is closed; specify a file\n"),
        ("tag chunk.ssvm train.txt >&-", 1, b"error: standard output is closed; specify an output file\n"),
        (
            "evaluate chunk.ssvm train.txt >&-",
            1,
            b"error: standard output is closed; specify an output file\n",
        ),
        ("--help >&-", 1, b"error: standard output is closed; specify an output file\n"),
        ("tag chunk.ssvm train.txt -o out.txt <&- >&-", 0, b""),
        ("tag chunk.ssvm absent.txt 2>&-", 1, b""),
    ],
)
def test_closed_streams_are_one_sentence(folder, command, code, text):
    done = shell(command, folder)
    assert (done.returncode, done.stdout, done.stderr) == (code, b"", text)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signals_end_a_command_and_leave_no_file(folder, number, code):
    before = sorted(os.listdir(folder))
    command = [*COMMAND, "tag", "chunk.ssvm", "-", "-o", "never.txt"]
    process = subprocess.Popen(
        command, cwd=folder, stdin=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # nohup may run the tests
    )  # fmt: skip
    process.stdin.write(as_columns(2000) * 10)  # more than a pipe holds, so that the work has begun
    process.stdin.flush()
    process.send_signal(number)
    text = process.communicate(timeout=60)[1]
    assert (process.returncode, text) == (code, b"terminated\n")
    assert sorted(os.listdir(folder)) == before


def test_a_hangup_that_is_ignored_stays_ignored(folder):
    command = ["nohup", *COMMAND, "tag", "chunk.ssvm", "-"]
    process = subprocess.Popen(
        command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    data = as_columns(2000)  # more than a pipe holds, less than is read before anything is written
    process.stdin.write(data)
    process.stdin.flush()
    process.send_signal(signal.SIGHUP)
    out = process.communicate(timeout=60)[0]
    assert (process.returncode, out.count(b"\n")) == (0, data.count(b"\n"))


def test_errors_escape_control_characters(folder):
    refused(run("tag", "chunk.ssvm", "a\nb\x1b[31m", cwd=folder), 1, r"error: a\nb\x1b[31m: cannot be read")
    data = "a B-X B-X\nb B-\x85X E-\x85X\n".encode()
    done = run("evaluate", "-", "--strict", "IOB2", cwd=folder, stdin=data)
    assert done.stderr.count(b"\n") == len(done.stderr.decode().splitlines())
    assert rb"E-\x85X" in done.stderr


def test_labels_that_are_not_of_the_strict_scheme_are_wrong_data(folder):
    data = b"a B-X B-X\n\nb O O\nc E-X B-X\n"
    done = run("evaluate", "-", "--strict", "IOB2", cwd=folder, stdin=data)
    refused(done, 1, "<stdin>:3: Label 'E-X' is not of scheme IOB2", "choose another scheme for --strict")


def test_a_curve_does_not_overwrite_its_model(folder):
    (folder / "link.tsv").symlink_to("m.ssvm")
    for curve in ("m.ssvm", "./m.ssvm", "link.tsv"):
        done = run("train", "chunk", "train.txt", "-o", "m.ssvm", "--curve", curve, cwd=folder)
        refused(done, 2, f"--curve and -o are the same file, {curve}")
    assert not (folder / "m.ssvm").exists()


def test_a_pipe_is_not_a_model(folder):
    os.mkfifo(folder / "pipe")
    for command in (("tag", "pipe", "train.txt"), ("inspect", "pipe"), ("evaluate", "pipe", "train.txt")):
        refused(run(*command, cwd=folder), 2, "Model file pipe is not a regular file")


def test_an_endless_line_is_refused_before_it_fills_the_memory(folder):
    with gzip.open(folder / "endless.gz", "wb", compresslevel=1) as file:
        for _ in range(20):
            file.write(b"x" * (1 << 20))
    for command in ("tag", "evaluate"):
        done = run(command, "en-pos", "endless.gz", "--format", "text", cwd=folder)
        refused(done, 1, "endless.gz:1: a sentence or line of more than 16 MB")
    done = run("parse", "train", "endless.gz", "-o", "m.ssvm", cwd=folder)
    refused(done, 1, "endless.gz:1: a line of more than 16 MB")


# brat is a folder, a table is read at once, a document of JSON lines is one line, and CoNLL-U Plus reads
# through other formats: their readers have bounds of their own.
OWN_BOUNDS = ("brat", "csv", "jsonl", "conllup")


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in OWN_BOUNDS])
def test_the_length_of_sentences_is_bounded_in_each_format(tmp_path, monkeypatch, name):
    format = FORMATS[name]
    monkeypatch.setattr(format, "block", 1 << 20)
    line = {"conllu": b"1" + b"\t_" * 9, "svmhmm": b"1 qid:1 1:1", "crfsuite": b"O\tw=a"}.get(name, b"a b ")
    short, long = line + b"\n\n", (line + b" " if name == "text" else line + b"\n") * 400_000
    (tmp_path / "long").write_bytes(short.replace(b"qid:1", b"qid:2") + long)
    for read in (read_all, lambda *where: list(read_columns(*where, chunk_size=5000))):
        with pytest.raises(DataError, match=r"long:\d: a sentence or line of more than 1 MB"):
            read(tmp_path / "long", name)
