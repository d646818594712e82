"""`structsvm train`, with the options of `taggers.options` and options for files."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import Annotated, Any

import typer
import typer.core

from structsvm.cli.errors import (
    Column,
    Columns,
    Encoding,
    Format,
    Quiet,
    counted,
    number,
    told_in_one_sentence,
)
from structsvm.cli.flags import given, with_flags
from taggers.options import OPTIONS, TASKS, defaults


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
            help="pos, morph, chunk, ner, label for anything else, lemma, or ud for UPOS, XPOS, FEATS and "
            "lemmas."
        ),
    ],
    file: Annotated[str, typer.Argument(help="Labelled sentences; - for standard input.")],
    output: Annotated[str, typer.Option("-o", "--output", help="The model file to write.")],
    dev: Annotated[
        str | None,
        typer.Option(
            help="Held-out file: keep the model of the best epoch, and stop when the score gets worse. "
            "For ner without --memory and --cluster, also train with greedy inference and IOB2, and keep the "
            "better model; this takes about twice as long."
        ),
    ] = None,
    resume: Annotated[str | None, typer.Option(help="Resume the training of this model.")] = None,
    keep_state: Annotated[
        bool, typer.Option("--keep-state", help="Save the training state, so that training resumes exactly.")
    ] = False,
    dtype: Annotated[
        str, typer.Option(help="Type of the saved weights: float32, float16 or int8, the smallest.")
    ] = "float32",
    prune: Annotated[
        float | None,
        number(help="Drop weights of this magnitude or less, and features left without weights."),
    ] = None,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Calibrate the probabilities of labels on the --dev file.")
    ] = False,
    fit_bias: Annotated[
        bool, typer.Option("--fit-bias", help="Find the bias of O with the best F1 on the --dev file.")
    ] = False,
    curve: Annotated[
        str | None, typer.Option(help="Write the training curve (seconds, dual, ...) to this file.")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            help="Train on a Dask cluster: the address of its scheduler, such as tcp://host:8786, or local:4 "
            "for 4 processes on this machine. The file can be a quoted pattern, such as 'part-*.conll.gz'. "
            "The model depends on the number of threads of the cluster unless you set --shards."
        ),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            help="With --cluster: save every round in this folder; the same command continues a "
            "training that was stopped."
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            help="Train in about this much memory, such as 200M, on a file of any size. Slices of the file "
            "are kept in the folder for temporary files."
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

    The tasks ud and lemma take only -o, --dtype, --prune, --seed, --encoding and -q; ud also takes --dev.
    """
    with told_in_one_sentence("taggers.commands") as commands:
        from structsvm.cli.progress import Progress
        from taggers.formats.registry import column_number, column_numbers

        if task in ("ud", "lemma"):
            train_layers(task, commands, file, output, dev, encoding, dtype, prune, options, quiet, {
                "--dev": dev if task == "lemma" else None, "--resume": resume,
                "--keep-state": keep_state or None, "--curve": curve, "--calibrate": calibrate or None,
                "--fit-bias": fit_bias or None, "--cluster": cluster, "--memory": memory,
                "--checkpoint": checkpoint,
                "--columns": columns, "--column": column,
                "--format": None if format in ("auto", "conllu") else format,
            })  # fmt: skip
            return
        options = given(options)
        with closing(Progress(shown=not quiet and sys.stderr.isatty())) as progress:
            tagger = commands.train(
                task, file, output, dev=dev, resume=resume, keep_state=keep_state, curve=curve,
                inputs=None if columns is None else [column_number(part) for part in columns.split(",")],
                label=None if column is None else column_numbers(column), format=format, encoding=encoding,
                dtype=dtype, prune=prune, calibrate=calibrate, fit_bias=fit_bias, cluster=cluster,
                checkpoint=checkpoint, memory=memory, callback=progress, **options,
            )  # fmt: skip
        if not quiet:
            print(progress.summary(tagger, output, fit_bias=fit_bias, calibrate=calibrate), file=sys.stderr)


def train_layers(
    task: str, commands: Any, file: str, output: str, dev: str | None, encoding: str, dtype: str,
    prune: float | None, options: dict[str, Any], quiet: bool, other: dict[str, Any],
) -> None:  # fmt: skip
    """Train a pipeline; refuse options of single taggers."""
    from structsvm.cli.progress import Progress

    seed = options.pop("random_state", None)
    flags = {option.name: option.flag for option in OPTIONS}
    given = [flags[name] for name, value in options.items() if value not in (None, [])]
    given += [flag for flag, value in other.items() if value is not None]
    if given:
        raise ValueError(f"{given[0]} is not available for train {task}; leave it out")
    with closing(Progress(shown=not quiet and sys.stderr.isatty())) as progress:
        common = {
            "encoding": encoding, "dtype": dtype, "prune": prune, "random_state": seed or 0,
            "callback": progress,
        }  # fmt: skip
        if task == "lemma":
            pipeline = commands.train_lemma(file, output, **common)
        else:
            pipeline = commands.train_ud(file, output, dev=dev, **common)
    if not quiet:
        report = pipeline.first.report
        size = f"{counted(report['sentences'], 'sentence')}, {counted(report['tokens'], 'token')}"
        if task == "lemma":  # each word counts once
            size = counted(report["tokens"], "different word")
        print(
            f"{output}: {size}, columns {', '.join(pipeline.parts)}, {progress.seconds:.2f} s",
            file=sys.stderr,
        )  # fmt: skip
        if dev is not None:
            found = commands.evaluate_any(pipeline, dev, encoding=encoding)
            told = [f"{name} {100 * one.accuracy:.2f}" for name, one in found.items()]
            print(f"{dev}: accuracy {', '.join(told)}", file=sys.stderr)


command = with_flags(train, OPTIONS)
