"""Learn online: more data at any time, with new labels and features, or more passes over the same data."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from structsvm.files import ModelFileError
from structsvm.machine import SampleWeight
from structsvm.optimizers import Optimizer, Perceptron
from structsvm.problems.sequence import (
    Decoder,
    SequenceLabels,
    SequenceProblem,
    Sequences,
    wider_state,
    wider_weights,
)
from structsvm.threads import in_threads
from taggers.features.extract import KeyTable, as_columns
from taggers.features.feature_names import feature_names
from taggers.features.template import Template, fitting_template
from taggers.features.word_classes import add_words
from taggers.labels._labels import Labels
from taggers.labels.label_encoding import GoldLabels
from taggers.labels.space import LabelSpace
from taggers.memory import release_memory
from taggers.model import TaggerModel
from taggers.options import OPTIONS
from taggers.trainer import (
    Curve,
    Dataset,
    Figures,
    HeldOut,
    Settings,
    TrainingPoint,
    encoded,
    figures_of,
    new_optimizer,
    problem_of,
    train,
    warn_of_memory,
)

FIXED = tuple(option.name for option in OPTIONS if option.fixed_on_resume)
# the options that an optimizer is made with
LEARNING = ("algorithm", "C", "reprocess", "label_weight", "shards")
NO_STATE = (
    "this model was saved without its training state, so training continues from its weights alone and old "
    "examples cannot be reprocessed; save models with their training state (--keep-state on the command line,"
    " keep_state = true in spaCy)"
)

MOST_FETCHED = 1 << 20  # weights that some sentences fetch before it is better to fetch all
KEPT = 3 / 4  # of the features or support patterns, when they have become too many: so this is done seldom


class Fitted:
    """A model that has been trained or loaded, and the settings of its training.

    It does not learn. An `Online` learner takes its place when more data arrive.
    """

    optimizer: Optimizer | None = None

    def __init__(self, model: TaggerModel, settings: Settings) -> None:
        self.model = model
        self.settings = {name: settings[name] for name in (*FIXED, *LEARNING)}

    def settle(self) -> TaggerModel:
        """The model, after it has received all that was learned."""
        return self.model

    def near(self, features: Sequences, *, live: bool = False) -> tuple[TaggerModel, Sequences]:
        """A model for some sentences, and their features in it; valid until the next training step."""
        return self.model, features

    def state(self) -> dict[str, np.ndarray] | None:
        """The training state: of the optimizer, or the one from the model file."""
        return self.model.state

    def curve(self) -> list[TrainingPoint]:
        """The points of the training in this process."""
        return []


class Online(Fitted):
    """Trains its model further, and owns its optimizer, its training curve, pending weights and new words.

    After `extend` the weights stay with the optimizer until `settle` or `near` needs them. The optimizer
    is None as long as a loaded model has not been trained. The settings of the training before are kept, so
    that options cannot change silently.
    """

    def __init__(
        self,
        model: TaggerModel,
        settings: Settings,
        optimizer: Optimizer | None = None,
        patterns: Sequence[float] = (),
        *,
        warned: bool = False,
    ) -> None:
        super().__init__(model, settings)
        self.optimizer = optimizer
        self._patterns = list(patterns)  # per sentence, by pass
        self._index = Labels(list(model.labels.labels))
        self._words = KeyTable()  # seen since the words of the model were sorted
        self._pending = False  # the optimizer has weights that the model lacks
        self._fetched = 0  # features whose weights `near` has fetched since
        self._last_seen = np.zeros(0, np.int32)  # by feature, the number of the call of `extend`
        self._calls = 0
        self._warned = warned  # of the memory that training needs
        self._learned = False  # whether the optimizer has taken the data of this call

    @classmethod
    def of(cls, fitted: Fitted) -> Online:
        """The learner that takes the place of a model, with its guard; itself if it learns already."""
        if isinstance(fitted, Online):
            return fitted
        online = cls(fitted.model, fitted.settings)
        vars(online).update(vars(fitted))  # also the guard, so that threads that still read it are waited for
        return online

    def check_unchanged(self, settings: Settings) -> None:
        """Raise ValueError for an option that cannot change between two calls that train."""
        for name in FIXED:
            if settings[name] != self.settings[name] and not self._same_template(name, settings):
                raise ValueError(
                    f"{name} cannot change after training has begun; set it back to "
                    f"{self.settings[name]!r}, or train a new model"
                )
        old, new = self.settings["algorithm"], settings["algorithm"]
        if old != new and (self.optimizer is not None or self.model.state is not None):
            raise ValueError(
                f"algorithm cannot change from {old} to {new}, as the training state belongs to {old}; "
                f"continue with {old}, or train a new model"
            )

    def _same_template(self, name: str, settings: Settings) -> bool:
        """Whether a changed option is a template that gives the same features, if they are not ready."""
        model = self.model.space.template
        return name == "template" and (
            model is None or fitting_template(settings[name], max(model.width, 1)) == model
        )

    @contextmanager
    def unless_rejected(self) -> Iterator[None]:
        """Undo all changes on an exception that comes before the optimizer has taken the data.

        Only the tables of keys change in place: they forget their last keys.
        """
        model = self.model
        before = vars(self) | {"model": replace(model, space=replace(model.space))}
        tables = [
            (table, len(table)) for table in (model.space.table, model.space.bigram_numbers, self._words)
        ]
        self._learned = False
        try:
            yield
        except BaseException:
            if not self._learned:
                for table, size in tables:
                    table.truncate(size)
                vars(self).update(before)
            raise

    def extend(self, dataset: Dataset, settings: Settings, weight: SampleWeight = None) -> None:
        """One pass over more data, in their order; `widen` must have been called for their labels."""
        optimizer = self.begun
        self._warned = self._warned or warn_of_memory(optimizer, self.model, dataset)
        self._check_bounds(settings)
        before = optimizer.n_argmax_ if optimizer.is_started else 0
        self._watch(dataset.labelled, settings)
        try:
            optimizer.partial_fit(*dataset, weight)
        except BaseException:
            self._learned = optimizer.is_started and optimizer.n_argmax_ != before  # or else it rejected them
            raise
        finally:
            self._hold()
        self._learned = True
        self._see(dataset.X.rows)

    def _check_bounds(self, settings: Settings) -> None:
        if settings["max_features"] is not None and self.model.space.bigrams is not None:
            raise ValueError(
                "max_features does not support features joined with a previous label, such as y[-1]|w[0]; "
                "leave these out of the template"
            )

    def _see(self, rows: np.ndarray) -> None:
        """Record that the data of this call contained these features."""
        self._calls += 1
        self._make_room()
        self._last_seen[rows] = self._calls

    def _make_room(self) -> None:
        missing = len(self.model.space) - len(self._last_seen)
        if missing > 0:  # half as much again: most calls bring new features
            more = np.zeros(missing + len(self._last_seen) // 2, np.int32)
            self._last_seen = np.append(self._last_seen, more)

    def forget(self, settings: Settings) -> None:
        """Keep the features and support patterns within their bounds, if there are any."""
        self._check_bounds(settings)
        model, n, rows = self.model, self._n_support, None
        most, budget = settings["max_features"], settings["max_support"]
        patterns = 0 if budget is None or n <= budget else n - int(KEPT * budget)
        crowded = most is not None and len(model.space) > most
        if not (patterns or crowded):
            return
        if self.optimizer is None:  # of a loaded model
            self.widen(model.labels, settings)
            model = self.model
        if crowded:
            keep = self._most_useful(int(KEPT * most))
            rows = np.concatenate([np.ones(problem_of(self.begun).history, bool), keep, self._unknown_rows()])
            model = model.with_features(keep)
            if len(model.space.words) + len(self._words) > most:
                model.space.words, self._words = np.zeros(0, np.uint32), KeyTable()

        def commit() -> None:
            self.begun.forget(patterns=patterns, rows=rows)
            if rows is not None:
                self.model, self._last_seen = model, self._last_seen[: len(keep)][keep]
            self._hold()

        in_threads([commit], 1)  # Ctrl-C waits until the table and the weights fit each other
        release_memory()

    @property
    def _n_support(self) -> int:
        """The number of support patterns, those of a loaded model included."""
        if self.optimizer is None:
            return len((self.model.state or {}).get("dual.upper", ()))
        return self.optimizer.n_support_patterns_ if self.optimizer.is_started else 0

    def _most_useful(self, n: int) -> np.ndarray:
        """A mask of the n features to keep: first those with a weight, then those seen last."""
        self._make_room()
        size = len(self.model.space)
        value = self._last_seen[:size] + self._has_weight() * (self._calls + 1)
        least = np.partition(value, size - n)[size - n]
        keep: np.ndarray = value > least
        keep[np.flatnonzero(value == least)[: n - keep.sum()]] = True  # features that came early are common
        return keep

    def _has_weight(self) -> np.ndarray:
        """Whether each feature has a nonzero weight; forgetting the others changes no prediction."""
        rows = self.model.rows_of(self.begun)
        return rows.counts[problem_of(self.begun).history :] > 0

    def _unknown_rows(self) -> np.ndarray:
        """False for each row of w that the table lacks; an interrupted call can leave such rows."""
        problem = problem_of(self.begun)
        n = self.begun.n_weights_ // problem.stride - problem.history
        return np.zeros(max(n - len(self.model.space), 0), bool)

    def resume(self, dataset: Dataset, settings: Settings, weight: SampleWeight = None) -> bool:
        """Restore the training state, if these are the data that it belongs to; False if they are not."""
        state = self.state() if dataset.fingerprint() == self.model.report.get("data") else None
        if state is None or not _has_data(state):
            return False
        optimizer = new_optimizer(self.model, settings)
        _restore(optimizer, state, self.model.problem(), *dataset, weight)
        self._replace(self.model, optimizer, settings)
        return True

    def take(self, dataset: Dataset, weight: SampleWeight = None) -> None:
        """Take other data for the passes of `run`; support patterns of the data before stay."""
        self._learned = True  # Ctrl-C may come when the data have been replaced
        self.model.report = {k: v for k, v in self.model.report.items() if k != "data"}
        try:
            self.begun.take(*dataset, weight)
            self.model.report["data"] = dataset.fingerprint()
        except Exception:
            self._learned = False  # the optimizer rejected them
            raise
        finally:
            self._hold()

    def run(self, data: Figures, settings: Settings, score: HeldOut | None = None) -> None:
        """Make passes over the data of `resume` or `take`; with a score, keep the best weights.

        If it is interrupted, the model keeps what it has learned.
        """
        self._learned = True
        self._watch(data.labelled, settings)
        optimizer, (sentences, tokens, _, fingerprint) = self.begun, data
        try:
            self.model = train(
                self.model, optimizer, settings, sentences, tokens, score=score,
                figures=lambda _: figures_of(optimizer, fingerprint),
            )  # fmt: skip
            self._pending = False
            self.settle()
        except BaseException:
            self._hold()
            raise

    def widen(self, labels: LabelSpace, settings: Settings) -> None:
        """Make room for these labels, the first of which are the model's; take over changed settings."""
        old = self.model
        if (
            self.optimizer is not None
            and len(labels) == problem_of(self.optimizer).n_labels
            and all(settings[name] == self.settings[name] for name in LEARNING)
        ):
            return
        model = replace(old, labels=labels, state=None, likelihood=settings["algorithm"] == "crf")
        optimizer = new_optimizer(model, settings)
        optimizer.validate()
        if old.labels:
            problem, state = old.problem(), self.state()
            if state is not None:
                _restore(optimizer, state, problem)
            else:
                warnings.warn(NO_STATE, UserWarning, stacklevel=3)
                weights = old.weights.dense(problem.stride).astype(np.float64).reshape(-1)
                optimizer.start_from(wider_weights(weights, problem, problem_of(optimizer)))
                model.bias = {}  # it is in the weights
        self._replace(model, optimizer, settings)

    def start(self) -> None:
        """Begin with weights of zero, for a model that knows labels but has seen no data."""
        if not self.begun.is_started:
            self.begun.start_from(np.zeros(problem_of(self.begun).offset))
        self._hold()

    @property
    def begun(self) -> Optimizer:
        """The optimizer, which exists."""
        assert self.optimizer is not None
        return self.optimizer

    @property
    def is_started(self) -> bool:
        """Whether the optimizer has weights to predict with."""
        return self.optimizer is not None and self.optimizer.is_started

    def state(self) -> dict[str, np.ndarray] | None:
        """The training state: of the optimizer, or the one from the model file."""
        return self.model.state if self.optimizer is None else self.optimizer.state()

    def curve(self) -> list[TrainingPoint]:
        """The points of the training so far; none for a loaded model."""
        curve = Curve(self._patterns)
        return [] if self.optimizer is None else [curve.point(point) for point in self.optimizer.curve_]

    def index(self) -> Labels:
        """The numbers of the model's labels, ready for new ones."""
        if self._index.names != list(self.model.labels.labels):
            self._index = Labels(list(self.model.labels.labels))
        return self._index

    def labels(self, gold: GoldLabels, classes: Sequence[str] = ()) -> tuple[SequenceLabels, LabelSpace]:
        """Gold labels as numbers, and the label space with new ones, see `encoded`."""
        return encoded(gold, self.model, self.index(), classes)

    def learn(self, X: Any, labels: SequenceLabels, *, keep_names: bool = False) -> Dataset:
        """A data set of X and labels; the model learns new features and words."""
        if self.model.candidates is not None:  # they belong to the data before
            self.model = replace(self.model, candidates=None)
        features = self.model.space.learn(X, labels, self.model.labels)
        self.note(X, keep_names=keep_names)
        return Dataset(features, labels)

    def note(self, X: Any, *, keep_names: bool = False) -> None:
        """Remember the words of training data, which `settle` sorts, and the names of features if kept."""
        model = self.model
        if model.space.extractor is not None:
            add_words(self._words, as_columns(X))
        if keep_names or model.space.names is not None:
            model.space.names = feature_names(model, X, model.space.names)

    def settle(self) -> TaggerModel:
        """Give the model the weights and words of the training so far, and return it."""
        pending, words = self._pending, self._words
        model = self.model  # last: several threads may do this at the same time, with the same result
        if pending:
            model = model.with_weights(self.begun)
        elif model.labels and len(model.weights) < model.n_rows:  # of a call that was refused, or still runs
            model = replace(model, weights=model.weights.extended(model.n_rows))
        if len(words):
            model = replace(model, space=model.space.with_words(words))
        if model is not self.model:
            self.model = model  # first: then nothing is pending
            self._pending, self._words = False, KeyTable()
        return model

    def near(self, features: Sequences, *, live: bool = False) -> tuple[TaggerModel, Sequences]:
        """A model for some sentences, and their features in it; both are valid until the next training step.

        While weights are pending, a few sentences fetch only the weights that they need; once that has cost
        as much as fetching all of them, all are fetched. live: fetch all, which takes a while, only if the
        optimizer computes all of them anyway, or if the sentences need more than `MOST_FETCHED` or than all.
        """
        model = self.model
        if not self._pending or model.space.bigrams is not None or model.candidates is not None:
            return self.settle(), features
        self._fetched += len(features.rows)
        problem = problem_of(self.begun)
        many = len(features.rows) > min(MOST_FETCHED // problem.stride, len(model.space))
        if many or (isinstance(self.optimizer, Perceptron) if live else self._fetched > len(model.space)):
            return self.settle(), features
        wanted = np.concatenate([np.arange(problem.history), problem.history + features.rows])
        known = wanted < self.begun.n_weights_ // problem.stride  # not after an interrupted call
        places = wanted[known, None] * problem.stride + np.arange(problem.stride)
        found = np.zeros((len(wanted), problem.stride))
        found[known] = self.begun.weights_at(places)
        if self.model.bias:
            found[: problem.n_labels + 1, : problem.n_labels] += self.model.shift
        few = replace(features, rows=np.arange(len(features.rows), dtype=np.int32))
        return self.model.with_decoder(Decoder(problem, found, dense=True)), few

    def _replace(self, model: TaggerModel, optimizer: Optimizer, settings: Settings) -> None:
        """Continue with another model, and with an optimizer that was made with these settings."""
        if self.optimizer is not None:
            optimizer.continue_curve(self.optimizer)
        self.model, self.optimizer = model, optimizer
        self.settings = self.settings | {name: settings[name] for name in LEARNING}
        self._hold()

    def _hold(self) -> None:
        """Note that the optimizer has the weights, however far it came."""
        if self.begun.is_started:
            if not self.begun.holds_data:
                self.model.report = {k: v for k, v in self.model.report.items() if k != "data"}
            self._pending, self._fetched = True, 0

    def _watch(self, labelled: float, settings: Settings) -> None:
        """Connect the callback, and note how many patterns a sentence has from this pass on."""
        callback, optimizer = settings["callback"], self.begun
        patterns = labelled if self.model.labels.inference == "greedy" else 1.0
        done = optimizer.epochs_done if optimizer.is_started else 0
        past = self._patterns
        past[done:] = []  # of a pass that was interrupted
        past += [*past[-1:] * (done - len(past)), patterns]
        if callback is None:
            optimizer.callback = None
        elif isinstance(optimizer.callback, Curve):
            optimizer.callback.callback = callback
        else:
            optimizer.callback = Curve(past, callback)


def check_usable(model: TaggerModel, name: Any, *, otherwise: str = "") -> Template:
    """The template of a model that reads words outside of Python; raise ValueError for other models.

    name: what the message calls the model. otherwise: what to do if it cannot learn more; empty if it need
    not learn.
    """
    if model.space.template is None:
        raise ValueError(f"{name} was trained on precomputed features; use a model that reads words")
    if model.space.own_features:
        raise ValueError(f"{name} was trained with user-defined features, so it works only from Python")
    if otherwise and model.space.needs_first_round:
        raise ValueError(f"{name} uses doc_label, so it cannot learn more; {otherwise}")
    return model.space.template


def check_one_round(model: TaggerModel) -> None:
    """Raise ValueError for a model that was trained in two rounds."""
    if model.space.needs_first_round:
        raise ValueError(
            "a model with doc_label in its template is trained in two rounds and cannot learn more; train it "
            "again on all data, or leave doc_label out"
        )


def _restore(optimizer: Optimizer, state: dict[str, np.ndarray], old: SequenceProblem, *data: Any) -> None:
    """Give an optimizer a training state, which belongs to the problem `old`; refuse forged ones."""
    optimizer.validate()
    problem = problem_of(optimizer)
    try:
        if "place" in state and "rows.places" not in state:  # without them, nothing checks the sentences
            raise KeyError("rows.places")
        if old.n_labels != problem.n_labels:
            state = wider_state(state, old, problem)
        optimizer.resume(state, *data)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise ModelFileError(
            f"the training state of the model is inconsistent ({error}); train the model again"
        ) from error


def _has_data(state: dict[str, np.ndarray]) -> bool:
    """Whether a training state still knows where in its data set its support patterns are."""
    place = state.get("place")  # a perceptron has none; `_restore` refuses forged ones
    return place is None or place.dtype.kind != "i" or bool(np.any(place >= 0))
