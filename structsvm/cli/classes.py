"""`structsvm classes`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from structsvm.cli.errors import Encoding, Quiet, number, told_in_one_sentence


def classes(
    files: Annotated[list[str], typer.Argument(help="Plain or gzipped text; - for standard input.")],
    output: Annotated[str, typer.Option("-o", "--output", help="The file of word classes to write.")],
    n_classes: Annotated[int, number(low=2, high=60_000, help="The number of classes.")] = 500,
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
) -> None:
    """Learn word classes from raw text.

    structsvm classes raw.txt.gz -o classes.tsv

    structsvm train ner train.txt --classes classes.tsv -o ner.ssvm

    Each line of the output has the class of a word, the word in lower case and its count, as in Brown
    clusters. A class is a path in a binary tree; its prefixes are larger classes. Memory does not grow with
    the text. train --text FILE does both steps at once.
    """
    with told_in_one_sentence("taggers.commands") as commands:
        shown = not quiet and sys.stderr.isatty()

        def progress(tokens: int) -> None:
            print(f"\r{tokens:,} tokens", end="", file=sys.stderr, flush=True)

        found = commands.classes(
            files, output, n_classes=n_classes, encoding=encoding, progress=progress if shown else None
        )
        if not quiet:
            few = found["classes"] < n_classes
            fewer = f" (not {n_classes:,}: the text has too few words)" * few
            print(
                f"{chr(13) * shown}{output}: {found['words']:,} words in {found['classes']:,} classes"
                f"{fewer}, from {found['tokens']:,} tokens", file=sys.stderr,
            )  # fmt: skip
