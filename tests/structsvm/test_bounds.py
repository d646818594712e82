"""The theorems of the papers about LaRank, the passive-aggressive algorithm and SVMstruct, on data."""

import numpy as np
import pytest

from structsvm import LaRank, PassiveAggressive, SVMStruct
from structsvm.problems import AmbiguousBags, Multiclass

CLASSES = 4


def noisy_rows(n=150, seed=3):
    """Rows of unit length around a centre for each class, a fifth of them with a random label."""
    rng = np.random.default_rng(seed)
    y = rng.integers(CLASSES, size=n)
    X = rng.normal(size=(CLASSES, 6))[y] + rng.normal(size=(n, 6))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, np.where(rng.random(n) < 0.2, rng.integers(CLASSES, size=n), y)


def problem():
    return Multiclass(classes=range(CLASSES))


def hinge(w, x, y):
    """The loss of an example and the squared norm of the difference to its most violated output."""
    scores = w.reshape(len(x), CLASSES).T @ x
    violation = (np.arange(CLASSES) != y) + scores - scores[y]
    best = int(np.argmax(violation))
    return violation[best], 0.0 if best == y else 2 * (x @ x)


def online(optimizer, X, y):
    """Learn example by example; yields the loss and norm before each, and the gain of the dual."""
    w, dual = np.zeros(X.shape[1] * CLASSES), 0.0
    for x, label in zip(X, y, strict=True):
        loss, rho = hinge(w, x, label)
        optimizer.partial_fit(x[None], [label])
        yield loss, rho, optimizer.dual_ - dual
        w, dual = optimizer.weights_, optimizer.dual_


def mu(loss, rho, C):
    step = min(loss, rho * C)
    return step * (loss - step / 2) / (rho * C) if rho else 0.0


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_process_new_raises_the_dual_as_proposition_11_says(C):
    X, y = noisy_rows()
    for loss, rho, gain in online(PassiveAggressive(problem(), C=C), X, y):
        assert gain == pytest.approx(C * mu(loss, rho, C), abs=1e-9)


@pytest.mark.parametrize("C", [0.05, 0.5, 5.0])
@pytest.mark.parametrize("kind", [PassiveAggressive, LaRank])
def test_regret_stays_below_the_bound_of_theorem_10(kind, C):
    X, y = noisy_rows()
    optimizer = kind(problem(), C=C, random_state=1)
    seen = list(online(optimizer, X, y))
    assert all(gain >= C * mu(loss, rho, C) - 1e-9 for loss, rho, gain in seen)  # the assumption
    rho = max(norm for _, norm, _ in seen)
    batch = LaRank(problem(), C=C, gap_tolerance=1e-3).fit(X, y).weights_
    for w in (batch, 2 * batch, 0 * batch, np.random.default_rng(0).normal(size=batch.size)):
        others = np.mean([max(hinge(w, *pair)[0], 0) for pair in zip(X, y, strict=True)])
        regret = np.mean([loss for loss, _, _ in seen]) - others
        assert regret <= w @ w / (2 * len(y) * C) + rho * C / 2


def test_reprocessing_lowers_the_loss_before_learning():
    """Theorem 10 suggests it: a larger dual means less regret."""
    X, y = noisy_rows(400)
    loss = {
        kind: np.mean([loss for loss, _, _ in online(kind(problem(), C=1.0), X, y)])
        for kind in (PassiveAggressive, LaRank)
    }
    assert loss[LaRank] < loss[PassiveAggressive]


@pytest.mark.parametrize("n_reprocess", [0, 1, 5])
def test_one_epoch_adds_no_more_support_vectors_than_proposition_1_allows(n_reprocess):
    X, y = noisy_rows()
    learner = LaRank(problem(), C=1.0, n_reprocess=n_reprocess).fit(X, y)
    assert 0 < learner.n_support_vectors_ <= len(y) * (2 + n_reprocess)


@pytest.mark.parametrize("tau", [0.3, 0.1])
def test_larank_converges_within_the_steps_of_theorem_9(tau):
    X, y = noisy_rows()
    C, kappa, n = 1.0, 0.01, len(y)
    learner = LaRank(problem(), C=C, tau=tau, kappa=kappa, epochs=30).fit(X, y)
    steps = learner._machine.n_steps
    assert steps <= max(2 * 2 * n * C / tau**2, 2 * n * C / (kappa * tau))  # rho is 2: rows of unit length
    assert learner.epoch() is False
    assert learner._machine.n_steps == steps  # an approximate solution: no direction is left


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("slack", ["l1", "l2"])
def test_svmstruct_adds_no_more_constraints_than_theorem_3_allows(rescaling, slack):
    X, y = noisy_rows(60)
    n, epsilon, C = len(y), 0.1, 2.0
    losses = 2.0 * (1 - np.eye(CLASSES))
    learner = SVMStruct(
        Multiclass(loss=losses), C=C / n, epsilon=epsilon, new_constraints=1, rescaling=rescaling, slack=slack
    )
    learner.fit(X, y)
    worst, radius = 2.0, 2.0  # the largest loss, and the largest squared norm of a difference
    cubed = worst**3 if rescaling == "slack" else worst
    if slack == "l1":
        bound = max(2 * n * worst / epsilon, 8 * C * cubed * radius / epsilon**2)
    else:
        bound = (C * (worst**2 if rescaling == "slack" else worst) * radius + n * worst) / epsilon**2
    assert 0 < learner.n_constraints_ <= bound


def test_regret_from_bags_stays_below_the_bound_of_proposition_13():
    X, y = noisy_rows()
    rng = np.random.default_rng(5)
    bags = [{int(label), int(rng.integers(CLASSES))} for label in y]
    C = 0.5
    learner = PassiveAggressive(AmbiguousBags(classes=range(CLASSES)), C=C)

    def loss(w, x, bag):
        """The mean of max(0, 1 - (s_a - s_b)) over a in the bag and b outside."""
        scores = w.reshape(len(x), CLASSES).T @ x
        return np.mean([max(0, 1 - scores[a] + scores[b]) for a in bag for b in set(range(CLASSES)) - bag])

    w, total = np.zeros(X.shape[1] * CLASSES), 0.0
    for x, bag in zip(X, bags, strict=True):
        total += loss(w, x, bag)
        learner.partial_fit(x[None], [bag])
        w = learner.weights_
    batch = LaRank(AmbiguousBags(classes=range(CLASSES)), C=C, gap_tolerance=1e-2).fit(X, bags).weights_
    n = len(bags)
    for other in (batch, 0 * batch):
        regret = total / n - np.mean([loss(other, *pair) for pair in zip(X, bags, strict=True)])
        assert regret <= other @ other / (2 * n * C) + 2 * C / 2


def test_the_pairwise_hinge_of_bags_is_convex():
    X, y = noisy_rows(40)
    bags = [{int(a), int(b)} for a, b in zip(y, np.roll(y, 1), strict=True)]
    learner = LaRank(AmbiguousBags(classes=range(CLASSES)), C=1.0).fit(X, bags)
    rng = np.random.default_rng(2)

    def primal(w):
        return LaRank(learner.problem, C=1.0).start_from(w).primal(X, bags)

    for _ in range(20):
        one, two = rng.normal(size=(2, learner.weights_.size))
        assert primal((one + two) / 2) <= (primal(one) + primal(two)) / 2 + 1e-9
