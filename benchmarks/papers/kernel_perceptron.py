"""The averaged multiclass perceptron with a kernel, which figure 5.1 of Bordes' thesis compares with."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse

BLOCK = 64


class KernelPerceptron:
    """Freund and Schapire's perceptron: a wrong pattern enters with +1 for its class, -1 for its guess.

    gamma: of the rbf kernel; None is the linear kernel. n_kernels_ counts values as with a cache that forgets
    nothing: a pattern met again is compared only with what has entered since.
    """

    dual_ = float("nan")

    def __init__(self, *, epochs: int, gamma: float | None, random_state: int) -> None:
        self.epochs = epochs
        self.gamma = gamma
        self.random_state = random_state

    def fit(self, X: Any, y: np.ndarray) -> Self:
        self.classes_, codes = np.unique(y, return_inverse=True)
        n, rng = len(codes), np.random.default_rng(self.random_state)
        self._X = X
        self._norms = squared_norms(X)
        self._entered: list[int] = []  # patterns in the order in which they entered
        place = np.full(n, -1)
        met = np.zeros(n, int)
        last = np.zeros((n, len(self.classes_)))  # coefficients, by place
        moments = np.zeros_like(last)
        self.n_argmax_, self.n_kernels_ = 0, 0
        for _ in range(self.epochs):
            order = rng.permutation(n)
            for start in range(0, n, BLOCK):
                block = order[start : start + BLOCK]
                known = len(self._entered)
                scores = (
                    self._kernel(block, self._entered) @ last[:known]
                    if known
                    else np.zeros((len(block), last.shape[1]))
                )
                among = self._kernel(block, block)
                for row, pattern in enumerate(block):
                    self.n_argmax_ += 1
                    self.n_kernels_ += len(self._entered) - met[pattern]
                    met[pattern] = len(self._entered)
                    guess = int(np.argmax(scores[row]))
                    if guess == codes[pattern]:
                        continue
                    if place[pattern] < 0:
                        place[pattern] = len(self._entered)
                        self._entered.append(pattern)
                    step = np.zeros(last.shape[1])
                    step[codes[pattern]] += 1
                    step[guess] -= 1
                    last[place[pattern]] += step
                    moments[place[pattern]] += self.n_argmax_ * step
                    scores += np.outer(among[:, row], step)
        support = len(self._entered)
        self._coefficients = last[:support] - moments[:support] / self.n_argmax_
        return self

    @property
    def n_support_patterns_(self) -> int:
        return len(self._entered)

    def predict(self, X: Any) -> np.ndarray:
        parts = [
            self._against(X[at : at + 512], self._entered) @ self._coefficients
            for at in range(0, X.shape[0], 512)
        ]
        return self.classes_[np.argmax(np.concatenate(parts), axis=1)]

    def _kernel(self, rows: Any, columns: Any) -> np.ndarray:
        return self._against(self._X[rows], columns)

    def _against(self, rows: Any, columns: Any) -> np.ndarray:
        product = rows @ self._X[columns].T
        product = product.toarray() if sparse.issparse(product) else product
        if self.gamma is None:
            return product
        distances = squared_norms(rows)[:, None] + self._norms[columns] - 2 * product
        return np.exp(-self.gamma * np.maximum(distances, 0))


def squared_norms(X: Any) -> np.ndarray:
    return (
        np.asarray(X.multiply(X).sum(axis=1)).ravel() if sparse.issparse(X) else np.einsum("ij,ij->i", X, X)
    )
