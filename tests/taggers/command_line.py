"""Run the command line in a process of its own, and check how it refuses."""

import subprocess
import sys

COMMAND = [sys.executable, "-c", "from structsvm.cli.entry import main; main()"]


def run(*arguments, cwd, stdin=b"", **options):
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
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
