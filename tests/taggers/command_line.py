"""Run the command line in a process of its own, and check how it refuses."""

import subprocess
import sys

from tests import command_server

COMMAND = [sys.executable, "-c", "from structsvm.cli.entry import main; main()"]


def run(*arguments, cwd, stdin=b"", **options):
    """Run a command; with `options` of subprocess.run, in a new interpreter."""
    arguments = list(map(str, arguments))
    if not options:
        return command_server.run(arguments, cwd, stdin)
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        timeout=120,
        check=False,
        **options,
    )


def refused(done, code, *parts):
    """One sentence on stderr, the right code, no traceback and nothing on stdout."""
    text = done.stderr.decode()
    assert done.returncode == code, text
    assert "Traceback" not in text
    assert done.stdout == b""
    for part in parts:
        assert part in text
