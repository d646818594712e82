"""Taggers with scikit-learn's conventions: sentences in, lists of labels out."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

from structsvm.guard import reading, training
from structsvm.options import with_options
from structsvm.training import PassCallback
from structsvm.validation import check_count, n_threads
from taggers import metrics, options
from taggers.features.extract import KeyTable, encode_ready, has_ready_features
from taggers.features.knowledge import Knowledge, choose_template
from taggers.features.space import FeatureSpace
from taggers.labelling import Labeller
from taggers.labels import schemes
from taggers.labels.label_encoding import GoldLabels, detect_scheme, inner_labels, sure_scheme
from taggers.labels.space import LabelSpace
from taggers.memory import release_memory
from taggers.model import TaggerModel, replace_knowledge
from taggers.online import Fitted, Online, check_one_round
from taggers.sources.base import Source
from taggers.sources.memory import MemorySource, as_labelled, as_sentences, input_width, n_sentences
from taggers.trainer import Dataset, HeldOut, choose_C, train, with_shards

BIASES = [k / 10 for k in range(-10, 11)]  # values for O that `fit_bias` tries


@with_options
class SequenceTagger(Labeller):
    """Label the tokens of sentences with a structured SVM.

    X is a list of sentences. A sentence is a list of tokens, and a token is a str, a tuple of str (columns:
    word, part of speech, ...) or its features as python-crfsuite takes them (a dict, or a list of names). X
    can also be a `Columns` object read from a file, and a sentence a `conllu.TokenList`. y holds the labels
    of each sentence: None for a token without a gold label, a set for one with several allowed labels. For
    `Columns`, y can be the number of the label column; for TokenLists, the name of a field, such as "upos",
    or several names.

    Options that are None get the default of the class.
    """

    # -- training -------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        token_weight: Any = None,
        X_dev: Any = None,
        y_dev: Any = None,
    ) -> Self:
        """Train from scratch; with development data, stop early and keep the weights of the best pass.

        token_weight: for each sentence a list with the weight of each token; 0 is like no label. The
        algorithms larank, pa and svmstruct support it.

        Bad input raises an error and changes nothing. If training is interrupted (by Ctrl-C, or an exception
        in the callback), the new model keeps what it has learned: you can predict with it and continue
        training.
        """
        with training(self):
            source = MemorySource(X, y, sample_weight, token_weight=token_weight)
            return self._fit(source, self._given(X_dev, y_dev))

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
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        token_weight: Any = None,
        X_dev: Any = None,
        y_dev: Any = None,
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
            gold = GoldLabels.to_learn(X, y, token_weight)
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
        self,
        X: Any,
        y: Any,
        classes: Sequence[str] | None = None,
        sample_weight: Any = None,
        *,
        token_weight: Any = None,
    ) -> Self:
        """Train for one pass over more data, in the order given; new features and labels may appear.

        With the option share, `fit` restricts a token to labels seen with its part of speech or word; after
        this call all labels are allowed again. Bad input and interruptions are treated as in `fit`.
        """
        settings = options.checked_settings(self)
        X, y, columns = as_labelled(X, y, self.TASK)
        gold, classes = GoldLabels.to_learn(X, y, token_weight), list(classes or ())
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

    # -- files ----------------------------------------------------------------------------------

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
