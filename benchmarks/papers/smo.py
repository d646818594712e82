"""How many kernel values libsvm's working-set selection asks for, with a cache that forgets nothing."""

from __future__ import annotations

from typing import Any

import numpy as np


def smo_kernels(X: Any, y: np.ndarray, C: float, gamma: float, tol: float = 1e-3) -> int:
    """Rows of the RBF kernel matrix that SMO with second-order selection touches, times their length."""
    from structsvm.kernels.functions import dense, squared_norms

    norms, n = squared_norms(X), X.shape[0]
    sign = np.where(y, 1.0, -1.0)
    alpha, gradient, rows = (
        np.zeros(n),
        sign.copy(),
        {},
    )  # alpha and its gradient with the sign of y, as LASVM's
    low, high = np.minimum(0, C * sign), np.maximum(0, C * sign)

    def row(i: int) -> np.ndarray:
        if i not in rows:
            products = np.asarray(dense(X @ X[[i]].T)).ravel()
            rows[i] = np.exp(-gamma * np.maximum(norms + norms[i] - 2 * products, 0)).astype(np.float32)
        return rows[i]

    while True:
        i = int(np.argmax(np.where(alpha < high, gradient, -np.inf)))
        gap = np.where(alpha > low, gradient[i] - gradient, -np.inf)
        if gap.max() <= tol:
            return len(rows) * n
        curvature = np.maximum(2 - 2 * row(i).astype(np.float64), 1e-12)
        j = int(np.argmax(np.where(gap > 0, gap * np.abs(gap) / curvature, -np.inf)))
        step = min(gap[j] / curvature[j], high[i] - alpha[i], alpha[j] - low[j])
        alpha[i] += step
        alpha[j] -= step
        gradient -= step * (row(i) - row(j))
