"""The journal: what was appended is read again, whatever a crash left at the end of the file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structsvm.files import DataError
from structsvm.files.journal import Journal, read_journal

RECORDS = st.lists(
    st.dictionaries(st.text(max_size=3), st.text(max_size=9) | st.integers(), max_size=3), max_size=4
)


def written(path: Path, records: list[dict[str, Any]]) -> bytes:
    path.unlink(missing_ok=True)
    with Journal(path) as journal:
        assert journal.records == []
        for record in records:
            journal.append(record)
    return path.read_bytes()


@settings(max_examples=25, deadline=None)
@given(RECORDS, st.data())
def test_a_journal_that_is_cut_anywhere_keeps_its_whole_records(
    tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, Any]], data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "cut.jsonl"
    content = written(path, records)
    cut = data.draw(st.integers(0, len(content)))
    path.write_bytes(content[:cut])
    whole = content[:cut].count(b"\n")
    with Journal(path) as journal:
        assert journal.records == records[:whole]
        journal.append({"after": "the crash"})
    with Journal(path) as journal:
        assert journal.records == [*records[:whole], {"after": "the crash"}]


@pytest.mark.parametrize("line", [b"{}x", b"[1]", b"\xff", b"", b"[" * 100_000])
def test_a_changed_record_is_reported_with_its_line(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "journal.jsonl"
    before = written(path, [{"a": 1}]) + line + b"\n"
    path.write_bytes(before)
    with pytest.raises(DataError, match=r"journal\.jsonl:2: not a record of a journal"):
        Journal(path)
    assert path.read_bytes() == before


def test_a_second_process_cannot_open_it(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    program = f"from structsvm.files.journal import Journal; Journal({str(path)!r})"
    with Journal(path):
        ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert "another program is using this journal" in ended.stderr
        with pytest.raises(DataError, match="another program is using this journal"):
            Journal(path)
    Journal(path).close()


def test_a_failed_append_leaves_the_records_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "journal.jsonl"
    with Journal(path) as journal:
        journal.append({"a": 1})
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", full)
            with pytest.raises(OSError, match="No space"):
                journal.append({"a": 2})
        journal.append({"a": 3})
    with Journal(path) as journal:
        assert journal.records == [{"a": 1}, {"a": 3}]


def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.jsonl") as journal:
        assert journal.path.stat().st_mode & 0o077 == 0


def test_a_file_that_is_not_a_journal_is_refused_and_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("one line without an end")
    for opened in (Journal, read_journal):
        with pytest.raises(DataError, match=r"notes\.txt:1: not a journal"):
            opened(path)
    assert path.read_text() == "one line without an end"


def test_several_records_are_written_together_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    with Journal(tmp_path / "journal") as journal:
        journal.extend([{"a": 1}, {"a": 2}])
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(OSError, match="No space"):
                journal.extend([{"a": 3}, {"a": 4}])
        assert read_journal(tmp_path / "journal") == [{"a": 1}, {"a": 2}]


def renamed(path: Path) -> None:
    path.rename(path.with_suffix(".old"))


def replaced(path: Path) -> None:
    path.rename(path.with_suffix(".old"))
    path.write_text("{}\n")


def shortened(path: Path) -> None:
    os.truncate(path, 0)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (Path.unlink, "moved or deleted"), (renamed, "moved or deleted"), (replaced, "moved or deleted"),
        (shortened, "changed by another program"),
    ],
)  # fmt: skip
def test_nothing_is_appended_after_the_file_was_moved_or_changed(
    tmp_path: Path, change: Callable[[Path], None], what: str
) -> None:
    path = tmp_path / "journal.jsonl"
    with Journal(path) as journal:
        journal.append({"a": 1})
        change(path)
        with pytest.raises(OSError, match=f"it was {what} while in use; restore it"):
            journal.append({"a": 2})
        path.unlink(missing_ok=True)
        if path.with_suffix(".old").exists():
            path.with_suffix(".old").rename(path)
            journal.append({"a": 3})
            assert read_journal(path) == [{"a": 1}, {"a": 3}]


def test_a_record_is_not_acknowledged_if_the_file_is_moved_while_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.jsonl"
    with Journal(path) as journal:
        journal.append({"a": 1})
        monkeypatch.setattr(os, "fsync", lambda file: renamed(path))
        with pytest.raises(OSError, match="moved or deleted"):
            journal.append({"a": 2})
    assert read_journal(path.with_suffix(".old")) == [{"a": 1}]


def test_a_second_process_cannot_open_the_path_of_a_journal_that_was_moved(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    link = tmp_path / "link"
    link.symlink_to(path)
    with Journal(path):
        renamed(path)
        for name in (path, link, path.with_suffix(".old")):
            with pytest.raises(DataError, match="another program is using this journal"):
                Journal(name)
        assert not path.exists()
    with Journal(path) as journal:
        assert journal.records == []
    assert sorted(one.name for one in tmp_path.iterdir()) == ["journal.jsonl", "journal.old", "link"]


def test_a_lock_that_a_killed_process_left_behind_does_not_block(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    program = (
        f"import os, signal; from structsvm.files.journal import Journal; j = Journal({str(path)!r}); "
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -signal.SIGKILL
    assert path.with_name(".structsvm-journal.jsonl.lock").exists()
    Journal(path).close()
    assert not path.with_name(".structsvm-journal.jsonl.lock").exists()
