"""`structsvm simulate`."""

from __future__ import annotations

from typing import Annotated

import typer

from structsvm.cli.errors import SEEDS, Output, number, told_in_one_sentence


def simulate(
    what: Annotated[str, typer.Argument(help="home, house, child-world or sportscast.")],
    n: Annotated[int, number("-n", low=1, high=10**7, help="Number of sentences.")] = 1000,
    level: Annotated[
        int | None,
        number(
            high=1000,
            show_default="1; home: 2",
            help="Average number of wrong meanings per sentence; not for sportscast.",
        ),
    ] = None,
    missing: Annotated[
        float | None,
        number(high=1, show_default="0.2", help="For home: share of sentences without their right meaning."),
    ] = None,
    off_topic: Annotated[
        float | None, number(high=1, help="For home: share of sentences that mean nothing.")
    ] = None,
    two_clauses: Annotated[
        float | None, number(high=1, help="For home: share of sentences with two meanings.")
    ] = None,
    conditions: Annotated[
        float | None, number(high=1, help="For home: share of sentences with a condition (nested meanings).")
    ] = None,
    order: Annotated[
        str | None,
        typer.Option(
            show_default="mixed",
            help='For home: conditions come before ("when B, A"), after ("A when B") or mixed.',
        ),
    ] = None,
    omitted: Annotated[
        float | None, number(high=1, help="For home: share of commands that do not mention their room.")
    ] = None,
    unseen: Annotated[
        float | None,
        number(
            high=1, help="For home: share of sentences with names or numbers that never occur in the others."
        ),
    ] = None,
    multiword: Annotated[
        bool | None, typer.Option("--multiword", help="For home: also use names of several words.")
    ] = None,
    numbers: Annotated[
        str | None, typer.Option(show_default="digits", help="For home: digits, words or mixed.")
    ] = None,
    misspelt: Annotated[float | None, number(high=1, help="For home: share of misspelt words.")] = None,
    seed: Annotated[int, number(high=SEEDS, help="Random seed; the same seed gives the same file.")] = 0,
    output: Output = "-",
) -> None:
    """Generate sentences with candidate meanings, as JSONL.

    structsvm simulate sportscast -n 500 > game.jsonl

    structsvm simulate home --off-topic 0.2 --two-clauses 0.1 > home.jsonl
    """
    with told_in_one_sentence("corpora.simulators.by_name") as work:
        work.simulate(
            what, n, output, level=level, missing=missing, off_topic=off_topic, two_clauses=two_clauses,
            conditions=conditions, order=order, omitted=omitted, unseen=unseen, multiword=multiword,
            numbers=numbers, misspelt=misspelt, seed=seed,
        )  # fmt: skip
