"""Run commands in forks of one process that has imported everything: a command costs 10 ms
of processor time instead of 500.

`run` starts the server when it is first called. Each command runs in a process of its own, with its own
folder, streams, signals and exit code. Tests of the start of the program, of its environment or of closed
streams run `tests.taggers.command_line.COMMAND` instead.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import io
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import IO, NoReturn

from typer.testing import CliRunner

LONGEST = 300  # seconds of a command


Done = subprocess.CompletedProcess[bytes]


def run(arguments: list[str], cwd: str | os.PathLike[str], stdin: bytes) -> Done:
    """Run `structsvm` with these arguments, as `subprocess.run` would in a new process."""
    server = started(os.getpid())
    read, write = os.pipe()
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        request = json.dumps({"arguments": arguments, "cwd": os.fspath(cwd)}).encode()
        socket.send_fds(server, [request], [read, stdout.fileno(), stderr.fileno()])
        os.close(read)
        with contextlib.suppress(BrokenPipeError), open(write, "wb", buffering=0) as pipe:
            pipe.write(stdin)
        code = int(server.recv(100))
        return Done(arguments, code, *(_content(file) for file in (stdout, stderr)))


def _content(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


@functools.cache
def started(process: int) -> socket.socket:
    """A connection to the server of a process, which ends with it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    number = theirs.fileno()
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.command_server", str(number)],
        cwd=Path(__file__).parents[1],
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},  # a process with threads must not fork
        stdin=subprocess.DEVNULL,
        pass_fds=[number],
    )
    theirs.close()

    @atexit.register
    def stop() -> None:
        ours.close()
        server.wait()

    return ours


def serve(connection: socket.socket) -> None:
    import corpora
    import semparse
    import structsvm.cli
    import taggers
    from structsvm.cli.app import app

    for package in (structsvm.cli, corpora, semparse, taggers):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            with contextlib.suppress(ImportError):
                if "spacy" not in module.name:
                    importlib.import_module(module.name)
    CliRunner().invoke(app, ["evaluate", ""])  # parts of typer are imported when a command runs
    gc.freeze()
    while True:
        request, streams, _, _ = socket.recv_fds(connection, 1 << 16, 3)
        if not request:
            return
        child = os.fork()
        if child == 0:
            connection.close()
            command(streams, **json.loads(request))
        for stream in streams:
            os.close(stream)
        connection.send(b"%d" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def command(streams: list[int], arguments: list[str], cwd: str) -> NoReturn:
    """What a new interpreter does: open the streams, run the program, report what it raises."""
    signal.alarm(LONGEST)
    os.chdir(cwd)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    raw = [io.FileIO(number, mode) for number, mode in enumerate(("rb", "wb", "wb"))]
    sys.stdin = io.TextIOWrapper(io.BufferedReader(raw[0]), "utf-8")
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(raw[1]), "utf-8")
    sys.stderr = io.TextIOWrapper(io.BufferedWriter(raw[2]), "utf-8", "backslashreplace", line_buffering=True)
    sys.argv = ["structsvm", *arguments]
    code: object = 0
    try:
        from structsvm.cli.entry import main

        main()
    except SystemExit as error:
        code = error.code
    except BaseException:
        traceback.print_exc()
        code = 1
    if isinstance(code, str):
        print(code, file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
