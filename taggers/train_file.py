"""What `structsvm train` does: from a labelled file to a model file."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from structsvm.files.errors import DataError
from structsvm.files.quantise import DTYPES
from taggers.formats._columns import Columns
from taggers.formats.files import atomic_write, check_output
from taggers.formats.layout import describe, read_labelled
from taggers.labels.checks import check_scheme, warn_of_gold, warn_of_training_labels
from taggers.labels.label_encoding import GoldLabels
from taggers.options import check_resumed, check_used
from taggers.tagger import TASKS
from taggers.trainer import TrainingPoint


def train(
    task: str,
    file: str | Path,
    output: str | Path,
    *,
    dev: str | Path | None = None,
    resume: str | Path | None = None,
    inputs: Sequence[int] | None = None,
    label: int | None = None,
    format: str = "auto",
    encoding: str = "utf-8",
    keep_state: bool = False,
    curve: str | Path | None = None,
    dtype: str = "float32",
    prune: float | None = None,
    **options: Any,
) -> Any:
    """Train a tagger on a file, save it, and return it; options are those of `SequenceTagger`.

    curve: a file for the training curve, tab-separated, its columns those of `TrainingPoint`.
    """
    options = {name: value for name, value in options.items() if value is not None}
    tagger = _new_tagger(task, resume, options)
    template = options.get("template")
    sources = (file, dev, template if isinstance(template, str | Path) else None)
    check_saving(output, sources, dtype, prune, keep_state)
    if curve is not None:
        check_output(curve, *sources, resume)
    columns = read_labelled(file, format=format, encoding=encoding, inputs=inputs, label=label)
    reading = {
        "format": columns.format,
        "encoding": encoding,
        "inputs": columns.wanted[:-1],
        "label": columns.wanted[-1],
    }
    if columns.format == "crfsuite" and "template" in options:
        raise ValueError(
            "--template has no effect on CRFsuite's format, whose features come ready: leave it out"
        )
    held_out = None if dev is None else read_labelled(dev, **reading)
    place = columns.width - 1
    gold = GoldLabels.from_column(columns, place)
    dev_data = {} if held_out is None else {"X_dev": held_out, "y_dev": place}
    if resume is not None:
        check_scheme(columns, gold, tagger.model_.outer)
        template = tagger.model_.template
        if template is not None and template.width > place:
            what = f"the model reads {template.width} columns, and it has {place} before its labels"
            raise DataError(f"{what}: choose them with --columns and --column", columns.name)
    (tagger.fit if resume is None else tagger.resume)(columns, gold, **dev_data)
    tagger.model_.files = describe(columns) | {"task": task}
    _warn_of_labels(tagger, columns, gold, held_out)
    if not tagger.n_features_:
        warnings.warn("no feature is left: is the cutoff too high?", stacklevel=2)
    tagger.save(output, training_state=keep_state, dtype=dtype, prune=prune)
    if curve is not None:
        with atomic_write(curve) as out:
            for point in (TrainingPoint._fields, *tagger.curve_):
                out.write(("\t".join(map(str, point)) + "\n").encode())
    return tagger


def _warn_of_labels(tagger: Any, columns: Columns, gold: GoldLabels, held_out: Columns | None) -> None:
    """Say what may be wrong with the labels that were learned, and with those held out."""
    model, place = tagger.model_, columns.width - 1
    seen = set(columns.texts(place)) if len(model.labels) == 1 else ()
    if len(seen) == 1:
        warnings.warn(f"all tokens have the label {min(seen)}: is this the right column?", stacklevel=3)
    elif tagger.settings()["labels"] != "none":
        warn_of_training_labels(columns, gold, model.outer)
    if held_out is not None:
        warn_of_gold(held_out.sentences(place), model.names, model.outer, held_out.name, "the model's")


def _new_tagger(task: str, resume: str | Path | None, options: dict[str, Any]) -> Any:
    """A tagger of the task, or the one to go on with; refuses options that would have no effect."""
    if task not in TASKS:
        raise ValueError(f"there is no task {task!r}: choose one of {', '.join(TASKS)}")
    if resume is None:
        tagger = TASKS[task](**options)
    else:
        check_resumed(options)
        tagger = TASKS[task].load(resume, **options)
        if parts := tagger.model_.parts:
            raise ValueError(
                f"{resume} has labels of several columns ({', '.join(parts)}) and train reads one: begin anew"
            )
        was = tagger.model_.files.get("task", task)
        if was != task:
            raise ValueError(f"{resume} is a model of the task {was}, not {task}: go on with train {was}")
    check_used(options, tagger.settings()["algorithm"], flags=True)
    return tagger


def check_saving(
    output: str | Path,
    sources: Sequence[str | Path | None],
    dtype: str,
    prune: float | None,
    keep_state: bool,
) -> None:
    """Refuse before the training what would be refused after it."""
    if str(output) == "-":
        raise ValueError("a model cannot be written to standard output: give -o a file name")
    check_output(output, *sources)
    if Path(output).exists() and not Path(output).is_file():
        raise ValueError(f"{output} is no regular file: give the model another name")
    if dtype not in DTYPES:
        raise ValueError(f"--dtype must be one of {', '.join(DTYPES)}, not {dtype!r}")
    if keep_state and (prune is not None or dtype != "float32"):
        raise ValueError("--keep-state keeps all weights as they are: leave out --prune and --dtype")
