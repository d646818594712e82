"""`ScoredClassifier`: probabilities and queries of classifiers that give each class a score.

The probability of a class is proportional to exp(score / temperature + offset). The temperature and the
offset of each class are those that give the true classes of held-out rows the highest probability. Class
weights shift the scores; the offsets undo this.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, Self

import numpy as np

from structsvm import active
from structsvm.guard import reading, reads, training
from structsvm.options import option
from structsvm.validation import check_matrix, check_sample_weight, check_targets, class_factors

PROBABILITY = option(
    default=False,
    help="Whether `fit` also calibrates `predict_proba`, with models that are trained on three quarters of "
    "the rows and predict the others (four models, or one for 4,000 rows and more).",
)
FOLDS = 4  # of the rows; each is held out from a model that is trained on the others
ENOUGH = 1000  # rows in a fold, so that one fold is enough
FEWEST = 8  # rows that probability=True needs
SMALLEST_FACTOR = 1e-3  # of scores with a standard deviation of 1


class ScoredClassifier:
    """The base of classifiers with `_columns(X)`: a score for each row of X and each class."""

    classes_: np.ndarray
    n_features_in_: int
    random_state: Any
    probability: bool
    temperature_: float
    offsets_: np.ndarray
    decision_function: Callable[..., np.ndarray]
    __sklearn_is_fitted__: Callable[[], bool]

    def _columns(self, X: Any) -> np.ndarray:
        scores = self.decision_function(X)
        return np.stack([-scores / 2, scores / 2], axis=1) if scores.ndim == 1 else scores

    @property
    def predict_proba(self) -> Callable[[Any], np.ndarray]:
        """The probability of each class for each row, in the order of classes_.

        It exists after `fit` with probability=True, and after `calibrate`. The most probable class can differ
        from `predict`, above all with class weights.
        """
        if not self.probability and not hasattr(self, "temperature_"):
            raise AttributeError("predict_proba needs probability=True before fit; or call calibrate")
        return self._probabilities

    @reads
    def _probabilities(self, X: Any) -> np.ndarray:
        scores = self._columns(X)
        if not hasattr(self, "temperature_"):
            raise ValueError("partial_fit does not calibrate probabilities; call calibrate first")
        probable: np.ndarray = np.exp(log_softmax(scores / self.temperature_ + self.offsets_))
        return probable

    def calibrate(self, X: Any, y: Any) -> Self:
        """Choose the temperature and offsets on labelled rows that were not used in training.

        Call it again after `partial_fit`.
        """
        scores = self._columns(X)
        places = _places(check_targets(y, len(scores)), self.classes_)
        with training(self):
            self.temperature_, self.offsets_ = best_scaling(scores, places, np.ones(len(places)))
        return self

    def query(
        self, pool: Any, n: int = 1, *, strategy: str = "margin", sample: int | None = None
    ) -> np.ndarray:
        """The positions of at most n unlabelled rows that should be labelled next, best first.

        These are rows within the margin: the best class leads the second best by less than 1. If there are
        none, you can stop labelling. An untrained classifier returns random rows.

        Parameters
        ----------
        strategy
            "margin" or "random"; with one decision per row, the other strategies of `structsvm.active` equal
            "margin".
        sample
            Consider only this many random rows.
        """
        fitted = self.__sklearn_is_fitted__()
        pool = check_matrix(
            pool, n_features=self.n_features_in_ if fitted else None, owner=type(self).__name__, empty=True
        )

        def margins_of(places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            ptr = np.arange(len(places) + 1)
            if len(self.classes_) == 1:
                return np.full(len(places), np.inf), ptr
            best = np.sort(self._columns(pool[places]), axis=1)[:, -2:]
            return best[:, 1] - best[:, 0], ptr

        with reading(self):
            return active.query(
                pool.shape[0], n, margins_of if fitted else None, strategy=strategy, sample=sample,
                random_state=self.random_state,
            )  # fmt: skip


def with_calibration(fit: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator for `fit`: with probability=True, `fit` also calibrates the probabilities."""

    @wraps(fit)
    def calibrated(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
        for name in ("probability", "warm_start"):
            if name in self.OPTIONS:
                self.OPTIONS[name].check(getattr(self, name))
        probability = getattr(self, "probability", False)
        scaling = held_out_scaling(self, X, y, sample_weight) if probability else None
        fit(self, X, y, sample_weight)
        forget_calibration(self)
        if scaling is not None:
            self.temperature_, self.offsets_ = scaling
        return self

    return calibrated


def forget_calibration(model: Any) -> None:
    """Remove the calibration of scores that have changed."""
    for name in ("temperature_", "offsets_"):
        vars(model).pop(name, None)


def held_out_scaling(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[float, np.ndarray]:
    """Train a copy of the model on some of the rows, and calibrate its predictions of the others."""
    parameters = model.get_params()
    if isinstance(parameters.get("kernel"), str) and parameters["kernel"] == "precomputed":
        raise ValueError("probability=True cannot use a precomputed kernel; call calibrate after fit")
    X = check_matrix(X, owner=type(model).__name__)
    y, weight = check_targets(y, X.shape[0]), check_sample_weight(sample_weight, X.shape[0])
    if len(y) < FEWEST:
        raise ValueError(f"probability=True needs at least {FEWEST} rows, got {len(y)}")
    changed = {
        "probability": False, "class_weight": None, "random_state": 0, "callback": None, "warm_start": False,
    }  # fmt: skip
    learner = type(model)(**parameters | {k: v for k, v in changed.items() if k in parameters})
    factors = weight * class_factors(y, parameters["class_weight"], np.unique(y))

    def predicted(rest: np.ndarray) -> np.ndarray:
        first = np.setdiff1d(np.arange(len(y)), rest)
        learner.fit(X[first], y[first], sample_weight=factors[first])
        scores: np.ndarray = learner._columns(X[rest])
        return scores

    parts = folds(y, weight)
    rest, scores = np.concatenate(parts), np.concatenate([predicted(part) for part in parts])
    return best_scaling(scores, _places(y[rest], learner.classes_), weight[rest])


def folds(y: np.ndarray, weight: np.ndarray) -> list[np.ndarray]:
    """Quarters of the rows that have a weight: all four, or the first if it has enough rows.

    They divide each class alike, and no fold has all rows of a class.
    """
    rows = np.random.default_rng(0).permutation(np.flatnonzero(weight))
    rows = rows[np.argsort(y[rows], kind="stable")]
    _, inverse, counts = np.unique(y[rows], return_inverse=True, return_counts=True)
    rows = rows[counts[inverse] > 1]
    if not len(rows):
        raise ValueError(
            "probability=True needs a class with two rows whose sample weight is above 0, one to train and "
            "one to calibrate; call calibrate after fit with other rows"
        )
    needed = 1 if len(rows) >= FOLDS * ENOUGH else min(FOLDS, len(rows))
    return [rows[k::FOLDS] for k in range(needed)]


def best_scaling(scores: np.ndarray, places: np.ndarray, weight: np.ndarray) -> tuple[float, np.ndarray]:
    """The temperature and the offset of each class with the smallest log loss, which is convex.

    As in Platt's method, the targets are not quite 0 and 1, so that rows without errors give a finite result.
    """
    from scipy.optimize import minimize  # here because it takes long to import

    if not np.all(np.isfinite(scores)):
        raise ValueError("scores that are not finite cannot be calibrated; scale the inputs and train again")
    n, n_classes = scores.shape
    scores = scores - scores.mean(axis=1, keepdims=True, dtype=np.float64)
    spread = float(scores.std()) or 1.0
    scores, weight = scores / spread, weight / weight.sum()
    doubt = 1 / (n + 2)
    targets = np.full(scores.shape, doubt / n_classes)
    targets[np.arange(n), places] += 1 - doubt

    def cost(at: np.ndarray) -> tuple[float, np.ndarray]:
        logs = log_softmax(at[0] * scores + at[1:])
        excess = weight[:, None] * (np.exp(logs) - targets)
        gradient = np.concatenate([[(excess * scores).sum()], excess.sum(axis=0)])
        return -float(weight @ (targets * logs).sum(axis=1)), gradient

    limits = [(SMALLEST_FACTOR, None)] + n_classes * [(None, None)]
    factor, *offsets = minimize(cost, [1.0] + n_classes * [0.0], jac=True, bounds=limits).x
    if factor <= SMALLEST_FACTOR and n_classes > 1:
        warnings.warn(
            "probabilities hardly depend on the rows, because the scores do not separate the classes of the "
            "rows for calibration; calibrate with more rows",
            UserWarning,
            stacklevel=4,
        )
    return spread / float(factor), np.array(offsets) - np.mean(offsets)


def log_softmax(scores: np.ndarray) -> np.ndarray:
    """The logarithms of probabilities proportional to exp(score)."""
    scores = scores - scores.max(axis=1, keepdims=True)
    logs: np.ndarray = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return logs


def _places(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    if not np.all(np.isin(y, classes)):
        raise ValueError(f"y has classes other than {classes!r}")
    return np.searchsorted(classes, y)
