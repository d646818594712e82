"""The command line: golden runs, bad input, exit codes, bytes kept."""

import gzip
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from structsvm.cli.app import COMMANDS
from taggers.formats.registry import FORMATS
from tests.taggers.command_line import COMMAND, refused, run
from tests.taggers.sentences import as_columns, as_conllu

GOLDEN = json.loads((Path(__file__).parent / "golden.json").read_text())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with data and models."""
    path = tmp_path_factory.mktemp("cli")
    (path / "train.txt").write_bytes(as_columns(80))
    (path / "test.txt").write_bytes(as_columns(20, seed=1))
    (path / "train.conllu").write_bytes(as_conllu(80))
    (path / "test.conllu").write_bytes(as_conllu(20, seed=1))
    for task, source in (("chunk", "txt"), ("pos", "conllu")):
        done = run("train", task, f"train.{source}", "-o", f"{task}.ssvm", cwd=path)
        assert done.returncode == 0, done.stderr.decode()
        assert b"sentences" in done.stderr
        assert done.stdout == b""
    return path


@pytest.mark.parametrize("golden", GOLDEN, ids=[" ".join(one["arguments"]) for one in GOLDEN])
def test_golden_runs(golden, folder):
    done = run(*golden["arguments"], cwd=folder, stdin=golden.get("stdin", "").encode())
    assert done.returncode == golden.get("code", 0), done.stderr.decode()
    assert done.stdout.decode() == golden["stdout"]
    assert done.stderr.decode() == golden.get("stderr", "")


def test_tagging_keeps_every_other_byte(folder):
    done = run("tag", "chunk.ssvm", "test.txt", cwd=folder)
    lines, source = done.stdout.splitlines(), (folder / "test.txt").read_bytes().splitlines()
    assert [line.rsplit(b" ", 1)[0] if line else line for line in lines] == source
    again = run(
        "tag",
        "chunk.ssvm",
        "--replace",
        "-o",
        "out.txt",
        cwd=folder,
        stdin=(folder / "test.txt").read_bytes(),
    )
    assert again.returncode == 0
    labels = [line.rsplit(b" ", 1)[1] if line else line for line in lines]
    expected = [
        s.rsplit(b" ", 1)[0] + b" " + label if s else s for s, label in zip(source, labels, strict=True)
    ]
    assert (folder / "out.txt").read_bytes().splitlines() == expected


def test_conllu_gets_its_column_replaced(folder):
    done = run("tag", "pos.ssvm", "test.conllu", cwd=folder)
    assert done.stdout == (folder / "test.conllu").read_bytes()  # all of it right, and nothing else touched
    zipped = folder / "test.conllu.gz"
    zipped.write_bytes(gzip.compress((folder / "test.conllu").read_bytes()))
    assert run("tag", "pos.ssvm", zipped, cwd=folder).stdout == done.stdout


def test_threads_and_chunks_give_the_same_bytes(folder):
    data = as_columns(400, seed=2) * 60
    one, two = (run("tag", "chunk.ssvm", "--jobs", jobs, cwd=folder, stdin=data).stdout for jobs in (1, 2))
    assert one == two
    assert len(one) > len(data)


def test_plain_text_and_another_encoding(folder):
    done = run(
        "tag", "pos.ssvm", "--format", "text", cwd=folder, stdin=b"Anna sees the cat. Otto likes Turin!"
    )
    assert [line.split(b"\t")[0] for line in done.stdout.splitlines()[:3]] == [b"Anna", b"sees", b"the"]
    latin = "Ren\u00e9 NNP B-NP\nsees VBZ B-VP\n".encode("latin-1")
    done = run("tag", "chunk.ssvm", "--encoding", "latin-1", cwd=folder, stdin=latin)
    assert done.stdout.startswith("Ren\u00e9 NNP B-NP ".encode("latin-1"))
    refused(run("tag", "chunk.ssvm", cwd=folder, stdin=latin), 1, "<stdin>:1:", "latin-1")


def test_resume_is_as_if_it_had_never_ended(folder):
    options = ("--template", "conll2000", "--quiet")
    run("train", "label", "train.txt", "-o", "two.ssvm", "--epochs", 2, "--keep-state", *options, cwd=folder)
    run("train", "label", "train.txt", "-o", "one.ssvm", "--epochs", 1, "--keep-state", *options, cwd=folder)
    done = run(
        "train",
        "label",
        "train.txt",
        "--resume",
        "one.ssvm",
        "--epochs",
        1,
        "--keep-state",
        "-o",
        "both.ssvm",
        "-q",
        cwd=folder,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    from structsvm.files.persist import load_model

    arrays, _ = load_model(folder / "two.ssvm")
    resumed, _ = load_model(folder / "both.ssvm")
    assert arrays.keys() == resumed.keys()
    assert all(arrays[name].tobytes() == resumed[name].tobytes() for name in arrays)
    done = run("train", "chunk", "test.txt", "--resume", "chunk.ssvm", "-o", "more.ssvm", cwd=folder)
    assert done.returncode == 0
    assert b"warning: this model was saved without its training state" in done.stderr


def test_development_file_and_json(folder):
    done = run("train", "ner", "train.txt", "--dev", "test.txt", "--epochs", 5, "-o", "ner.ssvm", cwd=folder)
    assert b"best dev F1" in done.stderr
    found = json.loads(run("evaluate", "ner.ssvm", "test.txt", "--json", cwd=folder).stdout)
    assert found["phrases"]["f1"] > 0.9
    told = json.loads(run("inspect", "chunk.ssvm", "--json", "--names", "train.txt", cwd=folder).stdout)
    assert told["learned_as"] == "IOBES"
    assert not told["strongest"][0][0].startswith("#")


def test_crfsuite_files(folder):
    lines = [line.split(" ") for line in as_columns(60).decode().split("\n")]
    data = "\n".join(f"{line[2]}\tw={line[0]}\tp={line[1]}" if len(line) == 3 else "" for line in lines)
    (folder / "items.txt").write_text(data.rstrip("\n") + "\n\n")
    assert (
        run("train", "label", "items.txt", "--format", "crfsuite", "-o", "items.ssvm", cwd=folder).returncode
        == 0
    )
    done = run("tag", "items.ssvm", "items.txt", cwd=folder)
    assert done.stdout.decode().count("\tw=") == data.count("\tw=")


@pytest.mark.parametrize(
    ("data", "parts"),
    [
        (b"a X B-NP\nb\n", ["bad.txt:2:", "1 column where the lines before have 3"]),
        (b"a X B-NP\n\xff X O\n", ["bad.txt:2:", "not valid UTF-8"]),
        (b"", ["bad.txt", "no token"]),
        (b"\n\n", ["bad.txt", "no token"]),
        (b"a X B-NP\nb\0 X O\n", ["bad.txt:2:", "NUL"]),
        (b"a\nb\n", ["bad.txt", "no labels"]),
    ],
)
def test_bad_training_data(folder, data, parts):
    (folder / "bad.txt").write_bytes(data)
    refused(run("train", "chunk", "bad.txt", "-o", "bad.ssvm", cwd=folder), 1, *parts)
    assert not (folder / "bad.ssvm").exists()


def test_a_very_long_line_and_labels_never_seen(folder):
    done = run("tag", "chunk.ssvm", cwd=folder, stdin=b"x" * 10_000_000 + b" NN\n")
    assert done.returncode == 0
    assert done.stdout[:10_000_003] == b"x" * 10_000_000 + b" NN"
    (folder / "odd.txt").write_bytes(b"the DT I-QQ\ncat NN I-NP\n\n")
    done = run("evaluate", "chunk.ssvm", "odd.txt", cwd=folder)
    assert done.returncode == 0
    assert b"QQ" in done.stdout
    assert run("train", "chunk", "odd.txt", "-o", "odd.ssvm", "-q", cwd=folder).returncode == 0


def test_wrong_use(folder):
    refused(run("tag", "missing.ssvm", "test.txt", cwd=folder), 2, "missing.ssvm does not exist")
    refused(run("tag", "train.txt", "test.txt", cwd=folder), 2, "not a structsvm model")
    refused(run("tag", "chunk.ssvm", "missing.txt", cwd=folder), 1, "missing.txt: cannot be read")
    refused(run("train", "chunk", "train.txt", "-C", "-3", "-o", "x.ssvm", cwd=folder), 2, "-C")
    refused(run("train", "chunk", "train.txt", cwd=folder), 2)
    refused(run("tag", "chunk.ssvm", "--format", "text", cwd=folder, stdin=b"A cat."), 1, "needs 2 columns")
    wrong = run("train", "chunk", "train.txt", "--column", "x", "-o", "x.ssvm", cwd=folder)
    refused(wrong, 2, "column must be a number")
    damaged = bytearray((folder / "chunk.ssvm").read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (folder / "damaged.ssvm").write_bytes(damaged)
    refused(run("tag", "damaged.ssvm", "test.txt", cwd=folder), 2, "damaged")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk(folder, unbuffered):
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    refused(run("tag", "chunk.ssvm", "test.txt", "-o", "/dev/full", cwd=folder), 1, "No space left")
    for command in (("tag", "chunk.ssvm", "test.txt"), ("evaluate", "chunk.ssvm", "test.txt")):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [*COMMAND, *command], cwd=folder, stdout=full, stderr=subprocess.PIPE, check=False,
                env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            )  # fmt: skip
        assert (done.returncode, done.stderr.count(b"\n")) == (1, 1)
        assert b"No space left" in done.stderr


def test_a_disk_that_fills_up_leaves_nothing_half_written(folder, tmp_path):
    resource = pytest.importorskip("resource")

    def nearly_full():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    for command in (
        ("train", "chunk", folder / "train.txt", "-q"),
        ("tag", folder / "chunk.ssvm", folder / "train.txt"),
    ):
        done = run(*command, "-o", tmp_path / "out", cwd=tmp_path, preexec_fn=nearly_full)
        refused(done, 1, "too large")
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments", ["--help", "tag -h", "--version", "tag chunk.ssvm test.txt", "evaluate chunk.ssvm test.txt"]
)
def test_a_closed_pipe_ends_it_quietly_with_the_status_of_sigpipe(folder, arguments):
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as pipe:
        done = subprocess.run(
            [*COMMAND, *arguments.split()], cwd=folder, stdout=pipe, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(("times", "status"), [(1, "0"), (400, "141")])
def test_head_takes_its_lines(folder, monkeypatch, times, status, unbuffered):
    """What fits in the pipe is written before the reader goes; of more, the rest cannot be."""
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    (folder / "long.txt").write_bytes(as_columns(20) * times)
    command = f"{shlex.join(COMMAND)} tag chunk.ssvm long.txt | head -n 2; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.splitlines()[2:] == [status]


# Sends Ctrl-C to itself as the import of a module begins; the handler is the one of a terminal.
INTERRUPTED = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["MODULE"]:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
from structsvm.cli.entry import main
main()
"""


@pytest.mark.parametrize(
    ("arguments", "module"),
    [
        ("--version", "typer"),
        ("--version", "structsvm.cli.app"),
        ("--help", "structsvm.cli.errors"),
        ("tag --help", "structsvm.cli.tag"),
        ("train --help", "taggers.options"),
        ("tag en-pos", "numpy"),
        ("tag en-pos", "numpy._core._exceptions"),
        ("tag en-pos", "structsvm.problems.sequence.problem"),
        ("parse apply none", "semparse.commands"),
    ],
)
def test_ctrl_c_while_modules_are_imported_is_one_line(folder, arguments, module):
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, *arguments.split()],
        cwd=folder, env={**os.environ, "MODULE": module}, input=b"", capture_output=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"interrupted\n")


def test_interrupted_training_leaves_no_file(folder):
    process = subprocess.Popen(
        [*COMMAND, "train", "chunk", "train.txt", "--epochs", "10000", "-o", "never.ssvm"],
        cwd=folder, stderr=subprocess.PIPE,
    )  # fmt: skip
    maps = Path(f"/proc/{process.pid}/maps")
    ready = time.monotonic() + 60
    while maps.exists() and "_dual/linear" not in maps.read_text() and time.monotonic() < ready:
        time.sleep(0.1)
    time.sleep(2 if maps.exists() else 10)
    process.send_signal(signal.SIGINT)
    text = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 130, text
    assert "Traceback" not in text
    assert not (folder / "never.ssvm").exists()


def test_help_needs_nothing_heavy():
    heavy = ("numpy", "scipy", "taggers", "semparse", "corpora", "tqdm")
    code = (
        "import sys; sys.argv = ['structsvm', '--help']; from structsvm.cli.entry import main\n"
        "try: main()\n"
        f"except SystemExit: print('found', [m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout.splitlines()[-1] == b"found []"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_summary_of_a_command_is_the_first_line_of_its_help(name, folder):
    done = run(name, "--help", cwd=folder)
    assert done.stdout.decode().splitlines()[2].strip() == COMMANDS[name]


def test_the_help_lists_the_formats_of_the_registry(folder):
    for command in ("train", "tag", "evaluate", "convert"):
        text = " ".join(run(command, "--help", cwd=folder).stdout.decode().split())
        assert f"File format: {', '.join(sorted(FORMATS))} or auto" in text
