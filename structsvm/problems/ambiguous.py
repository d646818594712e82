"""Ambiguous supervision: each row of X has a bag of labels, only one of which is right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from structsvm.problems.multiclass import LinearInputs
from structsvm.validation import check_matrix


class AmbiguousBags(LinearInputs):
    """Rank every label of a bag above every label outside it (the mean pairwise hinge of Bordes' thesis,
    6.1).

    The loss of a pattern is max_c Delta(c) - <w, Psi(c)>, with c choosing among the |bag| |rest| pairs of
    labels; `PassiveAggressive` on it is Algorithm 23 (one dual step per pattern), `LaRank` adds
    reprocessing. A bag that is empty or contains every label carries no information and is skipped.
    """

    def __init__(self, *, classes: Sequence[Any] | None = None, fit_intercept: bool = False) -> None:
        super().__init__(classes, fit_intercept)

    def prepare(self, X: Any, y: Any) -> None:
        X = check_matrix(X)
        check_bags(y)
        given = [label for bag in y for label in bag] if self.classes is None else list(self.classes)
        classes = np.unique(np.asarray(given))
        if len(classes) < 2:
            raise ValueError(f"{len(classes)} distinct label(s) in the bags; at least two are needed")
        self.set_inputs(X)
        self.classes_ = classes
        self.n_features = self.n_inputs * len(classes)

    def oracle(self) -> Any:
        from structsvm.problems._ambiguous import AmbiguousOracle

        return AmbiguousOracle(self, self.n_inputs, len(self.classes_))

    def encode_outputs(self, y: Any) -> tuple[np.ndarray, np.ndarray]:
        check_bags(y)
        bags = [
            np.unique(self.encode_labels(np.asarray(list(bag)))) if len(bag) else np.empty(0, np.int32)
            for bag in y
        ]
        pointers = np.append(0, np.cumsum([len(bag) for bag in bags], dtype=np.int64))
        return pointers, np.concatenate([np.empty(0, np.int32), *bags])

    def joint_feature(self, x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Phi of a single label, for its score; training compares bags, see `oracle`."""
        row = self.encode_inputs(self.checked(np.reshape(x, (1, -1))))
        return row.indices.astype(np.int64) * len(self.classes_) + self.encode_labels([y])[0], row.data

    def candidates(self, x: Any) -> np.ndarray:
        return self.classes_


def check_bags(y: Any) -> None:
    """Reject plain labels instead of bags: a string would be treated as a bag of letters."""
    for position, bag in enumerate(y):
        if isinstance(bag, (str, bytes)) or not hasattr(bag, "__len__"):
            raise ValueError(
                f"y[{position}] = {bag!r} is not a bag of labels; pass a list or a set for each pattern"
            )
