"""The command line: thin functions over importable ones of the same name in `taggers.commands`."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperGroup

from structsvm.cli.errors import (
    Column,
    Encoding,
    Format,
    Jobs,
    Output,
    counted,
    no_more_output,
    sentence,
    told_in_one_sentence,
)
from structsvm.cli.train import TrainCommand, train, with_flags


class Group(TyperGroup):
    """The commands of this module, and those of other packages, imported only when they are asked for."""

    ELSEWHERE: ClassVar[dict[str, str]] = {"parse": "structsvm.cli.parse"}

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted([*super().list_commands(ctx), *self.ELSEWHERE])

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.ELSEWHERE:
            return super().get_command(ctx, cmd_name)
        return typer.main.get_command(import_module(self.ELSEWHERE[cmd_name]).app)


app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # importing rich would double the time to start
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Structured-output SVMs: train online, predict fast.",
)


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


app.command(cls=TrainCommand)(with_flags(train))


@app.command()
def tag(
    model: Annotated[str, typer.Argument(help="A model file, or en-pos: English parts of speech.")],
    file: Annotated[str, typer.Argument(help="Sentences to label; - for standard input.")] = "-",
    output: Output = "-",
    nbest: Annotated[
        int,
        typer.Option(
            min=1, help="Append the n best labellings, a column each; needs a model with exact inference."
        ),
    ] = 1,
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
    """Label the tokens of a file, every other byte kept.

    structsvm tag chunk.ssvm input.txt > output.txt

    A margin is by how much the best labelling of the sentence beats the best one that has another label at
    this token: near 0, the label is in doubt (with greedy inference: by how much it beats the second label);
    inf, no other label is possible there. In CoNLL-U it stands in MISC, as Margin=0.87.
    """
    with told_in_one_sentence("taggers.commands") as commands:
        from taggers.formats.registry import column_number

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
    """Compare labels with gold ones, as conlleval does.

    structsvm evaluate chunk.ssvm test.txt

    structsvm evaluate tagged.txt
    """
    with told_in_one_sentence("taggers.commands") as commands:
        from taggers.formats.registry import column_number

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
    html: Annotated[str | None, typer.Option(help="Write one self-contained page to this file.")] = None,
    test: Annotated[str | None, typer.Option(help="Labelled sentences; the page shows the errors.")] = None,
) -> None:
    """Show what a model holds and has learned.

    structsvm inspect chunk.ssvm --names train.txt

    structsvm inspect chunk.ssvm --names train.txt --html report.html --test test.txt

    features and weights: how many of them the model has. transitions: what a label says of the next one.
    strongest: what a feature says of a label.
    """
    with told_in_one_sentence("taggers.commands") as commands:
        if test is not None and html is None:
            raise ValueError("--test is for the page that --html writes; see also: structsvm evaluate")
        found = commands.inspect(model, top=top, names=names, html=html, test=test)
        if html is not None:
            return
        if as_json:
            print(json.dumps(found, indent=1))
            return
        found["training"].pop("curve", None)  # for --json and --html
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
    output: Output = "-",
    source: Annotated[
        str | None, typer.Option("--from", help="The scheme of the file; by default what fits best.")
    ] = None,
    column: Column = None,
    format: Format = "auto",
    encoding: Encoding = "utf-8",
) -> None:
    """Write labels in another scheme.

    structsvm convert train.txt --to IOBES > train.iobes
    """
    with told_in_one_sentence("taggers.commands") as commands:
        from taggers.formats.registry import column_number

        label = -1 if column is None else column_number(column)
        repaired = commands.convert(
            file, output, to=to, source=source, label=label, format=format, encoding=encoding
        )
        if repaired:
            was = "was out of place and has" if repaired == 1 else "were out of place and have"
            print(f"{counted(repaired, 'label')} {was} been repaired", file=sys.stderr)


@app.command()
def simulate(
    what: Annotated[str, typer.Argument(help="house, child-world or sportscast.")],
    n: Annotated[int, typer.Option("-n", min=1, help="Sentences.")] = 1000,
    level: Annotated[
        int | None,
        typer.Option(min=0, help="Wrong meanings beside the right one, on average; not of sportscast."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Repeats to the letter.")] = 0,
    output: Output = "-",
) -> None:
    """Make sentences with candidate meanings, as JSONL.

    structsvm simulate sportscast -n 500 > game.jsonl
    """
    with told_in_one_sentence("corpora.simulators.by_name") as work:
        work.simulate(what, n, output, level=level, seed=seed)


@app.command()
def demo(seed: int = typer.Option(0, min=0, help="Seed of the data and of the training.")) -> None:
    """Tag a text; train a tagger and a parser on generated data."""
    for part in ("tagging", "parsing"):
        with told_in_one_sentence(f"structsvm.cli.demo_{part}") as work:
            work.demo(seed=seed)


def main() -> None:
    """Run the command line; `structsvm.cli.entry` is where it begins."""
    try:
        app()
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # of --help and --version, for which typer has 1
            sys.exit(141)
        raise
    except OSError as error:  # of --help and --version: the commands tell their own
        print(f"error: {sentence(error)}", file=sys.stderr)
        no_more_output()
        sys.exit(1)
