"""`structsvm tune`: find options for a labelled file, and train a model with them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from structsvm.options import check_rules
from structsvm.validation import MOST, check_positive
from taggers.commands.training import check_ready, check_saving, new_tagger, train
from taggers.conflicts import TUNE
from taggers.labels.files import joined, paths_of, read_files, read_held_out
from taggers.options import OPTIONS
from taggers.tagger import TASKS
from taggers.tuning import Trial, Tuning, find_options

UNITS = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600}


class Tuned(NamedTuple):
    """The trained tagger, the search, and the command that trains the same model again."""

    tagger: Any
    tuning: Tuning
    command: str


def tune(
    task: str,
    file: str | Path | Sequence[str | Path],
    output: str | Path,
    *,
    dev: str | Path | None = None,
    budget: str | None = None,
    trials: int | None = None,
    inputs: Sequence[int | str] | None = None,
    label: int | str | None = None,
    format: str = "auto",
    encoding: str = "utf-8",
    progress: Callable[[Trial], Any] | None = None,
    callback: Any = None,
    **options: Any,
) -> Tuned:
    """Search for the best options (see `taggers.tuning`), and train a model with them as `train` does.

    Parameters
    ----------
    budget
        A time such as 120s (the default without `trials`) or 5m.
    options
        Options of `SequenceTagger` that the search does not change.
    """
    check_rules(TUNE, budget=budget, trials=trials)
    budget = "120s" if budget is None and trials is None else budget
    options = {name: value for name, value in options.items() if value is not None}
    if task not in TASKS or task == "morph":
        raise ValueError(f"task must be one of pos, chunk, ner and label, got {task!r}")
    files = paths_of(file)
    if "-" in map(str, (*files, dev)):
        raise ValueError("tune reads its files several times, so they cannot be standard input")
    tagger, _ = new_tagger(task, None, options, dev)
    check_saving(output, (*files, dev))
    reading: dict[str, Any] = {"format": format, "encoding": encoding, "inputs": inputs}
    data = joined(read_files(files, **reading, labels=[label]))
    check_ready(data.columns, options)
    X_dev, y_dev = (
        (None, None)
        if dev is None
        else read_held_out(dev, data.file_columns(task), data.columns.name, encoding)
    )
    tuning = find_options(
        tagger, *data, budget=None if budget is None else seconds(budget), trials=trials, X_dev=X_dev,
        y_dev=y_dev, callback=progress,
    )  # fmt: skip
    chosen = {**options, **tuning.options}
    others = {"--dev": dev, "--columns": None if inputs is None else ",".join(map(str, inputs)),
             "--column": label, "--format": None if format == "auto" else format,
             "--encoding": None if encoding == "utf-8" else encoding, "-o": output}  # fmt: skip
    words = ["structsvm", "train", task, *map(str, files), *flags(chosen)]
    words += [str(word) for flag, value in others.items() if value is not None for word in (flag, value)]
    tagger = train(task, files, output, dev=dev, label=label, callback=callback, **reading, **chosen)
    return Tuned(tagger, tuning, shlex.join(words))


def seconds(text: str) -> float:
    """A time such as 90, 120s, 5m or 1h, in seconds."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|min|h)?", text.strip())
    if match is None or not float(match[1]):
        raise ValueError(f"--budget must be a time such as 120s or 5m, got {text!r}")
    time = float(match[1]) * UNITS[match[2] or ""]
    check_positive(high=MOST, **{"--budget": time})
    return time


def flags(options: Mapping[str, Any]) -> list[str]:
    """Options as words of the command line."""
    words: list[str] = []
    for option in OPTIONS:
        value = options.get(option.name)
        if value is None or not option.flag:
            continue
        if isinstance(value, dict):
            value = [f"{name}={factor}" for name, factor in value.items()]
        if isinstance(value, bool):
            words += [option.flag] * value
        else:
            for one in value if isinstance(value, (list, tuple)) else [value]:
                words += [option.flag, str(one)]
    return words
