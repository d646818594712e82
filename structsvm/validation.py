"""Checks of numbers and arrays at the public boundary, with one clear message for each error."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

import numpy as np

from structsvm._scipy import sparse

NUMBERS = (int, float, np.integer, np.floating)
SMALLEST = 1e-100
LARGEST = 1e100  # squares of features, and sums of them, must stay finite
HARD = 1e50  # the bound of coefficients for C = infinity: larger than any that training reaches
MOST_BEST = 1000  # labellings or meanings of one sentence; each takes time and memory
MOST = 10**9  # of anything that an option counts, unless it has a smaller bound of its own
MOST_THREADS = 1024
LARGEST_COUNT = 2**53  # of a counter in a file, so that it stays far from overflow


def check_positive(*, high: float = LARGEST, **values: Any) -> None:
    """Each value must be a number above zero, and at most `high`."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, NUMBERS) or not 0 < value < np.inf:
            raise ValueError(f"{name} must be a number above 0, got {value!r}")
        if plain(value) > high:
            raise ValueError(f"{name} must be at most {high:g}, got {value!r}")


def plain(number: Any) -> Any:
    """A number of NumPy as one of Python: np.float32 cannot be compared with a large bound."""
    return number.item() if isinstance(number, np.generic) else number


def check_number(*, low: float = 0, high: float = LARGEST, **values: Any) -> None:
    """Each value must be a number from `low` to `high`; NaN and infinity are refused."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, NUMBERS) or not low <= plain(value) <= high:
            raise ValueError(f"{name} must be a number from {low:g} to {high:g}, got {value!r}")


def meant(name: str, known: Iterable[str]) -> str:
    """The end of an error message about a name: it suggests a similar known name, if there is one.

    >>> meant("PRE", ["ORG", "PER"]), meant("X", ["ORG", "PER"])
    ("; did you mean 'PER'?", '')
    """
    lower = {other.lower(): other for other in known}
    near = get_close_matches(name.lower(), lower, n=1)
    return f"; did you mean {lower[near[0]]!r}?" if near else ""


def check_choice(**values: tuple[Any, tuple[str, ...]]) -> None:
    """Each value must be one of its choices."""
    for name, (value, choices) in values.items():
        if value not in choices:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")


def check_count(*, low: int = 0, high: int = MOST, **values: Any) -> None:
    """Each value must be an integer from `low` to `high`."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < low:
            raise ValueError(f"{name} must be an integer of at least {low}, got {value!r}")
        if value > high:
            raise ValueError(f"{name} must be at most {high}, got {value!r}")


def n_threads(jobs: Any) -> int:
    """The number of threads for a number of jobs: 0 stands for all cores that this process may use."""
    check_count(jobs=jobs, high=MOST_THREADS)
    if jobs:
        return int(jobs)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_seed(random_state: Any) -> int:
    """A 63-bit seed from an int, a NumPy generator, or None (unpredictable)."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> np.uint64(1))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if (
        isinstance(random_state, (int, np.integer))
        and not isinstance(random_state, bool)
        and random_state >= 0
    ):
        return int(random_state) % 2**63
    raise ValueError(
        f"random_state must be None, an integer of at least 0 or a NumPy generator, got {random_state!r}"
    )


def check_sample_weight(sample_weight: Any, n: int, C: float | None = None) -> np.ndarray:
    """n finite weights, none negative, not all zero; ones if not given. C: the factor of the bounds."""
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        weight = np.full(n, float(weight))
    if weight.shape != (n,):
        raise ValueError(f"sample_weight has shape {weight.shape}, but there are {n} samples")
    if not np.all(np.isfinite(weight)) or np.any(weight < 0):
        raise ValueError("sample_weight must be finite and at least 0")
    if n and not weight.any():
        raise ValueError("sample_weight is zero for every sample; at least one weight must be positive")
    if C is not None:
        with np.errstate(over="ignore"):
            check_bounds(min(C, HARD) * weight)
    return np.require(weight, requirements=["C", "A"])


def refuse_token_weights(y: Any, learner: str) -> None:
    """Reject labels with weights of tokens, for a learner without losses."""
    if getattr(y, "weights", None) is not None:
        raise ValueError(
            f"{learner} does not support weights of tokens; leave them out, or use LaRank (larank), "
            "PassiveAggressive (pa) or SVMStruct (svmstruct)"
        )


def check_bounds(bounds: np.ndarray) -> None:
    """C times the sample weights: zero, or numbers that can be multiplied and inverted without overflow."""
    used = bounds[bounds != 0]
    if used.size and not SMALLEST <= used.min() <= used.max() <= LARGEST:
        raise ValueError(f"C times the sample weight must lie between {SMALLEST:g} and {LARGEST:g}, or be 0")


def check_loss_matrix(loss: Any, n_classes: int) -> np.ndarray:
    """Check a loss matrix for n classes: finite, not negative, 0 on the diagonal."""
    loss = np.require(loss, np.float64, ["C", "A"])
    if loss.shape != (n_classes, n_classes):
        raise ValueError(f"the loss matrix has shape {loss.shape}, but there are {n_classes} classes")
    if not np.all(np.isfinite(loss)) or np.any(loss < 0):
        raise ValueError(
            "the loss matrix contains a negative loss, NaN or infinity; losses must be finite and at least 0"
        )
    if np.any(np.diag(loss) != 0):
        raise ValueError("the loss matrix must have zeros on its diagonal")
    return loss


def diagonal_matrix(n: int, diagonal: float, rest: float) -> np.ndarray:
    """An n x n matrix with one value on its diagonal and another one elsewhere, in 2n - 1 numbers.

    It is a read-only view: each row begins one number before the row above.
    """
    numbers = np.full(2 * n - 1, rest)
    numbers[n - 1] = diagonal
    step = numbers.itemsize
    return np.lib.stride_tricks.as_strided(numbers[n - 1 :], (n, n), (-step, step), writeable=False)


def check_sparse(X: Any, name: str = "X") -> None:
    """Reject a sparse matrix that points outside its arrays; SciPy and compiled code would read there."""
    if X.format in ("csr", "csc", "bsr"):
        blocks = X.blocksize if X.format == "bsr" else (1, 1)
        sizes, ends = [X.shape[0] // blocks[0], X.shape[1] // blocks[1]], X.indptr
        n, size, kind = (*sizes, "column") if X.format != "csc" else (*sizes[::-1], "row")
        if (
            ends.dtype.kind != "i" or len(ends) != n + 1 or ends[0] != 0 or np.any(ends[1:] < ends[:-1])
            or ends[-1] > min(len(X.indices), len(X.data))
        ):  # fmt: skip
            raise ValueError(
                f"the sparse matrix {name} is invalid: its indptr must have {n + 1} integers that start at "
                "0, never decrease and do not exceed the number of values"
            )
        pointers = [(X.indices[: ends[-1]], size, kind)]
    elif X.format == "coo":
        if not len(X.row) == len(X.col) == len(X.data):
            raise ValueError(f"the sparse matrix {name} is invalid: row, col and data differ in length")
        pointers = [(X.row, X.shape[0], "row"), (X.col, X.shape[1], "column")]
    elif X.format == "dia" and len(X.offsets) != len(X.data):
        raise ValueError(f"the sparse matrix {name} is invalid: offsets and data differ in length")
    else:
        return
    for indices, size, kind in pointers:
        inside = not indices.size or 0 <= indices.min() <= indices.max() < size
        if indices.dtype.kind != "i" or not inside:
            raise ValueError(
                f"the sparse matrix {name} is invalid: it has {kind} indices outside 0..{size - 1}"
            )


def check_matrix(
    X: Any, *, n_features: int | None = None, owner: str = "this problem", empty: bool = False
) -> Any:
    """X as a 2-d float array, or CSR matrix if it is sparse: real, finite, of the right width.

    empty: whether X may have no rows.
    """
    X = X if sparse.issparse(X) else np.require(np.asarray(X), requirements=["A"])
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead. Reshape your data: "
            "X.reshape(-1, 1) if it has a single feature or X.reshape(1, -1) if it is a single sample"
        )
    if sparse.issparse(X):
        check_sparse(X)
        converted = sparse.csr_array(X)
        if X.format != "csr":
            check_sparse(converted)  # SciPy converts LIL and DOK without looking at their indices
        X = converted
    if sparse.issparse(X) and not all(part.flags.aligned for part in (X.data, X.indices, X.indptr)):
        X = X.copy()  # compiled code needs aligned numbers; a view into a buffer may not be aligned
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported: X must contain real numbers")
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()  # the caller's arrays are shared, and may be read only
        X.sum_duplicates()
    values = X.data if sparse.issparse(X) else X
    if X.shape[0] == 0 and not empty:
        raise ValueError(f"Found array with 0 sample(s) (shape={X.shape}): the data set is empty")
    if X.shape[1] == 0:
        raise ValueError(f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
    largest = max(float(values.max()), -float(values.min())) if values.size else 0.0
    if not np.isfinite(largest):  # a NaN is both the smallest and the largest value
        raise ValueError("X contains NaN or infinity; remove or impute these values first")
    if largest > LARGEST:
        raise ValueError(f"X contains values too large to be squared (above {LARGEST:g}); scale the features")
    if n_features is not None and X.shape[1] != n_features:
        raise ValueError(
            f"X has {X.shape[1]} features, but {owner} is expecting {n_features} features as input"
        )
    return X


def plain_labels(y: Any, name: str = "y") -> np.ndarray:
    """Labels as an array of numbers or of text; mixed types, None and NaN are rejected."""
    labels = np.asarray(y)
    if labels.dtype.kind == "O":
        values = labels.ravel().tolist()
    elif labels.dtype.kind in "SU" and labels.ndim == 1 and not hasattr(y, "dtype"):
        values = list(y)  # NumPy may have converted numbers to text
    else:
        return labels
    if any(value is None or (isinstance(value, (float, np.floating)) and value != value) for value in values):
        raise ValueError(f"{name} contains None or NaN; every pattern needs a label")
    for types in (str, bytes, (bool, int, float, np.bool_, np.integer, np.floating)):
        if all(isinstance(value, types) for value in values):
            return np.array(values).reshape(labels.shape) if values else labels
    kinds = sorted({type(value).__name__ for value in values})
    if len(kinds) > 1:
        raise ValueError(
            f"{name} mixes labels of type {' and '.join(kinds)}; use only numbers or only strings"
        )
    return labels


def check_targets(y: Any, n: int) -> np.ndarray:
    """y as a 1-d array of n class labels."""
    y = plain_labels(y)
    if y.ndim == 2 and y.shape[1] == 1:
        exceptions = sys.modules.get("sklearn.exceptions")
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected; use y.ravel()",
            exceptions.DataConversionWarning if exceptions else UserWarning,
            stacklevel=4,
        )
        y = y[:, 0]
    if y.ndim != 1:
        raise ValueError(f"y must be a 1d array of labels, got an array of shape {y.shape} instead")
    if len(y) != n:
        raise ValueError(f"X has {n} patterns but y has {len(y)} outputs")
    if y.dtype.kind == "f":
        if not np.all(np.isfinite(y)):
            raise ValueError("Input y contains NaN or infinity")
        if np.any(y != np.floor(y)):
            raise ValueError("Unknown label type: continuous. y must contain class labels, not real numbers")
    return y


def same_value(a: Any, b: Any) -> bool:
    """Whether two values of a parameter are the same."""
    if a is b:
        return True
    if isinstance(a, (list, tuple, np.ndarray)) or isinstance(b, (list, tuple, np.ndarray)):
        return a is not None and b is not None and np.array_equal(a, b)
    return bool(a == b)


def check_class_weight(class_weight: Any, classes: np.ndarray) -> None:
    """Reject anything but {class: factor of at least 0}, and unknown classes."""
    if not isinstance(class_weight, Mapping):
        raise ValueError(f"class_weight must be a dict of factors, 'balanced' or None, got {class_weight!r}")
    known = set(classes.tolist())
    for label, factor in class_weight.items():
        if label not in known:
            raise ValueError(f"class_weight names {label!r}, which is not a class of y")
        if isinstance(factor, bool) or not isinstance(factor, NUMBERS) or not 0 <= factor < np.inf:
            raise ValueError(f"class_weight of {label!r} must be a number of at least 0, got {factor!r}")


def class_factors(y: np.ndarray, class_weight: Any, known: np.ndarray) -> np.ndarray:
    """The factor of each sample's class: from a dict (1 for missing classes), or balanced on these data."""
    if class_weight is None:
        return np.ones(len(y))
    classes, inverse, counts = np.unique(y, return_inverse=True, return_counts=True)
    if isinstance(class_weight, str) and class_weight == "balanced":
        return (len(y) / (len(classes) * counts))[inverse]
    check_class_weight(class_weight, known)
    return np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])[inverse]


def as_data(X: Any, y: Any) -> tuple[Any, Any]:
    """X and y with lengths: generators become lists; empty data are refused."""
    X = X if hasattr(X, "shape") or hasattr(X, "__len__") else list(X)
    y = y if hasattr(y, "shape") or hasattr(y, "__len__") else list(y)
    if n_patterns(X) == 0:
        raise ValueError("the data set is empty; pass at least one example")
    if n_patterns(X) != n_patterns(y):
        raise ValueError(f"X has {n_patterns(X)} patterns but y has {n_patterns(y)} outputs")
    return X, y


def n_patterns(X: Any) -> int:
    return X.shape[0] if hasattr(X, "shape") else len(X)


def every(data: Any, k: int, n: int) -> Any:
    """Every n-th sample from the k-th on."""
    return data[k::n] if hasattr(data, "__getitem__") else list(data)[k::n]
