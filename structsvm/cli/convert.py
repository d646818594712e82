"""`structsvm convert`."""

from __future__ import annotations

from typing import Annotated

import typer

from structsvm.cli.errors import (
    Column,
    Encoding,
    Format,
    Output,
    counted,
    number,
    report,
    told_in_one_sentence,
)


def convert(
    file: Annotated[str, typer.Argument(help="Labelled sentences, or a model; - for standard input.")],
    to: Annotated[
        str | None,
        typer.Option(
            metavar="SCHEME|FORMAT",
            help="IOB1, IOB2, IOBES, BILUO, BMES or BMEWO, or a format: columns, conllu, jsonl, labelstudio, "
            "spacy, brat, parserator or csv.",
        ),
    ] = None,
    output: Output = "-",
    source: Annotated[
        str | None, typer.Option("--from", help="Scheme of the file; detected by default.")
    ] = None,
    column: Column = None,
    format: Format = "auto",
    encoding: Encoding = "utf-8",
    dtype: Annotated[
        str | None, typer.Option(help="For models: float32, float16 or int8, the smallest.")
    ] = None,
    prune: Annotated[float | None, number(help="For models: drop weights of this magnitude or less.")] = None,
    keep_names: Annotated[
        bool, typer.Option("--keep-names", help="For models: keep the names of features for inspect.")
    ] = False,
) -> None:
    """Convert labels to another scheme, a file to another format, or a model.

    structsvm convert train.txt --to IOBES > train.iobes

    structsvm convert doccano.jsonl --to columns > train.txt

    structsvm convert model.crfsuite -o model.ssvm
    """
    with told_in_one_sentence("taggers.commands") as commands:
        saving = {"dtype": dtype, "prune": prune, "keep_names": keep_names or None}
        given = {name: value for name, value in saving.items() if value is not None}
        program = commands.foreign_program(file)
        commands.check_conversion(file, program, to=to, source=source, label=column, **given)
        if program is not None:
            if output == "-":
                raise ValueError("a model is not written to standard output; add -o MODEL")
            commands.convert_model(file, output, **given)
            return
        repaired = commands.convert(
            file, output, to=to, source=source, label=column, format=format, encoding=encoding
        )
        if repaired:
            report(f"repaired {counted(repaired, 'label')} out of place")
