"""Train the model of a tagger: from scratch, in more passes, or online with new features and labels."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from structsvm.files import DataError, ModelFileError, SparseRows
from structsvm.optimizers import (
    LaRank,
    Optimizer,
    ParallelLaRank,
    PassiveAggressive,
    Perceptron,
    Point,
    SVMStruct,
)
from structsvm.problems.sequence import (
    Decoder,
    SequenceLabels,
    SequenceProblem,
    Sequences,
    wider_state,
    wider_weights,
)
from structsvm.threads import in_threads
from structsvm.training import Report, passes
from taggers.conlleval import Counts, count_phrases
from taggers.features.extract import KeyTable, as_columns
from taggers.features.feature_names import feature_names
from taggers.features.template import fitting_template
from taggers.features.word_classes import WORDS
from taggers.formats._columns import Columns
from taggers.labels._labels import Labels
from taggers.labels.label_encoding import GoldLabels, inner_labels, loss_matrix
from taggers.memory import check_memory, release_memory
from taggers.model import MOST_LABELS, TaggerModel
from taggers.options import OPTIONS

FIXED = tuple(option.name for option in OPTIONS if option.fixed_on_resume)
# the options that an optimizer is made with
LEARNING = ("algorithm", "C", "reprocess", "label_weight", "shards")
NO_STATE = (
    "this model was saved without its training state, so training continues from its weights alone and old "
    "examples cannot be reprocessed; save models with their training state (--keep-state on the command line,"
    " keep_state = true in spaCy)"
)

KEPT = 3 / 4  # of the features or support patterns, when they have become too many: so this is done seldom

Settings = Mapping[str, Any]
Score = Callable[[TaggerModel], float]


class Dataset(NamedTuple):
    """Sentences with their labels, encoded for a model."""

    X: Sequences
    y: SequenceLabels

    def fingerprint(self) -> int:
        """A checksum that identifies the data set."""
        X, y = self
        value = 0
        ids = None if X.bigrams is None else X.bigrams.ids
        for array in (X.rows, X.token_ptr, X.sentence_ptr, X.values, ids, y.codes, *y.sets):
            if array is not None:
                value = zlib.crc32(np.ascontiguousarray(array), value)  # type: ignore[arg-type]
        return value

    def figures(self) -> Figures:
        """Describe the data set, for training after the optimizer has taken it."""
        return Figures(len(self.X), self.X.n_tokens, self.labelled, self.fingerprint())

    @property
    def labelled(self) -> float:
        """The labelled tokens per sentence."""
        return int((self.y.codes != -1).sum()) / len(self.X)


class Figures(NamedTuple):
    """The sentences and tokens of a data set, its labelled tokens per sentence, and its fingerprint."""

    sentences: int
    tokens: int
    labelled: float
    fingerprint: int


class TrainingPoint(NamedTuple):
    """A point of a tagger's training curve.

    seconds: of training so far. epoch: the number of the pass, from 0. sentences: seen in this pass (greedy
    training counts tokens and divides by the mean length of a sentence). sentences_per_second: since the
    beginning. dual: the dual objective, nan for a perceptron.

    accuracy, f1: scores of the labels that this pass predicted before it learned from them. accuracy is the
    share of correct tokens; f1 is the F1 of phrases, if the labels follow a scheme such as IOB2. They
    estimate the scores on new sentences, but are a little low, because early predictions count too. They are
    nan in later passes and for tasks whose labels have parts.

    primal: the primal objective, in the last point of a pass, if the attribute `primal` of the callback is
    true; otherwise nan. It needs a prediction for every sentence. round: on a cluster, the round of this
    pass, from 1; otherwise 0.
    """

    seconds: float
    epoch: int
    sentences: int
    sentences_per_second: float
    dual: float
    n_support_patterns: int
    n_argmax: int
    accuracy: float = np.nan
    f1: float = np.nan
    primal: float = np.nan
    round: int = 0

    @property
    def gap(self) -> float:
        """primal - dual: how far the dual can be from its optimum; nan if the primal was not computed."""
        return self.primal - self.dual


class Curve:
    """Turns the points of an optimizer's curve, one after the other, into those of a tagger.

    patterns: how many patterns a sentence has on average, for each pass; later passes are like the last one.
    """

    def __init__(self, patterns: list[float], callback: Any = None) -> None:
        self.patterns = patterns
        self.callback = callback
        self.epoch = 0
        self.seen = self.before = 0.0  # sentences

    def point(self, point: Point) -> TrainingPoint:
        """The tagger's point."""
        if point.epoch != self.epoch:
            self.before += self.seen
        self.epoch = point.epoch
        self.seen = point.seen / self.patterns[min(point.epoch, len(self.patterns) - 1)]
        return TrainingPoint(
            point.seconds, point.epoch, round(self.seen),
            (self.before + self.seen) / max(point.seconds, 1e-9),
            point.dual, point.n_support_patterns, point.n_argmax, 1 - point.progressive,
            Counts(*map(int, point.looks[2:])).f1 if point.looks[2:] else np.nan, point.primal,
        )  # fmt: skip

    @property
    def primal(self) -> bool:
        """Whether the callback wants the primal at the end of each pass."""
        return bool(getattr(self.callback, "primal", False))

    def __call__(self, point: Point) -> Any:
        return self.callback(self.point(point))


class Trainer:
    """Trains one model, and owns its optimizer, its training curve, pending weights and new words.

    After `extend` the weights stay with the optimizer until `finished` or `tag` needs them. The optimizer
    is None as long as a loaded model has not been trained. A trainer remembers the settings that it trained
    with, so that options cannot change silently.
    """

    def __init__(self, model: TaggerModel, settings: Settings) -> None:
        self.model = model
        self.optimizer: Any = None
        self._settings = {name: settings[name] for name in (*FIXED, *LEARNING)}
        self.scores: list[float] = []  # on held-out data
        self.score_name = ""  # what they are
        self._patterns: list[float] = []  # per sentence, by pass
        self._index = Labels(model.labels)
        self._words = KeyTable()  # seen since the words of the model were sorted
        self._pending = False  # the optimizer has weights that the model lacks
        self._fetched = 0  # features whose weights `tag` has fetched since
        self._last_seen = np.zeros(0, np.int32)  # by feature, the number of the call of `extend`
        self._calls = 0
        self._warned = False  # of the memory that training needs
        self._learned = False  # whether the optimizer has taken the data of this call

    def check_unchanged(self, settings: Settings) -> None:
        """Raise ValueError for an option that cannot change between two calls that train."""
        for name in FIXED:
            if settings[name] != self._settings[name] and not self._same_template(name, settings):
                raise ValueError(
                    f"{name} cannot change after training has begun; set it back to "
                    f"{self._settings[name]!r}, or train a new model"
                )
        old, new = self._settings["algorithm"], settings["algorithm"]
        if old != new and (self.optimizer is not None or self.model.state is not None):
            raise ValueError(
                f"algorithm cannot change from {old} to {new}, as the training state belongs to {old}; "
                f"continue with {old}, or train a new model"
            )

    def _same_template(self, name: str, settings: Settings) -> bool:
        """Whether a changed option is a template that gives the same features, if they are not ready."""
        model = self.model.template
        return name == "template" and (
            model is None or fitting_template(settings[name], max(model.width, 1)) == model
        )

    @contextmanager
    def unless_rejected(self) -> Iterator[None]:
        """Undo all changes on an exception that comes before the optimizer has taken the data."""
        model, words = self.model, self._words
        before = model, self.optimizer, self._settings, words, self._pending, self._fetched
        tables = [(table, len(table)) for table in (model.table, model.bigram_numbers, words)]
        report, names = model.report, model.feature_names
        self._learned = False
        try:
            yield
        except BaseException:
            if not self._learned:
                for table, size in tables:
                    table.truncate(size)
                self.model, self.optimizer, self._settings, self._words, self._pending, self._fetched = before
                model.report, model.feature_names = report, names
                vars(model).pop("bigram_rows", None)
            raise

    def begin(
        self, dataset: Dataset, settings: Settings, weight: Any = None, *, phrases: bool = False
    ) -> None:
        """Take data to train on from scratch, with `run`.

        phrases: count the phrases predicted before learning, even if the model has no scheme.
        """
        optimizer = new_optimizer(self.model, settings)
        if phrases:
            optimizer.problem.count = partial(_phrases, self.model.labels)
        self._check_memory(optimizer, dataset)
        self.optimizer = optimizer.begin(*dataset, weight)

    def extend(self, dataset: Dataset, settings: Settings, weight: Any = None) -> None:
        """One pass over more data, in their order; `widen` must have been called for their labels."""
        self._check_memory(self.optimizer, dataset)
        self._check_bounds(settings)
        optimizer = self.optimizer
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
        if settings["max_features"] is not None and self.model.label_bigrams is not None:
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
        missing = len(self.model.table) - len(self._last_seen)
        if missing > 0:  # half as much again: most calls bring new features
            more = np.zeros(missing + len(self._last_seen) // 2, np.int32)
            self._last_seen = np.append(self._last_seen, more)

    def forget(self, settings: Settings) -> None:
        """Keep the features and support patterns within their bounds, if there are any."""
        self._check_bounds(settings)
        model, n, rows = self.model, self._n_support, None
        most, budget = settings["max_features"], settings["max_support"]
        patterns = 0 if budget is None or n <= budget else n - int(KEPT * budget)
        crowded = most is not None and len(model.table) > most
        if not (patterns or crowded):
            return
        if self.optimizer is None:  # of a loaded model
            self.widen(model.labels, settings)
            model = self.model
        if crowded:
            keep = self._most_useful(int(KEPT * most))
            rows = np.concatenate([np.ones(self.optimizer.problem.history, bool), keep, self._unknown_rows()])
            model = model.with_features(keep)
            if len(model.words) + len(self._words) > most:
                model.words, self._words = np.zeros(0, np.uint32), KeyTable()

        def commit() -> None:
            self.optimizer.forget(patterns=patterns, rows=rows)
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
        size = len(self.model.table)
        value = self._last_seen[:size] + self._has_weight() * (self._calls + 1)
        least = np.partition(value, size - n)[size - n]
        keep: np.ndarray = value > least
        keep[np.flatnonzero(value == least)[: n - keep.sum()]] = True  # features that came early are common
        return keep

    def _has_weight(self) -> np.ndarray:
        """Whether each feature has a nonzero weight; forgetting the others changes no prediction."""
        rows = self.model.rows_of(self.optimizer)
        return rows.counts[self.optimizer.problem.history :] > 0

    def _unknown_rows(self) -> np.ndarray:
        """False for each row of w that the table lacks; an interrupted call can leave such rows."""
        problem = self.optimizer.problem
        n = self.optimizer.n_weights_ // problem.stride - problem.history
        return np.zeros(max(n - len(self.model.table), 0), bool)

    def resume(self, dataset: Dataset, settings: Settings, weight: Any = None) -> bool:
        """Restore the training state, if these are the data that it belongs to; False if they are not."""
        state = self.state() if dataset.fingerprint() == self.model.report.get("data") else None
        if state is None or not _has_data(state):
            return False
        optimizer = new_optimizer(self.model, settings)
        _restore(optimizer, state, self.model.problem(), *dataset, weight)
        self._replace(self.model, optimizer, settings)
        return True

    def take(self, dataset: Dataset, weight: Any = None) -> None:
        """Take other data for the passes of `run`; support patterns of the data before stay."""
        self._learned = True  # Ctrl-C may come when the data have been replaced
        self.model.report = {k: v for k, v in self.model.report.items() if k != "data"}
        try:
            self.optimizer.take(*dataset, weight)
            self.model.report["data"] = dataset.fingerprint()
        except Exception:
            self._learned = False  # the optimizer rejected them
            raise
        finally:
            self._hold()

    def run(self, data: Figures, settings: Settings, score: Score | None = None) -> None:
        """Make passes over the data of `begin`, `resume` or `take`; with a score, keep the best weights.

        If it is interrupted, the model keeps what it has learned.
        """
        self._learned = True
        self.model.release()
        try:
            self._run(data, settings, score)
        except BaseException:
            self._hold()
            raise

    def widen(self, names: list[str], settings: Settings) -> None:
        """Make room for these labels, the first of which are the model's; take over changed settings."""
        old = self.model
        if (
            self.optimizer is not None
            and len(names) == self.optimizer.problem.n_labels
            and all(settings[name] == self._settings[name] for name in LEARNING)
        ):
            return
        model = replace(old, labels=list(names), state=None)
        optimizer = new_optimizer(model, settings)
        optimizer.validate()
        if old.labels:
            problem, state = old.problem(), self.state()
            if state is not None:
                _restore(optimizer, state, problem)
            else:
                warnings.warn(NO_STATE, UserWarning, stacklevel=3)
                weights = old.weights.dense(problem.stride).astype(np.float64).reshape(-1)
                optimizer.start_from(wider_weights(weights, problem, optimizer.problem))
                model.bias = {}  # it is in the weights
        self._replace(model, optimizer, settings)

    def start(self) -> None:
        """Begin with weights of zero, for a model that knows labels but has seen no data."""
        if not self.optimizer.is_started:
            self.optimizer.start_from(np.zeros(self.optimizer.problem.offset))
        self._hold()

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
        if self._index.names != self.model.labels:
            self._index = Labels(self.model.labels)
        return self._index

    def labels(self, gold: GoldLabels, classes: Sequence[str] = ()) -> tuple[SequenceLabels, list[str]]:
        """Gold labels as numbers, and the names of the model's labels, followed by new ones.

        classes: labels to add, whether they occur or not.
        """
        model, names = self.model, self.index()
        if classes:
            names.encode([inner_labels(list(classes), model.outer, model.inner)], grow=True)
        labels = gold.encode(names, model.outer, model.inner)
        if not len(labels.codes):
            raise ValueError("the data set is empty; pass at least one token")
        if (labels.codes == -1).all():
            raise ValueError("no token has a gold label; label at least one token")
        return labels, names.names

    def learn(
        self,
        X: Any,
        labels: SequenceLabels,
        *,
        cutoff: int | None = None,
        keep_names: bool = False,
        first: np.ndarray | None = None,
        jobs: int = 1,
    ) -> Dataset:
        """A data set of X and labels; the model learns new features and words.

        first: the labels of the first round, see `TaggerModel.document_values`. jobs: the number of threads.
        """
        if self.model.candidates is not None:  # they belong to the data before
            self.model = replace(self.model, candidates=None)
        features = self.model.learn_features(X, labels, cutoff=cutoff, first=first, jobs=jobs)
        self.note(X, keep_names=keep_names, first=first)
        return Dataset(features, labels)

    def note(self, X: Any, *, keep_names: bool = False, first: np.ndarray | None = None) -> None:
        """Remember the words of training data, which `finished` sorts, and the names of features if kept."""
        model = self.model
        if model.extractor is not None:
            self._words.rows(WORDS.keys(as_columns(X))[:, 0], grow=True)
        if keep_names or model.feature_names is not None:
            model.feature_names = feature_names(model, X, model.feature_names, first)

    def finished(self) -> TaggerModel:
        """The model, with the weights and words of the training so far."""
        pending, words = self._pending, self._words
        model = self.model  # last: several threads may do this at the same time, with the same result
        if pending:
            model = model.with_weights(self.optimizer)
        elif model.labels and len(model.weights) < model.n_rows:  # of a call that was refused, or still runs
            model = replace(model, weights=model.weights.extended(model.n_rows))
        if len(words):
            model = replace(model, words=_merged(model.words, words.halves))
        if model is not self.model:
            self.model = model  # first: then nothing is pending
            self._pending, self._words = False, KeyTable()
        return model

    def shrink(self) -> None:
        """Drop features without weights, as model files do; call it only if nothing is pending."""
        self.model = self.model.compact()
        self.model.release()

    def tag(self, columns: Columns, *, margins: np.ndarray | None = None, live: bool = False) -> np.ndarray:
        """For each token the position of its label in the model's names; `near` describes `live`."""
        model, features = self.near(self.model.features(columns), live=live)
        return model.tag(features, margins=margins)

    def near(self, features: Sequences, *, live: bool = False) -> tuple[TaggerModel, Sequences]:
        """A model for some sentences, and their features in it; both are valid until the next training step.

        While weights are pending, a few sentences fetch only the weights that they need; once that has cost
        as much as fetching all of them, all are fetched. live: never fetch all, which takes a while, unless
        the optimizer computes all of them anyway.
        """
        model = self.model
        if not self._pending or model.label_bigrams is not None or model.candidates is not None:
            return self.finished(), features
        self._fetched += len(features.rows)
        if isinstance(self.optimizer, Perceptron) if live else self._fetched > len(self.model.table):
            return self.finished(), features
        problem = self.optimizer.problem
        wanted = np.concatenate([np.arange(problem.history), problem.history + features.rows])
        known = wanted < self.optimizer.n_weights_ // problem.stride  # not after an interrupted call
        places = wanted[known, None] * problem.stride + np.arange(problem.stride)
        found = np.zeros((len(wanted), problem.stride))
        found[known] = self.optimizer.weights_at(places)
        if self.model.bias:
            found[: problem.n_labels + 1, : problem.n_labels] += self.model.shift
        few = replace(features, rows=np.arange(len(features.rows), dtype=np.int32))
        return self.model.with_decoder(Decoder(problem, found, dense=True)), few

    def _replace(self, model: TaggerModel, optimizer: Any, settings: Settings) -> None:
        """Continue with another model, and with an optimizer that was made with these settings."""
        if self.optimizer is not None:
            optimizer.continue_curve(self.optimizer)
        self.model, self.optimizer = model, optimizer
        self._settings = self._settings | {name: settings[name] for name in LEARNING}
        self._hold()

    def _hold(self) -> None:
        """Note that the optimizer has the weights, however far it came."""
        if self.optimizer.is_started:
            if not self.optimizer.holds_data:
                self.model.report = {k: v for k, v in self.model.report.items() if k != "data"}
            self._pending, self._fetched = True, 0

    def _run(self, data: Figures, settings: Settings, score: Score | None) -> None:
        self._watch(data.labelled, settings)
        weights, scores = self._passes(settings, score)
        self.model = self.model.with_rows(weights)
        self._pending, self.scores = False, scores
        self.model.report = _report(self.optimizer, data, len(self.model.table), scores, self.score_name)
        self.finished()

    def _check_memory(self, optimizer: Any, dataset: Dataset) -> None:
        """Refuse or warn of a training that needs much memory; one warning for each model."""
        if not self._warned:
            self._warned = check_memory(
                optimizer.problem,
                len(self.model.table),
                dataset.X,
                _copies(optimizer),
                getattr(optimizer, "shards", 1),
            )

    def _watch(self, labelled: float, settings: Settings) -> None:
        """Connect the callback, and note how many patterns a sentence has from this pass on."""
        callback, optimizer = settings["callback"], self.optimizer
        patterns = labelled if self.model.inference == "greedy" else 1.0
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

    def _passes(self, settings: Settings, score: Score | None) -> tuple[SparseRows, list[float]]:
        """Train pass by pass; the weights, with a score those of the best pass, and the scores."""

        def measured() -> tuple[float, SparseRows]:
            assert score is not None
            model = self.model.with_weights(self.optimizer)
            return score(model), model.weights

        report: Report[SparseRows] = passes(
            self.optimizer, epochs=settings["epochs"], patience=settings["patience"],
            score=None if score is None else measured,
        )  # fmt: skip
        weights = self.model.rows_of(self.optimizer) if report.weights is None else report.weights
        return weights, report.scores


def shared(settings: Settings, n_sentences: int) -> dict[str, Any]:
    """The settings with a number of shards for this many sentences."""
    from structsvm.optimizers.parallel import n_shards

    parallel = settings["algorithm"] == "larank"
    return {
        **settings,
        "shards": n_shards(settings["shards"], settings["jobs"], n_sentences) if parallel else None,
    }


def new_optimizer(model: TaggerModel, settings: Settings) -> Any:
    """The optimizer that the settings ask for, with nothing learned."""
    if len(model.labels) > MOST_LABELS:
        raise DataError(
            f"{len(model.labels):,} labels, but a model can have at most {MOST_LABELS:,}; check the label "
            "column"
        )
    if model.share and (settings["label_weight"] or model.inference == "exact" or model.constrained):
        raise ValueError("share needs greedy inference, without label_weight and constrained")
    loss = loss_matrix(model.labels, dict(settings["label_weight"] or {}), model.outer, model.inner)
    problem, common = model.problem(loss), {"random_state": settings["random_state"]}
    if model.outer != "none":
        problem.count = partial(_phrases, model.labels)
    if settings["algorithm"] == "perceptron":
        return Perceptron(problem, **common)
    shards = settings["shards"] or 1  # `shared` has chosen a number, except for partial_fit
    if settings["algorithm"] == "larank":
        common["n_reprocess"] = settings["reprocess"]
        if shards > 1:
            return ParallelLaRank(problem, C=settings["C"], shards=shards, jobs=settings["jobs"], **common)
    kind = {"larank": LaRank, "pa": PassiveAggressive, "svmstruct": SVMStruct}[settings["algorithm"]]
    return kind(problem, C=settings["C"], **common)


def _copies(optimizer: Any) -> int:
    """How many arrays of all weights an optimizer holds; 0 if it holds only those that it writes."""
    return 3 if isinstance(optimizer, Perceptron) else 0  # last, sums and means


def _phrases(
    labels: list[str], gold: np.ndarray, found: np.ndarray, sentence_ptr: np.ndarray
) -> tuple[int, int, int]:
    counts = count_phrases(gold, found, labels, sentence_ptr)
    return counts.gold, counts.found, counts.correct


def _restore(optimizer: Optimizer, state: dict[str, np.ndarray], old: SequenceProblem, *data: Any) -> None:
    """Give an optimizer a training state, which belongs to the problem `old`; refuse forged ones."""
    optimizer.validate()
    problem: Any = optimizer.problem
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


def _merged(known: np.ndarray, more: np.ndarray) -> np.ndarray:
    """Sorted distinct keys with more of them."""
    if len(known):
        more = more[known.take(np.searchsorted(known, more), mode="clip") != more]
    if not len(more):
        return known
    more = np.sort(more[more != 0])
    more = more[np.diff(more, prepend=0) != 0]  # np.unique would import a part of NumPy, which takes a while
    return np.insert(known, np.searchsorted(known, more), more)


def _report(
    optimizer: Any, data: Figures, n_features: int, scores: list[float], score: str
) -> dict[str, Any]:
    """The figures of a training, for the model file."""
    return {
        "sentences": data.sentences, "tokens": data.tokens, "features": n_features,
        "epochs": optimizer.epochs_done, "dev_scores": scores,
        "dual": optimizer.dual_ if optimizer.dual_ == optimizer.dual_ else None,
        "support_patterns": optimizer.n_support_patterns_, "data": data.fingerprint,
        "curve": _thin_curve(optimizer.curve_), **({"dev_score": score} if scores else {}),
    }  # fmt: skip


def _thin_curve(points: list[Point]) -> list[tuple[float, float | None, int]]:
    """(passes, dual, support patterns) for the model file: no times, so that a seed gives the same bytes."""
    whole = max((point.seen for point in points), default=1)
    return [
        (round(point.epoch + point.seen / whole, 4), point.dual if point.dual == point.dual else None,
         point.n_support_patterns)
        for point in points
    ]  # fmt: skip
