"""Keep JSON records in an append-only file that survives `kill -9`: what was appended is on disk."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from structsvm.files.errors import DataError

try:
    import fcntl
except ImportError:  # Windows has no advisory locks of this kind
    fcntl = None  # type: ignore[assignment]


class Journal:
    """One JSON object per line; `append` returns when the line is on disk.

    `records` holds the content of the file when it was opened. A last line without a line end is removed: a
    crash interrupted its `append`, which never returned. Any other line that is not a JSON object raises
    DataError with its number, because something else has changed the file. While a journal is open, no other
    process can open it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._lock()
            data = self._read()
            self.records, self._size = _parse(data, str(path))
            if self._size < len(data):
                os.ftruncate(self._file, self._size)
                os.fsync(self._file)
            _sync_folder(self.path)
        except BaseException:
            os.close(self._file)
            raise

    def append(self, record: dict[str, Any]) -> None:
        """Write a record and wait for the disk; on an error the file keeps its records without this one."""
        self.extend([record])

    def extend(self, records: Iterable[dict[str, Any]]) -> None:
        """Write several records and wait for the disk once; on an error the file keeps none of them."""
        lines = [json.dumps(one, ensure_ascii=False, separators=(",", ":")).encode() for one in records]
        line = b"".join(one + b"\n" for one in lines)
        try:
            view = memoryview(line)
            while view:
                view = view[os.pwrite(self._file, view, self._size + len(line) - len(view)) :]
            os.fsync(self._file)
        except BaseException:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._size)
            raise
        self._size += len(line)

    def close(self) -> None:
        """Close the file; further appends fail."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _lock(self) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DataError("another program is using this journal; stop it first", str(self.path)) from None

    def _read(self) -> bytes:
        with open(self._file, "rb", closefd=False) as file:
            file.seek(0)
            return file.read()


def read_journal(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The records of a journal that another program may be using; the file does not change."""
    return _parse(Path(path).read_bytes(), str(path))[0]


def _parse(data: bytes, name: str) -> tuple[list[dict[str, Any]], int]:
    """The records of the complete lines, and the bytes that these lines have."""
    if data and not data.startswith(b"{"):  # then a last line without a line end is not ours to remove
        raise DataError("not a journal; choose another file", name, 1)
    size = data.rfind(b"\n") + 1
    return [_record(line, name, n) for n, line in enumerate(data[:size].split(b"\n")[:-1], 1)], size


def _record(line: bytes, name: str, number: int) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise DataError("not a record of a journal; restore the file", name, number)
    return record


def _sync_folder(path: Path) -> None:
    """Make the name of a new file survive a crash too."""
    with contextlib.suppress(OSError):  # Windows cannot open folders
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
