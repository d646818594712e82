"""Taggers with scikit-learn's conventions: sentences in, lists of labels out."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Self, overload

import numpy as np

from structsvm import active
from structsvm.guard import reading, training
from structsvm.integrations.sklearn import Estimator, sequence_tags
from structsvm.optimizers import Optimizer
from structsvm.options import with_options
from structsvm.problems.sequence import Sequences
from structsvm.threads import StoppablePool
from structsvm.training import PassCallback
from structsvm.validation import check_count, meant, n_threads
from taggers import metrics, options
from taggers.explanation import explain
from taggers.features.extract import KeyTable, encode_ready, has_ready_features
from taggers.features.knowledge import Knowledge, choose_template
from taggers.features.space import FeatureSpace
from taggers.formats._columns import Columns
from taggers.labels import schemes
from taggers.labels.label_encoding import (
    GoldLabels,
    choices,
    detect_scheme,
    inner_labels,
    split_by_sentence,
    sure_scheme,
)
from taggers.labels.space import LabelSpace
from taggers.memory import release_memory
from taggers.model import TaggerModel, replace_knowledge
from taggers.online import Fitted, Online, check_one_round
from taggers.sources.base import Source
from taggers.sources.memory import (
    MemorySource,
    as_labelled,
    as_sentences,
    as_tokens,
    input_width,
    n_sentences,
)
from taggers.token_lists import filled, is_token_list
from taggers.trainer import Dataset, HeldOut, TrainingPoint, choose_C, train, with_shards

if TYPE_CHECKING:
    from conllu import TokenList

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


@with_options
class SequenceTagger(options.TaggerOptions, Estimator):
    """Label the tokens of sentences with a structured SVM.

    X is a list of sentences. A sentence is a list of tokens, and a token is a str, a tuple of str (columns:
    word, part of speech, ...) or its features as python-crfsuite takes them (a dict, or a list of names). X
    can also be a `Columns` object read from a file, and a sentence a `conllu.TokenList`. y holds the labels
    of each sentence: None for a token without a gold label, a set for one with several allowed labels. For
    `Columns`, y can be the number of the label column; for TokenLists, the name of a field, such as "upos",
    or several names.

    Options that are None get the default of the class.
    """

    TASK: ClassVar[str] = "label"
    _state: Fitted | None = None

    def settings(self) -> dict[str, Any]:
        """The value of every option: the given one, or the default of the class."""
        return options.settings(self)

    # -- training -------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, X_dev: Any = None, y_dev: Any = None) -> Self:
        """Train from scratch; with development data, stop early and keep the weights of the best pass.

        Bad input raises an error and changes nothing. If training is interrupted (by Ctrl-C, or an exception
        in the callback), the new model keeps what it has learned: you can predict with it and continue
        training.
        """
        with training(self):
            return self._fit(MemorySource(X, y, sample_weight), self._given(X_dev, y_dev))

    def fit_source(self, source: Source[Any, Any], X_dev: Any = None, y_dev: Any = None) -> Self:
        """Train on data in memory, in a file that is larger than memory, or on a cluster; see `fit`."""
        with training(self):
            return self._fit(source, self._given(X_dev, y_dev))

    def fit_scored(self, source: Source[Any, Any], held_out: HeldOut, *callbacks: PassCallback[Any]) -> Self:
        """Train as `fit_source`, on held-out data that several taggers share; see `passes` for callbacks."""
        with training(self):
            return self._fit(source, held_out, *callbacks)

    def _fit(self, source: Source[Any, Any], held_out: HeldOut | None, *callbacks: PassCallback[Any]) -> Self:
        settings = options.checked_settings(self, source.kind)
        if self.C is None:  # not the one chosen for the features of the last training
            kinds = options.defaults(self.TASK, settings["inference"], settings["algorithm"])
            settings["C"] = self.OPTIONS["C"].value(*kinds)
        facts = source.survey(self.TASK)
        settings = with_shards(settings, facts.sentences) if source.kind == "memory" else settings
        model = self._new_model(source.X, facts.width, facts.triples, settings, features=source.space)
        try:
            datasets = list(source.datasets(model, facts, settings))
            if source.kind == "memory":
                choose_C(settings, model, self.C, datasets[0].X)
            learner = source.learner(model, settings, datasets)
            model.files = facts.columns  # not of the first round
            score, trained = None if held_out is None else held_out.encode(model), None
            try:
                trained = train(
                    model, learner, settings, facts.sentences, facts.tokens, score=score,
                    report=source.report(learner), callbacks=[source.keep, *callbacks],
                    figures=source.figures,
                )  # fmt: skip
            finally:
                trained = trained or model.with_weights(learner)
                self._state = source.fitted(trained, settings, learner)
        finally:
            source.close()
        return self

    def resume(
        self, X: Any, y: Any, sample_weight: Any = None, *, X_dev: Any = None, y_dev: Any = None
    ) -> Self:
        """Train for more passes.

        On the data of `fit` the result is the same as if `fit` had made these passes too. Other data are
        learned in addition; new features and labels may appear. Bad input and interruptions are treated as
        in `fit`.
        """
        X, y, _ = as_labelled(X, y)
        settings = with_shards(options.checked_settings(self), n_sentences(X))
        with training(self), training(state := self._fitted(), self):
            online = Online.of(state)
            online.check_unchanged(settings)
            model = online.settle()
            check_one_round(model)
            gold = GoldLabels.to_learn(X, y)
            with online.unless_rejected():
                self._loosen(online, gold.distinct())
                labels, names = online.labels(gold)
                dataset = Dataset(model.features(X, jobs=n_threads(self.jobs)), labels)
                same = online.resume(dataset, settings, sample_weight)
                if same:
                    online.note(X, keep_names=self.keep_names)
                else:
                    online.widen(names, settings)
                    dataset = online.learn(X, labels, keep_names=self.keep_names)
                held_out = self._given(X_dev, y_dev)
                score = None if held_out is None else held_out.encode(online.model)
                if not same:
                    online.take(dataset, sample_weight)
                self._state = online
                online.run(dataset.figures(), settings, score)
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: Sequence[str] | None = None, sample_weight: Any = None
    ) -> Self:
        """Train for one pass over more data, in the order given; new features and labels may appear.

        With the option share, `fit` restricts a token to labels seen with its part of speech or word; after
        this call all labels are allowed again. Bad input and interruptions are treated as in `fit`.
        """
        settings = options.checked_settings(self)
        X, y, columns = as_labelled(X, y, self.TASK)
        gold, classes = GoldLabels.to_learn(X, y), list(classes or ())
        if self._state is None:
            state: Fitted = self._unlearned(X, gold, classes)
            if has_ready_features(X):
                choose_C(settings, state.model, self.C, encode_ready(X, KeyTable(), grow=True))
        else:
            state = self._fitted()
        state.model.files = state.model.files or columns
        with training(self), training(state, self):
            online = Online.of(state)
            online.check_unchanged(settings)
            check_one_round(online.model)
            try:
                with online.unless_rejected():
                    self._loosen(online, gold.distinct() | set(classes))
                    labels, names = online.labels(gold, classes)
                    online.widen(names, settings)
                    dataset = online.learn(X, labels, keep_names=self.keep_names)
                    online.extend(dataset, settings, sample_weight)
            finally:
                if online.is_started:  # or else the data were rejected before anything was learned
                    self._state = online
            online.forget(settings)
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
        with training(self), training(state := self._fitted(), self):
            self._state = Online.of(state)
            self._state.forget(settings)
        return self

    def _unlearned(self, X: Any, gold: GoldLabels, classes: Sequence[str]) -> Online:
        """A model that has learned nothing."""
        settings = self.settings()
        return Online(self._new_model(X, input_width(X, gold), gold.triples(), settings, classes), settings)

    def declare(self, classes: Sequence[str], *, width: int = 1, X: Any = None) -> Self:
        """Make labels known before there are data with them.

        Parameters
        ----------
        width
            The number of input columns.
        X
            Sentences in which to find word classes, if the template uses them; their labels do not matter.
        """
        settings = options.checked_settings(self)
        check_count(width=width, low=1)
        with training(self):
            state = self._state
            if state is None:
                words = None if X is None else as_sentences(X)
                state = Online(self._new_model(words, width, Counter(), settings, list(classes)), settings)
            with training(state, self):
                online = Online.of(state)
                online.check_unchanged(settings)
                check_one_round(online.model)
                self._loosen(online, classes)
                model, names = online.settle(), online.index()
                names.encode([inner_labels(list(classes), model.labels.outer, model.labels.inner)], grow=True)
                if names.names:
                    online.widen(model.labels.with_labels(names.names), settings)
                    online.start()
                self._state = online
        return self

    def _gold(self, X: Any, y: Any) -> GoldLabels:
        """Gold labels to compare with; see `GoldLabels.of_phrases`."""
        gold = GoldLabels.of(X, y)
        return gold.of_phrases() if self.TASK in options.PHRASE_TASKS else gold

    @property
    def _any_labels(self) -> bool:
        """Whether labels need not mark phrases, because no scheme was requested."""
        return self.constrained is None and self.settings()["labels"] == "none"

    def _loosen(self, online: Online, labels: Iterable[str]) -> None:
        """Drop the scheme of a model if it was not requested and new labels do not follow it."""
        model = online.model
        if self._any_labels and model.labels.outer != "none" and not schemes.has(model.labels.outer, labels):
            warnings.warn(
                f"some new labels are not of the scheme {model.labels.outer}, so from now on all label "
                "sequences are allowed; set constrained=False if your labels do not mark phrases",
                UserWarning, stacklevel=3,
            )  # fmt: skip
            loose = replace(model.labels, outer="none", inner="none", constrained=False)
            online.model = replace(online.settle(), labels=loose)

    def _new_model(
        self,
        X: Any,
        width: int,
        seen: Counter[schemes.Triple],
        settings: Mapping[str, Any],
        classes: Sequence[str] = (),
        features: FeatureSpace | None = None,
    ) -> TaggerModel:
        """An empty model for data of this kind; X may be None where only its width is known.

        features: those of a model with the same options, to share them.
        """
        inner, constrained = settings["labels"], bool(settings["constrained"])
        outer = "none"
        if constrained and self._any_labels:
            outer = "none" if settings["share"] else sure_scheme(seen, classes)
        elif constrained or inner != "none":
            outer = detect_scheme(seen + schemes.count_triples([classes]))
        inner = outer if inner == "none" or outer == "none" else inner
        if features is None:
            template, knowledge = None, Knowledge()
            if X is None or not has_ready_features(X):
                template, knowledge = choose_template(X or [], width, settings)
            features = FeatureSpace(
                template, knowledge, function=settings["features"], documents=settings["documents"]
            )
        given = {name: getattr(self, name) for name, option in self.OPTIONS.items() if option.kept}
        labels = LabelSpace(
            (), outer, inner, constrained and inner != "none", settings["inference"], settings["order"],
            bool(settings["share"]),
        )  # fmt: skip
        return TaggerModel(
            features, labels, likelihood=settings["algorithm"] == "crf",
            parameters={name: value for name, value in given.items() if value is not None}
            | {"class": type(self).__name__},
        )  # fmt: skip

    def held_out(self, X: Any, y: Any) -> HeldOut:
        """Held-out data, to score several taggers like this one; see `fit_scored`."""
        X, y, _ = as_labelled(X, y)
        return HeldOut(X, self._gold(X, y), jobs=n_threads(self.jobs), callback=self.callback)

    def _given(self, X: Any, y: Any) -> HeldOut | None:
        return None if X is None else self.held_out(X, y)

    # -- labelling ------------------------------------------------------------------------------

    def predict(self, X: Any) -> list[list[str]]:
        """The labels of each sentence."""
        with reading(state := self._fitted(), self):
            model = state.settle()
            parts = self._label(X, model)
        return LabelLists(labels for ids, ptr in parts for labels in split_by_sentence(ids, model.names, ptr))

    def _label(self, X: Any, model: TaggerModel) -> list[tuple[np.ndarray, np.ndarray]]:
        """Positions in the model's names and sentence pointers of X, in as many parts as there are jobs."""
        jobs = n_threads(self.jobs)
        X = as_sentences(X)
        if isinstance(X, Columns) or jobs == 1 or model.space.uses_documents:
            features = model.features(X, jobs=jobs)
            return [(model.tag(features, jobs=jobs), features.sentence_ptr)]
        parts = [X[k * len(X) // jobs : (k + 1) * len(X) // jobs] for k in range(jobs)]
        with StoppablePool(jobs) as pool:
            encoded = pool.map(model.features, filter(None, parts))
            return [(model.tag(features), features.sentence_ptr) for features in encoded]

    @overload
    def tag(self, tokens: TokenList, forced: Mapping[int, str] | None = None) -> TokenList: ...
    @overload
    def tag(self, tokens: Sequence[Any], forced: Mapping[int, str] | None = None) -> list[str]: ...
    def tag(self, tokens: Any, forced: Mapping[int, str] | None = None) -> Any:
        """The labels of one sentence; `forced` maps positions of tokens to the labels they must get.

        Forced labels are in the scheme that the model was trained in, such as IOBES for a `Chunker`, whatever
        the scheme of the training data: see `model_.labels`. For a `conllu.TokenList`, the result is a copy
        of it with the labels in their fields.
        """
        with reading(state := self._fitted(), self):
            model = state.settle()
            features = model.features([as_tokens(tokens)])
            force = None if not forced else _forced(forced, features.n_tokens, model)
            labels = [model.names[k] for k in model.tag(features, forced=force)]
        return filled(tokens, labels, model.files) if is_token_list(tokens) else labels

    def tag_columns(self, columns: Columns) -> np.ndarray:
        """For each token the position of its label in `model_.names`; fast between calls of `partial_fit`."""
        return self.tag_with_names(columns)[0]

    def tag_with_names(
        self,
        X: Any,
        *,
        margins: np.ndarray | None = None,
        likely: np.ndarray | None = None,
        live: bool = False,
    ) -> tuple[np.ndarray, list[str]]:
        """The same positions, with the labels that they point to.

        Parameters
        ----------
        margins, likely
            Arrays of float32 that receive the margin and the probability of each label.
        live
            Avoid the pause in which several calls after `partial_fit` fetch all weights; each call then takes
            longer.
        """
        with reading(state := self._fitted(), self):
            model, features = state.near(state.model.features(X), live=live)
            found = model.tag(features, margins=margins)
            if likely is not None:
                likely[:] = model.marginals(features)[np.arange(len(found)), found]
            return found, model.names

    def predict_margins(self, X: Any) -> list[list[float]]:
        """For each token the score of the best labelling minus that of the best with another label there.

        The margin is inf where no other label is possible.
        """
        jobs = n_threads(self.jobs)
        with reading(state := self._fitted(), self):
            model, features = self._features(X, state)
            margins = np.zeros(features.n_tokens, np.float32)
            model.tag(features, margins=margins, jobs=jobs)
        return [margins[start:stop].tolist() for start, stop in pairwise(features.sentence_ptr.tolist())]

    def predict_marginals(self, X: Any) -> list[list[dict[str, float]]]:
        """For each token the probability of each label, as sklearn-crfsuite returns them.

        The probability of a labelling is proportional to exp(score / temperature). `calibrate` finds the
        temperature; before that it is 1, and the probabilities are not calibrated. With greedy inference,
        the probability of a label depends on the labels chosen before it.
        """
        with reading(state := self._fitted(), self):
            model, features = self._features(X, state)
            rows = model.marginals(features).tolist()
        found = [dict(zip(model.names, row, strict=True)) for row in rows]
        return [found[start:stop] for start, stop in pairwise(features.sentence_ptr.tolist())]

    def predict_marginals_single(self, tokens: Sequence[Any]) -> list[dict[str, float]]:
        """The probabilities of `predict_marginals` for one sentence."""
        return self.predict_marginals([as_tokens(tokens)])[0]

    def predict_proba(self, X: Any) -> list[np.ndarray]:
        """For each sentence an array with the probabilities of `predict_marginals`: tokens x `classes_`."""
        with reading(state := self._fitted(), self):
            model, features = self._features(X, state)
            order = np.argsort(np.array(model.names, object))
            probable = model.marginals(features)[:, order]
        return [probable[start:stop] for start, stop in pairwise(features.sentence_ptr.tolist())]

    def log_likelihood(self, X: Any, y: Any) -> list[float]:
        """The logarithm of the probability of the labels of each sentence, as in `predict_marginals`.

        Parameters
        ----------
        y
            As for `fit`. Where labels are missing, it is that of all labellings that agree with the others; a
            labelling that the scheme excludes has -inf. It needs exact inference.
        """
        X, y, _ = as_labelled(X, y)
        gold = self._gold(X, y)
        with reading(state := self._fitted(), self):
            model = state.settle()
            place = {name: k for k, name in enumerate(model.names)}
            allowed = np.zeros((int(gold.sentence_ptr[-1]), len(place)), bool)
            for row, label in zip(allowed, chain.from_iterable(gold.lists()), strict=True):
                for name in choices(label, model.names):
                    if name not in place:
                        raise ValueError(f"unknown label {name!r}{meant(name, model.names)}")
                    row[place[name]] = True
            found: list[float] = model.log_likelihood(model.features(X), allowed).tolist()
        return found

    def calibrate(self, X: Any, y: Any) -> Self:
        """Find the temperature of probabilities on labelled sentences that were not used in training."""
        X, y, _ = as_labelled(X, y)
        gold = self._gold(X, y)
        with training(self), training(state := self._fitted(), self):
            model = state.settle()
            state.model = model.calibrated(model.features(X), gold.positions(model.names))
        return self

    def add_bias(self, bias: Mapping[str, float]) -> Self:
        """Add constants to the scores of labels, without training: {"O": -0.5} finds more phrases.

        Names are those of `label_weight`. Further training keeps the constants: they are added to the weights
        that it learns. A model without its training state starts from weights that include them.
        """
        with training(self), training(state := self._fitted(), self):
            state.model = state.settle().biased(bias)
        return self

    def fit_bias(self, X: Any, y: Any) -> Self:
        """Add the bias of O, between -1 and 1, that gives the best F1 on sentences not used in training.

        `bias_` shows it.
        """
        X, y, _ = as_labelled(X, y)
        gold = self._gold(X, y)
        with reading(state := self._fitted(), self):
            model = state.settle()
            if not model.labels.mark_phrases:
                raise ValueError("fit_bias needs labels of phrases with O, such as those of chunk and ner")
            features = model.features(X)

        def f1(value: float) -> float:
            ids = model.biased({schemes.OUTSIDE: value}).tag(features)
            return metrics.score_ids(gold, ids, model.names, phrases=True)

        # the smallest of several equally good ones
        return self.add_bias({schemes.OUTSIDE: max(sorted(BIASES, key=abs), key=f1)})

    def predict_nbest(self, X: Any, n: int, *, live: bool = False) -> list[list[tuple[float, list[str]]]]:
        """The n best labellings of each sentence, as (score, labels); needs exact inference.

        Parameters
        ----------
        live
            As for `tag_with_names`.
        """
        with reading(state := self._fitted(), self):
            model, features = self._features(X, state, live=live)
            best = [model.n_best(features, sentence, n) for sentence in range(features.n_sentences)]
            return [[(score, [model.names[k] for k in path]) for score, path in one] for one in best]

    def query(
        self, pool: Any, n: int = 1, *, strategy: str = "margin", sample: int | None = None
    ) -> np.ndarray:
        """The positions of at most n unlabelled sentences that should be labelled next, best first.

        They have a token within the margin, and no two of them share most of their words. If there are none,
        you can stop labelling. An untrained tagger returns random sentences.

        Parameters
        ----------
        strategy
            "margin", "smallest", "total" or "random"; see `structsvm.active`.
        sample
            Consider only this many random sentences.
        """
        pool = as_sentences(pool)
        words = pool.sentences() if isinstance(pool, Columns) else pool

        def margins_of(places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            chosen = pool if len(places) == len(words) else [words[place] for place in places]
            margins = self.predict_margins(chosen)
            return np.concatenate([np.zeros(0), *margins]), np.cumsum([0, *map(len, margins)])

        return active.query(
            len(words), n, None if self._state is None else margins_of, strategy=strategy, sample=sample,
            contents=None if has_ready_features(pool) else words, random_state=self.random_state,
        )  # fmt: skip

    def explain(self, tokens: Sequence[Any]) -> list[dict[str, Any]]:
        """For each token of a sentence its label, and the features that support it with their weights."""
        with reading(state := self._fitted(), self):
            return explain(state.settle(), as_tokens(tokens))

    def score(self, X: Any, y: Any) -> float:
        """The share of tokens with the right label, among those with a gold label.

        For `NerTagger` and `Chunker`, it is the F1 of phrases, unless gold labels are sets or the labels
        mark no phrases. `cross_val_score` and `GridSearchCV` use this score by default.
        """
        X, y, _ = as_labelled(X, y)
        gold = self._gold(X, y)
        with reading(state := self._fitted(), self):
            model = state.settle()
            ids = [ids for ids, _ in self._label(X, model)]
        phrases = self.TASK in options.PHRASE_TASKS and model.labels.outer != "none"
        found = np.concatenate([np.zeros(0, np.int32), *ids])
        return metrics.score_ids(gold, found, model.names, phrases=phrases)

    def _features(self, X: Any, state: Fitted, *, live: bool = False) -> tuple[TaggerModel, Sequences]:
        return state.near(state.model.features(as_sentences(X)), live=live)

    def release(self, *, compact: bool = False) -> Self:
        """Free the memory that training needed: the data, the support patterns and the training curve.

        You can still train the tagger, like a model that was saved without its training state.

        Parameters
        ----------
        compact
            Also drop features without weights, as model files do.
        """
        with training(self), training(state := self._fitted(), self):
            self._state = Fitted(state.settle(), self.settings())
        del state
        if compact:  # only now, because this takes memory
            with training(self):
                model = self._state.model.compact()
                model.space.release()
                self._state = Fitted(model, self._state.settings)
            del model
        release_memory()
        return self

    def replace_knowledge(self, *, classes: Any = None, gazetteers: Any = None) -> Self:
        """Replace word classes or the entries of gazetteers, without training.

        Parameters
        ----------
        classes, gazetteers
            As in the constructor, for names that the model has already.
        """
        with training(self), training(state := self._fitted(), self):
            state.model = replace_knowledge(state.settle(), classes=classes, gazetteers=gazetteers)
        return self

    # -- results --------------------------------------------------------------------------------

    def _fitted(self) -> Fitted:
        """The model with its settings; it follows the options that can change after training."""
        if self._state is None:
            raise self.not_fitted()
        model = self._state.model
        for part in (model, model.space.first_round):
            if part is not None:
                part.space.function = self.features
                part.space.documents = part.space.documents if self.documents is None else self.documents
        return self._state

    @property
    def model_(self) -> TaggerModel:
        """The model; after `partial_fit` its weights are those of the last call of predict, tag or save.

        While another thread trains the tagger, use the tagger's own methods instead. The model labels with
        its old weights, and raises ValueError for features learned since.
        """
        return self._fitted().model

    @property
    def optimizer_(self) -> Optimizer:
        """The optimizer, if this tagger has been trained in memory and not only loaded."""
        if self._state is None or self._state.optimizer is None:
            raise AttributeError(f"this {type(self).__name__} has no optimizer: it has not been trained here")
        return self._state.optimizer

    @property
    def dev_scores_(self) -> list[float]:
        """The score on the development data after each pass of `fit` or `resume`."""
        return list(self._fitted().model.report.get("dev_scores", []))

    @property
    def classes_(self) -> list[str]:
        """The labels, sorted."""
        with reading(state := self._fitted(), self):
            return sorted(state.settle().names)

    @property
    def bias_(self) -> dict[str, float]:
        """The constants that `add_bias` and `fit_bias` have added to the scores of labels."""
        return dict(self._fitted().model.bias)

    @property
    def n_features_(self) -> int:
        """The number of features."""
        with reading(state := self._fitted(), self):
            return len(state.settle().space)

    @property
    def curve_(self) -> list[TrainingPoint]:
        """The training curve, twenty points for each pass; empty after `load`."""
        return self._fitted().curve()

    def __sklearn_is_fitted__(self) -> bool:
        return self._state is not None

    def __sklearn_tags__(self) -> Any:
        return sequence_tags()

    # -- files ----------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], *, training_state: bool = False, **saving: Any) -> None:
        """Write a model file; the other arguments are those of `TaggerModel.save`."""
        with reading(state := self._fitted(), self):
            model = state.settle()
            if training_state:
                model.state = state.state()
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
        space, scheme = model.labels, cls.OPTIONS["labels"].value(task)
        if cls.OPTIONS["inference"].value(task) != space.inference:
            known["inference"] = space.inference
        if "none" not in (scheme, space.inner) and scheme != space.inner:
            known["labels"] = space.inner
        if task != cls.TASK:
            chosen = {name: option for name, option in cls.OPTIONS.items() if option.defaults is not None}
            kinds = options.defaults(task, known.get("inference"), known.get("algorithm"))
            known = {name: option.value(*kinds) for name, option in chosen.items()} | known
        algorithm = changes.get("algorithm") or known.get("algorithm") or cls.OPTIONS["algorithm"].default
        used = {
            name: value
            for name, value in known.items()
            if cls.OPTIONS[name].works({"algorithm": algorithm}, ())
        }
        used["template"] = model.space.template
        tagger = cls(**{**used, **changes})
        tagger._state = Fitted(model, cls(**used).settings())
        return tagger


def _forced(forced: Mapping[int, str], n_tokens: int, model: TaggerModel) -> np.ndarray:
    """For each token the position of its label in the model's labels, or -1 where it is free."""
    force = np.full(n_tokens, -1, np.int32)
    for at, name in forced.items():
        if not 0 <= at < n_tokens:
            raise ValueError(f"position {at} cannot be forced; the sentence has {n_tokens} tokens")
        if name not in model.labels:
            scheme = "" if model.labels.inner == "none" else f" in {model.labels.inner}"
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
