"""Online use: bounded memory, progress, interruption."""

import gc
import subprocess
import sys
import textwrap
import weakref
from itertools import pairwise

import numpy as np
import pytest

from structsvm import LaRank, Multiclass, PassiveAggressive, Perceptron, Point, SVMStruct
from tests.structsvm.helpers import (
    DUAL_OPTIMIZERS,
    OPTIMIZERS,
    Ordinal,
    SlowMulticlass,
    noisy_classes,
    ordinal_data,
)


@pytest.mark.parametrize("name", DUAL_OPTIMIZERS)
@pytest.mark.parametrize("problem", [Multiclass, SlowMulticlass])
def test_only_support_patterns_are_kept_online(name, problem):
    optimizer = DUAL_OPTIMIZERS[name](problem(), C=10.0)
    most = 0
    for batch in range(20):
        X, y = noisy_classes(20, seed=batch, noise=0.4)
        optimizer.partial_fit(X, y)
        machine = optimizer._machine
        assert machine.oracle.n_stored == optimizer.n_support_patterns_
        most = max(most, optimizer.n_support_patterns_)
        # Slots are used again: none lies beyond what was ever needed at once.
        shards = getattr(optimizer, "shards", 1)
        assert machine.state()["slots"].max() < shards * (most + 20)
    assert optimizer.n_support_patterns_ < 250


def test_patterns_that_lose_their_support_are_dropped():
    X, y = noisy_classes(200, noise=0.6)
    optimizer = LaRank(Multiclass(), C=10.0, n_reprocess=5)
    sizes = []
    for start in range(0, 200, 10):
        optimizer.partial_fit(X[start : start + 10], y[start : start + 10])
        sizes.append(optimizer._machine.oracle.n_stored)
    assert any(after < before for before, after in pairwise(sizes))


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_fit_after_online_use_holds_the_new_data_only(name):
    optimizer = OPTIMIZERS[name](Multiclass())
    optimizer.partial_fit(*noisy_classes(50)).fit(*noisy_classes(30))
    assert optimizer._machine.oracle.n_stored == 30
    optimizer.partial_fit(*noisy_classes(10, seed=1))
    kept = 0 if isinstance(optimizer, Perceptron) else optimizer.n_support_patterns_
    assert optimizer._machine.oracle.n_stored == kept


def test_a_support_pattern_does_not_keep_its_batch_alive():
    optimizer = LaRank(Ordinal(), C=0.1)
    X, y = ordinal_data(50)
    batch = weakref.ref(X)
    optimizer.partial_fit(X, y)
    assert optimizer.n_support_patterns_ > 0
    del X
    gc.collect()
    assert batch() is None


def test_primal_of_other_data_leaves_nothing_behind():
    optimizer = LaRank(Multiclass()).partial_fit(*noisy_classes(50))
    optimizer.primal(*noisy_classes(500, seed=1))
    assert optimizer._machine.oracle.n_stored == optimizer.n_support_patterns_


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_callback_receives_points(name):
    points = []
    X, y = noisy_classes(60)
    optimizer = OPTIMIZERS[name](Multiclass(), callback=points.append).fit(X, y)
    assert points
    assert all(isinstance(point, Point) for point in points)
    assert points[-1].seen == 60
    assert points[-1].n_argmax <= optimizer.n_argmax_
    assert points[-1].n_support_patterns <= 60


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_callback_that_returns_true_stops_training(name):
    X, y = noisy_classes(60)
    calls = []

    def stop(point):
        calls.append(point)
        return True

    more = {"larank": {"gap_tolerance": 1e-9, "epochs": None}, "svmstruct": {"epsilon": 1e-6}}.get(
        name, {"epochs": 50}
    )
    optimizer = OPTIMIZERS[name](Multiclass(), callback=stop, **more).fit(X, y)
    assert len(calls) == 1
    assert calls[0].epoch <= 1
    assert len(optimizer.predict(X)) == 60


@pytest.mark.parametrize("online", [False, True])
def test_an_exception_in_the_callback_comes_out_unchanged(online):
    def fail(point):
        raise LookupError("my own")

    X, y = noisy_classes(60)
    optimizer = LaRank(Multiclass(), callback=fail)
    with pytest.raises(LookupError, match="my own"):
        (optimizer.partial_fit if online else optimizer.fit)(X, y)
    optimizer.callback = None
    assert optimizer.partial_fit(X, y).dual_ > 0
    assert optimizer._machine.oracle.n_stored == optimizer.n_support_patterns_


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_curves_move_forward(name):
    X, y = noisy_classes(60)
    optimizer = OPTIMIZERS[name](Multiclass()).fit(X, y)
    optimizer.partial_fit(X, y)
    seconds = [point.seconds for point in optimizer.curve_]
    assert len(seconds) >= (20 if name == "parallel" else 40)  # a point for each round of the shards
    assert seconds == sorted(seconds)
    assert seconds[0] > 0
    argmax = [point.n_argmax for point in optimizer.curve_]
    assert argmax == sorted(argmax)


class Failing(Ordinal):
    """Raises after so many questions."""

    left = 10**9

    def loss_augmented_argmax(self, x, y, w):
        self.left -= 1
        if self.left < 0:
            raise ZeroDivisionError("in the user's argmax")
        return super().loss_augmented_argmax(x, y, w)


@pytest.mark.parametrize("optimizer_class", [LaRank, PassiveAggressive])
def test_an_exception_in_the_problem_comes_out_unchanged(optimizer_class):
    X, y = ordinal_data()
    problem = Failing()
    optimizer = optimizer_class(problem).partial_fit(X, y)
    dual = optimizer.dual_
    problem.left = 25
    with pytest.raises(ZeroDivisionError, match="in the user's argmax"):
        optimizer.partial_fit(X, y)
    problem.left = 10**9
    assert optimizer.dual_ >= dual
    assert optimizer._machine.oracle.n_stored == optimizer.n_support_patterns_
    assert optimizer.partial_fit(X, y).dual_ > dual


INTERRUPTED = """
    import os, signal, sys, threading
    import numpy as np
    from structsvm import LaRank, Multiclass, PassiveAggressive, Perceptron, SVMStruct

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 50)), rng.integers(0, 10, 3000)
    optimizer = {make}

    def interrupt_soon(point):
        optimizer.callback = None
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()

    optimizer.callback = interrupt_soon
    try:
        optimizer.fit(X, y)
    except KeyboardInterrupt:
        assert len(optimizer.predict(X)) == 3000
        optimizer.epochs = 1
        print("interrupted", optimizer.primal(X, y) > 0)
"""


@pytest.mark.parametrize(
    "make",
    [
        "LaRank(Multiclass(), C=100.0, epochs=10**6)",
        "LaRank(Multiclass(), C=100.0, epochs=10**6, schedule='adaptive')",
        "PassiveAggressive(Multiclass(), C=100.0, epochs=10**6)",
        "Perceptron(Multiclass(), epochs=10**6)",
        "SVMStruct(Multiclass(), C=100.0, epsilon=1e-9, new_constraints=10**6)",
    ],
)
def test_ctrl_c_ends_a_long_fit_and_leaves_it_usable(make):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(INTERRUPTED.format(make=make))],
        capture_output=True, text=True, timeout=20, check=False,
    )  # fmt: skip
    assert done.stdout.split() == ["interrupted", "True"], done.stderr


def test_new_data_may_come_from_generators():
    X, y = ordinal_data()
    optimizer = LaRank(Ordinal()).fit((x for x in X), (int(label) for label in y))
    assert np.array_equal(optimizer.weights_, LaRank(Ordinal()).fit(X, y).weights_)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_fit_that_is_interrupted_leaves_the_new_model_with_what_it_learned(name):
    old_X, old_y = noisy_classes(40, width=5)
    X, y = noisy_classes(400)
    optimizer = OPTIMIZERS[name](Multiclass()).fit(old_X, old_y)

    def stop(point):
        raise KeyboardInterrupt

    optimizer.callback = stop
    with pytest.raises(KeyboardInterrupt):
        optimizer.fit(X, y)
    optimizer.callback = None
    assert len(optimizer.predict(X)) == 400
    assert optimizer.primal() > 0
    assert optimizer.partial_fit(X, y).n_argmax_ > 0


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_may_share_a_problem(name):
    narrow, wide = noisy_classes(40, k=3, width=4), noisy_classes(60)
    problem = Multiclass()
    first = OPTIMIZERS[name](problem).fit(*narrow)
    second = OPTIMIZERS[name](problem).fit(*wide)
    alone = OPTIMIZERS[name](Multiclass()).fit(*narrow)
    assert np.array_equal(first.predict(narrow[0]), alone.predict(narrow[0]))
    assert first.primal() == alone.primal()
    assert np.array_equal(first.partial_fit(*narrow).weights_, alone.partial_fit(*narrow).weights_)
    assert second.predict(wide[0]).max() == 3


@pytest.mark.parametrize("name", DUAL_OPTIMIZERS)
@pytest.mark.parametrize("slack", ["l1", "l2"])
def test_an_option_set_after_training_does_not_change_what_was_trained(name, slack):
    X, y = noisy_classes(60)
    optimizer = DUAL_OPTIMIZERS[name](Multiclass(), slack=slack).fit(X, y)
    before = optimizer.primal()
    optimizer.C, optimizer.slack = 100.0, "l1"
    assert optimizer.primal() == before
    assert optimizer.primal(X, y) == pytest.approx(before)


def test_the_curve_of_svmstruct_ends_at_its_dual():
    X, y = noisy_classes(200)
    optimizer = SVMStruct(Multiclass(), C=10.0).fit(X, y)
    assert optimizer.curve_[-1].dual == optimizer.dual_
    assert [p.seconds for p in optimizer.curve_] == sorted(p.seconds for p in optimizer.curve_)
