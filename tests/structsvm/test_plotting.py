"""The picture of a training curve."""

import numpy as np
import pytest

from structsvm import LaRank, LaRankClassifier, Multiclass
from structsvm.plotting import plot_curve, regret_bound

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 3))
y = (X @ rng.normal(size=(3, 3)) + 0.5 * rng.normal(size=(300, 3))).argmax(axis=1)
RHO = 2 * (X * X).sum(axis=1).max()


@pytest.mark.parametrize("C", [0.01, 0.1])
def test_the_loss_before_learning_stays_below_the_bound(C):
    optimizer = LaRank(Multiclass(), C=C, epochs=5).fit(X, y)
    first = [point.progressive for point in optimizer.curve_ if point.epoch == 0]
    assert 0 < first[-1] <= regret_bound(optimizer, RHO)
    assert regret_bound(optimizer, RHO) == pytest.approx(optimizer.primal() / (300 * C) + RHO * C / 2)


def test_a_picture_has_the_curve_and_the_bound():
    pytest.importorskip("matplotlib")
    model = LaRankClassifier(C=0.1, kernel="rbf", tol=1.0).fit(X, y)
    objective, loss = plot_curve(model, rho=2.0).axes
    assert objective.lines[0].get_ydata().tolist() == [point.dual for point in model.curve_]
    assert len(objective.lines) == 2
    assert loss.lines[1].get_ydata()[0] == regret_bound(model, 2.0)
    assert len(plot_curve(model).axes[1].lines) == 1
    with pytest.raises(ValueError, match="call fit first"):
        plot_curve(LaRank(Multiclass()))
