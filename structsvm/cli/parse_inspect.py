"""The commands `structsvm parse ...` that prepare data and show what a parser has learned."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from structsvm.cli.errors import Quiet, counted, number, told_in_one_sentence
from structsvm.cli.parse_options import Format, Model, Output


def windows(
    texts: Annotated[str, typer.Argument(help="Texts with times: CSV or JSONL with time and text.")],
    events: Annotated[
        str, typer.Argument(help="Events with times: CSV or JSONL with time (or start and end) and meaning.")
    ],
    output: Output = "-",
    before: Annotated[float, number(help="Seconds before a text that its window includes.")] = 5,
    after: Annotated[float, number(help="Seconds after a text that its window includes.")] = 2,
    by: Annotated[
        str | None,
        typer.Option(help="Join only texts and events with the same value in this column, such as user."),
    ] = None,
    field: Annotated[
        list[str] | None,
        typer.Option(
            help="The name of a field in the files, such as time=timestamp, rel=type or args=machine,level."
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Join texts and events by their timestamps into sentences with candidates.

    structsvm parse windows texts.csv events.jsonl --before 0 --after 10 > home.jsonl

    A time is a number or a date such as 2026-05-01T18:30:05. A text without an event in its window has no
    candidates. Columns or keys named gold and id are kept, others are ignored. An event without a value
    in the column of --by belongs to all texts.
    """
    with told_in_one_sentence("semparse.commands") as commands:
        bags = commands.windows(texts, events, output, before=before, after=after, by=by, fields=field or ())
        if not quiet:
            count = sum(len(bag.candidates) for bag in bags)
            empty = sum(not bag.candidates for bag in bags)
            told = f"{counted(len(bags), 'sentence')} with {counted(count, 'candidate')}; {empty} without any"
            print(f"{'' if output == '-' else f'{output}: '}{told}", file=sys.stderr)


def schema(
    files: Annotated[list[str], typer.Argument(help="Sentences with candidates; - for standard input.")],
    output: Output = "-",
    format: Format = None,
) -> None:
    """Write the relations and types of the candidates as JSON, for you to edit and pass to train.

    structsvm parse schema home.jsonl -o schema.json

    structsvm parse train home.jsonl --schema schema.json -o home.ssvm
    """
    with told_in_one_sentence("semparse.commands") as commands:
        commands.schema(files, output, format=format)


def lexicon(
    model: Model,
    output: Output = "-",
    least: Annotated[float, number(help="Leave out smaller shares or weights.")] = 0.1,
) -> None:
    """List the symbols that each word may stand for, with their shares: word TAB symbol TAB share.

    structsvm parse lexicon home.ssvm | grep lamp
    """
    with told_in_one_sentence("semparse.commands") as commands:
        commands.lexicon(model, output, least=least)


def explain(
    model: Model,
    sentence: Annotated[str, typer.Argument(help="The sentence.")],
    meaning: Annotated[str | None, typer.Option(help="Explain this meaning instead of the best one.")] = None,
    top: Annotated[int, number(low=1, help="Number of weights to show.")] = 20,
) -> None:
    """Show the weights behind the score of a meaning, largest first.

    structsvm parse explain home.ssvm "turn on the lamp"
    """
    with told_in_one_sentence("semparse.commands") as commands:
        found, parts = commands.explain(model, sentence, meaning)
        print(f"=> {found}" if found else "=> no meaning found")
        for label, feature, weight in parts[:top]:
            print(f"{weight:10.4f}  {feature}  ->  {label}")
