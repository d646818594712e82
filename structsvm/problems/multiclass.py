"""Multiclass classification with linear scores, loss matrices and output features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from structsvm._scipy import sparse
from structsvm.kernels.functions import parts
from structsvm.problem import Problem
from structsvm.validation import check_loss_matrix, check_matrix, check_targets, diagonal_matrix, plain_labels

MOST_SCORES = 1 << 22  # held at a time by predictions


class LinearInputs(Problem):
    """A problem over rows of a matrix: checked inputs and an optional constant feature."""

    n_inputs: int
    classes_: np.ndarray  # sorted

    def __init__(self, classes: Sequence[Any] | None, fit_intercept: bool) -> None:
        self.classes = classes
        self.fit_intercept = fit_intercept

    def set_inputs(self, X: Any) -> None:
        """Learn the width of the inputs."""
        self.n_inputs = X.shape[1] + bool(self.fit_intercept)

    def encode_inputs(self, X: Any) -> sparse.csr_array:
        """Checked rows as CSR, with the constant feature if there is one."""
        X = sparse.csr_array(X)
        if self.fit_intercept:
            X = sparse.csr_array(sparse.hstack([X, np.ones((X.shape[0], 1), dtype=X.dtype)]))
        X.sort_indices()
        return X

    def product(self, X: Any, weights: np.ndarray) -> np.ndarray:
        """Checked rows times weights, which have a row for each input; dense rows stay dense."""
        if not self.fit_intercept:
            return row_products(X, weights)
        scores = row_products(X, weights[:-1])
        scores += weights[-1]
        return scores

    def checked(self, X: Any) -> Any:
        """X as a matrix of the width learned."""
        return check_matrix(X, n_features=self.n_inputs - bool(self.fit_intercept))

    def scores(self, X: Any, w: np.ndarray) -> np.ndarray:
        """Scores of checked rows, a column for each class."""
        return self.product(X, w.reshape(self.n_inputs, -1))

    def decision_function(self, X: Any, w: np.ndarray) -> np.ndarray:
        """Scores, a column for each class."""
        return self.scores(self.checked(X), w)

    def predict(self, X: Any, w: np.ndarray) -> np.ndarray:
        """The class with the highest score for each row."""
        return self.classes_[
            best_columns(self.checked(X), len(self.classes_), lambda rows: self.scores(rows, w))
        ]

    def encode_labels(self, y: Any) -> np.ndarray:
        """Labels as positions in `classes_`; unknown labels are rejected."""
        y = np.asarray(y)
        try:
            order = np.searchsorted(self.classes_, y) if len(y) else np.empty(0, np.intp)
        except TypeError:
            raise ValueError(
                f"unknown labels: {y.dtype} cannot be compared with {self.classes_.dtype}"
            ) from None
        order = np.minimum(order, len(self.classes_) - 1)
        unknown = np.flatnonzero(self.classes_[order] != y)
        if unknown.size:
            label = y[unknown[0]].item() if y.dtype.kind != "O" else y[unknown[0]]
            more = " ..." if len(self.classes_) > 10 else ""
            raise ValueError(
                f"unknown label {label!r} at position {unknown[0]}: "
                f"the classes are {', '.join(map(str, self.classes_[:10]))}{more}"
            )
        return order.astype(np.int32)


class Multiclass(LinearInputs):
    """One class for each row of X, with Phi(x, y) = Lambda(y) (x) x.

    Parameters
    ----------
    classes
        All labels; required if the first data may not contain them all.
    loss
        A matrix in the order of `classes_`; loss[y, c] is the cost of predicting c for y; 0-1 by default.
    output_features
        Lambda, a row for each class (`structsvm.problems.taxonomies` makes them from a taxonomy, from
        descriptions or from similarities); the identity by default, which is Crammer and Singer's SVM.
    fit_intercept
        Whether to add a constant feature.
    """

    def __init__(
        self,
        *,
        classes: Sequence[Any] | None = None,
        loss: Any = None,
        output_features: Any = None,
        fit_intercept: bool = False,
    ) -> None:
        super().__init__(classes, fit_intercept)
        self.loss_matrix = loss
        self.output_features = output_features

    def prepare(self, X: Any, y: Any) -> None:
        X = check_matrix(X)
        y = check_targets(y, X.shape[0])
        classes = np.unique(y if self.classes is None else plain_labels(self.classes, "classes"))
        if len(classes) < 2:
            only = classes.tolist()[0]
            raise ValueError(f"one class only ({only!r}); a classifier needs at least two classes")
        loss = None if self.loss_matrix is None else check_loss_matrix(self.loss_matrix, len(classes))
        features = (
            None
            if self.output_features is None
            else check_output_features(self.output_features, len(classes))
        )
        self.set_inputs(X)
        self.classes_, self._loss, self._features = classes, loss, features
        self.n_features = self.n_inputs * self.output_features_.shape[1]

    @property
    def loss_(self) -> np.ndarray:
        """The loss of each class by the right one."""
        return diagonal_matrix(len(self.classes_), 0.0, 1.0) if self._loss is None else self._loss

    @property
    def output_features_(self) -> np.ndarray:
        """Lambda."""
        return diagonal_matrix(len(self.classes_), 1.0, 0.0) if self._features is None else self._features

    @property
    def is_plain(self) -> bool:
        """Whether Lambda is the identity."""
        given = self._features
        return given is None or np.array_equal(given, diagonal_matrix(len(given), 1.0, 0.0))

    @property
    def similarity(self) -> np.ndarray:
        """<Lambda(y), Lambda(c)> of all pairs of classes."""
        return self.output_features_ if self._features is None else self._features @ self._features.T

    def oracle(self) -> Any:
        from structsvm.problems._multiclass import MulticlassOracle

        return MulticlassOracle(self, self.n_inputs, self.loss_, self.output_features_)

    def encode_outputs(self, y: Any) -> tuple[np.ndarray, np.ndarray]:
        labels = self.encode_labels(check_targets(y, len(y)))
        return np.arange(len(labels) + 1), labels

    def class_weights(self, w: np.ndarray) -> np.ndarray:
        """The weights of each input for the classes, a column for each class."""
        weights = w.reshape(self.n_inputs, -1)
        return weights if self._features is None else weights @ self._features.T

    def scores(self, X: Any, w: np.ndarray) -> np.ndarray:
        return self.product(X, self.class_weights(w))

    # The same problem in Python: slower, and the reference for tests of the compiled oracle.

    def joint_feature(self, x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        row = self.encode_inputs(self.checked(np.reshape(x, (1, -1))))
        features = self.output_features_[self.encode_labels([y])[0]]
        used = np.flatnonzero(features)
        index = (row.indices[:, None].astype(np.int64) * len(features) + used).ravel()
        return index, np.outer(row.data, features[used]).ravel()

    def loss(self, y: Any, other: Any) -> float:
        a, b = self.encode_labels([y, other])
        return float(self.loss_[a, b])

    def candidates(self, x: Any) -> np.ndarray:
        return self.classes_


def check_output_features(features: Any, n_classes: int) -> np.ndarray:
    """Check Lambda: finite numbers, a row for each class."""
    features = np.require(features, np.float64, ["C", "A"])
    if (
        features.ndim != 2
        or len(features) != n_classes
        or not features.size
        or not np.isfinite(features).all()
    ):
        raise ValueError(f"output_features must be finite numbers, a row for each of the {n_classes} classes")
    return features


def best_columns(X: Any, n_columns: int, scores: Callable[[Any], np.ndarray]) -> np.ndarray:
    """The position of the highest score of each row of X, for a few rows at a time if scores are many."""
    step = max(1, MOST_SCORES // n_columns)
    if step >= X.shape[0]:  # a slice of sparse rows would copy them
        return np.argmax(scores(X), axis=1)
    starts = range(0, X.shape[0], step)
    return np.concatenate([np.argmax(scores(X[at : at + step]), axis=1) for at in starts])


def row_products(X: Any, weights: np.ndarray) -> np.ndarray:
    """X @ weights; if X has another precision, its rows are converted a few at a time."""
    if X.dtype == weights.dtype:
        return np.asarray(X @ weights)
    return np.concatenate([np.asarray(part @ weights) for part in parts(X)])
