"""Keep JSON records in an append-only file that survives `kill -9`: what was appended is on disk."""

from __future__ import annotations

import contextlib
import errno
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
    process can open it, nor another file at its path. Appends fail with OSError after the file was moved or
    deleted, or its length was changed.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._path_lock = _PathLock(self.path)
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except BaseException:
            self._path_lock.release()
            raise
        try:
            _lock(self._file, self.path)
            data = self._read()
            self.records, self._size = _parse(data, str(path))
            if self._size < len(data):
                os.ftruncate(self._file, self._size)
                os.fsync(self._file)
            _sync_folder(self.path)
        except BaseException:
            self.close()
            raise

    def append(self, record: dict[str, Any]) -> None:
        """Write a record and wait for the disk; on an error the file keeps its records without this one."""
        self.extend([record])

    def extend(self, records: Iterable[dict[str, Any]]) -> None:
        """Write several records and wait for the disk once; on an error the file keeps none of them."""
        lines = [json.dumps(one, ensure_ascii=False, separators=(",", ":")).encode() for one in records]
        line = b"".join(one + b"\n" for one in lines)
        self._check_file(self._size)
        try:
            view = memoryview(line)
            while view:
                view = view[os.pwrite(self._file, view, self._size + len(line) - len(view)) :]
            os.fsync(self._file)
            self._check_file(self._size + len(line))
        except BaseException:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._size)
            raise
        self._size += len(line)

    def _check_file(self, size: int) -> None:
        """Raise OSError unless the open file is the one at its path, with as many bytes as we wrote."""
        opened = os.fstat(self._file)
        try:
            moved = not os.path.samestat(opened, os.stat(self.path))
        except FileNotFoundError:
            moved = True
        if moved or opened.st_size != size:
            what = "moved or deleted" if moved else "changed by another program"
            what = f"it was {what} while in use; restore it, or restart with another journal"
            raise OSError(errno.ESTALE, what, str(self.path))

    def close(self) -> None:
        """Close the file; further appends fail."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
            self._path_lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read(self) -> bytes:
        with open(self._file, "rb", closefd=False) as file:
            file.seek(0)
            return file.read()


class _PathLock:
    """Keeps other processes from opening a journal at this path, even after its file was moved away.

    The lock is on a hidden file next to the journal, which is deleted at the end. In a folder where that file
    cannot be created, the journal cannot be moved either.
    """

    def __init__(self, journal: Path) -> None:
        path = Path(os.path.realpath(journal))
        self._name, self._file = path.with_name(f".structsvm-{path.name}.lock"), -1
        while self._file < 0 and fcntl is not None:
            try:
                file = os.open(self._name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except OSError as error:  # if the folder does not exist, opening the journal says so
                if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR):
                    return
                raise
            try:
                _lock(file, journal)
                if os.path.samestat(os.fstat(file), os.stat(self._name)):
                    self._file = file
            except FileNotFoundError:  # another process ended after we opened it
                pass
            finally:
                if self._file < 0:
                    os.close(file)

    def release(self) -> None:
        """Delete the file, then unlock it."""
        if self._file >= 0:
            with contextlib.suppress(OSError):
                os.unlink(self._name)
            os.close(self._file)
            self._file = -1


def _lock(file: int, journal: Path) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise DataError("another program is using this journal; stop it first", str(journal)) from None


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
