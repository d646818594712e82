"""Split text, then predict parts of speech, features, lemmas and trees with layers in one model file.

Each layer reads the form and the output of the earlier layers, in memory. Features and XPOS are labels made
of parts, see `taggers.labels.parts`. Once the part of speech is known, only those that fit it are common.
This makes the other layers smaller and more accurate than one joint label.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np

from structsvm.files import check_budget, consistent, padding, save_model
from structsvm.files.codec import Array, Field, Kind, Table, items, mapped, text
from structsvm.validation import MOST, check_number
from taggers.dependencies.explanation import explain_trees
from taggers.dependencies.parser import DependencyParser, dense_bytes
from taggers.explanation import explain
from taggers.features._lexicon import hash_string
from taggers.features.extract import KeyTable
from taggers.formats._columns import Columns
from taggers.formats.conllu import FORMAT as CONLLU
from taggers.formats.tokenizer import Token, split_sentences
from taggers.lemmas import Lemmatizer, is_script
from taggers.model import TaggerModel
from taggers.model_file import memory, packed, read_arrays, unpacked
from taggers.splitter import WIDTH, Splitter

KIND = Kind("pipeline", "pipeline", "use structsvm train ud", "layout", (1, 2, 3, 4))
SIMPLE, LAYOUT, LEARNED, TREES = KIND.versions  # simple: UPOS, no splitter; learned: see Splitter.learned
FIELDS = Table(
    Field("layers", mapped(mapped()), "the metadata of each layer; its arrays are called LAYER-NAME"),
    Field("scripts", items(text()), "the edit scripts of the words that the lemmatizer remembers", None),
    Field("parser", mapped(), "the metadata of the parser; its arrays are called parse-NAME", None),
)  # fmt: skip
KEYS = Table(
    Field("scripts", Array(np.uint64, "scripts"), "hashes of the words that the lemmatizer remembers")
)
COLUMNS = ("upos", "xpos", "feats", "lemma", "head", "deprel")
TREE_COLUMNS = COLUMNS[4:]
LAYERS = ("split", "upos", "morph", "lemma", "parse")
# The most columns that a layer may read.
WIDTHS = {"upos": 1, "morph": 2, "lemma": 3, "split": WIDTH, "words": WIDTH}


class Found(NamedTuple):
    """The values of a column: for each token its position in `names`."""

    ids: np.ndarray
    names: list[str]


@dataclass
class Pipeline:
    """UPOS, XPOS, FEATS, lemmas and dependency trees of words, in one model.

    upos: predicts UPOS from the form; None for a model of lemmas or trees only, which reads other columns.
    morph: predicts the columns `morph.parts` from the form and UPOS; None if the training file has neither
    XPOS nor FEATS. lemmatizer: None if it has no lemmas. splitter: splits plain text; None if the
    tokens of the file are the text between spaces. parser: None if it has no trees.
    """

    upos: TaggerModel | None
    morph: TaggerModel | None = None
    lemmatizer: Lemmatizer | None = None
    splitter: Splitter | None = None
    parser: DependencyParser | None = None

    @property
    def split(self) -> Callable[[str], list[list[Token]]]:
        """The function that splits plain text into sentences of tokens: the learned splitter, or rules."""
        return split_sentences if self.splitter is None else self.splitter.split

    @property
    def parts(self) -> list[str]:
        """The columns that the pipeline fills, as CoNLL-U calls them."""
        morph = [] if self.morph is None else self.morph.parts
        trees = [] if self.parser is None else ["head", "deprel"]
        return ["upos"] * (self.upos is not None) + morph + ["lemma"] * (self.lemmatizer is not None) + trees

    @property
    def layers(self) -> dict[str, TaggerModel]:
        """The taggers that the pipeline consists of, by the names that its file uses."""
        lemmas, splitter = self.lemmatizer, self.splitter
        models = {
            "upos": self.upos, "morph": self.morph, "lemma": None if lemmas is None else lemmas.model,
            **({} if splitter is None else splitter.models),
        }  # fmt: skip
        return {name: model for name, model in models.items() if model is not None}

    @property
    def inputs(self) -> list[str]:
        """The columns that the pipeline reads, as CoNLL-U calls them."""
        if self.upos is None and self.parser is not None:
            return ["form", *self.parser.reads]
        if self.upos is not None or self.lemmatizer is None:
            return ["form"]
        files = self.lemmatizer.model.files
        return [CONLLU.names[column] for column in files["inputs"]] if files else ["form", "upos", "feats"]

    @property
    def first(self) -> TaggerModel | None:
        """The model that knows the words of the training data; None for a model of trees only."""
        taggers = self.layers
        return next((taggers[name] for name in ("upos", "morph", "lemma") if name in taggers), None)

    @property
    def report(self) -> dict[str, Any]:
        """The size of the training data."""
        if self.first is None:
            assert self.parser is not None
            return self.parser.report
        return self.first.report

    def tag(self, columns: Columns, *, jobs: int = 1, margins: np.ndarray | None = None) -> dict[str, Found]:
        """The values of each column for the tokens of `columns`, which begin with `inputs`.

        margins: receives the margin of each part of speech.
        """
        if self.upos is None and self.parser is not None:
            read = {name: values_of(columns, place) for place, name in enumerate(self.parser.reads, 1)}
            return self._trees(columns, read, jobs)
        if self.upos is None:
            assert self.lemmatizer is not None
            return {"lemma": Found(*self.lemmatizer.lemmas(columns))}
        found = {"upos": Found(self.upos.tag(columns, jobs=jobs, margins=margins), self.upos.names)}
        if self.morph is not None:
            ids = self.morph.tag(extended(columns, [found["upos"]]), jobs=jobs)
            found |= {part: Found(ids, self.morph.part_names(part)) for part in self.morph.parts}
        if self.lemmatizer is not None:
            found["lemma"] = Found(*self.lemmatizer.lemmas(_lemma_inputs(columns, found)))
        if self.parser is not None:
            found |= self._trees(columns, found, jobs)
        return found

    def _trees(self, columns: Columns, found: dict[str, Found], jobs: int) -> dict[str, Found]:
        assert self.parser is not None
        heads, labels = self.parser.parse(columns.texts(0), found, columns.sentence_ptr, jobs=jobs)
        numbers = [str(head) for head in range(int(heads.max(initial=0)) + 1)]
        return {"head": Found(heads, numbers), "deprel": Found(labels, self.parser.labels)}

    def predict(self, sentences: Sequence[Sequence[str]]) -> list[list[dict[str, str]]]:
        """For each word of each sentence a dict with the values of the columns."""
        columns = Columns.from_sentences([list(sentence) for sentence in sentences])
        found = self.tag(columns)
        flat = zip(*[[one.names[k] for k in one.ids.tolist()] for one in found.values()], strict=True)
        words = [dict(zip(found, row, strict=True)) for row in flat]
        ptr = columns.sentence_ptr.tolist()
        return [words[start:end] for start, end in pairwise(ptr)]

    def explain(self, words: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
        """Return for each layer but the splitter why each word of a sentence gets its label, see
        `taggers.explanation.explain`; for trees see `taggers.dependencies.explanation.explain_trees`."""
        if self.upos is None:
            raise ValueError(
                f"the model reads the columns {', '.join(self.inputs)}; only models with a "
                "layer upos can explain words"
            )
        found = self.tag(Columns.from_sentences([list(words)]))
        rows = {name: [one.names[k] for k in one.ids.tolist()] for name, one in found.items()}
        layers = {"upos": explain(self.upos, list(words))}
        if self.morph is not None:
            layers["morph"] = explain(self.morph, [*zip(words, rows["upos"], strict=True)])
        if self.lemmatizer is not None:
            nothing = ["_"] * len(words)
            inputs = words, rows["upos"], rows.get("feats") or rows.get("xpos") or nothing
            layers["lemma"] = explain(self.lemmatizer.model, [*zip(*inputs, strict=True)])
        if self.parser is not None:
            layers["parse"] = explain_trees(self.parser, list(words), found)
        return layers

    def compact(self, prune: float | None = None, dtype: str = "float32") -> Pipeline:
        """This pipeline without small weights, see `TaggerModel.save`."""

        def small(layer: TaggerModel) -> TaggerModel:
            layer = layer.compact(prune or 0.0, dtype)
            if layer.space.words is known:
                return layer
            return replace(layer, space=replace(layer.space, words=known[:0]))

        known = np.zeros(0, np.uint64) if self.first is None else self.first.space.words  # no others are read

        morph, lemmas, splitter = self.morph, self.lemmatizer, self.splitter
        return Pipeline(
            None if self.upos is None else small(self.upos),
            None if morph is None else small(morph),
            None if lemmas is None else replace(lemmas, model=small(lemmas.model), seen={}),
            None
            if splitter is None
            else splitter.with_models({k: small(v) for k, v in splitter.models.items()}),
            None if self.parser is None else self.parser.compact(prune or 0.0, dtype),
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
        trees = None
        if small.parser is not None:
            layout = TREES
            parts, trees = small.parser.packed(dtype)
            arrays |= {f"parse-{key}": value for key, value in parts.items()}
        scripts = None if lemmas is None else lemmas.scripts
        _, meta = FIELDS.write({"layers": layers, "scripts": scripts, "parser": trees})
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
            parser = None
            if found["parser"] is not None:
                own = {key.removeprefix("parse-"): value for key, value in arrays.items()
                       if key.startswith("parse-")}  # fmt: skip
                parser = DependencyParser.unpacked(own, found["parser"])
            _check(layers, lemmatizer, parser)
        return cls(layers.get("upos"), layers.get("morph"), lemmatizer, splitter, parser)


def _memory(arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> int:
    """The bytes of the tables, shared rows and dense weights of all layers."""
    layers = meta["layers"].items()
    own = sum(memory(arrays, layer, f"{name}-") for name, layer in layers if name in WIDTHS)
    return own + (dense_bytes(arrays, meta["parser"], "parse-") if meta.get("parser") else 0)


def values_of(columns: Columns, place: int) -> Found:
    """A column that a file has."""
    known: dict[str, int] = {}
    ids = [known.setdefault(value, len(known)) for value in columns.texts(place)]
    return Found(np.array(ids, np.int32), list(known))


def _check(
    layers: dict[str, TaggerModel], lemmatizer: Lemmatizer | None, parser: DependencyParser | None
) -> None:
    """Raise ValueError for layers that do not fit together."""
    alone = layers.keys() == {"lemma"} if parser is None else not layers
    if parser is not None and {*parser.reads} - {*COLUMNS[:4]}:
        raise ValueError("the columns of the parser are unknown")
    if "upos" not in layers and not alone:
        raise ValueError("the layer upos is missing")
    for name, model in layers.items():
        if model.space.template is None or model.space.template.width > WIDTHS[name]:
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


def part(columns: Columns, *places: int) -> Columns:
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
