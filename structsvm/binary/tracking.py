"""`TrackingClassifier`: SVMs that follow the optimum of a growing data set, with a certificate."""

from __future__ import annotations

from typing import Any

import numpy as np

from structsvm.binary._base import CLASS_WEIGHT
from structsvm.binary._kernel_machine import KernelMachine
from structsvm.binary._tracking import Tracker
from structsvm.guard import reads
from structsvm.kernels.functions import Inputs
from structsvm.options import option, with_options

MOST_STEPS = 1_000_000  # the largest K; Ctrl-C waits for K steps


@with_options
class TrackingClassifier(KernelMachine):
    """The averaged tracking algorithms of section 4.4 of the thesis: Algorithm 16, or 15 without `process`.

        P_t(w) = ||w||^2 / 2 + C sum_{i <= t} max(0, 1 - y_i <w, Phi(x_i)>),      no bias

    After each example, the algorithm makes K dual coordinate steps on random examples seen so far; the
    classifier is the average over these steps. If k(x, x) <= 1 for all examples, then with mu(x) = sqrt(2 x)
    + x / C

        E[ mean over t of (P_t(w_t) - min P_t) / (C t) ]  <=  mu(E[D* - process_gain_] / (K T))

    where D* is the optimum after T examples (Theorems 6 and 7). Every example is kept, so time and memory
    grow with T^2: these algorithms are of theoretical interest.

    After fit: primals_ (P_t(w_t) for each t), dual_, process_gain_ (the rise of the dual in PROCESS, the
    thesis' delta_T), bound(), and the attributes of every kernel machine.
    """

    _bounded = True

    C: float = option(
        default=1.0, kw_only=False, above=0, fixed_on_resume=True, help="The weight of the losses."
    )
    K: int = option(
        default=10, low=1, high=MOST_STEPS, fixed_on_resume=True, help="The steps after each example."
    )
    process: bool = option(default=True, fixed_on_resume=True, help="False for Algorithm 15.")
    class_weight: Any = CLASS_WEIGHT

    def _bound(self) -> float:
        return self.C

    def _machine(self, inputs: Inputs, seed: int) -> Tracker:
        return Tracker(inputs, K=self.K, process=self.process, cache_mb=self.cache_size, seed=seed)

    @reads
    def bound(self, optimum: float | None = None) -> float:
        """The right side of the theorem, with D* = optimum, or the last primal if not given."""
        machine = self._fitted_machine()
        if machine.largest_norm > 1 + 1e-6:
            raise ValueError(
                f"the bound requires k(x, x) <= 1, but it is {machine.largest_norm:g} for an example; "
                "scale the inputs, or use the RBF kernel"
            )
        best = self.primals_[-1] if optimum is None else optimum
        x = max(best - machine.process_gain, 0.0) / (self._fitted_params["K"] * len(self.primals_))
        return float(np.sqrt(2 * x) + x / self._fitted_params["C"])

    @property
    @reads
    def primals_(self) -> np.ndarray:
        """P_t of the classifier after each example."""
        return np.array(self._fitted_machine().primals)

    @property
    @reads
    def dual_(self) -> float:
        """The dual objective of the last coefficients, not averaged."""
        return self._fitted_machine().dual

    @property
    @reads
    def process_gain_(self) -> float:
        """The increase of the dual by PROCESS operations."""
        return self._fitted_machine().process_gain
