"""What the optimizers share that are schedules over the dual: its machine, and how training goes on later."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from structsvm._dual.linear import LinearDual
from structsvm.optimizers.base import Optimizer
from structsvm.optimizers.curve import in_slices, n_patterns
from structsvm.validation import check_choice, check_positive, check_sample_weight


class DualOptimizer(Optimizer):
    """Base of the optimizers that are schedules over the dual.

    They all solve, with C_i = C times the sample weight,

        min_w  ||w||^2 / 2 + sum_i C_i xi_i,   xi_i = max_y H_i(y),   d_i(y) = Phi(x_i, y_i) - Phi(x_i, y)

        rescaling="margin": H_i(y) = Delta(y_i, y) - <w, d_i(y)>
        rescaling="slack":  H_i(y) = Delta(y_i, y) (1 - <w, d_i(y)>)

    and with slack="l2" C_i xi_i^2 / 2 for C_i xi_i and sqrt(Delta) for Delta, as in Tsochantaridis' thesis
    (whose C is ours times the number of examples).
    """

    C: float
    tau: float
    kappa: float
    rescaling: str
    slack: str

    def validate(self) -> None:
        check_positive(C=self.C, tau=self.tau, kappa=self.kappa)
        check_choice(rescaling=(self.rescaling, ("margin", "slack")), slack=(self.slack, ("l1", "l2")))

    def _configured(self, oracle: Any) -> Any:
        oracle.configure(rescaling=self.rescaling, slack=self.slack)
        return oracle

    def _new_machine(self, oracle: Any, seed: int) -> Any:
        return LinearDual(oracle, C=self.C, tau=self.tau, kappa=self.kappa, seed=seed)

    def _primal(self, slots: np.ndarray, weight: np.ndarray, *, counted: bool = False) -> float:
        machine = self._machine
        w, xi = machine.weights, np.concatenate([machine.slacks(part, counted) for part in in_slices(slots)])
        return float(w @ w / 2 + machine.C * (weight @ (xi * xi / 2 if machine.squared else xi)))

    @property
    def dual_(self) -> float:
        """The dual objective."""
        return float(self._fitted().dual)

    @property
    def n_support_patterns_(self) -> int:
        """Patterns with a non-zero coefficient."""
        return int(self._fitted().n_patterns)

    @property
    def n_support_vectors_(self) -> int:
        """Pairs (pattern, output) with a non-zero coefficient, true outputs included."""
        return int(self._fitted().n_outputs + self._fitted().n_patterns)

    @property
    def n_argmax_(self) -> int:
        """Calls of the loss-augmented argmax."""
        return int(self._fitted().n_argmax)

    def _saved(self) -> Any:
        dual = self._machine.state()
        return dual, self._machine.oracle.rows(dual["slots"])

    def _revived(self, saved: Any) -> Any:
        dual, rows = saved
        machine = self._new_machine(self._configured(self.problem.oracle()), 0)
        machine.grow(len(dual["weights"]))
        machine.restore(dict(dual, slots=machine.oracle.add_rows(**rows)))
        return machine

    def state(self) -> dict[str, np.ndarray]:
        """Arrays that `resume` takes up: the dual, its support patterns, and their places in the data set."""
        dual = self._fitted().state()
        rows = self._machine.oracle.rows(dual["slots"])
        place = np.full(max(dual["slots"].max(initial=-1), self._held.max(initial=-1)) + 1, -1, np.int64)
        place[self._held] = np.arange(len(self._held))
        state = {f"rows.{name}": value for name, value in rows.items() if value is not None}
        state |= {f"dual.{name}": value for name, value in dual.items() if name != "slots"}
        return state | {"place": place[dual["slots"]], **self._progress()}

    def resume(
        self, state: dict[str, np.ndarray], X: Any = None, y: Any = None, sample_weight: Any = None
    ) -> Self:
        """Go on from a `training_state`; given its data set, `epoch` goes on as if it had never ended."""
        self.validate()
        machine = self._new_machine(self._configured(self.problem.oracle()), 0)
        dual = {
            name.removeprefix("dual."): value for name, value in state.items() if name.startswith("dual.")
        }
        rows = {
            name.removeprefix("rows."): value for name, value in state.items() if name.startswith("rows.")
        }
        machine.grow(len(dual["weights"]))
        held, weight, place = np.empty(0, np.intp), np.empty(0), np.full(len(state["place"]), -1)
        if X is not None:
            held, place = machine.oracle.add(X, y), state["place"]
            weight = check_sample_weight(sample_weight, n_patterns(X))
        if len(place) and place.max() >= len(held):
            raise ValueError("the training state is that of another data set")
        gone = place < 0
        slots = np.empty(len(place), np.intp)
        slots[~gone] = held[place[~gone]]
        known = max(len(dual["weights"]), machine.oracle.n_weights)
        slots[gone] = machine.oracle.add_rows(**{"values": None, **rows, "places": rows["places"][gone]})
        if machine.oracle.n_weights > known:
            raise ValueError("the training state has features without weights")
        machine.restore(dict(dual, slots=slots))
        self._machine, self._held, self._weight = machine, np.empty(0, np.intp), np.empty(0)
        self._take(held, weight)
        self._set_progress(state)
        return self
