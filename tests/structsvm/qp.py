"""The same dual solved by scipy with every output enumerated: what the optimizers are held to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from structsvm import Multiclass


@dataclass
class Solution:
    dual: float
    primal: float
    w: np.ndarray


def solve(outputs, upper, *, rescaling="margin", slack="l1") -> Solution:
    """outputs: for each pattern its (loss, difference) pairs, the true output left out; upper: C_i.

    L1: max  sum alpha Delta - |w|^2 / 2,  alpha >= 0, sum_y alpha_iy <= C_i
    L2: max  sum alpha Delta - |w|^2 / 2 - sum_i (sum_y alpha_iy)^2 / (2 C_i),  alpha >= 0
    """
    owner = np.array([i for i, of_pattern in enumerate(outputs) for _ in of_pattern])
    loss = np.array([each for of_pattern in outputs for each, _ in of_pattern])
    d = np.array([each for of_pattern in outputs for _, each in of_pattern])
    upper = np.asarray(upper, float)
    if slack == "l2":
        loss = np.sqrt(loss)
    if rescaling == "slack":
        d = d * loss[:, None]
    usable = upper[owner] > 0
    A = (owner[None, :] == np.arange(len(upper))[:, None]).astype(float)
    H = d @ d.T
    if slack == "l2":
        H = H + (A.T * np.divide(1, upper, where=upper > 0, out=np.zeros_like(upper))) @ A
    alpha = np.zeros(len(loss))
    alpha[usable] = maximise(
        H[np.ix_(usable, usable)], loss[usable], A[:, usable], upper if slack == "l1" else None
    )
    w = d.T @ alpha
    violation = loss - d @ w
    xi = np.maximum(0, [violation[owner == i].max(initial=0) for i in range(len(upper))])
    cost = upper @ (xi if slack == "l1" else xi**2 / 2)
    return Solution(float(loss @ alpha - alpha @ H @ alpha / 2), float(w @ w / 2 + cost), w)


def maximise(H, b, A, upper) -> np.ndarray:
    """argmax b'a - a'Ha/2 with a >= 0 and Aa <= upper: SLSQP, then the active set it found solved exactly."""
    scale = np.sqrt(max(H.diagonal().max(), 1e-12))
    options = {"ftol": 1e-15, "maxiter": 1000}
    constraints = (
        [{"type": "ineq", "fun": lambda a: upper - A @ a, "jac": lambda a: -A}] if upper is not None else []
    )
    start = np.zeros(len(b)) if upper is None else 0.1 * A.T @ upper / max(1.0, A.sum(axis=1).max())
    found = minimize(
        lambda a: (a @ H @ a / 2 - b @ a) / scale, start, jac=lambda a: (H @ a - b) / scale,
        method="SLSQP", bounds=[(0, None)] * len(b), constraints=constraints, options=options,
    )  # fmt: skip
    a = np.maximum(found.x, 0)
    if upper is not None:
        a /= np.maximum(1, A.T @ ((A @ a) / np.where(upper > 0, upper, 1)))
    best = a
    for tolerance in (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8):
        polished = on_active_set(H, b, A, upper, a, tolerance)
        if (
            polished is not None
            and b @ polished - polished @ H @ polished / 2 > b @ best - best @ H @ best / 2
        ):
            best = polished
    return best


def on_active_set(H, b, A, upper, a, tolerance):
    """The maximum with small coefficients at zero and full patterns full; None if that is not feasible."""
    free = a > tolerance * a.max(initial=0)
    full = A @ a > upper * (1 - tolerance) if upper is not None else np.zeros(len(A), bool)
    full &= A[:, free].any(axis=1)
    E = A[full][:, free]
    kkt = np.block([[H[np.ix_(free, free)], E.T], [E, np.zeros((len(E), len(E)))]])
    right = np.concatenate([b[free], upper[full] if upper is not None else []])
    polished = np.zeros(len(b))
    polished[free] = np.linalg.lstsq(kkt, right, rcond=1e-13)[0][: free.sum()]
    slightly = 1e-12 * max(1.0, a.max(initial=0))
    feasible = polished.min() > -slightly and (upper is None or (A @ polished <= upper + slightly).all())
    return np.maximum(polished, 0) if feasible else None


def multiclass_outputs(X, y, loss, Lambda=None):
    """The outputs of a Multiclass problem, labels 0..k-1."""
    Lambda = np.eye(len(loss)) if Lambda is None else Lambda
    return [
        [
            (loss[c, other], np.outer(x, Lambda[c] - Lambda[other]).ravel())
            for other in range(len(loss))
            if other != c
        ]
        for x, c in zip(np.asarray(X, float), y, strict=True)
    ]


def small_problem(seed, C, rescaling, slack):
    """A problem with weighted examples, and its solution."""
    rng = np.random.default_rng(seed)
    n, k, width = rng.integers(3, 8), rng.integers(2, 5), rng.integers(1, 4)
    X = rng.normal(size=(n, width))
    y = rng.integers(0, k, n)
    y[:2] = 0, 1
    loss = rng.uniform(0.1, 2, size=(k, k)) * (1 - np.eye(k))
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], size=n)
    weight[0] = 1
    best = solve(multiclass_outputs(X, y, loss), C * weight, rescaling=rescaling, slack=slack)
    assert best.primal - best.dual < 2e-7 * best.primal, "the reference itself has not converged"
    return Multiclass(classes=range(k), loss=loss), X, y, weight, best
