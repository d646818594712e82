"""`structsvm tag`."""

from __future__ import annotations

from typing import Annotated

import typer

from structsvm.cli.errors import (
    Bias,
    Column,
    Encoding,
    Format,
    Jobs,
    Output,
    number,
    numbers_of,
    told_in_one_sentence,
)


def tag(
    model: Annotated[
        str, typer.Argument(help="Model file, or the name of an included model: en-pos, en-ner, en or af.")
    ],
    file: Annotated[str, typer.Argument(help="Sentences to label; - for standard input.")] = "-",
    output: Output = "-",
    nbest: Annotated[
        int,
        number(
            low=1,
            high=1000,
            help="Append the n best labellings, one after the other; needs a model with exact inference.",
        ),
    ] = 1,
    scores: Annotated[
        bool,
        typer.Option(help="Append the margin of each label or, with --nbest, the score of each labelling."),
    ] = False,
    probabilities: Annotated[
        bool, typer.Option(help="Append the probability of each label; calibrate it with train --calibrate.")
    ] = False,
    replace: Annotated[bool, typer.Option(help="Replace the label column instead of appending one.")] = False,
    classes: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=FILE", help="Replace the word classes of this name by those in a file."),
    ] = None,
    gazetteer: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=FILE", help="Replace the entries of the gazetteer of this name."),
    ] = None,
    bias: Bias = None,
    to: Annotated[
        str | None,
        typer.Option(
            help="Write another format: jsonl, spacy, brat, labelstudio, csv or columns, with the offsets of "
            "tokens in the text; conllu, for plain text; or trees or svg, a picture of each dependency tree.",
            metavar="FORMAT",
        ),
    ] = None,
    column: Column = None,
    format: Format = "auto",
    encoding: Encoding = "utf-8",
    jobs: Jobs = 1,
) -> None:
    """Label the tokens of a file and keep every other byte.

    structsvm tag chunk.ssvm input.txt > output.txt

    Labels are appended as a column, those of en-pos as one for each of their parts. In CoNLL-U, CRFsuite and
    SVM-HMM files they replace the label column.

    The margin of a label is the score of the best labelling of the sentence minus the score of the best
    labelling with another label at this token (with greedy inference: minus the score of the second-best
    label). A margin near 0 means that the label is uncertain; inf means that no other label is possible. In
    CoNLL-U files the margin is written to MISC, as Margin=0.87.
    """
    with told_in_one_sentence("taggers.commands") as commands:
        from taggers.formats.registry import column_choice

        commands.tag(
            model, file, output, nbest=nbest, scores=scores, probabilities=probabilities, replace=replace,
            format=format, encoding=encoding, jobs=jobs, to=to,
            label=None if column is None else column_choice(column),
            classes=classes or None, gazetteers=gazetteer or None,
            bias=numbers_of(bias, "--bias", "LABEL=NUMBER"),
        )  # fmt: skip
