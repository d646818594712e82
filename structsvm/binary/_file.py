"""Model files of the binary classifiers: parameters as JSON; classes, support vectors and state as arrays."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from structsvm.classifier_file import (
    check_array,
    in_range,
    saved_calibration,
    support_arrays,
    support_matrix,
    with_saved_calibration,
)
from structsvm.files.persist import ModelFileError, consistent, load_model, save_model
from structsvm.kernels.functions import squared_norms
from structsvm.validation import LARGEST, NUMBERS, check_class_weight, check_count, check_positive

KIND = "binary-classifier"
KERNELS = ("linear", "rbf", "poly")  # kernels that a file can name


def save_kernel_machine(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted kernel machine, or the machines of all classes with numbers before their names."""
    machines, fitted = model._machines(), model._fitted_params
    if not isinstance(fitted["kernel"], str) or fitted["kernel"] not in KERNELS:
        raise ValueError("only classifiers with a built-in kernel can be saved; use linear, rbf or poly")
    arrays: dict[str, np.ndarray] = {}
    for number, machine in enumerate(machines):
        machine.rows.forget()
        own = {f"state.{name}": value for name, value in machine.state().items()}
        own |= support_arrays(machine.rows.inputs.vectors())
        prefix = f"{number}." if len(machines) > 1 else ""
        arrays |= {prefix + name: value for name, value in own.items()}
    gamma = getattr(model, "estimators_", [model])[0].gamma_
    save(model, path, arrays, {"gamma": gamma, "n_labels": getattr(model, "n_labels_", None)})


def load_kernel_machine(cls: type, path: str | os.PathLike[str]) -> Any:
    """Read what `save_kernel_machine` wrote."""
    return load(cls, path, rebuilt_kernel_machine)


def save(
    model: Any, path: str | os.PathLike[str], arrays: dict[str, np.ndarray], extra: dict[str, Any]
) -> None:
    """Write a model's parameters and classes with its arrays."""
    if model.classes_.dtype.kind not in "biufUS":
        raise ValueError(f"classes of type {model.classes_.dtype} cannot be saved; use numbers or strings")
    parameters = dict(model._fitted_params)
    if not isinstance(parameters["random_state"], (int, np.integer, type(None))):
        parameters["random_state"] = None
    weights = parameters.get("class_weight")
    if weights is not None and not isinstance(weights, str):  # JSON would make strings of its labels
        parameters["class_weight"] = [weights.get(label) for label in model.classes_.tolist()]
    meta = {
        "kind": KIND,
        "estimator": type(model).__name__,
        "parameters": parameters,
        "n_features_in": model.n_features_in_,
        "n_iter": getattr(model, "n_iter_", 0),  # none in pickles of earlier versions
        **saved_calibration(model),
    }
    save_model(path, {"classes": model.classes_, **arrays}, {**meta, **extra})


def load(cls: type, path: str | os.PathLike[str], rebuild: Any) -> Any:
    """Read a model file and rebuild the model, or raise ModelFileError."""
    arrays, meta = load_model(path)
    if meta.get("kind") != KIND or meta.get("estimator") != cls.__name__:
        found = meta.get("estimator", meta.get("kind"))
        raise ModelFileError(f"Model file {path} contains {found!r}, not {cls.__name__!r}.")
    with consistent(path, "classifier"):
        return with_saved_calibration(rebuild(prepared(cls, arrays, meta), arrays, meta), meta)


def prepared(cls: type, arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> Any:
    """Return an estimator with checked parameters and classes, but without a machine."""
    classes, parameters = arrays["classes"], dict(meta["parameters"])
    sorted_labels = classes.ndim == 1 and np.array_equal(np.unique(classes), classes)
    if classes.dtype.kind not in "biufUS" or not sorted_labels:
        raise ValueError("classes are not sorted labels")
    if type(meta["n_features_in"]) is not int or not 0 < meta["n_features_in"] < 2**63:
        raise ValueError(f"n_features_in is {meta['n_features_in']!r}")
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not float(np.abs(array).max(initial=0)) <= LARGEST:
            raise ValueError(f"{name} contains NaN, infinity or a value that is too large")
    weights = parameters.get("class_weight")
    if isinstance(weights, list):
        pairs = zip(classes.tolist(), weights, strict=True)
        parameters["class_weight"] = {label: factor for label, factor in pairs if factor is not None}
        check_class_weight(parameters["class_weight"], classes)
    model = cls(**parameters)
    model._checked_classes(classes)
    model._check_parameters()
    model.n_iter_ = meta.get("n_iter", 0)  # files of earlier versions have none
    check_count(n_iter=model.n_iter_)
    return model._prepared(np.zeros((0, meta["n_features_in"])), classes)


def rebuilt_kernel_machine(model: Any, arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> Any:
    """Give a model its machine, or a machine for each class if there are more than two."""
    if len(model.classes_) == 2:
        return rebuilt_machine(model, arrays, meta)
    width = np.zeros((0, meta["n_features_in"]))
    model.estimators_ = []
    for number in range(len(model.classes_)):
        prefix = f"{number}."
        own = {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
        one = model._against_the_rest(width)
        one.n_iter_ = model.n_iter_
        model.estimators_.append(rebuilt_machine(one, own, meta | {"n_labels": None}))
    if meta["n_labels"] is not None:
        model.n_labels_ = checked_count(meta["n_labels"])
    return model


def checked_count(value: Any) -> Any:
    if not isinstance(value, NUMBERS):
        raise ValueError(f"n_labels is {value!r}")
    return value


def rebuilt_machine(model: Any, arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> Any:
    if model.kernel not in KERNELS:
        raise ValueError(f"kernel is {model.kernel!r}")
    check_positive(gamma=meta["gamma"])
    state = {k.removeprefix("state."): v for k, v in arrays.items() if k.startswith("state.")}
    n, fresh = len(state["alpha"]), model._machine(model._inputs(np.zeros((1, 1)), 1.0), 0)
    for name, value in fresh.state().items():
        shape = value.shape if name in ("scalars", "counters", "rng") else (n,)
        shape = state[name].shape[:1] if name == "primals" else shape
        check_array(arrays, f"state.{name}", value.dtype, shape)
    alpha, y, upper = state["alpha"], state["y"], state["upper"]
    if not np.all(np.isin(y, (-1, 1))) or np.any(upper <= 0) or not in_range(state["counters"]):
        raise ValueError("the labels, bounds or counters of the support vectors are impossible")
    if np.any(alpha * y < 0) or (model._bounded and np.any(np.abs(alpha) > upper)):
        raise ValueError("coefficients are outside their bounds")
    support = support_matrix(arrays, n, meta["n_features_in"])
    expected = np.ones(n)
    if model.kernel != "rbf":
        expected = squared_norms(support.astype(np.float64))
        if model.kernel == "poly":
            expected = (meta["gamma"] * expected + model.coef0) ** model.degree
    if not np.allclose(state["diagonal"], expected, rtol=1e-3, atol=1e-3):
        raise ValueError("state.diagonal is not the kernel of the support vectors")
    model.gamma_ = meta["gamma"]
    if meta["n_labels"] is not None:
        model.n_labels_ = checked_count(meta["n_labels"])
    model.machine_ = model._rebuilt(state, support, support.dtype)
    return model
