"""Where the `structsvm` command begins: Ctrl-C is heard before anything large is imported."""

import os
import signal
from types import FrameType


def stop(number: int, frame: FrameType | None) -> None:
    """End the program at once, in one line.

    A KeyboardInterrupt would not do while modules are being imported: some turn it into an error of their
    own, some drop it. Nothing is to be cleaned up before the work begins (in `told_in_one_sentence`).
    """
    os.write(2, b"interrupted\n")
    os._exit(130)


def main() -> None:
    """Entry point of the `structsvm` command."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # background jobs may ignore it
        signal.signal(signal.SIGINT, stop)
    from structsvm.cli.app import main as command_line

    command_line()
