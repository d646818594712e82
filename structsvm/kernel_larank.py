"""LaRank with kernels, for multiclass problems."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from structsvm._kernel_dual import KernelDual
from structsvm._optimizer import as_data, in_slices, n_patterns
from structsvm.kernels import Inputs, PrecomputedInputs, SparseInputs, kernel_function, squared_norms
from structsvm.larank import LaRank
from structsvm.problems.multiclass import Multiclass
from structsvm.validation import check_choice, check_count, check_matrix, check_positive, check_sample_weight, check_seed

BLOCK = 64  # patterns whose kernel rows are one matrix product


class KernelLaRank(LaRank):
    """LaRank for `Multiclass` problems whose inputs are compared by a kernel (thesis 5.2).

    kernel: "rbf" exp(-gamma ||x - x'||^2), "poly" (gamma <x, x'> + coef0)^degree, "linear", "precomputed" (X is then the
    matrix of kernel values, square in `fit`), or a function of two matrices that returns values for all pairs of rows.
    cache_mb: memory for the kernel rows of support patterns; rows evicted from it are computed again.
    Values are computed and kept in the precision of X: float32 inputs are twice as fast as float64.
    Margin re-scaling and L1 slacks only. Other options as in `LaRank`; the joint kernel is
    <Lambda(y), Lambda(y')> k(x, x'), so loss matrices and output features work as in `Multiclass`.
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
        schedule: str = "adaptive",
        **options: Any,
    ) -> None:
        super().__init__(problem, schedule=schedule, **options)
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.cache_mb = cache_mb

    def _check(self) -> None:
        super()._check()
        check_positive(gamma=self.gamma, cache_mb=self.cache_mb)
        check_count(degree=self.degree, low=1)
        check_choice(rescaling=(self.rescaling, ("margin",)), slack=(self.slack, ("l1",)))

    def _receive(self, X: Any, y: Any, sample_weight: Any, *, fresh: bool, online: bool = False) -> None:
        self._check()
        X, labels = self._checked(X, y, fresh=fresh)
        if online and self.kernel == "precomputed":
            raise ValueError("partial_fit cannot use a precomputed kernel: the values between two batches are missing")
        weight = check_sample_weight(sample_weight, n_patterns(X))
        if fresh:
            self._machine, self._seed = self._kernel_machine(X), check_seed(self.random_state)
            self.curve_, self._epochs_done, self._elapsed = [], 0, 0.0
        else:
            self._machine.inputs.begin(X)
        self._machine.start(labels, weight)
        self._held, self._weight = np.arange(n_patterns(X)), weight

    def _release(self) -> None:
        self._machine.inputs.begin(self._machine.inputs.batch[:0])
        self._machine.start([], [])
        self._held, self._weight = np.empty(0, np.intp), np.empty(0)

    def _checked(self, X: Any, y: Any, *, fresh: bool) -> tuple[Any, np.ndarray]:
        X = check_matrix(X, n_features=None if fresh else self.problem.n_inputs)
        if fresh:
            if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
                raise ValueError(f"a precomputed kernel must be a square matrix, not one of shape {X.shape}")
            self.problem.prepare(X, y)
        return X, self.problem.encode_labels(y)

    def _kernel_machine(self, X: Any) -> KernelDual:
        if self.kernel == "precomputed":
            inputs: Inputs = PrecomputedInputs(X)
        else:
            function = kernel_function(self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0)
            inputs = (SparseInputs if sparse.issparse(X) else Inputs)(function, X)
        features = self.problem.output_features_
        return KernelDual(
            inputs, self.problem.loss_, features @ features.T,
            C=self.C, tau=self.tau, kappa=self.kappa, seed=check_seed(self.random_state), cache_mb=self.cache_mb,
        )  # fmt: skip

    def _slice(self, order: np.ndarray, at: int) -> None:
        self._machine.begin_block(order)
        super()._slice(order, at)

    # -- results --------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores, a column for each class."""
        inputs = self._fitted().inputs
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
        if X is None or y is None:
            return super().primal()
        X, y = as_data(X, y)
        X, labels = self._checked(X, y, fresh=False)
        weight = check_sample_weight(sample_weight, n_patterns(X))
        return self._norm() / 2 + self.C * float(weight @ self._slacks(self.decision_function(X), labels))

    def _primal(self, slots: np.ndarray, weight: np.ndarray, *, counted: bool = False) -> float:
        machine = self._machine
        labels, batch, offset = machine.batch_labels(), machine.inputs.batch, getattr(machine.inputs, "offset", 0)
        xi = [self._slacks(self._scores(batch[offset + part]), labels[part]) for part in in_slices(slots)]
        if counted:
            machine.count(len(slots))
        return self._norm() / 2 + self.C * float(weight @ np.concatenate(xi))

    def _primal_bound(self) -> float:
        """The primal on support patterns alone, whose scores are at hand."""
        machine = self._machine
        xi = self._slacks(machine.support_scores(), machine.support_labels())
        return self._norm() / 2 + float(machine.state()["upper"] @ xi)

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

    def __getstate__(self) -> dict[str, Any]:
        state = {k: v for k, v in self.__dict__.items() if k not in ("_machine", "_held", "_weight", "callback")}
        if hasattr(self, "_machine"):
            inputs = self._machine.inputs
            support = inputs.vectors()
            state["_saved"] = (self._machine.state(), inputs.batch if self.kernel == "precomputed" else None, support)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        saved = state.pop("_saved", None)
        self.__dict__.update(state, callback=None)
        if saved is not None:
            dual, gram, support = saved
            self._machine = self._kernel_machine(support if gram is None else gram)
            inputs = self._machine.inputs
            for position in range(len(dual["labels"])):
                inputs.insert(position, position if gram is None else support[position])
            self._machine.restore(dual)
            self._machine.start([], [])
            if gram is None:
                inputs.begin(support[:0])
            self._held, self._weight = np.empty(0, np.intp), np.empty(0)
