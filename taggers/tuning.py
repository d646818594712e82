"""Choose the options of a tagger for a data set.

The candidates come from `Option.search` in the table of options; options that you set do not change.

With held-out data, the defaults are trained on all the training data, then the rival settings of `train`, and
then the defaults with one other value after the other. A change stays if its score on the held-out data is
better by more than two standard errors, and the next ones are added to it.

Without held-out data, the search is successive halving: the first round tries many combinations at little
cost. The best third enters the next round, at three times the cost. What increases from round to round
depends on the data:

many sentences: a third of the training sentences of one fold, all of them, then more folds;
few sentences: more random orders, each scored by its predictions before learning (see `TrainingPoint`).
"""

from __future__ import annotations

import itertools
import math
import random
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from structsvm.optimizers import Optimizer
from structsvm.options import Option
from structsvm.problems.sequence import SequenceLabels
from structsvm.training import Pass
from structsvm.validation import MOST, check_count, check_positive
from taggers import metrics
from taggers.conlleval import Counts
from taggers.features.documents import document_starts
from taggers.features.extract import cut, has_ready_features
from taggers.formats._columns import Columns
from taggers.labels.label_encoding import GoldLabels, detect_scheme
from taggers.labels.schemes import OUTSIDE
from taggers.model import TaggerModel
from taggers.options import RIVALS, checked_settings, needs_greedy
from taggers.sources.base import Source
from taggers.sources.memory import MemorySource, as_sentences, input_width, n_sentences
from taggers.tagger import SequenceTagger
from taggers.trainer import Counter, Dataset, HeldOut, begin, cautious_bias, choose_C, encoded, with_shards
from taggers.uncertainty import better

ROUNDS = 3
KEPT = 3  # one of this many candidates enters the next round
FEW = 500  # with fewer sentences, compare predictions before learning
FOLDS = KEPT ** (ROUNDS - 1)
PASSES = 4  # the passes of a trial; the best number of passes is kept
TRIALS = 27  # candidates of the first round, if the time allows
FACTORS = (0.25, 0.5, 2, 4)  # of the default of C, for random fields and ready features
MOST_TRIALS = 10_000
ERRORS = 2.0  # of about ten changes that help nothing, one or two look better by one standard error
SEARCHED = ("C", "epochs", "template", "cutoff", "inference", "labels")  # in this order with held-out data
TUNING = 0.6  # the share of the time for the rounds; the rest is for training the best

# A tagger finds some phrases in its training data that are not gold. If the labels are right, it misses about
# as many gold phrases, or finds less than 1% wrong ones (six corpora). If 10% of the phrases are dropped or
# get another type, it finds 0.9% to 9% wrong ones, at least 3.5 times as many as it misses. With more than a
# quarter, the features do not suffice.
NOISY, MORE, LEAST, TOO_MANY = 0.01, 3.0, 30, 0.25
DOCUMENT = "doc_form[-1..1], doc_label[0]"  # the attributes of a rival, if files mark documents
MILDER = 0.4  # times the default of C

Values = dict[str, Any]


class OutOfTime(Exception):
    """The time of the search is up."""


@dataclass(frozen=True)
class Trial:
    """A candidate in a round: its options, its score (accuracy or F1) and its best number of passes."""

    round: int
    options: Values
    score: float
    epochs: int
    seconds: float


@dataclass(frozen=True)
class Tuning:
    """The tagger with the options chosen for it (`tune` has trained it), these options, and all trials.

    score: the score of the best trial, of the last complete round. score_name: accuracy or F1. rounds: the
    number of complete rounds; if there are fewer than `ROUNDS`, only a part of the data chose the options.
    untried: with held-out data, the number of changes for which there was no time.
    """

    tagger: SequenceTagger
    options: Values
    trials: list[Trial]
    score: float
    score_name: str
    rounds: int = ROUNDS
    untried: int = 0


def tune(tagger: SequenceTagger, X: Any, y: Any, **search: Any) -> Tuning:
    """Find options for a data set, and train a tagger with them; see `find_options` for the arguments."""
    tuning = find_options(tagger, X, y, **search)
    held_out = [search[name] for name in ("X_dev", "y_dev") if search.get(name) is not None]
    if not held_out:
        return replace(tuning, tagger=tuning.tagger.fit(X, y))
    return replace(tuning, tagger=fit_rivals(tuning.tagger, MemorySource(X, y), *held_out))


def document_rival(tagger: SequenceTagger, source: Source[Any, Any], X_dev: Any) -> Values:
    """A template with attributes of the document, for names in files that mark their documents; or none."""
    if tagger.TASK != "ner" or tagger.template is not None or source.kind != "memory":
        return {}
    for X in (source.X, X_dev):
        if not isinstance(X, Columns) or X.format.ready or document_starts(X) is None:
            return {}
    return {"template": f"{tagger.TASK} + {DOCUMENT}"}


def rival_settings(tagger: SequenceTagger) -> Values:
    """The rival settings of a task; none if you set one of these options, the order or the algorithm."""
    rival = RIVALS.get(tagger.TASK, {})
    given = any(getattr(tagger, name) is not None for name in (*rival, "order", "algorithm"))
    return {} if given else rival


def fit_rivals(
    tagger: SequenceTagger,
    source: Source[Any, Any],
    X_dev: Any = None,
    y_dev: Any = None,
    *,
    keep_state: bool = False,
    bias: bool = True,
) -> SequenceTagger:
    """Train a tagger and, if there are rivals, others with their settings; return the best one.

    With held-out data, `rival_settings` are a rival. If the labels look wrong (see `NOISY`), a smaller C is a
    rival, unless C was set. Without held-out data, it replaces the tagger. The last rival is the best one of
    these with the attributes of `document_rival`, unless its training state is to be kept, as such a model
    cannot be trained further.

    A rival must be better by more than one standard error; its training stops after a pass that is not.
    All have the same features; the last one has more. With `bias`, the result gets the bias of O of
    `cautious_bias`.

    A callback with a method `compared` receives the settings and the score of each tagger; `saved` receives
    the score with the bias. keep_state: keep the training state and the curve of the best one while another
    one is trained, which needs more memory; otherwise only its model is kept.
    """
    held_out = None if X_dev is None else tagger.held_out(X_dev, y_dev)
    rival = {} if held_out is None else rival_settings(tagger)
    watched = source if isinstance(source, MemorySource) and milder_C(tagger) else None
    marked = {} if held_out is None or keep_state else document_rival(tagger, source, held_out.X)
    source.reuse = bool(rival or marked) or watched is not None
    if held_out is None:
        tagger.fit_source(source)
    else:
        tagger.fit_scored(source, held_out)
    rivals = [rival] * bool(rival)
    wrong, lost, n_gold = (0, 0, 0) if watched is None else watched.contradicted(tagger.model_)
    if max(LEAST, NOISY * n_gold, MORE * lost) < wrong < TOO_MANY * n_gold:
        rivals.append({"C": milder_C(tagger)})
        told = (
            f"at least {wrong / n_gold:.1%} of the phrases look mislabelled, so C is {milder_C(tagger)}; "
            "structsvm doubts lists them, and -C sets another C"
        )
    if held_out is None:
        source.reuse = False
        if rivals:
            tagger.release(compact=True)  # before the other one needs memory
            tagger = _changed(tagger, rivals[0]).fit_source(source)
            warnings.warn(told, stacklevel=2)
        return tagger
    rivals += [marked] * bool(marked and source.space)
    names = dict.fromkeys(name for one in rivals for name in one)
    best: tuple[SequenceTagger, Counter, np.ndarray] | None = None
    for number, values in enumerate([{}, *rivals]):
        one = tagger
        if best is not None:
            source.reuse = number < len(rivals)
            one = _changed(best[0] if values is marked else tagger, values)
            if values is marked and source.space is not None:
                source.space = source.space.with_patterns(DOCUMENT)
            one.fit_scored(source, held_out, partial(_is_behind, held_out, best[2]))
        settings = one.settings()
        shown = ", ".join(f"C={settings[name]:g}" if name == "C" else settings[name] for name in names)
        getattr(tagger.callback, "compared", lambda *_: None)(shown, max(one.dev_scores_))
        count = held_out.counter(one.model_)
        counts = count(0.0)
        if best is None or better(best[2], counts):
            best = one, count, counts
        if rivals and not keep_state:
            one.release(compact=True)
    assert best is not None
    chosen, count, _ = best
    if chosen.C != tagger.C:
        warnings.warn(told, stacklevel=2)
    if bias and held_out.name == "F1" and chosen.model_.labels.can_be_biased:
        value, score = cautious_bias(count)
        if value:
            chosen.add_bias({OUTSIDE: value})
            getattr(tagger.callback, "saved", lambda _: None)(score)
    return chosen


def milder_C(tagger: SequenceTagger) -> float:
    """The C for noisy labels of phrases; 0.0 if C was set, or if another C would not help."""
    settings = tagger.settings()
    if tagger.C is not None or settings["algorithm"] != "larank" or tagger.TASK in ("pos", "morph"):
        return 0.0
    return float(f"{MILDER * settings['C']:.2g}")


def _is_behind(held_out: HeldOut, counts: np.ndarray, done: Pass[Any]) -> bool:
    """Whether the last pass is not better than these counts by more than one standard error."""
    return not better(counts, held_out.counts)


def find_options(
    tagger: SequenceTagger,
    X: Any,
    y: Any,
    *,
    budget: float | None = None,
    trials: int | None = None,
    X_dev: Any = None,
    y_dev: Any = None,
    callback: Callable[[Trial], Any] | None = None,
) -> Tuning:
    """Find options for a data set; options that are set in the tagger do not change.

    budget: seconds. The search ends after 60% of them, but not before the defaults have made one pass; the
    rest is for training, which is not cut short. trials: the number of candidates, in the first round if
    there are no held-out data; the result then depends only on the seed, whereas with seconds it also depends
    on the machine. callback: called with each `Trial`.
    """
    if (budget is None) == (trials is None):
        raise ValueError("set either budget, in seconds, or trials")
    if budget is not None:
        check_positive(budget=budget, high=MOST)
    if trials is not None:
        check_count(trials=trials, low=1, high=MOST_TRIALS)
    checked_settings(tagger)
    deadline = math.inf if budget is None else time.perf_counter() + TUNING * budget
    data = Data(tagger, X, y)
    if X_dev is not None:
        held_out = _changed(tagger, {}, callback=None).held_out(X_dev, y_dev)
        return _improved(tagger, data, held_out, deadline, trials or MOST_TRIALS, callback)
    left = list(itertools.islice(_candidates(tagger, data), trials or TRIALS))
    done: list[Trial] = []
    best: list[Trial] = []
    rounds = 0
    for number in range(ROUNDS):
        ranked: list[Trial] = []
        for options in left:
            try:
                ranked.append(data.trial(options, number, deadline, first=not done and not ranked))
            except OutOfTime:
                break
            if callback is not None:
                callback(ranked[-1])
        done += ranked
        if len(ranked) == len(left) or not best:  # otherwise the time ran out in this round
            best = sorted(ranked, key=lambda trial: -trial.score)  # stable: earlier candidates win ties
        rounds += len(ranked) == len(left)
        kept = [trial.options for trial in best[: math.ceil(len(left) / KEPT)]]
        left = kept if {} in kept else [{}, *kept]  # the defaults stay, for comparison
    chosen = dict(best[0].options)
    if not data.progressive and tagger.epochs is None:
        chosen["epochs"] = best[0].epochs
    return Tuning(_changed(tagger, chosen), chosen, done, best[0].score, data.score_name, rounds)


def _improved(
    tagger: SequenceTagger,
    data: Data,
    held_out: HeldOut,
    deadline: float,
    trials: int,
    callback: Callable[[Trial], Any] | None,
) -> Tuning:
    """Change one option after the other, on all the training data; keep what is better on held-out data.

    Scores include the bias of O of `cautious_bias`, as those of `train` do. At least the defaults are tried.
    """
    changes = list(itertools.islice(_changes(tagger, data), trials))
    source = MemorySource(data.X, data.gold)
    chosen: Values = {}
    best: tuple[np.ndarray, Trial] | None = None
    done: list[Trial] = []
    for values in changes:
        begun = time.perf_counter()
        if best is not None and begun > deadline:
            break
        same = values.keys().isdisjoint(("template", "cutoff"))
        own = source if same else MemorySource(data.X, data.gold)
        own.reuse = True
        late = None if best is None else lambda point: time.perf_counter() > deadline
        candidate = _changed(tagger, {**chosen, **values}, callback=late)
        candidate.fit_scored(own, held_out, lambda done: time.perf_counter() > deadline)
        if best is not None and time.perf_counter() > deadline:
            break  # its training was cut short
        model, count = candidate.model_, held_out.counter(candidate.model_)
        biased = held_out.name == "F1" and model.labels.can_be_biased
        counts = count(cautious_bias(count)[0] if biased else 0.0)
        score, epochs = metrics.score_counts(counts, held_out.name), int(np.argmax(candidate.dev_scores_)) + 1
        done.append(Trial(0, {**chosen, **values}, score, epochs, time.perf_counter() - begun))
        if callback is not None:
            callback(done[-1])
        if best is None or better(best[0], counts, errors=ERRORS):
            best, chosen, source = (counts, done[-1]), done[-1].options, own
        del candidate, model, count
    assert best is not None
    return Tuning(
        _changed(tagger, chosen), chosen, done, best[1].score, held_out.name, untried=len(changes) - len(done)
    )


def _changes(tagger: SequenceTagger, data: Data) -> Iterator[Values]:
    """The defaults, the rival settings, and each other value of an option by itself."""
    yield {}
    if rival := rival_settings(tagger):
        yield rival
    for name in SEARCHED:
        if name == "epochs" and tagger.epochs is None:
            yield {name: 2 * tagger.settings()[name]}
        yield from ({name: value} for value in data.choices(tagger.OPTIONS[name]) if value is not None)


def _candidates(tagger: SequenceTagger, data: Data) -> Iterator[Values]:
    """The defaults, then random combinations of the values to try, each once; None is the default."""
    space = {name: data.choices(option) for name, option in tagger.OPTIONS.items()}
    space = {name: values for name, values in space.items() if len(values) > 1}
    grid = list(itertools.product(*space.values()))
    seed = tagger.random_state if isinstance(tagger.random_state, int) else 0
    others = random.Random(seed).sample(grid[1:], len(grid) - 1)
    for values in (grid[0], *others):
        yield {name: value for name, value in zip(space, values, strict=True) if value is not None}


class Data:
    """The data of a tuning, encoded once for each template and scheme of labels."""

    def __init__(self, tagger: SequenceTagger, X: Any, y: Any) -> None:
        self.tagger = tagger
        self.X = as_sentences(X)
        self.gold = GoldLabels.to_learn(self.X, y)
        self.n = n_sentences(self.X)
        self.width, self.triples = input_width(self.X, self.gold), self.gold.triples()
        self.phrases = detect_scheme(self.triples) != "none" and tagger.TASK not in ("pos", "morph")
        self.score_name = metrics.score_name(self.gold, phrases=self.phrases)
        # predictions before learning have no F1 where labels are missing
        few = FEW if self.gold.complete or self.score_name != "F1" else FOLDS
        self.progressive = self.n < few
        if self.progressive and not self.gold.complete:
            self.score_name = "accuracy"
        self.extracted: dict[tuple[str, ...], tuple[TaggerModel, Any]] = {}
        self.C: float | None = None  # the default for ready features
        if has_ready_features(self.X):
            settings = tagger.settings()
            model, data = self._encoded(tagger, settings)
            choose_C(settings, model, None, data.X)
            self.C = settings["C"]

    def choices(self, option: Option) -> list[Any]:
        """The values to try for an option: None for the default, then those of the table that differ."""
        if getattr(self.tagger, option.name) is not option.initial:
            return [None]
        settings = self.tagger.settings()
        if not option.works(settings, ()) or (option.name == "labels" and not self.phrases):
            return [None]
        if option.name == "template" and has_ready_features(self.X):
            return [None]
        default = settings[option.name]
        values = [f"{default} {v}" if str(v).startswith("+") else v for v in option.search]
        field = settings["algorithm"] == "crf"
        if option.name == "C" and (field or self.C is not None):
            default = default if self.C is None else self.C
            values = [float(f"{factor * default:.2g}") for factor in FACTORS]
        if option.name == "inference" and (field or settings["share"] or needs_greedy(vars(self.tagger))):
            values.remove("greedy" if field else "exact")
        return [None, *(value for value in values if value != default)]

    def trial(self, options: Values, number: int, deadline: float, *, first: bool) -> Trial:
        """Train and score a candidate in a round; the first one gets a score even when the time is up."""
        begin = time.perf_counter()
        if begin > deadline and not first:
            raise OutOfTime
        parts = [self._scores(options, *part, deadline, first) for part in self._parts(number)]
        scores = np.mean(parts, axis=0)
        best = int(np.argmax(scores))
        return Trial(number, options, float(scores[best]), best + 1, time.perf_counter() - begin)

    def _parts(self, number: int) -> Iterator[tuple[np.ndarray, np.ndarray | None, int]]:
        """For each training run of a round: its sentences, the sentences to score it on, and the seed."""
        order = np.random.default_rng(0).permutation(self.n)
        if self.progressive:
            for seed in range(KEPT**number):
                yield np.arange(self.n), None, seed
        else:
            for fold in range(KEPT ** max(number - 1, 0)):
                held_out = order % FOLDS == fold
                chosen = np.flatnonzero(~held_out)
                yield chosen if number else chosen[::KEPT], np.flatnonzero(held_out), 0

    def _scores(
        self, options: Values, chosen: np.ndarray, held_out: Any, seed: int, deadline: float, first: bool
    ) -> list[float]:
        """The score after each pass; there is one score of the predictions before learning."""
        candidate = _changed(self.tagger, options, callback=None)
        settings = with_shards(candidate.settings(), len(chosen)) | {"random_state": seed}
        model, data = self._encoded(candidate, settings)
        choose_C(settings, model, candidate.C, data.X)
        part = Dataset(data.X[chosen], data.y[chosen])
        optimizer = begin(model, part, settings, phrases=self.phrases)
        _make_pass(optimizer, math.inf if first else deadline)
        if self.progressive:
            n, wrong, *phrases = optimizer.curve_[-1].looks
            f1 = phrases and self.score_name == "F1"
            return [Counts(*map(int, phrases)).f1 if f1 else 1 - wrong / max(n, 1)]
        features, gold = data.X[held_out], _some(self.gold, held_out)
        scores: list[float] = []
        while True:
            now = model.with_weights(optimizer)
            ids, by_phrase = now.tag(features), self.score_name == "F1"
            scores.append(metrics.score_ids(gold, ids, now.names, phrases=by_phrase))
            if len(scores) == (PASSES if self.tagger.epochs is None else self.tagger.epochs):
                return scores
            try:
                _make_pass(optimizer, deadline)
            except OutOfTime:
                if first:
                    return scores
                raise

    def _encoded(self, candidate: SequenceTagger, settings: Values) -> tuple[TaggerModel, Dataset]:
        """An empty model for a candidate, and the data encoded for it."""
        template = str(settings["template"])
        joined = "y[-" in template  # such features depend on the training labels
        key = (template, settings["labels"], settings["cutoff"]) if joined else (template,)
        if key not in self.extracted:
            base = candidate._new_model(self.X, self.width, self.triples, settings)
            if base.space.needs_first_round:
                raise ValueError("tune cannot use doc_label; tune without it, and add it afterwards")
            labels = self._labels(base)
            cutoff = settings["cutoff"] if joined else None
            self.extracted[key] = base, base.space.learn(self.X, labels, base.labels, cutoff=cutoff)
        base, features = self.extracted[key]
        table = base.space.table
        if not joined:
            (features,), table = cut([features], table, settings["cutoff"])
        known = dict.fromkeys(("classes", "gazetteers", "knowledge", "text", "vectors")) | {
            "template": base.space.template
        }
        ready = self.X if base.space.template is None else None
        empty = candidate._new_model(ready, self.width, self.triples, settings | known)
        model = replace(empty, space=replace(base.space, table=table))
        return model, Dataset(features, self._labels(model))

    def _labels(self, model: TaggerModel) -> SequenceLabels:
        """The gold labels in the scheme of a model, which learns their names."""
        labels, model.labels = encoded(self.gold, model)
        return labels


def _make_pass(optimizer: Optimizer, deadline: float) -> None:
    """Make one pass over the data; raise OutOfTime at the deadline."""
    if deadline < math.inf:
        optimizer.callback = lambda point: time.perf_counter() > deadline
    optimizer.epoch()
    if time.perf_counter() > deadline:
        raise OutOfTime


def _changed(tagger: SequenceTagger, options: Values, **more: Any) -> SequenceTagger:
    return type(tagger)(**{**tagger.get_params(), **options, **more})


def _some(gold: GoldLabels, chosen: np.ndarray) -> GoldLabels:
    """The gold labels of some sentences."""
    if gold.partial is not None:
        return GoldLabels.from_lists([gold.partial[k] for k in chosen])
    part = SequenceLabels(gold.ids, gold.sentence_ptr)[chosen]
    return GoldLabels(part.codes, gold.names, part.sentence_ptr)
