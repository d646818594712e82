"""Write files that appear complete or not at all."""

from __future__ import annotations

import contextlib
import errno
import gzip
import io
import mmap
import os
import secrets
import stat
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # only writing fails with these


def check_output(path: str | Path, *sources: str | Path | None) -> None:
    """Raise ValueError, before any work is done, if `path` cannot be written or is one of the sources."""
    folder = os.path.dirname(os.path.realpath(path))
    if str(path) == "-":
        return
    if not str(path):
        raise ValueError("the name of the output file is empty")
    if os.path.isdir(path):
        raise ValueError(f"{path} is a folder; specify the name of a file in it")
    if not os.path.isdir(folder):
        raise ValueError(f"{path} cannot be written because there is no folder {os.path.dirname(path)}")
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise ValueError(f"{path} cannot be written: permission denied")
    files = [source for source in sources if source is not None and os.path.isfile(source)]
    if os.path.isfile(path) and any(os.path.samefile(path, source) for source in files):
        raise ValueError(f"{path} is an input and would be overwritten; choose another output file")


@contextlib.contextmanager
def atomic_write(path: str | Path, *, compress: bool | None = None) -> Iterator[BinaryIO]:
    """Open a file that appears under its name when it is complete; on any error, nothing remains.

    ``-`` is standard output. Standard output, devices and pipes are written directly, so output before an
    error remains. A name that ends in ``.gz`` is compressed, always to the same bytes, unless `compress` is
    False. The error of a full disk has the path as its filename.
    """
    try:
        with _whole(path) as file:
            if not (str(path).endswith(".gz") if compress is None else compress):
                yield file
                return
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                yield packed  # type: ignore[misc]
    except OSError as error:
        if error.errno in FULL and error.filename is None and str(path) != "-":
            error.filename = str(path)
        raise


@contextlib.contextmanager
def temporary_space() -> Iterator[None]:
    """Write temporary files; the error of a full disk names their folder and TMPDIR, which chooses it."""
    try:
        yield
    except OSError as error:
        number = error.errno or errno.ENOSPC  # NumPy gives no number if it cannot write all bytes
        if number not in FULL:
            raise
        what = f"{os.strerror(number)}; set TMPDIR to a folder with more space for temporary files"
        import tempfile  # here because it takes long to import

        raise OSError(number, what, tempfile.gettempdir()) from None


def on_disk(array: np.ndarray) -> np.ndarray:
    """The same numbers in a temporary file, where they take no memory until they are read.

    They stay in memory if there is no room for the file.
    """
    return joined_on_disk([array], array.dtype)


def joined_on_disk(arrays: Iterable[np.ndarray], dtype: Any) -> np.ndarray:
    """The numbers of arrays, one after the other, as from `on_disk`; each array is used once."""
    import tempfile  # here because it takes long to import

    rest, n = iter(arrays), 0
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(tempfile.TemporaryFile())
        except OSError:
            return np.concatenate([np.zeros(0, dtype), *rest])
        for array in rest:
            try:
                array.tofile(file)
            except OSError:
                file.seek(0)
                return np.concatenate([np.fromfile(file, dtype, n), array, *rest])
            n += len(array)
        return np.memmap(file, dtype, "r", shape=(n,)) if n else np.zeros(0, dtype)


def drop_pages(array: np.ndarray) -> None:
    """Take numbers of `on_disk` out of memory until they are read again."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, mmap.mmap) and hasattr(base, "madvise"):
        base.madvise(mmap.MADV_DONTNEED)


@contextlib.contextmanager
def _whole(path: str | Path) -> Iterator[BinaryIO]:
    """Write raw bytes: all of them under this name and on disk, or none."""
    if str(path) == "-":
        if isinstance(sys.stdout.buffer, io.RawIOBase):  # python -u: a write may take only a part
            with open(sys.stdout.fileno(), "wb", closefd=False) as file:
                yield file
            return
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = os.path.realpath(path)
    try:
        mode: int | None = os.stat(target).st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        with open(target, "wb") as file:
            yield file
        return
    partial = os.path.join(os.path.dirname(target), f".structsvm-{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        with _temporary(partial) as file:
            yield file
            file.flush()
            if mode is not None:
                os.fchmod(file.fileno(), stat.S_IMODE(mode))
            os.fsync(file.fileno())
            if not os.path.exists(partial):
                # The unused src_dir_fd makes Python call linkat, which follows the link to the file.
                os.link(f"/proc/self/fd/{file.fileno()}", partial, src_dir_fd=file.fileno())
        os.replace(partial, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(partial)
        raise


def _temporary(path: str) -> BinaryIO:
    """Create a file in the folder of `path`, without a name if possible, so that kill -9 leaves nothing."""
    if hasattr(os, "O_TMPFILE") and os.path.isdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # some file systems, network ones among them, have no such files
            return open(os.open(os.path.dirname(path), os.O_TMPFILE | os.O_RDWR, 0o666), "w+b")
    return open(path, "x+b")
