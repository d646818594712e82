"""`structsvm tag`: file -> columns -> features -> scores -> labels -> file."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from structsvm.files.atomic import atomic_write, check_output
from structsvm.files.errors import DataError
from structsvm.options import check_rules
from structsvm.problems.sequence import Sequences
from structsvm.threads import StoppablePool
from structsvm.validation import MOST_BEST, check_count, n_threads
from taggers.commands.export import check_place, layer_fields, write_documents
from taggers.commands.matching import (
    check_fit,
    check_values,
    chosen_column,
    input_columns,
    open_inputs,
    prefers_text,
    replaced_columns,
)
from taggers.commands.pipelines import pipeline_layers, tag_pipeline, wanted_columns
from taggers.conflicts import APPENDS, BARE, FORMAT, LAYERS, MODEL, ONE, REPLACES, TAG
from taggers.formats import AUTO
from taggers.formats._columns import Columns
from taggers.formats.base import Format, Layer
from taggers.formats.exchange import TextAsRecords, check_target, columns_records
from taggers.formats.files import CHUNK, Opened, encoded, open_columns
from taggers.formats.records import Record
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
    label: int | str | Sequence[int] | None = None,
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
    place for them.

    Parameters
    ----------
    nbest
        Append the n best labellings, one after the other; with `scores`, each is followed by its score, that
        of the whole sentence.
    scores
        Append the margin of each label.
    probabilities
        Append the probability of each label, see `SequenceTagger.predict_marginals`.
    label
        The column to replace.
    classes, gazetteers
        Files that replace the word classes or gazetteers of the same names in the model, as NAME=FILE.
    bias
        Constants to add to the scores of labels.
    to
        "conllu" converts plain text to CoNLL-U; other formats hold documents, with the offsets of labels if
        the input has a text.
    """
    if to is None and str(file) != "-" and Path(file).is_dir():
        to = "brat"  # a folder becomes a folder
    if to is not None:
        check_target(to)
    documents = to not in (None, "conllu")
    (check_place if documents else _check_file)(output, to or "", file, _path(model))
    model, shown = open_model(model), Shown(nbest, scores, probabilities)
    reading: dict[str, Any] = {"format": format, "encoding": encoding, "jobs": n_threads(jobs)}
    what = ONE if isinstance(model, TaggerModel) else BARE if model.upos is None else LAYERS
    check_rules(
        TAG, nbest=nbest, scores=scores, probabilities=probabilities, replace=replace, label=label,
        classes=classes, gazetteers=gazetteers, bias=bias, to=to, **{MODEL: what},
    )  # fmt: skip
    if isinstance(model, Pipeline):
        if not documents:
            own = TextFormat(model.split) if to is None else TextAsConllu(model.split)
            return tag_pipeline(model, file, output, scores=scores, text_as=own, **reading)
        return _tag_documents(model, file, output, shown, to or "", **reading)
    if classes or gazetteers:
        model = replace_knowledge(model, classes=classes, gazetteers=gazetteers)
    model = model.biased(bias) if bias else model
    shown.check(model)
    if documents:
        return _tag_documents(model, file, output, shown, to or "", **reading)
    text_as = TextAsConllu() if to == "conllu" else None
    return _tag_columns(model, file, output, shown, label, replace=replace, text_as=text_as, **reading)


@dataclass(frozen=True)
class Shown:
    """The choice of what to write: the best labels or the n best ones, with margins or probabilities."""

    nbest: int
    scores: bool
    probabilities: bool

    def check(self, model: TaggerModel) -> None:
        """Raise ValueError for what the model cannot do."""
        if self.probabilities and not model.probable:
            warnings.warn(
                "the probabilities of this model are not calibrated; train it with --dev FILE --calibrate, "
                "or with --algorithm crf",
                stacklevel=3,
            )
        check_count(low=1, high=MOST_BEST, **{"--nbest": self.nbest})
        if self.nbest > 1 and model.labels.inference == "greedy":
            raise ValueError("--nbest needs a model with exact inference; train with --inference exact")

    def check_room(self, format: Format, name: str) -> None:
        """Raise DataError for what the format cannot express."""
        if self.nbest > 1 and format.replaces:
            raise DataError(f"--nbest appends columns, and {format.title} has no room for them", name)
        if self.probabilities and format.replaces and format.scores != "records":
            raise DataError(f"--probabilities appends a column, and {format.title} has no room for it", name)
        if self.scores and not format.scores:
            raise DataError(f"--scores has no effect: {format.title} has no room for scores", name)

    def layers(
        self, model: TaggerModel, columns: Columns, parts: Sequence[str | None] = (), jobs: int = 1
    ) -> list[Layer]:
        """The columns to write: in the places of `parts`, or a new one for each part of the labels."""
        features = model.features(columns)
        if self.nbest > 1:
            return self._best(model, columns, features)
        margins = np.zeros(columns.n_tokens, np.float32) if self.scores else None
        ids = model.tag(features, margins=margins, jobs=jobs)
        if self.probabilities:
            margins = np.round(model.marginals(features)[np.arange(len(ids)), ids], 4)
        places: list[tuple[int | None, str | None]]
        places = list(enumerate(parts, columns.width - len(parts)))
        places = places or [(None, part) for part in model.parts] or [(None, None)]
        last = None if margins is None else margins.astype(np.float64)
        return [
            Layer(ids, model.part_names(part), place, last if at == len(places) - 1 else None)
            for at, (place, part) in enumerate(places)
        ]

    def _best(self, model: TaggerModel, columns: Columns, features: Sequences) -> list[Layer]:
        """The n best labellings of each sentence, each with a column for each part of its labels."""
        ids = np.full((self.nbest, columns.n_tokens), -1, np.int32)
        totals = np.full((self.nbest, columns.n_tokens), -np.inf)
        for sentence, (start, stop) in enumerate(pairwise(columns.sentence_ptr.tolist())):
            for k, (score, labels) in enumerate(model.n_best(features, sentence, self.nbest)):
                ids[k, start:stop] = labels
                totals[k, start:stop] = score
        parts: list[str | None] = [*model.parts] or [None]
        layers = []
        for k in range(self.nbest):
            layers += [Layer(ids[k], model.part_names(part)) for part in parts[:-1]]
            layers.append(
                Layer(ids[k], model.part_names(parts[-1]), scores=totals[k] if self.scores else None)
            )
        return layers


def _check_file(output: str | Path, to: str, *sources: str | Path | None) -> None:
    check_output(output, *sources)


def _path(model: Any) -> str | Path | None:
    return model if isinstance(model, str | Path) else None


def _tag_columns(
    model: TaggerModel,
    file: str | Path,
    output: str | Path,
    shown: Shown,
    label: int | str | Sequence[int] | None,
    *,
    replace: bool,
    text_as: Format | None,
    format: str,
    encoding: str,
    jobs: int,
) -> int:
    """Write the file with labels in columns, a few parts at a time."""
    tokens, checked, column = 0, format != AUTO, chosen_column(model, label)
    with open_inputs(
        model, file, format, encoding=encoding, text_as=text_as, prefers_text=prefers_text(model)
    ) as opened:
        inputs = input_columns(model, opened)
        shown.check_room(opened.format, opened.name)
        chosen = None if column is None else opened.label(column)
        replaced = replaced_columns(model, opened.format, opened.name, replace=replace, chosen=chosen)
        place = REPLACES if replaced else APPENDS
        check_rules(TAG, label=label, replace=replace, **{FORMAT: place})
        parts = [part for _, part in replaced]

        def work(columns: Columns) -> bytes:
            if not columns.n_tokens:
                return columns.data
            return columns.format.write(columns, shown.layers(model, columns, parts))

        def counted() -> Iterator[Columns]:
            nonlocal tokens, checked
            for columns in opened.parts(
                [*inputs, *(column for column, _ in replaced)],
                CHUNK if jobs == 1 or model.space.uses_documents else CHUNK // 4,
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


def _tag_documents(
    model: TaggerModel | Pipeline,
    file: str | Path,
    output: str | Path,
    shown: Shown,
    to: str,
    *,
    format: str,
    encoding: str,
    jobs: int,
) -> int:
    """Write the documents of a file with predicted labels in the format `to`."""
    tokens, text_as = 0, TextAsRecords(model.split if isinstance(model, Pipeline) else None)
    with _open_documents(model, file, format, encoding, text_as) as opened:
        wanted = (
            wanted_columns(model, opened, shown.scores, text=False)
            if isinstance(model, Pipeline) else input_columns(model, opened)
        )  # fmt: skip

        def parts() -> Iterator[list[Record]]:
            nonlocal tokens
            for columns in opened.parts(wanted, CHUNK):
                if not columns.n_tokens:
                    continue
                if isinstance(model, Pipeline):
                    first = None if tokens or model.upos is not None else model.first
                    if first is not None:
                        check_values(first, columns)
                    layers = pipeline_layers(model, columns, shown.scores, jobs)
                    names: list[str | None] = list(model.parts)
                else:
                    if not tokens and format == AUTO:
                        check_fit(model, columns)
                    layers = shown.layers(model, columns, jobs=jobs)
                    names = [*model.parts]
                tokens += columns.n_tokens
                yield columns_records(columns, layers, layer_fields(layers, columns, names))

        write_documents(parts(), output, to, opened.format.name)
    return tokens


def _open_documents(
    model: TaggerModel | Pipeline, file: str | Path, format: str, encoding: str, text_as: Format
) -> AbstractContextManager[Opened]:
    if isinstance(model, Pipeline):
        return open_columns(
            file, format, encoding=encoding, text_as=text_as, prefers_text=True, split=model.split
        )
    return open_inputs(
        model, file, format, encoding=encoding, text_as=text_as, prefers_text=prefers_text(model)
    )


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
