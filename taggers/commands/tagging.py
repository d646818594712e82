"""`structsvm tag`: file -> columns -> features -> scores -> labels -> file."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from structsvm.files.atomic import atomic_write, check_output
from structsvm.files.errors import DataError
from structsvm.threads import StoppablePool
from structsvm.validation import MOST_BEST, check_count, n_threads
from taggers.commands.matching import (
    TEXT,
    check_fit,
    chosen_column,
    input_columns,
    open_inputs,
    own_format,
    replaced_columns,
)
from taggers.commands.pipelines import tag_pipeline
from taggers.formats import AUTO
from taggers.formats._columns import Columns
from taggers.formats.base import Format, Layer
from taggers.formats.files import CHUNK, encoded
from taggers.formats.text import TextAsConllu, TextFormat
from taggers.model import TaggerModel, replace_knowledge
from taggers.pipeline import Pipeline, open_model


def tag(
    model: TaggerModel | Pipeline | str | Path,
    file: str | Path = "-",
    output: str | Path = "-",
    *,
    nbest: int = 1,
    scores: bool = False,
    probabilities: bool = False,
    replace: bool = False,
    label: int | Sequence[int] | None = None,
    classes: Any = None,
    gazetteers: Any = None,
    bias: dict[str, float] | None = None,
    format: str = "auto",
    encoding: str = "utf-8",
    jobs: int = 1,
    to: str | None = None,
) -> int:
    """Write the file with a label for each token, keep every other byte, and return the number of tokens.

    Labels are appended as a new column (as several columns if they have several parts, as those of en-pos).
    They replace the label column with `replace`, and always in formats such as CoNLL-U that have a fixed
    place for them. scores: append the margin of each label. probabilities: append the probability of each
    label, see `SequenceTagger.predict_marginals`. nbest: append the n best labellings, one after
    the other; with `scores`, each is followed by its score, that of the whole sentence. classes, gazetteers:
    files that replace the word classes or gazetteers of the same names in the model, as NAME=FILE. bias:
    constants to add to the scores of labels. to: "conllu" converts plain text to CoNLL-U.
    """
    check_output(output, file, model if isinstance(model, str | Path) else None)
    model, jobs = open_model(model), n_threads(jobs)
    if to not in (None, "conllu"):
        raise ValueError(f"--to must be conllu, got {to!r}")
    if isinstance(model, Pipeline):
        if nbest > 1 or probabilities or replace or label is not None or classes or gazetteers or bias:
            raise ValueError(
                "--nbest, --probabilities, --replace, --column, --classes, --gazetteer and --bias have no "
                "effect on a model of several layers"
            )
        return tag_pipeline(
            model, file, output, scores=scores, format=format, encoding=encoding, jobs=jobs,
            text_as=TextFormat(model.split) if to is None else TextAsConllu(model.split),
        )  # fmt: skip
    column, text_as = chosen_column(model, label), None if to is None else TextAsConllu()
    if classes or gazetteers:
        model = replace_knowledge(model, classes=classes, gazetteers=gazetteers)
    if bias:
        model = model.biased(bias)
    if probabilities and (scores or nbest > 1):
        raise ValueError("--probabilities cannot be combined with --scores or --nbest")
    if probabilities and model.temperature == 1:
        warnings.warn(
            "the probabilities of this model are not calibrated; train it with --dev FILE --calibrate",
            stacklevel=2,
        )
    check_count(low=1, high=MOST_BEST, **{"--nbest": nbest})
    if nbest > 1 and replace:
        raise ValueError("--nbest cannot be combined with --replace; it appends columns")
    if nbest > 1 and model.inference == "greedy":
        raise ValueError("--nbest needs a model with exact inference; train with --inference exact")
    tokens, checked = 0, format != AUTO
    with open_inputs(
        model, file, format, encoding=encoding, text_as=text_as, prefers_text=own_format(model) is TEXT
    ) as opened:
        inputs = input_columns(model, opened)
        _check_room(opened.format, opened.name, nbest, scores, probabilities)
        replaced = replaced_columns(model, opened.format, opened.name, replace=replace, chosen=column)
        if label is not None and not replaced:
            raise ValueError("--column has no effect without --replace, as labels are appended; leave it out")
        parts = [part for _, part in replaced]

        def work(columns: Columns) -> bytes:
            if not columns.n_tokens:
                return columns.data
            if nbest > 1:
                layers = _best_layers(model, columns, nbest, scores)
            else:
                layers = _layers(model, columns, parts, scores, probabilities)
            return columns.format.write(columns, layers)

        def counted() -> Iterator[Columns]:
            nonlocal tokens, checked
            for columns in opened.parts(
                [*inputs, *(column for column, _ in replaced)],
                CHUNK if jobs == 1 or model.uses_documents else CHUNK // 4,
            ):
                tokens += columns.n_tokens
                if columns.n_tokens and not checked:
                    check_fit(model, columns)
                    checked = True
                yield columns

        with atomic_write(output) as out:
            for data in encoded(_in_order(work, counted(), jobs), encoding, opened.name):
                out.write(data)
    return tokens


def _check_room(format: Format, name: str, nbest: int, scores: bool, probabilities: bool) -> None:
    """Raise DataError for what the format cannot express."""
    if nbest > 1 and format.replaces:
        raise DataError(f"--nbest appends columns, and {format.title} has no room for them", name)
    if probabilities and format.replaces:
        raise DataError(f"--probabilities appends a column, and {format.title} has no room for it", name)
    if scores and not format.scores:
        raise DataError(f"--scores has no effect: {format.title} has no room for scores", name)


def _in_order(work: Any, items: Iterable[Any], jobs: int) -> Iterator[bytes]:
    """Yield the results in order, a few items at a time, so that memory does not grow with the file."""
    if jobs == 1:
        yield from map(work, items)
        return
    with StoppablePool(jobs) as pool:
        waiting: deque[Future[bytes]] = deque()
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > jobs:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _layers(
    model: TaggerModel, columns: Columns, parts: list[str | None], scores: bool, probabilities: bool
) -> list[Layer]:
    """Return the best label of each token: in the columns to replace, or a new column for each part."""
    margins = np.zeros(columns.n_tokens, np.float32) if scores else None
    features = model.features(columns)
    ids = model.tag(features, margins=margins)
    if probabilities:
        margins = np.round(model.marginals(features)[np.arange(len(ids)), ids], 4)
    places: list[tuple[int | None, str | None]]
    places = list(enumerate(parts, columns.width - len(parts)))
    places = places or [(None, part) for part in model.parts] or [(None, None)]
    shown = [None] * (len(places) - 1) + [None if margins is None else margins.astype(np.float64)]
    return [
        Layer(ids, model.part_names(part), place, score)
        for (place, part), score in zip(places, shown, strict=True)
    ]


def _best_layers(model: TaggerModel, columns: Columns, n: int, scores: bool) -> list[Layer]:
    """Return the n best labellings of each sentence, each with a column for each part of its labels."""
    features = model.features(columns)
    ids = np.full((n, columns.n_tokens), -1, np.int32)
    totals = np.full((n, columns.n_tokens), -np.inf)
    for sentence, (start, stop) in enumerate(pairwise(columns.sentence_ptr.tolist())):
        for k, (score, labels) in enumerate(model.n_best(features, sentence, n)):
            ids[k, start:stop] = labels
            totals[k, start:stop] = score
    parts: list[str | None] = [*model.parts] or [None]
    layers = []
    for k in range(n):
        layers += [Layer(ids[k], model.part_names(part)) for part in parts[:-1]]
        layers.append(Layer(ids[k], model.part_names(parts[-1]), scores=totals[k] if scores else None))
    return layers
