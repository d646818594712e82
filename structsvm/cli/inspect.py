"""`structsvm inspect`."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from typing import Annotated, Any

import typer

from structsvm.cli.errors import number, told_in_one_sentence
from structsvm.options import check_rules


def inspect(
    model: Annotated[str, typer.Argument(help="Model file.")],
    top: Annotated[int, number(help="Number of transitions and features to show.")] = 20,
    names: Annotated[
        str | None,
        typer.Option(help="File with the features, such as the training data, to recover their names."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    html: Annotated[str | None, typer.Option(help="Write a self-contained HTML page to this file.")] = None,
    test: Annotated[
        str | None, typer.Option(help="Labelled sentences; the HTML page shows the errors on them.")
    ] = None,
) -> None:
    """Show the content of a model and its strongest features.

    structsvm inspect chunk.ssvm --names train.txt

    structsvm inspect chunk.ssvm --names train.txt --html report.html --test test.txt

    The output lists the number of features and weights, the strongest weights from a label to the next label
    (transitions), and the strongest weights from a feature to a label (strongest). For a model of train ud,
    it shows one layer after the other. For a parser, it lists the relations, the options and the strongest
    entries of the lexicon.
    """
    with told_in_one_sentence("taggers.commands") as commands:
        _, meta = import_module("taggers.model_file").read_arrays(model)
        if meta.get("kind") == "ospas":
            conflicts = import_module("taggers.conflicts")
            check_rules(
                conflicts.INSPECT, names=names, html=html, test=test, **{conflicts.MODEL: conflicts.PARSER}
            )
            found = import_module("semparse.commands").inspect(model, top=top)
        else:
            found = commands.inspect(model, top=top, names=names, html=html, test=test)
        if as_json:
            print(json.dumps(found, indent=1))
        if html is not None:
            print(f"{html}: a page about {model}", file=sys.stderr)
        if as_json or html is not None:
            return
        layers = found.pop("layers", {})
        show(found)
        for name, layer in layers.items():
            print(f"\n== layer {name}")
            show({key: value for key, value in layer.items() if key not in ("file", "bytes")}, "name unknown")


UNNAMED = "name unknown; give --names FILE, or train with --keep-names"


def show(found: dict[str, Any], unnamed: str = UNNAMED) -> None:
    """Print the content of a model or of a layer. unnamed: what to say about features without a name."""
    found.get("training", {}).pop("curve", None)  # for --json and --html
    lists = [key for key in ("transitions", "strongest") if key in found]
    for key, value in found.items():
        if key not in lists:
            print(f"{key:15} {' '.join(map(str, value)) if isinstance(value, list) else value}")
    for key in lists:
        print(f"\n{key}:")
        if key == "strongest" and any(name.startswith("#") for name, _, _ in found[key]):
            print(f"(#row: {unnamed})")
        for name, label, weight in found[key]:
            print(f"{weight:10.4f}  {name}  ->  {label}")
