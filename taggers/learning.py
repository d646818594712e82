"""How a tagger learns: from scratch, in more passes, or online, with new features and labels as they come."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from structsvm.files.errors import DataError
from structsvm.files.sparse_weights import SparseRows
from structsvm.problems.sequence.widen import wider_weights
from structsvm.validation import check_count
from taggers import encoding as data
from taggers import training
from taggers.features.extract import KeyTable
from taggers.features.feature_names import feature_names
from taggers.features.template import fitting_template
from taggers.formats._columns import Columns
from taggers.labels import label_encoding as gold
from taggers.labels._labels import Labels
from taggers.model import MOST_LABELS, TaggerModel


class Learning(ABC):
    """Learns a model, `model_`, with an optimizer, `optimizer_`.

    After a step of `partial_fit` the weights stay with the optimizer (`_stale`) until all are asked for.
    """

    label_weight: Mapping[str, float] | None
    keep_names: bool
    patience: int
    random_state: Any
    jobs: int
    callback: Callable[..., Any] | None
    model_: TaggerModel
    optimizer_: Any
    _labels: Labels
    _state_option = "training_state=True"  # what those who save it have to say to keep the training state

    @abstractmethod
    def _setting(self, name: str) -> Any:
        """A parameter, or what it is by default."""

    @abstractmethod
    def _plain_parameters(self) -> dict[str, Any]:
        """The parameters that a model file keeps."""

    @abstractmethod
    def _not_fitted(self) -> Exception:
        """What to raise where there is no model."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, X_dev: Any = None, y_dev: Any = None) -> Self:
        """Train from scratch; with development data, the weights of the best pass are kept."""
        check_count(epochs=self._setting("epochs"), cutoff=self._setting("cutoff"), low=1)
        X = data.materialised(X)
        sentences = data.gold_of(X, y)
        model = self._new_model(X, y, sentences)
        features = data.features_of(X, model, grow=True)
        labels = Labels(model.labels)
        codes, sets = gold.encode_gold(sentences, labels, model.outer, model.inner)
        model.labels = labels.names
        features = data.learnable(features, codes, model, self._setting("cutoff"))
        examples = data.examples(features, codes, sets)
        self._note(model, X)
        optimizer = self._optimizer(model).begin(*examples, sample_weight)
        self._train(model, optimizer, examples, X_dev, y_dev)
        return self

    def resume(
        self, X: Any, y: Any, sample_weight: Any = None, *, X_dev: Any = None, y_dev: Any = None
    ) -> Self:
        """More passes: on the data of `fit` as if they had been asked for at once, on others in addition."""
        model = self._ready()
        X = data.materialised(X)
        sentences = data.gold_of(X, y)
        labels = Labels(model.labels)
        coded = gold.encode_gold(sentences, labels, model.outer, model.inner)
        examples = data.examples(data.features_of(X, model), *coded)
        known = training.fingerprint(*examples) == model.report.get("data")
        state = self._training_state() if known else None
        if state is not None and training.has_places(state):
            optimizer = self._optimizer(model)
            training.resumed(optimizer, state, model.problem(), *examples, sample_weight)
            training.carry_over(getattr(self, "optimizer_", None), optimizer)
        else:
            model, optimizer = self._widened(model, labels.names)
            state = None
        try:
            if state is None:
                features = data.learnable(data.features_of(X, model, grow=True), coded[0], model)
                examples = data.examples(features, *coded)
                optimizer.take(*examples, sample_weight)
                model.report = {**model.report, "data": training.fingerprint(*examples)}
            self._note(model, X)
            self._train(model, optimizer, examples, X_dev, y_dev)
        except BaseException:
            self._hold(model, optimizer)
            raise
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: Sequence[str] | None = None, sample_weight: Any = None
    ) -> Self:
        """One pass over more data, in the order given; new features and labels may come with it."""
        X = data.materialised(X)
        sentences = data.gold_of(X, y)
        fresh = not hasattr(self, "model_")
        model = self._new_model(X, y, [*sentences, list(classes or ())]) if fresh else self.model_
        labels = self._numbered(model)
        if classes is not None:
            labels.encode([gold.inner_labels(list(classes), model.outer, model.inner)], grow=True)
        coded = gold.encode_gold(sentences, labels, model.outer, model.inner)
        data.check_codes(coded[0])
        model, optimizer = self._widened(model, labels.names)
        try:
            features = data.learnable(data.features_of(X, model, grow=True), coded[0], model)
            examples = data.examples(features, *coded)
            self._note(model, X, later=True)
            training.watch(optimizer, examples, self.callback)
            optimizer.partial_fit(*examples, sample_weight)
        finally:
            self._hold(model, optimizer)
        return self

    def declare(self, classes: Sequence[str], *, width: int = 1, X: Any = None) -> Self:
        """Know labels before there are data with them; `width`: how many columns of input there will be.

        X: sentences, whose labels do not matter, to find clusters of words in where the template has them.
        """
        check_count(width=width, low=1)
        fresh = not hasattr(self, "model_")
        model = self._new_model([[("",) * width]], None, [list(classes)]) if fresh else self._ready()
        if fresh and X is not None and model.clusters is not None:
            model.clusters = data.clusters(data.materialised(X))
        labels = Labels(model.labels)
        labels.encode([gold.inner_labels(list(classes), model.outer, model.inner)], grow=True)
        if not labels.names:
            self.model_, self._stale = model, False
            return self
        model, optimizer = self._widened(model, labels.names)
        if not optimizer.is_started:
            optimizer.start_from(np.zeros(optimizer.problem.offset))
        self._hold(model, optimizer)
        return self

    def _hold(self, model: TaggerModel, optimizer: Any) -> None:
        """Take a model whose weights are the optimizer's, however far that came; `_ready` fetches them."""
        if not optimizer.is_started:
            return  # refused before there was anything to learn from
        if not optimizer.holds_data:
            model.report = {name: value for name, value in model.report.items() if name != "data"}
        self.model_, self.optimizer_, self._stale, self._fetched = model, optimizer, True, 0

    def _ready(self) -> TaggerModel:
        """The model, with the weights of the last partial_fit."""
        if not hasattr(self, "model_"):
            raise self._not_fitted()
        if getattr(self, "_stale", False):
            self.model_ = self.model_.with_weights(self.optimizer_.weights_at(slice(None)))
            self._sort_words(self.model_)
            self._stale = False
        return self.model_

    def tag_columns(self, columns: Columns) -> np.ndarray:
        """For each token the place of its label in `model_.names`.

        Between steps of `partial_fit`, a few sentences cost no more than the weights they need; once that
        would have cost as much, all weights are fetched.
        """
        if not getattr(self, "_stale", False) or self.model_.history is not None:
            return self._ready().tag(columns)
        model, problem = self.model_, self.optimizer_.problem
        features = model.features(columns)
        self._fetched += 4 * len(features.rows)
        if self._fetched > len(model.table):
            return self._ready().tag(features)
        used, rows = np.unique(features.rows, return_inverse=True)
        taken = np.concatenate([np.arange(problem.history), problem.history + used])
        table = self.optimizer_.weights_at(slice(None)).reshape(-1, problem.stride)
        found = np.zeros((len(taken), problem.stride), np.float32)
        learned = taken < len(table)  # a call that was refused may have left features without weights
        found[learned] = table[taken[learned]]
        weights = SparseRows.from_dense(found, problem.n_labels)
        small = replace(model, weights=weights)
        return small.tag(replace(features, rows=rows.astype(np.int32)))

    def _numbered(self, model: TaggerModel) -> Labels:
        """The labels of the model, which need not be numbered anew for every sentence."""
        if not hasattr(self, "_labels") or self._labels.names != model.labels:
            self._labels = Labels(model.labels)
        return self._labels

    @cached_property
    def _new_words(self) -> KeyTable:
        """Keys of words noted since they were last sorted into those of the model."""
        return KeyTable()

    def _note(self, model: TaggerModel, X: Any, *, later: bool = False) -> None:
        """Note the words seen in training, and the names of new features where they are kept.

        later: `_ready` sorts the words into those of the model, as that takes longer the more there are.
        """
        self._new_words.rows(data.words(X), grow=True)
        if not later:
            self._sort_words(model)
        if self.keep_names or model.feature_names is not None:
            model.feature_names = feature_names(model, X, model.feature_names)

    def _sort_words(self, model: TaggerModel) -> None:
        """Sort the words noted into those of the model."""
        model.words = data.merged(model.words, self._new_words.halves)
        vars(self).pop("_new_words")

    def _train(self, model: TaggerModel, optimizer: Any, examples: Any, X_dev: Any, y_dev: Any) -> None:
        training.watch(optimizer, examples, self.callback)
        score = None
        if X_dev is not None:
            X_dev = data.materialised(X_dev)
            golden, features = data.gold_of(X_dev, y_dev), data.features_of(X_dev, model)

            def score(weights: np.ndarray) -> float:
                ids = model.with_weights(weights).tag(features, jobs=self.jobs)
                predicted = data.split(ids, model.names, features.sentence_ptr)
                value = data.score(golden, predicted, model.outer)
                getattr(self.callback, "scored", lambda value: None)(value)
                return value

        weights, scores = training.run_epochs(optimizer, self._setting("epochs"), score, self.patience)
        self.model_ = model.with_weights(weights)
        self.optimizer_, self._stale = optimizer, False
        self.dev_scores_ = scores
        self.model_.report = training.report(optimizer, examples, len(model.table), scores)

    def _new_model(self, X: Any, y: Any, sentences: Sequence[Sequence[Any]]) -> TaggerModel:
        inner = self._setting("labels")
        constrained = bool(self._setting("constrained"))
        outer = gold.outer_scheme(sentences) if inner != "none" or constrained else "none"
        inner = outer if inner == "none" or outer == "none" else inner
        template = None  # features come ready
        if data.kind(X) != "items":
            template = fitting_template(self._setting("template"), data.width(X, y))
        return TaggerModel(
            template, [], KeyTable(), SparseRows.from_dense(np.zeros((0, 1))), outer=outer, inner=inner,
            constrained=constrained and inner != "none",
            inference=self._setting("inference"), order=self._setting("order"),
            parameters=self._plain_parameters(),
            clusters=data.clusters(X) if template is not None and template.clustered else None,
        )  # fmt: skip

    def _optimizer(self, model: TaggerModel) -> Any:
        if len(model.labels) > MOST_LABELS:
            raise DataError(
                f"{len(model.labels):,} labels, where a model can have {MOST_LABELS:,}: is this the right "
                "column?"
            )
        loss = gold.loss_matrix(model.labels, dict(self.label_weight or {}), model.outer, model.inner)
        return training.new_optimizer(
            self._setting("algorithm"), model.problem(loss), C=self._setting("C"),
            reprocess=self._setting("reprocess"),
            random_state=self.random_state,
        )  # fmt: skip

    def _widened(self, model: TaggerModel, names: list[str]) -> tuple[TaggerModel, Any]:
        """Model and optimizer for these labels: those at hand, or new ones from the state or the weights."""
        optimizer = getattr(self, "optimizer_", None)
        if optimizer is not None and len(names) == optimizer.problem.n_labels:
            return model, optimizer
        wider = replace(model, labels=list(names), state=None)
        fresh = self._optimizer(wider)
        fresh.validate()
        if not model.labels:
            return wider, fresh
        old, state = model.problem(), self._training_state()
        if state is not None:
            training.resumed(fresh, state, old)
            training.carry_over(optimizer, fresh)
            return wider, fresh
        warnings.warn(training.NO_STATE.format(self._state_option), UserWarning, stacklevel=3)
        weights = model.weights.dense(old.stride).astype(np.float64).reshape(-1)
        return wider, fresh.start_from(wider_weights(weights, old, fresh.problem))

    def _training_state(self) -> dict[str, np.ndarray] | None:
        """That of the optimizer at hand, or the one in the model file."""
        return self.optimizer_.state() if hasattr(self, "optimizer_") else self.model_.state
