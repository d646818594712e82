"""The command line: thin functions over importable ones of the same name in `taggers.commands`."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from taggers.console import told_in_one_sentence


class Group(TyperGroup):
    """The commands of this module, and those of `semparse`, imported only when they are asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted([*super().list_commands(ctx), "parse"])

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name != "parse":
            return super().get_command(ctx, cmd_name)
        from semparse.cli import app as parse

        return typer.main.get_command(parse)


app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # importing rich would double the time to start
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Structured-output SVMs: train online, predict fast.",
)

Format = Annotated[str, typer.Option(help="columns, conllu, crfsuite, text, or auto to look.")]
Encoding = Annotated[str, typer.Option(help="Of the files, such as latin-1.")]
Column = Annotated[
    str | None, typer.Option(help="The label column: a number from 0, -1 for the last, upos, xpos ...")
]
Jobs = Annotated[int, typer.Option(min=1, help="Threads.")]


def show_version(asked: bool) -> None:
    if asked:
        import structsvm

        typer.echo(structsvm.__version__)
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(
        False, "--version", callback=show_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Options of all commands."""


@app.command()
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
    inference: Annotated[str | None, typer.Option(help="exact or greedy.")] = None,
    order: Annotated[int | None, typer.Option(help="Labels before that greedy inference looks at.")] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Passes over the data.")] = None,
    c: Annotated[float | None, typer.Option("-C", help="The SVM's C.")] = None,
    reprocess: Annotated[int | None, typer.Option(min=0, help="LaRank's n_R.")] = None,
    cutoff: Annotated[int | None, typer.Option(min=1, help="Drop features seen less often.")] = None,
    labels: Annotated[str | None, typer.Option(help="Scheme to learn in: IOB2, IOBES ... or none.")] = None,
    label_weight: Annotated[
        list[str] | None, typer.Option(help="LABEL=FACTOR, of its loss; again for more.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Repeats to the bit.")] = 0,
    resume: Annotated[str | None, typer.Option(help="Go on from this model.")] = None,
    keep_state: Annotated[bool, typer.Option(help="Save what --resume needs to go on exactly.")] = False,
    keep_names: Annotated[
        bool, typer.Option(help="Keep the names of features, which inspect shows, in the model.")
    ] = False,
    dtype: Annotated[str, typer.Option(help="Of the saved weights: float32, float16 or int8.")] = "float32",
    prune: Annotated[float | None, typer.Option(help="Leave out features with smaller weights.")] = None,
    curve: Annotated[
        str | None, typer.Option(help="Write the training curve (seconds, dual ...) to this file.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="Input columns, such as 0,1; by default all before the labels.")
    ] = None,
    column: Column = None,
    format: Format = "auto",
    encoding: Encoding = "utf-8",
    jobs: Jobs = 1,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Say nothing but errors.")] = False,
) -> None:
    """Train a tagger: structsvm train chunk train.txt --dev dev.txt -o chunk.ssvm"""
    with told_in_one_sentence():
        from taggers import commands
        from taggers.layout import column_number
        from taggers.progress import Progress

        if task not in commands.TASKS:
            raise ValueError(f"{task!r} is none of {', '.join(commands.TASKS)}")
        with Progress(shown=not quiet and sys.stderr.isatty()) as progress:
            tagger = commands.train(
                task, file, output, dev=dev, resume=resume, template=template, algorithm=algorithm,
                inference=inference, order=order, epochs=epochs, C=c, reprocess=reprocess, cutoff=cutoff,
                labels=labels, random_state=seed,
                label_weight=weights_of(label_weight), jobs=jobs, keep_state=keep_state,
                keep_names=keep_names or None, curve=curve,
                inputs=[column_number(part) for part in columns.split(",")] if columns else None,
                label=None if column is None else column_number(column), format=format, encoding=encoding,
                save_options={"dtype": dtype, "prune": prune}, callback=progress,
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


@app.command()
def tag(
    model: Annotated[str, typer.Argument(help="A model file.")],
    file: Annotated[str, typer.Argument(help="Sentences to label; - for standard input.")] = "-",
    output: Annotated[
        str, typer.Option("-o", "--output", help="Where to write; - for standard output.")
    ] = "-",
    nbest: Annotated[int, typer.Option(min=1, help="Append the n best labellings, a column each.")] = 1,
    scores: Annotated[
        bool,
        typer.Option(help="Append the margin of each label; with --nbest, the score of each labelling."),
    ] = False,
    replace: Annotated[
        bool, typer.Option(help="Write over the label column rather than append one.")
    ] = False,
    column: Column = None,
    format: Format = "auto",
    encoding: Encoding = "utf-8",
    jobs: Jobs = 1,
) -> None:
    """Label a file, every other byte kept: structsvm tag chunk.ssvm input.txt > output.txt"""
    with told_in_one_sentence():
        from taggers import commands
        from taggers.layout import column_number

        commands.tag(
            model, file, output, nbest=nbest, scores=scores, replace=replace, format=format,
            encoding=encoding, jobs=jobs,
            label=None if column is None else column_number(column),
        )  # fmt: skip


@app.command()
def evaluate(
    model: Annotated[
        str,
        typer.Argument(help="A model file; or, alone, a file whose last two columns are gold and predicted."),
    ],
    file: Annotated[str | None, typer.Argument(help="Labelled sentences.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="All numbers as JSON.")] = False,
    strict: Annotated[
        str | None, typer.Option(help="Count only phrases that are in place in this scheme, as IOB2.")
    ] = None,
    column: Column = None,
    format: Format = "auto",
    encoding: Encoding = "utf-8",
    jobs: Jobs = 1,
) -> None:
    """Compare labels with gold ones, as conlleval does: structsvm evaluate chunk.ssvm test.txt"""
    with told_in_one_sentence():
        from taggers import commands
        from taggers.layout import column_number

        label = None if column is None else column_number(column)
        models, data = (None, model) if file is None else (model, file)
        result = commands.evaluate(
            models, data, label=label, format=format, encoding=encoding, strict=strict, jobs=jobs
        )
        if as_json:
            print(json.dumps(result.as_dict(), indent=1))
            return
        if result.types:
            print(result.report(), end="")
            return
        shares = {
            "tokens": result.tokens,
            "sentences": result.sequences,
            "known words": result.known,
            "unknown": result.unknown,
        }
        for name, share in shares.items():
            if share is not None:
                print(f"{name:12} {100 * share.accuracy:6.2f}%  {share.correct} of {share.total}")


@app.command()
def inspect(
    model: Annotated[str, typer.Argument(help="A model file.")],
    top: Annotated[int, typer.Option(min=0, help="How many transitions and features.")] = 20,
    names: Annotated[
        str | None,
        typer.Option(help="A file (such as the training data) to name features by that were not kept."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Show what a model holds: structsvm inspect chunk.ssvm --names train.txt"""
    with told_in_one_sentence():
        from taggers import commands

        found = commands.inspect(model, top=top, names=names)
        if as_json:
            print(json.dumps(found, indent=1))
            return
        for key, value in found.items():
            if key not in ("transitions", "strongest"):
                print(f"{key:15} {' '.join(map(str, value)) if isinstance(value, list) else value}")
        for key in ("transitions", "strongest"):
            print(f"\n{key}:")
            if key == "strongest" and any(name.startswith("#") for name, _, _ in found[key]):
                print("(#row: without a name; give --names FILE, or train with --keep-names)")
            for name, label, weight in found[key]:
                print(f"{weight:10.4f}  {name}  ->  {label}")


@app.command()
def convert(
    file: Annotated[str, typer.Argument(help="Labelled sentences; - for standard input.")],
    to: Annotated[str, typer.Option(help="IOB1, IOB2, IOBES or BILUO.")],
    output: Annotated[
        str, typer.Option("-o", "--output", help="Where to write; - for standard output.")
    ] = "-",
    source: Annotated[
        str | None, typer.Option("--from", help="The scheme of the file; by default what fits best.")
    ] = None,
    column: Column = None,
    format: Format = "auto",
    encoding: Encoding = "utf-8",
) -> None:
    """Write labels in another scheme: structsvm convert train.txt --to IOBES > train.iobes"""
    with told_in_one_sentence():
        from taggers import commands
        from taggers.layout import column_number

        label = -1 if column is None else column_number(column)
        repaired = commands.convert(
            file, output, to=to, source=source, label=label, format=format, encoding=encoding
        )
        if repaired:
            print(f"{repaired} labels were out of place and have been repaired", file=sys.stderr)


@app.command()
def simulate(
    what: Annotated[str, typer.Argument(help="house, child-world or sportscast.")],
    n: Annotated[int, typer.Option("-n", min=1, help="Sentences.")] = 1000,
    level: Annotated[
        int | None,
        typer.Option(min=0, help="Wrong meanings beside the right one, on average; not of sportscast."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Repeats to the letter.")] = 0,
    output: Annotated[
        str, typer.Option("-o", "--output", help="Where to write; - for standard output.")
    ] = "-",
) -> None:
    """Make sentences with candidate meanings, as JSONL: structsvm simulate sportscast -n 500 > game.jsonl"""
    with told_in_one_sentence():
        from corpora.simulate import simulate as make

        make(what, n, output, level=level, seed=seed)


@app.command()
def demo(seed: int = typer.Option(0, min=0, help="Seed of the data and of the training.")) -> None:
    """Train every optimizer on generated data, and a semantic parser on a simulated sportscast."""
    from semparse.demo import demo as parse_sentences
    from taggers.demo import demo as compare_optimizers

    compare_optimizers(seed=seed)
    print()
    parse_sentences(seed=seed)


def main() -> None:
    """Entry point of the `structsvm` command."""
    app()
