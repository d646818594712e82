"""The model files of taggers, as tables of fields; everything in a file is checked before it is used."""

from __future__ import annotations

import json
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
    Array,
    Arrays,
    Field,
    Kind,
    Table,
    items,
    mapped,
    maybe,
    names,
    number,
    record,
    row,
    text,
    whole,
)
from structsvm.options import Option
from structsvm.problems.sequence import Candidates
from structsvm.validation import MOST
from taggers.features._gazetteer import Gazetteer
from taggers.features.attributes import CLUSTER
from taggers.features.extract import HASHING, KeyTable
from taggers.features.knowledge import Knowledge
from taggers.features.real_values import WordVectors
from taggers.features.template import Template, parse_template
from taggers.features.word_classes import WordClasses
from taggers.foreign import find_reader, read_model
from taggers.formats import NAMES
from taggers.formats.conllu import COLUMN
from taggers.labels.parts import values
from taggers.labels.space import LabelSpace
from taggers.model import MOST_LABELS, TaggerModel
from taggers.options import OPTIONS, SCHEMES

FOLDER = Path(__file__).parent / "models"
BUNDLED = ("en-pos", "en-ner", "en", "af")
KIND = Kind("tagger", "tagger", "use a model of structsvm train", "layout", (2,))
FIRST = "first."  # before the names of the arrays of the first round
PAIR = 16  # bytes for each pair of labels: the score of a transition, whether it is barred, and copies

HASHES = (np.uint64, np.uint32)
LABELS = Table(
    Field("labels", names(text(least=1, utf8=True), most=MOST_LABELS),
          "the labels, in the scheme of the weights"),
    Field("outer", text(SCHEMES), "the scheme of the labels that users see"),
    Field("inner", text(SCHEMES), "the scheme of the labels that have weights"),
    Field("constrained", FLAG, "whether only sequences that are valid in the scheme are predicted"),
    Field("inference", text(("exact", "greedy")), "Viterbi, or label by label"),
    Field("order", whole(high=MOST), "the number of previous labels that are features"),
    Field("share", FLAG, "whether labels share the weights of their parts", False),
    Field("candidates.", Arrays(), "the labels that tokens may get, by feature: rows, sizes and labels"),
)  # fmt: skip
FEATURES = Table(
    Field("template", maybe(text(utf8=True)), "the template; null where features are ready"),
    Field("keys", Array(HASHES, "features"), "hashes of features; 32 bits with float16 and int8 weights"),
    Field("words", Array(np.uint32, "words"),
          "hashes of the training words, so that `evaluate` can report unknown words; in a pipeline, only "
          "the first layer has them"),
    Field("bigrams.keys", Array(np.uint64, "bigrams"),
          "for templates that join columns with the previous label: hashes of the column values", None),
    Field("names", Array(np.uint8, "bytes"), "with `--keep-names`: the features, as a JSON list", None),
    Field("knowledge", record({"classes": mapped(items(text(least=1, utf8=True)))},
                              {"gazetteers": mapped(FLAG), "vectors": items(text())}),
          "the names of the classes, whether gazetteers ignore case, the names of the word vectors", None),
    Field("own_features", FLAG, "whether the training data had features from Python", False),
    Field("documents", whole(1, 2**31 - 1), "the number of sentences in a document", None),
)  # fmt: skip
CLASSES = Table(
    Field("keys", Array(HASHES, "words"), "hashes of words; 32 bits with float16 and int8 weights"),
    Field("numbers", Array((np.uint16, np.uint32), "words"), "the class of each word"),
)
GAZETTEER = Table(
    Field("keys", Array(HASHES, "beginnings"), "hashes of the beginnings of entries"),
    Field("ends", Array(np.uint8, "beginnings"), "whether an entry ends there"),
)
VECTORS = Table(
    Field("keys", Array(np.uint64, "words"), "hashes of words"),
    Field("table", Array((np.float16, np.float32), "words", "dimensions"), "the vector of each word"),
)
COUNTS = ("sentences", "tokens", "features", "epochs", "support_patterns", "data")
COLUMN_NUMBER = whole(-MOST, MOST)
TRAINING = Table(
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
    Field("bias", mapped(number()), "constants that were added to the scores of labels", {}),
    Field("state.", Arrays(finite=False), "with `--keep-state`: the training state, for exact resumption"),
)  # fmt: skip


def write_model(path: str | os.PathLike[str], model: TaggerModel, dtype: str) -> None:
    """Write a model with its training state, if it has one, completely or not at all."""
    save_model(path, *packed(model, dtype))


def packed(model: TaggerModel, dtype: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the metadata of a model."""
    arrays, meta = (
        model.weights.packed(dtype),
        {"kind": KIND.name, KIND.key: KIND.versions[0], "hashing": HASHING},
    )
    known, knowledge = _packed_knowledge(model.knowledge, dtype)
    kept = model.feature_names
    for table, own in (
        (LABELS, vars(model.labels) | {
            "labels": list(model.labels),
            "candidates.": {} if model.candidates is None else vars(model.candidates),
        }),
        (FEATURES, {
            "template": None if model.template is None else model.template.text,
            "keys": _halves(model.table, dtype), "words": model.words,
            "bigrams.keys": None if model.label_bigrams is None else model.bigram_numbers.keys,
            "names": None if kept is None else np.frombuffer(json.dumps(kept).encode(), np.uint8),
            "knowledge": knowledge, "own_features": model.own_features,
            "documents": int(model.documents) if model.uses_documents else None,
        }),
        (TRAINING, vars(model) | {"state.": model.state or {}}),
    ):  # fmt: skip
        more, described = table.write(own)
        arrays, meta = arrays | more, meta | described
    arrays |= known
    if model.first_round is not None:
        more, meta["first_round"] = packed(model.first_round, dtype)
        arrays |= {FIRST + name: value for name, value in more.items()}
    return arrays | padding(arrays, memory(arrays, meta)), meta


def _halves(table: KeyTable, dtype: str) -> np.ndarray:
    """The keys of a table, or their upper halves if weights are rounded too."""
    return table.halves if table.short or dtype != "float32" else table.keys


def _packed_knowledge(known: Knowledge, dtype: str) -> tuple[dict[str, np.ndarray], dict[str, Any] | None]:
    """The arrays and the metadata of word classes, gazetteers and word vectors."""
    arrays: dict[str, np.ndarray] = {}
    for name, classes in known.classes.items():
        keys = classes.keys if dtype == "float32" or name == CLUSTER else classes.table.halves
        arrays |= CLASSES.write({"keys": keys, "numbers": classes.numbers}, _place(name))[0]
    for name, entries in known.gazetteers.items():
        found = {"keys": _halves(entries.table, dtype), "ends": entries.ends}
        arrays |= GAZETTEER.write(found, f"gazetteers.{name}.")[0]
    for name, vectors in known.vectors.items():
        numbers = vectors.table.astype("float32" if dtype == "float32" else "float16")
        arrays |= VECTORS.write({"keys": vectors.keys, "table": numbers}, f"vectors.{name}.")[0]
    classes_of = {name: list(classes.names) for name, classes in known.classes.items()}
    if not (known.gazetteers or known.vectors or any(classes_of.values())):
        return arrays, None
    folded = {name: entries.folded for name, entries in known.gazetteers.items()}
    used = {"vectors": list(known.vectors)} if known.vectors else {}
    return arrays, {"classes": classes_of, "gazetteers": folded, **used}


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
    scored, found = LABELS.read(arrays, meta), (FEATURES + TRAINING).read(arrays, meta)
    files, sets = found["files"], scored.pop("candidates.")
    labels = LabelSpace(tuple(scored.pop("labels")), **scored)
    check_parameters(found["parameters"], options)
    parts = files.get("parts", [])
    if parts and not all(len(values(label, len(parts))) == len(parts) for label in labels):
        raise ValueError(f"the labels do not join the values of {len(parts)} columns")
    if not found["bias"].keys() <= {*labels}:
        raise ValueError("the bias names an unknown label")
    first = meta.get("first_round")
    if first is not None and (type(first) is not dict or "first_round" in first):
        raise ValueError("the first round has the wrong type")
    check_budget(arrays, memory(arrays, meta))
    knowledge = _knowledge(arrays, found.pop("knowledge"))
    patterns = found.pop("template")
    template = None if patterns is None else parse_template(patterns, knowledge=knowledge)
    if template is not None and template.needs_word_classes and CLUSTER not in knowledge.classes:
        raise ValueError("the word classes are missing")
    if template is not None and files and len(files["inputs"]) < template.width:
        raise ValueError(f"the template needs {template.width} columns, more than the file names")
    table, bigrams = KeyTable(found.pop("keys")), found.pop("bigrams.keys")
    if template is not None and template.bigrams and bigrams is None:
        raise ValueError("bigrams.keys is missing")
    model = TaggerModel(
        template,
        bigram_numbers=KeyTable() if bigrams is None else KeyTable(bigrams),
        knowledge=knowledge,
        first_round=_first_round(arrays, meta, template, options),
        table=table,
        weights=_weights(arrays, labels, len(table)),
        labels=labels,
        words=np.array(found.pop("words")),
        state=found.pop("state.") or None,
        feature_names=_names(found.pop("names"), len(table)),
        documents=found.pop("documents") or 1,
        **found,
    )
    if sets:
        if not model.labels.share:
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
    arrays: dict[str, np.ndarray], meta: dict[str, Any], template: Template | None, options: Iterable[Option]
) -> TaggerModel | None:
    """The model of the first round; a model has one if its template needs one."""
    needed = template is not None and template.needs_first_round
    if needed != ("first_round" in meta):
        raise ValueError("the first round does not fit the template")
    if not needed:
        return None
    own = {name.removeprefix(FIRST): value for name, value in arrays.items() if name.startswith(FIRST)}
    return _rebuilt(own, meta["first_round"], options)


def _place(name: str) -> str:
    """The beginning of the names of the arrays of word classes."""
    return "clusters." if name == CLUSTER else f"classes.{name}."


def _knowledge(arrays: dict[str, np.ndarray], known: dict[str, Any] | None) -> Knowledge:
    """The word classes, gazetteers and word vectors."""
    if known is None:
        known = {"classes": {CLUSTER: []} if "clusters.keys" in arrays else {}}
    classes, gazetteers, vectors = {}, {}, {}
    for name, called in known["classes"].items():
        classes[name] = WordClasses(**CLASSES.read(arrays, {}, _place(name)), names=tuple(called))
    for name, folded in known.get("gazetteers", {}).items():
        gazetteers[name] = Gazetteer(**GAZETTEER.read(arrays, {}, f"gazetteers.{name}."), folded=folded)
    for name in known.get("vectors", []):
        vectors[name] = WordVectors(**VECTORS.read(arrays, {}, f"vectors.{name}."))
    return Knowledge(classes, gazetteers, vectors)


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
    return memory({}, {"labels": list(model.labels)})


def _weights(arrays: dict[str, np.ndarray], labels: LabelSpace, n_features: int) -> SparseRows:
    """The weights, if the number of their rows fits the labels and features."""
    n_labels = labels.width
    history = n_labels + 1 if labels.inference == "exact" else labels.order * (n_labels + 1)
    weights = SparseRows.unpacked(arrays, n_labels)
    if len(weights) != history + n_features:
        raise ValueError(f"{len(weights)} rows of weights for {n_features} features and {n_labels} labels")
    return weights


def _names(kept: np.ndarray | None, n_features: int) -> list[str | None] | None:
    """The names of the features, if the file has them."""
    if kept is None:
        return None
    found: list[str | None] = json.loads(bytes(kept))
    row(*n_features * [maybe(text())]).check(found, "names", {})
    return found
