"""`structsvm train`: from a labelled file to a model file."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from structsvm.files.atomic import atomic_write, check_output
from structsvm.files.errors import DataError
from structsvm.files.quantise import DTYPES
from structsvm.options import check_conflicts
from structsvm.validation import MOST, check_number
from taggers.features.template import template_parts
from taggers.formats._columns import Columns
from taggers.formats.conllu import COLUMN
from taggers.formats.conllu import FORMAT as CONLLU
from taggers.formats.conllu_checks import check_conllu
from taggers.labels.checks import (
    check_scheme,
    warn_of_gold,
    warn_of_training_labels,
    warn_of_typos,
    warn_of_unknown,
)
from taggers.labels.files import read_alike, read_labelled
from taggers.labels.label_encoding import GoldLabels
from taggers.metrics import score_ids
from taggers.model import TaggerModel
from taggers.options import OPTIONS, check_resumed, checked_settings
from taggers.tagger import TASKS, SequenceTagger
from taggers.trainer import TrainingPoint
from taggers.tuning import fit_rivals, rival_settings

MORPHOLOGY = (COLUMN["upos"], COLUMN["feats"])


def train(
    task: str,
    file: str | Path,
    output: str | Path,
    *,
    dev: str | Path | None = None,
    resume: str | Path | None = None,
    inputs: Sequence[int] | None = None,
    label: int | Sequence[int] | None = None,
    format: str = "auto",
    encoding: str = "utf-8",
    keep_state: bool = False,
    curve: str | Path | None = None,
    dtype: str = "float32",
    prune: float | None = None,
    calibrate: bool = False,
    fit_bias: bool = False,
    cluster: str | None = None,
    checkpoint: str | Path | None = None,
    memory: str | None = None,
    **options: Any,
) -> Any:
    """Train a tagger on a file, save it, and return it; `options` are those of `SequenceTagger`.

    label: the label column; several columns are learned as one label that joins their values.
    calibrate: find the temperature of probabilities on the file `dev`, see `SequenceTagger.calibrate`.
    fit_bias: find the bias of O on it, see `SequenceTagger.fit_bias`.
    cluster: train on a Dask cluster, given by the address of its scheduler or by local:N; `file` can be a
    pattern for many files then. checkpoint: a folder where the cluster's training is saved after every round,
    and continued if it ended early. memory: train in about so much memory, such as 200M, see
    `taggers.slices`.
    curve: a file for the training curve, a table with the fields of `TrainingPoint`.
    """
    options = {name: value for name, value in options.items() if value is not None}
    if calibrate and dev is None:
        raise ValueError("--calibrate needs --dev, sentences that are not used in training")
    if fit_bias and dev is None:
        raise ValueError("--fit-bias needs --dev, a file that is not used in training")
    if fit_bias and task in ("pos", "morph"):
        raise ValueError("--fit-bias needs labels of phrases with O, as those of chunk and ner; leave it out")
    tagger, settings = new_tagger(task, resume, options, dev)
    template = options.get("template")
    sources = (file, dev, *([] if template is None else template_parts(template)))
    check_saving(output, sources, dtype, prune, keep_state)
    if curve is not None:
        check_output(curve, *sources, resume)
        if os.path.realpath(curve) == os.path.realpath(output):
            raise ValueError(f"--curve and -o are the same file, {curve}; choose different names")
    if label is None and task == "morph":
        label = MORPHOLOGY
    labels = [label] if label is None or isinstance(label, int) else list(label)
    if checkpoint is not None and cluster is None:
        raise ValueError("--checkpoint needs --cluster; on one machine, use --cluster local:N")
    reading: dict[str, Any] = {"format": format, "encoding": encoding, "inputs": inputs, "labels": labels}
    elsewhere = "--cluster" if memory is None else "--memory"
    if (cluster or memory) and (resume or keep_state or curve or calibrate or fit_bias or len(labels) > 1):
        raise ValueError(
            f"{elsewhere} cannot be combined with --resume, --keep-state, --curve, --calibrate, "
            "--fit-bias or several label columns"
        )
    if (cluster or memory) and dev is not None and (rival := rival_settings(tagger)):
        warnings.warn(
            f"{elsewhere} does not compare settings on --dev; also train with "
            f"{' '.join(f'--{name} {value}' for name, value in rival.items())} and keep the better model",
            stacklevel=2,
        )
    if memory is not None:
        from taggers.slices import parse_memory, train_in_slices

        larank = settings["algorithm"] == "larank"
        if cluster is not None or not larank or {"jobs", "shards"} & options.keys() or str(file) == "-":
            raise ValueError(
                "--memory trains larank in one thread on a file; leave out --cluster, --jobs, --shards and "
                "other algorithms, and name a file"
            )
        train_in_slices(tagger, file, parse_memory(memory), dev=dev, **reading)
        tagger.save(output, dtype=dtype, prune=prune)
        return tagger
    if cluster is not None:
        _train_on_cluster(cluster, tagger, file, dev=dev, checkpoint=checkpoint, **reading)
        tagger.save(output, dtype=dtype, prune=prune)
        return tagger
    data = read_labelled(file, **reading, sets=True)
    columns, gold = data
    check_ready(columns, options)
    dev_data: dict[str, Any] = {}
    held_out = None
    if dev is not None:
        held_out, y_dev = read_alike(dev, data, encoding)
        dev_data = {"X_dev": held_out, "y_dev": y_dev}
    for one in (columns, held_out):
        if one is not None and one.format is CONLLU and COLUMN["feats"] in one.wanted:
            check_conllu(one.data, one.name)
    if resume is not None:
        if tagger.model_.state is not None and not keep_state:
            warnings.warn(
                f"{resume} contains its training state, but {output} will not, so old examples cannot "
                "be reprocessed later; add --keep-state to keep it", stacklevel=2,
            )  # fmt: skip
        _check_resumable(tagger.model_, columns, gold, schemes=settings["labels"] != "none")
    if resume is not None:
        tagger.resume(columns, gold, **dev_data)
    elif dev_data:
        kept = keep_state or curve is not None
        tagger = fit_rivals(tagger, columns, gold, **dev_data, keep_state=kept)
    else:
        tagger.fit(columns, gold)
    points = tagger.curve_
    if not keep_state:
        tagger.release()  # what follows needs only the model
    if fit_bias:
        tagger.fit_bias(held_out, dev_data["y_dev"])
    if calibrate:
        tagger.calibrate(held_out, dev_data["y_dev"])
    model = tagger.model_
    model.files = data.file_columns(task)
    if len(labels) == 1:
        _warn_of_labels(model, columns, gold, held_out, schemes=settings["labels"] != "none")
    if not len(model.table):
        warnings.warn("no feature is left; is the cutoff too high?", stacklevel=2)
    if "documents" in options and not model.uses_documents:
        warnings.warn(
            "--documents has no effect, as the template uses neither doc_form nor doc_label; add one, as in "
            f"--template '{task} + doc_form[0]'", stacklevel=2,
        )  # fmt: skip
    tagger.save(output, training_state=keep_state, dtype=dtype, prune=prune)
    if held_out is not None and (fit_bias or dtype != "float32" or prune is not None):
        _score_saved(output, held_out, dev_data["y_dev"], options.get("callback"))
    if curve is not None:
        with atomic_write(curve) as out:
            for point in (TrainingPoint._fields, *points):
                out.write(("\t".join(map(str, point)) + "\n").encode())
    return tagger


def _score_saved(output: str | Path, held_out: Columns, gold: GoldLabels, callback: Any) -> None:
    """Pass the held-out score of a saved model to `callback.saved`; a bias or rounded weights change it."""
    saved = getattr(callback, "saved", None)
    if saved is not None:
        model = TaggerModel.load(output)
        saved(score_ids(gold, model.tag(held_out), model.names, phrases=model.outer != "none"))


def check_ready(columns: Columns, options: Mapping[str, Any]) -> None:
    """Raise ValueError for a template if the file has ready features."""
    if columns.format.ready and "template" in options:
        raise ValueError(f"--template has no effect on {columns.format.title}, which has ready features")


def _train_on_cluster(address: str, tagger: Any, files: Any, **options: Any) -> None:
    try:
        from structsvm.integrations.dask import connected
        from taggers.dask import train
    except ModuleNotFoundError as error:
        raise ValueError('--cluster needs Dask; install it with pip install "structsvm-nlp[dask]"') from error
    with connected(address) as client:
        train(client, tagger, files, **options)


def _check_resumable(model: Any, columns: Columns, gold: GoldLabels, *, schemes: bool) -> None:
    """Raise DataError if a model cannot be trained further on these columns."""
    place = columns.width - 1
    if schemes:
        check_scheme(columns, gold, model.outer)
    if model.template is not None and model.template.width > place:
        raise DataError(
            f"the model needs {model.template.width} input columns, got {place}; choose them with --columns "
            "and --column", columns.name,
        )  # fmt: skip


def _warn_of_labels(
    model: TaggerModel, columns: Columns, gold: GoldLabels, held_out: Columns | None, *, schemes: bool
) -> None:
    """Warn about suspicious labels in the training file and the held-out file."""
    place = columns.width - 1
    if len(model.labels) == len(gold.names) == 1 and gold.complete:
        warnings.warn(f"all tokens have the label {gold.names[0]}; is this the right column?", stacklevel=3)
    elif schemes:
        warn_of_training_labels(columns, gold, model.outer)
    warn_of_typos(columns, gold)
    if held_out is not None:
        warn_of_gold(held_out.labels(place), model.names, model.outer, held_out.name, "the model's")
        warn_of_unknown(held_out, place, model.names, phrases=model.outer != "none")


def new_tagger(
    task: str, resume: str | Path | None, options: dict[str, Any], dev: str | Path | None
) -> tuple[SequenceTagger, dict[str, Any]]:
    """Return a new tagger, or the one to resume, and its settings; refuse options without an effect."""
    if task not in TASKS:
        raise ValueError(f"task must be one of {', '.join(TASKS)}, lemma and ud, got {task!r}")
    if resume is None:
        tagger = TASKS[task](**options)
    else:
        check_resumed(options)
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
    check_conflicts(OPTIONS, options, settings, flags=True)
    if dev is None and "jobs" in options and algorithm != "larank":
        raise ValueError(
            f"--jobs has no effect without --dev: {algorithm} trains with one thread; leave it out"
        )
    return tagger, settings


def check_saving(
    output: str | Path,
    sources: Sequence[str | Path | None],
    dtype: str,
    prune: float | None,
    keep_state: bool,
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
    if keep_state and (prune is not None or dtype != "float32"):
        raise ValueError("--keep-state saves all weights exactly; leave out --prune and --dtype")
