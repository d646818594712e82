"""`KernelPerceptron`, with or without a budget, and `KernelPassiveAggressive`."""

from __future__ import annotations

import sys
from dataclasses import KW_ONLY, dataclass
from typing import Any

from structsvm.binary._kernel_machine import KernelMachine
from structsvm.binary._perceptrons import OnlinePerceptron
from structsvm.kernels.functions import Inputs
from structsvm.validation import check_count, check_number, check_positive


@dataclass(eq=False, repr=False)
class KernelPerceptron(KernelMachine):
    """Kernel perceptron (Algorithm 2 of the thesis): alpha_t += y_t if y_t f(x_t) <= margin; no bias.

    budget: the largest number of support vectors (Algorithm 4, Crammer, Kandola and Singer 2004). If there
    are more, the one that is classified best without itself is removed. margin: 0 for the plain perceptron.
    average: predict with the mean of all coefficients that training went through, as Freund and Schapire
    (1999) do; not with a budget.
    """

    _: KW_ONLY
    margin: float = 0.0
    budget: int | None = None
    average: bool = False

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.budget is not None:
            check_count(budget=self.budget, low=1)
            if self.average:
                raise ValueError("average does not support a budget; set budget=None or average=False")
        check_number(margin=self.margin)

    def _machine(self, inputs: Inputs, seed: int) -> OnlinePerceptron:
        return OnlinePerceptron(
            inputs, margin=self.margin, aggressive=False, budget=self.budget or sys.maxsize,
            cache_mb=self.cache_size, seed=seed, average=self.average,
        )  # fmt: skip


@dataclass(eq=False, repr=False)
class KernelPassiveAggressive(KernelMachine):
    """Kernel passive-aggressive algorithm (Algorithm 3 of the thesis; PA-I of Crammer et al. 2006); no bias.

    If y_t f(x_t) < 1, then alpha_t += y_t min(C, (1 - y_t f(x_t)) / k(x_t, x_t)).
    """

    C: float = 1.0
    _: KW_ONLY
    class_weight: Any = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_positive(C=self.C)

    def _bound(self) -> float:
        return self.C

    def _machine(self, inputs: Inputs, seed: int) -> OnlinePerceptron:
        return OnlinePerceptron(
            inputs, margin=1.0, aggressive=True, budget=sys.maxsize, cache_mb=self.cache_size, seed=seed
        )
