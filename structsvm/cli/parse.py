"""The commands `structsvm parse ...`: each calls the function of the same name in `semparse.commands`."""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer

from semparse.options import OPTIONS
from structsvm.cli import parse_inspect
from structsvm.cli.errors import (
    AllowHost,
    Host,
    Port,
    Quiet,
    counted,
    number,
    service_token,
    told_in_one_sentence,
)
from structsvm.cli.flags import with_flags
from structsvm.cli.parse_options import Format, Model, Output, Parts, Salience, Threshold
from structsvm.cli.teach import Annotator, Journal, Merge, NoBrowser, Random, run

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Train and apply a semantic parser.",
    context_settings={"help_option_names": ["-h", "--help"]},
)

for command in (parse_inspect.windows, parse_inspect.schema, parse_inspect.lexicon, parse_inspect.explain):
    app.command()(command)


@contextlib.contextmanager
def progress(quiet: bool) -> Iterator[Callable[[int, int], Any] | None]:
    """Show a progress bar on stderr if it is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from structsvm.cli.progress import sentence_bar

    with sentence_bar() as bar:

        def show(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield show


def train(
    files: Annotated[list[str], typer.Argument(help="Sentences with candidates; - for standard input.")],
    output: Annotated[str, typer.Option("-o", "--output", help="The model file to write.")],
    resume: Annotated[str | None, typer.Option(help="Resume the training of this model.")] = None,
    format: Format = None,
    quiet: Quiet = False,
    **options: Any,
) -> None:
    """Train a parser.

    structsvm parse train game.jsonl -o game.ssvm
    """
    with told_in_one_sentence("semparse.commands") as commands:
        if options["features"] is not None:
            options["features"] = _listed(options["features"])
        with progress(quiet) as bar:
            parser, bags = commands.train(
                files, output, resume=resume, format=format, progress=bar, **options
            )  # fmt: skip
        if not quiet:
            known = parser.schema_
            symbols = len(set().union(known.relations, *known.types.values()))
            candidates = counted(sum(len(bag.candidates) for bag in bags), "candidate")
            seen = f"{counted(len(bags), 'sentence')} with {candidates}"
            counts = ", ".join([
                counted(len(known.relations), "relation"), counted(symbols, "symbol"),
                counted(len(parser.lexicon()), "word"),
            ])  # fmt: skip
            of_use = [bag for bag in bags if bag.candidates or bag.wrong]
            empty = len(bags) - sum(bool(commands.as_tokens(bag.sentence)) for bag in of_use)
            done = "skipped" if parser.empty_bags == "skip" else "learned no meaning for"
            skipped = f"; {done} {counted(empty, 'sentence')} without candidates or words" if empty else ""
            print(f"{output}: learned {counts} from {seen}{skipped}", file=sys.stderr)
            estimates = ", ".join(f"--{name} {value:g}" for name, value in parser.estimates_.items())
            if estimates:
                print(f"estimated from the sentences: {estimates}", file=sys.stderr)
            if parser.opened_:
                print(f"copies new names like those of {', '.join(parser.opened_)}", file=sys.stderr)
            for doubt in parser.doubts_:
                print(f"doubtful: {doubt}", file=sys.stderr)


app.command()(with_flags(train, OPTIONS))


def _listed(names: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in names.split(",") if name.strip() not in ("", "none"))


@app.command()
def apply(
    model: Model,
    file: Annotated[
        str, typer.Argument(help="Sentences, one per line, or JSONL; - for standard input.")
    ] = "-",
    output: Output = "-",
    n: Annotated[int, number("-n", low=1, high=1000, help="Number of meanings per sentence.")] = 1,
    show: Annotated[
        str,
        typer.Option(help="Output: mr (text TAB mr;mr), json, picture (for the terminal) or html (a page)."),
    ] = "mr",
    threshold: Threshold = None,
    format: Format = None,
) -> None:
    """Parse sentences.

    echo "purple3 feeds purple7" | structsvm parse apply game.ssvm --show picture
    """
    with told_in_one_sentence("semparse.commands") as commands:
        width = shutil.get_terminal_size().columns if output == "-" and sys.stdout.isatty() else None
        commands.apply(model, file, output, n=n, show=show, width=width, threshold=threshold, format=format)


@app.command()
def serve(model: Model, host: Host = "127.0.0.1", port: Port = 9090, allow_host: AllowHost = None) -> None:
    """Parse sentences over HTTP.

    structsvm parse serve game.ssvm

    The service prints its address, which ends in a random token; requests without the token are refused. Set
    the environment variable STRUCTSVM_TOKEN to keep the token across restarts.
    """
    with told_in_one_sentence("semparse.serve", extra="serve") as work:
        work.serve(model, host=host, port=port, allow_hosts=allow_host or (), token=service_token())


@app.command()
def match(
    model: Model,
    file: Annotated[str, typer.Argument(help="Sentences with candidates; - for standard input.")] = "-",
    output: Output = "-",
    parts: Parts = None,
    salience: Salience = None,
    format: Format = None,
) -> None:
    """Find the candidate that each sentence means, if any.

    structsvm parse match game.ssvm other.jsonl

    To match the sentences that a model was trained on, train other parsers with its options:

    structsvm parse match game.ssvm game.jsonl --parts 5
    """
    with told_in_one_sentence("semparse.commands") as commands:
        commands.match(model, file, output, parts=parts, salience=salience, format=format)


@app.command()
def evaluate(
    model: Model,
    file: Annotated[str, typer.Argument(help="Sentences with their right meanings (gold).")],
    as_json: Annotated[bool, typer.Option("--json", help="Print all numbers as JSON.")] = False,
    parts: Parts = None,
    threshold: Threshold = None,
    salience: Salience = None,
    format: Format = None,
    quiet: Quiet = False,
) -> None:
    """Compare parses and matches with gold meanings.

    structsvm parse evaluate game.ssvm test.jsonl

    If some sentences mean nothing ("gold": []), overall counts answers to them as wrong, and parsing leaves
    them out. Sentences with candidates are also matched. In a RoboCup folder, all sentences with a right
    meaning are parsed, and comments without an event in their window count as not matched.
    """
    with told_in_one_sentence("semparse.commands") as commands:
        with progress(quiet) as bar:
            scores = commands.evaluate(
                model, file, parts=parts, threshold=threshold, salience=salience, format=format, progress=bar
            )
        if as_json:
            names = ("correct", "answered", "gold", "precision", "recall", "f1", "nothing", "spurious")
            found = {key: {name: getattr(score, name) for name in names} for key, score in scores.items()}
            print(json.dumps(found, indent=1))
            return
        for key, score in scores.items():
            print(f"{key:10} {score} ({score.correct} right, {score.answered} given, {score.gold} wanted)")
        nothing, spurious = scores["parsing"].nothing, scores["parsing"].spurious
        if nothing:
            print(f"{nothing} sentences mean nothing; {spurious} answers to them count in overall only")


@app.command()
def teach(
    file: Annotated[str, typer.Argument(help="Sentences with candidates.")],
    output: Annotated[str, typer.Option("-o", "--output", help="The model file to write.")],
    model: Annotated[str | None, typer.Option(help="Model to start from.")] = None,
    merge: Merge = None,
    export: Annotated[
        list[str] | None, typer.Option(help="Write the model, and the answers to this JSONL file, then exit.")
    ] = None,
    journal: Journal = None,
    annotator: Annotator = "",
    random: Random = 0.1,
    format: Format = None,
    host: Host = "127.0.0.1",
    port: Port = 0,
    allow_host: AllowHost = None,
    no_browser: NoBrowser = False,
) -> None:
    """Choose the right candidates on a page, while the parser learns from each answer.

    structsvm parse teach game.jsonl -o game.ssvm

    Answers are saved in game.answers.jsonl. Run the same command again to continue.
    """
    with told_in_one_sentence("semparse.teach", extra="serve") as commands:
        teaching = commands.teach(
            file, output, model=model, merge=merge or (), journal=journal, annotator=annotator,
            random=random, format=format,
        )  # fmt: skip
        run(teaching, export or (), host=host, port=port, no_browser=no_browser, allow_hosts=allow_host or ())
