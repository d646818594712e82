"""`SGDQNClassifier`: linear SVMs by stochastic gradient descent with a diagonal estimate of the curvature."""

from __future__ import annotations

import os
import warnings
from typing import Any, Self

import numpy as np

from structsvm._scipy import sparse
from structsvm.binary._base import CLASS_WEIGHT, BinaryClassifier
from structsvm.binary._sgd import HINGE, SQUARED_HINGE, run
from structsvm.guard import reads
from structsvm.options import RANDOM_STATE, option, with_options
from structsvm.problems.multiclass import row_products
from structsvm.scored import PROBABILITY, ScoredClassifier
from structsvm.threads import in_slices
from structsvm.training import ConvergenceWarning
from structsvm.validation import check_seed
from structsvm.warm import CONTINUES

LOSSES = {"hinge": HINGE, "squared_hinge": SQUARED_HINGE}
ALGORITHMS = ("sgdqn", "svmsgd2", "rescaled")
SLICE = 2048  # rows between two checks for Ctrl-C
DENSITY = 16  # regularize once for so many times the work of a pattern
TRIED = (1e-2, 1e-1, 1.0, 1e1, 1e2)  # values of t0, in units of E[x' B x]
CAUTION = 0.1  # gains of 1 / t never make up for a B that is too small, and features work together
FEWEST = 1000  # rows of the subset on which they are tried, and of a stream whose lengths are watched
ENOUGH = 100  # rows of a first batch from which features and gains can be estimated


@with_options
class SGDQNClassifier(ScoredClassifier, BinaryClassifier):
    """Linear SVM by SVMSGD2, with a diagonal curvature, or by SGD-QN (Bordes, Bottou and Gallinari 2009).

        min lam ||w||^2 / 2 + mean_i loss(y_i <w, x_i>)

    The default algorithm differs from the published one, whose estimate of the curvature does not work as
    intended (see the authors' erratum, JMLR 11, 2010): the value of a feature cancels, so all features that
    are never zero get the same curvature. "rescaled" is what SGD-QN was meant to do: SVMSGD2 with a fixed
    B_ii = 1 / (lam + E[x_i^2] / 10), from the data of fit or of the first partial_fit. If these have fewer
    than 100 rows, B stays 1 / lam.

    More than two classes are trained one against the rest. A pass costs a small multiple of the non-zeros of
    X. Training stops after the given number of epochs; there is no other stopping rule.

    After fit: classes_, n_iter_ (passes over data), coef_, intercept_, t0_ and curvature_ (1 / B, between lam
    and 100 lam for "sgdqn"), a row for each machine.
    """

    _multiclass = True

    lam: float = option(
        default=1e-4, kw_only=False, above=0, fixed_on_resume=True, help="The weight of the regularization."
    )
    loss: str = option(
        default="squared_hinge", choices=tuple(LOSSES), fixed_on_resume=True,
        help="squared_hinge max(0, 1 - m)^2 / 2 or hinge max(0, 1 - m).",
    )  # fmt: skip
    algorithm: str = option(
        default="rescaled", choices=ALGORITHMS, fixed_on_resume=True,
        help="How to estimate the curvature: svmsgd2 (not at all), sgdqn (as published) or rescaled.",
    )  # fmt: skip
    epochs: int = option(default=5, low=1, help="The passes of `fit` over the data.")
    t0: float | None = option(
        default=None, above=0, fixed_on_resume=True,
        help="The gain of step t is 1 / (t + t0). By default `fit` tries five values on a tenth of the data, "
        "with one pass each, and chooses the best. With fewer than 100 rows, partial_fit tries none. It "
        "raises t0 when one of the first 1000 rows is longer than the earlier ones.",
    )  # fmt: skip
    skip: int | None = option(
        default=None, low=1, fixed_on_resume=True,
        help="The number of steps between two regularizations, which also re-estimate the curvature. The "
        "default, 16 / density of X, makes regularization no more expensive than the steps in between.",
    )  # fmt: skip
    fit_intercept: bool = option(
        default=True, fixed_on_resume=True, help="Add a constant feature, regularized like the others."
    )
    class_weight: Any = CLASS_WEIGHT
    random_state: Any = RANDOM_STATE
    probability: bool = PROBABILITY
    warm_start: bool = option(default=False, help=f"{CONTINUES} Use `partial_fit` to continue on other rows.")

    # -- training -------------------------------------------------------------------------------

    def _encoded(self, y: np.ndarray, classes: np.ndarray) -> np.ndarray:
        """Labels -1 and +1, a row for each machine."""
        rest = classes[1:] if len(classes) == 2 else classes
        return np.where(y == rest[:, None], 1.0, -1.0)

    def _fit(self, X: Any, labels: np.ndarray, weight: np.ndarray) -> None:
        rows = Rows(X, self.fit_intercept)
        rng = self._begin(rows, labels, weight)
        self._epochs(rows, labels, weight, rng)
        if self.warm_start:
            self._rng = rng

    def _fit_again(self, X: Any, labels: np.ndarray, weight: np.ndarray) -> None:
        self._epochs(Rows(X, self.fit_intercept), labels, weight, self._rng)

    def _epochs(self, rows: Rows, labels: np.ndarray, weight: np.ndarray, rng: np.random.Generator) -> None:
        orders = [rng.permutation(len(weight)) for _ in range(self.epochs)]
        for k, y in enumerate(labels):
            for order in orders:
                self._pass(k, rows, y, weight, order)
        self._check_weights()

    def _continue(self, X: Any, labels: np.ndarray, weight: np.ndarray, first: bool) -> None:
        rows = Rows(X, self.fit_intercept)
        if first:
            self._begin(rows, labels, weight, blind=len(weight) < ENOUGH)
        for k, y in enumerate(labels):
            if not first and self.t0 is None and self.steps_[k, 0] < FEWEST:
                self._watch(k, rows, weight)
            self._pass(k, rows, y, weight, np.arange(len(weight)))
        self._check_weights()

    def _watch(self, k: int, rows: Rows, weight: np.ndarray) -> None:
        """Lower the gains if later rows of a stream need longer steps than the first ones."""
        longest = float(np.max(weight * (rows.squares(np.arange(len(weight))) @ self.scale_[k])))
        if longest > self.longest_:
            self.t0_ *= longest / self.longest_
            self.longest_: float = longest

    def _check_weights(self) -> None:
        if not np.all(np.isfinite(self.weights_)):
            warnings.warn(
                f"{type(self).__name__} has diverged: its weights are not finite; scale the inputs, or "
                "increase t0 or lam",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _begin(
        self, rows: Rows, labels: np.ndarray, weight: np.ndarray, blind: bool = False
    ) -> np.random.Generator:
        """Estimate curvature and gains from the rows; blind: there are too few rows for that."""
        rng = np.random.default_rng(check_seed(self.random_state))
        self.skip_ = self.skip or max(1, round(DENSITY / rows.density))
        part = rng.permutation(len(weight))[: max(FEWEST, len(weight) // 10)]
        squares, share = rows.squares(part), weight[part] / max(weight[part].sum(), 1e-12)
        start = np.full(rows.width, float(self.lam))
        if self.algorithm == "rescaled" and not blind:
            mean = np.asarray(squares.T @ weight[part]) / len(part)
            typical = squares.sum() / max((squares != 0).sum(), 1)
            start += CAUTION * np.where(
                mean > 0, mean, typical / len(part)
            )  # not seen: rarer than one in all
        # Gains below 1 / E[x' B x] are stable; heavy examples make long steps.
        unit = max(float((share * weight[part]) @ (squares @ (1 / start))), 1e-12)
        self.longest_ = max(float(np.max(weight[part] * (squares @ (1 / start)))), 1e-12)
        gains = np.zeros(len(labels))
        for k, y in enumerate(labels):
            if self.t0 is None and not blind:
                gains[k] = unit * self._best(k, rows, y, weight, part, start, unit)
            else:
                gains[k] = self.t0 or self.longest_  # at this one no step goes farther than it should
        self._clear(start, gains)
        return rng

    def _clear(self, start: np.ndarray, t0: np.ndarray) -> None:
        self.t0_ = t0
        self.weights_ = np.zeros((len(t0), len(start)))
        self.scale_ = np.tile(1 / start, (len(t0), 1))
        self.steps_ = np.tile(np.array([0, self.skip_, 0, 0], dtype=np.int64), (len(t0), 1))

    def _best(
        self, k: int, rows: Rows, y: np.ndarray, weight: np.ndarray, part: np.ndarray, start: np.ndarray,
        unit: float,
    ) -> float:  # fmt: skip
        """The factor of t0 whose single pass over a part of the data leaves the lowest primal there."""
        costs = []
        for factor in TRIED:
            self._clear(start, np.full(k + 1, factor * unit))
            self._pass(k, rows, y, weight, part)
            w = self.weights_[k]
            with np.errstate(all="ignore"):  # too great a gain may leave anything
                costs.append(self._primal(w, rows.part(part) @ w, y[part], weight[part]))
        return TRIED[int(np.argmin(np.nan_to_num(costs, nan=np.inf)))]

    def _pass(self, k: int, rows: Rows, y: np.ndarray, weight: np.ndarray, order: np.ndarray) -> None:
        scratch = np.zeros(rows.width)
        for part in in_slices(order, SLICE):
            run(
                rows.data, rows.indices, rows.indptr, y, weight, part, self.weights_[k], self.scale_[k],
                scratch, self.steps_[k], loss=LOSSES[self.loss], lam=self.lam, t0=self.t0_[k],
                skip=self.skip_, second_order=self.algorithm == "sgdqn", constant=rows.constant,
            )  # fmt: skip

    # -- results --------------------------------------------------------------------------------

    def _primal(self, w: np.ndarray, scores: np.ndarray, y: np.ndarray, weight: np.ndarray) -> float:
        slack = np.maximum(0, 1 - y * scores)
        losses = slack if self.loss == "hinge" else slack**2 / 2
        return float(self.lam * (w @ w) / 2 + np.mean(weight * losses))

    @reads
    def primal(self, X: Any, y: Any) -> float:
        """The objective on these data, summed over the machines if there are several."""
        scores = np.atleast_2d(self.decision_function(X).T)
        X, y = self._checked(X, y, self.n_features_in_)
        labels, ones = self._encoded(y, self.classes_), np.ones(len(y))
        parts = zip(self.weights_, scores, labels, strict=True)
        return sum(self._primal(w, values, sign, ones) for w, values, sign in parts)

    def _values(self, X: Any) -> np.ndarray:
        values = row_products(X, self.coef_.T) + self.intercept_
        return values[:, 0] if len(self.classes_) == 2 else values

    @property
    @reads
    def coef_(self) -> np.ndarray:
        """w, one row per machine: one machine for two classes, else one per class."""
        return self._trained("weights_")[:, : self.n_features_in_]

    @property
    @reads
    def intercept_(self) -> np.ndarray:
        """Weights of the constant feature."""
        weights = self._trained("weights_")
        return weights[:, -1] if weights.shape[1] > self.n_features_in_ else np.zeros(len(weights))

    @property
    @reads
    def curvature_(self) -> np.ndarray:
        """The estimated curvature 1 / B along each feature."""
        return 1 / self._trained("scale_")

    def _trained(self, name: str) -> np.ndarray:
        if not self.__sklearn_is_fitted__():
            raise AttributeError("there are no weights before fit")
        return getattr(self, name)

    # -- files ----------------------------------------------------------------------------------

    @reads
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file, with the parameters that the model was trained with."""
        from structsvm.binary._file import SGDQN, save

        if not self.__sklearn_is_fitted__():
            raise self.not_fitted()
        save(
            self, path, *SGDQN.write({field.name: getattr(self, f"{field.name}_") for field in SGDQN.fields})
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model file."""
        from structsvm.binary._file import load

        return load(cls, path, _rebuilt)


class Rows:
    """X as the arrays that compiled code reads; it adds the constant feature without a copy of them."""

    def __init__(self, X: Any, constant: bool) -> None:
        n, self.width, self.constant = X.shape[0], X.shape[1] + bool(constant), bool(constant)
        if sparse.issparse(X):
            self.data, self.indices = X.data, X.indices.astype(np.int32, copy=False)
            self.indptr = X.indptr.astype(np.int64)
            self.density = max(X.nnz + n * self.constant, 1) / (n * self.width)
        else:
            X = np.ascontiguousarray(X)
            self.data, self.indices = X.ravel(), np.zeros(0, np.int32)
            self.indptr = np.arange(n + 1, dtype=np.int64) * X.shape[1]
            self.density = 1.0
        self.matrix = X

    def part(self, chosen: np.ndarray) -> Any:
        """Some rows in double precision, with the constant feature."""
        rows = self.matrix[chosen].astype(np.float64)
        if not self.constant:
            return rows
        ones = np.ones((len(chosen), 1))
        return sparse.hstack([rows, ones], format="csr") if sparse.issparse(rows) else np.hstack([rows, ones])

    def squares(self, chosen: np.ndarray) -> Any:
        """x^2 of some rows, element by element."""
        rows = self.part(chosen)
        return rows.multiply(rows).tocsr() if sparse.issparse(rows) else rows * rows


def _rebuilt(model: SGDQNClassifier, arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> SGDQNClassifier:
    from structsvm.binary._file import SGDQN

    n = 1 if len(model.classes_) == 2 else len(model.classes_)
    width = model.n_features_in_ + bool(model.fit_intercept)
    for name, value in SGDQN.read(arrays, meta, models=n, inputs=width).items():
        setattr(model, f"{name}_", value)
    return model
