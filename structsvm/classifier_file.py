"""Model files of `LaRankClassifier`: parameters as JSON; classes, support patterns and the dual as arrays."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from structsvm._dual.linear import LinearDual
from structsvm._scipy import sparse
from structsvm.files.budget import check_budget, padding
from structsvm.files.persist import ModelFileError, consistent, load_model, save_model
from structsvm.kernels.functions import squared_norms
from structsvm.optimizers.kernel import KernelLaRank
from structsvm.validation import LARGEST, LARGEST_COUNT, check_class_weight, check_positive, check_sparse

KIND = "larank-classifier"
PAIR = 32  # bytes for each pair of classes: the losses and the features of the outputs, and their copies
ARRAY_PARAMETERS = ("loss", "output_features")
KERNELS = ("linear", "rbf", "poly")  # those that a file can name


def save_classifier(classifier: Any, path: str | os.PathLike[str], *, training_state: bool) -> None:
    """Write a fitted classifier; see `LaRankClassifier.save`."""
    optimizer = classifier._fitted_optimizer()
    fitted = classifier._fitted_params
    if not isinstance(fitted["kernel"], str) or fitted["kernel"] not in KERNELS:
        raise ValueError("only classifiers with a built-in kernel can be saved; use linear, rbf or poly")
    if classifier.classes_.dtype.kind not in "biufUS":
        raise ValueError(
            f"classes of type {classifier.classes_.dtype} cannot be saved; use numbers or strings"
        )
    parameters = {k: v for k, v in fitted.items() if k not in (*ARRAY_PARAMETERS, "jobs")}
    if not isinstance(parameters["random_state"], (int, np.integer, type(None))):
        parameters["random_state"] = None
    arrays = {"classes": classifier.classes_}
    for name in ARRAY_PARAMETERS:
        if fitted[name] is not None:
            arrays[f"parameter.{name}"] = np.asarray(fitted[name], dtype=np.float64)
    weights = fitted["class_weight"]
    if weights is not None and not isinstance(weights, str):  # JSON would make strings of its labels
        named = [k for k, label in enumerate(classifier.classes_.tolist()) if label in weights]
        parameters["class_weight"] = None
        arrays["class_weight.labels"] = classifier.classes_[named]
        arrays["class_weight.factors"] = np.array(
            [weights[label] for label in classifier.classes_[named].tolist()], dtype=np.float64
        )
    machine = optimizer._fitted()
    if isinstance(optimizer, KernelLaRank):
        dual, rows = optimizer.__getstate__()["_saved"]
        arrays |= support_arrays(rows["support"])
    else:
        light = not training_state and isinstance(machine, LinearDual)  # otherwise w is in many shards
        dual = machine.state(False) if light else machine.state()
        if not training_state:
            dual = without_support(dual)
        rows = machine.oracle.rows(dual["slots"])
        dual["slots"] = np.arange(len(dual["slots"]))  # their memory layout must not affect the file
        arrays |= {f"rows.{name}": value for name, value in rows.items()}
    arrays |= {f"dual.{name}": value for name, value in dual.items()}
    meta = {
        "kind": KIND,
        "parameters": parameters,
        "gamma": getattr(optimizer, "gamma", None),
        "n_features_in": classifier.n_features_in_,
        "epochs_done": optimizer.epochs_done,
        "seed": optimizer._seed,
        **saved_calibration(classifier),
    }
    arrays["rates"] = optimizer._rates
    arrays |= padding(arrays, PAIR * len(classifier.classes_) ** 2)
    save_model(path, arrays, meta)


def load_classifier(cls: type, path: str | os.PathLike[str]) -> Any:
    """Read a classifier; see `LaRankClassifier.load`."""
    arrays, meta = load_model(path)
    if meta.get("kind") != KIND:
        raise ModelFileError(f"Model file {path} does not contain a classifier but {meta.get('kind')!r}.")
    with consistent(path, "classifier"):
        return rebuilt(cls, arrays, meta)


def rebuilt(cls: type, arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> Any:
    parameters = dict(meta["parameters"])
    for name in ARRAY_PARAMETERS:
        parameters[name] = arrays.get(f"parameter.{name}")
    if "class_weight.labels" in arrays:
        labels, factors = arrays["class_weight.labels"].tolist(), arrays["class_weight.factors"].tolist()
        parameters["class_weight"] = dict(zip(labels, factors, strict=True))
    classifier = cls(**parameters)
    n_features, classes = meta["n_features_in"], arrays["classes"]
    check_arrays(classifier, arrays, meta)
    # A sparse file may have more columns than memory has room for in a single row.
    X = sparse.csr_array((1, n_features)) if "support.data" in arrays else np.zeros((1, n_features))
    optimizer = classifier._optimizer(X, classes)
    optimizer.validate()
    optimizer.problem.prepare(X, classes[:1])
    if classifier.kernel == "linear":
        check_array(arrays, "dual.weights", np.float64, (optimizer.problem.n_features,))
    dual = {name.removeprefix("dual."): value for name, value in arrays.items() if name.startswith("dual.")}
    state = dict(
        optimizer.__getstate__(),
        curve_=[],
        elapsed=0.0,
        epochs_done=meta["epochs_done"],
        _seed=meta["seed"],
    )
    if "rates" in arrays:
        # A ratio far below the others would leave its step undrawn for hours.
        state["_rates"] = np.maximum(arrays["rates"], 1e-6 * arrays["rates"].max())
    if isinstance(optimizer, KernelLaRank):
        state["gamma"] = meta["gamma"]
        state["_saved"] = (dual, {"support": support_matrix(arrays, len(dual["labels"]), n_features)})
    else:
        state["_saved"] = (
            dual,
            {k.removeprefix("rows."): v for k, v in arrays.items() if k.startswith("rows.")},
        )
    optimizer.__setstate__(state)
    return with_saved_calibration(classifier._adopt(optimizer, X), meta)


def saved_calibration(classifier: Any) -> dict[str, Any]:
    """The temperature and offsets of probabilities, for a file."""
    if not hasattr(classifier, "temperature_"):
        return {"temperature": None}
    return {"temperature": classifier.temperature_, "offsets": classifier.offsets_.tolist()}


def with_saved_calibration(classifier: Any, meta: dict[str, Any]) -> Any:
    """Give a classifier the calibration of its file, if the file has one; older files have no offsets."""
    if meta.get("temperature") is not None:
        check_positive(temperature=meta["temperature"])
        n_classes = len(classifier.classes_)
        offsets = np.array(meta.get("offsets", n_classes * [0.0]), dtype=np.float64)
        if offsets.shape != (n_classes,) or not np.all(np.abs(offsets) <= LARGEST):
            raise ValueError(f"the offsets of probabilities are not {n_classes} finite numbers")
        classifier.temperature_, classifier.offsets_ = meta["temperature"], offsets
    return classifier


def check_arrays(classifier: Any, arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> None:
    """Reject arrays that would crash or hang compiled code; the linear dual and its rows check themselves."""
    classifier._check_options()
    if classifier.kernel != "linear":
        classifier._check_kernel()
    for name in ("n_features_in", "epochs_done", "seed"):
        if type(meta[name]) is not int or not 0 <= meta[name] < 2**63:
            raise ValueError(f"{name} is {meta[name]!r}")
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not float(np.abs(array).max(initial=0)) <= LARGEST:
            raise ValueError(f"{name} contains NaN, infinity or a value that is too large")
    classes, n_features = arrays["classes"], meta["n_features_in"]
    if (
        classes.dtype.kind not in "biufUS"
        or classes.ndim != 1
        or not np.array_equal(np.unique(classes), classes)
    ):
        raise ValueError("classes are not sorted labels")
    check_budget(arrays, PAIR * len(classes) ** 2)
    weight = classifier.class_weight
    if weight is not None and not (isinstance(weight, str) and weight == "balanced"):
        check_class_weight(weight, classes)
    if "rates" in arrays:
        check_array(arrays, "rates", np.float64, (3,))
        if np.any(arrays["rates"] < np.finfo(np.float64).tiny):
            raise ValueError("rates are not above 0")
    if classifier.kernel == "linear":
        check_array(arrays, "rows.data", np.float64, arrays["rows.indices"].shape)
        if arrays["dual.weights"].size < n_features:  # before they are allocated
            raise ValueError("dual.weights are too few")
        return
    if classifier.kernel not in KERNELS:
        raise ValueError(f"kernel is {classifier.kernel!r}")
    n, k = len(arrays["dual.labels"]), len(classes)
    shapes: dict[str, tuple[Any, tuple[int, ...]]] = {
        "beta": (np.float64, (n, k)), "scores": (np.float64, (n, k)), "labels": (np.intp, (n,)),
        "upper": (np.float64, (n,)), "diagonal": (np.float64, (n,)), "counters": (np.int64, (3,)),
        "objective": (np.float64, (2,)), "rng": (np.uint64, (1,)),
    }  # fmt: skip
    for name, (dtype, shape) in shapes.items():
        check_array(arrays, f"dual.{name}", dtype, shape)
    if np.any(arrays["dual.upper"] <= 0) or not in_range(arrays["dual.counters"]):
        raise ValueError("dual.upper or dual.counters are out of range")
    check_positive(gamma=meta["gamma"])
    support = support_matrix(arrays, n, n_features)
    expected = np.ones(n)
    if classifier.kernel == "poly":
        norms = squared_norms(support.astype(np.float64))
        expected = (meta["gamma"] * norms + classifier.coef0) ** classifier.degree
    if not np.allclose(arrays["dual.diagonal"], expected, rtol=1e-3, atol=1e-3):
        raise ValueError("dual.diagonal is not the kernel of the support patterns")


def check_array(arrays: dict[str, np.ndarray], name: str, dtype: Any, shape: tuple[int, ...]) -> None:
    array = arrays[name]
    if array.dtype != dtype or array.shape != shape:
        raise ValueError(f"{name} is of {array.dtype} and shape {array.shape}")


def in_range(counters: np.ndarray) -> bool:
    """Whether no counter is negative or near overflow."""
    return bool(np.all((counters >= 0) & (counters <= LARGEST_COUNT)))


def without_support(dual: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return a dual with weights but without support patterns: enough to predict or to train on new data."""
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


def support_matrix(arrays: dict[str, np.ndarray], n: int, n_features: int) -> Any:
    """Return n checked support patterns; without any, a forged file could claim any width."""
    if "support" in arrays:
        matrix: Any = arrays["support"]
    else:
        parts = (arrays["support.data"], arrays["support.indices"], arrays["support.indptr"])
        matrix = sparse.csr_array(parts, shape=(len(parts[2]) - 1, n_features))
        check_sparse(matrix, "support")
    if matrix.dtype not in (np.float32, np.float64) or matrix.shape != (n, n_features) or n == 0:
        raise ValueError(f"support has type {matrix.dtype} and shape {matrix.shape}")
    return matrix
