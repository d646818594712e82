"""Model files of the binary classifiers: parameters as JSON; classes, support vectors and state as arrays."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from structsvm.classifier_file import (
    COMMON,
    KERNELS,
    check_classes,
    check_diagonal,
    kept_parameters,
    saved_calibration,
    support_arrays,
    support_matrix,
    with_saved_calibration,
)
from structsvm.files.codec import POSITIVE, TINY, Array, Arrays, Field, Table, maybe, number, text, whole
from structsvm.files.persist import ModelFileError, consistent, load_model, save_model
from structsvm.options import check_options
from structsvm.validation import LARGEST_COUNT, MOST, check_class_weight

KIND = "binary-classifier"
FIELDS = COMMON + Table(
    Field("estimator", text(), "the name of the class"),
    Field("n_iter", whole(high=MOST), "the passes of the training", 0, always=True),
)
KERNEL_MACHINE = Table(
    Field("gamma", POSITIVE, "gamma of the kernel"),
    Field("n_labels", maybe(number()), "the examples whose labels active learning has used"),
)
MACHINE = Table(
    Field("state.", Arrays(), "the state of the machine"),
    Field("support", Arrays(), "the support vectors, dense or the data, indices and indptr of CSR"),
)
SGDQN = Table(
    Field("weights", Array(np.float64, "models", "inputs"), "the weights, with the intercept"),
    Field("scale", Array(np.float64, "models", "inputs", low=TINY), "the scale of each step"),
    Field("t0", Array(np.float64, "models", low=TINY), "where the gains begin"),
    Field("steps", Array(np.int64, "models", 4, low=0, high=LARGEST_COUNT), "the counters of the training"),
    Field("skip", whole(1, MOST), "the steps between two updates of the scale"),
    Field("longest", POSITIVE, "the largest norm of an example"),
)


def save_kernel_machine(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted kernel machine, or the machines of all classes with numbers before their names."""
    machines = model._machines()
    kept_parameters(model)  # before anything changes
    arrays: dict[str, np.ndarray] = {}
    for k, machine in enumerate(machines):
        machine.rows.forget()
        own = {"state.": machine.state(), "support": support_arrays(machine.rows.inputs.vectors())}
        arrays |= MACHINE.write(own, f"{k}." if len(machines) > 1 else "")[0]
    gamma = getattr(model, "estimators_", [model])[0].gamma_
    _, meta = KERNEL_MACHINE.write({"gamma": gamma, "n_labels": getattr(model, "n_labels_", None)})
    save(model, path, arrays, meta)


def load_kernel_machine(cls: type, path: str | os.PathLike[str]) -> Any:
    """Read what `save_kernel_machine` wrote."""
    return load(cls, path, rebuilt_kernel_machine)


def save(
    model: Any, path: str | os.PathLike[str], arrays: dict[str, np.ndarray], extra: dict[str, Any]
) -> None:
    """Write a model's parameters and classes with its arrays."""
    parameters = kept_parameters(model)
    weights = parameters.get("class_weight")
    if weights is not None and not isinstance(weights, str):  # JSON would make strings of its labels
        parameters["class_weight"] = [weights.get(label) for label in model.classes_.tolist()]
    own, meta = FIELDS.write({
        "classes": model.classes_, "estimator": type(model).__name__, "parameters": parameters,
        "n_features_in": model.n_features_in_, **saved_calibration(model),
        "n_iter": getattr(model, "n_iter_", 0),  # none in pickles of earlier versions
    })  # fmt: skip
    save_model(path, {**own, **arrays}, {"kind": KIND, **meta, **extra})


def load(cls: type, path: str | os.PathLike[str], rebuild: Any) -> Any:
    """Read a model file and rebuild the model, or raise ModelFileError."""
    arrays, meta = load_model(path)
    if meta.get("kind") != KIND or meta.get("estimator") != cls.__name__:
        found = meta.get("estimator", meta.get("kind"))
        raise ModelFileError(f"Model file {path} contains {found!r}, not {cls.__name__!r}.")
    with consistent(path, "classifier"):
        found = FIELDS.read(arrays, meta)
        return with_saved_calibration(rebuild(prepared(cls, found), arrays, meta), found)


def prepared(cls: type, found: dict[str, Any]) -> Any:
    """Return an estimator with checked parameters and classes, but without a machine."""
    classes, parameters = found["classes"], dict(found["parameters"])
    check_classes(classes)
    weights = parameters.get("class_weight")
    if isinstance(weights, list):
        pairs = zip(classes.tolist(), weights, strict=True)
        parameters["class_weight"] = {label: factor for label, factor in pairs if factor is not None}
        check_class_weight(parameters["class_weight"], classes)
    model = cls(**parameters)
    model._checked_classes(classes)
    check_options(model)
    model.n_iter_ = found["n_iter"]
    if found["n_features_in"] == 0:
        raise ValueError("n_features_in is 0")
    return model._prepared(np.zeros((0, found["n_features_in"])), classes)


def rebuilt_kernel_machine(model: Any, arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> Any:
    """Give a model its machine, or a machine for each class if there are more than two."""
    found = KERNEL_MACHINE.read(arrays, meta)
    if found["n_labels"] is not None:
        model.n_labels_ = found["n_labels"]
    if len(model.classes_) == 2:
        return rebuilt_machine(model, arrays, "", found["gamma"])
    width = np.zeros((0, model.n_features_in_))
    model.estimators_ = []
    for k in range(len(model.classes_)):
        one = model._against_the_rest(width)
        one.n_iter_ = model.n_iter_
        model.estimators_.append(rebuilt_machine(one, arrays, f"{k}.", found["gamma"]))
    return model


def rebuilt_machine(model: Any, arrays: dict[str, np.ndarray], prefix: str, gamma: float) -> Any:
    """Give a binary model the machine whose arrays have this prefix."""
    if model.kernel not in KERNELS:
        raise ValueError(f"kernel is {model.kernel!r}")
    own = MACHINE.read(arrays, {}, prefix)
    state, sizes = own["state."], dict[str, int]()
    for name, value in model._machine(model._inputs(np.zeros((1, 1)), 1.0), 0).state().items():
        whole_state = name in ("scalars", "counters", "rng")
        shape = value.shape if whole_state else ("primals" if name == "primals" else "support",)
        Array(value.dtype.type, *shape).check(state[name], f"state.{name}", sizes)
    alpha, y, upper = state["alpha"], state["y"], state["upper"]
    Array(np.int64, "counters", low=0, high=LARGEST_COUNT).check(state["counters"], "state.counters", sizes)
    if not np.all(np.isin(y, (-1, 1))) or np.any(upper <= 0):
        raise ValueError("the labels or bounds of the support vectors are impossible")
    if np.any(alpha * y < 0) or (model._bounded and np.any(np.abs(alpha) > upper)):
        raise ValueError("coefficients are outside their bounds")
    support = support_matrix(own["support"], len(alpha), model.n_features_in_)
    check_diagonal(state["diagonal"], support, model, gamma)
    model.gamma_ = gamma
    model.machine_ = model._rebuilt(state, support, support.dtype)
    return model
