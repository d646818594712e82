"""`Problem`: the base class for your own structured output problems."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from structsvm._scipy import sparse
from structsvm.machine import Inputs, Outputs
from structsvm.validation import LARGEST

if TYPE_CHECKING:
    from structsvm._dual.oracle import Oracle

Pattern = Any  # x, as a problem defines it
Output = Any  # y
Feature = Any  # a joint feature, see `Problem.joint_feature`


class Problem(ABC):
    """A structured output problem: a joint feature map, a loss and a way to find the best output.

    Subclasses define `n_features` and `joint_feature`, usually `loss`, and either `candidates`, if there are
    few outputs to enumerate, or `argmax` and `loss_augmented_argmax`. `argmax` must return the output with
    the highest <w, joint_feature(x, y)>. Slack rescaling and L2 slacks need `candidates` or `most_violated`.
    """

    n_features: int  # the size of joint_feature and of w
    stride = 0  # the weights of a row of w, if w has a row for each feature of a pattern; 0: it has no rows
    history = 0  # the first rows of w, which belong to no feature

    def prepare(self, X: Inputs, y: Outputs) -> None:  # noqa: B027 (not every problem has something to learn)
        """Set sizes from the first data; called before `oracle`, on the optimizer's copy."""

    @abstractmethod
    def joint_feature(self, x: Pattern, y: Output) -> Feature:
        """Phi(x, y): a dense vector, a pair (indices, values), a dict {index: value} or a sparse row."""

    def loss(self, y: Output, other: Output) -> float:
        """Delta(y, other) >= 0: the cost of predicting `other` if `y` is right; by default 0 or 1."""
        return float(not same_output(y, other))

    def candidates(self, x: Pattern) -> Iterable[Output]:
        """All outputs that `x` may have; required unless both argmax methods are overridden."""
        raise TypeError(
            f"{type(self).__name__} needs either candidates(x), or both argmax(x, w) and "
            "loss_augmented_argmax(x, y, w); slack rescaling and L2 slacks need candidates(x), or "
            "most_violated(x, y, w, violation)"
        )

    def argmax(self, x: Pattern, w: np.ndarray) -> Output:
        """The output with the highest score."""
        return max(self.candidates(x), key=lambda y: self.score(x, y, w))

    def loss_augmented_argmax(self, x: Pattern, y: Output, w: np.ndarray) -> Output:
        """The output with the highest loss(y, .) + score: the most violated one with margin rescaling."""
        return max(self.candidates(x), key=lambda other: self.loss(y, other) + self.score(x, other, w))

    def most_violated(
        self, x: Pattern, y: Output, w: np.ndarray, violation: Callable[[Output], float]
    ) -> Output:
        """The output with the highest violation(output), for slack rescaling and L2 slacks.

        `violation` computes H of one output, as defined in `Optimizer`. Override this method to search a
        large output space; the default tries all candidates.
        """
        return max(self.candidates(x), key=violation)

    def contains(self, x: Pattern, y: Output) -> bool:
        """Whether `y` is a valid output of `x`; used to check the data and the results of argmax."""
        if type(self).candidates is Problem.candidates:
            return y is not None
        return any(same_output(y, other) for other in self.candidates(x))

    def score(self, x: Pattern, y: Output, w: np.ndarray) -> float:
        """<w, Phi(x, y)>."""
        index, value = sparse_vector(self.joint_feature(x, y), self.n_features)
        return float(value @ w[index])

    def predict(self, X: Inputs, w: np.ndarray) -> Outputs:
        """The argmax for each pattern."""
        return [self.argmax(x, w) for x in X]

    def oracle(self) -> Oracle:
        """The compiled oracle that the optimizer calls; built-in problems have their own."""
        from structsvm._dual.oracle import PythonOracle

        return PythonOracle(self)


def same_output(y: Output, other: Output) -> bool:
    """Whether two outputs are equal: by their own `==`, arrays entry by entry, in tuples and lists too."""
    if y is other:
        return True
    if isinstance(y, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(y, other)
    try:
        return bool(y == other)
    except ValueError:  # there are arrays within
        pass
    if isinstance(y, (tuple, list)) and isinstance(other, (tuple, list)):
        return len(y) == len(other) and all(map(same_output, y, other))
    raise ValueError(
        f"outputs of type {type(y).__name__} cannot be compared with ==; override loss and contains"
    )


def sparse_vector(feature: Feature, size: int) -> tuple[np.ndarray, np.ndarray]:
    """A joint feature as (int32 indices, float64 values), checked to be finite and within range."""
    index: Any
    value: Any
    if isinstance(feature, dict):
        index, value = list(feature.keys()), list(feature.values())
    elif sparse.issparse(feature):
        if feature.shape not in ((size,), (1, size)):
            raise ValueError(f"joint_feature has shape {feature.shape}, but n_features is {size}")
        row = sparse.coo_array(feature)
        index, value = row.coords[-1], row.data
    elif isinstance(feature, tuple):
        index, value = feature
    else:
        value = np.asarray(feature, dtype=np.float64)
        if value.shape != (size,):
            raise ValueError(f"joint_feature has shape {value.shape}, but n_features is {size}")
        index = np.flatnonzero(value)
        check_values(value)
        return index.astype(np.int32), value[index]
    index = np.asarray(index) if len(index) else np.empty(0, np.int64)
    if index.dtype.kind not in "iu":
        raise ValueError(f"joint_feature has indices of type {index.dtype}; they must be integers")
    value = np.ascontiguousarray(value, dtype=np.float64)
    if index.ndim != 1 or index.shape != value.shape:
        raise ValueError(f"joint_feature has {index.size} indices but {value.size} values")
    if index.size and not 0 <= index.min() <= index.max() < size:
        bad = index.min() if index.min() < 0 else index.max()
        raise ValueError(f"joint_feature has index {bad}, outside 0..{size - 1} (n_features is {size})")
    check_values(value)
    return index.astype(np.int32), value


def check_values(value: np.ndarray) -> None:
    if not np.all(np.isfinite(value)):
        raise ValueError("joint_feature contains NaN or infinity")
    if value.size and max(value.max(), -value.min()) > LARGEST:
        raise ValueError(
            f"joint_feature contains values that are too large to be squared and summed (above {LARGEST:g})"
        )
