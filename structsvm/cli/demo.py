"""`structsvm demo`."""

from __future__ import annotations

import typer

from structsvm.cli.errors import told_in_one_sentence


def demo(seed: int = typer.Option(0, min=0, help="Random seed for the data and the training.")) -> None:
    """Tag a text; train a tagger and a parser on generated data."""
    for part in ("tagging", "parsing"):
        with told_in_one_sentence(f"structsvm.cli.demo_{part}") as work:
            work.demo(seed=seed)
