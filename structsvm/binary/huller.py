"""`HullerClassifier`: the hard-margin SVM as the nearest points of two convex hulls."""

from __future__ import annotations

from structsvm.binary._huller import Huller
from structsvm.binary._kernel_machine import KernelMachine
from structsvm.guard import reads
from structsvm.kernels.functions import Inputs
from structsvm.options import option, with_options


@with_options
class HullerClassifier(KernelMachine):
    """Hard-margin SVM with kernel and bias, trained online by the Huller (Bordes and Bottou 2005).

        min ||X_P - X_N||^2,  X_P and X_N in the convex hulls of the positive and of the negative examples
        f(x) = <X_P - X_N, x> + (||X_N||^2 - ||X_P||^2) / 2

    For each example, the algorithm makes one PROCESS step, then one REPROCESS step with a random support
    vector. X_P and X_N start at the first example of each class; in Algorithm 10 of the thesis they start at
    the mean of a few. Use it for separable data only: on noisy data the hulls overlap. Training stops after
    the given number of epochs; there is no other stopping rule. An update costs one kernel value for each
    support vector. A sample weight of 0 omits an example; all other weights have the same effect.

    After fit: classes_, support_vectors_, dual_coef_, intercept_, margin_, n_kernels_, n_steps_.
    """

    epochs: int = option(default=2, low=1, help="The passes of `fit` over the data.")

    def _machine(self, inputs: Inputs, seed: int) -> Huller:
        return Huller(inputs, cache_mb=self.cache_size, seed=seed)

    @property
    @reads
    def margin_(self) -> float:
        """||X_P - X_N||, twice the distance of the hyperplane from the nearest examples."""
        return self._fitted_machine().distance
