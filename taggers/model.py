"""The model of a tagger: which features to extract, their weights, and the labels."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np

from structsvm.files import SparseRows
from structsvm.options import Option
from structsvm.problems.sequence import (
    Bigrams,
    Candidates,
    Decoder,
    SequenceLabels,
    SequenceProblem,
    Sequences,
)
from structsvm.threads import StoppablePool
from structsvm.validation import MOST, MOST_BEST, check_count, check_number
from taggers.features.class_files import read_classes
from taggers.features.documents import (
    FORM,
    LABEL,
    Values,
    document_keys,
    document_numbers,
    other_labels,
    written_forms,
)
from taggers.features.extract import (
    Extractor,
    KeyTable,
    as_columns,
    cut,
    encode,
    encode_ready,
    joined,
    shares,
)
from taggers.features.knowledge import Knowledge, named_sources, read_gazetteer
from taggers.features.label_bigrams import LabelBigrams
from taggers.features.real_values import called, real_features, real_names
from taggers.features.template import Template
from taggers.features.word_classes import merged, word_keys
from taggers.formats._columns import Columns
from taggers.labels import schemes
from taggers.labels.label_encoding import by_label
from taggers.labels.parts import values
from taggers.labels.space import LabelSpace
from taggers.options import OPTIONS

if TYPE_CHECKING:
    from structsvm.training import Learner

MOST_ALIKE = 64
LARGEST_BIAS = 1e6  # far above any score, and exact enough in float32
MOST_LABELS = 10_000  # the loss matrix has a number for each pair


@dataclass
class TaggerModel:
    """Weights (rows for previous labels, then rows for features) and everything else to label sentences.

    template: None where features are ready (files of CRFsuite, dicts of python-crfsuite).
    table: from the keys of features to their rows.
    bigram_numbers: of the features joined with a previous label, see `taggers.features.label_bigrams`.
    knowledge: the word classes and gazetteers that the template uses.
    words: the upper halves of the keys of the words seen in training.
    report: figures of the training. parameters: the options given to the tagger.
    candidates: the labels that tokens may get, by feature; None: all. Further training drops them.
    files: the format and columns of the training file.
    state: the training state, if it was kept.
    temperature: of probabilities, see `calibrated`.
    bias: what `biased` has added to the weights, by label; further training keeps it.
    function: maps the tokens of a sentence and a position to more features, as a dict; not saved.
    own_features: whether the training data had features of the user, from the function or with the tokens.
    documents: the number of sentences in a document, see `taggers.features.documents`.
    first_round: the model whose labels are features of this one, if the template uses them.
    feature_names: by row of the table, if they were kept; they have no effect on labelling.
    """

    template: Template | None
    labels: LabelSpace
    table: KeyTable
    weights: SparseRows
    candidates: Candidates | None = None
    bigram_numbers: KeyTable = field(default_factory=KeyTable)
    knowledge: Knowledge = field(default_factory=Knowledge)
    words: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint32))
    report: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    files: dict[str, Any] = field(default_factory=dict)
    state: dict[str, np.ndarray] | None = None
    feature_names: list[str | None] | None = None
    temperature: float = 1.0
    bias: dict[str, float] = field(default_factory=dict)
    function: Any = None
    own_features: bool = False
    documents: int = 1
    first_round: TaggerModel | None = None

    def problem(self, loss: np.ndarray | None = None) -> SequenceProblem:
        """The structured problem of the weights."""
        bigrams = self.label_bigrams
        return self.labels.problem(None if bigrams is None else bigrams.distances, loss)

    def with_weights(self, learner: Learner) -> TaggerModel:
        """This model with the weights of a learner."""
        return self.with_rows(self.rows_of(learner))

    def rows_of(self, learner: Learner) -> SparseRows:
        """The weights of a learner as rows, in float32, with the bias; rows without examples are zero."""
        problem = self.problem()
        rows = learner.weight_rows(self.n_rows, problem.stride, problem.width)
        return rows.shifted(len(self.labels) + 1, self.shift) if self.bias else rows

    @property
    def shift(self) -> np.ndarray:
        """The bias of each label."""
        return np.array([self.bias.get(label, 0.0) for label in self.labels])

    def with_rows(self, rows: SparseRows) -> TaggerModel:
        """This model with other weights."""
        names = self.feature_names
        if names is not None:  # a call that was interrupted may have left the last features unnamed
            names = [*names, *[None] * (len(self.table) - len(names))]
        return replace(self, weights=rows, state=None, feature_names=names)

    def with_rows_of(self, used: np.ndarray) -> TaggerModel:
        """This model with a decoder of some features, to label sentences with their rows among these.

        The mask `used` must contain the features that have candidates.
        """
        rows = self.weights.kept(np.concatenate([np.ones(self.first_row, bool), used]))
        sets = None if self.candidates is None else self.candidates.kept(used)
        return self.with_decoder(Decoder(self.problem(), rows, candidates=sets))

    def with_decoder(self, decoder: Decoder) -> TaggerModel:
        """This model with a decoder of its own, to label sentences whose rows are those of the decoder."""
        model = object.__new__(TaggerModel)
        model.__dict__.update(self.__dict__, decoder=decoder)  # and everything that is cached
        return model

    def with_features(self, keep: np.ndarray) -> TaggerModel:
        """This model with only some of its features, no weights, and about as much room as before."""
        names = self.feature_names
        return replace(
            self, table=self._table(keep, len(keep) + len(keep) // 32),
            weights=SparseRows.from_dense(np.zeros((0, 1))), state=None, candidates=None,
            feature_names=None if names is None else list(compress(names, keep)),
        )  # fmt: skip

    def _table(self, keep: np.ndarray, room: int = 0) -> KeyTable:
        return KeyTable((self.table.halves if self.table.short else self.table.keys)[keep], room)

    @cached_property
    def decoder(self) -> Decoder:
        return Decoder(self.problem(), self.weights, candidates=self.candidates)

    @cached_property
    def first_row(self) -> int:
        """The first row of the weights that is a feature's."""
        return self.problem().history

    @cached_property
    def extractor(self) -> Extractor | None:
        return None if self.template is None else Extractor(self.template.symbolic, self.knowledge)

    def release(self) -> None:
        """Free the memory that only feature extraction needs; the next extraction allocates it again."""
        self.table.pack()
        if self.extractor is not None:
            self.extractor.forget_words()

    @property
    def uses_documents(self) -> bool:
        """Whether the features of a sentence depend on the other sentences of its document."""
        return self.extractor is not None and bool(self.extractor.document)

    @property
    def needs_first_round(self) -> bool:
        """Whether the template uses the labels of a first round."""
        return self.template is not None and self.template.needs_first_round

    def _check_first_round(self) -> None:
        if self.needs_first_round and self.first_round is None:
            raise ValueError("a model with doc_label in its template needs a first round; train it with fit")

    @cached_property
    def label_bigrams(self) -> LabelBigrams | None:
        """The features that are joined with a previous label, if the template has any."""
        if self.template is None or not self.template.bigrams:
            return None
        return LabelBigrams(self.template, self.bigram_numbers, self.knowledge)

    @cached_property
    def bigram_rows(self) -> np.ndarray:
        """The rows of these features, by number and label."""
        assert self.label_bigrams is not None
        return self.label_bigrams.rows(self.table, list(self.labels))

    @property
    def names(self) -> list[str]:
        """The labels as users see them; `tag` returns positions in this list."""
        return self.labels.names

    def with_words(self, words: KeyTable) -> TaggerModel:
        """This model with more words of training data, given by their keys."""
        return replace(self, words=merged(self.words, words.halves))

    def knows(self, words: list[str]) -> set[str]:
        """Those of the words that occurred in the training data."""
        distinct = sorted(set(words))
        return set(compress(distinct, np.isin(word_keys(distinct), self.words).tolist()))

    @property
    def parts(self) -> list[str]:
        """The columns of CoNLL-U whose values a label joins; empty for simple labels."""
        return list(self.files.get("parts", ()))

    def part_names(self, part: str | None) -> list[str]:
        """The values that labels have for one of these columns; None: the labels themselves."""
        if part is None:
            return self.names
        parts = self.parts
        at = parts.index(part)
        return [values(name, len(parts))[at] for name in self.names]

    @property
    def n_features(self) -> int:
        return len(self.table)

    @property
    def n_rows(self) -> int:
        """The rows of weights that the model needs."""
        return self.first_row + len(self.table)

    def __getstate__(self) -> dict[str, Any]:
        cached = ("decoder", "first_row", "extractor", "label_bigrams", "bigram_rows")
        return {name: value for name, value in self.__dict__.items() if name not in cached}

    # -- labelling ------------------------------------------------------------------------------

    def features(self, X: Any, *, jobs: int = 1) -> Sequences:
        """The features of sentences, or of columns, that the model knows; jobs: the number of threads."""
        if self.extractor is None:
            return self._ready(X)
        columns = self._columns(X)
        document = document_keys(self.document_values(columns))
        features = encode(columns, self.extractor, self.table, document=document, jobs=jobs)
        features = self._with_values(features, columns)
        if self.label_bigrams is None:
            return features
        return replace(features, bigrams=Bigrams(self.label_bigrams.ids(columns), self.bigram_rows))

    def learn_features(
        self,
        X: Any,
        y: SequenceLabels,
        *,
        cutoff: int | None = None,
        first: np.ndarray | None = None,
        jobs: int = 1,
    ) -> Sequences:
        """The features of X; the model learns the new ones, and forgets rare ones if there is a cutoff.

        first: the labels of the first round, see `document_values`. jobs: the number of threads; it does not
        change the result.
        """
        bigrams = self.label_bigrams
        if self.extractor is None:
            features = self._ready(X, grow=True)
        else:
            X = self._columns(X)
            document = document_keys(self.document_values(X, first))
            features = encode(X, self.extractor, self.table, grow=True, document=document, jobs=jobs)
            features = self._with_values(features, X, grow=True)
        counted = [features]
        if bigrams is not None:
            ids = bigrams.ids(X, grow=True)
            counted.append(bigrams.learn(ids, y, self.table, list(self.labels)))
        if cutoff is not None:
            (features, *_), self.table = cut(counted, self.table, cutoff)
        if bigrams is not None:
            self.__dict__.pop("bigram_rows", None)
            features = replace(features, bigrams=Bigrams(ids, self.bigram_rows))
        return features

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

    def own_items(self, columns: Columns) -> list[list[Any]] | None:
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
        own = self.own_items(columns)
        self.own_features |= grow and own is not None
        if not self.template.real and own is None:
            return features
        more = real_features(columns, self.template.real, self.knowledge, own, self.table, grow=grow)
        return joined([features, *more])

    def value_names(self, columns: Columns) -> set[str]:
        """The names of the real-valued features and of those of the user."""
        patterns = () if self.template is None else self.template.real
        return real_names(columns, patterns, self.knowledge, self.own_items(columns))

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
            self._check_first_round()
            assert self.first_round is not None
            ids = self.first_round.tag(columns) if first is None else first
            values[LABEL] = other_labels(columns, document, ids, self.first_round.names)
        return values

    def tag(
        self,
        X: Columns | Sequences,
        *,
        forced: np.ndarray | None = None,
        margins: np.ndarray | None = None,
        jobs: int = 1,
    ) -> np.ndarray:
        """The label of each token, as a position in `names`; `forced` holds positions in `labels`, or -1."""
        data = self.features(X, jobs=jobs) if isinstance(X, Columns) else X
        ids = np.zeros(data.n_tokens, np.int32)
        bounds = shares(data.sentence_ptr, jobs)

        def work(part: int) -> None:
            self.decoder.labels(data, bounds[part], bounds[part + 1], forced=forced, margins=margins, out=ids)

        if len(bounds) == 2:
            work(0)
        else:
            with StoppablePool(len(bounds) - 1) as pool:
                list(pool.map(work, range(len(bounds) - 1)))
        return self.labels.outward(ids, data.sentence_ptr)

    def marginals(self, X: Columns | Sequences) -> np.ndarray:
        """tokens x names, float32: the probability of each label of each token."""
        data = self.features(X) if isinstance(X, Columns) else X
        inner = self.decoder.marginals(data, self.temperature)
        if self.labels.rewriter is None:
            return inner
        outer = np.zeros((len(inner), len(self.names)), np.float32)
        space = self.labels
        for k, label in enumerate(space):
            outer[:, self.names.index(schemes.renamed(label, space.inner, space.outer))] += inner[:, k]
        return outer

    def calibrated(self, X: Sequences, gold: np.ndarray) -> TaggerModel:
        """This model with the temperature that makes labels most probable: positions in `names`, or -1."""
        known = np.flatnonzero(gold >= 0)

        def cost(temperature: float) -> float:
            probable = replace(self, temperature=temperature).marginals(X)[known, gold[known]]
            return -float(np.log(np.maximum(probable, 1e-12)).mean())

        tried = {t: cost(t) for t in np.geomspace(0.05, 5, 9).tolist()} if len(known) else {1.0: 0.0}
        best = min(tried, key=tried.__getitem__)
        finer = {t: cost(t) for t in (best * np.geomspace(0.65, 1.5, 7)).tolist()} if len(known) else tried
        return replace(self, temperature=min(finer, key=finer.__getitem__))

    def biased(self, bias: Mapping[str, float]) -> TaggerModel:
        """This model with constants added to the scores of labels: names, types, or `phrases` (all but O).

        A token has one row of weights for its previous label, so the constants are added there.
        """
        if self.labels.share or self.problem().history < len(self.labels) + 1:
            raise ValueError("a bias needs labels without parts, and an order of at least 1")
        shift = by_label("bias", bias, self.labels, self.labels.outer, self.labels.inner, 0.0)
        if not (np.abs(self.shift + shift) <= LARGEST_BIAS).all():
            raise ValueError(f"a bias must be a finite number from -{LARGEST_BIAS:g} to {LARGEST_BIAS:g}")
        total = dict(zip(self.labels, (self.shift + shift).tolist(), strict=True))
        weights = self.weights.shifted(len(self.labels) + 1, shift)
        return replace(self, weights=weights, bias={label: value for label, value in total.items() if value})

    def n_best(self, X: Sequences, sentence: int, n: int) -> list[tuple[float, tuple[int, ...]]]:
        """The n best labellings of a sentence, as positions in `names`, with their scores, best first.

        It needs exact inference. Of inner labellings with the same meaning, the best one counts. There are
        fewer than n labellings if the MOST_ALIKE * n best inner ones have fewer meanings.
        """
        check_count(n=n, low=1, high=MOST_BEST)
        asked = n
        while True:
            found = self.decoder.n_best(X, sentence, asked)
            scores: dict[tuple[int, ...], float] = {}
            for score, path in found:
                ends = np.array([0, len(path)], np.int64)
                scores.setdefault(tuple(self.labels.outward(path, ends).tolist()), score)
            if len(scores) >= n or len(found) < asked or asked >= MOST_ALIKE * n:
                break
            asked *= 4
        return [(score, path) for path, score in list(scores.items())[:n]]

    # -- files ----------------------------------------------------------------------------------

    def compact(self, least: float = 0.0, dtype: str = "float32") -> TaggerModel:
        """This model without weights up to `least`, features without weights, and training state."""
        first = self.problem().history
        sets = self.candidates
        needed = np.zeros(0, np.int32) if sets is None else sets.rows
        weights, keep = self.weights.compact(least, dtype, first, needed + first)
        if least and self.weights.counts[first:].any() and not weights.counts[first:].any():
            warnings.warn(f"prune={least:g} drops the weights of all features; lower it", stacklevel=3)
        keep = keep[first:]
        names = None if self.feature_names is None else list(compress(self.feature_names, keep))
        numbers = self.bigram_numbers
        if self.label_bigrams is not None:
            rows = self.bigram_rows
            used = np.any((rows >= 0) & keep[rows], axis=1)
            numbers = KeyTable(numbers.keys[used])
        return replace(
            self, table=self._table(keep), weights=weights, bigram_numbers=numbers, state=None,
            feature_names=names, candidates=None if sets is None else sets.kept(keep),
            first_round=None if self.first_round is None else self.first_round.compact(least, dtype),
        )  # fmt: skip

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        prune: float | None = None,
        dtype: str = "float32",
        training_state: bool = False,
    ) -> None:
        """Write a model file, completely or not at all.

        prune: drop weights of this magnitude or less, and features left without weights.
        dtype: float32 keeps the weights unchanged; float16 and int8 round them and store 32 bits of the
        feature keys (an unseen feature is mistaken for a known one once in 2**32 / features times).
        training_state: save the training state, so that `resume` continues training exactly.
        """
        from taggers.model_file import write_model

        if training_state and (self.state is None or prune is not None or dtype != "float32"):
            raise ValueError(
                "training_state=True requires a model with a training state, float32 weights and no pruning"
            )
        self._check_first_round()
        if prune is not None:
            check_number(prune=prune, high=MOST)
        write_model(path, self if training_state else self.compact(prune or 0.0, dtype), dtype)

    @staticmethod
    def load(path: str | os.PathLike[str], options: Iterable[Option] = OPTIONS) -> TaggerModel:
        """Read a model file, or an included model by its name (en-pos), or raise ModelFileError.

        options: those that the file may hold.
        """
        from taggers.model_file import read_arrays, unpacked

        return unpacked(path, *read_arrays(path), options)


def replace_knowledge(model: TaggerModel, *, classes: Any = None, gazetteers: Any = None) -> TaggerModel:
    """A model with other word classes, or other entries of its gazetteers, under the same names."""
    given = {"classes": named_sources(classes), "gazetteers": named_sources(gazetteers)}
    known = model.knowledge
    for kind, sources in given.items():
        for name in sources:
            if name not in getattr(known, kind):
                names = ", ".join(getattr(known, kind)) or "none"
                raise ValueError(f"the model has no {kind} called {name!r}; its {kind}: {names}")
    found = {name: read_gazetteer(source, folded=known.gazetteers[name].folded)
             for name, source in given["gazetteers"].items()}  # fmt: skip
    read = {name: read_classes(source) for name, source in given["classes"].items()}
    knowledge = known.with_classes(read).with_gazetteers(found)
    first = model.first_round and replace(model.first_round, knowledge=knowledge)
    return replace(model, knowledge=knowledge, first_round=first)
