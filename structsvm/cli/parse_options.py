"""Arguments and options that several commands `structsvm parse ...` share."""

from __future__ import annotations

from typing import Annotated

import typer

from structsvm.cli.errors import number

Model = Annotated[str, typer.Argument(help="Model file.")]
Output = Annotated[str, typer.Option("-o", "--output", help="Output file; - for standard output.")]
Format = Annotated[
    str | None,
    typer.Option(help="File format: jsonl, tab (text TAB mr;mr) or robocup (a folder); detected by default."),
]
Parts = Annotated[
    int | None,
    number(
        low=2,
        help="Split the file into this many parts; match each part with a parser trained on the others.",
    ),
]
Threshold = Annotated[
    float | None,
    number(help="Return no meaning if the best one leads by less than this; default: as trained."),
]
Salience = Annotated[
    float | None,
    number(
        high=1,
        help="Do not match relations that are meant in a smaller share of their bags; default: as trained.",
    ),
]
