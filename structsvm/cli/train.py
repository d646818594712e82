"""`structsvm train`, with the options of `taggers.options` and options for files."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import Annotated, Any

import typer
import typer.core

from structsvm.cli.errors import Column, Columns, Encoding, Format, Quiet, counted, told_in_one_sentence
from structsvm.cli.flags import given, with_flags
from structsvm.options import check_rules
from taggers.options import OPTIONS, TASKS, TaggerOptions, TrainOptions, defaults

ALL = TrainOptions.OPTIONS | TaggerOptions.OPTIONS


class TrainCommand(typer.core.TyperCommand):
    """Show the defaults of each task at the end of the help."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        table = [("", list(TASKS))]
        for option in OPTIONS:
            if option.defaults is not None and option.flag:
                table.append((option.flag, [str(option.value(*defaults(task))) for task in TASKS]))
        own = {option.name: (option.defaults or {}).get("greedy") for option in OPTIONS}
        greedy = ", ".join(f"{name} {value}" for name, value in own.items() if value is not None)
        with formatter.section(f"Defaults by task (for greedy inference: {greedy})"):
            for flag, values in table:
                formatter.write(f"  {flag:14}{''.join(f'{value:10}' for value in values).rstrip()}\n")


def train(
    task: Annotated[
        str,
        typer.Argument(
            help="pos, morph, chunk, ner, label for anything else, lemma, parse for dependency trees, or ud "
            "for UPOS, XPOS, FEATS, lemmas and trees."
        ),
    ],
    files: Annotated[
        list[str], typer.Argument(help="Labelled sentences, in one or several files; - for standard input.")
    ],
    output: Annotated[str, typer.Option("-o", "--output", help="The model file to write.")],
    layers: Annotated[
        str | None,
        typer.Option(
            help="With ud: the layers to train, such as upos,morph,lemma; by default split, upos, morph, "
            "lemma and parse."
        ),
    ] = None,
    search: Annotated[
        str | None,
        typer.Option(
            help="With ud and parse: the search for trees, which is greedy (the default), exact (the best "
            "tree without crossing arcs) or accurate (the slowest)."
        ),
    ] = None,
    columns: Columns = None,
    column: Column = None,
    format: Format = "auto",
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
    **options: Any,
) -> None:
    """Train a tagger on a labelled file.

    structsvm train chunk train.txt --dev dev.txt -o chunk.ssvm

    structsvm train ner news.conll letters.jsonl -o ner.ssvm

    The tasks ud, lemma and parse take only -o, --dtype, --prune, --seed, --encoding and -q; ud and parse
    also take --search and --jobs, and ud also takes --dev and --layers.
    """
    with told_in_one_sentence("taggers.commands") as commands:
        from structsvm.cli.progress import Progress
        from taggers.conflicts import LAYERED
        from taggers.formats.registry import column_choice

        check_rules(LAYERED, task=task, layers=layers, search=search)
        options = given(options)
        if task in ("ud", "lemma", "parse"):
            named = {"--columns": columns, "--column": column, "--format": format}
            if len(files) > 1:
                raise ValueError(f"train {task} learns from one file; join {len(files)} files first")
            train_layers(task, commands, files[0], output, layers, search, encoding, quiet, named, options)
            return
        with closing(Progress(shown=not quiet and sys.stderr.isatty())) as progress:
            tagger = commands.train(
                task, files, output, format=format, encoding=encoding, callback=progress, **options,
                inputs=None if columns is None else columns.split(","),
                label=None if column is None else column_choice(column),
            )  # fmt: skip
        if not quiet:
            found = {name: bool(options[name]) for name in ("fit_bias", "calibrate")}
            print(progress.summary(tagger, output, **found), file=sys.stderr)


def train_layers(
    task: str, commands: Any, file: str, output: str, layers: str | None, search: str | None, encoding: str,
    quiet: bool, named: dict[str, Any], options: dict[str, Any],
) -> None:  # fmt: skip
    """Train a pipeline; refuse options of single taggers."""
    from structsvm.cli.progress import Progress

    taken = {name: options.pop(name) for name in ("dtype", "prune", "random_state")}
    dev = options.pop("dev") if task == "ud" else None
    jobs = None if task == "lemma" else options.pop("jobs")
    threads = {} if jobs is None else {"jobs": jobs}
    given = [ALL[name].flag for name, value in options.items() if value is not None]
    given += [flag for flag, value in named.items() if value not in (None, "auto", "conllu")]
    if given:
        raise ValueError(f"{given[0]} is not available for train {task}; leave it out")
    with closing(Progress(shown=not quiet and sys.stderr.isatty())) as progress:
        common = {
            "encoding": encoding, "dtype": taken["dtype"] or "float32", "prune": taken["prune"],
            "random_state": taken["random_state"] or 0, "callback": progress,
        }  # fmt: skip
        if task == "lemma":
            pipeline = commands.train_lemma(file, output, **common)
        elif task == "parse":
            pipeline = commands.train_parse(file, output, search=search, **threads, **common)
        else:
            if layers is not None:
                common["layers"] = [name.strip() for name in layers.split(",")]
            pipeline = commands.train_ud(file, output, dev=dev, search=search, **threads, **common)
    if not quiet:
        report = pipeline.report
        size = f"{counted(report['sentences'], 'sentence')}, {counted(report['tokens'], 'token')}"
        if task == "lemma":  # each word counts once
            size = counted(report["tokens"], "different word")
        bare = task == "ud" and pipeline.parser is None and (layers is None or "parse" in layers)
        print(
            f"{output}: {size}, columns {', '.join(pipeline.parts)}{' (HEAD is empty: no trees)' * bare}, "
            f"{progress.seconds:.2f} s",
            file=sys.stderr,
        )
        if dev is not None:
            found = commands.evaluate_any(pipeline, dev, encoding=encoding)
            told = [f"{name} {100 * one.accuracy:.2f}" for name, one in found.items()]
            print(f"{dev}: accuracy {', '.join(told)}", file=sys.stderr)
            trees = commands.evaluate_ud(pipeline, dev, encoding=encoding)
            if trees:
                told = [f"{name} {one.f1:.2f}" for name, one in trees.items()]
                print(f"{dev}: trees {', '.join(told)}", file=sys.stderr)


command = with_flags(train, ALL.values())
