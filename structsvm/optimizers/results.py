"""`Results`: what an optimizer has learned. Nothing here changes the model."""

from __future__ import annotations

from typing import cast

import numpy as np

from structsvm._dual.dual import Dual
from structsvm.files.sparse_weights import CELL, SparseRows
from structsvm.guard import reads, training
from structsvm.machine import Inputs, Machine, Outputs, Places, SampleWeight
from structsvm.optimizers.options import OptimizerOptions
from structsvm.spaces.base import Space
from structsvm.spaces.linear import LINEAR
from structsvm.validation import as_data, check_sample_weight, n_patterns

READ = 1 << 18  # weights to read at a time, because a copy of all of them is large
NO_SLOTS, NO_WEIGHTS = np.empty(0, np.intp), np.empty(0)


class NotFittedError(ValueError, AttributeError):
    """A method was called that needs a trained model."""


class Results(OptimizerOptions):
    """The machine of an optimizer and its training set, and what they say about the model."""

    _machine: Machine = None  # type: ignore[assignment]  # until there are data or weights
    _held, _weight = NO_SLOTS, NO_WEIGHTS  # the training set: slots of the machine

    @property
    def _space(self) -> Space:
        """Where w is stored."""
        return LINEAR

    def _dual(self) -> Dual:
        """The machine, if it has a dual; the schedules of LaRank and SVMstruct check that."""
        return cast(Dual, self._machine)

    @property
    def is_started(self) -> bool:
        """Whether the optimizer can predict, because it has seen data or `start_from` has set its weights."""
        return self._machine is not None

    @property
    def holds_data(self) -> bool:
        """Whether the training set is available, as after `fit` but not after `partial_fit`."""
        return len(self._held) > 0

    @reads
    def predict(self, X: Inputs) -> Outputs:
        """The best output for each pattern."""
        return self._space.predict(self.problem, self._fitted(), X)

    @property
    @reads
    def weights_(self) -> np.ndarray:
        """A copy of w."""
        return self._fitted().weights.copy()

    @reads
    def weights_at(self, places: Places) -> np.ndarray:
        """Some entries of w, without copying the others; valid until the next training step."""
        return self._fitted().weights_at(places)

    @reads
    def weight_rows(self, n_rows: int, stride: int, n_labels: int) -> SparseRows:
        """The first rows of w in float32, `stride` weights each; rows beyond the end of w are empty."""
        blocks = self._fitted().blocks
        if blocks is not None:
            ptr, cells = blocks.rows(n_rows, stride, n_labels, CELL)
            return SparseRows(ptr, cells, n_labels).checked()
        end = min(self.n_weights_ // stride, n_rows)
        step = max(READ // stride, 1)
        parts = (
            self.weights_at(slice(start * stride, min(start + step, end) * stride)).reshape(-1, stride)
            for start in range(0, end, step)
        )
        return SparseRows.from_blocks(parts, n_rows, n_labels)

    @property
    @reads
    def n_weights_(self) -> int:
        """The length of w."""
        return self._fitted().n_weights

    def primal(self, X: Inputs = None, y: Outputs = None, sample_weight: SampleWeight = None) -> float:
        """||w||^2 / 2 + sum of C_i xi_i on the data of `fit`, or on the given data.

        With L2 slacks, the sum is over C_i xi_i^2 / 2. C is the value that the model was trained with.
        """
        machine = self._fitted()
        if (X is None) != (y is None):
            raise ValueError("pass both X and y, or neither for the data of fit")
        with training(self, nested=True):  # slacks are computed where training computes them
            if X is None or y is None:
                if not self.holds_data:
                    raise ValueError(
                        "no training data held (fit keeps it, partial_fit does not): pass X and y"
                    )
                return self._objective(machine.slacks(self._held), self._weight)
            self._check_other_data()
            data = as_data(X, y)
            weight = check_sample_weight(sample_weight, n_patterns(data[0]))
            slots = machine.oracle.add(*data)
            try:
                return self._objective(machine.slacks(slots), machine.oracle.slot_weights(slots, weight))
            finally:
                machine.oracle.discard(slots)

    def _check_other_data(self) -> None:
        """Raise ValueError if the machine cannot compute slacks of data that it was not trained on."""

    def _objective(self, xi: np.ndarray, weight: np.ndarray) -> float:
        """The primal, given all slacks."""
        machine = self._fitted()
        return float(machine.norm / 2 + machine.C * (weight @ (xi * xi / 2 if machine.squared else xi)))

    def gap(self, X: Inputs = None, y: Outputs = None, sample_weight: SampleWeight = None) -> float:
        """primal - dual: an upper bound on the distance of the dual from its optimum."""
        return self.primal(X, y, sample_weight) - self.dual_

    @property
    def dual_(self) -> float:
        """The dual objective; nan if the optimizer has none."""
        return float(self._fitted().dual)

    @property
    def n_support_patterns_(self) -> int:
        """The number of patterns with a non-zero coefficient in w."""
        return int(self._fitted().n_patterns)

    @property
    def n_support_vectors_(self) -> int:
        """The number of pairs (pattern, output) with a non-zero coefficient, true outputs included."""
        return int(self._fitted().n_vectors)

    @property
    def n_argmax_(self) -> int:
        """Calls of the argmax during training."""
        return int(self._fitted().n_argmax)

    def _fitted(self) -> Machine:
        if self._machine is None:
            raise NotFittedError(
                f"this {type(self).__name__} has seen no data; call fit or partial_fit first"
            )
        return self._machine
