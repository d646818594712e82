"""The command line: one module per command, imported when the command is called."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from structsvm.cli.errors import BROKEN_PIPE, DATA, no_more_output, report, sentence

SETTINGS: dict[str, Any] = {
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,  # importing rich would double the start-up time
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
# The module of a command's name defines the command: as the Typer `app`, the function `command`, or a
# function of that name. The summaries are repeated here so that the help need not import the modules.
COMMANDS = {
    "classes": "Learn word classes from raw text.",
    "compare": "Compare two models: is the difference more than chance?",
    "convert": "Convert labels to another scheme, a file to another format, or a model.",
    "crossval": "Estimate the score of a tagger by cross-validation.",
    "demo": "Tag a text, find its names, and train a chunker and a parser.",
    "distil": "Train a tagger on raw text with lists, rules, other models and annotators.",
    "doubts": "Find labels that are probably wrong, the most doubtful ones first.",
    "evaluate": "Compare labels with gold labels, as conlleval does.",
    "explain": "Show why each word gets its label, its head and the label of its arc.",
    "inspect": "Show the content of a model and its strongest features.",
    "knowledge": "Show the word classes and names that packages have for a language.",
    "parse": "Train and apply a semantic parser.",
    "serve": "Serve a model over HTTP: tag, learn, Label Studio, INCEpTION.",
    "simulate": "Generate sentences with candidate meanings, as JSONL.",
    "tag": "Label the tokens of a file and keep every other byte.",
    "teach": "Label sentences on a page, while the tagger learns from each answer.",
    "train": "Train a tagger on a labelled file.",
    "tune": "Find good options for a tagger on a labelled file, and train it.",
}


class Group(TyperGroup):
    """The commands of `COMMANDS`."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"structsvm.cli.{cmd_name}")
        if hasattr(module, "app"):
            return typer.main.get_command(module.app)
        single = typer.Typer(**SETTINGS)
        single.command(cls=getattr(module, f"{cmd_name.title()}Command", TyperCommand))(
            getattr(module, "command", None) or getattr(module, cmd_name)
        )
        command = typer.main.get_command(single)
        for option in command.params:
            if option.name == "format":
                _list_formats(option)
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _list_formats(option: Any) -> None:
    """Make the help of `--format` list the formats; only the help needs them."""
    record = option.get_help_record

    def listed(ctx: Any) -> Any:
        from taggers.formats import NAMES

        option.help = option.help.replace("FORMATS", ", ".join(sorted(NAMES)))
        return record(ctx)

    option.get_help_record = listed


app = typer.Typer(
    cls=Group, no_args_is_help=True, help="Structured-output SVMs: train online, predict fast.", **SETTINGS
)


def show_version(asked: bool) -> None:
    if asked:
        import structsvm

        typer.echo(structsvm.__version__)
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(
        False, "--version", callback=show_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Options of all commands."""


def main() -> None:
    """Run the command line; `structsvm.cli.entry` calls this."""
    try:
        app()
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # --help and --version, for which typer exits with 1
            sys.exit(BROKEN_PIPE)
        raise
    except OSError as error:  # --help and --version; commands report their own errors
        report(f"error: {sentence(error)}")
        no_more_output()
        sys.exit(DATA)
