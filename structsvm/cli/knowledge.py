"""`structsvm knowledge`."""

from __future__ import annotations

from typing import Annotated

import typer

from structsvm.cli.app import SETTINGS
from structsvm.cli.errors import SEEDS, Column, Columns, Encoding, Format, number, told_in_one_sentence

app = typer.Typer(
    no_args_is_help=True,
    help="Show the word classes and names that packages have for a language.",
    **SETTINGS,
)


@app.command("list")
def list_parts(
    language: Annotated[str | None, typer.Argument(help="A language such as en, to count its words.")] = None,
) -> None:
    """List the parts of --knowledge, the packages they come from, and the licences.

    structsvm knowledge list es
    """
    with told_in_one_sentence("taggers.commands.knowledge") as commands:
        for part in commands.listed(language):
            found = "" if part.words is None else f"; {part.words:,} words" if part.words else "; nothing"
            absent = f"; not installed: pip install {' '.join(part.missing)}" if part.missing else ""
            print(f"{part.name:10} {part.text}{found}{absent}")
            for package, licence in part.packages.items():
                print(f"{'':11}{package}: {licence}")


@app.command()
def report(
    task: Annotated[str, typer.Argument(help="pos, chunk, ner, or label for anything else.")],
    files: Annotated[list[str], typer.Argument(help="Labelled sentences, in one or several files.")],
    knowledge: Annotated[
        str, typer.Option(metavar="LANGUAGE[:PARTS]", help="A language such as en, or parts: en:brown,city.")
    ],
    dev: Annotated[
        str | None, typer.Option(help="Held-out file: also train a tagger with each part, and score it.")
    ] = None,
    seed: Annotated[int, number(high=SEEDS, help="The random seed.")] = 0,
    columns: Columns = None,
    column: Column = None,
    format: Format = "auto",
    encoding: Encoding = "utf-8",
) -> None:
    """Show how many of your tokens each part covers and, with --dev, the score with it.

    structsvm knowledge report ner train.txt --knowledge es --dev dev.txt
    """
    with told_in_one_sentence("taggers.commands.knowledge") as commands:
        from taggers.formats.registry import column_choice

        rows = commands.report(
            task, knowledge, files, dev=dev, random_state=seed, format=format, encoding=encoding,
            inputs=None if columns is None else columns.split(","),
            label=None if column is None else column_choice(column),
        )  # fmt: skip
        print(f"{'part':10} {'covers':>8} {'in phrases':>11} {'held-out':>9}")
        for row in rows:
            shares = [f"{'' if share is None else f'{100 * share:.1f}%'}" for share in row[1:3]]
            score = "" if row.score is None else f"{100 * row.score:.2f}"
            print(f"{row.name:10} {shares[0]:>8} {shares[1]:>11} {score:>9}", flush=True)
