"""`KernelPerceptron`, with or without a budget, and `KernelPassiveAggressive`."""

from __future__ import annotations

import sys
from typing import Any

from structsvm.binary._base import CLASS_WEIGHT
from structsvm.binary._kernel_machine import KernelMachine
from structsvm.binary._perceptrons import OnlinePerceptron
from structsvm.kernels.functions import Inputs
from structsvm.options import GIVEN, option, with_options


@with_options
class KernelPerceptron(KernelMachine):
    """Kernel perceptron (Algorithm 2 of the thesis): alpha_t += y_t if y_t f(x_t) <= margin; no bias."""

    margin: float = option(default=0.0, low=0, fixed_on_resume=True, help="0 for the plain perceptron.")
    budget: int | None = option(
        default=None, low=1, fixed_on_resume=True,
        help="The largest number of support vectors (Algorithm 4, Crammer, Kandola and Singer 2004). If "
        "there are more, the one that is classified best without itself is removed.",
    )  # fmt: skip
    average: bool = option(
        default=False, fixed_on_resume=True, excludes={"budget": GIVEN},
        help="Whether to predict with the mean of all coefficients that training went through, as Freund and "
        "Schapire (1999) do.",
    )  # fmt: skip

    def _machine(self, inputs: Inputs, seed: int) -> OnlinePerceptron:
        return OnlinePerceptron(
            inputs, margin=self.margin, aggressive=False, budget=self.budget or sys.maxsize,
            cache_mb=self.cache_size, seed=seed, average=self.average,
        )  # fmt: skip


@with_options
class KernelPassiveAggressive(KernelMachine):
    """Kernel passive-aggressive algorithm (Algorithm 3 of the thesis; PA-I of Crammer et al. 2006); no bias.

    If y_t f(x_t) < 1, then alpha_t += y_t min(C, (1 - y_t f(x_t)) / k(x_t, x_t)).
    """

    C: float = option(default=1.0, kw_only=False, above=0, fixed_on_resume=True, help="The largest step.")
    class_weight: Any = CLASS_WEIGHT

    def _bound(self) -> float:
        return self.C

    def _machine(self, inputs: Inputs, seed: int) -> OnlinePerceptron:
        return OnlinePerceptron(
            inputs, margin=1.0, aggressive=True, budget=sys.maxsize, cache_mb=self.cache_size, seed=seed
        )
