"""Taggers with scikit-learn's conventions: sentences in, lists of labels out."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from structsvm import active
from structsvm.files import SparseRows
from structsvm.guard import reading, training
from structsvm.integrations.sklearn import Estimator, sequence_tags
from structsvm.problems.sequence import Sequences
from structsvm.validation import check_count, n_threads
from taggers import encoding, metrics, options
from taggers.explanation import explain
from taggers.features.extract import KeyTable
from taggers.features.feature_names import feature_names
from taggers.features.knowledge import Knowledge
from taggers.formats._columns import Columns
from taggers.labels import schemes
from taggers.labels.label_encoding import detect_scheme, inner_labels, split_by_sentence
from taggers.model import TaggerModel, replace_knowledge
from taggers.trainer import Dataset, Score, Trainer, TrainingPoint, shared


class LabelLists(list[list[str]]):
    """The labels of sentences; as an array they have one dimension, whatever the lengths of the sentences.

    scikit-learn makes such an array when it joins the predictions of a cross-validation.
    """

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = np.empty(len(self), object)
        for number, labels in enumerate(self):
            array[number] = labels
        return array


@options.with_options(options.OPTIONS)
class SequenceTagger(Estimator):
    """Label the tokens of sentences with a structured SVM.

    X is a list of sentences. A sentence is a list of tokens, and a token is a str, a tuple of str (columns:
    word, part of speech, ...) or its features as python-crfsuite takes them (a dict, or a list of names). X
    can also be a `Columns` object read from a file. y holds the labels of each sentence: None for a token
    without a gold label, a set for one with several allowed labels. For `Columns`, y can be the number of
    the label column.

    Options that are None get the default of the class.
    """

    TASK: ClassVar[str] = "label"
    OPTIONS: ClassVar[dict[str, options.Option]]

    epochs: int | None
    keep_names: bool
    jobs: int
    random_state: Any
    callback: Any
    _trainer: Trainer | None = None

    if TYPE_CHECKING:  # `with_options` makes it from the table

        def __init__(self, **options: Any) -> None: ...

    def settings(self) -> dict[str, Any]:
        """The value of every option: the given one, or the default of the class."""
        return options.settings(self)

    def _checked_settings(self) -> dict[str, Any]:
        """The settings for training; values out of range and options without effect are refused."""
        values = self.settings()
        options.check_settings(values, self.OPTIONS.values())
        options.check_used(self.get_params(), values["algorithm"], self.OPTIONS.values())
        return values

    # -- training -------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, X_dev: Any = None, y_dev: Any = None) -> Self:
        """Train from scratch; with development data, stop in time and keep the weights of the best pass.

        Bad input raises an error and changes nothing. If training is interrupted (by Ctrl-C, or an exception
        in the callback), the new model keeps what it has learned: you can predict with it and continue
        training.
        """
        with training(self):
            X = encoding.as_sentences(X)
            settings = self._checked_settings()
            if X_dev is not None and self.epochs is None:
                settings["epochs"] = options.DEV_EPOCHS
            settings = shared(settings, encoding.n_sentences(X))
            gold = encoding.training_gold(X, y)
            trainer = Trainer(self._new_model(X, encoding.input_width(X, gold), gold.triples()), settings)
            model = trainer.model
            names = trainer.index()
            labels = gold.encode(names, model.outer, model.inner)
            model.labels = list(names.names)
            encoding.check_codes(labels.codes)
            features = encoding.new_features(X, labels, model, cutoff=settings["cutoff"])
            self._note(trainer, X)
            score = self._dev_score(trainer, X_dev, y_dev)
            dataset = Dataset(features, labels)
            try:
                trainer.begin(dataset, settings, sample_weight)
                trainer.run(dataset, settings, score)
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
        X = encoding.as_sentences(X)
        settings = shared(self._checked_settings(), encoding.n_sentences(X))
        with training(self), training(trainer := self._fitted(), self):
            trainer.check_unchanged(settings)
            model = trainer.finished()
            gold = encoding.training_gold(X, y)
            names = trainer.index()
            labels = gold.encode(names, model.outer, model.inner)
            encoding.check_codes(labels.codes)
            dataset = Dataset(encoding.known_features(X, model), labels)
            with trainer.unless_rejected():
                same = trainer.resume(dataset, settings, sample_weight)
                if not same:
                    trainer.widen(names.names, settings)
                    dataset = Dataset(encoding.new_features(X, labels, trainer.model), labels)
                self._note(trainer, X)
                score = self._dev_score(trainer, X_dev, y_dev)
                if not same:
                    trainer.take(dataset, sample_weight)
                trainer.run(dataset, settings, score)
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: Sequence[str] | None = None, sample_weight: Any = None
    ) -> Self:
        """Train for one pass over more data, in the order given; new features and labels may appear.

        Bad input and interruptions are treated as in `fit`.
        """
        settings = self._checked_settings()
        X = encoding.as_sentences(X)
        gold = encoding.training_gold(X, y)
        with training(self), training(trainer := self._trainer or self._new_trainer(X, gold, classes), self):
            trainer.check_unchanged(settings)
            model, names = trainer.model, trainer.index()
            if classes is not None:
                names.encode([inner_labels(list(classes), model.outer, model.inner)], grow=True)
            labels = gold.encode(names, model.outer, model.inner)
            encoding.check_codes(labels.codes)
            try:
                with trainer.unless_rejected():
                    trainer.widen(names.names, settings)
                    features = encoding.new_features(X, labels, trainer.model)
                    self._note(trainer, X)
                    trainer.extend(Dataset(features, labels), settings, sample_weight)
            finally:
                if trainer.is_started:  # or else the data were rejected before anything was learned
                    self._trainer = trainer
        return self

    def _new_trainer(self, X: Any, gold: Any, classes: Sequence[str] | None) -> Trainer:
        seen = gold.triples() + schemes.count_triples([list(classes or ())])
        return Trainer(self._new_model(X, encoding.input_width(X, gold), seen), self.settings())

    def declare(self, classes: Sequence[str], *, width: int = 1, X: Any = None) -> Self:
        """Make labels known before there are data with them.

        width: the number of input columns. X: sentences in which to find word classes, if the template uses
        them; their labels do not matter.
        """
        settings = self._checked_settings()
        check_count(width=width, low=1)
        with training(self):
            trainer = self._trainer
            if trainer is None:
                words = None if X is None else encoding.as_sentences(X)
                seen = schemes.count_triples([list(classes)])
                trainer = Trainer(self._new_model(words, width, seen), settings)
            with training(trainer, self):
                trainer.check_unchanged(settings)
                model, names = trainer.finished(), trainer.index()
                names.encode([inner_labels(list(classes), model.outer, model.inner)], grow=True)
                if names.names:
                    trainer.widen(names.names, settings)
                    trainer.start()
                self._trainer = trainer
        return self

    def _new_model(self, X: Any, width: int, seen: Counter[schemes.Triple]) -> TaggerModel:
        """An empty model for data of this kind; X may be None where only its width is known."""
        settings = self.settings()
        inner, constrained = settings["labels"], bool(settings["constrained"])
        outer = detect_scheme(seen) if inner != "none" or constrained else "none"
        inner = outer if inner == "none" or outer == "none" else inner
        template, knowledge = None, Knowledge()
        if X is None or not encoding.has_ready_features(X):
            template, knowledge = encoding.new_template(X or [], width, settings)
        return TaggerModel(
            template, [], KeyTable(), SparseRows.from_dense(np.zeros((0, 1))), outer=outer, inner=inner,
            constrained=constrained and inner != "none", inference=settings["inference"],
            order=settings["order"], share=bool(settings["share"]), parameters=self._kept_parameters(),
            knowledge=knowledge,
        )  # fmt: skip

    def _kept_parameters(self) -> dict[str, Any]:
        """The options that were given, as a model file keeps them."""
        given = self.get_params()
        kept = {name: given[name] for name in given if self.OPTIONS[name].kept and given[name] is not None}
        return kept | {"class": type(self).__name__}

    def _note(self, trainer: Trainer, X: Any) -> None:
        """Note the words of the training data, and the names of features if the model keeps them."""
        trainer.note_words(encoding.word_keys(X))
        model = trainer.model
        if self.keep_names or model.feature_names is not None:
            model.feature_names = feature_names(model, X, model.feature_names)

    def _dev_score(self, trainer: Trainer, X: Any, y: Any) -> Score | None:
        """A function that scores a model on development data, if there are any."""
        if X is None:
            return None
        X = encoding.as_sentences(X)
        gold = encoding.as_gold(X, y)
        features = encoding.known_features(X, trainer.model)
        phrases = trainer.model.outer != "none"
        trainer.score_name = metrics.score_name(gold, phrases=phrases)
        scored = getattr(self.callback, "scored", lambda value: None)

        def score(model: TaggerModel) -> float:
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
        X = encoding.as_sentences(X)
        if isinstance(X, Columns) or jobs == 1:
            features = encoding.known_features(X, model)
            return [(model.tag(features, jobs=jobs), features.sentence_ptr)]
        parts = [X[k * len(X) // jobs : (k + 1) * len(X) // jobs] for k in range(jobs)]
        with ThreadPoolExecutor(jobs) as pool:
            encoded = pool.map(lambda part: encoding.known_features(part, model), filter(None, parts))
            return [(model.tag(features), features.sentence_ptr) for features in encoded]

    def tag(self, tokens: Sequence[Any], forced: Mapping[int, str] | None = None) -> list[str]:
        """The labels of one sentence; `forced` maps positions of tokens to the labels they must get.

        Forced labels are in the scheme that the model was trained in, such as IOBES for a `Chunker`, whatever
        the scheme of the training data: see `model_.labels`.
        """
        with reading(trainer := self._fitted(), self):
            model = trainer.finished()
            features = encoding.known_features([encoding.as_tokens(tokens)], model)
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
        X = encoding.as_sentences(X)
        gold = encoding.as_gold(X, y)
        with training(self), training(trainer := self._fitted(), self):
            model = trainer.finished()
            trainer.model = model.calibrated(encoding.known_features(X, model), gold.positions(model.names))
        return self

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
        pool = encoding.as_sentences(pool)
        words = pool.sentences() if isinstance(pool, Columns) else pool

        def margins_of(places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            chosen = pool if len(places) == len(words) else [words[place] for place in places]
            margins = self.predict_margins(chosen)
            return np.concatenate([np.zeros(0), *margins]), np.cumsum([0, *map(len, margins)])

        return active.query(
            len(words), n, None if self._trainer is None else margins_of, strategy=strategy, sample=sample,
            contents=None if encoding.has_ready_features(pool) else words, random_state=self.random_state,
        )  # fmt: skip

    def explain(self, tokens: Sequence[Any]) -> list[dict[str, Any]]:
        """For each token of a sentence its label, and the features that support it with their weights."""
        with reading(trainer := self._fitted(), self):
            return explain(trainer.finished(), encoding.as_tokens(tokens))

    def score(self, X: Any, y: Any) -> float:
        """The share of tokens with the right label, among those with a gold label."""
        X = encoding.as_sentences(X)
        gold = encoding.as_gold(X, y)
        with reading(trainer := self._fitted(), self):
            model = trainer.finished()
            ids = [ids for ids, _ in self._label(X, model)]
        return metrics.score_ids(gold, np.concatenate([np.zeros(0, np.int32), *ids]), model.names)

    def _features(self, X: Any, trainer: Trainer) -> tuple[TaggerModel, Sequences]:
        return trainer.near(encoding.known_features(encoding.as_sentences(X), trainer.model))

    def replace_knowledge(self, *, classes: Any = None, gazetteers: Any = None) -> Self:
        """Replace word classes or the entries of gazetteers, without training.

        classes, gazetteers: as in the constructor, for names that the model has already.
        """
        with training(self), training(trainer := self._fitted(), self):
            trainer.model = replace_knowledge(trainer.finished(), classes=classes, gazetteers=gazetteers)
        return self

    # -- results --------------------------------------------------------------------------------

    def _fitted(self) -> Trainer:
        if self._trainer is None:
            raise self.not_fitted()
        return self._trainer

    @property
    def model_(self) -> TaggerModel:
        """The model; after `partial_fit` its weights are those of the last call of predict, tag or save.

        Use the methods of the tagger instead while another thread may train it.
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
        model = TaggerModel.load(path, cls.OPTIONS.values())
        known = {name: value for name, value in model.parameters.items() if name in cls.OPTIONS}
        saved = {tagger.__name__: tagger.TASK for tagger in TASKS.values()}
        task = saved.get(model.parameters.get("class", ""), cls.TASK)
        if task != cls.TASK:
            chosen = {name: option for name, option in cls.OPTIONS.items() if option.tasks is not None}
            known = {name: o.value(task, known.get("inference")) for name, o in chosen.items()} | known
        algorithm = changes.get("algorithm") or known.get("algorithm") or cls.OPTIONS["algorithm"].default
        used = {name: value for name, value in known.items() if algorithm in cls.OPTIONS[name].algorithms}
        used["template"] = model.template
        tagger = cls(**{**used, **changes})
        tagger._trainer = Trainer(model, cls(**used).settings())
        return tagger


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
                f"{', '.join(model.labels)}"
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
    """Find named entities: shapes and affixes, greedy, trained in IOB2, only valid label sequences.

    The options are those of `SequenceTagger`, with other defaults.
    """

    TASK = "ner"


TASKS: dict[str, type[SequenceTagger]] = {
    cls.TASK: cls for cls in (PosTagger, MorphTagger, Chunker, NerTagger, SequenceTagger)
}
