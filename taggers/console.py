"""How commands fail, those of all packages: in one sentence, and with an exit code."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

import typer


@contextlib.contextmanager
def told_in_one_sentence() -> Iterator[None]:
    """Errors as one line on stderr and an exit code: 1 data, 2 usage and model files, 130 Ctrl-C."""
    import warnings

    warnings.showwarning = lambda message, *_, **__: print(f"warning: {message}", file=sys.stderr)
    code = 0
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has seen enough; the interpreter must not try to flush the rest.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 141
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        code = 130
    except (ValueError, OSError, MemoryError, OverflowError) as error:
        from corpora.errors import DataError

        print(f"error: {error or type(error).__name__}", file=sys.stderr)
        code = 1 if isinstance(error, (DataError, OSError, MemoryError, OverflowError)) else 2
    if code:
        raise typer.Exit(code)
