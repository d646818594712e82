"""`HullerClassifier`: the hard-margin SVM as the nearest points of two convex hulls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from structsvm.binary._huller import Huller
from structsvm.binary._kernel_machine import KernelMachine
from structsvm.kernels.functions import Inputs


class HullerClassifier(KernelMachine):
    """Hard-margin SVM with kernel and bias, trained online by the Huller (Bordes and Bottou 2005).

        min ||X_P - X_N||^2,  X_P and X_N in the convex hulls of the positive and of the negative examples
        f(x) = <X_P - X_N, x> + (||X_N||^2 - ||X_P||^2) / 2

    Each example is PROCESSed, then a support vector drawn at random REPROCESSed, by the same update. For
    separable data only: on noisy ones the hulls meet, and every example counts in full. There is no
    stopping rule but the number of epochs; an update costs one kernel value for each support vector.
    Hulls know no weights: a sample weight of 0 leaves an example out, all others are the same.

    After fit: classes_, support_vectors_, dual_coef_, intercept_, margin_, n_kernels_, n_steps_.
    """

    def __init__(
        self,
        *,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        epochs: int = 2,
        cache_size: float = 200.0,
        random_state: Any = 0,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.epochs = epochs
        self.cache_size = cache_size
        self.random_state = random_state

    def _machine(self, inputs: Inputs, seed: int) -> Huller:
        return Huller(inputs, cache_mb=self.cache_size, seed=seed)

    @property
    def margin_(self) -> float:
        """||X_P - X_N||, twice the distance of the hyperplane from the nearest examples."""
        return self._fitted_machine().distance
