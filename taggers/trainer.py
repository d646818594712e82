"""Train the model of a tagger pass by pass, on a learner of any source of data."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from structsvm.files import DataError, SparseRows
from structsvm.machine import SampleWeight
from structsvm.optimizers import (
    LaRank,
    Optimizer,
    ParallelLaRank,
    PassiveAggressive,
    Perceptron,
    Point,
    RandomField,
    SVMStruct,
)
from structsvm.problems.sequence import SequenceLabels, SequenceProblem, Sequences
from structsvm.training import Learner, PassCallback, Report, passes, wants_primal
from taggers import metrics
from taggers.conlleval import Counts, count_phrases
from taggers.features.extract import KeyTable
from taggers.labels._labels import Labels
from taggers.labels.label_encoding import GoldLabels, inner_labels, loss_matrix
from taggers.labels.schemes import OUTSIDE
from taggers.labels.space import MOST_LABELS, LabelSpace
from taggers.memory import check_memory, release_memory
from taggers.model import TaggerModel
from taggers.uncertainty import better

Settings = Mapping[str, Any]
Counter = Callable[[float], np.ndarray]


# C times the mean squared length of a token's features, if they are ready. Templates have fixed values of C,
# which agree with it. Chosen on development data: three sets of features of nine corpora, 100 and 1,000
# sentences; `python -m benchmarks small-data` measures it on test data.
READY_C = 2.5
SVMS = ("larank", "pa", "svmstruct")


def choose_C(settings: dict[str, Any], model: TaggerModel, given: float | None, X: Sequences) -> None:
    """Set C for a model of ready features, unless it was given; the model remembers it.

    X: the features of the training data. With twice as many features of a token, scores are twice as large,
    so half of C has the same effect.
    """
    if given is None and model.space.template is None and settings["algorithm"] in SVMS:
        squares = float(len(X.rows)) if X.values is None else float(np.square(X.values, dtype=float).sum())
        chosen = READY_C * max(X.n_tokens, 1) / squares if squares > 0 else READY_C
        settings["C"] = model.parameters["C"] = float(f"{min(max(chosen, 1e-6), 1e6):.2g}")


class Dataset(NamedTuple):
    """Sentences with their labels, encoded for a model."""

    X: Sequences
    y: SequenceLabels

    def fingerprint(self) -> int:
        """A checksum that identifies the data set."""
        X, y = self
        value = 0
        ids = None if X.bigrams is None else X.bigrams.ids
        for array in (X.rows, X.token_ptr, X.sentence_ptr, X.values, ids, y.codes, *y.sets, y.weights):
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
    true; otherwise nan. It needs a prediction for every sentence. round: on a cluster the round of this pass,
    on disk the slice, from 1; otherwise 0.
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


class RoundCurve:
    """Turns the rounds of a learner on disk or on a cluster into the points of a tagger, for its callback."""

    def __init__(self, callback: Callable[[TrainingPoint], Any], sentences: int) -> None:
        self.callback, self.sentences = callback, sentences
        self.begun = time.perf_counter()

    def __call__(self, learner: Any) -> Any:
        epoch, before = divmod(learner.rounds - 1, learner.per_epoch)
        last = before + 1 == learner.per_epoch
        primal = learner.primal() if last and wants_primal(self.callback) else np.nan
        seconds, seen = time.perf_counter() - self.begun, self.sentences * (before + 1) // learner.per_epoch
        rate = (epoch * self.sentences + seen) / max(seconds, 1e-9)
        counts = learner.n_support_patterns_, learner.n_argmax_
        point = TrainingPoint(seconds, epoch, seen, rate, learner.dual_, *counts)
        return self.callback(point._replace(primal=primal, round=before + 1))


class HeldOut:
    """Held-out sentences; calling it after `encode` scores the model with other weights.

    counts: what the last scored pass has counted, see `metrics.counts_of_ids`.
    """

    def __init__(self, X: Any, gold: GoldLabels, *, jobs: int, callback: Any) -> None:
        self.X, self.gold, self.jobs = X, gold, jobs
        self.scored = getattr(callback, "scored", lambda value: None)
        self.counts = np.zeros((0, 3), np.int64)
        self.table: KeyTable | None = None

    def encode(self, model: TaggerModel) -> HeldOut:
        """Encode the sentences for a new model, unless the previous model has the same features."""
        self.phrases = model.labels.outer != "none"
        self.name = metrics.score_name(self.gold, phrases=self.phrases)
        if self.table is None or self.table is not model.space.table:
            self.table, self.used = model.space.table, None
            self.features = model.features(self.X, jobs=self.jobs)
            if self.features.bigrams is None:  # a decoder of these rows needs little memory
                self.used = np.zeros(len(model.space), bool)
                self.used[self.features.rows] = True
                if model.candidates is not None:
                    self.used[model.candidates.rows] = True
                places = np.cumsum(self.used, dtype=np.int32) - 1
                np.take(places, self.features.rows, out=self.features.rows, mode="clip")
            release_memory()
        return self

    def __call__(self, model: TaggerModel) -> float:
        self.counts = self.counter(model)(0.0)
        value = metrics.score_counts(self.counts, self.name)
        self.scored(value)
        return value

    def counter(self, model: TaggerModel) -> Counter:
        """A function of a bias of O that returns what the labels of a model count.

        It holds only the weights of the features that occur here, and works after `encode` too.
        """
        features, phrases = self.features, self.phrases
        small = model if self.used is None else model.with_rows_of(self.used)

        def count(bias: float) -> np.ndarray:
            now = small.biased({OUTSIDE: bias}) if bias else small
            ids = now.tag(features, jobs=self.jobs)
            return metrics.counts_of_ids(self.gold, ids, now.names, phrases=phrases)

        return count


def cautious_bias(count: Counter, most: int = 10) -> tuple[float, float]:
    """A bias of O that is better than none by more than one standard error, or 0, and its F1.

    count: a function of the bias, which is a number of tenths, at most `most`. From 0, the search goes in the
    direction that is better for two steps, until two steps have not raised the F1. Means of three neighbours
    are compared, because one value may be the best by chance.
    """
    found: dict[int, np.ndarray] = {}

    def f1(step: int) -> float:
        if step not in found:
            found[step] = count(step / 10)
        return metrics.score_counts(found[step], "F1")

    way = max((-1, 1), key=lambda way: f1(way) + f1(2 * way))
    step = best = 0
    while abs(step) < most and abs(step - best) < 2:
        step += way
        best = max(best, step, key=f1)
    inner = sorted((k for k in found if k - 1 in found and k + 1 in found), key=abs)
    best = max(inner, key=lambda k: f1(k - 1) + f1(k) + f1(k + 1))
    best = best if better(found[0], found[best]) else 0
    return best / 10, f1(best)


def train(
    model: TaggerModel,
    learner: Learner,
    settings: Settings,
    sentences: int,
    tokens: int,
    *,
    score: HeldOut | None = None,
    report: Report[SparseRows] | None = None,
    callbacks: Iterable[PassCallback[SparseRows]] = (),
    figures: Callable[[Any], dict[str, Any]],
) -> TaggerModel:
    """Make passes with a learner; return the model with the best weights, or the last ones without a score.

    report, callbacks: as `passes` takes them. figures: a function of the learner that returns more figures
    for the report of the model.
    """

    def measured() -> tuple[float, SparseRows]:
        assert score is not None
        now = model.with_weights(learner)
        found = score(now), now.weights.on_disk()
        del now
        release_memory()
        return found

    model.space.release()
    done = passes(
        learner, epochs=settings["epochs"], patience=settings["patience"],
        score=None if score is None else measured, report=report, callbacks=callbacks,
    )  # fmt: skip
    trained = model.with_rows(model.rows_of(learner) if done.weights is None else done.weights.in_memory())
    dual = learner.dual_
    trained.report = {
        "sentences": sentences, "tokens": tokens, "features": len(model.space),
        "epochs": learner.epochs_done, "dev_scores": done.scores, "dual": dual if dual == dual else None,
        "support_patterns": learner.n_support_patterns_, **figures(learner),
        **({"dev_score": score.name} if score is not None and done.scores else {}),
    }  # fmt: skip
    return trained


def encoded(
    gold: GoldLabels, model: TaggerModel, names: Labels | None = None, classes: Sequence[str] = ()
) -> tuple[SequenceLabels, LabelSpace]:
    """Gold labels as numbers, and the label space of the model with new labels at its end.

    names: the numbers of the model's labels, which get the new ones. classes: labels to add, whether they
    occur or not.
    """
    names = Labels(list(model.labels.labels)) if names is None else names
    if classes:
        names.encode([inner_labels(list(classes), model.labels.outer, model.labels.inner)], grow=True)
    labels = gold.encode(names, model.labels.outer, model.labels.inner)
    if not len(labels.codes):
        raise ValueError("the data set is empty; pass at least one token")
    if (labels.codes == -1).all():
        raise ValueError("no token has a gold label; label at least one token")
    return labels, model.labels.with_labels(names.names)


def begin(
    model: TaggerModel,
    dataset: Dataset,
    settings: Settings,
    weight: SampleWeight = None,
    *,
    phrases: bool = False,
) -> Optimizer:
    """A new optimizer with its data.

    phrases: count the phrases predicted before learning, even if the model has no scheme.
    """
    optimizer = new_optimizer(model, settings)
    if phrases:
        problem_of(optimizer).count = partial(_phrases, list(model.labels.labels))
    warn_of_memory(optimizer, model, dataset)
    return optimizer.begin(*dataset, weight)


def problem_of(optimizer: Optimizer) -> SequenceProblem:
    """The problem of the optimizer of a tagger."""
    assert isinstance(optimizer.problem, SequenceProblem)
    return optimizer.problem


def warn_of_memory(optimizer: Optimizer, model: TaggerModel, dataset: Dataset) -> bool:
    """Refuse or warn of a training that needs much memory; True if it warned."""
    several = isinstance(optimizer, Perceptron | RandomField)  # copies of all weights: last, sums and means
    copies = 3 if several else 0
    shards = optimizer.shards if isinstance(optimizer, ParallelLaRank) else 1
    return check_memory(problem_of(optimizer), len(model.space), dataset.X, copies, shards)


def figures_of(optimizer: Optimizer, fingerprint: int) -> dict[str, Any]:
    """More figures of a training in memory, for the report of the model."""
    return {"data": fingerprint, "curve": _thin_curve(optimizer.curve_)}


def with_shards(settings: Settings, n_sentences: int) -> dict[str, Any]:
    """The settings with a number of shards for this many sentences."""
    from structsvm.optimizers.parallel import n_shards

    parallel = settings["algorithm"] == "larank"
    return {
        **settings,
        "shards": n_shards(settings["shards"], settings["jobs"], n_sentences) if parallel else None,
    }


def problem_with_loss(model: TaggerModel, settings: Settings) -> SequenceProblem:
    """The problem of a model, with the weights of labels; refuse what cannot be trained."""
    space = model.labels
    if (n_labels := len(space.labels)) > MOST_LABELS:
        raise DataError(
            f"{n_labels:,} labels, but a model can have at most {MOST_LABELS:,}; check the label column"
        )
    if space.share and (settings["label_weight"] or space.inference == "exact" or space.constrained):
        raise ValueError("share needs greedy inference, without label_weight and constrained")
    weight = dict(settings["label_weight"] or {})
    return model.problem(loss_matrix(space, weight, space.outer, space.inner))


def new_optimizer(model: TaggerModel, settings: Settings) -> Optimizer:
    """The optimizer that the settings ask for, with nothing learned."""
    problem, algorithm = problem_with_loss(model, settings), settings["algorithm"]
    if model.labels.outer != "none":
        problem.count = partial(_phrases, list(model.labels.labels))
    if algorithm == "perceptron":
        return Perceptron(problem, random_state=settings["random_state"])
    shards = settings["shards"] or 1  # `with_shards` has chosen a number, except for partial_fit
    if algorithm == "larank" and shards > 1:
        return ParallelLaRank(problem, shards=shards, jobs=settings["jobs"], **larank_options(settings))
    if algorithm == "larank":
        return LaRank(problem, **larank_options(settings))
    kinds: dict[str, Callable[..., Optimizer]]
    kinds = {"pa": PassiveAggressive, "svmstruct": SVMStruct, "crf": RandomField}
    return kinds[algorithm](problem, C=settings["C"], random_state=settings["random_state"])


def larank_options(settings: Settings) -> dict[str, Any]:
    """The options of LaRank, which learns from memory, disk and cluster."""
    return {
        "C": settings["C"], "n_reprocess": settings["reprocess"], "random_state": settings["random_state"],
    }  # fmt: skip


def _phrases(
    labels: list[str], gold: np.ndarray, found: np.ndarray, sentence_ptr: np.ndarray
) -> tuple[int, int, int]:
    counts = count_phrases(gold, found, labels, sentence_ptr)
    return counts.gold, counts.found, counts.correct


def _thin_curve(points: list[Point]) -> list[tuple[float, float | None, int]]:
    """(passes, dual, support patterns) for the model file: no times, so that a seed gives the same bytes."""
    whole = max((point.seen for point in points), default=1)
    return [
        (round(point.epoch + point.seen / whole, 4), point.dual if point.dual == point.dual else None,
         point.n_support_patterns)
        for point in points
    ]  # fmt: skip
