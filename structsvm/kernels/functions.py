"""Kernels computed in blocks, and the inputs of a kernel machine: the current batch and the support
patterns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from structsvm._scipy import sparse
from structsvm.kernels.kernel_cache import rbf_single
from structsvm.options import option
from structsvm.validation import LARGEST, check_choice

NOT_FINITE = "the kernel returned NaN or infinity; scale the inputs, or lower gamma or the degree"
ALL = slice(None)
ROWS = 1024  # converted at a time
KERNELS = ("linear", "rbf", "poly", "precomputed")
GAMMAS = ("scale", "auto")
GAMMA = option(
    default="scale", above=0, choices=GAMMAS, fixed_on_resume=True,
    help="The gamma of the kernel: a number, scale (1 / (n_features X.var())) or auto (1 / n_features).",
)  # fmt: skip
DEGREE = option(default=3, low=1, fixed_on_resume=True, help="The degree of the kernel poly.")
COEF0 = option(default=0.0, low=-LARGEST, fixed_on_resume=True, help="The constant of the kernel poly.")
KernelFunction = Callable[[Any, Any, np.ndarray, np.ndarray], Any]


def kernel_function(
    kernel: str | Callable[[Any, Any], Any], *, gamma: float, degree: int, coef0: float
) -> KernelFunction:
    """k(A, B, |A|^2, |B|^2) -> kernel values between rows of A and B, by matrix products."""
    if callable(kernel):
        return lambda a, b, _, __: kernel(a, b)
    if kernel == "linear":
        return lambda a, b, _, __: products(a, b)
    if kernel == "poly":
        return lambda a, b, _, __: (gamma * products(a, b) + coef0) ** degree
    if kernel == "rbf":
        return Rbf(gamma)
    raise ValueError(f"there is no kernel {kernel!r} of vectors")


def is_kernel(name: str, value: Any) -> None:
    """Raise ValueError for anything but a function or the name of a kernel."""
    if not callable(value) and not (isinstance(value, str) and value in KERNELS):
        known = ", ".join(map(repr, KERNELS))
        raise ValueError(f"{name} must be a function or one of {known}, got {value!r}")


class Rbf:
    """exp(-gamma ||a - b||^2), from inner products: exact only around the origin, see `Inputs`."""

    def __init__(self, gamma: float) -> None:
        self.gamma = gamma

    def __call__(self, a: Any, b: Any, norms_a: np.ndarray, norms_b: np.ndarray) -> np.ndarray:
        return rbf(products(a, b), norms_a, norms_b, self.gamma)


def gamma_value(gamma: float | str, X: Any) -> float:
    """Return gamma as a number: "scale" is 1 / (n_features X.var()), "auto" is 1 / n_features."""
    if not isinstance(gamma, str):
        return gamma
    check_choice(gamma=(gamma, GAMMAS))
    if gamma == "auto":
        return 1 / X.shape[1]
    size = X.shape[0] * X.shape[1]
    mean = float((X.data if sparse.issparse(X) else X).sum(dtype=np.float64)) / size
    if sparse.issparse(X):
        variance = squared_norms(X).sum() / size - mean**2
    else:
        variance = sum(np.square(part - mean).sum(dtype=np.float64) for part in parts(X)) / size
    return float(1 / (X.shape[1] * variance)) if variance > 0 else 1.0


def parts(X: Any) -> Iterator[Any]:
    """A few rows at a time, at least once."""
    return (X[at : at + ROWS] for at in range(0, max(X.shape[0], 1), ROWS))


def products(a: Any, b: Any) -> np.ndarray:
    """Inner products between rows, dense or sparse."""
    return dense(a @ b.T)


def dense(a: Any) -> np.ndarray:
    """An array, of a sparse matrix too."""
    return a.toarray() if sparse.issparse(a) else a


def rbf(values: np.ndarray, norms_a: np.ndarray, norms_b: np.ndarray, gamma: float) -> np.ndarray:
    """exp(-gamma ||a - b||^2) in place of the inner products."""
    if values.dtype == norms_a.dtype == norms_b.dtype == np.float32 and values.flags.c_contiguous:
        if not rbf_single(values, norms_a, norms_b, gamma):
            raise ValueError(NOT_FINITE)
        return values
    values *= 2
    values -= norms_a[:, None]
    values -= norms_b[None, :]
    np.minimum(values, 0, out=values)  # rounding may leave a tiny negative distance
    values *= gamma
    return finite(np.exp(values, out=values))


def finite(values: np.ndarray) -> np.ndarray:
    if not np.all(np.isfinite(values)):
        raise ValueError(NOT_FINITE)
    return values


def squared_norms(a: Any) -> np.ndarray:
    """||row||^2 of each row."""
    if sparse.issparse(a):
        doubles = (part.astype(np.float64) for part in parts(a))
        return np.concatenate([np.asarray(part.multiply(part).sum(axis=1)).ravel() for part in doubles])
    return np.einsum("ij,ij->i", a, a)


def grown(array: np.ndarray) -> np.ndarray:
    """The array, twice as long."""
    return np.concatenate([array, np.zeros_like(array)])


class Inputs:
    """Dense patterns: `batch` is borrowed from the caller, support patterns are copied out of it.

    A slot is a row of the batch, a position an index among the support patterns.

    ||a - b||^2 = ||a||^2 + ||b||^2 - 2 <a, b> loses its digits far from the origin, so for the RBF kernel the
    first support pattern becomes the origin: `near` holds the support patterns relative to it. The origin
    depends only on the support patterns, so a model that was saved and loaded computes the same values.
    """

    offset = 0  # of slot 0 in `batch`

    def __init__(self, kernel: KernelFunction, batch: Any) -> None:
        self.kernel = kernel
        self.dtype = batch.dtype
        self.cost = float(batch.nnz / max(batch.shape[0], 1) if sparse.issparse(batch) else batch.shape[1])
        self.n = 0
        self.support = self.room(batch)
        self.support_norms = np.zeros(
            len(self.support), dtype=np.float64 if sparse.issparse(batch) else self.dtype
        )
        self.moves = isinstance(kernel, Rbf)
        self.stale: list[int] = []  # support patterns that `near` does not have yet
        self.near = self.support.copy() if self.moves else self.support
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
        if position >= len(self.support):
            support, norms = grown(self.support), grown(self.support_norms)
            near = grown(self.near) if self.moves else support
            # One statement, and no call in it: Ctrl-C comes before or after, not in between.
            self.support, self.support_norms, self.near = support, norms, near
        self.support[position] = self.kept(self.offset + slot)
        self.support_norms[position] = self.norms[self.offset + slot]
        self.n = position + 1
        if self.moves:
            self.stale.append(position)

    def kept(self, row: int) -> Any:
        """The copy to keep of a row of `batch` that becomes a support pattern."""
        return self.batch[row]

    def remove(self, position: int, last: int) -> None:
        """Put the last support pattern in the place of a removed one."""
        self.support[position], self.support_norms[position] = self.support[last], self.support_norms[last]
        self.n = last
        if self.moves:
            self.stale.append(position)

    def reordered(self, order: np.ndarray) -> tuple[np.ndarray, ...]:
        """Support patterns in another order, and fewer if it leaves some out: for take()."""
        support, norms = self.support[order], self.support_norms[order]
        if self.near is self.support:
            return support, norms, support
        near = support - support[0]
        return support, squared_norms(near), near

    def take(self, arrays: tuple[np.ndarray, ...]) -> None:
        """Make what reordered() has given the support patterns."""
        self.support, self.support_norms, self.near = arrays
        self.n, self.stale = len(self.support), []  # no call before: Ctrl-C comes now, and it is done again

    def move(self) -> None:
        """See new support patterns from the first one; all of them, if the first is new itself."""
        stale = self.stale
        if self.moves and stale:
            new = np.arange(self.n) if 0 in stale else np.unique(stale)
            new = new[new < self.n]
            self.near[new] = near = self.support[new] - self.support[0]
            self.support_norms[new] = squared_norms(near)
        self.stale = []  # last, for another thread that predicts

    def vectors(self) -> Any:
        """The support patterns."""
        return self.support[: self.n]

    def block(self, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Kernels of some rows of the batch with all support patterns, and with each other."""
        rows, norms = self.batch[self.offset + slots], self.norms[self.offset + slots]
        return self.with_support(rows, norms), self.among(slots)

    def among(self, slots: np.ndarray) -> np.ndarray:
        """Kernels of some rows of the batch with each other."""
        rows, norms = self.batch[self.offset + slots], self.norms[self.offset + slots]
        rows, norms = self.seen(rows, norms, rows)
        return self.checked(self.kernel(rows, rows, norms, norms), (len(slots),) * 2)

    def row(self, position: int) -> np.ndarray:
        """Kernels of one support pattern with all of them."""
        self.move()
        others, norms, one = self.others(), self.support_norms[: self.n], slice(position, position + 1)
        values = self.kernel(others[one], others, norms[one], norms)
        return self.checked(values, (1, self.n))[0]

    def with_support(self, rows: Any, norms: np.ndarray, chosen: Any = ALL) -> np.ndarray:
        """Kernels of any rows with all support patterns, or with chosen ones."""
        if self.n == 0:
            return np.zeros((rows.shape[0], 0), dtype=self.dtype)
        self.move()
        rows, norms = self.seen(rows, norms, self.support)
        others = self.others() if chosen is ALL else self.others()[chosen]
        values = self.kernel(rows, others, norms, self.support_norms[: self.n][chosen])
        return self.checked(values, (rows.shape[0], others.shape[0]))

    def seen(self, rows: Any, norms: np.ndarray, origin: Any) -> tuple[Any, np.ndarray]:
        """Rows in the form in which the kernel is exact, and their norms."""
        if not self.moves:
            return rows, norms
        rows = dense(rows) - origin[0]
        return rows, squared_norms(rows)

    def others(self) -> Any:
        """Support patterns in that form."""
        return self.near[: self.n]

    def checked(self, values: Any, shape: tuple[int, int]) -> np.ndarray:
        values = np.asarray(values, dtype=self.dtype)
        if values.shape != shape:
            raise ValueError(
                f"the kernel returned an array of shape {values.shape} for {shape[0]} x {shape[1]} patterns"
            )
        return values if self.moves else finite(values)  # the RBF kernel looks itself


class SparseInputs(Inputs):
    """Sparse patterns: support patterns are rows of a store, into which each batch is taken.

    They cannot be moved relative to an origin, because they would no longer be sparse; the RBF kernel uses
    double precision instead.
    """

    def room(self, batch: Any) -> np.ndarray:
        return np.zeros(64, dtype=np.intp)

    def begin(self, batch: Any) -> None:
        store = sparse.csr_array(
            sparse.vstack([self.vectors(), batch]) if self.n else batch, dtype=self.dtype
        )
        norms, support = squared_norms(store), self.support.copy()
        support[: self.n] = np.arange(self.n)
        # One statement, and no call in it: Ctrl-C comes before or after, not in between.
        self.offset, self.support, self.batch, self.norms = self.n, support, store, norms

    def kept(self, row: int) -> int:
        return row

    def reordered(self, order: np.ndarray) -> tuple[np.ndarray, ...]:
        return self.support[order], self.support_norms[order], self.support[order]

    def move(self) -> None:
        """Nothing is moved."""
        self.stale = []

    def seen(self, rows: Any, norms: np.ndarray, origin: Any) -> tuple[Any, np.ndarray]:
        if not self.moves or self.dtype == np.float64:
            return rows, norms
        rows = rows.astype(np.float64)
        return rows, squared_norms(rows)

    def others(self) -> Any:
        return self.vectors().astype(np.float64) if self.moves else self.vectors()

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
        return self.with_support(self.batch[slots], self.norms), self.among(slots)

    def among(self, slots: np.ndarray) -> np.ndarray:
        return np.asarray(self.batch[np.ix_(slots, slots)])

    def with_support(self, rows: Any, norms: np.ndarray, chosen: Any = ALL) -> np.ndarray:
        return np.ascontiguousarray(dense(rows[:, self.support[: self.n][chosen]]))


@dataclass(frozen=True)
class Kernel:
    """A kernel between inputs, with its options, see `KernelLaRank`; cache_size: megabytes for its values."""

    kernel: str | Callable[[Any, Any], Any]
    gamma: float
    degree: int
    coef0: float
    cache_size: float
    eta: float = 1.0

    @property
    def is_precomputed(self) -> bool:
        """Whether X contains the values of the kernel."""
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def inputs(self, X: Any) -> Inputs:
        """The store of inputs that are rows of X."""
        if self.is_precomputed:
            if X.shape[0] != X.shape[1]:
                raise ValueError(f"a precomputed kernel must be a square matrix, got shape {X.shape}")
            return PrecomputedInputs(X)
        function = kernel_function(self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0)
        return (SparseInputs if sparse.issparse(X) else Inputs)(function, X)
