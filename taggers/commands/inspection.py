"""`structsvm inspect`: show the content of a model and its strongest features."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from structsvm.files.atomic import atomic_write, check_output
from structsvm.options import check_rules
from taggers.commands.evaluation import answered
from taggers.commands.matching import input_columns, own_format
from taggers.conflicts import INSPECT, LAYERS, MODEL, ONE
from taggers.features.feature_names import feature_names
from taggers.features.knowledge import Knowledge
from taggers.formats._columns import Columns
from taggers.formats.files import open_columns
from taggers.model import TaggerModel
from taggers.model_file import find_model
from taggers.pipeline import Pipeline, open_model


def inspect(
    model: TaggerModel | Pipeline | str | Path,
    *,
    top: int = 20,
    names: str | Path | None = None,
    html: str | Path | None = None,
    test: str | Path | None = None,
) -> dict[str, Any]:
    """Return a model's labels, sizes and training, and its strongest transitions and features.

    For a model of several layers: its columns and each layer.

    Parameters
    ----------
    top
        The number of features and transitions.
    names
        A file, such as the training file, in which to look up the names of features; models store only
        hashes of them unless they were trained with `keep_names`.
    html, test
        A page to write; it shows the errors on the labelled file `test`, if there is one.
    """
    path = None if isinstance(model, TaggerModel | Pipeline) else find_model(model)
    if html is not None:
        check_output(html, names, test, None if path is None else str(path))
    model = open_model(model)
    file = {
        "file": None if path is None else str(path),
        "bytes": None if path is None else Path(path).stat().st_size,
    }
    what = LAYERS if isinstance(model, Pipeline) else ONE
    check_rules(INSPECT, names=names, html=html, test=test, **{MODEL: what})
    if isinstance(model, Pipeline):
        layers = {name: inspect(layer, top=top) for name, layer in model.layers.items()}
        if model.parser is not None:
            layers["parse"] = model.parser.described()
        return file | {"columns": model.parts, "layers": layers}
    named = model.space.names or [None] * len(model.space)
    if names is not None:
        named = feature_names(model, _read_inputs(model, names), named)
    if html is not None and model.labels.share:
        raise ValueError("--html does not show labels whose parts share weights; leave it out")
    if html is not None:
        from taggers.report import html_report

        answers = None if test is None else answered(model, test)
        page = html_report(model, title=Path(path or "model").name, names=named, answers=answers, top=top)
        with atomic_write(html) as out:
            out.write(page.encode())
    first, columns = model.problem().history, model.labels.weight_names
    transitions = model.weights.kept(np.arange(len(model.weights)) < min(len(columns) + 1, first))
    weights = model.weights.since(first)
    before = [*columns, "<start>"]
    return file | {
        "labels": model.names, "scheme": model.labels.outer, "learned_as": model.labels.inner,
        "constrained": model.labels.constrained,
        "inference": model.labels.inference, "order": model.labels.order, "features": len(model.space),
        "weights": len(model.weights.cells),
        "template": None if model.space.template is None else model.space.template.text.split("\n"),
        "knowledge": _knowledge(model.space.knowledge),
        "training_state": model.state is not None, "columns": model.files, "training": model.report,
        "transitions": [(before[row], columns[y], w) for row, y, w in transitions.strongest(top)],
        "strongest": [
            (named[row] or f"#{row}", columns[y], w) for row, y, w in weights.strongest(top)
        ],
    }  # fmt: skip


def _knowledge(knowledge: Knowledge) -> dict[str, Any]:
    """Return the size of the word classes and gazetteers of a model, by name."""
    classes = {
        name: {"words": len(known.keys), "classes": len(np.unique(known.numbers)),
               "bytes": known.keys.nbytes + known.numbers.nbytes}
        for name, known in knowledge.classes.items()
    }  # fmt: skip
    entries = {
        name: {"entries": len(known), "bytes": len(known.table) * (5 if known.table.short else 9)}
        for name, known in knowledge.gazetteers.items()
    }
    return classes | entries


def _read_inputs(model: TaggerModel, file: str | Path) -> Columns:
    """Read a file as the training file was read."""
    with open_columns(file, own_format(model).name) as opened:
        return opened.read(input_columns(model, opened) or [opened.format.label])
