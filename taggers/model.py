"""A trained tagger as data: what to extract, the weights, and what the labels mean."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress
from typing import Any

import numpy as np

from structsvm.files.sparse_weights import SparseRows
from structsvm.problems.sequence.bigrams import Bigrams
from structsvm.problems.sequence.problem import SequenceProblem, Sequences
from structsvm.validation import check_count
from taggers.features.extract import Extractor, Features, KeyTable, encode, encode_items
from taggers.features.label_bigrams import History
from taggers.features.template import Template
from taggers.features.word_classes import WORDS, Clusters
from taggers.formats._columns import Columns
from taggers.labels import schemes

MOST_ALIKE = 64
MOST_LABELS = 10_000  # the loss of each pair of them is a number in memory


@dataclass
class TaggerModel:
    """Weights (label history rows, then feature rows) with all that is needed to label sentences.

    labels: the names that the weights know, in `inner` scheme; users read and write `outer` scheme.
    template: None where features come as strings (CRFsuite's files, python-crfsuite's dicts).
    numbers: of the features that are joined with a label before, see `taggers.features.label_bigrams`.
    clusters: of words, where the template asks for them.
    words: of those seen in training, the upper halves of their keys.
    state: of the optimizer, where it was kept.
    feature_names: of the rows of the table, where they were kept; they play no part in labelling.
    """

    template: Template | None
    labels: list[str]
    table: KeyTable
    weights: SparseRows
    outer: str = "none"
    inner: str = "none"
    constrained: bool = False
    inference: str = "exact"
    order: int = 1
    numbers: KeyTable = field(default_factory=KeyTable)
    clusters: Clusters | None = None
    words: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint32))
    report: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    files: dict[str, Any] = field(default_factory=dict)
    state: dict[str, np.ndarray] | None = None
    feature_names: list[str | None] | None = None

    def problem(self, loss: np.ndarray | None = None) -> SequenceProblem:
        """The learning problem that the weights belong to."""
        options: dict[str, Any] = {"inference": self.inference, "order": self.order, "loss": loss}
        if self.history is not None:
            options["bigrams"] = self.history.distances
        if self.constrained:
            first, follow, last = schemes.allowed(self.labels, self.inner)
            options["barred"] = (~np.vstack([follow, first]), ~last)
        return SequenceProblem(len(self.labels), **options)

    def with_weights(self, weights: np.ndarray) -> TaggerModel:
        """This model with an optimizer's weights; rows that no example has used are zero."""
        problem = self.problem()
        n_rows = problem.history + len(self.table)
        used = weights[: len(weights) // problem.stride * problem.stride].reshape(-1, problem.stride)[:n_rows]
        table = SparseRows.from_dense(used, problem.n_labels).extended(n_rows)
        names = self.feature_names
        if names is not None:  # a call that was broken off may have left the last ones without
            names = [*names, *[None] * (len(self.table) - len(names))]
        return replace(self, weights=table, state=None, feature_names=names)

    @cached_property
    def decoder(self) -> Any:
        from structsvm.problems.sequence._decode import Decoder

        return Decoder(self.problem(), self.weights)

    @cached_property
    def extractor(self) -> Extractor | None:
        return None if self.template is None else Extractor(self.template, self.clusters)

    @cached_property
    def history(self) -> History | None:
        """The features that are joined with a label before; None where there are none."""
        return (
            None
            if self.template is None or not self.template.bigrams
            else History(self.template, self.numbers, self.clusters)
        )

    @cached_property
    def pair_rows(self) -> np.ndarray:
        """The rows of these features, by number and label."""
        assert self.history is not None
        return self.history.rows(self.table, self.labels)

    @cached_property
    def rewriter(self) -> schemes.Rewriter | None:
        """From inner to outer labels; None where they are the same."""
        if self.inner == "none" or (self.constrained and self.inner == self.outer):
            return None
        return schemes.Rewriter(self.labels, self.inner, self.outer)

    @property
    def names(self) -> list[str]:
        """The labels as users see them; `tag` returns places in this list."""
        return self.labels if self.rewriter is None else self.rewriter.names

    @staticmethod
    def word_keys(columns: Columns) -> np.ndarray:
        """Keys of the words of the first column."""
        return WORDS.keys(columns)[:, 0]

    def knows(self, words: list[str]) -> set[str]:
        """Those of some words that were seen in training."""
        distinct = sorted(set(words))
        keys = self.word_keys(Columns.from_sentences([distinct])) >> np.uint64(32)
        return {word for word, known in zip(distinct, np.isin(keys, self.words), strict=True) if known}

    @property
    def parts(self) -> list[str]:
        """The columns of CoNLL-U whose values a label joins, as in NOUN|NN; none where it is one value."""
        return list(self.files.get("parts", ()))

    @property
    def n_features(self) -> int:
        return len(self.table)

    def __getstate__(self) -> dict[str, Any]:
        made_anew = ("decoder", "extractor", "history", "pair_rows", "rewriter")
        return {name: value for name, value in self.__dict__.items() if name not in made_anew}

    # -- labelling ------------------------------------------------------------------------------

    def features(self, columns: Columns) -> Features:
        """The features of sentences that the model knows."""
        if self.extractor is None:
            return encode_items(columns, self.table)
        features = encode(columns, self.extractor, self.table)
        if self.history is None:
            return features
        return replace(features, bigrams=Bigrams(self.history.ids(columns), self.pair_rows))

    def tag(
        self,
        X: Columns | Features,
        *,
        forced: np.ndarray | None = None,
        margins: np.ndarray | None = None,
        jobs: int = 1,
    ) -> np.ndarray:
        """The label of each token, as its place in `names`; `forced` holds places in `labels`, or -1."""
        data = _sequences(self.features(X) if isinstance(X, Columns) else X)
        ids = np.zeros(len(data.token_ptr) - 1, np.int32)
        bounds = _shares(data.sentence_ptr, jobs)

        def work(part: int) -> None:
            self.decoder.labels(data, bounds[part], bounds[part + 1], forced=forced, margins=margins, out=ids)

        if len(bounds) == 2:
            work(0)
        else:
            with ThreadPoolExecutor(len(bounds) - 1) as pool:
                list(pool.map(work, range(len(bounds) - 1)))
        return self.outward(ids, data.sentence_ptr)

    def outward(self, ids: np.ndarray, sentence_ptr: np.ndarray) -> np.ndarray:
        """Places in `labels` as places in `names`."""
        return ids if self.rewriter is None else self.rewriter(ids, sentence_ptr)

    def n_best(self, X: Features, sentence: int, n: int) -> list[tuple[float, list[str]]]:
        """The n best labellings of a sentence with their scores, best first; exact inference only.

        Where inner labellings mean the same, the best of them counts; there are fewer than n where the
        MOST_ALIKE * n best inner ones mean no more.
        """
        check_count(n=n, low=1)
        data, asked = _sequences(X), n
        while True:
            found = self.decoder.n_best(data, sentence, asked)
            scores: dict[tuple[int, ...], float] = {}
            for score, path in found:
                ends = np.array([0, len(path)], np.int64)
                scores.setdefault(tuple(self.outward(path, ends).tolist()), score)
            if len(scores) >= n or len(found) < asked or asked >= MOST_ALIKE * n:
                break
            asked *= 4
        return [(score, [self.names[k] for k in path]) for path, score in list(scores.items())[:n]]

    # -- files ----------------------------------------------------------------------------------

    def compact(self, least: float = 0.0, dtype: str = "float32") -> TaggerModel:
        """Without weights that are `least` or less in size, features that have none, and training state."""
        first = self.problem().history
        weights = self.weights.without(least, first).rounded(dtype)
        keep = weights.counts > 0
        names = None if self.feature_names is None else list(compress(self.feature_names, keep[first:]))
        numbers = self.numbers
        if self.history is not None:
            rows = self.pair_rows
            used = np.any((rows >= 0) & keep[first:][rows], axis=1)
            numbers = KeyTable(numbers.keys[used])
        keep[:first] = True
        keys = (self.table.halves if self.table.short else self.table.keys)[keep[first:]]
        return replace(
            self, table=KeyTable(keys), weights=weights.kept(keep), numbers=numbers, state=None,
            feature_names=names,
        )  # fmt: skip

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        prune: float | None = None,
        dtype: str = "float32",
        training_state: bool = False,
    ) -> None:
        """Write one file, all of it or nothing.

        prune: leave out weights that are no larger than this, and features that have no others.
        dtype: float32 keeps a model as it is; float16 and int8 round weights, and know features by 32 bits of
        their keys (an unseen one is taken for a known one once in 2**32 / features times).
        training_state: keep what it takes to go on training as if it had never ended.
        """
        from taggers.model_file import write_model

        if training_state and (self.state is None or prune is not None or dtype != "float32"):
            raise ValueError(
                "a training state goes with float32 weights, none of them pruned, and a model that has one"
            )
        if prune is not None and not prune >= 0:
            raise ValueError(f"weights can be left out that are no larger than 0 or more, not {prune}")
        write_model(path, self if training_state else self.compact(prune or 0.0, dtype), dtype)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> TaggerModel:
        """Read a model file, or one that comes along by its name (en-pos), or raise ModelFileError."""
        from taggers.bundled import find_model
        from taggers.model_file import read_model

        return read_model(find_model(path))


def _sequences(features: Features) -> Sequences:
    return Sequences(
        features.rows, features.token_ptr, features.sentence_ptr, features.values, features.bigrams
    )


def _shares(sentence_ptr: np.ndarray, jobs: int) -> list[int]:
    """Sentence numbers that split the tokens in about equal shares."""
    n = len(sentence_ptr) - 1
    aims = np.linspace(0, sentence_ptr[-1], min(max(jobs, 1), max(n, 1)) + 1)[1:-1]
    return [0, *np.searchsorted(sentence_ptr, aims).tolist(), n]
