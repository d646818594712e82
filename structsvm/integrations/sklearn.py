"""Base classes that follow scikit-learn's conventions; scikit-learn itself is not required."""

from __future__ import annotations

import copy
import inspect
import sys
import warnings
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


def _listed(title: str, names: list[str]) -> str:
    return "\n".join([title, *(f"- {name}" for name in names[:5]), *["- ..."] * (len(names) > 5), ""])


def _shortened(text: str) -> str:
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 4]} ..."


def column_names(X: Any) -> np.ndarray | None:
    """The names of the columns of a table, or None if there are none; refuse names of mixed types."""
    columns = getattr(X, "columns", None)
    names = [] if columns is None else list(columns)
    kinds = sorted({type(name).__name__ for name in names})
    if "str" in kinds and len(kinds) > 1:
        raise TypeError(
            f"Feature names are only supported if all input features have string names, but X has {kinds}; "
            "convert them with X.columns = X.columns.astype(str)"
        )
    return np.array(names, object) if kinds == ["str"] else None


ROUTED = ("fit", "partial_fit", "predict", "score")  # methods whose metadata scikit-learn can route


def _metadata(kind: type, method: str) -> list[str]:
    """The parameters of a method that metadata can be routed to: all but the data."""
    if not hasattr(kind, method):
        return []
    found = inspect.signature(getattr(kind, method)).parameters.values()
    usual = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    named = [one.name for one in found if one.kind in usual and one.default is not inspect.Parameter.empty]
    return [name for name in named if name not in ("X", "y", "Y")]


def _setter(method: str) -> Callable[..., Any]:
    def request(self: Estimator, **requests: bool | str | None) -> Estimator:
        known = _metadata(type(self), method)
        if unknown := sorted(set(requests) - set(known)):
            raise TypeError(f"{method} takes no {unknown[0]} as metadata; choose among {', '.join(known)}")
        routing = self.get_metadata_routing()
        for name, alias in requests.items():
            getattr(routing, method).add_request(param=name, alias=alias)
        vars(self)["_metadata_request"] = routing
        return self

    request.__name__ = f"set_{method}_request"
    request.__doc__ = f"""Set which metadata `{method}` requests: True, False, or the name that callers use.

        scikit-learn's meta-estimators pass it on if its metadata routing is enabled.
        """
    return request


class Estimator:
    """An estimator whose constructor stores its arguments unchanged, each under its own name."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for method in ROUTED:
            if f"set_{method}_request" not in vars(Estimator) and _metadata(cls, method):
                setattr(cls, f"set_{method}_request", _setter(method))

    def get_metadata_routing(self) -> Any:
        """The metadata that the methods ask for, as a `MetadataRequest` of scikit-learn."""
        from sklearn.utils.metadata_routing import MetadataRequest

        if "_metadata_request" in vars(self):  # under this name, `clone` copies it
            return copy.deepcopy(vars(self)["_metadata_request"])
        routing = MetadataRequest(owner=type(self).__name__)
        for method in ROUTED:
            for name in _metadata(type(self), method):
                getattr(routing, method).add_request(param=name, alias=None)
        return routing

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """Return what a notebook shows: the diagram of scikit-learn if scikit-learn is imported."""
        shown = {"text/plain": repr(self)}
        if "sklearn" in sys.modules:
            from sklearn import get_config
            from sklearn.utils import estimator_html_repr

            if get_config()["display"] == "diagram":
                shown["text/html"] = estimator_html_repr(self)
        return shown

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

    def _name_features(self, names: np.ndarray | None) -> None:
        """Set `feature_names_in_` to the names of columns, or delete it."""
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _check_feature_names(self, X: Any) -> None:
        """Refuse columns with other names than those of training, and warn of columns without names."""
        known = getattr(self, "feature_names_in_", None)
        if known is None:
            return
        names = column_names(X)
        if names is None:
            warnings.warn(
                f"X does not have valid feature names, but {type(self).__name__} was fitted with feature "
                "names; pass a table with the same columns", UserWarning, stacklevel=4,
            )  # fmt: skip
        elif names.tolist() != known.tolist():
            what = "The feature names should match those that were passed during fit.\n"
            unseen, missing = (sorted(set(a) - set(b)) for a, b in ((names, known), (known, names)))
            if unseen:
                what += _listed("Feature names unseen at fit time:", unseen)
            if missing:
                what += _listed("Feature names seen at fit time, yet now missing:", missing)
            if not unseen and not missing:
                what += "Feature names must be in the same order as they were in fit.\n"
            raise ValueError(what)

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
