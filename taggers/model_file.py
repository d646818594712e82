"""The model files of taggers, as tables of fields; everything in a file is checked before it is used."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from structsvm.files import (
    ModelFileError,
    SparseRows,
    check_budget,
    consistent,
    load_model,
    padding,
    save_model,
    shared_bytes,
)
from structsvm.files.codec import (
    FLAG,
    Arrays,
    Field,
    Kind,
    Table,
    items,
    mapped,
    maybe,
    number,
    record,
    row,
    text,
    whole,
)
from structsvm.options import Option
from structsvm.problems.sequence import Candidates
from structsvm.validation import MOST
from taggers.features.extract import HASHING
from taggers.features.space import FeatureSpace
from taggers.foreign import find_reader, read_model
from taggers.formats import NAMES
from taggers.formats.conllu import COLUMN
from taggers.labels.parts import values
from taggers.labels.space import LabelSpace
from taggers.model import TaggerModel
from taggers.options import OPTIONS

FOLDER = Path(__file__).parent / "models"
BUNDLED = ("en-pos", "en-ner", "en", "af")
KIND = Kind("tagger", "tagger", "use a model of structsvm train", "layout", (2,))
FIRST = "first."  # before the names of the arrays of the first round
PAIR = 16  # bytes for each pair of labels: the score of a transition, whether it is barred, and copies

COUNTS = ("sentences", "tokens", "features", "epochs", "support_patterns", "data")
COLUMN_NUMBER = whole(-MOST, MOST)
TRAINING = Table(
    Field("candidates.", Arrays(), "the labels that tokens may get, by feature: rows, sizes and labels"),
    Field("report", record({}, {
        **dict.fromkeys(COUNTS, whole()), "dual": maybe(number()),
        "curve": items(row(number(), maybe(number()), number())), "dev_scores": items(number()),
        "dev_score": text(("accuracy", "F1")),
    }), "the figures of the training"),
    Field("parameters", mapped(), "the options of the tagger"),
    Field("files", record(
        {"format": text(NAMES), "inputs": items(COLUMN_NUMBER), "label": COLUMN_NUMBER},
        {"n_columns": whole(high=MOST), "parts": items(text(COLUMN)), "header": text(utf8=True)},
        empty=True,
    ), "the format and the columns of the training file; the header of the label column of a table"),
    Field("temperature", number(1e-6, 1e6), "the temperature of calibrated probabilities", 1.0),
    Field("likelihood", FLAG, "whether the weights maximize the likelihood of labels", False),
    Field("bias", mapped(number()), "constants that were added to the scores of labels", {}),
    Field("state.", Arrays(finite=False), "with `--keep-state`: the training state, for exact resumption"),
)  # fmt: skip


def write_model(path: str | os.PathLike[str], model: TaggerModel, dtype: str) -> None:
    """Write a model with its training state, if it has one, completely or not at all."""
    save_model(path, *packed(model, dtype))


def packed(model: TaggerModel, dtype: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the metadata of a model."""
    arrays: dict[str, np.ndarray] = model.weights.packed(dtype)
    meta: dict[str, Any] = {"kind": KIND.name, KIND.key: KIND.versions[0], "hashing": HASHING}
    meta |= model.labels.packed()
    sets = {} if model.candidates is None else vars(model.candidates)
    trained = vars(model) | {"candidates.": sets, "state.": model.state or {}}
    for own, described in (model.space.packed(dtype), TRAINING.write(trained)):
        arrays, meta = arrays | own, meta | described
    first = model.space.first_round
    if first is not None:
        more, meta["first_round"] = packed(first, dtype)
        arrays |= {FIRST + name: value for name, value in more.items()}
    return arrays | padding(arrays, memory(arrays, meta)), meta


def find_model(name: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """The path of a model file, or of a bundled model if no file has that name."""
    try:
        mode = os.stat(name).st_mode
    except FileNotFoundError:
        if str(name) in BUNDLED:
            return FOLDER / f"{name}.ssvm"
        known = ", ".join(BUNDLED)
        raise ModelFileError(
            f"Model file {name} does not exist; check its name (included models: {known})."
        ) from None
    except (OSError, ValueError):
        return name  # reading the file raises the error
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # a pipe would make the program wait
        raise ModelFileError(f"Model file {name} is not a regular file; copy the model to a file.")
    return name


def read_arrays(path: str | os.PathLike[str]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the metadata of a model file, or of a bundled model, or raise ModelFileError."""
    path = find_model(path)
    if (reader := find_reader(path)) is not None:
        return packed(read_model(path, reader, _table_bytes), "float32")
    return load_model(path)


def unpacked(
    path: str | os.PathLike[str],
    arrays: dict[str, np.ndarray],
    meta: dict[str, Any],
    options: Iterable[Option] = OPTIONS,
) -> TaggerModel:
    """The model of the arrays and metadata of a file, or raise ModelFileError."""
    if meta.get("kind") == "pipeline":
        raise ModelFileError(
            f"Model file {path} has several layers; use Pipeline.load, structsvm tag or structsvm evaluate."
        )
    KIND.check(path, meta, ospas="use structsvm parse")
    if meta.get("hashing") != HASHING:
        raise ModelFileError(
            f"Model file {path} hashes features differently ({meta.get('hashing')!r}); retrain the model."
        )
    with consistent(path, KIND.what):
        return _rebuilt(arrays, meta, options)


def check_parameters(parameters: dict[str, Any], options: Iterable[Option] = OPTIONS) -> None:
    """Raise an error for options that files do not keep, or values of the wrong type."""
    kept = {option.name: option for option in options if option.kept}
    for name, value in parameters.items():
        if not (isinstance(value, str) if name == "class" else name in kept and kept[name].fits(value)):
            raise ValueError(f"the option {name!r} is unknown or has a value of the wrong type")
    weights = parameters.get("label_weight") or {}
    if not all(isinstance(value, (int, float)) for value in weights.values()):
        raise ValueError("label_weight does not hold numbers")


def _rebuilt(arrays: dict[str, np.ndarray], meta: dict[str, Any], options: Iterable[Option]) -> TaggerModel:
    labels, found = LabelSpace.unpacked(meta), TRAINING.read(arrays, meta)
    check_parameters(found["parameters"], options)
    parts = found["files"].get("parts", [])
    if parts and not all(len(values(label, len(parts))) == len(parts) for label in labels):
        raise ValueError(f"the labels do not join the values of {len(parts)} columns")
    if not found["bias"].keys() <= {*labels}:
        raise ValueError("the bias names an unknown label")
    first = meta.get("first_round")
    if first is not None and (type(first) is not dict or "first_round" in first):
        raise ValueError("the first round has the wrong type")
    check_budget(arrays, memory(arrays, meta))
    space = FeatureSpace.unpacked(arrays, meta)
    template = space.template
    if template is not None and found["files"] and len(found["files"]["inputs"]) < template.width:
        raise ValueError(f"the template needs {template.width} columns, more than the file names")
    if space.needs_first_round != ("first_round" in meta):
        raise ValueError("the first round does not fit the template")
    if space.needs_first_round:
        own = {name.removeprefix(FIRST): value for name, value in arrays.items() if name.startswith(FIRST)}
        space.first_round = _rebuilt(own, meta["first_round"], options)
    sets = _candidates(found.pop("candidates."), labels, len(space))
    weights = _weights(arrays, labels, len(space))
    model = TaggerModel(space, labels, weights, sets, state=found.pop("state.") or None, **found)
    model.problem()  # refuses impossible sizes
    if not model.names:
        raise ValueError("the model has no labels")
    return model


def _candidates(sets: dict[str, np.ndarray], labels: LabelSpace, n_features: int) -> Candidates | None:
    """The candidate labels of features, if the file has them."""
    if not sets:
        return None
    if not labels.share:
        raise ValueError("only labels that share weights have candidates")
    if sets.keys() != {"rows", "sizes", "labels"}:
        raise ValueError("the candidate labels need three arrays: rows, sizes and labels")
    candidates = Candidates(**sets)
    candidates.check(n_features, len(labels))
    return candidates


def memory(arrays: dict[str, np.ndarray], meta: dict[str, Any], prefix: str = "") -> int:
    """The bytes of the tables for pairs of labels and of shared rows of weights, of the first round too.

    prefix: of the names of the arrays.
    """
    first = meta.get("first_round")
    labels = LabelSpace(tuple(meta["labels"]), share=meta.get("share", False))
    own = PAIR * labels.width**2 + shared_bytes(arrays, prefix)
    return own if first is None else own + memory(arrays, first, prefix + FIRST)


def _table_bytes(model: TaggerModel) -> int:
    """The bytes of the tables for pairs of labels of a model."""
    return memory({}, {"labels": list(model.labels.labels)})


def _weights(arrays: dict[str, np.ndarray], labels: LabelSpace, n_features: int) -> SparseRows:
    """The weights, if the number of their rows fits the labels and features."""
    n_labels = labels.width
    history = n_labels + 1 if labels.inference == "exact" else labels.order * (n_labels + 1)
    weights = SparseRows.unpacked(arrays, n_labels)
    if len(weights) != history + n_features:
        raise ValueError(f"{len(weights)} rows of weights for {n_features} features and {n_labels} labels")
    return weights
