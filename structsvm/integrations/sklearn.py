"""Base classes that follow scikit-learn's conventions; scikit-learn itself is not required."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from structsvm.guard import reads
from structsvm.optimizers.curve import Point
from structsvm.optimizers.results import NotFittedError
from structsvm.validation import check_matrix, check_targets, plain_labels


def sequence_tags() -> Any:
    """Return scikit-learn's tags for estimators of sequences, which take lists and predict lists."""
    from sklearn.utils import InputTags, Tags, TargetTags

    return Tags(
        estimator_type=None, target_tags=TargetTags(required=True), input_tags=InputTags(two_d_array=False)
    )


MOST_SHOWN = 80  # characters of a parameter in the repr of an estimator


def _shortened(text: str) -> str:
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 4]} ..."


class Estimator:
    """An estimator whose constructor stores its arguments unchanged, each under its own name."""

    @classmethod
    def _parameters(cls) -> list[str]:
        return sorted(name for name in inspect.signature(cls.__init__).parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {name: getattr(self, name) for name in self._parameters()}

    def set_params(self, **params: Any) -> Self:
        """Change constructor arguments."""
        for name, value in params.items():
            if name not in self._parameters():
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {self!r}. "
                    f"Valid parameters are: {self._parameters()!r}."
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = {name: p.default for name, p in inspect.signature(type(self).__init__).parameters.items()}
        given = [
            f"{name}={_shortened(repr(value))}"
            for name, value in self.get_params().items()
            if repr(value) != repr(defaults[name])
        ]
        return f"{type(self).__name__}({', '.join(given)})"

    @reads
    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles, which a model that another thread is training refuses."""
        return dict(vars(self))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")

    def not_fitted(self) -> Exception:
        """Return scikit-learn's NotFittedError if scikit-learn is imported, ours otherwise."""
        exceptions = sys.modules.get("sklearn.exceptions")
        kind = exceptions.NotFittedError if exceptions else NotFittedError
        return kind(f"this {type(self).__name__} is not fitted yet; call fit or partial_fit first")


class Classifier(Estimator):
    """An estimator that predicts one of the classes of `classes_` for each row of a matrix."""

    _estimator_type = "classifier"
    _multiclass = True
    class_weight: Any
    classes_: np.ndarray
    n_features_in_: int
    predict: Callable[[Any], np.ndarray]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy."""
        predicted = self.predict(X)
        right = predicted == check_targets(y, len(predicted))
        return float(np.average(right, weights=sample_weight))

    def _checked(self, X: Any, y: Any, n_features: int | None = None) -> tuple[Any, np.ndarray]:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        X = check_matrix(X, n_features=n_features, owner=type(self).__name__)
        return X, check_targets(y, X.shape[0])

    def _given_classes(self, classes: Any) -> np.ndarray | None:
        """The argument `classes` of partial_fit, sorted; ValueError for other classes than those known."""
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            raise ValueError(
                "partial_fit does not support class_weight='balanced' because it does not see all data; "
                "pass a dict of factors"
            )
        given = None if classes is None else np.unique(plain_labels(classes, "classes"))
        if given is not None and self.__sklearn_is_fitted__() and not np.array_equal(given, self.classes_):
            raise ValueError(
                f"`classes={given!r}` is not the same as on last call to partial_fit: {self.classes_!r}"
            )
        return given

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(multi_class=self._multiclass),
            input_tags=InputTags(sparse=True, pairwise=getattr(self, "kernel", None) == "precomputed"),
        )


class TrainedEstimator(Estimator):
    """An estimator that keeps its optimizer and shows its results as attributes."""

    optimizer_: Any

    def _fitted_optimizer(self) -> Any:
        if not self.__sklearn_is_fitted__():
            raise self.not_fitted()
        return self.optimizer_

    @property
    def dual_(self) -> float:
        """The dual objective."""
        return float(self._fitted_optimizer().dual_)

    @property
    def n_support_patterns_(self) -> int:
        """The number of training patterns with a non-zero coefficient."""
        return int(self._fitted_optimizer().n_support_patterns_)

    @property
    def n_support_vectors_(self) -> int:
        """The number of pairs (pattern, class) with a non-zero coefficient, true classes included."""
        return int(self._fitted_optimizer().n_support_vectors_)

    @property
    def n_argmax_(self) -> int:
        """The number of calls of the loss-augmented argmax during training."""
        return int(self._fitted_optimizer().n_argmax_)

    @property
    def n_kernels_(self) -> int:
        """The number of kernel values computed during training; not available for the linear kernel."""
        return int(self._fitted_optimizer().n_kernels_)

    @property
    def curve_(self) -> list[Point]:
        """The points of the training curve, with timestamps."""
        curve: list[Point] = self._fitted_optimizer().curve_
        return curve
