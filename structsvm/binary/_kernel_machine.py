"""`KernelMachine`: the base class of estimators with a compiled kernel machine."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from structsvm.binary._base import BinaryClassifier
from structsvm.guard import reads
from structsvm.kernels.functions import (
    COEF0,
    DEGREE,
    GAMMA,
    Inputs,
    Kernel,
    PrecomputedInputs,
    gamma_value,
    is_kernel,
    squared_norms,
)
from structsvm.options import RANDOM_STATE, option, with_options
from structsvm.threads import in_slices
from structsvm.validation import check_bounds, check_seed

BLOCK = 32  # examples whose kernel rows are computed by one matrix product


@with_options
class KernelMachine(BinaryClassifier):
    """A binary kernel classifier that is trained example by example.

    Kernel values are computed in the precision of X: float32 is twice as fast as float64.
    """

    _bounded = False  # whether |alpha| of an example stays below C times its weight

    kernel: str | Callable[[Any, Any], Any] = option(
        default="rbf", valid=is_kernel, fixed_on_resume=True,
        help="rbf exp(-gamma ||x - x'||^2), poly (gamma <x, x'> + coef0)^degree, linear, precomputed or a "
        "function of two matrices.",
    )  # fmt: skip
    gamma: float | str = GAMMA
    degree: int = DEGREE
    coef0: float = COEF0
    epochs: int = option(default=1, low=1, help="The passes of `fit` over the data.")
    cache_size: float = option(
        default=200.0, above=0, fixed_on_resume=True,
        help="Megabytes for the kernel rows of support vectors; rows that do not fit are recomputed.",
    )  # fmt: skip
    random_state: Any = RANDOM_STATE

    # -- for subclasses -------------------------------------------------------------------------

    @abstractmethod
    def _machine(self, inputs: Inputs, seed: int) -> Any:
        """The compiled machine, without support vectors yet."""

    def _bound(self) -> float:
        """The largest |alpha| of an example of weight 1."""
        return 1.0

    def _train(self, labels: np.ndarray, rng: np.random.Generator) -> None:
        """Epochs over the batch, each in a new order."""
        for _ in range(self.epochs):
            for part in in_slices(rng.permutation(len(labels)), BLOCK):
                self.machine_.learn(part)

    # -- training -------------------------------------------------------------------------------

    def _fit(self, X: Any, labels: np.ndarray, weight: np.ndarray) -> None:
        rng = np.random.default_rng(self._begin(X))
        self.machine_.start(labels, self._uppers(weight))
        self._train(labels, rng)
        if self.warm_start:
            self._rng = rng
        else:
            self._release_batch()

    def _continue(self, X: Any, labels: np.ndarray, weight: np.ndarray, first: bool) -> None:
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
            raise ValueError(
                "partial_fit cannot use a precomputed kernel: the values between two batches are missing"
            )
        uppers = self._uppers(weight)
        if first:
            self._begin(X)
        else:
            inputs = self.machine_.rows.inputs
            inputs.begin(X if X.dtype == inputs.dtype else X.astype(inputs.dtype))
        self.machine_.start(labels, uppers)
        try:
            for part in in_slices(np.arange(len(labels)), BLOCK):
                self.machine_.learn(part)
        finally:
            self._release_batch()

    def _uppers(self, weight: np.ndarray) -> np.ndarray:
        uppers = self._bound() * weight
        check_bounds(uppers)
        return uppers

    def _begin(self, X: Any) -> int:
        """Create an untrained machine for X; returns its seed."""
        self.gamma_ = gamma_value(self.gamma, X)
        inputs = self._inputs(X, self.gamma_)
        seed = check_seed(self.random_state)  # the last check, because it advances a random generator
        self.machine_ = self._machine(inputs, seed)
        return seed

    def _inputs(self, X: Any, gamma: float) -> Inputs:
        return Kernel(self.kernel, gamma, self.degree, self.coef0, self.cache_size).inputs(X)

    def _release_batch(self) -> None:
        inputs = self.machine_.rows.inputs
        inputs.begin(inputs.batch[:0].copy())  # a view would keep the caller's data alive
        self.machine_.start(np.zeros(0), np.zeros(0))

    # -- results --------------------------------------------------------------------------------

    def _values(self, X: Any) -> np.ndarray:
        inputs, alpha = self.machine_.rows.inputs, self.machine_.coefficients
        X = X if X.dtype == inputs.dtype else X.astype(inputs.dtype)
        parts = (X[part] for part in in_slices(np.arange(X.shape[0]), 512))
        products = [inputs.with_support(part, squared_norms(part)) @ alpha for part in parts]
        return np.concatenate(products) + self.machine_.bias

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise self.not_fitted()

    def _fitted_machine(self) -> Any:
        self._check_fitted()
        if not hasattr(self, "machine_"):
            raise AttributeError(
                f"this {type(self).__name__} has a model for each of {len(self.classes_)} classes; "
                "see its estimators_"
            )
        return self.machine_

    def _machines(self) -> list[Any]:
        """The compiled machines: one, or one for each class."""
        return [self._fitted_machine()]

    @property
    @reads
    def support_vectors_(self) -> Any:
        """The support vectors, a row each (with a precomputed kernel their positions)."""
        return self._fitted_machine().rows.inputs.vectors()

    @property
    @reads
    def dual_coef_(self) -> np.ndarray:
        """alpha of the support vectors, with the sign of their class."""
        return self._fitted_machine().coefficients

    @property
    @reads
    def intercept_(self) -> float:
        """The bias b."""
        return self._fitted_machine().bias

    @property
    @reads
    def n_support_vectors_(self) -> int:
        """Examples in the kernel expansion, counted once for each model."""
        return sum(machine.rows.n for machine in self._machines())

    @property
    @reads
    def n_kernels_(self) -> int:
        """Kernel values computed in training."""
        return sum(machine.rows.n_kernels for machine in self._machines())

    @property
    @reads
    def n_steps_(self) -> int:
        """Updates of the coefficients in training."""
        return sum(machine.n_steps for machine in self._machines())

    # -- copies and files -----------------------------------------------------------------------

    @reads
    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles, with the cached kernel rows; a fitted model goes without its callback."""
        state = dict(vars(self), _rows=None)  # copies do not keep the data of fit
        if "machine_" in state:
            rows = self.machine_.rows
            vectors = rows.inputs.vectors().copy()
            state["machine_"] = (self.machine_.state(), vectors, rows.inputs.dtype), rows.cached()
        if "callback" in state and self.__sklearn_is_fitted__():
            state["callback"] = None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if "machine_" in state:
            machine, rows = state["machine_"]
            self.machine_ = self._rebuilt(*machine)
            self.machine_.rows.take_cached(**rows)

    def _rebuilt(self, saved: dict[str, np.ndarray], support: Any, dtype: Any) -> Any:
        """A machine from its state() and its support patterns, with the parameters of the fit."""
        model = type(self)(**self._fitted_params)
        if isinstance(model.kernel, str) and model.kernel == "precomputed":
            inputs: Inputs = PrecomputedInputs(np.zeros((0, 0), dtype))
            inputs.take((np.array(support), np.zeros(len(support), dtype), np.array(support)))
        else:
            inputs = model._inputs(support, self.gamma_)
            for position in range(len(saved["alpha"])):
                inputs.insert(position, position)
            inputs.begin(inputs.batch[:0].copy())
        machine = model._machine(inputs, 0)
        machine.restore(saved)
        return machine

    @reads
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file, with the parameters that the model was trained with.

        Cached kernel rows are released, so that this model and the loaded one continue identically.
        """
        from structsvm.binary._file import save_kernel_machine

        save_kernel_machine(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model file."""
        from structsvm.binary._file import load_kernel_machine

        return load_kernel_machine(cls, path)
