"""Training data in memory: sentences with their labels, from Python or from a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from structsvm.files.atomic import drop_pages, on_disk
from structsvm.machine import SampleWeight
from structsvm.optimizers import Optimizer
from structsvm.problems.sequence import SequenceLabels, Sequences
from structsvm.validation import n_threads
from taggers.features.extract import KeyTable, as_columns, first_token, has_own_features
from taggers.features.feature_names import feature_names
from taggers.features.word_classes import add_words
from taggers.formats._columns import Columns
from taggers.formats.base import FileColumns
from taggers.labels.candidates import seen_labels
from taggers.labels.files import Labelled
from taggers.labels.label_encoding import GoldLabels
from taggers.labels.schemes import untyped
from taggers.memory import release_memory
from taggers.metrics import counts_of_ids
from taggers.model import TaggerModel
from taggers.online import Fitted, Online
from taggers.options import PHRASE_TASKS
from taggers.rounds import learn_rounds
from taggers.sources.base import Facts, Sentences, Settings, Source
from taggers.token_lists import fields_of, file_columns, is_token_list, labels_in, names_fields, words
from taggers.trainer import Curve, Dataset, encoded, figures_of, new_optimizer, warn_of_memory


def as_sentences(X: Sentences) -> Any:
    """X with lengths: generators become lists."""
    if isinstance(X, Columns):
        return X
    if not isinstance(X, Iterable):
        raise TypeError(f"X must be a list of sentences, got {X!r}"[:300])
    return [as_tokens(sentence) for sentence in X]


def as_labelled(X: Sentences, y: Any, task: str = "") -> tuple[Any, Any, FileColumns]:
    """X as sentences, y, and the columns for `TaggerModel.files` if the sentences are TokenLists.

    For TokenLists, y can name the field of the labels, or several fields whose values a label joins.
    """
    if isinstance(X, Columns) or not isinstance(X, Iterable):
        return as_sentences(X), y, FileColumns()
    X = list(X)
    if not X or not is_token_list(X[0]) or not names_fields(y):
        return as_sentences(X), y, FileColumns()
    fields = fields_of(y)
    return as_sentences(X), [labels_in(sentence, fields) for sentence in X], file_columns(fields, task)


def as_tokens(sentence: Any) -> list[Any]:
    """A sentence as a list of tokens; a string is rejected, because it would become a list of letters."""
    if is_token_list(sentence):
        return [token["form"] for token in words(sentence)]
    if isinstance(sentence, str):
        raise TypeError(
            f"a sentence must be a list of tokens, got the string {sentence[:40]!r}; split it into words "
            "(structsvm tag does this for plain text files)"
        )
    if not isinstance(sentence, Iterable):
        raise TypeError(f"a sentence must be a list of tokens, got {sentence!r}"[:300])
    return list(sentence)


def n_sentences(X: Sentences) -> int:
    """The number of sentences."""
    return X.n_sentences if isinstance(X, Columns) else len(X)


def input_width(X: Sentences, gold: GoldLabels) -> int:
    """The number of input columns: those before the column of the labels."""
    if isinstance(X, Columns):
        return X.width if gold.column is None else gold.column
    first = first_token(X)
    return len(first) - has_own_features(first) if isinstance(first, tuple) else 1


class MemorySource(Source[Dataset, Optimizer]):
    """Sentences in memory, with their labels; X, y and the weights are those of `SequenceTagger.fit`.

    file: the file that they were read from, if the model should keep its columns.
    """

    kind = "memory"

    def __init__(
        self,
        X: Sentences,
        y: Any,
        sample_weight: SampleWeight = None,
        *,
        token_weight: Any = None,
        file: Labelled | None = None,
    ) -> None:
        self.X, self.y, self._columns = as_labelled(X, y)
        self.token_weight = token_weight
        self.sample_weight, self.file = sample_weight, file
        self._fingerprint, self._patterns, self._warned = 0, [1.0], False
        self._features: Any = None

    @cached_property
    def gold(self) -> GoldLabels:
        """The gold labels."""
        return GoldLabels.to_learn(self.X, self.y, self.token_weight)

    def relabel(self, y: Sequence[Sequence[Any]]) -> None:
        """Give the sentences other labels; their features stay extracted if `reuse` is set."""
        self.y = y
        self.__dict__.pop("gold", None)

    def survey(self, task: str) -> Facts:
        if task in PHRASE_TASKS:
            self.gold = self.gold.of_phrases()
        n_tokens = int(self.gold.sentence_ptr[-1])
        facts = Facts(input_width(self.X, self.gold), self.gold.triples(), n_sentences(self.X), n_tokens)
        if self.file is None:
            return replace(facts, columns=self._columns).of(task) if self._columns else facts
        return replace(facts, columns=self.file.file_columns(task), name=self.file.columns.name)

    def datasets(self, model: TaggerModel, facts: Facts, settings: Settings) -> Iterator[Dataset]:
        labels, model.labels = encoded(self.gold, model)
        if self.space is None:
            features = self._learned(model, labels, settings)
            if self.reuse and model.space.bigrams is None:  # their rows depend on the labels
                model.space.release()
                release_memory()
                if not isinstance(features.rows, np.memmap):
                    features = replace(features, rows=on_disk(features.rows))
                self.space, self._features = model.space, features
        else:
            features = self._features
            if model.space.needs_first_round:
                features = self._learned(model, labels, settings, features)
            if not self.reuse:
                self._features = self.space = None
        model.candidates = seen_labels(model, self.X, labels)
        yield Dataset(features, labels)

    def contradicted(self, model: TaggerModel) -> tuple[int, int, int]:
        """Count the phrases of these data that a model, which was trained on them, gets wrong.

        Returns the number of phrases that it finds and that are not gold, of gold phrases that it does not
        find with any type, and of gold phrases. All are 0 if the labels do not mark phrases.
        """
        if model.labels.outer == "none" or self.gold.has_sets:
            return 0, 0, 0
        ids = model.tag(model.features(self.X) if self._features is None else self._features)
        n_gold, found, correct = counts_of_ids(self.gold, ids, model.names, phrases=True).sum(axis=0).tolist()
        plain = {name: untyped(name) for name in (*self.gold.distinct(), *model.names)}
        names = [plain[name] for name in model.names]
        known = int(counts_of_ids(self.gold.renamed(plain), ids, names, phrases=True)[:, 2].sum())
        return found - correct, n_gold - known, n_gold

    def _learned(
        self, model: TaggerModel, labels: SequenceLabels, settings: Settings, known: Sequences | None = None
    ) -> Sequences:
        """The features of the sentences, which the model learns.

        known: those that do not depend on the document, if the model knows them already.
        """
        first = None
        if model.space.needs_first_round:
            features, first = learn_rounds(self.X, labels, model, settings, self.sample_weight, known)
        else:
            jobs = n_threads(settings["jobs"])
            features = model.space.learn(
                self.X, labels, model.labels, cutoff=settings["cutoff"], jobs=jobs, scratch=self.reuse
            )
        if model.space.extractor is not None:
            model.space = model.space.with_words(add_words(KeyTable(), as_columns(self.X)))
        if settings["keep_names"]:
            model.space.names = feature_names(model, self.X, first=first)
        return features

    def learner(self, model: TaggerModel, settings: Settings, datasets: Iterable[Dataset]) -> Optimizer:
        (dataset,) = datasets
        self._fingerprint = dataset.fingerprint()
        self._patterns = [dataset.labelled if model.labels.inference == "greedy" else 1.0]
        optimizer = new_optimizer(model, settings)
        self._warned = warn_of_memory(optimizer, model, dataset)
        drop_pages(dataset.X.rows)  # that the fingerprint has read
        optimizer.begin(*dataset, self.sample_weight)
        drop_pages(dataset.X.rows)
        if settings["callback"] is not None:
            optimizer.callback = Curve(self._patterns, settings["callback"])
        return optimizer

    def figures(self, learner: Optimizer) -> dict[str, Any]:
        return figures_of(learner, self._fingerprint)

    def fitted(self, model: TaggerModel, settings: Settings, learner: Optimizer) -> Fitted:
        return Online(model, settings, learner, self._patterns, warned=self._warned)
