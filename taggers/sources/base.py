"""`Source`: where the labelled sentences of a training are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, TypeVar

from structsvm.files import SparseRows
from structsvm.training import Learner, Pass, Report
from taggers.features.space import FeatureSpace
from taggers.formats.base import FileColumns
from taggers.labels import schemes
from taggers.labels.schemes import Triple
from taggers.model import TaggerModel
from taggers.online import Fitted
from taggers.options import PHRASE_TASKS

Settings = Mapping[str, Any]
Sentences = Any  # as `SequenceTagger.fit` takes them
Data = TypeVar("Data")  # a data set, or a part of it, as the learner takes it
L = TypeVar("L", bound=Learner)


@dataclass(frozen=True)
class Facts:
    """Facts about the data of a training that a new model needs.

    width: the number of input columns. triples: how often each label occurs between which neighbours.
    columns: the format and columns of the file, for `TaggerModel.files`. usual: other names for labels of
    the file, see `schemes.typed`; the triples have them.
    """

    width: int
    triples: Counter[Triple]
    sentences: int
    tokens: int
    columns: FileColumns = field(default_factory=FileColumns)
    name: str = ""
    usual: dict[str, str] = field(default_factory=dict)

    def of(self, task: str) -> Facts:
        """The same data, to be used for this task."""
        usual = schemes.typed({label for _, label, _ in self.triples}) if task in PHRASE_TASKS else {}
        triples: Counter[Triple] = Counter()
        for (before, label, after), count in self.triples.items():
            triples[usual.get(before, before), usual.get(label, label), usual.get(after, after)] += count
        columns = FileColumns(**{**self.columns, "task": task})
        return replace(self, triples=triples, columns=columns, usual=usual)


class Source(ABC, Generic[Data, L]):
    """Labelled sentences to train on; `SequenceTagger.fit_source` calls the methods in this order.

    A source can be used again for another model.
    """

    kind: ClassVar[str]  # one of `structsvm.options.SOURCES`
    X: Sentences = None  # the sentences, if they are in memory: word classes are learned from them
    reuse: bool = False  # whether one more model with the same template will follow
    space: FeatureSpace | None = None  # the features of that model, if they have been extracted already

    @abstractmethod
    def survey(self, task: str) -> Facts:
        """Read the data once.

        Raises: DataError for data that no model can learn.
        """

    @abstractmethod
    def datasets(self, model: TaggerModel, facts: Facts, settings: Settings) -> Iterable[Data]:
        """The data, encoded for a model, as its learner takes them: in memory, on disk or on workers.

        Requires: the model is new and fits the facts.
        Ensures: after the iteration, the model knows all labels, features and words of the data.
        Raises: ValueError for a model whose features this source cannot supply.
        """

    @abstractmethod
    def learner(self, model: TaggerModel, settings: Settings, datasets: Iterable[Data]) -> L:
        """A learner of the weights of the model; it has made no pass, or those of a checkpoint."""

    def report(self, learner: L) -> Report[SparseRows]:
        """The report to continue: that of a checkpoint, or an empty one."""
        return Report()

    def keep(self, done: Pass[SparseRows]) -> None:
        """Save a pass that has been scored, if there is a checkpoint."""

    def figures(self, learner: L) -> dict[str, Any]:
        """More figures for the report of the model, after the last pass."""
        return {}

    def fitted(self, model: TaggerModel, settings: Settings, learner: L) -> Fitted:
        """The trained model; if the data were in memory, it can learn more."""
        return Fitted(model, settings)

    def close(self) -> None:
        """Free what training needed."""


def check_columns_suffice(model: TaggerModel, where: str) -> None:
    """Raise ValueError if features depend on more than the columns of a sentence, and no source has that."""
    real = model.space.template is not None and model.space.template.real
    own = model.space.function is not None or real or model.space.bigrams is not None
    if own or model.space.knowledge.names or model.space.uses_documents or model.labels.share:
        raise ValueError(
            f"{where} supports templates without word classes, gazetteers, vectors, values, doc_form, "
            "doc_label, functions and y[-1] joined with features, and labels that do not share weights; use "
            "a simpler template, or train in memory"
        )


def learn_labels(model: TaggerModel, facts: Facts) -> None:
    """Give a new model the labels of the data, in an order that does not depend on that of the sentences."""
    space = model.labels
    found = {schemes.convert(triple, space.outer, space.inner)[1] for triple in facts.triples}
    model.labels = space.with_labels(sorted(found))
