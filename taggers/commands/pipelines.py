"""`structsvm train ud`, and `tag` and `evaluate` with the pipelines that it writes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from itertools import compress, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from structsvm.files.atomic import atomic_write, check_output
from structsvm.files.errors import DataError
from structsvm.validation import n_threads
from taggers.commands.matching import check_values
from taggers.commands.training import check_saving
from taggers.conlleval import Evaluation
from taggers.conlleval import evaluate as compare
from taggers.dependencies.checks import checked_heads
from taggers.dependencies.templates import GRAPHS
from taggers.formats._columns import Columns
from taggers.formats.base import Format, Layer
from taggers.formats.columns import FORMAT as PLAIN
from taggers.formats.conllu import COLUMN
from taggers.formats.conllu import FORMAT as CONLLU
from taggers.formats.conllu_checks import check_conllu
from taggers.formats.conllu_text import raw_text
from taggers.formats.files import Opened, encoded, open_columns
from taggers.labels.checks import warn_of_unknown, warn_of_upos
from taggers.model import TaggerModel
from taggers.pipeline import (
    COLUMNS,
    LAYERS,
    Found,
    Pipeline,
    annotated,
    selected,
    train_lemmas,
    train_pipeline,
    train_trees,
)  # fmt: skip
from taggers.pipeline.layers import TREE_COLUMNS

WANTED = [COLUMN[name] for name in ("form", *COLUMNS)]
TREE = (1 + COLUMNS.index("head"), 1 + COLUMNS.index("deprel"))
COLUMNS_OF = {"morph": ("xpos", "feats"), "lemma": ("lemma",)}  # by layer
FEW = 20  # sentences: a parser of fewer is of no use
NO_TREES = "the column head is empty; use a treebank with trees, or leave out the layer parse"

Pair = tuple[list[str], list[str]]  # the gold values and the predictions of tokens


def train_ud(
    file: str | Path,
    output: str | Path,
    *,
    dev: str | Path | None = None,
    layers: Collection[str] | None = None,
    search: str | None = None,
    encoding: str = "utf-8",
    dtype: str = "float32",
    prune: float | None = None,
    random_state: int = 0,
    jobs: int = 1,
    callback: Any = None,
) -> Pipeline:
    """Train a splitter of text, tags, lemmas and dependency trees on a CoNLL-U file, and save one model file.

    Parameters
    ----------
    layers
        Some of split, upos, morph (XPOS and FEATS), lemma and parse, with upos; by default all, without parse
        if the file has no trees.
    search
        For trees, greedy (the default), exact or accurate.
    jobs
        The number of threads that predict the tags from which trees are learned; 0 uses all cores.
    """
    named = layers is not None or search is not None
    layers = LAYERS if layers is None else layers
    check_layers(layers)
    check_search(search)
    if search and "parse" not in layers:
        raise ValueError("--search needs trees; add parse to --layers or leave out --search")
    if jobs != 1 and "parse" not in layers:
        raise ValueError("--jobs needs trees; add parse to --layers or leave out --jobs")
    check_saving(output, (file, dev), dtype, prune)
    columns = read(file, encoding)
    held_out = None if dev is None else read(dev, encoding)
    for one in (columns, held_out):
        if one is not None:
            check_conllu(one.data, one.name)
            warn_of_upos(one, WANTED.index(COLUMN["upos"]))
            if "upos" in _absent(one):
                raise DataError("the column upos is empty; use a treebank with parts of speech", one.name)
    chosen = {name for layer in layers for name in COLUMNS_OF.get(layer, ())}
    if absent := [name for name in _absent(columns) if name in chosen and name not in TREE_COLUMNS]:
        warnings.warn(f"{columns.name}: no token has {' or '.join(absent)}; left out", stacklevel=2)
    heads = checked_heads(columns, *TREE) if "parse" in layers else None
    if heads is None and named and "parse" in layers:
        raise DataError(NO_TREES, columns.name)
    warn_of_few(columns, heads)
    raw = raw_text(columns.data)
    pipeline = train_pipeline(
        columns, raw, heads=heads, dev=held_out, layers=layers, search=search or "greedy",
        random_state=random_state, jobs=n_threads(jobs), callback=callback,
    )  # fmt: skip
    if raw.strange:
        warnings.warn(
            f"{columns.name}:{raw.strange[0]}: # text does not match the tokens of its sentence; the spaces "
            f"there come from SpaceAfter=No instead (sentences with this problem: {len(raw.strange)})",
            stacklevel=2,
        )
    if pipeline.splitter is None and "split" in layers:
        warnings.warn(
            f"{columns.name}: every token is followed by a space (no SpaceAfter=No), so the model does not "
            "learn how to split plain text and uses rules instead",
            stacklevel=2,
        )
    if pipeline.splitter is not None and not pipeline.splitter.knows_sentences:
        warnings.warn(
            f"{columns.name}: the sentences do not show where the next one begins (most have no mark at "
            "their end), so the model splits plain text into sentences only at newlines",
            stacklevel=2,
        )
    if pipeline.splitter is not None and not raw.joined:
        warnings.warn(
            f"{columns.name}: every token is followed by a space (no SpaceAfter=No), so the model splits "
            "plain text only at spaces, not before punctuation",
            stacklevel=2,
        )
    pipeline.save(output, dtype=dtype, prune=prune)
    return pipeline


def warn_of_few(columns: Columns, heads: np.ndarray | None) -> None:
    """Warn if there are too few trees to learn from."""
    if heads is not None and columns.n_sentences < FEW:
        n = columns.n_sentences
        warnings.warn(
            f"{columns.name}: trees of only {n} sentence{'s' * (n > 1)}; a parser needs hundreds, so "
            "expect mostly wrong trees, or leave out trees with --layers",
            stacklevel=3,
        )


def check_layers(layers: Collection[str]) -> None:
    """Raise ValueError for unknown layers, and for a parser without the tags that it reads."""
    for name in layers:
        if name not in LAYERS:
            raise ValueError(f"the layer {name!r} is unknown; choose from {', '.join(LAYERS)}")
    if "upos" not in layers:
        raise ValueError("the other layers read UPOS, so name upos too; train lemma and train parse do not")


def check_search(search: str | None) -> None:
    """Raise ValueError for an unknown way to search for trees."""
    if search is not None and search not in GRAPHS:
        raise ValueError(f"the search {search!r} is unknown; choose from {', '.join(GRAPHS)}")


def train_parse(
    file: str | Path,
    output: str | Path,
    *,
    search: str | None = None,
    encoding: str = "utf-8",
    dtype: str = "float32",
    prune: float | None = None,
    random_state: int = 0,
    jobs: int = 1,
    callback: Any = None,
) -> Pipeline:
    """Train dependency trees on a CoNLL-U file, given its other columns, and save one model file."""
    check_search(search)
    if jobs != 1 and search in (None, "greedy"):
        raise ValueError("--jobs needs --search exact or accurate; otherwise nothing runs in threads")
    check_saving(output, (file,), dtype, prune)
    columns = read(file, encoding)
    check_conllu(columns.data, columns.name)
    heads = checked_heads(columns, *TREE)
    if heads is None:
        raise DataError(NO_TREES, columns.name)
    warn_of_few(columns, heads)
    if absent := [name for name in _absent(columns) if name in ("upos", "feats", "lemma")]:
        warnings.warn(
            f"{columns.name}: no token has {' or '.join(absent)}; the model parses without, so expect lower "
            "accuracy",
            stacklevel=2,
        )
    pipeline = train_trees(
        columns, heads, search=search or "greedy", random_state=random_state, jobs=n_threads(jobs),
        callback=callback,
    )  # fmt: skip
    pipeline.save(output, dtype=dtype, prune=prune)
    return pipeline


def train_lemma(
    file: str | Path,
    output: str | Path,
    *,
    encoding: str = "utf-8",
    dtype: str = "float32",
    prune: float | None = None,
    random_state: int = 0,
    callback: Any = None,
) -> Pipeline:
    """Train lemmas on a CoNLL-U file, given its UPOS and FEATS, and save one model file."""
    check_saving(output, (file,), dtype, prune)
    columns = read(file, encoding)
    check_conllu(columns.data, columns.name)
    absent = [name for name in _absent(columns) if name not in TREE_COLUMNS]
    if "lemma" in absent:
        raise DataError("the column lemma is empty; use a treebank with lemmas", columns.name)
    if {"feats", "xpos"} - {*absent}:  # one of them is enough
        absent = [name for name in absent if name == "upos"]
    if absent:
        warnings.warn(
            f"{columns.name}: no token has {' or '.join(absent)}; the model learns lemmas from the other "
            "columns, so expect lower accuracy",
            stacklevel=2,
        )
    pipeline = train_lemmas(columns, random_state=random_state, callback=callback)
    pipeline.save(output, dtype=dtype, prune=prune)
    return pipeline


def _absent(columns: Columns) -> list[str]:
    """The columns that are empty for all tokens."""
    return [name for place, name in enumerate(COLUMNS, 1) if set(columns.texts(place)) <= {"_"}]


def read(path: str | Path, encoding: str) -> Columns:
    """Read a CoNLL-U file; name what another file is instead."""
    with open_columns(path, encoding=encoding) as opened:
        found = opened.format
        if found is not CONLLU and (found is not PLAIN or opened.separator == " "):
            what = f"this file is in {found.title}"
            if found is PLAIN:
                what = f"spaces separate the {opened.n_columns} columns of this file"
            raise DataError(
                f"CoNLL-U is needed, with {CONLLU.n_columns} columns that tabs separate, but {what}; for "
                "other files, train single taggers with train pos, chunk, ner or label", opened.name,
            )  # fmt: skip
        opened.format = CONLLU
        return opened.read(WANTED)


def evaluate_columns(
    model: Pipeline | TaggerModel, file: str | Path, *, encoding: str = "utf-8", jobs: int = 1
) -> dict[str, Evaluation]:
    """Compare each column of a model but trees, and all of them together, with those of a CoNLL-U file.

    Each column counts only tokens with a gold value in it (see `annotated`); all columns together count only
    tokens with a gold value in every column.
    """
    columns = read(file, encoding)
    check_conllu(columns.data, columns.name)
    if isinstance(model, Pipeline):
        inputs = selected(columns, model.inputs)
        if model.upos is None and model.first is not None:
            check_values(model.first, inputs, model.inputs)
        found, tagger = model.tag(inputs, jobs=jobs), model.first
    else:
        ids, tagger = model.tag(columns, jobs=jobs), model
        found = {part: Found(ids, model.part_names(part)) for part in model.parts}
    known = None
    if tagger is not None and len(tagger.space.words):
        known = tagger.space.knows(columns.texts(0)).__contains__
    pairs: dict[str, Pair] = {}
    for name, one in found.items():
        if name in TREE_COLUMNS:
            continue
        gold = columns.texts(1 + COLUMNS.index(name))
        if set(gold) - {"_"}:
            answers = [one.names[k] for k in one.ids.tolist()]
            if name in ("upos", "xpos"):
                warn_of_unknown(columns, 1 + COLUMNS.index(name), one.names, phrases=False)
            pairs[name] = gold, answers
    if not pairs and not (isinstance(model, Pipeline) and model.parser is not None):
        raise DataError("has no gold labels in the columns of this model", columns.name)
    counted = {name: annotated(columns, name) for name in pairs}
    if len(pairs) > 1 and any(every := list(map(all, zip(*counted.values(), strict=True)))):
        counted["all"] = every
        both = [list(map("\t".join, zip(*side, strict=True))) for side in zip(*pairs.values(), strict=True)]
        pairs["all"] = both[0], both[1]
    return {name: _compared(columns, pair, counted[name], known) for name, pair in pairs.items()}


def _compared(
    columns: Columns, pair: Pair, counted: list[bool], known: Callable[[str], bool] | None
) -> Evaluation:
    """Compare gold values with predictions on the tokens that count."""
    ptr = columns.sentence_ptr.tolist()
    gold, answers, words = (
        [list(compress(values[a:b], counted[a:b])) for a, b in pairwise(ptr)]
        for values in (*pair, columns.texts(0))
    )
    found = compare(gold, answers, words=words if known else None, known=known)
    return replace(found, types={})  # -LRB- is a tag, not a phrase


def tag_pipeline(
    pipeline: Pipeline,
    file: str | Path,
    output: str | Path,
    *,
    scores: bool = False,
    format: str = "auto",
    encoding: str = "utf-8",
    jobs: int = 1,
    text_as: Format | None = None,
) -> int:
    """Write the file with the columns of a pipeline, and return the number of tokens.

    In CoNLL-U they fill their columns; in other files they are appended. scores: the margins of UPOS.
    """
    check_output(output, file)
    tokens, first = 0, pipeline.first if pipeline.upos is None else None

    def parts(opened: Opened) -> Iterator[bytes]:
        nonlocal tokens, first
        for columns in opened.parts(wanted_columns(pipeline, opened, scores, text=opened.format is text_as)):
            tokens += columns.n_tokens
            if not columns.n_tokens:
                yield columns.data
                continue
            if first is not None:
                check_values(first, columns)
                first = None
            yield columns.format.write(columns, pipeline_layers(pipeline, columns, scores, jobs))

    with (
        open_columns(file, format, encoding=encoding, text_as=text_as, prefers_text=True) as opened,
        atomic_write(output) as out,
    ):
        for data in encoded(parts(opened), encoding, opened.name):
            out.write(data)
    return tokens


def wanted_columns(pipeline: Pipeline, opened: Opened, scores: bool, *, text: bool) -> list[int]:
    """Return the input columns and then the columns that labels replace; text: it becomes columns."""
    format, name = opened.format, opened.name
    if format.ready:
        raise DataError(f"the model was trained on words, but this file is in {format.title}", name)
    if scores and not format.scores:
        raise DataError(f"--scores has no effect: {format.title} has no room for scores", name)
    if (text or not format.names) and len(pipeline.inputs) > 1:
        needed = " and ".join(pipeline.inputs[1:])
        raise DataError(f"has no {needed}, which the model reads; use a CoNLL-U file", name)
    named = [*pipeline.inputs[1:], *pipeline.parts] if format.names else []
    return [opened.inputs()[0], *map(format.names.index, named)]


def pipeline_layers(pipeline: Pipeline, columns: Columns, scores: bool, jobs: int) -> list[Layer]:
    """The predicted columns of a pipeline."""
    margins = np.zeros(columns.n_tokens, np.float32) if scores else None
    layers = []
    found = pipeline.tag(columns, jobs=jobs, margins=margins)
    for place, (name, one) in enumerate(found.items(), len(pipeline.inputs)):
        shown = None if margins is None or name != "upos" else margins.astype(np.float64)
        layers.append(Layer(one.ids, one.names, place if columns.format.names else None, shown))
    return layers
