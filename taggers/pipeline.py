"""Split text, then predict parts of speech, then features, then lemmas with layers in one model file.

Each layer reads the form and the output of the earlier layers, in memory. Features and XPOS are labels made
of parts, see `taggers.labels.parts`. Once the part of speech is known, only those that fit it are common.
This makes the other layers smaller and more accurate than one joint label.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import compress, pairwise
from typing import Any, NamedTuple, Self

import numpy as np

from structsvm.files import check_budget, consistent, padding, save_model
from structsvm.files.codec import Array, Field, Kind, Table, items, mapped, text
from structsvm.validation import MOST, check_number
from taggers.features._lexicon import hash_string
from taggers.features.extract import KeyTable
from taggers.formats._columns import Columns
from taggers.formats.conllu import FORMAT as CONLLU
from taggers.formats.conllu_text import RawText
from taggers.formats.tokenizer import Token, split_sentences
from taggers.labels.label_encoding import GoldLabels
from taggers.lemmas import Lemmatizer, is_script, train_lemmatizer
from taggers.model import TaggerModel
from taggers.model_file import memory, packed, read_arrays, unpacked
from taggers.splitter import WIDTH, Splitter, train_splitter
from taggers.tagger import MorphTagger, PosTagger

KIND = Kind("pipeline", "pipeline", "use structsvm train ud", "layout", (1, 2, 3))
SIMPLE, LAYOUT, LEARNED = KIND.versions  # simple: UPOS and no splitter; learned: see Splitter.learned
FIELDS = Table(
    Field("layers", mapped(mapped()), "the metadata of each layer; its arrays are called LAYER-NAME"),
    Field("scripts", items(text()), "the edit scripts of the words that the lemmatizer remembers", None),
)  # fmt: skip
KEYS = Table(
    Field("scripts", Array(np.uint64, "scripts"), "hashes of the words that the lemmatizer remembers")
)
COLUMNS = ("upos", "xpos", "feats", "lemma")
# The most columns that a layer may read.
WIDTHS = {"upos": 1, "morph": 2, "lemma": 3, "split": WIDTH, "words": WIDTH}


class Found(NamedTuple):
    """The values of a column: for each token its position in `names`."""

    ids: np.ndarray
    names: list[str]


@dataclass
class Pipeline:
    """UPOS, XPOS, FEATS and lemmas of words, in one model.

    upos: predicts UPOS from the form; None for a model of lemmas only, which reads UPOS and FEATS.
    morph: predicts the columns `morph.parts` from the form and UPOS; None if the training file has neither
    XPOS nor FEATS. lemmatizer: None if it has no lemmas. splitter: splits plain text; None if the
    tokens of the file are the text between spaces.
    """

    upos: TaggerModel | None
    morph: TaggerModel | None = None
    lemmatizer: Lemmatizer | None = None
    splitter: Splitter | None = None

    @property
    def split(self) -> Callable[[str], list[list[Token]]]:
        """The function that splits plain text into sentences of tokens: the learned splitter, or rules."""
        return split_sentences if self.splitter is None else self.splitter.split

    @property
    def parts(self) -> list[str]:
        """The columns that the pipeline fills, as CoNLL-U calls them."""
        morph = [] if self.morph is None else self.morph.parts
        return ["upos"] * (self.upos is not None) + morph + ["lemma"] * (self.lemmatizer is not None)

    @property
    def layers(self) -> dict[str, TaggerModel]:
        """The models that the pipeline consists of, by the names that its file uses."""
        lemmas, splitter = self.lemmatizer, self.splitter
        models = {
            "upos": self.upos, "morph": self.morph, "lemma": None if lemmas is None else lemmas.model,
            **({} if splitter is None else splitter.models),
        }  # fmt: skip
        return {name: model for name, model in models.items() if model is not None}

    @property
    def inputs(self) -> list[str]:
        """The columns that the pipeline reads, as CoNLL-U calls them."""
        if self.upos is not None or self.lemmatizer is None:
            return ["form"]
        files = self.lemmatizer.model.files
        return [CONLLU.names[column] for column in files["inputs"]] if files else ["form", "upos", "feats"]

    @property
    def first(self) -> TaggerModel:
        """The model that knows the words and the size of the training data."""
        if self.upos is not None:
            return self.upos
        assert self.lemmatizer is not None
        return self.lemmatizer.model

    def tag(self, columns: Columns, *, jobs: int = 1, margins: np.ndarray | None = None) -> dict[str, Found]:
        """The values of each column for the tokens of `columns`, which begin with `inputs`.

        margins: receives the margin of each part of speech.
        """
        if self.upos is None:
            assert self.lemmatizer is not None
            return {"lemma": Found(*self.lemmatizer.lemmas(columns))}
        found = {"upos": Found(self.upos.tag(columns, jobs=jobs, margins=margins), self.upos.names)}
        if self.morph is not None:
            ids = self.morph.tag(extended(columns, [found["upos"]]), jobs=jobs)
            found |= {part: Found(ids, self.morph.part_names(part)) for part in self.morph.parts}
        if self.lemmatizer is not None:
            found["lemma"] = Found(*self.lemmatizer.lemmas(_lemma_inputs(columns, found)))
        return found

    def predict(self, sentences: Sequence[Sequence[str]]) -> list[list[dict[str, str]]]:
        """For each word of each sentence a dict with the values of the columns."""
        columns = Columns.from_sentences([list(sentence) for sentence in sentences])
        found = self.tag(columns)
        flat = zip(*[[one.names[k] for k in one.ids.tolist()] for one in found.values()], strict=True)
        words = [dict(zip(found, row, strict=True)) for row in flat]
        ptr = columns.sentence_ptr.tolist()
        return [words[start:end] for start, end in pairwise(ptr)]

    def compact(self, prune: float | None = None, dtype: str = "float32") -> Pipeline:
        """This pipeline without small weights, see `TaggerModel.save`."""

        def small(layer: TaggerModel) -> TaggerModel:
            layer = layer.compact(prune or 0.0, dtype)
            return layer if layer.words is known else replace(layer, words=known[:0])

        known = self.first.words  # those of the other layers are never read

        morph, lemmas, splitter = self.morph, self.lemmatizer, self.splitter
        return Pipeline(
            None if self.upos is None else small(self.upos),
            None if morph is None else small(morph),
            None if lemmas is None else replace(lemmas, model=small(lemmas.model), seen={}),
            None
            if splitter is None
            else splitter.with_models({k: small(v) for k, v in splitter.models.items()}),
        )

    def save(
        self, path: str | os.PathLike[str], *, prune: float | None = None, dtype: str = "float32"
    ) -> None:
        """Write a model file, completely or not at all; the options are those of `TaggerModel.save`."""
        if prune is not None:
            check_number(prune=prune, high=MOST)
        small = self.compact(prune, dtype)
        lemmas, splitter = small.lemmatizer, small.splitter
        arrays = {} if lemmas is None else {"scripts": lemmas.keys.keys}
        layers: dict[str, Any] = {}
        for name, model in small.layers.items():
            parts, layers[name] = packed(model, dtype)
            arrays |= {f"{name}-{key}": value for key, value in parts.items()}
        layout = SIMPLE if splitter is None and small.upos is not None else LAYOUT
        layout = LEARNED if splitter is not None and splitter.learned else layout
        _, meta = FIELDS.write({"layers": layers, "scripts": None if lemmas is None else lemmas.scripts})
        if splitter is not None:
            parts, described = splitter.parts()
            arrays, meta = arrays | parts, meta | described
        arrays |= padding(arrays, _memory(arrays, meta))
        save_model(path, arrays, {"kind": KIND.name, KIND.key: layout, **meta})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model file, or an included pipeline by its name, or raise ModelFileError."""
        return cls.of(path, *read_arrays(path))

    @classmethod
    def of(cls, path: str | os.PathLike[str], arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> Self:
        """The pipeline of the arrays and metadata of a file."""
        KIND.check(path, meta)
        layers: dict[str, TaggerModel] = {}
        with consistent(path, KIND.what):
            found = FIELDS.read(arrays, meta)
            check_budget(arrays, _memory(arrays, meta))
            for name in WIDTHS:
                if name in meta["layers"]:
                    own = {key.removeprefix(f"{name}-"): value for key, value in arrays.items()
                           if key.startswith(f"{name}-")}  # fmt: skip
                    layers[name] = unpacked(path, own, meta["layers"][name])
            lemmatizer = None
            if "lemma" in layers:
                scripts = found["scripts"] or []
                keys = KEYS.read(arrays, {}, scripts=len(scripts))["scripts"]
                lemmatizer = Lemmatizer(layers["lemma"], KeyTable(keys), scripts)
            splitter = None
            if "split" in layers:
                splitter = Splitter.of(layers, arrays, meta)
            _check(layers, lemmatizer)
        return cls(layers.get("upos"), layers.get("morph"), lemmatizer, splitter)


def _memory(arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> int:
    """The bytes of the tables and shared rows of all layers."""
    layers = meta["layers"].items()
    return sum(memory(arrays, layer, f"{name}-") for name, layer in layers if name in WIDTHS)


def _check(layers: dict[str, TaggerModel], lemmatizer: Lemmatizer | None) -> None:
    """Raise ValueError for layers that do not fit together."""
    if "upos" not in layers and layers.keys() != {"lemma"}:
        raise ValueError("the layer upos is missing")
    for name, model in layers.items():
        if model.template is None or model.template.width > WIDTHS[name]:
            raise ValueError(f"the layer {name} reads columns that the layers before it do not give")
    if "morph" in layers and not {*layers["morph"].parts} <= {"xpos", "feats"}:
        raise ValueError("the columns of the layer morph are unknown")
    if lemmatizer is not None:
        scripts = [*lemmatizer.model.names, *lemmatizer.scripts]
        if not all(map(is_script, scripts)):
            raise ValueError("a script is malformed")


def extended(columns: Columns, more: Sequence[Found]) -> Columns:
    """Columns with the form of each token, and further columns that exist in memory only."""
    if columns.keys is not None:
        strings: Any = columns.strings
        keys = [columns.keys[:, 0]]
        keys += [np.array([hash_string(name) for name in names], np.uint64)[ids] for ids, names in more]
        texts = {hash_string(name): name for _, names in more for name in names}
        return Columns.from_keys(
            np.stack(keys, 1), columns.sentence_ptr, lambda key: texts.get(key) or strings(key)
        )
    data, spans = [columns.data], [columns.spans[:, 0]]
    at = len(columns.data)
    for ids, names in more:
        texts_ = [name.encode() for name in names]
        sizes = np.array([len(text) for text in texts_], np.int32)
        starts = at + np.cumsum(sizes) - sizes
        spans.append(np.stack([starts, sizes], 1)[ids])
        data += texts_
        at += int(sizes.sum())
    width = len(spans)
    return Columns.from_spans(
        b"".join(data), np.stack(spans, 1), columns.ends, columns.lines, columns.sentence_ptr,
        format=columns.format, wanted=range(width), n_columns=width, name=columns.name,
        first_line=columns.first_line,
    )  # fmt: skip


def _lemma_inputs(columns: Columns, found: dict[str, Found]) -> Columns:
    """Form, UPOS and FEATS, or XPOS if there are no features.

    `_` if there is neither, because the lemma layers of older files read three columns.
    """
    nothing = Found(np.zeros(columns.n_tokens, np.int32), ["_"])
    return extended(columns, [found["upos"], found.get("feats") or found.get("xpos") or nothing])


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
    dev: Columns | None = None,
    random_state: int = 0,
    callback: Any = None,
) -> Pipeline:
    """Learn from the columns form, upos, xpos, feats and lemma; those that are empty are left out.

    raw: the text of the sentences; the splitter learns from it, unless tokens are the text between spaces.
    dev: development data; with it, the layers for UPOS, XPOS and FEATS keep the weights of their best pass.
    callback: as for taggers; its method `layer`, if it has one, gets the name of each layer that begins.
    """
    used = _used(columns)
    common = {"random_state": random_state, "callback": callback}
    held_out = {} if dev is None else {"X_dev": _part(dev), "y_dev": _labelled(dev, 1)[1]}
    # The splitter needs the most memory, so it comes before the other layers take theirs.
    splitter = None
    if raw.learnable:
        _begin("split", callback)
        splitter = train_splitter(raw, **common)
    _begin("upos", callback)
    # Keep only the model of each layer: the state of its training takes more memory than all models.
    upos = PosTagger(**common).fit(*_labelled(columns, 1), **held_out).model_
    upos.files = {"format": "conllu", "inputs": [1], "label": 3, "n_columns": 10}
    pipeline = Pipeline(upos, splitter=splitter)
    parts = [name for name in ("xpos", "feats") if name in used]
    if parts:
        _begin("morph", callback)
        places = [1, *(COLUMNS.index(name) + 1 for name in parts)]
        if dev is not None:
            tagged = extended(dev, [pipeline.tag(dev)["upos"]])
            held_out = {"X_dev": tagged, "y_dev": _labelled(dev, *places, inputs=2)[1]}
        tagger = MorphTagger(template=MORPH_TEMPLATE, **common)
        pipeline.morph = tagger.fit(*_labelled(columns, *places, inputs=2, sets=True), **held_out).model_
        del tagger
        pipeline.morph.files = {
            "format": "conllu", "inputs": [1, 3], "label": 4 if parts[0] == "xpos" else 5, "n_columns": 10,
            "parts": parts,
        }  # fmt: skip
    if "lemma" in used:
        pipeline.lemmatizer = _lemmatizer(columns, used, **common)
    return pipeline


def train_lemmas(columns: Columns, *, random_state: int = 0, callback: Any = None) -> Pipeline:
    """Learn lemmas only, from the columns form, upos, xpos, feats and lemma."""
    found = _lemmatizer(columns, _used(columns), random_state=random_state, callback=callback)
    return Pipeline(None, lemmatizer=found)


def _begin(layer: str, callback: Any) -> None:
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
    """Whether each token has a gold value in a column; columns: form, upos, xpos, feats and lemma.

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
    """The form and some other columns, named as in CoNLL-U, from form, upos, xpos, feats and lemma."""
    return _part(columns, *(COLUMNS.index(name) + 1 for name in names[1:]))


def _labelled(
    columns: Columns, *places: int, inputs: int = 1, sets: bool = False
) -> tuple[Columns, GoldLabels]:
    """The form and some other columns, and the labels after the inputs. sets: see `from_columns`."""
    data = _part(columns, *places)
    numbers = [columns.wanted[place] for place in (0, *places)]
    return data, GoldLabels.from_columns(data, inputs, numbers, sets=sets)


def _part(columns: Columns, *places: int) -> Columns:
    """The form, and some other columns."""
    chosen = np.ascontiguousarray(columns.spans[:, [0, *places]])
    return Columns.from_spans(
        columns.data, chosen, columns.ends, columns.lines, columns.sentence_ptr, format=columns.format,
        wanted=range(chosen.shape[1]), n_columns=chosen.shape[1], name=columns.name,
        first_line=columns.first_line,
    )  # fmt: skip


def open_model(model: TaggerModel | Pipeline | str | os.PathLike[str]) -> TaggerModel | Pipeline:
    """A model of one or of several layers, loaded if its path is given."""
    if isinstance(model, TaggerModel | Pipeline):
        return model
    arrays, meta = read_arrays(model)
    return (
        Pipeline.of(model, arrays, meta) if meta.get("kind") == KIND.name else unpacked(model, arrays, meta)
    )
