"""The feature space of a model: how tokens become rows of weights, and the features that it knows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np

from structsvm.files.codec import FLAG, Array, Field, Table, maybe, row, text, whole
from structsvm.problems.sequence import Bigrams, SequenceLabels, Sequences
from taggers.features.documents import (
    FORM,
    LABEL,
    Values,
    document_keys,
    document_numbers,
    other_labels,
    written_forms,
)
from taggers.features.extract import Extractor, KeyTable, as_columns, cut, encode, encode_ready, joined
from taggers.features.knowledge import HASHES, KNOWLEDGE, Knowledge
from taggers.features.label_bigrams import LabelBigrams
from taggers.features.real_values import called, real_features, real_names
from taggers.features.template import Template, parse_template
from taggers.features.word_classes import merged, word_keys
from taggers.formats._columns import Columns

if TYPE_CHECKING:
    from taggers.model import TaggerModel

FEATURES = Table(
    Field("template", maybe(text(utf8=True)), "the template; null where features are ready"),
    Field("keys", Array(HASHES, "features"), "hashes of features; 32 bits with float16 and int8 weights"),
    Field("words", Array(np.uint32, "words"),
          "hashes of the training words, so that `evaluate` can report unknown words; in a pipeline, only "
          "the first layer has them"),
    Field("bigrams.keys", Array(np.uint64, "bigrams"),
          "for templates that join columns with the previous label: hashes of the column values", None),
    Field("names", Array(np.uint8, "bytes"), "with `--keep-names`: the features, as a JSON list", None),
    Field("knowledge", KNOWLEDGE,
          "the names of the classes, whether gazetteers ignore case, the names of the word vectors", None),
    Field("own_features", FLAG, "whether the training data had features from Python", False),
    Field("documents", whole(1, 2**31 - 1), "the number of sentences in a document", None),
)  # fmt: skip


@dataclass
class FeatureSpace:
    """Turns sentences into numbers of features, which are rows of weights.

    template: None where features are ready (files of CRFsuite, dicts of python-crfsuite).
    knowledge: the word classes and gazetteers that the template uses.
    table: from the keys of features to their rows.
    bigram_numbers: of the features joined with a previous label, see `taggers.features.label_bigrams`.
    words: the upper halves of the keys of the words seen in training.
    names: of the features by row, if they were kept; they have no effect on labelling.
    function: maps the tokens of a sentence and a position to more features, as a dict; not saved.
    own_features: whether the training data had features of the user, from the function or with the tokens.
    documents: the number of sentences in a document, see `taggers.features.documents`.
    first_round: the model whose labels are features, if the template uses them.
    """

    template: Template | None = None
    knowledge: Knowledge = field(default_factory=Knowledge)
    table: KeyTable = field(default_factory=KeyTable)
    bigram_numbers: KeyTable = field(default_factory=KeyTable)
    words: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint32))
    names: list[str | None] | None = None
    function: Any = None
    own_features: bool = False
    documents: int = 1
    first_round: TaggerModel | None = None

    def __post_init__(self) -> None:
        self._bigram_rows: tuple[list[str], np.ndarray] | None = None

    def __len__(self) -> int:
        return len(self.table)

    @cached_property
    def extractor(self) -> Extractor | None:
        """Computes the features of the template; None where features are ready."""
        return None if self.template is None else Extractor(self.template.symbolic, self.knowledge)

    @cached_property
    def bigrams(self) -> LabelBigrams | None:
        """The features that are joined with a previous label, if the template has any."""
        if self.template is None or not self.template.bigrams:
            return None
        return LabelBigrams(self.template, self.bigram_numbers, self.knowledge)

    def bigram_rows(self, labels: Sequence[str]) -> np.ndarray:
        """The rows of these features, by number and label."""
        assert self.bigrams is not None
        names = list(labels)
        if self._bigram_rows is None or self._bigram_rows[0] != names:
            self._bigram_rows = names, self.bigrams.rows(self.table, names)
        return self._bigram_rows[1]

    def __getstate__(self) -> dict[str, Any]:
        return {name: vars(self)[name] for name in self.__dataclass_fields__} | {"_bigram_rows": None}

    def release(self) -> None:
        """Free the memory that only feature extraction needs; the next extraction allocates it again."""
        self.table.pack()
        if self.extractor is not None:
            self.extractor.forget_words()

    # -- what it depends on ---------------------------------------------------------------------

    @property
    def uses_documents(self) -> bool:
        """Whether the features of a sentence depend on the other sentences of its document."""
        return self.extractor is not None and bool(self.extractor.document)

    @property
    def needs_first_round(self) -> bool:
        """Whether the template uses the labels of a first round."""
        return self.template is not None and self.template.needs_first_round

    def check_first_round(self) -> None:
        """Raise ValueError if the model of the first round is missing."""
        if self.needs_first_round and self.first_round is None:
            raise ValueError("a model with doc_label in its template needs a first round; train it with fit")

    def with_patterns(self, text: str) -> FeatureSpace:
        """This space with more patterns in its template; it has not learned their features."""
        assert self.template is not None
        more = (*self.template.patterns, *parse_template(text).patterns)
        return replace(self, template=replace(self.template, patterns=more))

    # -- what it knows --------------------------------------------------------------------------

    def with_words(self, words: KeyTable) -> FeatureSpace:
        """This space with more words of training data, given by their keys."""
        return replace(self, words=merged(self.words, words.halves))

    def knows(self, words: list[str]) -> set[str]:
        """Those of the words that occurred in the training data."""
        distinct = sorted(set(words))
        return set(compress(distinct, np.isin(word_keys(distinct), self.words).tolist()))

    def kept(self, keep: np.ndarray, room: int = 0) -> FeatureSpace:
        """This space with only some of its features, and room for more."""
        keys = (self.table.halves if self.table.short else self.table.keys)[keep]
        names = None if self.names is None else list(compress(self.names, keep))
        return replace(self, table=KeyTable(keys, room), names=names)

    def kept_bigrams(self, keep: np.ndarray, labels: Sequence[str]) -> KeyTable:
        """The numbers of the features joined with a previous label, of which some are kept."""
        if self.bigrams is None:
            return self.bigram_numbers
        rows = self.bigram_rows(labels)
        return KeyTable(self.bigram_numbers.keys[np.any((rows >= 0) & keep[rows], axis=1)])

    def fully_named(self) -> FeatureSpace:
        """This space with a name, or None, for each feature if names are kept.

        A call that was interrupted may have left the last features unnamed.
        """
        if self.names is None or len(self.names) == len(self.table):
            return self
        return replace(self, names=[*self.names, *[None] * (len(self.table) - len(self.names))])

    # -- features -------------------------------------------------------------------------------

    def encode(self, X: Any, labels: Sequence[str], *, jobs: int = 1) -> Sequences:
        """The features of sentences, or of columns, that the space knows.

        labels: those that features are joined with. jobs: the number of threads.
        """
        if self.extractor is None:
            return self._ready(X)
        columns = self._columns(X)
        document = document_keys(self.document_values(columns))
        features = encode(columns, self.extractor, self.table, document=document, jobs=jobs)
        features = self._with_values(features, columns)
        if self.bigrams is None:
            return features
        return replace(features, bigrams=Bigrams(self.bigrams.ids(columns), self.bigram_rows(labels)))

    def learn(
        self,
        X: Any,
        y: SequenceLabels,
        labels: Sequence[str],
        *,
        cutoff: int | None = None,
        first: np.ndarray | None = None,
        jobs: int = 1,
        scratch: bool = False,
    ) -> Sequences:
        """The features of X; the space learns the new ones, and forgets rare ones if there is a cutoff.

        y, labels: the label of each token and the names of the labels, to join features with previous labels.
        first: the labels of the first round, see `document_values`. jobs: the number of threads; it does not
        change the result. scratch: as for `encode`.
        """
        bigrams = self.bigrams
        if self.extractor is None:
            features = self._ready(X, grow=True)
        else:
            X = self._columns(X)
            document = document_keys(self.document_values(X, first))
            features = encode(
                X, self.extractor, self.table, grow=True, document=document, jobs=jobs, scratch=scratch
            )
            features = self._with_values(features, X, grow=True)
        counted = [features]
        if bigrams is not None:
            ids = bigrams.ids(X, grow=True)
            counted.append(bigrams.learn(ids, y, self.table, list(labels)))
        if cutoff is not None:
            (features, *_), self.table = cut(counted, self.table, cutoff)
        if bigrams is not None:
            self._bigram_rows = None
            features = replace(features, bigrams=Bigrams(ids, self.bigram_rows(labels)))
        return features

    def add_document(self, X: Any, features: Sequences, first: np.ndarray, cutoff: int | None) -> Sequences:
        """Add the features that depend on the document to the others, which the space knows; it learns them.

        first, cutoff: as for `learn`.
        """
        assert self.template is not None
        columns = self._columns(X)
        extra = replace(self, template=self.template.of_document())
        assert extra.extractor is not None
        table, document = KeyTable(), document_keys(extra.document_values(columns, first))
        added = encode(columns, extra.extractor, table, grow=True, document=document)
        (added,), table = cut([added], table, cutoff or 1)
        rows = self.table.rows(table.keys, grow=True)
        return joined([features, replace(added, rows=rows[added.rows])])

    def _ready(self, X: Any, *, grow: bool = False) -> Sequences:
        """Features that need no template."""
        if self.function is not None:
            raise ValueError(
                "the option features adds features to words, but these tokens are features already; add "
                "yours to them, or pass words"
            )
        return encode_ready(X, self.table, grow=grow)

    def _columns(self, X: Any) -> Columns:
        """X as columns, if they are enough for the template."""
        assert self.template is not None
        columns, needed = as_columns(X), self.template.width
        if columns.n_tokens and columns.width < needed:
            raise ValueError(f"the template needs {needed} columns, but the input has {columns.width}")
        return columns

    def _own_items(self, columns: Columns) -> list[list[Any]] | None:
        """The features of the user, for each token of each sentence; None if there are none."""
        own = columns.own
        if self.function is not None:
            if own is not None:
                raise ValueError(
                    "the tokens have a dict of features, so the option features would be ignored; use one of "
                    "the two"
                )
            own = called(self.function, columns)
        if own is None and self.own_features:
            raise ValueError(
                "this model was trained with user-defined features, so it works only from Python; load it "
                "with features=FUNCTION, or pass tokens with a dict"
            )
        return own

    def _with_values(self, features: Sequences, columns: Columns, *, grow: bool = False) -> Sequences:
        """Add the real-valued features and those of the user to the features of the template."""
        assert self.template is not None
        own = self._own_items(columns)
        self.own_features |= grow and own is not None
        if not self.template.real and own is None:
            return features
        more = real_features(columns, self.template.real, self.knowledge, own, self.table, grow=grow)
        return joined([features, *more])

    def value_names(self, columns: Columns) -> set[str]:
        """The names of the real-valued features and of those of the user."""
        patterns = () if self.template is None else self.template.real
        return real_names(columns, patterns, self.knowledge, self._own_items(columns))

    def document_values(self, columns: Columns, first: np.ndarray | None = None) -> dict[str, Values]:
        """The values of the attributes that depend on the document.

        first: the labels of the first round, as positions in the names of its model; None predicts them.
        """
        used = () if self.extractor is None else self.extractor.document
        if not used:
            return {}
        document = document_numbers(columns, self.documents)
        values = {}
        if FORM in used:
            values[FORM] = written_forms(columns, document)
        if LABEL in used:
            self.check_first_round()
            assert self.first_round is not None
            ids = self.first_round.tag(columns) if first is None else first
            values[LABEL] = other_labels(columns, document, ids, self.first_round.names)
        return values

    # -- files ----------------------------------------------------------------------------------

    def packed(self, dtype: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The arrays and the metadata of the space, without those of the first round."""
        whole_keys = dtype == "float32" and not self.table.short
        known, described = self.knowledge.packed(dtype)
        arrays, meta = FEATURES.write({
            "template": None if self.template is None else self.template.text,
            "keys": self.table.keys if whole_keys else self.table.halves, "words": self.words,
            "bigrams.keys": None if self.bigrams is None else self.bigram_numbers.keys,
            "names": None if self.names is None else np.frombuffer(json.dumps(self.names).encode(), np.uint8),
            "knowledge": described, "own_features": self.own_features,
            "documents": int(self.documents) if self.uses_documents else None,
        })  # fmt: skip
        return arrays | known, meta

    @classmethod
    def unpacked(cls, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> FeatureSpace:
        """The space of the arrays and metadata of a file; raise ValueError for wrong ones."""
        found = FEATURES.read(arrays, meta)
        knowledge = Knowledge.unpacked(arrays, found.pop("knowledge"))
        patterns, bigrams = found.pop("template"), found.pop("bigrams.keys")
        template = None if patterns is None else parse_template(patterns, knowledge=knowledge)
        knowledge.check_suffices(template)
        if template is not None and template.bigrams and bigrams is None:
            raise ValueError("bigrams.keys is missing")
        table = KeyTable(found.pop("keys"))
        return cls(
            template, knowledge, table, KeyTable() if bigrams is None else KeyTable(bigrams),
            words=np.array(found.pop("words")), names=_names(found.pop("names"), len(table)),
            documents=found.pop("documents") or 1, **found,
        )  # fmt: skip


def _names(kept: np.ndarray | None, n_features: int) -> list[str | None] | None:
    """The names of the features, if the file has them."""
    if kept is None:
        return None
    found: list[str | None] = json.loads(bytes(kept))
    row(*n_features * [maybe(text())]).check(found, "names", {})
    return found
