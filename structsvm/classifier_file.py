"""Model files of `LaRankClassifier`: parameters as JSON; classes, support patterns and the dual as arrays."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from scipy import sparse

from structsvm.kernel_larank import KernelLaRank
from structsvm.persist import ModelFileError, load_model, save_model

KIND = "larank-classifier"
ARRAY_PARAMETERS = ("loss", "output_features")


def save_classifier(classifier: Any, path: str | os.PathLike[str], *, training_state: bool) -> None:
    """Write a fitted classifier; see `LaRankClassifier.save`."""
    optimizer = classifier._fitted_optimizer()
    if not isinstance(classifier.kernel, str) or classifier.kernel == "precomputed":
        raise ValueError("only classifiers with a kernel of our own can be saved: linear, rbf or poly")
    if classifier.classes_.dtype.kind not in "biufUS":
        raise ValueError(
            f"classes of type {classifier.classes_.dtype} cannot be saved: use numbers or strings"
        )
    parameters = {
        k: v for k, v in classifier.get_params().items() if k not in ("callback", *ARRAY_PARAMETERS)
    }
    if not isinstance(parameters["random_state"], (int, np.integer, type(None))):
        parameters["random_state"] = None
    saved = optimizer.__getstate__()
    arrays = {"classes": classifier.classes_}
    for name in ARRAY_PARAMETERS:
        if getattr(classifier, name) is not None:
            arrays[f"parameter.{name}"] = np.asarray(getattr(classifier, name), dtype=np.float64)
    if isinstance(optimizer, KernelLaRank):
        dual, _, support = saved["_saved"]
        arrays |= support_arrays(support)
    else:
        dual, rows = saved["_saved"]
        if not training_state:
            dual = without_support(dual)
            rows = optimizer._machine.oracle.rows(np.empty(0, np.intp))
        dual["slots"] = np.arange(len(dual["slots"]))  # which memory they lay in is nobody's business
        arrays |= {f"rows.{name}": value for name, value in rows.items()}
    arrays |= {f"dual.{name}": value for name, value in dual.items()}
    meta = {
        "kind": KIND,
        "parameters": parameters,
        "gamma": getattr(optimizer, "gamma", None),
        "n_features_in": classifier.n_features_in_,
        "epochs_done": optimizer._epochs_done,
        "seed": optimizer._seed,
    }
    if "_rates" in saved:
        arrays["rates"] = saved["_rates"]
    save_model(path, arrays, meta)


def load_classifier(cls: type, path: str | os.PathLike[str]) -> Any:
    """Read a classifier; see `LaRankClassifier.load`."""
    arrays, meta = load_model(path)
    if meta.get("kind") != KIND:
        raise ModelFileError(f"{path} is a structsvm model, but no classifier: it says {meta.get('kind')!r}.")
    try:
        return rebuilt(cls, arrays, meta)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ModelFileError(
            f"{path} does not hold a classifier that fits together ({error}): train it anew."
        ) from error


def rebuilt(cls: type, arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> Any:
    parameters = dict(meta["parameters"])
    for name in ARRAY_PARAMETERS:
        parameters[name] = arrays.get(f"parameter.{name}")
    classifier = cls(**parameters)
    n_features, classes = meta["n_features_in"], arrays["classes"]
    optimizer = classifier._optimizer(np.zeros((1, n_features)), classes)
    optimizer.problem.prepare(np.zeros((1, n_features)), classes[:1])
    dual = {name.removeprefix("dual."): value for name, value in arrays.items() if name.startswith("dual.")}
    state = dict(
        optimizer.__getstate__(),
        curve_=[],
        _elapsed=0.0,
        _epochs_done=meta["epochs_done"],
        _seed=meta["seed"],
    )
    if "rates" in arrays:
        state["_rates"] = arrays["rates"]
    if isinstance(optimizer, KernelLaRank):
        state["gamma"] = meta["gamma"]
        state["_saved"] = (dual, None, support_matrix(arrays, n_features))
    else:
        state["_saved"] = (
            dual,
            {k.removeprefix("rows."): v for k, v in arrays.items() if k.startswith("rows.")},
        )
    optimizer.__setstate__(state)
    return classifier._adopt(optimizer, np.zeros((1, n_features)))


def without_support(dual: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """A dual that has its weights but no support patterns: enough to predict or to go on with new data."""
    kept = ("weights", "counters", "objective", "rng")
    return {name: value if name in kept else value[:0] for name, value in dual.items()}


def support_arrays(support: Any) -> dict[str, np.ndarray]:
    if not sparse.issparse(support):
        return {"support": support}
    return {
        "support.data": support.data,
        "support.indices": support.indices,
        "support.indptr": support.indptr,
    }


def support_matrix(arrays: dict[str, np.ndarray], n_features: int) -> Any:
    if "support" in arrays:
        return arrays["support"]
    parts = (arrays["support.data"], arrays["support.indices"], arrays["support.indptr"])
    matrix = sparse.csr_array(parts, shape=(len(parts[2]) - 1, n_features))
    matrix.check_format(full_check=True)
    return matrix
