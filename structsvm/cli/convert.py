"""`structsvm convert`."""

from __future__ import annotations

from typing import Annotated

import typer

from structsvm.cli.errors import Column, Encoding, Format, Output, counted, report, told_in_one_sentence


def convert(
    file: Annotated[str, typer.Argument(help="Labelled sentences; - for standard input.")],
    to: Annotated[str, typer.Option(help="IOB1, IOB2, IOBES or BILUO.")],
    output: Output = "-",
    source: Annotated[
        str | None, typer.Option("--from", help="Scheme of the file; detected by default.")
    ] = None,
    column: Column = None,
    format: Format = "auto",
    encoding: Encoding = "utf-8",
) -> None:
    """Rewrite labels in another scheme.

    structsvm convert train.txt --to IOBES > train.iobes
    """
    with told_in_one_sentence("taggers.commands") as commands:
        from taggers.formats.registry import column_number

        label = -1 if column is None else column_number(column)
        repaired = commands.convert(
            file, output, to=to, source=source, label=label, format=format, encoding=encoding
        )
        if repaired:
            report(f"repaired {counted(repaired, 'label')} out of place")
