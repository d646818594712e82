"""What the commands of the command line share: options, and how errors are told."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Annotated, Any

import typer

from structsvm.cli.entry import stop

Format = Annotated[str, typer.Option(help="columns, conllu, crfsuite, text, or auto to look.")]
Encoding = Annotated[str, typer.Option(help="Of the files, such as latin-1.")]
Column = Annotated[
    str | None, typer.Option(help="The label column: a number from 0, -1 for the last, upos, xpos ...")
]
Jobs = Annotated[int, typer.Option(min=1, help="Threads.")]
Output = Annotated[str, typer.Option("-o", "--output", help="Where to write; - for standard output.")]


@contextlib.contextmanager
def told_in_one_sentence(module: str) -> Iterator[Any]:
    """The module with the work of a command; errors as one line on stderr and an exit code.

    1: data, 2: usage and model files, 130: Ctrl-C, 141: a closed pipe. The last one is 128 + SIGPIPE, what
    shells tell of a program that this signal ends, as in `structsvm tag en-pos book.txt | head`. The signal
    itself is not let through: it would leave temporary files. What fits in the pipe (64 KB on Linux) is
    written before the reader can close it, and that is no error.
    """
    import warnings

    warnings.showwarning = lambda message, *_, **__: print(f"warning: {message}", file=sys.stderr)
    code = 0
    try:
        work = import_module(module)
        with _interruptible():
            yield work
            sys.stdout.flush()
    except BrokenPipeError:
        no_more_output()
        code = 141
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        code = 130
    except (ValueError, OSError, MemoryError, OverflowError) as error:
        from structsvm.files.errors import DataError

        print(f"error: {sentence(error)}", file=sys.stderr)
        code = 1 if isinstance(error, (DataError, OSError, MemoryError, OverflowError)) else 2
        with contextlib.suppress(OSError):
            sys.stdout.flush()
    if code:
        raise typer.Exit(code)


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C as a KeyboardInterrupt, so that files are cleaned up, where it would end the program at once."""
    at_once = signal.getsignal(signal.SIGINT) is stop
    if at_once:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        if at_once:
            signal.signal(signal.SIGINT, stop)


def no_more_output() -> None:
    """Nobody takes our output any more: the interpreter must not try to flush the rest of it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def sentence(error: BaseException) -> str:
    """What went wrong, in words."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'the output cannot be written'}: {error.strerror}"
    if isinstance(error, MemoryError):
        return str(error) or "there is not enough memory for this"
    return str(error) or type(error).__name__


def counted(n: int, noun: str) -> str:
    """
    >>> counted(1, "pass"), counted(2, "pass"), counted(0, "label")
    ('1 pass', '2 passes', '0 labels')
    """
    return f"{n} {noun}" if n == 1 else f"{n} {noun}{'es' if noun.endswith('s') else 's'}"
