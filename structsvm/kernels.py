"""Kernels by blocks, and the inputs of a kernel machine: a batch to learn from and the support patterns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

KERNELS = ("linear", "rbf", "poly", "precomputed")
Kernel = Callable[[Any, Any, np.ndarray, np.ndarray], Any]


def kernel_function(
    kernel: str | Callable[[Any, Any], Any], *, gamma: float, degree: int, coef0: float
) -> Kernel:
    """k(A, B, |A|^2, |B|^2) -> kernel values between rows of A and B, by matrix products."""
    if callable(kernel):
        return lambda a, b, _, __: kernel(a, b)
    if kernel == "linear":
        return lambda a, b, _, __: products(a, b)
    if kernel == "poly":
        return lambda a, b, _, __: (gamma * products(a, b) + coef0) ** degree
    if kernel == "rbf":
        return lambda a, b, norms_a, norms_b: rbf(products(a, b), norms_a, norms_b, gamma)
    raise ValueError(f"kernel must be a function or one of {', '.join(map(repr, KERNELS))}, not {kernel!r}")


def products(a: Any, b: Any) -> np.ndarray:
    """Inner products between rows, dense or sparse."""
    return dense(a @ b.T)


def dense(a: Any) -> np.ndarray:
    """An array, of a sparse matrix too."""
    return a.toarray() if sparse.issparse(a) else a


def rbf(values: np.ndarray, norms_a: np.ndarray, norms_b: np.ndarray, gamma: float) -> np.ndarray:
    """exp(-gamma ||a - b||^2) in place of the inner products."""
    values *= 2
    values -= norms_a[:, None]
    values -= norms_b[None, :]
    np.minimum(values, 0, out=values)  # rounding may leave a tiny negative distance
    values *= gamma
    return np.exp(values, out=values)


def squared_norms(a: Any) -> np.ndarray:
    """||row||^2 of each row."""
    if sparse.issparse(a):
        return np.asarray(a.multiply(a).sum(axis=1)).ravel().astype(a.dtype)
    return np.einsum("ij,ij->i", a, a)


class Inputs:
    """Dense patterns: `batch` is borrowed from the caller, support patterns are copied out of it.

    A slot is a row of the batch, a position an index among the support patterns.
    """

    offset = 0  # of slot 0 in `batch`

    def __init__(self, kernel: Kernel, batch: Any) -> None:
        self.kernel = kernel
        self.dtype = batch.dtype
        self.cost = float(batch.nnz / max(batch.shape[0], 1) if sparse.issparse(batch) else batch.shape[1])
        self.n = 0
        self.support = self.room(batch)
        self.support_norms = np.zeros(len(self.support), dtype=self.dtype)
        self.begin(batch)

    def room(self, batch: Any) -> np.ndarray:
        """Where support patterns are kept, with nothing in it."""
        return np.zeros((64, batch.shape[1]), dtype=self.dtype)

    def begin(self, batch: Any) -> None:
        """Take a new batch in place of the one before."""
        self.batch = dense(batch).astype(self.dtype, copy=False)
        self.norms = squared_norms(self.batch)

    def insert(self, position: int, slot: int) -> None:
        """Make a row of the batch the last support pattern."""
        if position == len(self.support):
            self.support = np.concatenate([self.support, np.zeros_like(self.support)])
            self.support_norms = np.concatenate([self.support_norms, np.zeros_like(self.support_norms)])
        self.support[position] = self.kept(self.offset + slot)
        self.support_norms[position] = self.norms[self.offset + slot]
        self.n = position + 1

    def kept(self, row: int) -> Any:
        """What is kept of a row of `batch` that becomes a support pattern."""
        return self.batch[row]

    def remove(self, position: int, last: int) -> None:
        """Put the last support pattern in the place of a removed one."""
        self.support[position], self.support_norms[position] = self.support[last], self.support_norms[last]
        self.n = last

    def vectors(self) -> Any:
        """The support patterns."""
        return self.support[: self.n]

    def block(self, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Kernels of some rows of the batch with all support patterns, and with each other."""
        rows, norms = self.batch[self.offset + slots], self.norms[self.offset + slots]
        return self.with_support(rows, norms), self.checked(
            self.kernel(rows, rows, norms, norms), (len(slots),) * 2
        )

    def row(self, position: int) -> np.ndarray:
        """Kernels of one support pattern with all of them."""
        return self.with_support(self.support[[position]], self.support_norms[[position]])[0]

    def with_support(self, rows: Any, norms: np.ndarray) -> np.ndarray:
        """Kernels of any rows with all support patterns."""
        if self.n == 0:
            return np.zeros((rows.shape[0], 0), dtype=self.dtype)
        values = self.kernel(rows, self.vectors(), norms, self.support_norms[: self.n])
        return self.checked(values, (rows.shape[0], self.n))

    def checked(self, values: Any, shape: tuple[int, int]) -> np.ndarray:
        values = np.asarray(values, dtype=self.dtype)
        if values.shape != shape:
            raise ValueError(
                f"the kernel returned an array of shape {values.shape} for {shape[0]} x {shape[1]} patterns"
            )
        if not np.all(np.isfinite(values)):
            raise ValueError(
                "the kernel returned NaN or infinity: scale the inputs, or lower gamma or the degree"
            )
        return values


class SparseInputs(Inputs):
    """Sparse patterns: support patterns are rows of a store, into which each batch is taken."""

    def room(self, batch: Any) -> np.ndarray:
        return np.zeros(64, dtype=np.intp)

    def begin(self, batch: Any) -> None:
        store = sparse.vstack([self.vectors(), batch]) if self.n else batch
        self.offset = self.n
        self.support[: self.n] = np.arange(self.n)
        self.batch = sparse.csr_array(store, dtype=self.dtype)
        self.norms = squared_norms(self.batch)

    def kept(self, row: int) -> int:
        return row

    def vectors(self) -> Any:
        return self.batch[self.support[: self.n]]

    def row(self, position: int) -> np.ndarray:
        return self.with_support(self.batch[self.support[[position]]], self.support_norms[[position]])[0]


class PrecomputedInputs(SparseInputs):
    """A batch that is itself the kernel matrix: support patterns are rows and columns of it."""

    def __init__(self, batch: Any) -> None:
        super().__init__(lambda a, b, _, __: products(a, b), batch)
        self.cost = 1.0

    def begin(self, batch: Any) -> None:
        self.batch, self.norms = dense(batch), np.zeros(batch.shape[0], dtype=self.dtype)

    def vectors(self) -> Any:
        return self.support[: self.n]

    def block(self, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.with_support(self.batch[slots], self.norms), self.batch[np.ix_(slots, slots)]

    def with_support(self, rows: Any, norms: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(dense(rows[:, self.support[: self.n]]))
