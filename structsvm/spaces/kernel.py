"""`KernelSpace`: w is a sum over support patterns of a multiclass problem, known by kernels of inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from structsvm._dual.kernel import KernelDual
from structsvm.kernels.functions import Kernel
from structsvm.machine import Inputs, Machine, Outputs, Patterns
from structsvm.problems.multiclass import best_columns
from structsvm.spaces.base import Space
from structsvm.validation import check_matrix, check_targets

NO_BATCHES = "the kernel values between two batches are missing; pass all data to fit"


@dataclass(frozen=True)
class KernelSpace(Space):
    """For `Multiclass` problems with margin rescaling, L1 slacks and a finite C.

    It stores the rows of kernel values of support patterns, and recomputes rows that it has evicted.
    """

    kernel: Kernel

    def oracle(self, problem: Any, *, rescaling: str, slack: str) -> Patterns:
        return KernelPatterns(problem, self.kernel)

    def machine(self, oracle: Any, *, C: float, tau: float, kappa: float, seed: int) -> Machine:
        return KernelDual(oracle, C=C, tau=tau, kappa=kappa, seed=seed, cache_mb=self.kernel.cache_size)

    def predict(self, problem: Any, machine: Any, X: Inputs) -> np.ndarray:
        X = self.checked(problem, X)
        places = best_columns(X, len(problem.classes_), machine.decision_function)
        classes: np.ndarray = problem.classes_[places]
        return classes

    def checked(self, problem: Any, X: Inputs) -> Any:
        return check_matrix(X, n_features=problem.n_inputs)

    def scores(self, problem: Any, machine: Any, X: Inputs) -> np.ndarray:
        scores: np.ndarray = machine.decision_function(X)
        return scores


class KernelPatterns(Patterns):
    """The patterns of a `KernelDual`: support patterns and the current batch of training data.

    `add` only stages a batch, so that bad data changes nothing; `take` makes it the current one.
    """

    n_weights, n_shards = 0, 1

    def __init__(self, problem: Any, kernel: Kernel) -> None:
        self.problem, self.kernel = problem, kernel
        self.inputs: Any = None
        self.staged: tuple[np.ndarray, Any, np.ndarray] | None = None  # slots, X, labels
        self.is_new = True  # the inputs were made for the staged batch
        self.counts = np.zeros(3)  # of `watch`: whether to count, how many, their loss

    def add(self, X: Inputs, y: Outputs) -> np.ndarray:
        X = check_matrix(X, n_features=self.problem.n_inputs)
        labels = self.problem.encode_labels(check_targets(y, X.shape[0]))
        if self.inputs is None:
            self.inputs = self.kernel.inputs(X)
        slots = np.arange(len(labels))
        self.staged = slots, X, labels
        return slots

    def discard(self, slots: np.ndarray) -> None:
        self.staged = None

    def slot_weights(self, slots: np.ndarray, sample_weight: np.ndarray) -> np.ndarray:
        return sample_weight

    def groups(self, slots: np.ndarray) -> None:
        return None

    def watch(self, on: bool) -> None:
        self.counts[:] = on, 0, 0

    def looks(self) -> tuple[float, ...]:
        return tuple(self.counts[1:].tolist())

    def rows(self, slots: np.ndarray) -> dict[str, Any]:
        gram = self.inputs.batch if self.kernel.is_precomputed else None
        return {"support": self.inputs.vectors(), "gram": gram}

    def add_rows(  # type: ignore[override]
        self, support: Any, gram: Any = None
    ) -> np.ndarray:
        """Store support patterns; given the matrix of a precomputed kernel, `support` are its rows."""
        n = support.shape[0]
        self.inputs = self.kernel.inputs(support if gram is None else gram)
        for position in range(n):
            self.inputs.insert(position, position if gram is None else support[position])
        if gram is None:
            self.inputs.begin(support[:0])
        self.is_new = False
        return np.arange(n)

    def take(self) -> np.ndarray:
        """Make the staged batch the current one; returns its labels."""
        _, X, labels = self.staged or ((), None, np.empty(0, np.intp))
        if not self.is_new:
            if self.kernel.is_precomputed:
                raise ValueError(f"a precomputed kernel cannot accept a second data set: {NO_BATCHES}")
            self.inputs.begin(X)
        self.staged, self.is_new = None, False
        return labels

    def release(self) -> None:
        """Release the current batch."""
        self.inputs.begin(self.inputs.batch[:0].copy())  # a view would keep the caller's data alive
