"""Read and write the model files of taggers; everything in a file is checked before it is used."""

from __future__ import annotations

import contextlib
import json
import math
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
from structsvm.options import Option
from structsvm.problems.sequence import Candidates
from taggers.features._gazetteer import Gazetteer
from taggers.features.attributes import CLUSTER
from taggers.features.extract import HASHING, KeyTable
from taggers.features.knowledge import Knowledge
from taggers.features.real_values import WordVectors
from taggers.features.template import Template, parse_template
from taggers.features.word_classes import WordClasses
from taggers.formats.conllu import COLUMN
from taggers.formats.registry import NAMES
from taggers.labels.parts import label_parts, values
from taggers.model import MOST_LABELS, TaggerModel
from taggers.options import OPTIONS, SCHEMES

FOLDER = Path(__file__).parent / "models"
BUNDLED = ("en-pos", "en", "af")
KIND = "tagger"
LAYOUT = 2
STATE = "state."
FIRST = "first."
SETS = "candidates."
PLAIN = ("labels", "outer", "inner", "constrained", "inference", "order", "report", "parameters", "files")
PAIR = 16  # bytes for each pair of labels: the score of a transition, whether it is barred, and copies
COUNTS = ("sentences", "tokens", "features", "epochs", "support_patterns", "data")


def write_model(path: str | os.PathLike[str], model: TaggerModel, dtype: str) -> None:
    """Write a model with its training state, if it has one, completely or not at all."""
    save_model(path, *packed(model, dtype))


def packed(model: TaggerModel, dtype: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the metadata of a model."""
    short = model.table.short or dtype != "float32"
    arrays = {"words": model.words, "keys": model.table.halves if short else model.table.keys}
    arrays |= model.weights.packed(dtype)
    if model.label_bigrams is not None:
        arrays["bigrams.keys"] = model.bigram_numbers.keys
    known = model.knowledge
    for name, classes in known.classes.items():
        arrays[f"{_place(name)}.keys"] = (
            classes.keys if dtype == "float32" or name == CLUSTER else classes.table.halves
        )
        arrays[f"{_place(name)}.numbers"] = classes.numbers
    for name, entries in known.gazetteers.items():
        table = entries.table
        arrays[f"gazetteers.{name}.keys"] = table.halves if table.short or dtype != "float32" else table.keys
        arrays[f"gazetteers.{name}.ends"] = entries.ends
    for name, vectors in known.vectors.items():
        arrays[f"vectors.{name}.keys"] = vectors.keys
        arrays[f"vectors.{name}.table"] = vectors.table.astype("float32" if dtype == "float32" else "float16")
    if model.feature_names is not None:
        arrays["names"] = np.frombuffer(json.dumps(model.feature_names).encode(), np.uint8)
    if model.state is not None:
        arrays |= {STATE + name: value for name, value in model.state.items()}
    template = None if model.template is None else model.template.text
    meta = {"kind": KIND, "layout": LAYOUT, "hashing": HASHING, "template": template}
    if model.temperature != 1:
        meta["temperature"] = float(model.temperature)
    if model.bias:
        meta["bias"] = model.bias
    names = {name: list(classes.names) for name, classes in known.classes.items()}
    if known.gazetteers or known.vectors or any(names.values()):
        folded = {name: entries.folded for name, entries in known.gazetteers.items()}
        vectors_in_file = {"vectors": list(known.vectors)} if known.vectors else {}
        meta["knowledge"] = {"classes": names, "gazetteers": folded, **vectors_in_file}
    if model.own_features:
        meta["own_features"] = True
    meta |= {name: getattr(model, name) for name in PLAIN}
    if model.uses_documents:
        meta["documents"] = int(model.documents)
    if model.first_round is not None:
        more, meta["first_round"] = packed(model.first_round, dtype)
        arrays |= {FIRST + name: value for name, value in more.items()}
    if model.share:
        meta["share"] = True
    if model.candidates is not None:
        arrays |= {SETS + name: value for name, value in vars(model.candidates).items()}
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
    with contextlib.suppress(OSError), open(path, "rb") as file:
        if file.read(4) == b"lCRF":
            raise ModelFileError(
                f"{path} is a CRFsuite model, which structsvm cannot read; train a model on the "
                "same file with structsvm train label FILE -o MODEL"
            )
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
    if meta.get("kind") != KIND:
        hint = "use structsvm parse" if meta.get("kind") == "ospas" else "use a model of structsvm train"
        raise ModelFileError(f"Model file {path} is not a tagger but a {meta.get('kind')!r}; {hint}.")
    if meta.get("layout") != LAYOUT:
        raise ModelFileError(
            f"Model file {path} has layout {meta.get('layout', 1)!r}, but this version reads layout "
            f"{LAYOUT}; retrain the model, or use the version that wrote it."
        )
    if meta.get("hashing") != HASHING:
        raise ModelFileError(
            f"Model file {path} hashes features differently ({meta.get('hashing')!r}); retrain the model."
        )
    with consistent(path, "tagger"):
        check_meta(meta, options)
        return _rebuilt(arrays, meta)


def check_meta(meta: dict[str, Any], options: Iterable[Option] = OPTIONS) -> None:
    """Raise an error for metadata that no model has."""
    meta.setdefault("share", False)
    kinds = {
        "share": bool, "labels": list, "constrained": bool, "order": int, "report": dict, "parameters": dict,
    }  # fmt: skip
    labels, files = meta["labels"], meta["files"]
    sound = (
        all(isinstance(meta[name], kind) for name, kind in kinds.items())
        and all(isinstance(label, str) and label for label in labels)
        and len(set(labels)) == len(labels) <= MOST_LABELS
        and meta["outer"] in SCHEMES
        and meta["inner"] in SCHEMES
        and meta["inference"] in ("exact", "greedy")
        and isinstance(files, dict)
    )
    if not sound:
        raise ValueError("labels, schemes or sizes have the wrong type")
    check_parameters(meta["parameters"], options)
    parts = files.get("parts", [])
    if files and not (
        files["format"] in NAMES
        and all(type(column) is int for column in (files["label"], *files["inputs"]))
        and type(files["inputs"]) is list
        and type(parts) is list
        and all(part in COLUMN for part in parts)
        and (not parts or all(len(values(label, len(parts))) == len(parts) for label in labels))
    ):
        raise ValueError("the description of the columns has the wrong type")
    check_report(meta["report"])
    size, first = meta.get("documents", 1), meta.get("first_round")
    if type(size) is not int or not 1 <= size < 2**31:
        raise ValueError("the size of documents is not a positive integer")
    if first is not None:
        if type(first) is not dict or first.get("first_round") is not None:
            raise ValueError("the first round has the wrong type")
        check_meta(first, options)
    temperature = meta.get("temperature", 1.0)
    if type(temperature) not in (int, float) or not 1e-6 < temperature < 1e6:
        raise ValueError("the temperature of probabilities is not a positive number")
    bias = meta.get("bias", {})
    if type(bias) is not dict or not all(
        name in labels and type(value) in (int, float) and math.isfinite(value)
        for name, value in bias.items()
    ):
        raise ValueError("the bias does not give finite numbers to labels")
    json.dumps([meta["labels"], meta["template"]], ensure_ascii=False).encode()  # refuses lone surrogates


def check_parameters(parameters: dict[str, Any], options: Iterable[Option] = OPTIONS) -> None:
    """Raise an error for options that files do not keep, or values of the wrong type."""
    kept = {option.name: option for option in options if option.kept}
    for name, value in parameters.items():
        if not (isinstance(value, str) if name == "class" else name in kept and kept[name].fits(value)):
            raise ValueError(f"the option {name!r} is unknown or has a value of the wrong type")
    weights = parameters.get("label_weight") or {}
    if not all(isinstance(value, (int, float)) for value in weights.values()):
        raise ValueError("label_weight does not hold numbers")


def check_report(report: dict[str, Any]) -> None:
    """Raise an error for training figures that are not numbers; any of them may be missing."""
    counts = [report.get(name, 0) for name in COUNTS]
    curve, scores = report.get("curve", []), report.get("dev_scores", [])
    sound = isinstance(curve, list) and isinstance(scores, list) and all(type(n) is int for n in counts)
    sound = sound and report.get("dev_score", "accuracy") in ("accuracy", "F1")
    if not sound or any(not isinstance(point, (list, tuple)) or len(point) != 3 for point in curve):
        raise ValueError("the training figures have the wrong type")
    duals = [report.get("dual"), *(dual for _, dual, _ in curve)]
    figures = [*scores, *(dual for dual in duals if dual is not None)]
    figures += [value for passes, _, patterns in curve for value in (passes, patterns)]
    if not all(type(value) in (int, float) and math.isfinite(value) for value in (*counts, *figures)):
        raise ValueError("the training figures are not finite numbers")


def _rebuilt(arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> TaggerModel:
    check_budget(arrays, memory(arrays, meta))
    knowledge = _knowledge(arrays, meta)
    template = None if meta["template"] is None else parse_template(meta["template"], knowledge=knowledge)
    if template is not None and template.needs_word_classes and CLUSTER not in knowledge.classes:
        raise ValueError("the word classes are missing")
    if template is not None and meta["files"] and len(meta["files"]["inputs"]) < template.width:
        raise ValueError(f"the template needs {template.width} columns, more than the file names")
    bigrams = template is not None and bool(template.bigrams)
    table = KeyTable(_flat(arrays["keys"], np.uint64, np.uint32))
    model = TaggerModel(
        template,
        bigram_numbers=KeyTable(_flat(arrays["bigrams.keys"], np.uint64)) if bigrams else KeyTable(),
        knowledge=knowledge,
        temperature=meta.get("temperature", 1.0),
        bias=meta.get("bias", {}),
        documents=meta.get("documents", 1),
        own_features=meta.get("own_features") is True,
        first_round=_first_round(arrays, meta, template),
        table=table,
        weights=_weights(arrays, meta, len(table)),
        words=np.array(_flat(arrays["words"], np.uint32)),
        state={name.removeprefix(STATE): value for name, value in arrays.items() if name.startswith(STATE)}
        or None,
        feature_names=_names(arrays, len(table)),
        share=meta["share"],
        **{name: meta[name] for name in PLAIN},
    )
    sets = {name.removeprefix(SETS): value for name, value in arrays.items() if name.startswith(SETS)}
    if sets:
        if not model.share:
            raise ValueError("only labels that share weights have candidates")
        if sets.keys() != {"rows", "sizes", "labels"}:
            raise ValueError("the candidate labels need three arrays: rows, sizes and labels")
        model.candidates = Candidates(**sets)
        model.candidates.check(len(table), len(model.labels))
    model.problem()  # refuses impossible sizes
    if not model.names:
        raise ValueError("the model has no labels")
    return model


def _first_round(
    arrays: dict[str, np.ndarray], meta: dict[str, Any], template: Template | None
) -> TaggerModel | None:
    """The model of the first round; a model has one if its template needs one."""
    needed = template is not None and template.needs_first_round
    if needed != ("first_round" in meta):
        raise ValueError("the first round does not fit the template")
    if not needed:
        return None
    own = {name.removeprefix(FIRST): value for name, value in arrays.items() if name.startswith(FIRST)}
    return _rebuilt(own, meta["first_round"])


def _place(name: str) -> str:
    """Where a file has the word classes of this name."""
    return "clusters" if name == CLUSTER else f"classes.{name}"


def _knowledge(arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> Knowledge:
    """The word classes and gazetteers."""
    known = meta.get("knowledge", {"classes": {CLUSTER: []} if "clusters.keys" in arrays else {}})
    classes, gazetteers = {}, {}
    for name, names in known["classes"].items():
        if type(names) is not list or not all(type(label) is str and label for label in names):
            raise ValueError("the names of word classes have the wrong type")
        json.dumps(names, ensure_ascii=False).encode()  # refuses lone surrogates
        keys = _flat(arrays[f"{_place(name)}.keys"], np.uint64, np.uint32)
        classes[name] = WordClasses(keys, arrays[f"{_place(name)}.numbers"], tuple(names))
    for name, folded in known.get("gazetteers", {}).items():
        if type(folded) is not bool:
            raise ValueError("the case of a gazetteer has the wrong type")
        keys = _flat(arrays[f"gazetteers.{name}.keys"], np.uint64, np.uint32)
        ends = _flat(arrays[f"gazetteers.{name}.ends"], np.uint8)
        gazetteers[name] = Gazetteer(keys, ends, folded=folded)
    vectors = {}
    for name in known.get("vectors", []):
        keys, table = _flat(arrays[f"vectors.{name}.keys"], np.uint64), arrays[f"vectors.{name}.table"]
        if table.dtype not in (np.float16, np.float32):
            raise ValueError("word vectors have the wrong type")
        vectors[name] = WordVectors(keys, table)
    return Knowledge(classes, gazetteers, vectors)


def _flat(array: np.ndarray, *types: type) -> np.ndarray:
    """The array, if it has one dimension and one of these types."""
    if array.ndim != 1 or array.dtype not in types:
        raise ValueError(f"an array has type {array.dtype} and {array.ndim} dimensions")
    return array


def memory(arrays: dict[str, np.ndarray], meta: dict[str, Any], prefix: str = "") -> int:
    """The bytes of the tables for pairs of labels and of shared rows of weights, of the first round too.

    prefix: of the names of the arrays.
    """
    first = meta.get("first_round")
    own = PAIR * _n_scores(meta["labels"], meta.get("share", False)) ** 2 + shared_bytes(arrays, prefix)
    return own if first is None else own + memory(arrays, first, prefix + FIRST)


def _n_scores(labels: list[str], share: bool) -> int:
    """The columns of the weights: labels, or the parts that they share."""
    return label_parts(tuple(labels)).n_parts if share else len(labels)


def _weights(arrays: dict[str, np.ndarray], meta: dict[str, Any], n_features: int) -> SparseRows:
    """The weights, if the number of their rows fits the labels and features."""
    n_labels = _n_scores(meta["labels"], meta["share"])
    history = n_labels + 1 if meta["inference"] == "exact" else meta["order"] * (n_labels + 1)
    weights = SparseRows.unpacked(arrays, n_labels)
    if len(weights) != history + n_features:
        raise ValueError(f"{len(weights)} rows of weights for {n_features} features and {n_labels} labels")
    return weights


def _names(arrays: dict[str, np.ndarray], n_features: int) -> list[str | None] | None:
    if "names" not in arrays:
        return None
    names = json.loads(bytes(arrays["names"]))
    if (
        not isinstance(names, list)
        or len(names) != n_features
        or not all(name is None or isinstance(name, str) for name in names)
    ):
        raise ValueError(f"the number of feature names does not match {n_features} features")
    return names
