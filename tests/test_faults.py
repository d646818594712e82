"""Kills, full and read-only disks, several writers and links: the old file or the new one, never neither.

`python -m tests.faults` kills 200 times at random moments, and `python -m tests.aimed` 300 times while a file
is written; these tests kill only a few times.
"""

import os
import shlex
import shutil
import signal
import subprocess
import sys

import pytest

from structsvm.files import load_model, save_model
from taggers import NerTagger
from tests.aimed import WINDOW, aim
from tests.faults import kill, kill_journals, start, wait
from tests.taggers.command_line import COMMAND, refused, run
from tests.taggers.sentences import as_columns

posix = pytest.mark.skipif(sys.platform == "win32", reason="forks")
TRAIN = ("train", "chunk", "train.txt", "-q", "-o")
MOUNTS = shutil.which("unshare") and not subprocess.run(
    ["unshare", "--mount", "--map-root-user", "mount", "-t", "tmpfs", "none", "/mnt"],
    capture_output=True, check=False,
).returncode  # fmt: skip
WRITERS = """
import sys
from structsvm.files import load_model, save_model
arrays, meta = load_model(sys.argv[1])
for _ in range(60):
    save_model("shared.ssvm", arrays, meta)
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "train.txt").write_bytes(as_columns(30))
    assert run(*TRAIN, "old.ssvm", cwd=tmp_path).returncode == 0
    return tmp_path


@posix
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_command_leaves_the_old_file_or_the_new_one(number, tmp_path):
    found = kill(tmp_path, 5, seed=0, number=number)
    assert sum(count for name, count in found.items() if "file," in name) == 5


@posix
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_killed_process_leaves_all_acknowledged_records_in_a_journal(tmp_path):
    assert kill_journals(tmp_path, 5, seed=0)["records"]


@pytest.mark.skipif(sys.platform != "linux", reason="watches processes in /proc")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_writers_killed_while_they_write_leave_the_old_file_or_the_new_one(tmp_path):
    names = ("train --curve", "tag -o", "serve --journal", "teach")
    found = aim(tmp_path, 8, seed=0, names=names)
    assert sum(count for name, count in found.items() if name.split(": ")[1] in WINDOW) > 4


@pytest.mark.skipif(not MOUNTS, reason="a file system cannot be mounted here")
@pytest.mark.parametrize(
    ("options", "reason"), [("size=64k", b"disk/out: No space left on device"), ("ro", b"cannot be written")]
)
@pytest.mark.parametrize("command", ["train", "train --keep-state", "tag", "parse"])
def test_full_and_read_only_disks_are_one_sentence_and_leave_nothing(command, options, reason, folder):
    (folder / "bags.tsv").write_text("gus passes to anna\tpass(gus, anna);shot(gus)\n" * 5)
    (folder / "long.txt").write_bytes(as_columns(3000))
    (folder / "disk").mkdir()
    arguments = {
        "train": "train chunk long.txt -q -o disk/out",
        "train --keep-state": "train chunk train.txt --keep-state -q -o disk/out",
        "tag": "tag old.ssvm long.txt -o disk/out",
        "parse": "parse train bags.tsv -q -o disk/out",
    }[command]
    if command == "parse":
        options = options.replace("64k", "4k")
    script = (
        f"mount -t tmpfs -o {options} none disk && {shlex.join(COMMAND)} {arguments}; "
        "code=$?; ls -A disk; exit $code"
    )
    done = subprocess.run(
        ["unshare", "--mount", "--map-root-user", "sh", "-c", script],
        cwd=folder, capture_output=True, check=False,
    )  # fmt: skip
    assert (done.returncode in (1, 2), done.stdout, done.stderr.count(b"\n")) == (True, b"", 1), done
    assert reason in done.stderr


@pytest.mark.skipif(not MOUNTS, reason="a file system cannot be mounted here")
def test_a_full_folder_for_temporary_files_is_named(folder):
    (folder / "disk").mkdir()
    script = (
        "mount -t tmpfs -o size=16k none disk && TMPDIR=$PWD/disk "
        f"{shlex.join(COMMAND)} train chunk train.txt --memory 1G -q -o out"
    )
    done = subprocess.run(
        ["unshare", "--mount", "--map-root-user", "sh", "-c", script],
        cwd=folder, capture_output=True, check=False,
    )  # fmt: skip
    told = f"error: {folder}/disk: No space left on device; set TMPDIR to a folder with more space"
    refused(done, 1, told)
    assert not (folder / "out").exists()


def test_the_error_of_a_file_that_becomes_too_large_has_its_name(tmp_path):
    resource = pytest.importorskip("resource")
    tagger = NerTagger().fit([["Anna", "slept"]], [["B-PER", "O"]])
    limit, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, most))
    try:
        with pytest.raises(OSError, match=r"File too large: '.*m\.ssvm'") as caught:
            tagger.save(tmp_path / "m.ssvm")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, most))
    assert caught.value.filename == str(tmp_path / "m.ssvm")
    assert not os.listdir(tmp_path)


@posix
def test_a_file_with_two_writers_is_always_one_of_theirs(folder):
    (folder / "train.txt").write_bytes(as_columns(60))
    assert run(*TRAIN, "new.ssvm", cwd=folder).returncode == 0
    contents = {(folder / name).read_bytes() for name in ("old.ssvm", "new.ssvm")}
    shutil.copy(folder / "old.ssvm", folder / "shared.ssvm")
    names = sorted(os.listdir(folder))
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITERS, name], cwd=folder)
        for name in ("old.ssvm", "new.ssvm")
    ]
    while any(writer.poll() is None for writer in writers):
        assert (folder / "shared.ssvm").read_bytes() in contents
        load_model(folder / "shared.ssvm")
    assert [writer.returncode for writer in writers] == [0, 0]
    assert sorted(os.listdir(folder)) == names


def test_links_stay_links_and_what_they_point_to_is_written(folder):
    (folder / "elsewhere").mkdir()
    (folder / "link.ssvm").symlink_to("elsewhere/model.ssvm")  # which does not exist yet
    for _ in range(2):
        assert run(*TRAIN, "link.ssvm", cwd=folder).returncode == 0
        assert (folder / "link.ssvm").is_symlink()
    assert (folder / "elsewhere/model.ssvm").read_bytes() == (folder / "old.ssvm").read_bytes()
    assert os.listdir(folder / "elsewhere") == ["model.ssvm"]


def test_a_link_to_itself_is_refused(folder):
    (folder / "loop").symlink_to("loop")
    done = run(*TRAIN, "loop", cwd=folder)
    assert done.returncode in (1, 2)
    refused(done, done.returncode, "loop")
    assert (folder / "loop").is_symlink()


@pytest.mark.parametrize("link", ["same", "symbolic", "hard"])
@pytest.mark.parametrize("command", ["train chunk train.txt -q -o", "tag old.ssvm train.txt -o"])
def test_an_output_that_is_an_input_is_refused_also_through_links(link, command, folder):
    output = folder / "train.txt"
    if link == "symbolic":
        (folder / "other").symlink_to("train.txt")
        output = folder / "other"
    elif link == "hard":
        os.link(folder / "train.txt", folder / "other")
        output = folder / "other"
    before = (folder / "train.txt").read_bytes()
    refused(run(*command.split(), output.name, cwd=folder), 2, "is an input and would be overwritten")
    assert (folder / "train.txt").read_bytes() == before


@posix
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_limit_on_the_size_of_files_leaves_the_old_model(folder):
    resource = pytest.importorskip("resource")
    arrays, meta = load_model(folder / "old.ssvm")
    before = (folder / "old.ssvm").read_bytes()

    def save():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
        save_model("old.ssvm", arrays | {"more": arrays["keys"].repeat(100)}, meta)

    assert wait(start(save, folder)) == 70
    assert (folder / "old.ssvm").read_bytes() == before
    assert sorted(os.listdir(folder)) == ["old.ssvm", "train.txt"]
