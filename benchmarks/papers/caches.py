"""The Huller on MNIST, and what a small kernel cache costs, in Bordes' thesis: figures 4.3, 4.4 and 4.9.

The thesis trains on 60,000 images. We train on 2,000, with smaller caches, so that libsvm takes minutes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.experiment import BORDES, Curve, Figure, Outcome, Row, experiment
from benchmarks.harness import measurements

IMAGES, TESTED = 2_000, 1_000
GAMMA, SCALE = 0.005, np.float32(1 / 127.5)
HARD = 1e6  # libsvm's C for the hard margin, which the Huller solves
C = 1000.0  # of LASVM and libsvm in figure 4.9
LARGE = 32.0  # megabytes: all kernel values fit
CACHES = (LARGE, 4.0, 2.0, 1.0)
NEEDED = ("mnist",)
DIGITS = tuple(range(10))
FEW_DIGITS = (0, 1, 8)  # of the cache sizes
HULLER = ("LibSVM", "Huller x1", "Huller x2", "AvgPerc x1", "AvgPerc x10")


def measure(method: str, cache: float, C: float, digits: Sequence[int], n: int) -> dict[str, Any]:
    """Each digit against the others: test errors, support vectors, CPU seconds and kernel values."""
    import corpora

    data = corpora.load_mnist()
    rows = np.random.default_rng(0).permutation(len(data.y_train))[:n]
    X, X_test = data.X_train[rows] * SCALE, data.X_test[:TESTED] * SCALE
    found: dict[str, list[float]] = {"error": [], "support": [], "seconds": [], "kernels": []}
    for digit in digits:
        y = data.y_train[rows] == digit
        model = build(method, cache, C)
        start = time.process_time()
        model.fit(X, y)
        seconds = time.process_time() - start
        wrong = model.predict(X_test) != (data.y_test[:TESTED] == digit)
        found["error"].append(100 * float(np.mean(wrong)))
        found["support"].append(int(np.count_nonzero(model.dual_coef_)))
        found["seconds"].append(seconds)
        found["kernels"].append(getattr(model, "n_kernels_", 0) / 1e6)
    return found


def build(method: str, cache: float, C: float) -> Any:
    from sklearn.svm import SVC

    from structsvm.binary import HullerClassifier, KernelPerceptron, LaSVMClassifier

    kind, _, epochs = method.partition(" x")
    if kind == "LibSVM":
        return SVC(C=C, gamma=GAMMA, cache_size=cache)
    options: dict[str, Any] = {"gamma": GAMMA, "cache_size": cache, "epochs": int(epochs)}
    if kind == "Huller":
        return HullerClassifier(**options)
    return LaSVMClassifier(C, **options) if kind == "LaSVM" else KernelPerceptron(average=True, **options)


def run(method: str, cache: float, C: float, digits: Sequence[int], quick: bool) -> dict[str, Any]:
    n = 300 if quick else IMAGES
    job = {"method": method, "cache": cache, "C": C, "digits": list(digits), "n": n}
    return measurements(__name__, [job])[0]


@experiment("figure-4.3", "MNIST by the Huller, each digit against the rest", source=BORDES, corpora=NEEDED)
def figure_4_3(quick: bool) -> Outcome:
    digits = DIGITS[:2] if quick else DIGITS
    found = {method: run(method, LARGE, HARD, digits, quick) for method in HULLER}
    measures = {
        "error": ("test error %", 2),
        "seconds": ("CPU seconds", 2),
        "support": ("support vectors", 0),
    }
    figures = [
        Figure("digit", label, [Curve(method, digits, done[key]) for method, done in found.items()])
        for key, (label, _) in measures.items()
    ]
    lines = [Curve(m, found[m]["support"], found[m]["seconds"], "o") for m in ("LibSVM", "Huller x1")]
    figures.append(Figure("support vectors", "CPU seconds", lines))
    rows = [
        Row(method, f"{label}, mean of the digits", None, [float(np.mean(done[key]))], decimals)
        for method, done in found.items()
        for key, (label, decimals) in measures.items()
    ]
    notes = (
        f"{IMAGES:,} training images of 60,000, {TESTED:,} test images, pixels in [0, 2], gamma = {GAMMA}, "
        f"one run. libsvm has C = {HARD:g}. The thesis prints curves without numbers. It finds the errors "
        "of libsvm after one epoch, slightly fewer support vectors, and less than half of libsvm's time; "
        "the averaged perceptron needs ten epochs to come close."
    )
    return Outcome(rows, figures, notes)


def by_cache(methods: Sequence[str], C: float, quick: bool) -> Outcome:
    """Training time by cache size, relative to libsvm's with the largest cache, averaged over digits."""
    caches, digits = (CACHES[::3], FEW_DIGITS[:1]) if quick else (CACHES, FEW_DIGITS)
    base = np.array(run("LibSVM", LARGE, C, digits, quick)["seconds"])
    rows, curves = [], []
    for method in methods:
        found = [run(method, cache, C, digits, quick) for cache in caches]
        times = [(np.array(done["seconds"]) / base).tolist() for done in found]
        curves.append(Curve(method, caches, [float(np.mean(ratios)) for ratios in times]))
        for cache, done, ratios in zip(caches, found, times, strict=True):
            label = f"{method}, {cache:g} MB"
            rows.append(Row(label, f"time / libsvm's with {LARGE:g} MB", None, ratios))
            if method != "LibSVM":
                rows.append(Row(label, "kernel values, millions", None, [sum(done["kernels"])], 2))
    figure = Figure("cache, MB", f"time / libsvm's with {LARGE:g} MB", curves, log="xy")
    notes = (
        f"Digits {', '.join(map(str, FEW_DIGITS))} against the rest, {IMAGES:,} training images, whose "
        "whole kernel matrix takes 16 MB in single precision. The runs of a row are the digits; seconds "
        "are of the CPU. "
    )
    return Outcome(rows, [figure], notes)


@experiment("figure-4.4", "The Huller with smaller kernel caches", source=BORDES, corpora=NEEDED)
def figure_4_4(quick: bool) -> Outcome:
    found = by_cache(("LibSVM", "Huller x1", "Huller x2"), HARD, quick)
    thesis = "The thesis: halving a cache that was just enough doubles libsvm's time, but not the Huller's."
    return Outcome(found.rows, found.figures, found.notes + thesis)


@experiment("figure-4.9", "LASVM with smaller kernel caches", source=BORDES, corpora=NEEDED)
def figure_4_9(quick: bool) -> Outcome:
    found = by_cache(("LibSVM", "LaSVM x1"), C, quick)
    thesis = "The thesis: LASVM with 8 MB is slightly faster than libsvm with 1,024 MB (60,000 images)."
    return Outcome(found.rows, found.figures, found.notes + thesis)
