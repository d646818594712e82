"""Taggers with scikit-learn's conventions: sentences in, lists of labels out."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np

from structsvm import active
from structsvm.files import SparseRows
from structsvm.guard import reading, training
from structsvm.integrations.sklearn import Estimator, sequence_tags
from structsvm.options import with_options
from structsvm.problems.sequence import Sequences
from structsvm.threads import StoppablePool
from structsvm.validation import check_count, meant, n_threads
from taggers import metrics, options
from taggers.explanation import explain
from taggers.features.extract import KeyTable, first_token, has_own_features, has_ready_features
from taggers.features.knowledge import Knowledge, choose_template
from taggers.formats._columns import Columns
from taggers.labels import schemes
from taggers.labels.candidates import seen_labels
from taggers.labels.label_encoding import (
    GoldLabels,
    detect_scheme,
    inner_labels,
    split_by_sentence,
    sure_scheme,
)
from taggers.memory import release_memory
from taggers.model import TaggerModel, replace_knowledge
from taggers.rounds import first_round
from taggers.trainer import Dataset, Score, Trainer, TrainingPoint, shared

BIASES = [k / 10 for k in range(-10, 11)]  # values for O that `fit_bias` tries


class LabelLists(list[list[str]]):
    """The labels of sentences; as an array they have one dimension, whatever the lengths of the sentences.

    scikit-learn makes such an array when it joins the predictions of a cross-validation.
    """

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = np.empty(len(self), object)
        for number, labels in enumerate(self):
            array[number] = labels
        return array


def as_sentences(X: Any) -> Any:
    """X with lengths: generators become lists."""
    if isinstance(X, Columns):
        return X
    if not isinstance(X, Iterable):
        raise TypeError(f"X must be a list of sentences, got {X!r}"[:300])
    return [as_tokens(sentence) for sentence in X]


def as_tokens(sentence: Any) -> list[Any]:
    """A sentence as a list of tokens; a string is rejected, because it would become a list of letters."""
    if isinstance(sentence, str):
        raise TypeError(
            f"a sentence must be a list of tokens, got the string {sentence[:40]!r}; split it into words "
            "(structsvm tag does this for plain text files)"
        )
    if not isinstance(sentence, Iterable):
        raise TypeError(f"a sentence must be a list of tokens, got {sentence!r}"[:300])
    return list(sentence)


def n_sentences(X: Any) -> int:
    """The number of sentences."""
    return X.n_sentences if isinstance(X, Columns) else len(X)


def input_width(X: Any, gold: GoldLabels) -> int:
    """The number of input columns: those before the column of the labels."""
    if isinstance(X, Columns):
        return X.width if gold.column is None else gold.column
    first = first_token(X)
    return len(first) - has_own_features(first) if isinstance(first, tuple) else 1


@with_options
class SequenceTagger(options.TaggerOptions, Estimator):
    """Label the tokens of sentences with a structured SVM.

    X is a list of sentences. A sentence is a list of tokens, and a token is a str, a tuple of str (columns:
    word, part of speech, ...) or its features as python-crfsuite takes them (a dict, or a list of names). X
    can also be a `Columns` object read from a file. y holds the labels of each sentence: None for a token
    without a gold label, a set for one with several allowed labels. For `Columns`, y can be the number of
    the label column.

    Options that are None get the default of the class.
    """

    TASK: ClassVar[str] = "label"
    _trainer: Trainer | None = None

    def settings(self) -> dict[str, Any]:
        """The value of every option: the given one, or the default of the class."""
        return options.settings(self)

    # -- training -------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, X_dev: Any = None, y_dev: Any = None) -> Self:
        """Train from scratch; with development data, stop in time and keep the weights of the best pass.

        Bad input raises an error and changes nothing. If training is interrupted (by Ctrl-C, or an exception
        in the callback), the new model keeps what it has learned: you can predict with it and continue
        training.
        """
        with training(self):
            X = as_sentences(X)
            settings = options.checked_settings(self)
            if X_dev is not None and self.epochs is None:
                settings["epochs"] = options.DEV_EPOCHS
            settings = shared(settings, n_sentences(X))
            gold = GoldLabels.to_learn(X, y)
            trainer = Trainer(self._new_model(X, input_width(X, gold), gold.triples(), settings), settings)
            labels, names = trainer.labels(gold)
            model, first = trainer.model, None
            model.labels = list(names)
            if model.needs_first_round:
                model.first_round, first = first_round(X, labels, model, settings, sample_weight)
            dataset = trainer.learn(
                X, labels, cutoff=settings["cutoff"], keep_names=self.keep_names, first=first,
                jobs=n_threads(self.jobs),
            )  # fmt: skip
            trainer.model.candidates = seen_labels(trainer.model, X, labels)
            figures = dataset.figures()
            score = self._dev_score(trainer, X_dev, y_dev)
            try:
                trainer.begin(dataset, settings, sample_weight)
                del labels, dataset  # the optimizer has its own copy
                trainer.run(figures, settings, score)
            finally:
                if trainer.is_started:  # or else the data were rejected
                    self._trainer = trainer
        return self

    def resume(
        self, X: Any, y: Any, sample_weight: Any = None, *, X_dev: Any = None, y_dev: Any = None
    ) -> Self:
        """Train for more passes.

        On the data of `fit` the result is the same as if `fit` had made these passes too. Other data are
        learned in addition; new features and labels may appear. Bad input and interruptions are treated as
        in `fit`.
        """
        X = as_sentences(X)
        settings = shared(options.checked_settings(self), n_sentences(X))
        with training(self), training(trainer := self._fitted(), self):
            trainer.check_unchanged(settings)
            model = trainer.finished()
            _check_one_round(model)
            gold = GoldLabels.to_learn(X, y)
            with trainer.unless_rejected():
                self._loosen(trainer, gold.distinct())
                labels, names = trainer.labels(gold)
                dataset = Dataset(model.features(X, jobs=n_threads(self.jobs)), labels)
                same = trainer.resume(dataset, settings, sample_weight)
                if same:
                    trainer.note(X, keep_names=self.keep_names)
                else:
                    trainer.widen(names, settings)
                    dataset = trainer.learn(X, labels, keep_names=self.keep_names)
                score = self._dev_score(trainer, X_dev, y_dev)
                if not same:
                    trainer.take(dataset, sample_weight)
                trainer.run(dataset.figures(), settings, score)
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: Sequence[str] | None = None, sample_weight: Any = None
    ) -> Self:
        """Train for one pass over more data, in the order given; new features and labels may appear.

        With the option share, `fit` restricts a token to labels seen with its part of speech or word; after
        this call all labels are allowed again. Bad input and interruptions are treated as in `fit`.
        """
        settings = options.checked_settings(self)
        X = as_sentences(X)
        gold, classes = GoldLabels.to_learn(X, y), list(classes or ())
        trainer = self._new_trainer(X, gold, classes) if self._trainer is None else self._fitted()
        with training(self), training(trainer, self):
            trainer.check_unchanged(settings)
            _check_one_round(trainer.model)
            try:
                with trainer.unless_rejected():
                    self._loosen(trainer, gold.distinct() | set(classes))
                    labels, names = trainer.labels(gold, classes)
                    trainer.widen(names, settings)
                    dataset = trainer.learn(X, labels, keep_names=self.keep_names)
                    trainer.extend(dataset, settings, sample_weight)
            finally:
                if trainer.is_started:  # or else the data were rejected before anything was learned
                    self._trainer = trainer
            trainer.forget(settings)
        return self

    def forget(self, *, max_features: int | None = None, max_support: int | None = None) -> Self:
        """Forget features and support patterns beyond these bounds, until three quarters of them are left.

        `partial_fit` does this after each call if the options with these names are set. Forgetting takes
        about 0.2 seconds per million features, and little memory.
        """
        bounds = {"max_features": max_features, "max_support": max_support}
        for name, value in bounds.items():
            self.OPTIONS[name].check(value)
        settings = options.checked_settings(self) | bounds
        with training(self), training(trainer := self._fitted(), self):
            trainer.forget(settings)
        return self

    def _new_trainer(self, X: Any, gold: GoldLabels, classes: Sequence[str]) -> Trainer:
        settings = self.settings()
        model = self._new_model(X, input_width(X, gold), gold.triples(), settings, classes)
        return Trainer(model, settings)

    def declare(self, classes: Sequence[str], *, width: int = 1, X: Any = None) -> Self:
        """Make labels known before there are data with them.

        width: the number of input columns. X: sentences in which to find word classes, if the template uses
        them; their labels do not matter.
        """
        settings = options.checked_settings(self)
        check_count(width=width, low=1)
        with training(self):
            trainer = self._trainer
            if trainer is None:
                words = None if X is None else as_sentences(X)
                model = self._new_model(words, width, Counter(), settings, list(classes))
                trainer = Trainer(model, settings)
            with training(trainer, self):
                trainer.check_unchanged(settings)
                _check_one_round(trainer.model)
                self._loosen(trainer, classes)
                model, names = trainer.finished(), trainer.index()
                names.encode([inner_labels(list(classes), model.outer, model.inner)], grow=True)
                if names.names:
                    trainer.widen(names.names, settings)
                    trainer.start()
                self._trainer = trainer
        return self

    @property
    def _any_labels(self) -> bool:
        """Whether labels need not mark phrases: nobody asked for a scheme."""
        return self.constrained is None and self.settings()["labels"] == "none"

    def _loosen(self, trainer: Trainer, labels: Iterable[str]) -> None:
        """Drop the scheme of a model if nobody asked for it and new labels are not of this scheme."""
        model = trainer.model
        if self._any_labels and model.outer != "none" and not schemes.has(model.outer, labels):
            warnings.warn(
                f"some new labels are not of the scheme {model.outer}, so from now on all label sequences "
                "are allowed; set constrained=False if your labels do not mark phrases",
                UserWarning, stacklevel=3,
            )  # fmt: skip
            trainer.model = replace(trainer.finished(), outer="none", inner="none", constrained=False)

    def _new_model(
        self,
        X: Any,
        width: int,
        seen: Counter[schemes.Triple],
        settings: Mapping[str, Any],
        classes: Sequence[str] = (),
    ) -> TaggerModel:
        """An empty model for data of this kind; X may be None where only its width is known."""
        inner, constrained = settings["labels"], bool(settings["constrained"])
        outer = "none"
        if constrained and self._any_labels:
            outer = "none" if settings["share"] else sure_scheme(seen, classes)
        elif constrained or inner != "none":
            outer = detect_scheme(seen + schemes.count_triples([classes]))
        inner = outer if inner == "none" or outer == "none" else inner
        template, knowledge = None, Knowledge()
        if X is None or not has_ready_features(X):
            template, knowledge = choose_template(X or [], width, settings)
        given = {name: getattr(self, name) for name, option in self.OPTIONS.items() if option.kept}
        return TaggerModel(
            template, [], KeyTable(), SparseRows.from_dense(np.zeros((0, 1))), outer=outer, inner=inner,
            constrained=constrained and inner != "none", inference=settings["inference"],
            order=settings["order"], share=bool(settings["share"]), documents=settings["documents"],
            function=settings["features"],
            parameters={name: value for name, value in given.items() if value is not None}
            | {"class": type(self).__name__},
            knowledge=knowledge,
        )  # fmt: skip

    def _dev_score(self, trainer: Trainer, X: Any, y: Any) -> Score | None:
        """A function that scores a model on development data, if there are any."""
        if X is None:
            return None
        X = as_sentences(X)
        gold = GoldLabels.of(X, y)
        features = trainer.model.features(X, jobs=n_threads(self.jobs))
        phrases = trainer.model.outer != "none"
        trainer.score_name = metrics.score_name(gold, phrases=phrases)
        scored = getattr(self.callback, "scored", lambda value: None)
        used = np.zeros(len(trainer.model.table), bool)  # a decoder of these rows needs little memory
        used[features.rows] = True
        if trainer.model.candidates is not None:
            used[trainer.model.candidates.rows] = True
        if features.bigrams is None:
            features = replace(features, rows=(np.cumsum(used, dtype=np.int32) - 1)[features.rows])

        def score(model: TaggerModel) -> float:
            if features.bigrams is None:
                model = model.with_rows_of(used)
            ids = model.tag(features, jobs=n_threads(self.jobs))
            value = metrics.score_ids(gold, ids, model.names, phrases=phrases)
            scored(value)
            return value

        return score

    # -- labelling ------------------------------------------------------------------------------

    def predict(self, X: Any) -> list[list[str]]:
        """The labels of each sentence."""
        with reading(trainer := self._fitted(), self):
            model = trainer.finished()
            parts = self._label(X, model)
        return LabelLists(labels for ids, ptr in parts for labels in split_by_sentence(ids, model.names, ptr))

    def _label(self, X: Any, model: TaggerModel) -> list[tuple[np.ndarray, np.ndarray]]:
        """Positions in the model's names and sentence pointers of X, in as many parts as there are jobs."""
        jobs = n_threads(self.jobs)
        X = as_sentences(X)
        if isinstance(X, Columns) or jobs == 1 or model.uses_documents:
            features = model.features(X, jobs=jobs)
            return [(model.tag(features, jobs=jobs), features.sentence_ptr)]
        parts = [X[k * len(X) // jobs : (k + 1) * len(X) // jobs] for k in range(jobs)]
        with StoppablePool(jobs) as pool:
            encoded = pool.map(model.features, filter(None, parts))
            return [(model.tag(features), features.sentence_ptr) for features in encoded]

    def tag(self, tokens: Sequence[Any], forced: Mapping[int, str] | None = None) -> list[str]:
        """The labels of one sentence; `forced` maps positions of tokens to the labels they must get.

        Forced labels are in the scheme that the model was trained in, such as IOBES for a `Chunker`, whatever
        the scheme of the training data: see `model_.labels`.
        """
        with reading(trainer := self._fitted(), self):
            model = trainer.finished()
            features = model.features([as_tokens(tokens)])
            force = None if not forced else _forced(forced, features.n_tokens, model)
            return [model.names[k] for k in model.tag(features, forced=force)]

    def tag_columns(self, columns: Columns) -> np.ndarray:
        """For each token the position of its label in `model_.names`; fast between calls of `partial_fit`."""
        return self.tag_with_names(columns)[0]

    def tag_with_names(
        self, columns: Columns, *, margins: np.ndarray | None = None, live: bool = False
    ) -> tuple[np.ndarray, list[str]]:
        """The same positions, with the labels that they point to.

        margins: an array of float32 that receives the margin of each token. live: avoid the pause in which
        many sentences after `partial_fit` fetch all weights; each sentence then takes longer.
        """
        with reading(trainer := self._fitted(), self):
            return trainer.tag(columns, margins=margins, live=live), trainer.model.names

    def predict_margins(self, X: Any) -> list[list[float]]:
        """For each token the score of the best labelling minus that of the best with another label there.

        The margin is inf where no other label is possible.
        """
        jobs = n_threads(self.jobs)
        with reading(trainer := self._fitted(), self):
            model, features = self._features(X, trainer)
            margins = np.zeros(features.n_tokens, np.float32)
            model.tag(features, margins=margins, jobs=jobs)
        return [margins[start:stop].tolist() for start, stop in pairwise(features.sentence_ptr.tolist())]

    def predict_marginals(self, X: Any) -> list[list[dict[str, float]]]:
        """For each token the probability of each label, as sklearn-crfsuite returns them.

        The probability of a labelling is proportional to exp(score / temperature). `calibrate` finds the
        temperature; before that it is 1, and the probabilities are not calibrated. With greedy inference,
        the probability of a label depends on the labels chosen before it.
        """
        with reading(trainer := self._fitted(), self):
            model, features = self._features(X, trainer)
            rows = model.marginals(features).tolist()
        found = [dict(zip(model.names, row, strict=True)) for row in rows]
        return [found[start:stop] for start, stop in pairwise(features.sentence_ptr.tolist())]

    def calibrate(self, X: Any, y: Any) -> Self:
        """Find the temperature of probabilities on labelled sentences that were not used in training."""
        X = as_sentences(X)
        gold = GoldLabels.of(X, y)
        with training(self), training(trainer := self._fitted(), self):
            model = trainer.finished()
            trainer.model = model.calibrated(model.features(X), gold.positions(model.names))
        return self

    def add_bias(self, bias: Mapping[str, float]) -> Self:
        """Add constants to the scores of labels, without training: {"O": -0.5} finds more phrases.

        Names are those of `label_weight`. Further training keeps the constants: they are added to the weights
        that it learns. A model without its training state starts from weights that include them.
        """
        with training(self), training(trainer := self._fitted(), self):
            trainer.model = trainer.finished().biased(bias)
        return self

    def fit_bias(self, X: Any, y: Any) -> Self:
        """Add the bias of O, between -1 and 1, that gives the best F1 on sentences not used in training.

        `bias_` shows it.
        """
        X = as_sentences(X)
        gold = GoldLabels.of(X, y)
        with reading(trainer := self._fitted(), self):
            model = trainer.finished()
            if model.outer == "none" or schemes.OUTSIDE not in model.labels:
                raise ValueError("fit_bias needs labels of phrases with O, such as those of chunk and ner")
            features = model.features(X)

        def f1(value: float) -> float:
            ids = model.biased({schemes.OUTSIDE: value}).tag(features)
            return metrics.score_ids(gold, ids, model.names, phrases=True)

        # the smallest of several equally good ones
        return self.add_bias({schemes.OUTSIDE: max(sorted(BIASES, key=abs), key=f1)})

    def predict_nbest(self, X: Any, n: int) -> list[list[tuple[float, list[str]]]]:
        """The n best labellings of each sentence, as (score, labels); needs exact inference."""
        with reading(trainer := self._fitted(), self):
            model, features = self._features(X, trainer)
            best = [model.n_best(features, sentence, n) for sentence in range(features.n_sentences)]
            return [[(score, [model.names[k] for k in path]) for score, path in one] for one in best]

    def query(
        self, pool: Any, n: int = 1, *, strategy: str = "margin", sample: int | None = None
    ) -> np.ndarray:
        """The positions of at most n unlabelled sentences that should be labelled next, best first.

        They have a token within the margin, and no two of them share most of their words. If there are none,
        you can stop labelling. strategy: "margin", "smallest", "total" or "random"; see `structsvm.active`.
        sample: consider only this many random sentences. An untrained tagger returns random ones.
        """
        pool = as_sentences(pool)
        words = pool.sentences() if isinstance(pool, Columns) else pool

        def margins_of(places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            chosen = pool if len(places) == len(words) else [words[place] for place in places]
            margins = self.predict_margins(chosen)
            return np.concatenate([np.zeros(0), *margins]), np.cumsum([0, *map(len, margins)])

        return active.query(
            len(words), n, None if self._trainer is None else margins_of, strategy=strategy, sample=sample,
            contents=None if has_ready_features(pool) else words, random_state=self.random_state,
        )  # fmt: skip

    def explain(self, tokens: Sequence[Any]) -> list[dict[str, Any]]:
        """For each token of a sentence its label, and the features that support it with their weights."""
        with reading(trainer := self._fitted(), self):
            return explain(trainer.finished(), as_tokens(tokens))

    def score(self, X: Any, y: Any) -> float:
        """The share of tokens with the right label, among those with a gold label.

        For `NerTagger` and `Chunker`, it is the F1 of phrases, unless gold labels are missing or the labels
        mark no phrases. `cross_val_score` and `GridSearchCV` use this score by default.
        """
        X = as_sentences(X)
        gold = GoldLabels.of(X, y)
        with reading(trainer := self._fitted(), self):
            model = trainer.finished()
            ids = [ids for ids, _ in self._label(X, model)]
        phrases = self.TASK in ("chunk", "ner") and model.outer != "none"
        found = np.concatenate([np.zeros(0, np.int32), *ids])
        return metrics.score_ids(gold, found, model.names, phrases=phrases)

    def _features(self, X: Any, trainer: Trainer) -> tuple[TaggerModel, Sequences]:
        return trainer.near(trainer.model.features(as_sentences(X)))

    def release(self) -> Self:
        """Free the memory that training needed: the data, the support patterns and the training curve.

        You can still train the tagger, like a model that was saved without its training state.
        """
        with training(self), training(trainer := self._fitted(), self):
            self._trainer = Trainer(trainer.finished(), self.settings())
            self._trainer.scores = trainer.scores
        del trainer
        release_memory()
        return self

    def replace_knowledge(self, *, classes: Any = None, gazetteers: Any = None) -> Self:
        """Replace word classes or the entries of gazetteers, without training.

        classes, gazetteers: as in the constructor, for names that the model has already.
        """
        with training(self), training(trainer := self._fitted(), self):
            trainer.model = replace_knowledge(trainer.finished(), classes=classes, gazetteers=gazetteers)
        return self

    # -- results --------------------------------------------------------------------------------

    def _fitted(self) -> Trainer:
        """The trainer; its model follows the options that can change after training."""
        if self._trainer is None:
            raise self.not_fitted()
        model = self._trainer.model
        for part in (model, model.first_round):
            if part is not None:
                part.function = self.features
                part.documents = part.documents if self.documents is None else self.documents
        return self._trainer

    @property
    def model_(self) -> TaggerModel:
        """The model; after `partial_fit` its weights are those of the last call of predict, tag or save.

        While another thread trains the tagger, use the tagger's own methods instead. The model labels with
        its old weights, and raises ValueError for features learned since.
        """
        return self._fitted().model

    @property
    def optimizer_(self) -> Any:
        """The optimizer, if this tagger has been trained and not only loaded."""
        if self._trainer is None or self._trainer.optimizer is None:
            raise AttributeError(f"this {type(self).__name__} has no optimizer: it has not been trained here")
        return self._trainer.optimizer

    @property
    def dev_scores_(self) -> list[float]:
        """The score on the development data after each pass of `fit` or `resume`."""
        return self._fitted().scores

    @property
    def classes_(self) -> list[str]:
        """The labels, sorted."""
        with reading(trainer := self._fitted(), self):
            return sorted(trainer.finished().names)

    @property
    def bias_(self) -> dict[str, float]:
        """The constants that `add_bias` and `fit_bias` have added to the scores of labels."""
        return dict(self._fitted().model.bias)

    @property
    def n_features_(self) -> int:
        """The number of features."""
        with reading(trainer := self._fitted(), self):
            return trainer.finished().n_features

    @property
    def curve_(self) -> list[TrainingPoint]:
        """The training curve, twenty points for each pass; empty after `load`."""
        return self._fitted().curve()

    def __sklearn_is_fitted__(self) -> bool:
        return self._trainer is not None

    def __sklearn_tags__(self) -> Any:
        return sequence_tags()

    # -- files ----------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], *, training_state: bool = False, **saving: Any) -> None:
        """Write a model file; the other arguments are those of `TaggerModel.save`."""
        with reading(trainer := self._fitted(), self):
            model = trainer.finished()
            if training_state:
                model.state = trainer.state()
            model.save(path, training_state=training_state, **saving)

    @classmethod
    def load(cls, path: str | os.PathLike[str], **changes: Any) -> Self:
        """Read a model file; options for further training can be changed.

        Every tagger reads the models of all others, and keeps their defaults for further training.
        """
        return cls.from_model(TaggerModel.load(path, cls.OPTIONS.values()), **changes)

    @classmethod
    def from_model(cls, model: TaggerModel, **changes: Any) -> Self:
        """Return the tagger of a model, as `load` does."""
        known = {name: value for name, value in model.parameters.items() if name in cls.OPTIONS}
        saved = {tagger.__name__: tagger.TASK for tagger in TASKS.values()}
        task = saved.get(model.parameters.get("class", ""), cls.TASK)
        # Defaults of today may differ from those with which the model was trained.
        if cls.OPTIONS["inference"].value(task) != model.inference:
            known["inference"] = model.inference
        if "none" not in (scheme := cls.OPTIONS["labels"].value(task), model.inner) and scheme != model.inner:
            known["labels"] = model.inner
        if task != cls.TASK:
            chosen = {name: option for name, option in cls.OPTIONS.items() if option.defaults is not None}
            kinds = options.defaults(task, known.get("inference"))
            known = {name: option.value(*kinds) for name, option in chosen.items()} | known
        algorithm = changes.get("algorithm") or known.get("algorithm") or cls.OPTIONS["algorithm"].default
        used = {
            name: value
            for name, value in known.items()
            if cls.OPTIONS[name].works({"algorithm": algorithm}, ())
        }
        used["template"] = model.template
        tagger = cls(**{**used, **changes})
        tagger._trainer = Trainer(model, cls(**used).settings())
        return tagger


def _check_one_round(model: TaggerModel) -> None:
    if model.needs_first_round:
        raise ValueError(
            "a model with doc_label in its template is trained in two rounds and cannot learn more; train it "
            "again on all data, or leave doc_label out"
        )


def _forced(forced: Mapping[int, str], n_tokens: int, model: TaggerModel) -> np.ndarray:
    """For each token the position of its label in the model's labels, or -1 where it is free."""
    force = np.full(n_tokens, -1, np.int32)
    for at, name in forced.items():
        if not 0 <= at < n_tokens:
            raise ValueError(f"position {at} cannot be forced; the sentence has {n_tokens} tokens")
        if name not in model.labels:
            scheme = "" if model.inner == "none" else f" in {model.inner}"
            raise ValueError(
                f"label {name!r} cannot be forced; the labels of this model{scheme} are "
                f"{', '.join(model.labels)}{meant(name, model.labels)}"
            )
        force[at] = model.labels.index(name)
    return force


class PosTagger(SequenceTagger):
    """Tag parts of speech: affixes, shapes and classes of words, exact inference.

    The options are those of `SequenceTagger`, with other defaults.
    """

    TASK = "pos"


class MorphTagger(SequenceTagger):
    """Tag parts of speech and features as one label, whose parts share weights: greedy, hundreds of labels.

    A label joins the values of several columns by tabs; the parts of a value are separated by ``|``.
    The options are those of `SequenceTagger`, with other defaults.
    """

    TASK = "morph"


class Chunker(SequenceTagger):
    """Find phrases in words with parts of speech: trained in IOBES, predicts only valid label sequences.

    The options are those of `SequenceTagger`, with other defaults.
    """

    TASK = "chunk"


class NerTagger(SequenceTagger):
    """Find named entities: shapes and affixes, trained in IOBES, predicts only valid label sequences.

    The options are those of `SequenceTagger`, with other defaults.
    """

    TASK = "ner"


TASKS: dict[str, type[SequenceTagger]] = {
    cls.TASK: cls for cls in (PosTagger, MorphTagger, Chunker, NerTagger, SequenceTagger)
}
