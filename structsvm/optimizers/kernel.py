"""LaRank and SVMstruct with kernels: multiclass problems (thesis 5.2), sequences and joint kernels."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np

from structsvm._dual import schedules
from structsvm._dual.gram import GramDual
from structsvm._dual.kernel import KernelDual
from structsvm._scipy import sparse
from structsvm.guard import reads
from structsvm.kernels import Inputs, PrecomputedInputs, SparseInputs, kernel_function
from structsvm.machine import Unsupported
from structsvm.optimizers.larank import LaRank
from structsvm.optimizers.svmstruct import SVMStruct
from structsvm.problem import Problem
from structsvm.problems.joint import JointKernelProblem
from structsvm.problems.multiclass import Multiclass
from structsvm.problems.sequence.problem import SequenceProblem
from structsvm.training import Report
from structsvm.validation import (
    LARGEST,
    check_count,
    check_matrix,
    check_number,
    check_positive,
    check_targets,
)

COARSE = 0.03  # of the gap on support patterns: with more of it left, looking at other patterns is too early
NO_BATCHES = "the kernel values between two batches are missing; pass all data to fit"


class KernelPatterns:
    """The patterns of a `KernelDual`: support patterns and the current batch of training data.

    `add` only stages a batch, so that bad data changes nothing; `take` makes it the current one.
    """

    n_weights, n_shards = 0, 1

    def __init__(self, problem: Any, kernel: Any, gamma: float, degree: int, coef0: float) -> None:
        self.problem = problem
        self.kernel = kernel
        self.options: dict[str, Any] = {"gamma": gamma, "degree": degree, "coef0": coef0}
        self.inputs: Any = None
        self.staged: tuple[np.ndarray, Any, np.ndarray] | None = None  # slots, X, labels
        self.is_new = True  # the inputs were made for the staged batch
        self.counts = np.zeros(3)  # of `watch`: whether to count, how many, their loss

    def add(self, X: Any, y: Any) -> np.ndarray:
        X = check_matrix(X, n_features=self.problem.n_inputs)
        labels = self.problem.encode_labels(check_targets(y, X.shape[0]))
        if self.inputs is None:
            self.inputs = self._inputs(X)
        slots = np.arange(len(labels))
        self.staged = slots, X, labels
        return slots

    def discard(self, slots: np.ndarray) -> None:
        self.staged = None

    def slot_weights(self, slots: np.ndarray, sample_weight: np.ndarray) -> np.ndarray:
        return sample_weight

    def groups(self, slots: np.ndarray) -> None:
        return None

    def watch(self, on: bool) -> None:
        self.counts[:] = on, 0, 0

    def looks(self) -> tuple[float, ...]:
        return tuple(self.counts[1:].tolist())

    def rows(self, slots: np.ndarray) -> dict[str, Any]:
        gram = self.inputs.batch if self.kernel == "precomputed" else None
        return {"support": self.inputs.vectors(), "gram": gram}

    def add_rows(self, support: Any, gram: Any = None) -> np.ndarray:
        """Store support patterns; given the matrix of a precomputed kernel, `support` are its rows."""
        n = support.shape[0]
        self.inputs = self._inputs(support if gram is None else gram)
        for position in range(n):
            self.inputs.insert(position, position if gram is None else support[position])
        if gram is None:
            self.inputs.begin(support[:0])
        self.is_new = False
        return np.arange(n)

    def take(self) -> np.ndarray:
        """Make the staged batch the current one; returns its labels."""
        _, X, labels = self.staged or ((), None, np.empty(0, np.intp))
        if not self.is_new:
            if self.kernel == "precomputed":
                raise ValueError(f"a precomputed kernel cannot accept a second data set: {NO_BATCHES}")
            self.inputs.begin(X)
        self.staged, self.is_new = None, False
        return labels

    def release(self) -> None:
        """Release the current batch."""
        self.inputs.begin(self.inputs.batch[:0].copy())  # a view would keep the caller's data alive

    def _inputs(self, X: Any) -> Inputs:
        if self.kernel == "precomputed":
            if X.shape[0] != X.shape[1]:
                raise ValueError(f"a precomputed kernel must be a square matrix, got shape {X.shape}")
            return PrecomputedInputs(X)
        kernel = kernel_function(self.kernel, **self.options)
        return (SparseInputs if sparse.issparse(X) else Inputs)(kernel, X)


class _Kernels:
    """The parts of a kernel optimizer that do not depend on the algorithm: options, machine, predictions.

    A `KernelDual` trains multiclass problems with margin rescaling and L1 slacks. A `GramDual`, which needs
    the whole kernel matrix, trains all others.
    """

    problem: Any
    C: float
    tau: float
    kappa: float
    rescaling: str
    slack: str
    validate: Callable[[], None]
    _fitted: Callable[[], Any]
    _span: Any = None  # of a `GramDual`

    def _set_kernel(
        self, kernel: Any, gamma: float, degree: int, coef0: float, eta: float, cache_size: float
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.eta = eta
        self.cache_size = cache_size

    @property
    def _whole(self) -> bool:
        """Whether training needs the whole kernel matrix."""
        plain = self.rescaling == "margin" and self.slack == "l1" and np.inf > self.C
        return not (plain and isinstance(self.problem, Multiclass))

    def _check_kernel(self) -> None:
        """Reject options and problems that kernels do not support."""
        check_positive(gamma=self.gamma, eta=self.eta, cache_size=self.cache_size)
        check_number(coef0=self.coef0, low=-LARGEST)
        check_count(degree=self.degree, low=1)
        problem = self.problem
        if isinstance(problem, SequenceProblem):
            if problem.bigrams or (isinstance(self.kernel, str) and self.kernel == "precomputed"):
                raise ValueError("token kernels support neither bigram features nor a precomputed matrix")
        elif not isinstance(problem, (Multiclass, JointKernelProblem)) or (
            isinstance(problem, Multiclass) and problem.fit_intercept
        ):
            raise ValueError(
                "kernels require a Multiclass problem without fit_intercept, a SequenceProblem or a "
                "JointKernelProblem"
            )

    def _refuse_batches(self) -> None:
        if self._whole:
            raise ValueError(f"partial_fit cannot train this problem with kernels: {NO_BATCHES}")
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
            raise ValueError(f"partial_fit cannot use a precomputed kernel: {NO_BATCHES}")

    def _check_other_data(self) -> None:
        if isinstance(self._fitted(), GramDual):
            raise ValueError(
                "with these kernels, primal and gap know only the data of fit: call them without X and y"
            )

    @reads
    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of a multiclass problem, a column for each class."""
        machine = self._fitted()
        if not isinstance(machine, GramDual):
            return machine.decision_function(check_matrix(X, n_features=self.problem.n_inputs))
        if not isinstance(self.problem, Multiclass):
            raise TypeError(f"{type(self.problem).__name__} has no decision_function; use predict")
        return self._span.scores(self.problem, machine.coefficients(), X)

    @reads
    def predict(self, X: Any) -> Any:
        """The best class of each row, the labels of all tokens, or the best candidate of each pattern."""
        machine = self._fitted()
        if isinstance(machine, GramDual):
            return self._span.predict(self.problem, machine.coefficients(), X)
        return self.problem.classes_[np.argmax(self.decision_function(X), axis=1)]

    @property
    def n_kernels_(self) -> int:
        """Kernel values computed during training."""
        return int(self._fitted().n_kernels)

    @contextmanager
    def _spanned(self, X: Any, fresh: bool) -> Iterator[Any]:
        """X as the oracle reads it; if it does not accept the data, the machine keeps its old span."""
        self.validate()
        if not self._whole:
            yield X
            return
        if not fresh:
            raise ValueError(f"these kernels cannot accept a second data set: {NO_BATCHES}")
        before, self._span = self._span, self._new_span(X)
        try:
            yield self._span.data
        except BaseException:
            self._span = before
            raise

    def _new_span(self, X: Any) -> Any:
        from structsvm.optimizers.spans import Pairs, Rows, Tokens

        if isinstance(self.problem, JointKernelProblem):
            return Pairs(X, self.problem, self.cache_size)
        kernel = (self.kernel, self.gamma, self.degree, self.coef0)
        if isinstance(self.problem, Multiclass):
            return Rows(X, kernel, self.cache_size)
        return Tokens(X, self.problem, kernel, self.eta, self.cache_size)

    def _new_oracle(self, problem: Any) -> Any:
        if not self._whole:
            return KernelPatterns(problem, self.kernel, self.gamma, self.degree, self.coef0)
        oracle = self._span.oracle(problem)
        oracle.configure(rescaling=self.rescaling, slack=self.slack)
        return oracle

    def _new_machine(self, oracle: Any, seed: int) -> Any:
        options: dict[str, Any] = {"C": self.C, "tau": self.tau, "kappa": self.kappa, "seed": seed}
        if not self._whole:
            return KernelDual(oracle, cache_mb=self.cache_size, **options)
        span = self._span
        return GramDual(
            oracle, span.gram, offset=span.offset, stride=span.stride(oracle.problem), eta=span.eta, **options
        )

    def state(self) -> dict[str, np.ndarray]:
        """Refused: a kernel machine has no state of arrays."""
        raise Unsupported("a kernel machine has no state of arrays; pickle the optimizer instead")


class KernelLaRank(_Kernels, LaRank):
    """LaRank with kernels between inputs; the default schedule is adaptive.

    kernel: "rbf" exp(-gamma ||x - x'||^2), "poly" (gamma <x, x'> + coef0)^degree, "linear", "precomputed"
    (X is the matrix of kernel values, square in `fit`), or a function of two matrices that returns the values
    for all pairs of rows. Values are computed and stored in the precision of X: float32 is twice as fast as
    float64. The other options are those of `LaRank`. The problem is one of three:

    * `Multiclass`, with the joint kernel <Lambda(y), Lambda(y')> k(x, x'): loss matrices and output features
      have the same meaning as without a kernel.
    * `SequenceProblem`, with a kernel between tokens (equation 4.22 of Tsochantaridis' thesis): the sum of
      k(x_t, x'_s) over the pairs of tokens with the same label, plus eta^2 times the number of pairs of equal
      transitions. A "precomputed" kernel is not supported.
    * `JointKernelProblem`, with a joint kernel of your own instead of `kernel`.

    cache_size: MB for kernel values. `Multiclass` problems with margin rescaling and L1 slacks keep the rows
    of support patterns and recompute evicted rows. All others need the whole matrix in float64: n^2
    values for n rows of X, tokens, or pairs of a pattern and a candidate. A step then costs n multiply-adds
    for each input in which two outputs differ. `fit` raises ValueError if the matrix does not fit, and
    `partial_fit` is not supported.

    A step costs a pass over a row of kernel values, while inspecting a pattern costs almost nothing. So
    LaRank inspects ten patterns for OPTIMIZE and makes only the step with the largest gain. Later epochs of
    the adaptive schedule are sweeps: each pattern gets one PROCESSNEW (or PROCESSOLD if it is a support
    pattern), then OPTIMIZE.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        schedule: str = "adaptive",
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        gamma: float = 1.0,
        degree: int = 3,
        coef0: float = 0.0,
        eta: float = 1.0,
        cache_size: float = 500.0,
        **options: Any,
    ) -> None:
        super().__init__(problem, schedule=schedule, **options)
        self._set_kernel(kernel, gamma, degree, coef0, eta, cache_size)
        self._sweeps = False  # whether the current epoch is a sweep
        self._violated: np.ndarray | None = None  # the slots that the next epoch of LaRankGap visits

    def validate(self) -> None:
        super().validate()
        self._check_kernel()

    def _receive(self, X: Any, y: Any, sample_weight: Any, *, fresh: bool) -> None:
        with self._spanned(X, fresh) as data:
            super()._receive(data, y, sample_weight, fresh=fresh)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Make one pass over more data, in the given order, and keep only the support patterns."""
        self._refuse_batches()
        return super().partial_fit(X, y, sample_weight)

    def _epoch(self, order: np.ndarray) -> bool:
        again = self.epochs_done > 0 and order is not self._held
        self._sweeps = again and self.schedule == "adaptive"
        return super()._epoch(order)

    def _visit(self, order: np.ndarray) -> None:
        if self._sweeps:
            schedules.sweep(self._machine, order)
        else:
            super()._visit(order)

    @property
    def _scans(self) -> bool:
        """Whether LaRankGap makes most steps on support patterns, as a new pattern costs a row of values.

        Steps on support patterns continue until these could be within the gap. Then one scan of all other
        patterns gives the gap, and the patterns to visit in the next epoch.
        """
        adaptive = self._tolerance is not None and self.schedule != "fixed"
        return adaptive and not isinstance(self._machine, GramDual)

    def _run(self) -> Report[None]:
        machine = self._fitted()
        if not self._scans:
            return super()._run()
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
        machine, begun = self._fitted(), time.perf_counter()
        enough = max(0.7 * tolerance, COARSE * (machine.primal_bound() - self.dual_))
        while not stopped and machine.primal_bound() - self.dual_ > enough and machine.polish():
            pass
        xi = machine.slacks(self._held, True)
        primal = self._objective(xi, self._weight)
        self.elapsed += time.perf_counter() - begun
        self.curve_.append(self._point(primal))
        self._violated = self._held[xi > machine.tau]
        return stopped or primal - self.dual_ < tolerance


class KernelSVMStruct(_Kernels, SVMStruct):
    """SVMstruct with kernels (n-slack only).

    It has the stopping rule and all forms of `SVMStruct`, including C=inf, and the problems, kernel options
    and costs of `KernelLaRank`.

        min_w  ||w||^2 / 2 + sum_i C_i xi_i,   w = sum_i,y alpha_i(y) d_i(y)

    Inner products of joint features are values of the joint kernel, so w is never computed. As in
    `Optimizer`, slacks can be squared, and slacks instead of margins can be rescaled.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        gamma: float = 1.0,
        degree: int = 3,
        coef0: float = 0.0,
        eta: float = 1.0,
        cache_size: float = 500.0,
        **options: Any,
    ) -> None:
        super().__init__(problem, **options)
        self._set_kernel(kernel, gamma, degree, coef0, eta, cache_size)

    def validate(self) -> None:
        super().validate()
        self._check_kernel()
        if self.formulation != "n-slack":
            raise ValueError("kernels do not support formulation='1-slack'; use formulation='n-slack'")

    def _receive(self, X: Any, y: Any, sample_weight: Any, *, fresh: bool) -> None:
        with self._spanned(X, fresh) as data:
            super()._receive(data, y, sample_weight, fresh=fresh)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Make one pass over more data, in the given order, and keep only the support patterns."""
        self._refuse_batches()
        return super().partial_fit(X, y, sample_weight)
