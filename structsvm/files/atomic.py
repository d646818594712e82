"""Results that appear complete or not at all."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


def check_output(path: str | Path, *sources: str | Path | None) -> None:
    """Refuse, before any work is done for it, a place where no file can be written or a source is."""
    folder = os.path.dirname(os.path.realpath(path))
    if str(path) == "-":
        return
    if os.path.isdir(path):
        raise ValueError(f"{path} is a folder: give the name of a file in it")
    if not os.path.isdir(folder):
        raise ValueError(f"{path} cannot be written: there is no folder {os.path.dirname(path)}")
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise ValueError(f"{path} cannot be written: permission denied")
    files = [source for source in sources if source is not None and os.path.isfile(source)]
    if os.path.isfile(path) and any(os.path.samefile(path, source) for source in files):
        raise ValueError(f"{path} is read, and would be lost if it were written: give another name")


@contextlib.contextmanager
def atomic_write(path: str | Path) -> Iterator[BinaryIO]:
    """A file to write that takes its name when it is complete; whatever goes wrong, nothing is left of it.

    ``-`` is standard output, and a device or pipe is written as it is: neither can be taken back. What is to
    be called ``.gz`` is packed, always to the same bytes.
    """
    with _whole(path) as file:
        if not str(path).endswith(".gz"):
            yield file
            return
        with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
            yield packed  # type: ignore[misc]


@contextlib.contextmanager
def _whole(path: str | Path) -> Iterator[BinaryIO]:
    """The bytes as they are: all of them under that name, or none."""
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
    partial = f"{target}.{os.getpid()}-{secrets.token_hex(4)}.part"
    try:
        with open(partial, "xb") as file:
            yield file
        if mode is not None:
            os.chmod(partial, stat.S_IMODE(mode))
        os.replace(partial, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(partial)
        raise
