"""`Labeller`: what a trained tagger knows and can do. Nothing here changes the model."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np

from structsvm import active
from structsvm.guard import reading
from structsvm.integrations.sklearn import Estimator, sequence_tags
from structsvm.optimizers import Optimizer
from structsvm.problems.sequence import Sequences
from structsvm.threads import StoppablePool
from structsvm.validation import meant, n_threads
from taggers import metrics, options
from taggers.explanation import explain
from taggers.features.extract import has_ready_features
from taggers.formats._columns import Columns
from taggers.labels.label_encoding import GoldLabels, choices, split_by_sentence
from taggers.model import TaggerModel
from taggers.online import Fitted
from taggers.sources.memory import as_labelled, as_sentences, as_tokens
from taggers.token_lists import filled, is_token_list
from taggers.trainer import TrainingPoint

if TYPE_CHECKING:
    from conllu import TokenList


class LabelLists(list[list[str]]):
    """The labels of sentences; as an array they have one dimension, whatever the lengths of the sentences.

    scikit-learn makes such an array when it joins the predictions of a cross-validation.
    """

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = np.empty(len(self), object)
        for number, labels in enumerate(self):
            array[number] = labels
        return array


class Labeller(options.TaggerOptions, Estimator):
    """The model of a tagger, and what it says about sentences; `SequenceTagger` adds the training."""

    TASK: ClassVar[str] = "label"
    _state: Fitted | None = None

    def settings(self) -> dict[str, Any]:
        """The value of every option: the given one, or the default of the class."""
        given = {name: getattr(self, name) for name in self.OPTIONS}
        if given["C"] is None and self._state is not None and self._state.model.space.template is None:
            given["C"] = self._state.model.parameters.get("C")  # see `trainer.choose_C`
        if given["inference"] is None and options.needs_greedy(given):
            given["inference"] = "greedy"
        kinds = options.defaults(self.TASK, given["inference"], given["algorithm"])
        return {
            name: one.value(*kinds) if given[name] is None else given[name]
            for name, one in self.OPTIONS.items()
        }

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

    def save(self, path: str | os.PathLike[str], *, training_state: bool = False, **saving: Any) -> None:
        """Write a model file; the other arguments are those of `TaggerModel.save`."""
        with reading(state := self._fitted(), self):
            model = state.settle()
            if training_state:
                model.state = state.state()
            model.save(path, training_state=training_state, **saving)

    # -- labels of sentences --------------------------------------------------------------------

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

    def _features(self, X: Any, state: Fitted, *, live: bool = False) -> tuple[TaggerModel, Sequences]:
        return state.near(state.model.features(as_sentences(X)), live=live)

    # -- margins, probabilities and other labellings --------------------------------------------

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

    def _gold(self, X: Any, y: Any) -> GoldLabels:
        """Gold labels to compare with; see `GoldLabels.of_phrases`."""
        gold = GoldLabels.of(X, y)
        return gold.of_phrases() if self.TASK in options.PHRASE_TASKS else gold

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

    # -- results --------------------------------------------------------------------------------

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
