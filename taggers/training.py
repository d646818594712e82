"""Training of taggers: optimizers by name, passes with early stopping, and what a state belongs to."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from structsvm.files.persist import ModelFileError
from structsvm.optimizers.base import Optimizer
from structsvm.optimizers.curve import Point
from structsvm.optimizers.larank import LaRank, PassiveAggressive
from structsvm.optimizers.perceptron import Perceptron
from structsvm.optimizers.svmstruct import SVMStruct
from structsvm.problems.sequence.problem import SequenceLabels, SequenceProblem, Sequences
from structsvm.problems.sequence.widen import wider_state
from structsvm.validation import check_choice

NO_STATE = (
    "this model was saved without its training state: it goes on from its weights alone, and old examples "
    "can no longer be worked on; save with {} to keep them"
)
ALGORITHMS = ("larank", "pa", "perceptron", "svmstruct")


def new_optimizer(
    algorithm: str, problem: SequenceProblem, *, C: float, reprocess: int, random_state: Any
) -> Any:
    """The optimizer of that name."""
    check_choice(algorithm=(algorithm, ALGORITHMS))
    common = {"random_state": random_state}
    if algorithm == "larank":
        return LaRank(problem, C=C, n_reprocess=reprocess, **common)
    if algorithm == "pa":
        return PassiveAggressive(problem, C=C, **common)
    if algorithm == "svmstruct":
        return SVMStruct(problem, C=C, **common)
    return Perceptron(problem, **common)


class TrainingPoint(NamedTuple):
    """A point of a tagger's training curve.

    seconds: of training so far. epoch: the pass, from 0. sentences: seen in it (in greedy training, whose
    patterns are tokens, their number divided by the mean length of a sentence). sentences_per_second: since
    the beginning. dual: its objective, nan for a perceptron.
    """

    seconds: float
    epoch: int
    sentences: int
    sentences_per_second: float
    dual: float
    n_support_patterns: int
    n_argmax: int


class Curve:
    """Makes points of a tagger's training from those of its optimizer, in their order.

    patterns: how many the optimizer has for each sentence, on average, by pass; later ones are as the last.
    """

    def __init__(self, patterns: list[float], callback: Any = None) -> None:
        self.patterns = patterns
        self.callback = callback
        self.epoch = 0
        self.seen = self.before = 0.0  # sentences

    def point(self, point: Point) -> TrainingPoint:
        """The point of the tagger."""
        if point.epoch != self.epoch:
            self.before += self.seen
        self.epoch = point.epoch
        self.seen = point.seen / self.patterns[min(point.epoch, len(self.patterns) - 1)]
        return TrainingPoint(
            point.seconds, point.epoch, round(self.seen),
            (self.before + self.seen) / max(point.seconds, 1e-9),
            point.dual, point.n_support_patterns, point.n_argmax,
        )  # fmt: skip

    def __call__(self, point: Point) -> Any:
        return self.callback(self.point(point))


def watch(optimizer: Any, examples: tuple[Sequences, SequenceLabels], callback: Any) -> None:
    """Have the callback see the training, and note how many patterns a sentence is, from this pass on."""
    if callback is not None and not callable(callback):
        raise ValueError(f"callback must be a function of one TrainingPoint, not {callback!r}")
    known = int((examples[1].codes != -1).sum())
    patterns = known / len(examples[0]) if optimizer.problem.inference == "greedy" else 1.0
    done = optimizer.epochs_done if optimizer.is_started else 0
    past = vars(optimizer).setdefault("patterns", [])
    past[done:] = []  # of a pass that was broken off
    past += [*past[-1:] * (done - len(past)), patterns]
    if callback is None:
        optimizer.callback = None
    elif isinstance(optimizer.callback, Curve):
        optimizer.callback.patterns, optimizer.callback.callback = optimizer.patterns, callback
    else:
        optimizer.callback = Curve(optimizer.patterns, callback)


def run_epochs(
    optimizer: Optimizer, epochs: int, score: Callable[[np.ndarray], float] | None, patience: int
) -> tuple[np.ndarray, list[float]]:
    """Train for so many passes and return the weights in float32, with a score the best ones, and the scores.

    It ends early after `patience` passes without a better score.
    """
    scores: list[float] = []
    best = None
    for _ in range(epochs):
        ended = optimizer.epoch()
        if score is not None:
            weights = optimizer.single_weights()
            scores.append(score(weights))
            if best is None or scores[-1] > max(scores[:-1], default=-np.inf):
                best = weights
            ended |= len(scores) - 1 - int(np.argmax(scores)) >= patience
        if ended:
            break
    return (optimizer.single_weights() if best is None else best), scores


def resumed(optimizer: Any, state: dict[str, np.ndarray], old: SequenceProblem, *examples: Any) -> Any:
    """The optimizer with a saved training state, which is that of `old`; a forged one is refused."""
    optimizer.validate()
    try:
        if old.n_labels != optimizer.problem.n_labels:
            state = wider_state(state, old, optimizer.problem)
        return optimizer.resume(state, *examples)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise ModelFileError(
            f"the model's training state does not fit together ({error}): train it anew"
        ) from error


def has_places(state: dict[str, np.ndarray]) -> bool:
    """Whether a training state still knows where in its data set its support patterns are."""
    place = state.get("place")  # a perceptron has none; `resumed` refuses forged ones
    return place is None or place.dtype.kind != "i" or bool(np.any(place >= 0))


def carry_over(optimizer: Any, fresh: Any) -> None:
    """Let a new optimizer go on with the curve of the one before, if there is one."""
    if optimizer is not None:
        fresh.continue_curve(optimizer)
        fresh.patterns = getattr(optimizer, "patterns", [])


def report(
    optimizer: Any, examples: tuple[Sequences, SequenceLabels], n_features: int, scores: list[float]
) -> dict[str, Any]:
    """The figures of a training, for the model file."""
    X, y = examples
    return {
        "sentences": len(X), "tokens": len(y.codes), "features": n_features,
        "epochs": optimizer.epochs_done, "dev_scores": scores,
        "dual": optimizer.dual_ if optimizer.dual_ == optimizer.dual_ else None,
        "support_patterns": optimizer.n_support_patterns_, "data": fingerprint(X, y),
        "curve": thin_curve(optimizer.curve_),
    }  # fmt: skip


def thin_curve(points: list[Point]) -> list[tuple[float, float | None, int]]:
    """(passes, dual, support patterns) for the model file: no times, so that a seed gives the same bytes."""
    whole = max((point.seen for point in points), default=1)
    return [
        (round(point.epoch + point.seen / whole, 4), point.dual if point.dual == point.dual else None,
         point.n_support_patterns)
        for point in points
    ]  # fmt: skip


def fingerprint(X: Sequences, y: SequenceLabels) -> int:
    """A checksum by which a training set is known again."""
    value = 0
    ids = None if X.bigrams is None else X.bigrams.ids
    for array in (X.rows, X.token_ptr, X.sentence_ptr, X.values, ids, y.codes, *y.sets):
        if array is not None:
            value = zlib.crc32(np.ascontiguousarray(array), value)  # type: ignore[arg-type]
    return value
