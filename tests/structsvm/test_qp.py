"""LaRankGap and SVMstruct reach the optimum that scipy finds on the same dual with all outputs enumerated."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structsvm import LaRank, Multiclass, PassiveAggressive, SVMStruct
from tests.structsvm.qp import small_problem

FORMS = [(rescaling, slack) for rescaling in ("margin", "slack") for slack in ("l1", "l2")]
problems = st.fixed_dictionaries({"seed": st.integers(0, 10**6), "C": st.sampled_from([0.03, 0.3, 3.0])})


@pytest.mark.parametrize(("rescaling", "slack"), FORMS)
@given(drawn=problems)
def test_larank_gap_reaches_the_optimum(rescaling, slack, drawn):
    problem, X, y, weight, best = small_problem(**drawn, rescaling=rescaling, slack=slack)
    tolerance = 5e-7 * best.dual
    optimizer = LaRank(problem, C=drawn["C"], gap_tolerance=tolerance, rescaling=rescaling, slack=slack)
    optimizer.fit(X, y, weight)
    assert optimizer.dual_ == pytest.approx(best.dual, rel=1e-6)
    assert optimizer.primal() == pytest.approx(best.primal, rel=1e-6)
    assert -1e-9 * best.dual <= optimizer.gap() < tolerance
    assert optimizer.curve_[-1].primal == optimizer.primal()


@pytest.mark.parametrize(("rescaling", "slack"), FORMS)
@given(drawn=problems, new_constraints=st.sampled_from([1, 3, 100]))
def test_svmstruct_reaches_the_optimum(rescaling, slack, drawn, new_constraints):
    problem, X, y, weight, best = small_problem(**drawn, rescaling=rescaling, slack=slack)
    optimizer = SVMStruct(
        problem, C=drawn["C"], epsilon=1e-7 * best.dual / (drawn["C"] * weight.sum()),
        new_constraints=new_constraints, rescaling=rescaling, slack=slack,
    ).fit(X, y, weight)  # fmt: skip
    assert optimizer.dual_ == pytest.approx(best.dual, rel=1e-6)
    assert optimizer.primal() == pytest.approx(best.primal, rel=1e-6)


@settings(max_examples=10)
@given(drawn=problems)
def test_the_unique_w_of_the_optimum_is_found(drawn):
    problem, X, y, weight, best = small_problem(**drawn, rescaling="margin", slack="l1")
    optimizer = LaRank(problem, C=drawn["C"], gap_tolerance=1e-8 * best.dual).fit(X, y, weight)
    # |w - w*|^2 / 2 is at most the gap.
    assert np.linalg.norm(optimizer.weights_ - best.w) < np.sqrt(2e-6 * best.primal)


@settings(max_examples=10)
@given(drawn=problems)
def test_passive_aggressive_epochs_lead_to_the_optimum(drawn):
    problem, X, y, weight, best = small_problem(**drawn, rescaling="margin", slack="l1")
    optimizer = PassiveAggressive(problem, C=drawn["C"], epochs=3000).fit(X, y, weight)
    assert optimizer.dual_ == pytest.approx(best.dual, rel=1e-3)


@pytest.mark.parametrize("epsilon", [0.5, 0.05])
def test_svmstruct_leaves_no_constraint_violated_by_more_than_epsilon(epsilon):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(60, 5)), np.arange(60) % 4
    optimizer = SVMStruct(Multiclass(), C=1.0, epsilon=epsilon).fit(X, y)
    primal = optimizer.primal()
    # Each slack is within epsilon (and the 0.1 epsilon of its solver) of the working set's.
    assert primal - optimizer.dual_ <= 60 * 1.2 * epsilon
    assert optimizer.curve_[-1].dual == pytest.approx(optimizer.dual_)


def test_larank_gap_of_c_is_the_papers_rule():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(80, 5)), np.arange(80) % 4
    optimizer = LaRank(Multiclass(), C=0.7, gap_tolerance="C").fit(X, y)
    assert 0 <= optimizer.gap() < 0.7
    points = [point for point in optimizer.curve_ if not np.isnan(point.primal)]
    assert all(point.primal - point.dual >= 0.7 for point in points[:-1])
