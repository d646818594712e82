"""`Machine` and `Patterns`: the interfaces between an optimizer and the model that it trains.

An operation that a machine cannot do raises `Unsupported`; every other member works for every machine. A
class of your own inherits the members that have a default here.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from structsvm._dual.blocks import Blocks


Inputs = Any  # a data set, as its problem takes it
Outputs = Any
SampleWeight = npt.ArrayLike | None  # a weight for each pattern; None: 1 for all
Rows = dict[str, Any]  # patterns, as arguments of `Patterns.add_rows`
Places = slice | np.ndarray


class Unsupported(TypeError, ValueError, AttributeError):
    """This kind of machine or problem cannot do what was asked."""


class Patterns(Protocol):
    """The pattern store of a machine, with numbered slots; every compiled `Oracle` implements it."""

    @property
    @abstractmethod
    def n_weights(self) -> int:
        """The length of w that the stored patterns need."""

    @property
    def n_shards(self) -> int:
        """The number of parts that own the patterns; only a store with several parts saves their owners."""
        return 1

    @abstractmethod
    def add(self, X: Inputs, y: Outputs) -> np.ndarray:
        """Store patterns and return their slots. Invalid data raises ValueError, and nothing is stored."""

    @abstractmethod
    def discard(self, slots: np.ndarray) -> None:
        """Free slots that were added but never admitted to a training set."""

    def slot_weights(self, slots: np.ndarray, sample_weight: np.ndarray) -> np.ndarray:
        """The weight of each slot, given the weight of each sample."""
        return sample_weight

    def groups(self, slots: np.ndarray) -> np.ndarray | None:
        """The starts of the groups of slots that an epoch visits together; None if any order will do."""
        return None

    def watch(self, on: bool) -> None:
        """Start counting predictions made before learning, from zero; or stop counting."""

    def looks(self) -> tuple[float, ...]:
        """The number of predictions counted since `watch`, the sum of their losses, and other counts."""
        return ()

    @abstractmethod
    def rows(self, slots: np.ndarray) -> Rows:
        """The stored patterns, as arguments of `add_rows`."""

    @abstractmethod
    def add_rows(self, **rows: Any) -> np.ndarray:
        """Store patterns again and return their slots."""


@runtime_checkable
class Machine(Protocol):
    """The part that an optimizer trains: a model, its training patterns and the basic training step.

    A machine with a dual maximises, over coefficients alpha of pairs (pattern, output),

        dual = sum_i,y alpha_i(y) Delta(y_i, y) - ||w||^2 / 2,   w = sum_i,y alpha_i(y) d_i(y)

    with alpha_i(y) >= 0 and sum_y alpha_i(y) <= C_i, for margin rescaling and L1 slacks; `Optimizer` has the
    other forms. A pattern with a coefficient above 0 is a support pattern.

    `Optimizer` needs nothing else: it feeds the machine slots in random order, epoch by epoch, and reads
    the results below. `LinearDual`, `GramDual`, `OneSlackDual`, `KernelDual`, `PerceptronWeights` and
    `Shards` are machines. All but the last two are also a `Dual`, whose finer steps the schedules of LaRank
    and SVMstruct combine. To write a new optimizer, write a subclass of `Machine`, return it from
    `Optimizer._new_machine`, and override `_visit` if visiting a pattern should do more than `visit`.
    """

    tau: float = 0.0  # a step needs a difference of gradients of more than tau

    # -- results --------------------------------------------------------------------------------

    @property
    @abstractmethod
    def oracle(self) -> Patterns:
        """Where the patterns are stored."""

    @property
    @abstractmethod
    def weights(self) -> np.ndarray:
        """w, as used for prediction; do not write to it. Unsupported if kernels represent it implicitly."""

    @property
    def n_weights(self) -> int:
        """The length of w."""
        return len(self.weights)

    def weights_at(self, places: Places) -> np.ndarray:
        """Some entries of w: those of a slice or of an array of indices."""
        entries: np.ndarray = self.weights[places]
        return entries

    @property
    def blocks(self) -> Blocks | None:
        """The non-zero blocks of w; None if w is one array."""
        return None

    @property
    @abstractmethod
    def norm(self) -> float:
        """||w||^2."""

    @property
    @abstractmethod
    def C(self) -> float:
        """The weight of the slacks."""

    @property
    @abstractmethod
    def squared(self) -> bool:
        """Whether slacks are squared."""

    @property
    @abstractmethod
    def dual(self) -> float:
        """The dual objective, nan if there is none."""

    @property
    @abstractmethod
    def n_patterns(self) -> int:
        """The number of patterns with a non-zero coefficient in w."""

    @property
    @abstractmethod
    def n_vectors(self) -> int:
        """The number of pairs (pattern, output) with a non-zero coefficient in w."""

    @property
    @abstractmethod
    def n_argmax(self) -> int:
        """Calls of the argmax during training."""

    @property
    def block(self) -> int:
        """Patterns to pass to one call of `visit`; 0: any number."""
        return 0

    def primal_bound(self) -> float:
        """A lower bound of the primal, if there is one that costs less than the primal itself."""
        return -np.inf

    # -- training -------------------------------------------------------------------------------

    @abstractmethod
    def admit(self, slots: np.ndarray, sample_weight: np.ndarray) -> None:
        """Add slots to the training set.

        Requires: `oracle` has stored the slots; sample_weight has a finite weight of at least 0 for each.
        Ensures: C_i is C times the weight of slot i. w and the dual do not change.
        """

    @abstractmethod
    def dismiss(self, slots: np.ndarray) -> None:
        """Remove slots from the training set.

        Requires: the slots were admitted.
        Ensures: support patterns stay with their coefficients, and w and the dual do not change; the oracle
        can use the slots of all other patterns again.
        """

    @abstractmethod
    def visit(self, slots: np.ndarray) -> None:
        """Learn from slots, one after the other.

        Requires: the slots were admitted.
        Ensures: the coefficients stay feasible, and the dual does not decrease.
        """

    @abstractmethod
    def slacks(self, slots: np.ndarray, counted: bool = False) -> np.ndarray:
        """xi_i = max_y H_i(y) of each slot at the current w.

        Requires: `oracle` has stored the slots; they need not be admitted.
        Ensures: nothing changes, except that `counted` adds the calls of the argmax to `n_argmax`.
        """

    def forget_patterns(self, n: int) -> None:
        """Drop the first n support patterns, mostly the oldest; what they taught stays in w."""
        raise Unsupported(f"{type(self).__name__} cannot forget patterns")

    def forget_rows(self, row_of: np.ndarray, stride: int) -> None:
        """Drop rows of w, each `stride` long.

        Parameters
        ----------
        row_of
            The new number of each row, or -1.
        """
        raise Unsupported(f"{type(self).__name__} cannot forget features")

    # -- saved states ---------------------------------------------------------------------------

    @abstractmethod
    def start_from(self, weights: np.ndarray) -> None:
        """Set the weights of a machine that has learned nothing."""

    @abstractmethod
    def state(self) -> dict[str, np.ndarray]:
        """The learned state as arrays.

        Ensures: `restore` of an equal machine continues with the same steps. "slots" names the patterns that
        must be stored with it, if any.
        """

    @abstractmethod
    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Load a `state()`.

        Requires: the machine has learned nothing, and `oracle` has stored the patterns in the named slots.
        Ensures: results and further steps are those of the saved machine; ValueError if the arrays do not
        fit each other or the patterns.
        """
