"""Train the layers of a pipeline, one after the other."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from itertools import compress
from typing import Any

import numpy as np

from structsvm.signals import Stop
from structsvm.threads import for_each, stoppable
from taggers.dependencies.parser import DependencyParser, train_parser
from taggers.formats._columns import Columns
from taggers.formats.conllu_text import RawText
from taggers.labels.label_encoding import GoldLabels
from taggers.lemmas import Lemmatizer, train_lemmatizer
from taggers.memory import release_memory
from taggers.pipeline.layers import COLUMNS, LAYERS, Found, Pipeline, extended, part, values_of
from taggers.splitter import train_splitter
from taggers.tagger import MorphTagger, PosTagger

FOLDS = 3  # of jackknifing; five are not better on development files
BLOCK = 10  # neighbouring sentences in the same fold
FOLD_EPOCHS = 1
DEV_EPOCHS = 8  # at most, with held-out data
MORPH_TEMPLATE = """
    p[0], w[0], lower[-2..2], lower[-1]|lower[0], lower[0]|lower[1],
    prefix1[0], lower_prefix2[0], lower_prefix3[0], lower_prefix4[0],
    lower_suffix1[-1..1], lower_suffix2[-1..1], lower_suffix3[-1..1], lower_suffix4[0], lower_suffix5[0],
    lower_suffix3[0]|lower[-1], lower_suffix3[0]|lower[1], shape[0], short_shape[-1..1], has_digit[0],
    p[-2..-1], p[1..2], p[-1]|p[0], p[0]|p[1], p[-1]|p[0]|p[1], w[0]|p[0], lower_suffix2[0]|p[0],
    lower_suffix3[0]|p[0], lower_suffix4[0]|p[0], lower_suffix5[0]|p[0], lower_suffix2[0]|p[1],
    lower_suffix3[0]|p[1], lower_suffix3[0]|p[-1], lower[-1]|p[0], lower[1]|p[0], lower_suffix2[-1]|p[0],
    lower_suffix2[1]|p[0], lower_suffix2[0]|lower_suffix2[-1], lower_suffix2[0]|lower_suffix2[1],
    cluster[-1..1], bias
"""


def train_pipeline(
    columns: Columns,
    raw: RawText,
    *,
    heads: np.ndarray | None = None,
    dev: Columns | None = None,
    layers: Collection[str] = LAYERS,
    search: str = "greedy",
    random_state: int = 0,
    jobs: int = 1,
    callback: Any = None,
) -> Pipeline:
    """Learn from the form and the columns COLUMNS; those that are empty are left out.

    raw: the text of the sentences; the splitter learns from it, unless tokens are the text between
    spaces.
    heads: the head of each word, counted from 1 in its sentence; None trains no parser.
    dev: development data; with it, the layers for UPOS, XPOS and FEATS keep the weights of their best pass.
    layers: which layers to train; upos always is. search: for trees, see `train_parser`. jobs: the number
    of threads that jackknife; it changes nothing else.
    callback: as for taggers; its method `layer`, if it has one, gets the name of each layer that begins.
    """
    used = _used(columns)
    common = {"random_state": random_state, "callback": callback}
    # The splitter needs the most memory, so it comes before the other layers take theirs.
    splitter = None
    if raw.learnable and "split" in layers:
        _begin("split", callback)
        splitter = train_splitter(raw, **common)
    parts = [name for name in COLUMNS[1:3] if name in used and "morph" in layers]
    pipeline = _tags(columns, parts, dev=dev, **common)
    pipeline.splitter = splitter
    if "lemma" in used and "lemma" in layers:
        pipeline.lemmatizer = _lemmatizer(columns, used, **common)
    if heads is not None and "parse" in layers:
        _begin("parse", callback)
        found = jackknifed(columns, pipeline, parts, random_state=random_state, jobs=jobs)
        release_memory()  # of the folds
        pipeline.parser = _parser(columns, found, heads, search, random_state, jobs)
    return pipeline


def _tags(
    columns: Columns,
    parts: Sequence[str],
    *,
    dev: Columns | None = None,
    callback: Any = None,
    **options: Any,
) -> Pipeline:
    """Learn UPOS and, given UPOS, the columns `parts` together."""
    _begin("upos", callback)
    held_out = {} if dev is None else {"X_dev": part(dev), "y_dev": _labelled(dev, 1)[1]}
    options |= {"callback": callback, **({} if dev is None else {"epochs": DEV_EPOCHS})}
    # Keep only the model of each layer: the state of its training takes more memory than all models.
    upos = PosTagger(**options).fit(*_labelled(columns, 1), **held_out).model_
    upos.files = {"format": "conllu", "inputs": [1], "label": 3, "n_columns": 10}
    pipeline = Pipeline(upos)
    if parts:
        _begin("morph", callback)
        places = [1, *(COLUMNS.index(name) + 1 for name in parts)]
        if dev is not None:
            tagged = extended(dev, [pipeline.tag(dev)["upos"]])
            held_out = {"X_dev": tagged, "y_dev": _labelled(dev, *places, inputs=2)[1]}
        tagger = MorphTagger(template=MORPH_TEMPLATE, **options)
        pipeline.morph = tagger.fit(*_labelled(columns, *places, inputs=2, sets=True), **held_out).model_
        del tagger
        pipeline.morph.files = {
            "format": "conllu", "inputs": [1, 3], "label": 4 if parts[0] == "xpos" else 5, "n_columns": 10,
            "parts": [*parts],
        }  # fmt: skip
    return pipeline


def jackknifed(
    columns: Columns, pipeline: Pipeline, parts: Sequence[str], *, random_state: int = 0, jobs: int = 1
) -> dict[str, Found]:
    """Predict the tags of each sentence with taggers that have not seen it, so that they are as in new text.

    The lemmatizer is that of the pipeline: it reads the predicted tags.
    """
    n = columns.n_sentences
    if n == 1:
        return pipeline.tag(columns)
    fold = np.arange(n) // min(BLOCK, max(n // FOLDS, 1)) % FOLDS

    def tags(k: int) -> dict[str, Found]:
        tagger = _tags(_sentences(columns, fold != k), parts, random_state=random_state, epochs=FOLD_EPOCHS)
        tagger.lemmatizer = pipeline.lemmatizer
        return tagger.tag(_sentences(columns, fold == k))

    places: dict[str, dict[str, int]] = {}
    ids: dict[str, np.ndarray] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the layers have already warned about the file
        stop = Stop()
        folds = for_each(stoppable(tags, stop), min(FOLDS, n), jobs, stop)
    for k, found in enumerate(folds):
        tokens = np.repeat(fold == k, np.diff(columns.sentence_ptr))
        for name, one in found.items():
            known = places.setdefault(name, {})
            to = np.array([known.setdefault(value, len(known)) for value in one.names], np.int32)
            ids.setdefault(name, np.zeros(columns.n_tokens, np.int32))[tokens] = to[one.ids]
    return {name: Found(ids[name], list(known)) for name, known in places.items()}


def _sentences(columns: Columns, keep: np.ndarray) -> Columns:
    """Select sentences."""
    lengths = np.diff(columns.sentence_ptr)
    tokens = np.repeat(keep, lengths)
    return Columns.from_spans(
        columns.data, columns.spans[tokens], columns.ends[tokens], columns.lines[tokens],
        np.concatenate([[0], np.cumsum(lengths[keep])]), format=columns.format, wanted=range(columns.width),
        n_columns=columns.width, name=columns.name, first_line=columns.first_line,
    )  # fmt: skip


def _parser(
    columns: Columns, found: dict[str, Found], heads: np.ndarray, search: str, random_state: int, jobs: int
) -> DependencyParser:
    labels = columns.texts(COLUMNS.index("deprel") + 1)
    forms = columns.texts(0)
    return train_parser(
        forms, found, columns.sentence_ptr, heads, labels, search=search, random_state=random_state, jobs=jobs
    )


def train_trees(
    columns: Columns, heads: np.ndarray, *, search: str = "greedy", random_state: int = 0, jobs: int = 1,
    callback: Any = None,
) -> Pipeline:  # fmt: skip
    """Learn trees only, from the form, the heads and the columns COLUMNS as they are in the file."""
    _begin("parse", callback)
    used = _used(columns)
    found = {}
    for place, name in enumerate(COLUMNS[:4], 1):
        if name in used:
            found[name] = values_of(columns, place)
    parser = _parser(columns, found, heads, search, random_state, jobs)
    parser.reads = [name for name in COLUMNS[:4] if name in used]
    return Pipeline(None, parser=parser)


def train_lemmas(columns: Columns, *, random_state: int = 0, callback: Any = None) -> Pipeline:
    """Learn lemmas only, from the columns form, upos, xpos, feats and lemma."""
    found = _lemmatizer(columns, _used(columns), random_state=random_state, callback=callback)
    return Pipeline(None, lemmatizer=found)


def _begin(layer: str, callback: Any) -> None:
    release_memory()  # of the layer before
    getattr(callback, "layer", lambda name: None)(layer)


def _lemmatizer(columns: Columns, used: set[str], *, random_state: int, callback: Any) -> Lemmatizer:
    """Learn lemmas from the form, UPOS and FEATS, or XPOS if FEATS is empty; neither if both are empty."""
    _begin("lemma", callback)
    more = [COLUMNS.index(name) + 1 for name in ("feats", "xpos") if name in used][:1]
    rows = zip(*[columns.texts(place) for place in (0, 1, *more, 4)], strict=True)
    *tokens, lemmas = zip(*compress(rows, annotated(columns, "lemma")), strict=True)
    found = train_lemmatizer(zip(*tokens, strict=True), lemmas, random_state=random_state, callback=callback)
    inputs = [columns.wanted[place] for place in (0, 1, *more)]
    found.model.files = {"format": "conllu", "inputs": inputs, "label": 2, "n_columns": 10}
    return found


def annotated(columns: Columns, name: str) -> list[bool]:
    """Whether each token has a gold value in one of the COLUMNS, which follow the form.

    In FEATS, ``_`` means that a word has no features. It is also the lemma of the word ``_`` and of words
    with UPOS X, because UD gives it to the later parts of a word that was split by mistake. Elsewhere, ``_``
    means that the value is missing.
    """
    values = columns.texts(COLUMNS.index(name) + 1)
    if name == "feats":
        return [True] * len(values)
    if name != "lemma":
        return [value != "_" for value in values]
    rows = zip(values, columns.texts(0), columns.texts(1), strict=True)
    return [value != "_" or form == "_" or upos == "X" for value, form, upos in rows]


def _used(columns: Columns) -> set[str]:
    """The columns that have a value other than ``_``."""
    return {name for place, name in enumerate(COLUMNS, 1) if set(columns.texts(place)) - {"_"}}


def selected(columns: Columns, names: Sequence[str]) -> Columns:
    """The form and some other columns, named as in CoNLL-U, from the form and COLUMNS."""
    return part(columns, *(COLUMNS.index(name) + 1 for name in names[1:]))


def _labelled(
    columns: Columns, *places: int, inputs: int = 1, sets: bool = False
) -> tuple[Columns, GoldLabels]:
    """The form and some other columns, and the labels after the inputs. sets: see `from_columns`."""
    data = part(columns, *places)
    numbers = [columns.wanted[place] for place in (0, *places)]
    return data, GoldLabels.from_columns(data, inputs, numbers, sets=sets)
