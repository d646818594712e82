"""Ctrl-C at any moment, threads and re-entry: an error at most, never a broken model."""

import gc
import signal
import sys
import threading
from functools import partial

import numpy as np
import pytest

from structsvm import AmbiguousBags, KernelLaRank, LaRank, Multiclass, PassiveAggressive, Perceptron
from structsvm._dual.perceptron import PerceptronWeights
from structsvm.kernels.functions import Inputs, SparseInputs


def data(n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    return np.eye(3)[y] + rng.normal(size=(n, 3)), y


class Interruption:
    """Raises KeyboardInterrupt at the k-th line that the Python code of a package runs."""

    def __init__(self, k, package="structsvm"):
        self.left, self.package = k, package

    def __call__(self, frame, event, arg):
        if frame.f_globals.get("__name__", "").partition(".")[0] != self.package:
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self

    def during(self, work):
        sys.settrace(self)
        try:
            work()
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(None)
        return False


@pytest.mark.parametrize(
    "make",
    [
        lambda: LaRank(Multiclass(classes=range(3))),
        lambda: PassiveAggressive(Multiclass(classes=range(3))),
        lambda: Perceptron(Multiclass(classes=range(3))),
        lambda: KernelLaRank(Multiclass(classes=range(3)), gamma=0.5, schedule="fixed"),
    ],
    ids=["larank", "passive-aggressive", "perceptron", "kernel"],
)
def test_interrupted_anywhere_a_learner_still_predicts_and_continues(make):
    X, y = data()
    learner = make().partial_fit(X, y)
    interrupted, k = 0, 1
    while Interruption(k).during(lambda: learner.partial_fit(X, y)):
        interrupted += 1
        assert len(learner.predict(X)) == len(X)
        k += 7  # every line would take minutes
    assert interrupted > 5
    learner.partial_fit(X, y)
    if isinstance(learner, KernelLaRank):
        machine = learner._machine
        assert machine.inputs.n == learner.n_support_patterns_
        rows, norms = machine.inputs.vectors(), machine.inputs.support_norms[: machine.inputs.n]
        kernel = machine.inputs.with_support(rows, norms)
        np.testing.assert_allclose(machine.support_scores(), kernel @ machine.coefficients(), atol=1e-8)


def test_interrupted_within_numpy_a_perceptron_still_takes_data():
    X, y = data(5)
    problem = Multiclass(classes=range(3))
    problem.prepare(X, y)
    oracle = problem.oracle()
    slots, weight = oracle.add(X, y), np.ones(5)
    interrupted, k = True, 0
    while interrupted:
        machine, k = PerceptronWeights(oracle, average=True), k + 1
        interrupted = Interruption(k, "numpy").during(partial(machine.admit, slots, weight))
        machine.admit(slots, weight)
        machine.visit(slots)
    assert k > 5


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs real timers")
@pytest.mark.parametrize("kernel", [False, True])
def test_real_signals_leave_the_books_in_order(kernel):
    X, y = data(400)
    problem = Multiclass(classes=range(3))
    learner = KernelLaRank(problem, gamma=0.5) if kernel else LaRank(problem)
    learner.partial_fit(X, y)
    rng = np.random.default_rng(0)

    def interrupt(number, frame):
        raise KeyboardInterrupt

    before, interrupted = signal.signal(signal.SIGALRM, interrupt), 0
    gc.disable()  # an interruption of somebody's callback to the collector would be lost there
    try:
        for _ in range(40):
            try:
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(0.0005, 0.02))
                learner.partial_fit(X, y)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                interrupted += 1
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            learner.predict(X[:3])
    finally:
        gc.enable()
        signal.signal(signal.SIGALRM, before)
    assert interrupted > 0
    dual = learner.dual_
    assert learner.partial_fit(X, y).dual_ >= dual


@pytest.mark.parametrize("make", [LaRank, KernelLaRank, Perceptron])
def test_a_callback_cannot_train_its_own_optimizer(make):
    X, y = data()
    learner = make(Multiclass())
    learner.callback = lambda point: learner.partial_fit(X, y)
    with pytest.raises(RuntimeError, match="being trained"):
        learner.fit(X, y)
    learner.callback = None
    assert len(learner.fit(X, y).predict(X)) == len(X)


def test_a_callback_may_ask_for_the_primal():
    X, y = data()
    seen = []
    learner = LaRank(Multiclass(), epochs=2)
    learner.callback = lambda point: seen.append(learner.primal())
    learner.fit(X, y)
    assert len(seen) >= 2
    assert seen[-1] == learner.primal()


@pytest.mark.parametrize("make", [LaRank, KernelLaRank])
def test_a_second_thread_is_refused_while_one_trains(make):
    X, y = data()
    learner, inside, go_on, errors = make(Multiclass(), epochs=2), threading.Event(), threading.Event(), []

    def wait(point):
        inside.set()
        go_on.wait(20)

    learner.callback = wait
    trainer = threading.Thread(target=learner.fit, args=(X, y))
    trainer.start()
    assert inside.wait(20)
    for work in (lambda: learner.partial_fit(X, y), lambda: learner.gap(X, y)):
        try:
            work()
        except RuntimeError as error:
            errors.append(str(error))
    go_on.set()
    trainer.join()
    assert len(errors) == 2
    assert all("being trained" in error for error in errors)
    assert learner.gap() > 0


@pytest.mark.parametrize("weight", [1e-310, 1e200])
@pytest.mark.parametrize("schedule", ["fixed", "adaptive"])
def test_weights_beyond_the_range_of_numbers_are_refused(weight, schedule):
    X, y = data()
    with pytest.raises(ValueError, match="C times the sample weight"):
        LaRank(Multiclass(), schedule=schedule, slack="l2").fit(X, y, np.full(len(y), weight))


def test_broken_sparse_matrices_are_refused():
    from scipy import sparse

    for index in (2**30, 206, -5000):
        broken = sparse.csr_matrix((60, 6))
        broken.indptr = np.arange(61, dtype=np.int32)
        broken.indices, broken.data = np.full(60, index, np.int32), np.ones(60)
        for learner in (LaRank(Multiclass()), KernelLaRank(Multiclass()), LaRank(AmbiguousBags())):
            with pytest.raises(ValueError, match="column indices"):
                learner.fit(broken, [[0]] * 60 if isinstance(learner.problem, AmbiguousBags) else data()[1])


def test_the_curve_of_many_small_updates_stays_bounded(monkeypatch):
    from structsvm.optimizers import base

    monkeypatch.setattr(base, "MOST_POINTS", 50)
    X, y = data()
    learner = LaRank(Multiclass(classes=range(3)))
    for k in range(60):
        learner.partial_fit(X[k : k + 1], y[k : k + 1])
    assert len(learner.curve_) <= 51
    assert learner.curve_[0].seconds < learner.curve_[-1].seconds


def test_partial_fit_lets_go_of_the_callers_data():
    import weakref

    X, y = data()
    batch = X.copy()
    gone = weakref.ref(batch)
    learner = KernelLaRank(Multiclass(), gamma=0.5).partial_fit(batch, y)
    del batch
    assert gone() is None
    assert isinstance(learner._machine.inputs, Inputs)
    assert not isinstance(learner._machine.inputs, SparseInputs)


def test_primal_wants_both_data_and_labels_or_neither():
    X, y = data()
    learner = LaRank(Multiclass()).fit(X, y)
    with pytest.raises(ValueError, match="both X and y"):
        learner.primal(X)
    with pytest.raises(ValueError, match="both X and y"):
        learner.gap(y=y)
