"""`tune`: choose C, or another option of a classifier, by one pass over the data (thesis 6.2.2)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from structsvm.options import fixed_options
from structsvm.validation import (
    check_count,
    check_matrix,
    check_sample_weight,
    check_seed,
    check_targets,
    class_factors,
)

C_VALUES = (0.01, 0.1, 1.0, 10.0, 100.0)


@dataclass(frozen=True)
class Tuning:
    """The result of `tune`.

    model: trained on all rows with the chosen value. value: this value. losses: the progressive loss of each
    value, in the order in which they were tried.
    """

    model: Any
    value: Any
    losses: dict[Any, float]


def tune(
    model: Any,
    X: Any,
    y: Any,
    values: Iterable[Any] = C_VALUES,
    *,
    parameter: str = "C",
    sample_weight: Any = None,
    blocks: int = 32,
) -> Tuning:
    """Choose the value of a parameter with the smallest progressive loss, and train with it.

    For each value, a copy of the model makes one pass over the rows, in the same random order. It predicts
    each block of rows before it learns from them with `partial_fit`, so every prediction but those of the
    first block counts, and no row is held out. The loss is the share of wrong predictions; class and sample
    weights count. Of values with equal losses, the first one is chosen.

    Parameters
    ----------
    model
        A classifier with `partial_fit`, such as LaRankClassifier, LaSVMClassifier, or SGDQNClassifier (with
        parameter="lam"); it does not change.
    parameter
        Not one that may change between two calls of `partial_fit`, such as epochs, random_state or
        class_weight.
    blocks
        The number of blocks, at least 2.
    """
    tried, parameters = list(values), model.get_params()
    if parameter not in parameters:
        raise ValueError(f"{type(model).__name__} has no parameter {parameter!r}")
    if parameter not in fixed_options(model):
        raise ValueError(f"one pass of partial_fit cannot compare values of {parameter}; cross-validate them")
    if not tried:
        raise ValueError("values is empty; pass at least one value to try")
    check_count(blocks=blocks, low=2)
    X = check_matrix(X, owner=type(model).__name__)
    y = check_targets(y, X.shape[0])
    if len(y) < blocks:
        raise ValueError(f"tune needs a row for each of {blocks} blocks, got {len(y)} rows; lower blocks")
    weight = check_sample_weight(sample_weight, len(y))
    changed = {"class_weight": None, "probability": False, "callback": None, "random_state": 0}
    plain = parameters | {name: value for name, value in changed.items() if name in parameters}
    factors = weight * class_factors(y, parameters.get("class_weight"), np.unique(y))
    order = np.random.default_rng(check_seed(parameters.get("random_state", 0))).permutation(len(y))
    losses = {
        value: progressive_loss(
            type(model)(**plain | {parameter: value}), X, y, factors, np.array_split(order, blocks)
        )
        for value in tried
    }
    best = min(losses, key=losses.__getitem__)
    final = type(model)(**parameters | {parameter: best})
    return Tuning(final.fit(X, y, sample_weight=sample_weight), best, losses)


def progressive_loss(
    learner: Any, X: Any, y: np.ndarray, weight: np.ndarray, parts: list[np.ndarray]
) -> float:
    """The share of wrong predictions of all parts but the first, each made before learning from the part."""
    wrong = total = 0.0
    for k, part in enumerate(parts):
        if k:
            wrong += float(weight[part] @ (learner.predict(X[part]) != y[part]))
            total += float(weight[part].sum())
        if weight[part].any():  # a part without weight teaches nothing
            learner.partial_fit(X[part], y[part], classes=np.unique(y), sample_weight=weight[part])
    if total == 0:
        raise ValueError("only rows of the first block have a sample weight above 0; pass fewer blocks")
    return wrong / total
