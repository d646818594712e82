"""Open files for reading: standard input, gzip, and errors that name the file."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import sys
from collections.abc import Iterator
from typing import BinaryIO

from structsvm.files.errors import DataError

STDIN = "<stdin>"


def file_name(path: str | os.PathLike[str]) -> str:
    """Return what messages call a file."""
    return STDIN if str(path) == "-" else str(path)


@contextlib.contextmanager
def open_input(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for reading bytes; ``-`` is standard input. Gzip is recognised and unpacked."""
    with contextlib.ExitStack() as stack:
        if str(path) == "-":
            raw: BinaryIO = sys.stdin.buffer
        else:
            try:
                raw = stack.enter_context(open(path, "rb"))
            except OSError as error:
                raise DataError(f"cannot be read: {error.strerror}", str(path)) from None
        buffered = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(raw)  # type: ignore[type-var]
        try:
            zipped = buffered.peek(2)[:2] == b"\x1f\x8b"
        except OSError as error:
            raise DataError(f"cannot be read: {error.strerror}", file_name(path)) from None
        yield stack.enter_context(gzip.GzipFile(fileobj=buffered)) if zipped else buffered  # type: ignore[misc]
