"""`structsvm inspect`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from structsvm.cli.errors import told_in_one_sentence


def inspect(
    model: Annotated[str, typer.Argument(help="Model file.")],
    top: Annotated[int, typer.Option(min=0, help="Number of transitions and features to show.")] = 20,
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
    (transitions), and the strongest weights from a feature to a label (strongest).
    """
    with told_in_one_sentence("taggers.commands") as commands:
        if test is not None and html is None:
            raise ValueError("--test requires --html; to print scores, use structsvm evaluate")
        found = commands.inspect(model, top=top, names=names, html=html, test=test)
        if as_json:
            print(json.dumps(found, indent=1))
        if as_json or html is not None:
            return
        found["training"].pop("curve", None)  # for --json and --html
        for key, value in found.items():
            if key not in ("transitions", "strongest"):
                print(f"{key:15} {' '.join(map(str, value)) if isinstance(value, list) else value}")
        for key in ("transitions", "strongest"):
            print(f"\n{key}:")
            if key == "strongest" and any(name.startswith("#") for name, _, _ in found[key]):
                print("(#row: name unknown; give --names FILE, or train with --keep-names)")
            for name, label, weight in found[key]:
                print(f"{weight:10.4f}  {name}  ->  {label}")
