"""`Machine`: the interface between an optimizer and the model that it trains."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np


class Patterns(Protocol):
    """The pattern store of a machine, with numbered slots; every compiled `Oracle` implements it.

    It may also count the predictions that are made before learning, for progressive scores: `watch(on)`
    starts counting from zero, or stops; `looks()` returns their number and the sum of their losses.
    """

    @property
    def n_weights(self) -> int:
        """The length of w that the stored patterns need."""

    def add(self, X: Any, y: Any) -> np.ndarray:
        """Store patterns and return their slots. Invalid data raises ValueError, and nothing is stored."""

    def discard(self, slots: np.ndarray) -> None:
        """Free slots that were added but never admitted to a training set."""

    def slot_weights(self, slots: np.ndarray, sample_weight: np.ndarray) -> np.ndarray:
        """The weight of each slot, given the weight of each sample."""

    def groups(self, slots: np.ndarray) -> np.ndarray | None:
        """The starts of the groups of slots that an epoch visits together; None if any order will do."""

    def rows(self, slots: np.ndarray) -> dict[str, Any]:
        """The stored patterns, as arguments of `add_rows`."""

    def add_rows(self, **rows: Any) -> np.ndarray:
        """Store patterns again and return their slots."""


@runtime_checkable
class Machine(Protocol):
    """The part that an optimizer trains: a model, its training patterns and the basic training step.

    `Optimizer` needs nothing else: it feeds the machine slots in random order, epoch by epoch, and reads
    the results below. `LinearDual`, `GramDual`, `OneSlackDual`, `KernelDual` and `PerceptronWeights` are
    machines. All but the last are also a `Dual`, whose finer steps the schedules of LaRank and SVMstruct
    combine. To write a new optimizer, write a machine, return it from `Optimizer._new_machine`, and override
    `_visit` if visiting a pattern should do more than `visit`.
    """

    @property
    def oracle(self) -> Patterns:
        """Where the patterns are stored."""

    @property
    def weights(self) -> np.ndarray | None:
        """w, as used for prediction; None if kernels represent it implicitly."""

    @property
    def norm(self) -> float:
        """||w||^2."""

    @property
    def C(self) -> float:
        """The weight of the slacks."""

    @property
    def squared(self) -> bool:
        """Whether slacks are squared."""

    @property
    def dual(self) -> float:
        """The dual objective, nan if there is none."""

    @property
    def n_patterns(self) -> int:
        """The number of patterns with a non-zero coefficient in w."""

    @property
    def n_vectors(self) -> int:
        """The number of pairs (pattern, output) with a non-zero coefficient in w."""

    @property
    def n_argmax(self) -> int:
        """Calls of the argmax during training."""

    @property
    def block(self) -> int:
        """Patterns to pass to one call of `visit`; 0: any number."""

    def admit(self, slots: np.ndarray, sample_weight: np.ndarray) -> None:
        """Add slots to the training set, with their weights."""

    def dismiss(self, slots: np.ndarray) -> None:
        """Remove slots from the training set; the machine keeps the support patterns."""

    def visit(self, slots: np.ndarray) -> None:
        """Learn from admitted slots, one after the other."""

    def slacks(self, slots: np.ndarray, counted: bool = False) -> np.ndarray:
        """xi of each slot, admitted or not; `counted` adds the calls of the argmax to `n_argmax`."""

    def start_from(self, weights: np.ndarray) -> None:
        """Set the weights of a machine that has learned nothing."""

    def state(self) -> dict[str, np.ndarray]:
        """The learned state as arrays; "slots" lists the patterns to keep with it, if any."""

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Load a `state()` into a new machine; `oracle` must hold the patterns in the slots named."""
