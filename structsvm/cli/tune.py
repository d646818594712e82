"""`structsvm tune`, with the options of `taggers.options`; options that you set do not change."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import Annotated, Any

import typer

from structsvm.cli.errors import Column, Columns, Encoding, Format, number, told_in_one_sentence
from structsvm.cli.flags import given, with_flags
from taggers.options import OPTIONS


def tune(
    task: Annotated[str, typer.Argument(help="pos, chunk, ner, or label for anything else.")],
    files: Annotated[list[str], typer.Argument(help="Labelled sentences, in one or several files.")],
    output: Annotated[str, typer.Option("-o", "--output", help="The model file to write.")],
    dev: Annotated[
        str | None,
        typer.Option(help="Held-out file to compare options on; without it, the training file is split."),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            help="Time, such as 120s (the default) or 5m: 60% for the search; the training that follows is "
            "not cut short."
        ),
    ] = None,
    trials: Annotated[
        int | None,
        number(
            low=1,
            high=10_000,
            help="Number of combinations to try instead of a time (without --dev, in the first round); the "
            "same seed then gives the same result.",
        ),
    ] = None,
    columns: Columns = None,
    column: Column = None,
    format: Format = "auto",
    encoding: Encoding = "utf-8",
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print only errors and the command.")] = False,
    **options: Any,
) -> None:
    """Find good options for a tagger on a labelled file, and train it.

    structsvm tune ner train.txt --dev dev.txt --budget 120s -o ner.ssvm

    With --dev, the search changes one option at a time, and keeps a change that is better on the held-out
    file by more than two standard errors. Without it, the search is successive halving: the first round tries
    many combinations at little cost, and the best third enters the next round. Options that you set do not
    change. The command prints the train command that trains the same model.
    """
    with told_in_one_sentence("taggers.commands") as commands:
        from structsvm.cli.progress import Progress
        from taggers.tuning import ROUNDS

        options = given(options)
        header = "round  score  passes  seconds  options"

        def show(trial: Any) -> None:
            nonlocal header
            if header:
                print(header, file=sys.stderr)
                header = ""
            told = " ".join(commands.flags(trial.options)) or "(defaults)"
            line = f"{trial.round + 1:5}  {100 * trial.score:5.2f}  {trial.epochs:6}  {trial.seconds:7.1f}"
            print(f"{line}  {told}", file=sys.stderr, flush=True)

        with closing(Progress(shown=not quiet and sys.stderr.isatty())) as progress:
            tuned = commands.tune(
                task, files, output, dev=dev, budget=budget, trials=trials,
                inputs=None if columns is None else columns.split(","),
                label=column, format=format, encoding=encoding,
                progress=None if quiet else show, callback=progress, **options,
            )  # fmt: skip
        if not quiet:
            print(f"best {tuned.tuning.score_name} {100 * tuned.tuning.score:.2f}", file=sys.stderr)
            if tuned.tuning.rounds < ROUNDS:
                print(
                    f"the search completed {tuned.tuning.rounds} of {ROUNDS} rounds, so only a part of "
                    "the data chose these options; raise --budget",
                    file=sys.stderr,
                )
            if tuned.tuning.untried:
                print(
                    f"there was no time for {tuned.tuning.untried} more changes; raise --budget to try them",
                    file=sys.stderr,
                )
            print(progress.summary(tuned.tagger, output), file=sys.stderr)
        print(tuned.command)


command = with_flags(tune, OPTIONS)
