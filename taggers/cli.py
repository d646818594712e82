"""The command line: thin functions over importable ones of the same name."""

from __future__ import annotations

import typer

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Structured-output SVMs: train online, predict fast.",
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


@app.command()
def demo(seed: int = typer.Option(0, min=0, help="Seed of the data and of the training.")) -> None:
    """Train every optimizer on generated data: one problem, one dual, many schedules."""
    from taggers.demo import demo as run

    run(seed=seed)


def main() -> None:
    """Entry point of the `structsvm` command."""
    app()
