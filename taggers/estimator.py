"""Taggers with scikit-learn's conventions: sentences in, lists of labels out."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from structsvm._estimator import Estimator, sequence_tags
from structsvm.problems.relayout import wider_weights
from structsvm.rows import SparseRows
from structsvm.validation import check_count
from taggers import data, gold, training
from taggers._columns import Columns
from taggers._labels import Labels
from taggers.errors import DataError
from taggers.features import Features, KeyTable
from taggers.labelling import Labelling
from taggers.model import MOST_LABELS, TaggerModel
from taggers.naming import feature_names
from taggers.templates import NAMED, Template, load_template, parse_template


class SequenceTagger(Labelling, Estimator):
    """Label the tokens of sentences with a structured SVM.

    X: sentences, each a list of str, of tuples of str (columns: word, part of speech, ...) or of features
    as python-crfsuite takes them (dicts, or lists of names); or a `Columns` read from a file. y: for each
    sentence its labels, None for a token without gold and a set for one with several allowed labels; with
    `Columns`, also the place of the label column.

    Whatever is None is chosen by the class (`DEFAULTS`):

    template: a name (conll2000, pos, chunk, ner, label), a file or text, see `taggers.templates`.
    algorithm: larank, pa, perceptron or svmstruct. C: the SVM's; reprocess: LaRank's n_R.
    inference: exact (Viterbi) or greedy, with `order` labels before.
    epochs: passes of `fit`. cutoff: drop features seen less often in `fit`.
    labels: the scheme to learn in (IOB2, IOBES, ...), whatever that of y; "none" takes labels as they are.
    constrained: never predict labels that are out of place in the scheme.
    label_weight: {label or type: factor} of the loss where this is the right label.
    keep_names: keep the names of features in the model, for `inspect` (some 30 bytes each).
    patience: passes without a better score on X_dev before fit ends.
    callback: is called with a `TrainingPoint` (see `curve_`) now and then, and ends the training by returning
    True; its method `scored`, if it has one, with each score on X_dev.
    """

    model_: TaggerModel
    optimizer_: Any
    _labels: Labels
    _state_option = "training_state=True"  # what those who save it have to say to keep the training state

    DEFAULTS: ClassVar[dict[str, Any]] = {
        "template": "label", "algorithm": "larank", "inference": "exact", "order": None, "C": 0.1,
        "reprocess": None, "epochs": 2, "cutoff": 1, "labels": "none", "constrained": False,
    }  # fmt: skip

    def __init__(
        self,
        *,
        template: Any = None,
        algorithm: str | None = None,
        inference: str | None = None,
        order: int | None = None,
        C: float | None = None,
        reprocess: int | None = None,
        epochs: int | None = None,
        cutoff: int | None = None,
        labels: str | None = None,
        constrained: bool | None = None,
        label_weight: Mapping[str, float] | None = None,
        keep_names: bool = False,
        patience: int = 2,
        random_state: Any = 0,
        jobs: int = 1,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.template = template
        self.algorithm = algorithm
        self.inference = inference
        self.order = order
        self.C = C
        self.reprocess = reprocess
        self.epochs = epochs
        self.cutoff = cutoff
        self.labels = labels
        self.constrained = constrained
        self.label_weight = label_weight
        self.keep_names = keep_names
        self.patience = patience
        self.random_state = random_state
        self.jobs = jobs
        self.callback = callback

    @cached_property
    def _new_words(self) -> KeyTable:
        """Keys of words noted since they were last sorted into those of the model."""
        return KeyTable()

    def _setting(self, name: str) -> Any:
        value = getattr(self, name)
        value = self.DEFAULTS[name] if value is None else value
        if value is None:  # these follow from the inference
            greedy = self._setting("inference") == "greedy"
            value = {"order": 2 if greedy else 1, "reprocess": 1 if greedy else 5}[name]
        return value

    # -- training -------------------------------------------------------------------------------

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
            self._watch(optimizer, examples)
            optimizer.partial_fit(*examples, sample_weight)
        finally:
            self._hold(model, optimizer)
        return self

    def declare(self, classes: Sequence[str], *, width: int = 1, X: Any = None) -> Self:
        """Know labels before there are data with them; `width`: how many columns of input there will be.

        X: sentences, whose labels do not matter, to find clusters of words in where the template has them.
        """
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
        if not hasattr(optimizer, "_machine"):
            optimizer.start_from(np.zeros(optimizer.problem.offset))
        self._hold(model, optimizer)
        return self

    def _hold(self, model: TaggerModel, optimizer: Any) -> None:
        """Take a model whose weights are the optimizer's, however far that came; `_ready` fetches them."""
        if not hasattr(optimizer, "_machine"):
            return  # refused before there was anything to learn from
        if not len(optimizer._held):
            model.report = {name: value for name, value in model.report.items() if name != "data"}
        self.model_, self.optimizer_, self._stale, self._fetched = model, optimizer, True, 0

    def _numbered(self, model: TaggerModel) -> Labels:
        """The labels of the model, which need not be numbered anew for every sentence."""
        if not hasattr(self, "_labels") or self._labels.names != model.labels:
            self._labels = Labels(model.labels)
        return self._labels

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

    def _watch(self, optimizer: Any, examples: Any) -> None:
        """Have the callback see the training, and note how many patterns a sentence is, from this pass on."""
        if self.callback is not None and not callable(self.callback):
            raise ValueError(f"callback must be a function of one TrainingPoint, not {self.callback!r}")
        known = int((examples[1].codes != -1).sum())
        patterns = known / len(examples[0]) if optimizer.problem.inference == "greedy" else 1.0
        done = getattr(optimizer, "_epochs_done", 0)
        past = vars(optimizer).setdefault("patterns", [])
        past[done:] = []  # of a pass that was broken off
        past += [*past[-1:] * (done - len(past)), patterns]
        if self.callback is None:
            optimizer.callback = None
        elif isinstance(optimizer.callback, training.Curve):
            optimizer.callback.patterns, optimizer.callback.callback = optimizer.patterns, self.callback
        else:
            optimizer.callback = training.Curve(optimizer.patterns, self.callback)

    def _train(self, model: TaggerModel, optimizer: Any, examples: Any, X_dev: Any, y_dev: Any) -> None:
        self._watch(optimizer, examples)
        score = None
        if X_dev is not None:
            X_dev = data.materialised(X_dev)
            golden, features = data.gold_of(X_dev, y_dev), data.features_of(X_dev, model)

            def score(weights: np.ndarray) -> float:
                value = self._dev_score(self._with_weights(model, weights), features, golden)
                getattr(self.callback, "scored", lambda value: None)(value)
                return value

        weights, scores = training.run_epochs(optimizer, self._setting("epochs"), score, self.patience)
        self.model_ = self._with_weights(model, weights)
        self.optimizer_, self._stale = optimizer, False
        self.dev_scores_ = scores
        self.model_.report = {
            "sentences": len(examples[0]), "tokens": len(examples[1].codes), "features": len(model.table),
            "epochs": optimizer._epochs_done, "dev_scores": scores,
            "dual": optimizer.dual_ if optimizer.dual_ == optimizer.dual_ else None,
            "support_patterns": optimizer.n_support_patterns_, "data": training.fingerprint(*examples),
            "curve": training.thin_curve(optimizer.curve_),
        }  # fmt: skip

    def _new_model(self, X: Any, y: Any, sentences: Sequence[Sequence[Any]]) -> TaggerModel:
        inner = self._setting("labels")
        constrained = bool(self._setting("constrained"))
        outer = gold.outer_scheme(sentences) if inner != "none" or constrained else "none"
        inner = outer if inner == "none" or outer == "none" else inner
        template = self._template(X, y)
        return TaggerModel(
            template, [], KeyTable(), SparseRows.from_dense(np.zeros((0, 1))), outer=outer, inner=inner,
            constrained=constrained and inner != "none",
            inference=self._setting("inference"), order=self._setting("order"),
            parameters=self._plain_parameters(),
            clusters=data.clusters(X) if template is not None and template.clustered else None,
        )  # fmt: skip

    def _template(self, X: Any, y: Any) -> Template | None:
        """None where features come ready; a named template is cut to the columns of input there are."""
        if data.kind(X) == "items":
            return None
        template = self._setting("template")
        if isinstance(template, Template):
            return template
        if template in NAMED:
            return load_template(template).within(data.width(X, y))
        by_name = os.path.exists(template) or "[" not in str(template)
        try:
            found = load_template(template) if by_name else parse_template(template)
        except DataError as error:
            raise error if by_name else ValueError(f"{template!r}: {error.what}") from None
        width = data.width(X, y)
        if found.width > width:
            raise ValueError(
                f"the template reads column {found.width - 1} (counted from 0), but the input has {width} "
                "columns; that of the labels is none of them"
            )
        return found

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
        fresh._check()
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
        return self.optimizer_.training_state() if hasattr(self, "optimizer_") else self.model_.state

    def _with_weights(self, model: TaggerModel, weights: np.ndarray) -> TaggerModel:
        """The model with an optimizer's weights; rows that no example has used are zero."""
        problem = model.problem()
        n_rows = problem.history + len(model.table)
        used = weights[: len(weights) // problem.stride * problem.stride].reshape(-1, problem.stride)[:n_rows]
        table = SparseRows.from_dense(used, problem.n_labels).extended(n_rows)
        names = model.feature_names
        if names is not None:  # a call that was broken off may have left the last ones without
            names = [*names, *[None] * (len(model.table) - len(names))]
        return replace(model, weights=table, state=None, feature_names=names)

    def _plain_parameters(self) -> dict[str, Any]:
        skipped = ("callback", "random_state", "template", "jobs")
        chosen = {
            name: value
            for name, value in self.get_params().items()
            if name not in skipped and value is not None
        }
        return chosen | {"class": type(self).__name__}

    def _dev_score(self, model: TaggerModel, features: Features, golden: list[Sequence[Any]]) -> float:
        """F1 of phrases where labels mark some, else accuracy."""
        from taggers.conlleval import evaluate

        predicted = data.split(model.tag(features, jobs=self.jobs), model.names, features.sentence_ptr)
        if model.outer == "none" or any(not isinstance(label, str) for labels in golden for label in labels):
            return data.accuracy(golden, predicted)
        return evaluate(golden, predicted).f1

    def _ready(self) -> TaggerModel:
        """The model, with the weights of the last partial_fit."""
        if not hasattr(self, "model_"):
            raise self._not_fitted()
        if getattr(self, "_stale", False):
            self.model_ = self._with_weights(self.model_, self.optimizer_.weights_at(slice(None)))
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

    # -- results and files ----------------------------------------------------------------------

    @property
    def classes_(self) -> list[str]:
        """The labels, sorted."""
        return sorted(self._ready().names)

    @property
    def n_features_(self) -> int:
        return self._ready().n_features

    @property
    def curve_(self) -> list[training.TrainingPoint]:
        """The training as data: twenty points for each pass; none after `load`."""
        self._ready()
        if not hasattr(self, "optimizer_"):
            return []
        curve = training.Curve(getattr(self.optimizer_, "patterns", []))
        return [curve.point(point) for point in self.optimizer_.curve_]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        return sequence_tags()

    def save(self, path: str | os.PathLike[str], *, training_state: bool = False, **options: Any) -> None:
        """Write a model file; options are those of `TaggerModel.save`."""
        model = self._ready()
        if training_state:
            model.state = self._training_state()
        model.save(path, training_state=training_state, **options)

    @classmethod
    def load(cls, path: str | os.PathLike[str], **changes: Any) -> Self:
        """Read a model file; parameters of the training can be changed."""
        model = TaggerModel.load(path)
        known = {name: value for name, value in model.parameters.items() if name in cls._parameters()}
        tagger = cls(**{**known, "template": model.template, **changes})
        tagger.model_ = model
        return tagger
