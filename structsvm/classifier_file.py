"""Model files of `LaRankClassifier`: parameters as JSON; classes, support patterns and the dual as arrays."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from structsvm._dual.linear import LinearDual
from structsvm._scipy import sparse
from structsvm.files.budget import check_budget, padding
from structsvm.files.codec import (
    POSITIVE,
    TINY,
    Array,
    Arrays,
    Field,
    Kind,
    Table,
    items,
    mapped,
    maybe,
    number,
    whole,
)
from structsvm.files.persist import consistent, load_model, save_model
from structsvm.kernels.functions import squared_norms
from structsvm.optimizers.kernel import KernelLaRank
from structsvm.options import check_options
from structsvm.validation import LARGEST, LARGEST_COUNT, check_class_weight, check_sparse

KIND = Kind("larank-classifier", "classifier", "use LaRankClassifier.save")
PAIR = 32  # bytes for each pair of classes: the losses and the features of the outputs, and their copies
ARRAY_PARAMETERS = ("loss", "output_features")
KERNELS = ("linear", "rbf", "poly")  # those that a file can name
OF_KERNELS = ("gamma", "degree", "coef0", "cache_size")

COMMON = Table(
    Field("classes", Array(None, "classes"), "the labels of the classes, sorted"),
    Field("parameters", mapped(), "the options of the classifier"),
    Field("n_features_in", whole(high=2**63 - 1), "the number of features"),
    Field(
        "temperature", maybe(POSITIVE), "of calibrated probabilities; null without calibration", None, True
    ),
    Field("offsets", items(number(-LARGEST, LARGEST)), "of the scores of the classes, if calibrated", None),
)
FIELDS = COMMON + Table(
    Field("parameter.", Arrays(), "the options `loss` and `output_features`, if they were given"),
    Field("class_weight.", Arrays(), "the labels and the factors of `class_weight`, if it is a dict"),
    Field("epochs_done", whole(high=2**63 - 1), "the passes so far"),
    Field("seed", whole(high=2**63 - 1), "the state of the random numbers"),
    Field("rates", Array(np.float64, 3, low=TINY), "the rates of LaRank's adaptive schedule", None),
)
LINEAR = Table(
    Field("gamma", maybe(POSITIVE), "null"),
    Field("dual.", Arrays(), "the weights and the state of the dual"),
    Field("rows.", Arrays(), "the support patterns"),
)
KERNEL = Table(
    Field("gamma", POSITIVE, "gamma of the kernel"),
    Field("dual.beta", Array(np.float64, "support", "classes"), "the coefficients"),
    Field("dual.scores", Array(np.float64, "support", "classes"), "the scores of the support patterns"),
    Field("dual.labels", Array(np.intp, "support"), "the classes of the support patterns"),
    Field("dual.upper", Array(np.float64, "support", low=TINY), "the bounds of the coefficients"),
    Field("dual.diagonal", Array(np.float64, "support"), "the kernel of each pattern with itself"),
    Field("dual.counters", Array(np.int64, 3, low=0, high=LARGEST_COUNT), "the counters of the training"),
    Field("dual.objective", Array(np.float64, 2), "the value of the dual"),
    Field("dual.rng", Array(np.uint64, 1), "the state of the random numbers"),
    Field("support", Arrays(), "the support patterns, dense or the data, indices and indptr of CSR"),
)


def save_classifier(classifier: Any, path: str | os.PathLike[str], *, training_state: bool) -> None:
    """Write a fitted classifier; see `LaRankClassifier.save`."""
    optimizer = classifier._fitted_optimizer()
    fitted, parameters = classifier._fitted_params, kept_parameters(classifier)
    weights, weight_arrays = fitted["class_weight"], {}
    if weights is not None and not isinstance(weights, str):  # JSON would make strings of its labels
        named = [k for k, label in enumerate(classifier.classes_.tolist()) if label in weights]
        parameters["class_weight"] = None
        labels = classifier.classes_[named]
        factors = np.array([weights[label] for label in labels.tolist()], dtype=np.float64)
        weight_arrays = {"labels": labels, "factors": factors}
    arrays, meta = FIELDS.write({
        "classes": classifier.classes_, "parameters": parameters, "n_features_in": classifier.n_features_in_,
        "epochs_done": optimizer.epochs_done, "seed": optimizer._seed, "rates": optimizer._rates,
        "class_weight.": weight_arrays, **saved_calibration(classifier),
        "parameter.": {name: np.asarray(fitted[name], dtype=np.float64)
                       for name in ARRAY_PARAMETERS if fitted[name] is not None},
    })  # fmt: skip
    machine = optimizer._fitted()
    if isinstance(optimizer, KernelLaRank):
        dual, rows = optimizer.__getstate__()["_saved"]
        own = {f"dual.{name}": value for name, value in dual.items()}
        more = KERNEL.write(own | {"gamma": optimizer.gamma, "support": support_arrays(rows["support"])})
    else:
        light = not training_state and isinstance(machine, LinearDual)  # otherwise w is in many shards
        dual = machine.state(False) if light else machine.state()
        if not training_state:
            dual = without_support(dual)
        rows = machine.oracle.rows(dual["slots"])
        dual["slots"] = np.arange(len(dual["slots"]))  # their memory layout must not affect the file
        more = LINEAR.write({"gamma": None, "dual.": dual, "rows.": rows})
    arrays |= more[0]
    arrays |= padding(arrays, table_bytes(fitted, classifier.classes_))
    save_model(path, arrays, {"kind": KIND.name, **meta, **more[1]})


def kept_parameters(model: Any) -> dict[str, Any]:
    """The options that a file keeps; ValueError for a kernel or classes that it cannot hold."""
    fitted, classes = model._fitted_params, model.classes_
    kernel = fitted.get("kernel", "linear")
    if not isinstance(kernel, str) or kernel not in KERNELS:
        raise ValueError("only classifiers with a built-in kernel can be saved; use linear, rbf or poly")
    if classes.dtype.kind not in "biufUS":
        raise ValueError(f"classes of type {classes.dtype} cannot be saved; use numbers or strings")
    kept = {name: value for name, value in fitted.items() if model.OPTIONS[name].kept}
    if not isinstance(kept["random_state"], (int, np.integer, type(None))):
        kept["random_state"] = None
    return kept


def load_classifier(cls: type, path: str | os.PathLike[str]) -> Any:
    """Read a classifier; see `LaRankClassifier.load`."""
    arrays, meta = load_model(path)
    KIND.check(path, meta)
    with consistent(path, KIND.what):
        return rebuilt(cls, arrays, meta)


def rebuilt(cls: type, arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> Any:
    """The classifier of a file; everything that could crash or hang compiled code is checked first."""
    found = FIELDS.read(arrays, meta)
    classes, n_features = found["classes"], found["n_features_in"]
    parameters = found["parameters"] | {name: found["parameter."].get(name) for name in ARRAY_PARAMETERS}
    if weights := found["class_weight."]:
        pairs = zip(weights["labels"].tolist(), weights["factors"].tolist(), strict=True)
        parameters["class_weight"] = dict(pairs)
    classifier = cls(**parameters)
    check_options(classifier, unused=OF_KERNELS if classifier.kernel == "linear" else ())
    if classifier.kernel not in KERNELS:
        raise ValueError(f"kernel is {classifier.kernel!r}")
    check_classes(classes)
    check_budget(arrays, table_bytes(parameters, classes))
    weight = classifier.class_weight
    if weight is not None and not (isinstance(weight, str) and weight == "balanced"):
        check_class_weight(weight, classes)
    linear = classifier.kernel == "linear"
    if linear:
        _, dual, rows = LINEAR.read(arrays, meta).values()
        Array(np.float64, len(rows["indices"])).check(rows["data"], "rows.data", {})
        if dual["weights"].size < n_features:  # before they are allocated
            raise ValueError("dual.weights are too few")
    else:
        gamma, *more, support = KERNEL.read(arrays, meta, classes=len(classes)).values()
        dual = dict(
            zip((field.name.removeprefix("dual.") for field in KERNEL.fields[1:-1]), more, strict=True)
        )
        rows = {"support": support_matrix(support, len(dual["labels"]), n_features)}
        check_diagonal(dual["diagonal"], rows["support"], classifier, gamma)
    # A sparse file may have more columns than memory has room for in a single row.
    X = sparse.csr_array((1, n_features)) if "support.data" in arrays else np.zeros((1, n_features))
    optimizer = classifier._optimizer(X, classes)
    optimizer.validate()
    optimizer.problem.prepare(X, classes[:1])
    if linear:
        Array(np.float64, optimizer.problem.n_features).check(dual["weights"], "dual.weights", {})
    state = dict(
        optimizer.__getstate__(),
        curve_=[],
        elapsed=0.0,
        epochs_done=found["epochs_done"],
        _seed=found["seed"],
        _saved=(dual, rows),
    )
    if found["rates"] is not None:
        # A ratio far below the others would leave its step undrawn for hours.
        state["_rates"] = np.maximum(found["rates"], 1e-6 * found["rates"].max())
    if not linear:
        state["gamma"] = gamma
    optimizer.__setstate__(state)
    return with_saved_calibration(classifier._adopt(optimizer, X), found)


def table_bytes(parameters: dict[str, Any], classes: np.ndarray) -> int:
    """The size of the tables of classes: quadratic only if the caller gave losses or output features."""
    quadratic = any(parameters[name] is not None for name in ARRAY_PARAMETERS)
    return PAIR * len(classes) ** (2 if quadratic else 1)


def saved_calibration(classifier: Any) -> dict[str, Any]:
    """The temperature and offsets of probabilities, for a file."""
    if not hasattr(classifier, "temperature_"):
        return {"temperature": None, "offsets": None}
    return {"temperature": classifier.temperature_, "offsets": classifier.offsets_.tolist()}


def with_saved_calibration(classifier: Any, found: dict[str, Any]) -> Any:
    """Give a classifier the calibration of its file, if the file has one; older files have no offsets."""
    if found["temperature"] is not None:
        n_classes = len(classifier.classes_)
        offsets = np.array(found["offsets"] or n_classes * [0.0], dtype=np.float64)
        Array(np.float64, n_classes).check(offsets, "offsets", {})
        classifier.temperature_, classifier.offsets_ = found["temperature"], offsets
    return classifier


def check_classes(classes: np.ndarray) -> None:
    """Reject classes that no classifier has."""
    if classes.dtype.kind not in "biufUS" or not np.array_equal(np.unique(classes), classes):
        raise ValueError("classes are not sorted labels")


def check_diagonal(diagonal: np.ndarray, support: Any, model: Any, gamma: float) -> None:
    """Reject kernel values of patterns with themselves that the patterns do not have."""
    expected = np.ones(support.shape[0])
    if model.kernel != "rbf":
        expected = squared_norms(support.astype(np.float64))
        if model.kernel == "poly":
            expected = (gamma * expected + model.coef0) ** model.degree
    if not np.allclose(diagonal, expected, rtol=1e-3, atol=1e-3):
        raise ValueError("the diagonal is not the kernel of the support patterns")


def without_support(dual: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return a dual with weights but without support patterns: enough to predict or to train on new data."""
    kept = ("weights", "counters", "objective", "rng")
    return {name: value if name in kept else value[:0] for name, value in dual.items()}


def support_arrays(support: Any) -> dict[str, np.ndarray]:
    """The arrays of support patterns, by the ends of their names."""
    if not sparse.issparse(support):
        return {"": support}
    return {".data": support.data, ".indices": support.indices, ".indptr": support.indptr}


def support_matrix(support: dict[str, np.ndarray], n: int, n_features: int) -> Any:
    """Return n checked support patterns; without any, a forged file could claim any width."""
    matrix: Any = support.get("")
    if matrix is None:
        parts = (support[".data"], support[".indices"], support[".indptr"])
        matrix = sparse.csr_array(parts, shape=(len(parts[2]) - 1, n_features))
        check_sparse(matrix, "support")
    if matrix.dtype not in (np.float32, np.float64) or matrix.shape != (n, n_features) or n == 0:
        raise ValueError(f"support has type {matrix.dtype} and shape {matrix.shape}")
    return matrix
