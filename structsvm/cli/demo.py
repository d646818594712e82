"""`structsvm demo`."""

from __future__ import annotations

from typing import Annotated

from structsvm.cli.errors import SEEDS, number, told_in_one_sentence


def demo(
    seed: Annotated[int, number(high=SEEDS, help="Random seed for the data and the training.")] = 0,
) -> None:
    """Tag a text, find its names, and train a chunker and a parser."""
    for part in ("tagging", "parsing"):
        with told_in_one_sentence(f"structsvm.cli.demo_{part}") as work:
            work.demo(seed=seed)
