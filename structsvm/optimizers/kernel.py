"""LaRank and SVMstruct with kernels, for multiclass problems."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from structsvm._dual.kernel import KernelDual
from structsvm._scipy import sparse
from structsvm.kernels.functions import (
    Inputs,
    PrecomputedInputs,
    SparseInputs,
    kernel_function,
    squared_norms,
)
from structsvm.optimizers.curve import as_data, in_slices, n_patterns
from structsvm.optimizers.dual import DualOptimizer
from structsvm.optimizers.larank import GAP_EPOCHS, LaRank
from structsvm.optimizers.svmstruct import SVMStruct
from structsvm.problems.multiclass import Multiclass
from structsvm.validation import (
    check_choice,
    check_count,
    check_matrix,
    check_positive,
    check_sample_weight,
    check_seed,
    check_targets,
)

COARSE = 0.03  # of the gap on support patterns: with more of it left, others are looked at too early
BLOCK = 64  # patterns whose kernel rows are one matrix product


class KernelOptimizer(DualOptimizer):
    """What makes kernel machines of the schedules: `Multiclass` inputs compared by a kernel (thesis 5.2).

    kernel: "rbf" exp(-gamma ||x - x'||^2), "poly" (gamma <x, x'> + coef0)^degree, "linear", "precomputed"
    (X is then the matrix of kernel values, square in `fit`), or a function of two matrices that returns
    values for all pairs of rows.
    cache_mb: memory for the kernel rows of support patterns; rows evicted from it are computed again.
    Values are computed and kept in the precision of X: float32 inputs are twice as fast as float64.
    Margin re-scaling and L1 slacks only. The joint kernel is <Lambda(y), Lambda(y')> k(x, x'), so loss
    matrices and output features work as in `Multiclass`.
    """

    problem: Multiclass
    _block = BLOCK

    def __init__(
        self,
        problem: Multiclass,
        *,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        gamma: float = 1.0,
        degree: int = 3,
        coef0: float = 0.0,
        cache_mb: float = 500.0,
        **options: Any,
    ) -> None:
        super().__init__(problem, **options)
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.cache_mb = cache_mb

    def validate(self) -> None:
        super().validate()
        check_positive(gamma=self.gamma, cache_mb=self.cache_mb)
        check_count(degree=self.degree, low=1)
        check_choice(rescaling=(self.rescaling, ("margin",)), slack=(self.slack, ("l1",)))
        if not isinstance(self.problem, Multiclass) or self.problem.fit_intercept:
            raise ValueError(
                "kernels are for Multiclass problems without fit_intercept: a kernel has its own constant"
            )

    def _receive(self, X: Any, y: Any, sample_weight: Any, *, fresh: bool, online: bool = False) -> None:
        if online and self.kernel == "precomputed":
            raise ValueError(
                "partial_fit cannot use a precomputed kernel: the values between two batches are missing"
            )
        super()._receive(X, y, sample_weight, fresh=fresh, online=online)

    def _begin(self, problem: Any, X: Any, y: Any) -> tuple[Any, np.ndarray, int]:
        X, labels = self._encoded(problem, X, y)
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(f"a precomputed kernel must be a square matrix, not one of shape {X.shape}")
        inputs = self._inputs(X)
        seed = check_seed(self.random_state)  # last of all checks: a generator moves on when asked
        machine = self._kernel_dual(problem, inputs, seed)
        machine.start(labels)
        return machine, np.arange(len(labels)), seed

    def _store(self, X: Any, y: Any) -> np.ndarray:
        X, labels = self._encoded(self.problem, X, y)
        self._machine.inputs.begin(X)
        self._machine.start(labels)
        return np.arange(len(labels))

    def _take(self, slots: np.ndarray, weight: np.ndarray) -> None:
        self._machine.weigh(weight)
        self._held, self._weight = slots, weight

    def _let_go(self) -> None:
        inputs = self._machine.inputs
        inputs.begin(inputs.batch[:0].copy())  # a view would keep the caller's data alive
        self._machine.start([])
        self._held, self._weight = np.empty(0, np.intp), np.empty(0)

    def _encoded(self, problem: Multiclass, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """X and the labels, checked."""
        X = check_matrix(X, n_features=problem.n_inputs)
        return X, problem.encode_labels(check_targets(y, X.shape[0]))

    def _inputs(self, X: Any) -> Inputs:
        if self.kernel == "precomputed":
            return PrecomputedInputs(X)
        function = kernel_function(self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0)
        return (SparseInputs if sparse.issparse(X) else Inputs)(function, X)

    def _kernel_dual(self, problem: Multiclass, inputs: Inputs, seed: int) -> KernelDual:
        features = problem.output_features_
        return KernelDual(
            inputs, problem.loss_, features @ features.T,
            C=self.C, tau=self.tau, kappa=self.kappa, seed=seed, cache_mb=self.cache_mb,
        )  # fmt: skip

    def _slice(self, order: np.ndarray, at: int) -> None:
        self._machine.begin_block(order)
        super()._slice(order, at)  # type: ignore[safe-super]  # of the schedule that comes next in the MRO

    # -- results --------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores, a column for each class."""
        inputs = self._readable().inputs
        X = check_matrix(X, n_features=self.problem.n_inputs)
        X = X if X.dtype == inputs.dtype else X.astype(inputs.dtype)
        parts = [self._scores(X[part]) for part in in_slices(np.arange(X.shape[0]), 512)]
        return np.concatenate(parts)

    def _scores(self, rows: Any) -> np.ndarray:
        machine, features = self._fitted(), self.problem.output_features_
        values = machine.inputs.with_support(rows, squared_norms(rows))
        return values @ (machine.coefficients() @ features @ features.T).astype(values.dtype)

    def predict(self, X: Any) -> np.ndarray:
        return self.problem.classes_[np.argmax(self.decision_function(X), axis=1)]

    def primal(self, X: Any = None, y: Any = None, sample_weight: Any = None) -> float:
        """||w||^2 / 2 + sum of C_i xi_i on the data of `fit`, or on the data given."""
        self._readable()
        if X is None or y is None:
            return super().primal(X, y)
        X, y = as_data(X, y)
        X, labels = self._encoded(self.problem, X, y)
        weight = check_sample_weight(sample_weight, n_patterns(X))
        return self._norm() / 2 + self._machine.C * float(
            weight @ self._slacks(self.decision_function(X), labels)
        )

    def _primal(self, slots: np.ndarray, weight: np.ndarray, *, counted: bool = False) -> float:
        return self._norm() / 2 + self._machine.C * float(weight @ self._own_slacks(slots, counted=counted))

    def _own_slacks(self, slots: np.ndarray, *, counted: bool) -> np.ndarray:
        """xi of patterns of the batch; the scores of support patterns are at hand."""
        machine = self._machine
        labels, batch, offset = machine.batch_labels(), machine.inputs.batch, machine.inputs.offset
        position, xi = machine.positions(slots), np.zeros(len(slots))
        held, others = np.flatnonzero(position >= 0), np.flatnonzero(position < 0)
        xi[held] = self._slacks(machine.support_scores()[position[held]], labels[slots[held]])
        for part in in_slices(others):
            xi[part] = self._slacks(self._scores(batch[offset + slots[part]]), labels[slots[part]])
        if counted:
            machine.count(len(others))
        return xi

    def _norm(self) -> float:
        machine = self._machine
        return float(np.sum(machine.coefficients() * machine.support_scores()))

    def _slacks(self, scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
        rows = np.arange(len(labels))
        violations = self.problem.loss_[labels] + scores - scores[rows, labels][:, None]
        return np.maximum(violations.max(axis=1), 0)

    @property
    def weights_(self) -> np.ndarray:
        raise AttributeError("a kernel machine has no weight vector: see its support vectors")

    @property
    def n_kernels_(self) -> int:
        """Kernel values computed in training."""
        return int(self._fitted().n_kernels)

    def _saved(self) -> Any:
        inputs = self._machine.inputs
        return self._machine.state(), inputs.batch if self.kernel == "precomputed" else None, inputs.vectors()

    def _revived(self, saved: Any) -> KernelDual:
        dual, gram, support = saved
        inputs = self._inputs(support if gram is None else gram)
        for position in range(len(dual["labels"])):
            inputs.insert(position, position if gram is None else support[position])
        machine = self._kernel_dual(self.problem, inputs, 0)
        machine.restore(dual)
        if gram is None:
            inputs.begin(support[:0])
        return machine


class KernelLaRank(KernelOptimizer, LaRank):
    """LaRank with kernels, by default adaptive: options as in `KernelOptimizer` and `LaRank`.

    Steps cost a pass over a row of kernel values, looks next to nothing: of ten OPTIMIZE only the one that
    gains most is done. Later epochs of the adaptive schedule, where its ratios are of steps that gain little,
    are sweeps: each pattern gets one PROCESSNEW, or PROCESSOLD if it is a support pattern, then OPTIMIZE.
    """

    _sweeps = True

    def __init__(self, problem: Multiclass, *, schedule: str = "adaptive", **options: Any) -> None:
        super().__init__(problem, schedule=schedule, **options)

    def _to_gap(self, tolerance: float) -> bool:
        """LaRankGap: new patterns cost a row of kernel values each, so most is done between them.

        The support patterns are worked on until they could be within the gap; then all others are looked at
        once, which tells the gap and which of them to take in next.
        """
        if self.schedule == "fixed":
            return super()._to_gap(tolerance)
        order = self._shuffled()
        for _ in range(self.epochs or GAP_EPOCHS):
            stopped = self._epoch(order)
            begun = time.perf_counter()
            enough = max(0.7 * tolerance, COARSE * (self._primal_bound() - self.dual_))
            while not stopped and self._primal_bound() - self.dual_ > enough and self._polished():
                pass
            xi = self._own_slacks(self._held, counted=True)
            primal = self._norm() / 2 + self._machine.C * float(self._weight @ xi)
            self.elapsed += time.perf_counter() - begun
            self.curve_.append(self._point(primal))
            if stopped or primal - self.dual_ < tolerance:
                return True
            shuffled = self._shuffled()
            order = shuffled[np.isin(shuffled, self._held[xi > self._machine.tau])]
        return False

    def _polished(self) -> bool:
        """Work on the support patterns alone; False if that brought nothing."""
        before = self.dual_
        self._machine.polish()
        return self.dual_ > before

    def _primal_bound(self) -> float:
        """The primal on support patterns alone, whose scores are at hand."""
        machine = self._machine
        xi = self._slacks(machine.support_scores(), machine.support_labels())
        return self._norm() / 2 + float(machine.state()["upper"] @ xi)


class KernelSVMStruct(KernelOptimizer, SVMStruct):
    """SVMstruct with kernels: options as in `KernelOptimizer` and `SVMStruct`, n-slack only."""

    def validate(self) -> None:
        super().validate()
        if self.formulation != "n-slack":
            raise ValueError("with kernels there is a slack for each example: use formulation='n-slack'")
