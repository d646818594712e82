"""Figure 4.17 of Bordes' thesis: the duality lemma for an SVM with one example, x = 1 and y = 1.

P(w) = w^2 / 2 + C max(0, 1 - w),   D(alpha) = alpha - alpha^2 / 2,   w = alpha in [0, C]
P - D <= C mu(Delta),   mu(x) = sqrt(2 x) + x / C,   Delta: what the best coordinate step gains in D
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.experiment import BORDES, Curve, Figure, Outcome, Row, experiment
from benchmarks.harness import measurements

CASES = {"free support vector": (1.5, 1.0), "support vector at the bound": (0.7, 0.7)}  # C, best alpha
POINTS = 61


def measure(C: float) -> dict[str, Any]:
    """Gap, bound and primal suboptimality on a grid of alpha."""
    alpha = np.linspace(0, C, POINTS)
    dual, primal = alpha - alpha**2 / 2, alpha**2 / 2 + C * np.maximum(0, 1 - alpha)
    step = np.minimum(1 - alpha, C - alpha)  # to the optimum of D, or to the end of the box
    gain = step * (1 - alpha) - step**2 / 2
    return {
        "alpha": alpha.tolist(),
        "gap": (primal - dual).tolist(),
        "bound": (C * (np.sqrt(2 * gain) + gain / C)).tolist(),
        "suboptimality": (primal - primal.min()).tolist(),
    }


@experiment("figure-4.17", "The duality lemma with one example", source=BORDES)
def figure_4_17(quick: bool) -> Outcome:
    rows, figures = [], []
    for title, (C, best) in CASES.items():
        (run,) = measurements(__name__, [{"C": C}])
        alpha, gap, bound = (np.array(run[key]) for key in ("alpha", "gap", "bound"))
        rows += [
            Row(title, "alpha with the smallest gap", best, [float(alpha[np.argmin(gap)])], 3),
            Row(title, "largest gap / bound", None, [float(np.max(gap[bound > 0] / bound[bound > 0]))], 3),
            Row(title, "points where the gap exceeds the bound", None, [int(np.sum(gap > bound + 1e-12))], 0),
        ]
        lines = (("gap", "-"), ("bound", "--"), ("suboptimality", ":"))
        curves = [Curve(name, run["alpha"], run[name], style) for name, style in lines]
        figures.append(Figure("alpha", "", curves, title=f"C = {C:g}: {title}"))
    return Outcome(rows, figures, f"{POINTS} values of alpha. The best alpha is the caption's.")
