"""`structsvm simulate`."""

from __future__ import annotations

from typing import Annotated

import typer

from structsvm.cli.errors import Output, told_in_one_sentence


def simulate(
    what: Annotated[str, typer.Argument(help="house, child-world or sportscast.")],
    n: Annotated[int, typer.Option("-n", min=1, help="Number of sentences.")] = 1000,
    level: Annotated[
        int | None,
        typer.Option(min=0, help="Average number of wrong meanings per sentence; not for sportscast."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed; the same seed gives the same file.")] = 0,
    output: Output = "-",
) -> None:
    """Generate sentences with candidate meanings, as JSONL.

    structsvm simulate sportscast -n 500 > game.jsonl
    """
    with told_in_one_sentence("corpora.simulators.by_name") as work:
        work.simulate(what, n, output, level=level, seed=seed)
