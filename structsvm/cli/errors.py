"""Options that several commands share, and the reporting of errors as one line with an exit code."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from importlib import import_module
from types import FrameType
from typing import Annotated, Any

import typer

from structsvm.cli.entry import stop

MOST = 10**9  # the upper bound of options that do not set their own
SEEDS = 2**63 - 1  # the largest seed


def number(*flags: str, low: float = 0, high: float = MOST, **information: Any) -> Any:
    """An option whose value is a number from `low` to `high`; every numeric option is defined with it.

    Typer's own `max` accepts NaN, and would show large bounds in the help.
    """

    def check(value: Any) -> Any:
        if value is not None and not value <= high:
            raise typer.BadParameter(f"must be at most {high:,}, got {value}")
        return value

    return typer.Option(*flags, min=low, callback=check, **information)


# `structsvm.cli.app` replaces FORMATS by the names of the formats when the help is shown.
Format = Annotated[
    str, typer.Option(help="File format: FORMATS or auto, which detects it from the first lines.")
]
Encoding = Annotated[str, typer.Option(help="Encoding of the files, such as latin-1.")]
Column = Annotated[
    str | None,
    typer.Option(
        help="Label column: a number counted from 0, -1 for the last column, or a name such as upos or xpos."
    ),
]
Columns = Annotated[
    str | None, typer.Option(help="Input columns, such as 0,1; by default all columns except the labels.")
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print only errors.")]
Jobs = Annotated[int, number(high=1024, help="Number of threads; 0: all cores.")]
Bias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LABEL=NUMBER",
        help="Add a number to the score of a label: O=-0.5 finds more phrases, O=0.5 fewer.",
    ),
]
Output = Annotated[str, typer.Option("-o", "--output", help="Output file; - for standard output.")]
Host = Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 admits other machines.")]
Port = Annotated[int, number(high=65535, help="Port to listen on; 0 for any free port.")]
AllowHost = Annotated[
    list[str] | None,
    typer.Option(help="Name that clients may use for this machine, such as host.docker.internal."),
]

# Exit codes; signals give 128 + their number, as in shells.
DATA, USAGE, INTERRUPTED, BROKEN_PIPE = 1, 2, 130, 141


class Terminated(BaseException):
    """A signal asked the program to terminate."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = 128 + number


@contextlib.contextmanager
def told_in_one_sentence(module: str, *, extra: str | None = None) -> Iterator[Any]:
    """Import the module that implements a command; report errors as one line and an exit code.

    The codes are 1 for data, 2 for usage and model files, 130 for Ctrl-C, 143 for SIGTERM, 129 for SIGHUP and
    141 for a closed pipe, as in `structsvm tag en-pos book.txt | head`. Signals become exceptions, so
    temporary files are removed. Output that fits into the pipe (64 KB on Linux) is written before the reader
    can close it; then there is no error. extra: the optional dependencies that the module needs.
    """
    import warnings

    shown: set[str] = set()  # several layers of a model can give the same warning

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        if str(message) not in shown:
            shown.add(str(message))
            report(f"warning: {message}")

    warnings.showwarning = show
    code = 0
    try:
        work = import_module(module)
        with _signals_as_exceptions():
            yield work
            sys.stdout.flush()
    except BrokenPipeError:
        no_more_output()
        code = BROKEN_PIPE
    except ModuleNotFoundError as error:
        if extra is None:
            raise
        report(f'error: this command needs {error.name}; run pip install "structsvm-nlp[{extra}]"')
        code = USAGE
    except KeyboardInterrupt:
        report("interrupted")
        code = INTERRUPTED
    except Terminated as end:
        report("terminated")
        code = end.code
    except (ValueError, OSError, MemoryError, OverflowError) as error:
        from structsvm.files.errors import DataError

        report(f"error: {sentence(error)}")
        code = DATA if isinstance(error, (DataError, OSError, MemoryError, OverflowError)) else USAGE
        try:
            sys.stdout.flush()
        except OSError:  # of a full disk: the interpreter would flush again, and fail with a traceback
            no_more_output()
    if code:
        raise typer.Exit(code)


@contextlib.contextmanager
def _signals_as_exceptions() -> Iterator[None]:
    """Raise exceptions for Ctrl-C, SIGTERM and SIGHUP, unless they are ignored or handled elsewhere."""

    def end(number: int, frame: FrameType | None) -> None:
        raise Terminated(number)

    handlers: dict[int, Any] = {}
    if signal.getsignal(signal.SIGINT) is stop:
        handlers[signal.SIGINT] = signal.default_int_handler
    for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        if signal.getsignal(number) == signal.SIG_DFL:
            handlers[number] = end
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def service_token() -> str | None:
    """The token of web services: STRUCTSVM_TOKEN, or None for a random one."""
    return os.environ.get("STRUCTSVM_TOKEN") or None


def no_more_output() -> None:
    """Prevent the interpreter from flushing output that nobody reads."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def report(text: str) -> None:
    """Print a line on stderr, with control characters escaped, unless stderr is closed."""
    from structsvm.files.errors import one_line  # imported only on errors, because it imports numpy

    with contextlib.suppress(OSError):
        print(one_line(text), file=sys.stderr, flush=True)


def sentence(error: BaseException) -> str:
    """Describe an error in one sentence."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'the output cannot be written'}: {error.strerror}"
    if isinstance(error, MemoryError):
        return str(error) or "not enough memory"
    return str(error) or type(error).__name__


def counted(n: int, noun: str) -> str:
    """
    >>> counted(1, "pass"), counted(2, "pass"), counted(0, "label")
    ('1 pass', '2 passes', '0 labels')
    """
    return f"{n} {noun}" if n == 1 else f"{n} {noun}{'es' if noun.endswith('s') else 's'}"


def numbers_of(pairs: list[str] | None, flag: str, form: str) -> dict[str, float] | None:
    """{label: number} from the values of a repeated flag, such as O=-0.5; None without any."""
    numbers = {}
    for pair in pairs or ():
        name, _, value = pair.rpartition("=")
        try:
            numbers[name] = float(value)
        except ValueError:
            raise ValueError(f"{flag} must be {form}, got {pair!r}") from None
    return numbers or None
