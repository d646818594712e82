"""`structsvm distil`, with the options of `taggers.options`."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from structsvm.cli.errors import Encoding, Format, Quiet, counted, told_in_one_sentence
from structsvm.cli.flags import given, with_flags
from taggers.options import OPTIONS

LEFT_OUT = ("gazetteers", "fold_gazetteers", "shards", "jobs")


def distil(
    task: Annotated[str, typer.Argument(help="ner, chunk, pos or label.")],
    raw: Annotated[str, typer.Argument(help="Raw text; - for standard input.")],
    output: Annotated[str, typer.Option("-o", "--output", help="The model file to write.")],
    gazetteer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TYPE=FILE", help="A list of names of one type, one per line. Repeat it for more."
        ),
    ] = None,
    phrases: Annotated[
        str | None,
        typer.Option(
            help="A list of all phrases that may be names, of unknown type. Tokens in no list are then O."
        ),
    ] = None,
    patterns: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="Patterns of spaCy's EntityRuler (JSON lines).")
    ] = None,
    regex: Annotated[
        list[str] | None,
        typer.Option(metavar="TYPE=EXPRESSION", help="A regular expression over tokens joined by spaces."),
    ] = None,
    teacher: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A model file, or spacy:NAME for a pipeline of spaCy."),
    ] = None,
    annotators: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Labels of the same text by an annotator or a language model."),
    ] = None,
    column: Annotated[
        str | None,
        typer.Option(
            help="Label columns of the annotators, such as 1,2,3; each is a source. By default the last one."
        ),
    ] = None,
    gold: Annotated[
        str | None, typer.Option(help="A few labelled sentences, to rate the sources and to learn.")
    ] = None,
    cache: Annotated[
        str | None, typer.Option(help="Save the answers of teachers here, so that each answers only once.")
    ] = None,
    report: Annotated[
        str | None, typer.Option(help="Write a page about the sources and what the tagger learned.")
    ] = None,
    merged: Annotated[
        str | None,
        typer.Option(help="Write the merged labels of all sources with their probabilities (JSON lines)."),
    ] = None,
    format: Format = "auto",
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
    **options: Any,
) -> None:
    """Train a tagger on raw text with lists, rules, other models and annotators.

    structsvm distil ner raw.txt --gazetteer PER=people.txt --gazetteer LOC=places.txt -o ner.ssvm

    Each source labels the text. The command estimates which sources are right and which names the lists
    lack, and trains a tagger; doubtful tokens keep several labels.
    """
    with told_in_one_sentence("taggers.commands.distil") as commands:
        from taggers.formats.registry import column_choice

        def told(what: str, count: int) -> None:
            print(f"\r{what}: {count}    ", end="", file=sys.stderr, flush=True)

        shown = sys.stderr.isatty() and not quiet
        done = commands.distil(
            task, raw, output, gazetteers=gazetteer or (), phrases=phrases, patterns=patterns or (),
            regexes=regex or (), teachers=teacher or (), annotators=annotators or (),
            columns=[] if column is None else list(map(column_choice, column.split(","))), gold=gold,
            cache=cache, report=report, merged=merged, format=format, encoding=encoding,
            told=told if shown else None, **given(options),
        )  # fmt: skip
        if not quiet:
            print("\r" * shown + "\n".join(done.summary()), file=sys.stderr)
            print(f"{output}: learned {counted(len(done.X), 'sentence')}", file=sys.stderr)


command = with_flags(distil, [one for one in OPTIONS if one.name not in LEFT_OUT])
