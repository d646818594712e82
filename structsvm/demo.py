"""What `structsvm demo` shows of the optimizers: all of them on one generated problem."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from structsvm import LaRank, LaRankClassifier, Multiclass, PassiveAggressive, Perceptron, SVMStruct
from structsvm._optimizer import Optimizer


def generate(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Points around twenty centres in 50 dimensions, two centres for each of ten classes."""
    centres = np.random.default_rng(1).normal(size=(20, 50)) * 0.6
    which = rng.integers(20, size=n)
    return centres[which] + rng.normal(size=(n, 50)), which % 10


def demo(*, seed: int = 0) -> None:
    """Train on 4,000 generated patterns and print how far each optimizer gets."""
    rng = np.random.default_rng(seed)
    X, y = generate(4000, rng)
    X_test, y_test = generate(4000, rng)
    print("4,000 training patterns, 50 features, 10 classes; C = 0.01\n")
    print(f"{'optimizer':36}{'error %':>8}{'dual':>9}{'gap':>9}{'argmax':>9}{'seconds':>9}")
    common: dict[str, Any] = {"random_state": seed}
    optimizers: list[tuple[str, Optimizer]] = [
        ("perceptron, averaged, 1 pass", Perceptron(Multiclass(), **common)),
        ("passive-aggressive, 1 pass", PassiveAggressive(Multiclass(), C=0.01, **common)),
        ("LaRank, fixed schedule, 1 pass", LaRank(Multiclass(), C=0.01, **common)),
        ("LaRank, adaptive schedule, 1 pass", LaRank(Multiclass(), C=0.01, schedule="adaptive", **common)),
        ("LaRankGap, until gap < C", LaRank(Multiclass(), C=0.01, gap_tolerance=0.01, **common)),
        ("SVMstruct, cutting planes", SVMStruct(Multiclass(), C=0.01, **common)),
    ]
    for name, optimizer in optimizers:
        start = time.perf_counter()
        optimizer.fit(X, y)
        seconds = time.perf_counter() - start
        error = 100 * np.mean(optimizer.predict(X_test) != y_test)
        has_dual = optimizer.dual_ == optimizer.dual_
        dual, gap = (f"{optimizer.dual_:.2f}", f"{optimizer.gap():.2f}") if has_dual else ("-", "-")
        print(f"{name:36}{error:8.2f}{dual:>9}{gap:>9}{optimizer.n_argmax_:9}{seconds:9.2f}")
    start = time.perf_counter()
    kernel = LaRankClassifier(C=10, kernel="rbf", gamma=0.02, epochs=1, random_state=seed).fit(X, y)
    seconds = time.perf_counter() - start
    error = 100 * (1 - kernel.score(X_test, y_test))
    print(f"{'LaRankClassifier, rbf kernel, 1 pass':36}{error:8.2f}{'':27}{seconds:9.2f}")
    print(f"\nThe kernel machine kept {kernel.n_support_patterns_} of 4,000 patterns as support patterns.")
