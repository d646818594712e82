"""`warm_start`: a second `fit` on the same rows continues from the solution of the first."""

from __future__ import annotations

import hashlib
import warnings
from typing import Any

import numpy as np

from structsvm._scipy import sparse
from structsvm.options import fixed_options, option
from structsvm.validation import same_value

CONTINUES = (
    "Whether a second `fit` on the same rows and weights continues with more epochs from the solution of the "
    "first. On other rows, or with other values of the options that are fixed when you resume training, it "
    "starts from scratch with a warning."
)
WARM_START = option(
    default=False,
    help=f"{CONTINUES} The model keeps a copy of its data until `partial_fit`; a copy of the model, a pickle "
    "or a file has no data.",
)


def fingerprint(X: Any, y: np.ndarray, weight: np.ndarray) -> str:
    """A checksum of checked data: equal only for the same numbers in the same order."""
    classes, places = np.unique(y, return_inverse=True)
    parts = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    digest = hashlib.blake2b(repr((X.shape, classes.tolist())).encode(), digest_size=16)
    for part in (*parts, places, weight):
        digest.update(str(part.dtype).encode())
        digest.update(np.ascontiguousarray(part).data.cast("B"))
    return digest.hexdigest()


def changed_option(model: Any) -> str | None:
    """An option that must not change when training resumes, but was changed since the last fit."""
    fixed = (name for name in fixed_options(model) if name in model._fitted_params)
    changed = (name for name in fixed if not same_value(getattr(model, name), model._fitted_params[name]))
    return next(changed, None)


def check_unchanged(model: Any) -> None:
    """Raise ValueError if `partial_fit` cannot continue, because an option was changed."""
    changed = changed_option(model)
    if changed is not None:
        raise ValueError(f"{changed} was changed since fit; call fit again")


def can_continue(model: Any, rows: str) -> bool:
    """Whether `fit` with warm_start can continue on these rows; if a fitted model cannot, a warning says why.

    The model has the fingerprint of its rows in `_rows`, as long as it holds them.
    """
    if not model.__sklearn_is_fitted__():
        return False
    changed = changed_option(model)
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
