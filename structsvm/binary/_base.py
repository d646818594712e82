"""Base of the binary classifiers: data checks, labels as -1 and +1, scikit-learn's conventions."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np

from structsvm.guard import reads, training
from structsvm.integrations.sklearn import Classifier, column_names
from structsvm.options import check_options, option
from structsvm.scored import forget_calibration, with_calibration
from structsvm.validation import check_matrix, check_sample_weight, class_factors
from structsvm.warm import can_continue, check_unchanged, fingerprint

CLASS_WEIGHT = option(default=None, help="A dict of classes and factors of C, or balanced.")


class BinaryClassifier(Classifier, ABC):
    """Base of the classifiers of two classes; the second class, in sorted order, is +1.

    A subclass trains in `_fit(X, labels, weight)` and `_continue(X, labels, weight)`, where labels are -1 and
    +1, and gives f in `_values(X)`.
    """

    _multiclass = False
    class_weight: Any = None
    warm_start: bool = False
    epochs: int
    n_iter_: int
    _rows: str | None = None  # the fingerprint of the rows that a fit with warm_start can continue on

    @with_calibration
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train from scratch, or continue if the classifier has warm_start=True.

        If training is interrupted, the model does not change. With warm_start it keeps what it has learned.
        """
        columns = column_names(X)
        X, y = self._checked(X, y)
        classes = self._checked_classes(np.unique(y))
        check_options(self)
        weight = check_sample_weight(sample_weight, len(y)) * class_factors(y, self.class_weight, classes)
        rows = fingerprint(X, y, weight) if self.warm_start else None
        labels = self._encoded(y, classes)
        with training(self):
            if rows is not None and can_continue(self, rows):
                self._prepared(X, classes)._fit_again(X, labels, weight)
                self._count_passes(self.epochs)
                self._name_features(columns)
                return self
            trained = type(self)(**self.get_params())._prepared(X, classes)
            with training(trained):  # a callback may show it to other threads
                trained._fit(X, labels, weight)
            trained._count_passes(self.epochs)
            vars(self).update({k: v for k, v in vars(trained).items() if k != "_guard"})
            self._rows = rows
            self._name_features(columns)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Make one pass over more data, in the given order.

        The first call must know all classes, from y or from `classes`.
        """
        with training(self):
            return self._partial_fit(X, y, self._given_classes(classes), sample_weight)

    def _partial_fit(self, X: Any, y: Any, given: np.ndarray | None, sample_weight: Any) -> Self:
        first, columns = not self.__sklearn_is_fitted__(), column_names(X)
        if not first:
            self._check_feature_names(X)
            columns = getattr(self, "feature_names_in_", None)
        X, y = self._checked(X, y, None if first else self.n_features_in_)
        check_options(self)
        if first:
            known = self._checked_classes(np.unique(y) if given is None else given)
        else:
            known = self.classes_
            check_unchanged(self)
        if not np.all(np.isin(y, known)):
            raise ValueError(f"y has classes other than {known!r}; pass all classes in the first call")
        weight = check_sample_weight(sample_weight, len(y)) * class_factors(y, self.class_weight, known)
        model = type(self)(**self.get_params())._prepared(X, known) if first else self
        self._rows = None
        model._continue(X, self._encoded(y, known), weight, first)
        vars(self).update(vars(model))
        self._count_passes(1)
        self._name_features(columns)
        forget_calibration(self)
        return self

    def _count_passes(self, n: int) -> None:
        for one in (self, *getattr(self, "estimators_", ())):
            one.n_iter_ = getattr(one, "n_iter_", 0) + n

    @reads
    def predict(self, X: Any) -> np.ndarray:
        """The class of each row."""
        values = self.decision_function(X)
        if values.ndim == 1:
            return self.classes_[(values > 0).astype(np.intp)]
        return self.classes_[np.argmax(values, axis=1)]

    @reads
    def decision_function(self, X: Any) -> np.ndarray:
        """f(x) of each row: positive for the second class."""
        if not self.__sklearn_is_fitted__():
            raise self.not_fitted()
        self._check_feature_names(X)
        return self._values(check_matrix(X, n_features=self.n_features_in_, owner=type(self).__name__))

    # -- for subclasses -------------------------------------------------------------------------

    @abstractmethod
    def _fit(self, X: Any, labels: np.ndarray, weight: np.ndarray) -> None:
        """Train from scratch."""

    def _fit_again(self, X: Any, labels: np.ndarray, weight: np.ndarray) -> None:
        """Fit the data of the last `_fit` again; classes with warm_start continue from their state."""
        self._fit(X, labels, weight)

    @abstractmethod
    def _continue(self, X: Any, labels: np.ndarray, weight: np.ndarray, first: bool) -> None:
        """One pass over more data; first: nothing was learned before."""

    @abstractmethod
    def _values(self, X: Any) -> np.ndarray:
        """f of each row."""

    def _prepared(self, X: Any, classes: np.ndarray) -> Self:
        self.classes_ = classes
        self.n_features_in_ = X.shape[1]
        self._fitted_params = {k: copy.copy(v) for k, v in self.get_params().items() if k != "callback"}
        return self

    def _encoded(self, y: np.ndarray, classes: np.ndarray) -> np.ndarray:
        return np.where(y == classes[1], 1.0, -1.0)

    def _checked_classes(self, classes: np.ndarray) -> np.ndarray:
        if len(classes) < 2:
            raise ValueError(f"{type(self).__name__} needs at least two classes, but y has only one class")
        if len(classes) > 2 and not self._multiclass:
            raise ValueError(
                f"Only binary classification is supported. The type of the target is multiclass: y has "
                f"{len(classes)} classes. Use scikit-learn's OneVsRestClassifier({type(self).__name__}(...)) "
                "or LaRankClassifier"
            )
        return classes
