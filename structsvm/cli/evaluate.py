"""`structsvm evaluate`."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from structsvm.cli.errors import Bias, Column, Encoding, Format, Jobs, numbers_of, told_in_one_sentence
from structsvm.options import check_rules


def evaluate(
    model: Annotated[
        str,
        typer.Argument(
            help="Model file. Or pass only a file whose last two columns are gold and predicted labels."
        ),
    ],
    file: Annotated[str | None, typer.Argument(help="Labelled sentences.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all numbers as JSON.")] = False,
    strict: Annotated[
        str | None, typer.Option(help="Count only phrases that are valid in this scheme, such as IOB2.")
    ] = None,
    raw: Annotated[
        bool,
        typer.Option(
            "--raw",
            help="Start from the raw text of a CoNLL-U file: score tokens, sentences, words and all columns "
            "as the CoNLL 2018 shared task does.",
        ),
    ] = False,
    bias: Bias = None,
    column: Column = None,
    format: Format = "auto",
    encoding: Encoding = "utf-8",
    jobs: Jobs = 1,
) -> None:
    """Compare labels with gold labels, as conlleval does.

    structsvm evaluate chunk.ssvm test.txt

    structsvm evaluate tagged.txt
    """
    with told_in_one_sentence("taggers.commands") as commands:
        from taggers.conflicts import EVALUATE
        from taggers.formats.registry import column_choice

        label = None if column is None else column_choice(column)
        models, data = (None, model) if file is None else (model, file)
        if raw:
            check_rules(EVALUATE, model=models, raw=raw, label=label, strict=strict, bias=bias, format=format)
            _show_scores(commands.evaluate_ud(models, data, raw=True, encoding=encoding, jobs=jobs), as_json)
            return
        result = commands.evaluate_any(
            models, data, label=label, format=format, encoding=encoding, strict=strict, jobs=jobs,
            bias=numbers_of(bias, "--bias", "LABEL=NUMBER"),
        )  # fmt: skip
        if isinstance(result, dict):
            _show_layers(result, commands.evaluate_ud(models, data, encoding=encoding, jobs=jobs), as_json)
        elif as_json:
            print(json.dumps(result.as_dict(), indent=1))
        else:
            _show(result)


def _show(result: Any) -> None:
    """Print the report of conlleval or, without phrases, the accuracies; then the interval."""
    shares = {
        "tokens": result.tokens, "sentences": result.sequences, "known words": result.known,
        "unknown": result.unknown,
    }  # fmt: skip
    if result.types:
        print(result.report(), end="")
        shares = {}
    for name, share in shares.items():
        if share is not None:
            accuracy = f"{100 * share.accuracy:.2f}%" if share.total else "-"
            print(f"{name:12} {accuracy:>7}  {share.correct} of {share.total}")
    if result.interval is not None and result.interval.sentences > 1:
        print(interval_of(result, f"{result.interval.sentences:,} sentences"))


def interval_of(result: Any, units: str) -> str:
    """The line about the bootstrap interval of an evaluation."""
    found, measure = result.interval, "FB1" if result.types else "accuracy"
    return (
        f"95% interval of {measure}: {100 * found.low:.2f} to {100 * found.high:.2f} "
        f"({found.samples:,} bootstrap samples of {units})"
    )


def _show_layers(result: dict[str, Any], trees: dict[str, Any], as_json: bool) -> None:
    """Print the accuracies of the layers of a pipeline, and the scores of its trees."""
    if as_json:
        print(json.dumps({name: one.as_dict() for name, one in (result | trees).items()}, indent=1))
        return
    if result:
        print(f"{'':10}{'accuracy':>10}{'known words':>14}{'unknown':>10}")
    for name, one in result.items():
        three = (one.tokens, one.known, one.unknown)
        shown = [f"{100 * share.accuracy:.2f}%" if share and share.total else "-" for share in three]
        print(f"{name:10}{shown[0]:>10}{shown[1]:>14}{shown[2]:>10}")
    if trees:
        print(end="\n" if result else "")
        _show_scores(trees, False)


def _show_scores(scores: dict[str, Any], as_json: bool) -> None:
    """Print F1, its 95% interval over resampled sentences, precision and recall."""
    if as_json:
        print(json.dumps({name: one.as_dict() for name, one in scores.items()}, indent=1))
        return
    print(f"{'':10}{'F1':>8}{'95% interval':>18}{'precision':>12}{'recall':>9}")
    for name, one in scores.items():
        interval = f"{one.low:.2f}-{one.high:.2f}"
        print(f"{name:10}{one.f1:8.2f}{interval:>18}{one.precision:12.2f}{one.recall:9.2f}")
