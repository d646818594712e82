"""`structsvm train`."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
import typer.core

from structsvm.cli.errors import Column, Encoding, Format, Jobs, told_in_one_sentence


class TrainCommand(typer.core.TyperCommand):
    """Tells at the end of its help what each task has by default."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        from taggers.commands import TASKS

        taggers = {task: make() for task, make in TASKS.items()}
        names = [name for name in taggers["label"].DEFAULTS if name != "constrained"]
        rows = [(name, [str(taggers[task]._setting(name)) for task in taggers]) for name in names]
        with formatter.section("Defaults by task (for greedy inference: order 2, reprocess 1)"):
            for name, values in [("", list(taggers)), *rows]:
                option = {"C": "-C", "": ""}.get(name, f"--{name}")
                formatter.write(f"  {option:14}{''.join(f'{value:10}' for value in values).rstrip()}\n")


def train(
    task: Annotated[str, typer.Argument(help="pos, chunk, ner, or label for anything else.")],
    file: Annotated[str, typer.Argument(help="Labelled sentences; - for standard input.")],
    output: Annotated[str, typer.Option("-o", "--output", help="The model file to write.")],
    dev: Annotated[
        str | None, typer.Option(help="Held-out file: keep the best pass, stop when it gets worse.")
    ] = None,
    template: Annotated[
        str | None,
        typer.Option(
            help="conll2000, pos, chunk, ner, label, a file (ours, or CRF++'s), or patterns, such as "
            "'w[-1..1], w[-1]|w[0], y[-1]|w[0]', the last of which joins the label before with the word."
        ),
    ] = None,
    algorithm: Annotated[str | None, typer.Option(help="larank, pa, perceptron or svmstruct.")] = None,
    inference: Annotated[
        str | None, typer.Option(help="exact (Viterbi) or greedy (label by label; several times faster).")
    ] = None,
    order: Annotated[
        int | None, typer.Option(min=0, help="How many labels before greedy inference looks at.")
    ] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Passes over the data.")] = None,
    c: Annotated[
        float | None, typer.Option("-C", help="The SVM's C: larger fits the training data more closely.")
    ] = None,
    reprocess: Annotated[
        int | None, typer.Option(min=0, help="LaRank's n_R: how often old examples are worked on again.")
    ] = None,
    cutoff: Annotated[int | None, typer.Option(min=1, help="Drop features seen less often.")] = None,
    labels: Annotated[
        str | None, typer.Option(help="Scheme to learn in: IOB1, IOB2, IOBES, BILUO; none: as they are.")
    ] = None,
    label_weight: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LABEL=FACTOR", help="What missing this label (or type) costs; again for more labels."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Repeats to the bit.")] = 0,
    resume: Annotated[str | None, typer.Option(help="Go on from this model.")] = None,
    keep_state: Annotated[
        bool, typer.Option("--keep-state", help="Save what --resume needs to go on exactly.")
    ] = False,
    keep_names: Annotated[
        bool, typer.Option("--keep-names", help="Save the names of features, which inspect then shows.")
    ] = False,
    dtype: Annotated[
        str, typer.Option(help="Of the saved weights: float32, float16 or int8, the smallest.")
    ] = "float32",
    prune: Annotated[
        float | None, typer.Option(min=0, help="Leave out weights this small, and features without others.")
    ] = None,
    curve: Annotated[
        str | None, typer.Option(help="Write the training curve (seconds, dual ...) to this file.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="Input columns, such as 0,1; by default all but that of the labels.")
    ] = None,
    column: Column = None,
    format: Format = "auto",
    encoding: Encoding = "utf-8",
    jobs: Jobs = 1,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Say nothing but errors.")] = False,
) -> None:
    """Train a tagger on a labelled file.

    structsvm train chunk train.txt --dev dev.txt -o chunk.ssvm
    """
    with told_in_one_sentence("taggers.commands") as commands:
        from structsvm.cli.progress import Progress
        from taggers.formats.layout import column_number

        with Progress(shown=not quiet and sys.stderr.isatty()) as progress:
            tagger = commands.train(
                task, file, output, dev=dev, resume=resume, template=template, algorithm=algorithm,
                inference=inference, order=order, epochs=epochs, C=c, reprocess=reprocess, cutoff=cutoff,
                labels=labels, random_state=seed,
                label_weight=weights_of(label_weight), jobs=jobs, keep_state=keep_state,
                keep_names=keep_names or None, curve=curve,
                inputs=[column_number(part) for part in columns.split(",")] if columns else None,
                label=None if column is None else column_number(column), format=format, encoding=encoding,
                dtype=dtype, prune=prune, callback=progress,
            )  # fmt: skip
        if not quiet:
            print(progress.summary(tagger, output), file=sys.stderr)


def weights_of(pairs: list[str] | None) -> dict[str, float] | None:
    """{label: factor} from LABEL=FACTOR."""
    weights = {}
    for pair in pairs or ():
        name, _, value = pair.rpartition("=")
        try:
            weights[name] = float(value)
        except ValueError:
            raise ValueError(f"--label-weight {pair!r} is not LABEL=FACTOR") from None
    return weights or None
