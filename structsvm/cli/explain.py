"""`structsvm explain`."""

from __future__ import annotations

import json
import math
from typing import Annotated, Any

import typer

from structsvm.cli.errors import number, told_in_one_sentence


def explain(
    model: Annotated[str, typer.Argument(help="Model file.")],
    sentence: Annotated[str, typer.Argument(help="One sentence; the model splits it into words.")],
    word: Annotated[
        int | None, number(low=1, help="Explain this word only; the first one is number 1.")
    ] = None,
    top: Annotated[int, number(low=1, help="Number of features to show for each decision.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print all features as JSON.")] = False,
) -> None:
    """Show why each word gets its label, its head and the label of its arc.

    structsvm explain en "Mia met the old man." --word 5

    Each decision is followed by its margin, if it has one, and by the features with the largest weights. The
    weights of all features of a head, or of the label of its arc, add up to the margin to the second best
    choice.
    """
    with told_in_one_sentence("taggers.commands") as commands:
        layers = commands.explain(model, sentence)
        n = len(next(iter(layers.values())))
        if word is not None and word > n:
            raise ValueError(f"the sentence has no word {word}; set --word to a number from 1 to {n}")
        chosen = range(n) if word is None else [word - 1]
        if as_json:
            found = {name: [_finite(rows[k]) for k in chosen] for name, rows in layers.items()}
            print(json.dumps(found, indent=1))
            return
        for k in chosen:
            for name, rows in layers.items():
                for title, margin, features in _decisions(rows, k, name):
                    told = "" if margin is None else f"  (margin {margin:.4f})"
                    print(f"{k + 1} {title}{told}")
                    for feature, weight in features[:top]:
                        print(f"{weight:10.4f}  {feature}")


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    """A row without an infinite margin, which JSON lacks: no other label was possible."""
    return row | {"margin": None} if row.get("margin") == math.inf else row


def _decisions(rows: list[dict[str, Any]], k: int, layer: str) -> list[tuple[str, Any, Any]]:
    """The decisions about a word: what was decided, the margin and the features."""
    row = rows[k]
    if layer != "parse":
        features = sorted([*row["features"], *row["history"]], key=lambda pair: -abs(pair[1]))
        return [(f"{row['token']}  {layer} {row['label']}", row["margin"], features)]
    head = f"{row['head']} {rows[row['head'] - 1]['token']}" if row["head"] else "0 (root)"
    return [
        (f"{row['token']}  head {head}", row["head_margin"], row["head_features"]),
        (f"{row['token']}  deprel {row['deprel']}", row["label_margin"], row["label_features"]),
    ]
