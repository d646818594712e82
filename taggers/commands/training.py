"""`structsvm train`: from a labelled file to a model file."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from structsvm.files.atomic import atomic_write, check_output
from structsvm.files.errors import DataError
from structsvm.files.quantise import DTYPES
from structsvm.options import SOURCES, check_conflicts, check_resumed, given_options
from structsvm.validation import MOST, check_number
from taggers.commands.matching import gold_labels
from taggers.features.template import template_parts
from taggers.formats._columns import Columns
from taggers.formats.conllu import COLUMN
from taggers.formats.conllu import FORMAT as CONLLU
from taggers.formats.conllu_checks import check_conllu
from taggers.labels import schemes
from taggers.labels.checks import (
    CountedLabels,
    LabelsOfFile,
    all_mark_phrases,
    check_scheme,
    tell_of_reading,
    warn_of_gold,
    warn_of_labels_as_inputs,
    warn_of_training_labels,
    warn_of_typos,
    warn_of_unknown,
)
from taggers.labels.files import Labelled, joined, paths_of, read_files, read_held_out
from taggers.labels.label_encoding import GoldLabels
from taggers.metrics import score_ids
from taggers.model import TaggerModel
from taggers.options import OPTIONS, PHRASE_TASKS, TrainOptions, checked_settings
from taggers.sources.base import Source
from taggers.sources.disk import DiskSource, parse_memory
from taggers.sources.memory import MemorySource
from taggers.tagger import TASKS, SequenceTagger
from taggers.trainer import TrainingPoint
from taggers.tuning import fit_rivals

MORPHOLOGY = (COLUMN["upos"], COLUMN["feats"])


def train(
    task: str,
    file: str | Path | Sequence[str | Path],
    output: str | Path,
    *,
    inputs: Sequence[int | str] | None = None,
    label: int | str | Sequence[int] | None = None,
    format: str = "auto",
    encoding: str = "utf-8",
    **options: Any,
) -> SequenceTagger:
    """Train a tagger on one or several files, save it, and return it.

    Parameters
    ----------
    file
        One file or several; with `cluster`, also a pattern for many files.
    label
        The label column; several columns are learned as one label that joins their values.
    options
        Those of `TrainOptions` and of `SequenceTagger`. The file `curve` gets the fields of `TrainingPoint`.
    """
    files = paths_of(file)
    options = {name: value for name, value in options.items() if value is not None}
    to = TrainOptions(**{name: options.pop(name) for name in TrainOptions.OPTIONS if name in options})
    kind = "cluster" if to.cluster is not None else "disk" if to.memory is not None else "memory"
    check_conflicts(
        list(to.OPTIONS.values()), given_options(to), {**vars(to), "task": task}, flags=True, source=kind
    )
    tagger, settings = new_tagger(task, to.resume, options, to.dev, kind)
    template = options.get("template")
    _check_output(output, (*files, to.dev, *([] if template is None else template_parts(template))), to)
    if label is None and task == "morph":
        label = MORPHOLOGY
    labels = [label] if label is None or isinstance(label, int | str) else list(label)
    with _source(kind, files, to, format=format, encoding=encoding, inputs=inputs, labels=labels) as found:
        source, parts = found
        parts = _renamed(parts, task)
        facts = source.survey(task)
        for bare, typed in sorted(facts.usual.items())[:1]:
            warnings.warn(f"{facts.name}: labels such as {bare} are read as {typed}", stacklevel=2)
        held_out: list[Any] = (
            [] if to.dev is None else [*read_held_out(to.dev, facts.columns, facts.name, encoding)]
        )
        if isinstance(source, MemorySource):
            check_ready(source.X, options)
        for columns in (*(part.columns for part in parts), *held_out[:1]):
            if columns.format is CONLLU and COLUMN["feats"] in columns.wanted:
                check_conllu(columns.data, columns.name)
        if to.resume is not None:
            _resume(tagger, source, parts, held_out, to, output, schemes=settings["labels"] != "none")
            tagger.model_.files = facts.columns
        else:
            kept = to.keep_state or to.curve is not None
            tagger = fit_rivals(tagger, source, *held_out, keep_state=kept, bias=not to.fit_bias)
    points = [] if to.curve is None else tagger.curve_
    if not to.keep_state:
        tagger.release()  # what follows needs only the model
    if to.fit_bias:
        tagger.fit_bias(*held_out)
    if to.calibrate:
        tagger.calibrate(*held_out)
    model = tagger.model_
    if len(labels) == 1:
        for part in parts:
            tell_of_reading(*part)
            if task in PHRASE_TASKS and model.space.template is not None:
                warn_of_labels_as_inputs(*part, model.space.template.width)
        seen: list[CountedLabels] = [LabelsOfFile(*part) for part in parts]
        seen = seen or [CountedLabels(facts.name, facts.triples)]
        _warn_of_labels(model, seen, *held_out[:1], schemes=settings["labels"] != "none")
    _warn_of_features(model, task, options)
    tagger.save(output, training_state=to.keep_state, dtype=to.dtype, prune=to.prune)
    if held_out and (to.fit_bias or to.dtype != "float32" or to.prune is not None):
        _score_saved(output, held_out[0], held_out[1], options.get("callback"))
    if to.curve is not None:
        with atomic_write(to.curve) as out:
            for point in (TrainingPoint._fields, *points):
                out.write(("\t".join(map(str, point)) + "\n").encode())
    return tagger


def _score_saved(output: str | Path, held_out: Columns, gold: GoldLabels, callback: Any) -> None:
    """Pass the held-out score of a saved model to `callback.saved`; a bias or rounded weights change it."""
    saved = getattr(callback, "saved", None)
    if saved is not None:
        model = TaggerModel.load(output)
        saved(score_ids(gold, model.tag(held_out), model.names, phrases=model.labels.outer != "none"))


@contextmanager
def _source(
    kind: str, files: list[str | Path], to: TrainOptions, **reading: Any
) -> Iterator[tuple[Source[Any, Any], list[Labelled]]]:
    """The training data, where the options say that they are; in memory, also the data of each file."""
    if kind == "memory":
        parts = read_files(files, **reading, sets=True)
        data = joined(parts)
        yield MemorySource(*data, file=data), parts
        return
    if len(reading["labels"]) > 1:
        raise ValueError(f"{SOURCES[kind]} cannot learn several label columns; leave it out")
    if "-" in map(str, files):
        raise ValueError(f"{SOURCES[kind]} reads its file several times, so it cannot be standard input")
    if kind == "disk":
        yield DiskSource(files, parse_memory(to.memory), **reading), []
        return
    try:
        from structsvm.integrations.dask import connected
        from taggers.sources.cluster import ClusterSource
    except ModuleNotFoundError as error:
        raise ValueError('--cluster needs Dask; install it with pip install "structsvm-nlp[dask]"') from error
    with connected(to.cluster) as client:
        yield ClusterSource(client, files, checkpoint=to.checkpoint, **reading), []


def _resume(
    tagger: SequenceTagger, source: Source[Any, Any], parts: Sequence[Labelled], held_out: list[Any],
    to: TrainOptions, output: str | Path, *, schemes: bool,
) -> None:  # fmt: skip
    assert isinstance(source, MemorySource)  # by the table of options
    if tagger.model_.state is not None and not to.keep_state:
        warnings.warn(
            f"{to.resume} contains its training state, but {output} will not, so old examples cannot be "
            "reprocessed later; add --keep-state to keep it", stacklevel=3,
        )  # fmt: skip
    for part in parts:
        _check_resumable(tagger.model_, *part, schemes=schemes)
    tagger.resume(source.X, source.gold, **dict(zip(("X_dev", "y_dev"), held_out, strict=False)))


def check_ready(columns: Columns, options: Mapping[str, Any]) -> None:
    """Raise ValueError for a template if the file has ready features."""
    if columns.format.ready and "template" in options:
        raise ValueError(f"--template has no effect on {columns.format.title}, which contains features")


def _check_resumable(model: Any, columns: Columns, gold: GoldLabels, *, schemes: bool) -> None:
    """Raise DataError if a model cannot be trained further on these columns."""
    place = columns.width - 1
    if schemes:
        check_scheme(columns, gold, model.labels.outer)
    template = model.space.template
    if template is not None and template.width > place:
        raise DataError(
            f"the model needs {template.width} input columns, got {place}; choose them with --columns "
            "and --column", columns.name,
        )  # fmt: skip


def _renamed(parts: Sequence[Labelled], task: str) -> list[Labelled]:
    """The data of each file with the names that the labels get for this task: PER is I-PER in all of them."""
    names = {name for part in parts for name in part.gold.distinct()}
    usual = schemes.typed(names) if task in PHRASE_TASKS else {}
    return [part._replace(gold=part.gold.renamed(usual)) for part in parts]


def _warn_of_features(model: TaggerModel, task: str, options: Mapping[str, Any]) -> None:
    if not len(model.space):
        warnings.warn("no feature is left; is the cutoff too high?", stacklevel=3)
    if "documents" in options and not model.space.uses_documents:
        warnings.warn(
            "--documents has no effect, as the template uses neither doc_form nor doc_label; add one, as in "
            f"--template '{task} + doc_form[0]'", stacklevel=3,
        )  # fmt: skip


def _warn_of_labels(
    model: TaggerModel, files: Sequence[CountedLabels], held_out: Columns | None = None, *, schemes: bool
) -> None:
    """Warn about suspicious labels in the training files and the held-out file."""
    for found in files:
        names = found.counts.keys()
        if len(model.labels.labels) == len(names) == 1 and found.complete:
            warnings.warn(f"all tokens have the label {min(names)}; is this the right column?", stacklevel=3)
        elif schemes:
            warn_of_training_labels(found, model.labels.outer)
        elif model.parameters.get("class") == "PosTagger" and all_mark_phrases(names):
            warnings.warn(
                f"{found.file}: the labels mark phrases, such as {min(names - {'O'})}, and train pos learns "
                "them as parts of speech; use train ner or train chunk", stacklevel=3,
            )  # fmt: skip
        warn_of_typos(found)
    if held_out is not None:
        gold, outer = gold_labels(model, held_out), model.labels.outer
        warn_of_gold(gold, model.names, outer, held_out.name, "the model's")
        warn_of_unknown(held_out, held_out.width - 1, model.names, phrases=outer != "none")


def new_tagger(
    task: str, resume: Any, options: dict[str, Any], dev: Any, source: str = "memory"
) -> tuple[SequenceTagger, dict[str, Any]]:
    """Return a new tagger, or the one to resume, and its settings; refuse options without an effect."""
    if task not in TASKS:
        raise ValueError(f"task must be one of {', '.join(TASKS)}, lemma and ud, got {task!r}")
    if resume is None:
        tagger = TASKS[task](**options)
    else:
        check_resumed(OPTIONS, options)
        tagger = TASKS[task].load(resume, **options)
        if parts := tagger.model_.parts:
            raise ValueError(
                f"{resume} cannot be resumed: its labels come from several columns ({', '.join(parts)}), "
                "and train reads one label column"
            )
        try:
            checked_settings(tagger)
        except ValueError as error:
            raise ValueError(f"{resume}: {error}") from None
        was = tagger.model_.files.get("task", task)
        if was != task:
            raise ValueError(f"{resume} is a model for the task {was}, not {task}; use train {was}")
        if "random_state" in options and tagger.model_.state is not None:
            raise ValueError(
                f"--seed has no effect, as {resume} contains its training state, with a seed; leave it out"
            )
    settings = tagger.settings()
    algorithm = settings["algorithm"]
    check_conflicts(OPTIONS, options, settings, flags=True, source=source)
    if dev is None and "jobs" in options and (algorithm != "larank" or source != "memory"):
        who = algorithm if source == "memory" else f"training with {SOURCES[source]}"
        raise ValueError(f"--jobs has no effect without --dev: {who} uses one thread; leave it out")
    return tagger, settings


def _check_output(output: str | Path, sources: Sequence[Any], to: TrainOptions) -> None:
    """Raise ValueError before training for files that could not be written after it."""
    check_saving(output, sources, to.dtype, to.prune)
    if to.curve is not None:
        check_output(to.curve, *sources, to.resume)
        if os.path.realpath(to.curve) == os.path.realpath(output):
            raise ValueError(f"--curve and -o are the same file, {to.curve}; choose different names")


def check_saving(
    output: str | Path,
    sources: Sequence[str | Path | None],
    dtype: str = "float32",
    prune: float | None = None,
) -> None:
    """Raise ValueError before training for a model that could not be saved after it."""
    if str(output) == "-":
        raise ValueError("a model cannot be written to standard output; specify a file with -o")
    check_output(output, *sources)
    if Path(output).exists() and not Path(output).is_file():
        raise ValueError(f"{output} is not a regular file; choose another name for the model")
    if dtype not in DTYPES:
        raise ValueError(f"dtype must be one of {', '.join(DTYPES)}, got {dtype!r}")
    if prune is not None:
        check_number(prune=prune, high=MOST)
