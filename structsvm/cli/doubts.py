"""`structsvm doubts`."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from structsvm.cli.errors import (
    SEEDS,
    Column,
    Columns,
    Encoding,
    Format,
    Quiet,
    counted,
    number,
    told_in_one_sentence,
)

WIDTH = 40  # of words in the table


def doubts(
    file: Annotated[str, typer.Argument(help="Labelled sentences; - for standard input.")],
    task: Annotated[
        str, typer.Option(help="The tagger to use: pos, chunk, ner or label; auto chooses it by the labels.")
    ] = "auto",
    most: Annotated[int, number("--most", low=1, help="Print at most this many doubts.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="Print each doubt as a line of JSON.")] = False,
    queue: Annotated[
        str | None, typer.Option(help="Write the suggestions to this journal, for structsvm teach --merge.")
    ] = None,
    folds: Annotated[int, number(low=2, high=1000, help="Number of models; each checks its own part.")] = 10,
    seed: Annotated[int, number(high=SEEDS, help="The random seed.")] = 0,
    columns: Columns = None,
    column: Column = None,
    format: Format = "auto",
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
) -> None:
    """Find labels that are probably wrong, the most doubtful ones first.

    structsvm doubts train.conll --queue doubts.answers.jsonl

    Models that have not seen a sentence label it. Where they differ from the file, the table shows the line,
    the words, the labels of the file, those of the models, and why.
    """
    with told_in_one_sentence("taggers.commands.doubts") as commands:
        from taggers.formats.registry import column_choice

        def told(fold: int) -> None:
            print(
                f"\r{fold} of {folds} models", end="" if fold < folds else "\n", file=sys.stderr, flush=True
            )

        found = commands.doubts(
            file, task=task, folds=folds, random_state=seed, queue=queue, format=format, encoding=encoding,
            inputs=None if columns is None else columns.split(","),
            label=None if column is None else column_choice(column),
            told=told if sys.stderr.isatty() and not quiet else None,
        )  # fmt: skip
        records = found.records()
        for one in records[:most]:
            if as_json:
                print(json.dumps(one, ensure_ascii=False))
            else:
                given, suggested = " ".join(one["given"]), " ".join(one["suggested"])
                words = one["words"] if len(one["words"]) <= WIDTH else one["words"][: WIDTH - 3] + "..."
                change = f"{words}: {given} -> {suggested} ({one['why']})"
                print(f"{one['line']:7} {one['score']:.3f} {one['kind']:8} {change}")
        if not quiet:
            shown = f", {most} shown" if len(records) > most else ""
            print(f"{file}: {counted(len(records), 'doubt')}{shown}", file=sys.stderr)
