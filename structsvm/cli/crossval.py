"""`structsvm crossval`, with the options of `taggers.options`."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer

from structsvm.cli.errors import Column, Columns, Encoding, Format, Quiet, number, told_in_one_sentence
from structsvm.cli.evaluate import interval_of
from structsvm.cli.flags import given, with_flags
from taggers.options import OPTIONS


def crossval(
    task: Annotated[str, typer.Argument(help="pos, morph, chunk, ner, or label for anything else.")],
    files: Annotated[list[str], typer.Argument(help="Labelled sentences, in one or several files.")],
    folds: Annotated[int, number("-k", "--folds", low=2, high=1000, help="Number of folds.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print all numbers as JSON.")] = False,
    columns: Columns = None,
    column: Column = None,
    format: Format = "auto",
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
    **options: Any,
) -> None:
    """Estimate the score of a tagger by cross-validation.

    structsvm crossval ner data.conll -k 10

    A model of the other folds labels each fold. The scores are those of evaluate on all answers together. If
    the files mark at least k documents, each document stays in one fold, and the interval comes from
    bootstrap samples of documents.
    """
    with told_in_one_sentence("taggers.commands.crossing") as commands:
        from taggers.formats.registry import column_choice

        def told(fold: int) -> None:
            end = "" if fold < folds else "\n"
            print(f"\r{fold} of {folds} folds", end=end, file=sys.stderr, flush=True)

        found = commands.crossval(
            task, files, folds=folds, format=format, encoding=encoding,
            inputs=None if columns is None else columns.split(","),
            label=None if column is None else column_choice(column),
            progress=told if sys.stderr.isatty() and not quiet else None, **given(options),
        )  # fmt: skip
        if as_json:
            print(json.dumps(found.as_dict(), indent=1))
            return
        result = found.evaluation
        if result.types:
            print(result.report(), end="")
        else:
            print(f"accuracy: {100 * result.accuracy:.2f}%  {result.tokens.correct} of {result.tokens.total}")
        print(interval_of(result, f"{found.total:,} {found.units}"))
        print(
            f"{folds} folds: {found.measure} from {100 * min(found.scores):.2f} to "
            f"{100 * max(found.scores):.2f}, standard deviation {100 * found.deviation:.2f}"
        )


command = with_flags(crossval, OPTIONS)
