"""`GramSpace`: w is a sum over training inputs, known by the matrix of the kernel between all of them."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property, singledispatch
from typing import Any

import numpy as np

from structsvm._dual.gram import GramDual
from structsvm._scipy import sparse
from structsvm.kernels.functions import Kernel, squared_norms
from structsvm.machine import Inputs, Machine, Outputs, Patterns
from structsvm.problem import Problem, same_output
from structsvm.problems.joint import JointKernelProblem
from structsvm.problems.multiclass import Multiclass
from structsvm.problems.sequence.problem import SequenceProblem, Sequences
from structsvm.spaces.base import Space
from structsvm.spaces.kernel import KernelPatterns
from structsvm.spaces.linear import LINEAR
from structsvm.validation import check_matrix

BLOCK = 256  # inputs whose kernel values are computed together


class GramSpace(Space):
    """Training inputs, known by their kernel matrix; input r has the single feature r.

    `data` is X as the oracle of the problem sees it. Coefficients are in the order of the weights. Only the
    training data have kernel values, so there can be no second data set.
    """

    data: Any
    offset = 0  # of the first input in the weights
    eta = 1.0  # eta^2 is the kernel of two equal transitions

    def __init__(self, n: int, megabytes: float) -> None:
        self.n = n
        needed = 8 * n * n / 2**20
        if needed > megabytes:
            raise ValueError(
                f"the kernel matrix of {n} inputs needs {needed:.0f} MB; raise cache_size={megabytes:g}, or "
                "train on fewer examples"
            )

    @property
    @abstractmethod
    def gram(self) -> np.ndarray:
        """The kernel matrix."""

    def stride(self, problem: Any) -> int:
        """The number of weights of an input."""
        return 1

    def oracle(self, problem: Problem, *, rescaling: str, slack: str) -> Patterns:
        return LINEAR.oracle(problem, rescaling=rescaling, slack=slack)

    def machine(self, oracle: Any, *, C: float, tau: float, kappa: float, seed: int) -> Machine:
        return GramDual(
            oracle, self.gram, offset=self.offset, stride=self.stride(oracle.problem), eta=self.eta, C=C,
            tau=tau, kappa=kappa, seed=seed,
        )  # fmt: skip

    def __getstate__(self) -> dict[str, Any]:
        """For pickles, without kernel values, which are recomputed."""
        return {name: value for name, value in vars(self).items() if name not in ("gram", "inputs")}


@singledispatch
def check_kernel(problem: Problem, kernel: Kernel) -> None:
    """Raise ValueError for a problem that has no kernel form, or not with this kernel."""
    raise ValueError(
        "kernels require a Multiclass problem without fit_intercept, a SequenceProblem or a "
        "JointKernelProblem"
    )


@singledispatch
def gram_space(problem: Problem, X: Inputs, kernel: Kernel) -> GramSpace:
    """The space of a problem and its training data."""
    raise TypeError(f"{type(problem).__name__} has no kernel form")


class Vectors(GramSpace):
    """Inputs that are rows of a matrix."""

    def __init__(self, X: Inputs, kernel: Kernel) -> None:
        super().__init__(X.shape[0], kernel.cache_size)
        self.vectors, self.kernel = X, kernel

    @cached_property
    def inputs(self) -> Any:
        """The training inputs as the support patterns of a kernel machine."""
        patterns = KernelPatterns(None, self.kernel)
        if self.kernel.is_precomputed:
            patterns.add_rows(np.arange(self.n), self.vectors)
        else:
            patterns.add_rows(self.vectors)
        return patterns.inputs

    @cached_property
    def gram(self) -> np.ndarray:
        gram = np.empty((self.n, self.n))
        for at in range(0, self.n, BLOCK):
            gram[at : at + BLOCK] = self.values(self.vectors[at : at + BLOCK])
        return gram

    def values(self, X: Inputs, norms: np.ndarray | None = None) -> np.ndarray:
        """Kernel values of rows with all training inputs."""
        values: np.ndarray = self.inputs.with_support(X, squared_norms(X) if norms is None else norms)
        return values


class Rows(Vectors):
    """The inputs of a `Multiclass` problem."""

    def __init__(self, X: Inputs, kernel: Kernel) -> None:
        super().__init__(check_matrix(X).copy(), kernel)
        self.data = sparse.csr_array(sparse.eye_array(self.n))

    def stride(self, problem: Any) -> int:
        return int(problem.output_features_.shape[1])

    def checked(self, problem: Any, X: Inputs) -> Any:
        return check_matrix(X, n_features=self.vectors.shape[1])

    def scores(self, problem: Any, machine: Any, X: Inputs) -> np.ndarray:
        X, coefficients = X.astype(self.vectors.dtype, copy=False), machine.coefficients()
        blocks = [self.values(X[at : at + BLOCK]) for at in range(0, X.shape[0], BLOCK)]
        return np.concatenate([problem.scores(block, coefficients) for block in blocks])

    def predict(self, problem: Any, machine: Any, X: Inputs) -> np.ndarray:
        scores = self.scores(problem, machine, self.checked(problem, X))
        classes: np.ndarray = problem.classes_[np.argmax(scores, axis=1)]
        return classes


@check_kernel.register
def _(problem: Multiclass, kernel: Kernel) -> None:
    if problem.fit_intercept:
        check_kernel.dispatch(Problem)(problem, kernel)


@gram_space.register
def _(problem: Multiclass, X: Inputs, kernel: Kernel) -> Rows:
    return Rows(X, kernel)


class Tokens(Vectors):
    """The inputs of a `SequenceProblem`: the tokens of all sentences."""

    def __init__(self, X: Sequences, problem: SequenceProblem, kernel: Kernel) -> None:
        if X.n_tokens == 0:
            raise ValueError("the sentences have no tokens")
        vectors, _ = self.matrix(X, int(X.rows.max(initial=0)) + 1)
        super().__init__(vectors, kernel)
        self.offset, self.eta, self.data = problem.offset, kernel.eta, numbered(X)

    @staticmethod
    def matrix(X: Sequences, width: int) -> tuple[Any, np.ndarray]:
        """Tokens as sparse rows of some width, and the squared norms of all their features."""
        values = np.ones(len(X.rows)) if X.values is None else X.values.astype(np.float64)
        if len(X.rows) and not (np.isfinite(values).all() and X.rows.min() >= 0):
            raise ValueError("feature rows must be at least 0 and their values finite")
        whole = sparse.csr_array(
            (values, X.rows, X.token_ptr),
            shape=(X.n_tokens, max(width, int(X.rows.max(initial=0)) + 1)),
            copy=True,  # of the arrays that `sum_duplicates` changes
        )
        whole.sum_duplicates()
        return sparse.csr_array(whole[:, :width]), squared_norms(whole)

    def stride(self, problem: Any) -> int:
        return int(problem.stride)

    def predict(self, problem: Any, machine: Any, X: Sequences) -> np.ndarray:
        """The labels of all tokens."""
        from structsvm.problems.sequence._decode import Decoder

        coefficients = machine.coefficients()
        tokens, norms = self.matrix(X, self.vectors.shape[1])
        inputs = coefficients[self.offset :].reshape(self.n, -1)
        weights = np.empty((problem.history + X.n_tokens, problem.stride), np.float32)
        weights[: problem.history] = self.eta**2 * coefficients[: self.offset].reshape(-1, problem.stride)
        for at in range(0, X.n_tokens, BLOCK):
            rows = slice(at, at + BLOCK)
            weights[problem.history :][rows] = self.values(tokens[rows], norms[rows]) @ inputs
        return Decoder(problem, weights.reshape(-1)).labels(numbered(X))


@check_kernel.register
def _(problem: SequenceProblem, kernel: Kernel) -> None:
    if problem.bigrams or kernel.is_precomputed:
        raise ValueError("token kernels support neither bigram features nor a precomputed matrix")


@gram_space.register
def _(problem: SequenceProblem, X: Inputs, kernel: Kernel) -> Tokens:
    return Tokens(X, problem, kernel)


def numbered(X: Sequences) -> Sequences:
    """Sentences in which each token has one feature, its number."""
    return Sequences(np.arange(X.n_tokens, dtype=np.int32), np.arange(X.n_tokens + 1), X.sentence_ptr)


class Pairs(GramSpace):
    """The inputs of a `JointKernelProblem`: each training pattern with each of its candidates."""

    def __init__(self, X: Inputs, problem: JointKernelProblem, megabytes: float) -> None:
        self.patterns = list(X)
        self.outputs = [list(problem.candidates(x)) for x in self.patterns]
        self.starts = np.cumsum([0, *map(len, self.outputs)])
        super().__init__(int(self.starts[-1]), megabytes)
        self.problem, self.data = problem, range(len(self.patterns))

    def oracle(self, problem: Problem, *, rescaling: str, slack: str) -> Patterns:
        return LINEAR.oracle(NumberedPairs(self), rescaling=rescaling, slack=slack)

    def pairs(self) -> list[tuple[Any, Any]]:
        return [(x, y) for x, outputs in zip(self.patterns, self.outputs, strict=True) for y in outputs]

    @cached_property
    def gram(self) -> np.ndarray:
        pairs, kernel = self.pairs(), self.problem.joint_kernel
        gram = np.empty((self.n, self.n))
        for r, (x, y) in enumerate(pairs):
            gram[r, : r + 1] = [kernel(x, y, *other) for other in pairs[: r + 1]]
            gram[: r + 1, r] = gram[r, : r + 1]
        if not np.isfinite(gram).all():
            raise ValueError("joint_kernel returned NaN or infinity")
        return gram

    def predict(self, problem: Any, machine: Any, X: Inputs) -> list[Any]:
        used = [(pair, a) for pair, a in zip(self.pairs(), machine.coefficients(), strict=True) if a]

        def score(x: Any, y: Outputs) -> float:
            return sum(a * problem.joint_kernel(x, y, *pair) for pair, a in used)

        return [max(problem.candidates(x), key=lambda y: score(x, y)) for x in X]


@check_kernel.register
def _(problem: JointKernelProblem, kernel: Kernel) -> None:
    """Accept every kernel: the problem has its own."""


@gram_space.register
def _(problem: JointKernelProblem, X: Inputs, kernel: Kernel) -> Pairs:
    return Pairs(X, problem, kernel.cache_size)


class NumberedPairs(Problem):
    """A joint-kernel problem whose patterns are numbers; each pair (pattern, output) is a feature."""

    def __init__(self, span: Pairs) -> None:
        self.span, self.n_features = span, span.n

    def joint_feature(self, x: int, y: Outputs) -> tuple[list[int], list[float]]:
        for k, other in enumerate(self.span.outputs[x]):
            if same_output(y, other):
                return [int(self.span.starts[x]) + k], [1.0]
        raise ValueError(f"{y!r} is not one of the candidates of its pattern")

    def loss(self, y: Outputs, other: Any) -> float:
        return float(self.span.problem.loss(y, other))

    def candidates(self, x: int) -> list[Any]:
        return self.span.outputs[x]
