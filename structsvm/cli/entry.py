"""The start of the `structsvm` command: handle Ctrl-C and closed streams before the slow imports."""

import os
import signal
import sys
from types import FrameType
from typing import Any


def stop(number: int, frame: FrameType | None) -> None:
    """Print one line and end the program immediately.

    While modules are imported, a KeyboardInterrupt could become another error or be ignored. Nothing needs
    to be cleaned up before the command itself runs (see `told_in_one_sentence`).
    """
    os.write(2, b"interrupted\n")
    os._exit(130)


class Closed:
    """A standard stream that was closed before the program started; its use is an error."""

    def __init__(self, message: str) -> None:
        self.message = message

    @property
    def buffer(self) -> Any:
        raise OSError(self.message)

    def read(self, size: int = -1) -> str:
        raise OSError(self.message)

    def write(self, text: str) -> int:
        raise OSError(self.message)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        return 1


def replace_closed_streams() -> None:
    """Make closed standard streams raise OSError, and prevent other files from reusing their descriptors."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
    streams: Any = sys
    if sys.stdin is None:
        streams.stdin = Closed("standard input is closed; specify a file")
    if sys.stdout is None:
        streams.stdout = Closed("standard output is closed; specify an output file")
    if sys.stderr is None:
        streams.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, it stays open


def main() -> None:
    """Entry point of the `structsvm` command."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # background jobs may ignore it
        signal.signal(signal.SIGINT, stop)
    replace_closed_streams()
    from structsvm.cli.app import main as command_line

    command_line()
