"""`warm_start`: a second `fit` on the same rows continues from the solution of the first."""

from __future__ import annotations

import hashlib
import warnings
from typing import Any

import numpy as np

from structsvm._scipy import sparse
from structsvm.validation import same_value


def fingerprint(X: Any, y: np.ndarray, weight: np.ndarray) -> str:
    """A checksum of checked data: equal only for the same numbers in the same order."""
    classes, places = np.unique(y, return_inverse=True)
    parts = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    digest = hashlib.blake2b(repr((X.shape, classes.tolist())).encode(), digest_size=16)
    for part in (*parts, places, weight):
        digest.update(str(part.dtype).encode())
        digest.update(np.ascontiguousarray(part).data.cast("B"))
    return digest.hexdigest()


def changed_parameter(model: Any, free: tuple[str, ...]) -> str | None:
    """A parameter that was changed since the last fit, except for those that may change."""
    changed = (
        name for name, value in model._fitted_params.items()
        if name not in free and not same_value(getattr(model, name), value)
    )  # fmt: skip
    return next(changed, None)


def can_continue(model: Any, rows: str, free: tuple[str, ...]) -> bool:
    """Whether `fit` with warm_start can continue on these rows; if a fitted model cannot, a warning says why.

    The model has the fingerprint of its rows in `_rows`, as long as it holds them.
    """
    if not model.__sklearn_is_fitted__():
        return False
    changed = changed_parameter(model, free)
    if getattr(model, "_rows", None) is None:
        reason = "the last training was not a fit with warm_start=True in this process"
    elif changed is not None:
        reason = f"{changed} was changed"
    elif model._rows != rows:
        reason = "X, y or the weights are not those of the last fit"
    else:
        return True
    warnings.warn(f"warm_start has no effect: {reason}; fit starts from scratch", UserWarning, stacklevel=4)
    return False
