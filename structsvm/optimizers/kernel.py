"""LaRank and SVMstruct with kernels: multiclass problems (thesis 5.2), sequences and joint kernels."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Self, cast

import numpy as np

from structsvm._dual import schedules
from structsvm._dual.kernel import KernelDual
from structsvm.guard import reads
from structsvm.kernels.functions import Kernel, is_kernel
from structsvm.machine import Inputs, Outputs, SampleWeight, Unsupported
from structsvm.optimizers.base import Optimizer
from structsvm.optimizers.larank import SCHEDULES, LaRank
from structsvm.optimizers.svmstruct import SVMStruct
from structsvm.options import option, with_options
from structsvm.problems.multiclass import Multiclass
from structsvm.spaces.base import Space
from structsvm.spaces.gram import GramSpace, check_kernel, gram_space
from structsvm.spaces.kernel import NO_BATCHES, KernelSpace
from structsvm.training import Report
from structsvm.validation import LARGEST

COARSE = 0.03  # of the gap on support patterns: with more of it left, looking at other patterns is too early


@with_options
class KernelOptions:
    """The options of kernels."""

    kernel: str | Callable[[Any, Any], Any] = option(
        default="rbf", valid=is_kernel,
        help="rbf exp(-gamma ||x - x'||^2), poly (gamma <x, x'> + coef0)^degree, linear, precomputed (X is "
        "the matrix of kernel values, square in `fit`), or a function of two matrices that returns the "
        "values for all pairs of rows.",
    )  # fmt: skip
    gamma: float = option(default=1.0, above=0, help="The gamma of the kernels rbf and poly.")
    degree: int = option(default=3, low=1, help="The degree of the kernel poly.")
    coef0: float = option(default=0.0, low=-LARGEST, help="The constant of the kernel poly.")
    eta: float = option(
        default=1.0, above=0, help="eta^2 is the kernel of two equal transitions of a `SequenceProblem`."
    )
    cache_size: float = option(default=500.0, above=0, help="Megabytes for kernel values.")


class KernelOptimizer(KernelOptions, Optimizer):
    """The parts of a kernel optimizer that do not depend on the algorithm.

    A `KernelDual` trains multiclass problems with margin rescaling, L1 slacks and a finite C. A `GramDual`,
    which needs the whole kernel matrix, trains all others.
    """

    _gram: GramSpace | None = None  # the training inputs, if training needs the whole matrix

    @property
    def _kernel(self) -> Kernel:
        return Kernel(self.kernel, self.gamma, self.degree, self.coef0, self.cache_size, self.eta)

    @property
    def _space(self) -> Space:
        return KernelSpace(self._kernel) if self._gram is None else self._gram

    @property
    def _whole(self) -> bool:
        """Whether training needs the whole kernel matrix."""
        plain = self.rescaling == "margin" and self.slack == "l1" and np.inf > self.C
        return not (plain and isinstance(self.problem, Multiclass))

    def validate(self) -> None:
        super().validate()
        check_kernel(self.problem, self._kernel)

    def partial_fit(self, X: Inputs, y: Outputs, sample_weight: SampleWeight = None) -> Self:
        """Make one pass over more data, in the given order, and keep only the support patterns."""
        if self._whole:
            raise ValueError(f"partial_fit cannot train this problem with kernels: {NO_BATCHES}")
        if self._kernel.is_precomputed:
            raise ValueError(f"partial_fit cannot use a precomputed kernel: {NO_BATCHES}")
        return super().partial_fit(X, y, sample_weight)

    def _receive(self, X: Inputs, y: Outputs, sample_weight: SampleWeight, *, fresh: bool) -> None:
        self.validate()
        before = self._gram
        if self._whole and not fresh:
            raise ValueError(f"these kernels cannot accept a second data set: {NO_BATCHES}")
        try:
            self._gram = gram_space(self.problem, X, self._kernel) if self._whole else None
            super()._receive(X if self._gram is None else self._gram.data, y, sample_weight, fresh=fresh)
        except BaseException:
            self._gram = before  # the machine still has the earlier data
            raise

    def _check_other_data(self) -> None:
        if self._gram is not None:
            raise ValueError(
                "with these kernels, primal and gap know only the data of fit: call them without X and y"
            )

    @reads
    def decision_function(self, X: Inputs) -> np.ndarray:
        """Scores of a multiclass problem, a column for each class."""
        machine = self._fitted()
        return self._space.scores(self.problem, machine, self._space.checked(self.problem, X))

    @property
    def n_kernels_(self) -> int:
        """Kernel values computed during training."""
        return cast(KernelDual, self._fitted()).n_kernels

    def state(self) -> dict[str, np.ndarray]:
        """Raise Unsupported: a kernel machine has no state of arrays."""
        raise Unsupported("a kernel machine has no state of arrays; pickle the optimizer instead")


@with_options
class KernelLaRank(KernelOptimizer, LaRank):
    """LaRank with kernels between inputs; the default schedule is adaptive.

    Kernel values are computed and stored in the precision of X: float32 is twice as fast as float64. The
    problem is one of three:

    * `Multiclass`, with the joint kernel <Lambda(y), Lambda(y')> k(x, x'): loss matrices and output features
      have the same meaning as without a kernel.
    * `SequenceProblem`, with a kernel between tokens (equation 4.22 of Tsochantaridis' thesis): the sum of
      k(x_t, x'_s) over the pairs of tokens with the same label, plus eta^2 times the number of pairs of equal
      transitions. A "precomputed" kernel is not supported.
    * `JointKernelProblem`, with a joint kernel of your own instead of `kernel`.

    `Multiclass` problems with margin rescaling and L1 slacks keep the rows of support patterns, as far as
    `cache_size` allows, and recompute evicted rows. All others need the whole matrix in float64: n^2 values
    for n rows of X, tokens, or pairs of a pattern and a candidate. A step then costs n multiply-adds for each
    input in which two outputs differ. `fit` raises ValueError if the matrix does not fit, and `partial_fit`
    is not supported.

    A step costs a pass over a row of kernel values, while inspecting a pattern costs almost nothing. So
    LaRank inspects ten patterns for OPTIMIZE and makes only the step with the largest gain. Later epochs of
    the adaptive schedule are sweeps: each pattern gets one PROCESSNEW (or PROCESSOLD if it is a support
    pattern), then OPTIMIZE.
    """

    schedule: str = option(default="adaptive", choices=SCHEDULES, help="How the next step is chosen.")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._sweeps = False  # whether the current epoch is a sweep
        self._violated: np.ndarray | None = None  # the slots that the next epoch of LaRankGap visits

    def _epoch(self, order: np.ndarray) -> bool:
        again = self.epochs_done > 0 and order is not self._held
        self._sweeps = again and self.schedule == "adaptive"
        return super()._epoch(order)

    def _visit(self, order: np.ndarray) -> None:
        if self._sweeps:
            schedules.sweep(self._dual(), order)
        else:
            super()._visit(order)

    @property
    def _scans(self) -> bool:
        """Whether LaRankGap makes most steps on support patterns, as a new pattern costs a row of values.

        Steps on support patterns continue until these could be within the gap. Then one scan of all other
        patterns gives the gap, and the patterns to visit in the next epoch.
        """
        adaptive = self._tolerance is not None and self.schedule != "fixed"
        return adaptive and self._gram is None

    def _dual(self) -> KernelDual:
        return cast(KernelDual, self._fitted())

    def _run(self) -> Report[None]:
        if not self._scans:
            return super()._run()
        machine = self._dual()
        machine.keep_values()
        try:
            return super()._run()
        finally:
            machine.drop_values()
            self._violated = None

    def _shuffled(self) -> np.ndarray:
        order = super()._shuffled()
        return order if self._violated is None else order[np.isin(order, self._violated)]

    def _within_gap(self, stopped: bool, tolerance: float) -> bool:
        if not self._scans:
            return super()._within_gap(stopped, tolerance)
        machine, begun = self._dual(), time.perf_counter()
        enough = max(0.7 * tolerance, COARSE * (machine.primal_bound() - self.dual_))
        while not stopped and machine.primal_bound() - self.dual_ > enough and machine.polish():
            pass
        xi = machine.slacks(self._held, True)
        primal = self._objective(xi, self._weight)
        self.elapsed += time.perf_counter() - begun
        self.curve_.append(self._point(primal))
        self._violated = self._held[xi > machine.tau]
        return stopped or primal - self.dual_ < tolerance


@with_options
class KernelSVMStruct(KernelOptimizer, SVMStruct):
    """SVMstruct with kernels (n-slack only).

    It has the stopping rule and all forms of `SVMStruct`, including C=inf, and the problems, kernel options
    and costs of `KernelLaRank`.

        min_w  ||w||^2 / 2 + sum_i C_i xi_i,   w = sum_i,y alpha_i(y) d_i(y)

    Inner products of joint features are values of the joint kernel, so w is never computed. As in
    `Optimizer`, slacks can be squared, and slacks instead of margins can be rescaled.
    """

    def validate(self) -> None:
        super().validate()
        if self.formulation != "n-slack":
            raise ValueError("kernels do not support formulation='1-slack'; use formulation='n-slack'")
