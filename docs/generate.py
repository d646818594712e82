"""Generate the pages that document the program's own texts: `python docs/generate.py`.

reference/command-line.md shows the help of every command, reference/options.md the table of training options.
A test compares both with the program.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
OPTIONS = """# Options

This table lists the options of the taggers, with their defaults for each preset.
`python -m taggers.options` prints it.

"""


def commands() -> Iterator[list[str]]:
    """The words of each command; the commands of a group follow the group."""
    import typer.main

    from structsvm.cli.app import app

    def below(command: Any, words: list[str]) -> Iterator[list[str]]:
        yield words
        for name in command.list_commands(None) if hasattr(command, "list_commands") else ():
            yield from below(command.get_command(None, name), [*words, name])

    yield from below(typer.main.get_command(app), [])


def command_line() -> str:
    """The page of the command line: `--help` of every command at 80 columns."""
    from typer.testing import CliRunner

    from structsvm.cli.app import app

    parts = [
        "# Command line",
        "This page shows the help of every command, as `structsvm COMMAND --help` prints it. The exit\n"
        "codes are 0 for success, 1 for bad data (`file:line: what is wrong; what to do`), 2 for wrong\n"
        "usage or an unusable model file, 130 if interrupted with Ctrl-C, and 141 if the reader of a pipe\n"
        "(`| head`) stopped early.",
    ]
    for words in commands():
        result = CliRunner().invoke(
            app, [*words, "--help"], prog_name="structsvm", env={"COLUMNS": "80", "TERM": "dumb"}
        )
        if result.exit_code != 0:
            raise RuntimeError(f"structsvm {' '.join(words)} --help failed: {result.output}")
        name = " ".join(["structsvm", *words])
        parts.append(f"## {name}\n\n```text\n{result.output.strip()}\n```")
    return "\n\n".join(parts) + "\n"


def options() -> str:
    """The page of the options, as `python -m taggers.options` prints it."""
    done = subprocess.run(
        [sys.executable, "-m", "taggers.options"], capture_output=True, text=True, check=True
    )
    return OPTIONS + done.stdout


PAGES = {"reference/command-line.md": command_line, "reference/options.md": options}


def main() -> None:
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
