"""`structsvm compare`."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from structsvm.cli.errors import Column, Encoding, Format, Jobs, told_in_one_sentence


def compare(
    first: Annotated[str, typer.Argument(help="Model file.")],
    second: Annotated[str, typer.Argument(help="Another model file.")],
    file: Annotated[str, typer.Argument(help="Labelled sentences that neither model has learned.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print all numbers as JSON.")] = False,
    column: Column = None,
    format: Format = "auto",
    encoding: Encoding = "utf-8",
    jobs: Jobs = 1,
) -> None:
    """Compare two models: is the difference more than chance?

    structsvm compare old.ssvm new.ssvm test.txt

    The intervals contain 95% of 1,000 bootstrap samples of the sentences. p is the share of 1,000 random
    swaps of the two models' answers, sentence by sentence, with at least the same difference.
    """
    with told_in_one_sentence("taggers.commands") as commands:
        label = column
        found = commands.compare_models(
            first, second, file, label=label, format=format, encoding=encoding, jobs=jobs
        )
        if as_json:
            print(json.dumps({**asdict(found), "beyond_chance": found.beyond_chance}, indent=1))
            return
        width = max(len(first), len(second), len("difference"))
        print(f"{'':{width}} {found.measure:>8}   95% interval")
        for name, one in ((first, found.first), (second, found.second), ("difference", found.difference)):
            sign = "+" if name == "difference" else ""
            limits = f"{100 * one.low:.2f} to {100 * one.high:.2f}"
            print(f"{name:{width}} {100 * one.score:{sign}8.2f}   {limits}")
        better = second if found.difference.score > 0 else first
        verdict = f"{better} is better" if found.beyond_chance else "the difference may be chance"
        print(f"p = {found.p:.3f} ({found.difference.sentences} sentences): {verdict}")
