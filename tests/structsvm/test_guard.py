"""Many readers or one trainer: waits, refusals, Ctrl-C, copies and forks."""

import copy
import os
import pickle
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

from structsvm import LaRank, LaRankClassifier, Multiclass
from structsvm.guard import reading, reads, training
from structsvm.integrations.sklearn import Estimator


class Model(Estimator):
    @reads
    def predict(self):
        return 1


def in_thread(work):
    """The result or the error of a call in another thread."""
    found = []

    def run():
        try:
            found.append(work())
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    return found[0]


def train(model):
    with training(model):
        return "trained"


def test_other_threads_are_refused_during_training_but_its_own_may_read():
    model = Model()
    with training(model):
        assert model.predict() == 1
        assert str(in_thread(model.predict)) == (
            "this Model is being trained in another thread; wait until training ends"
        )
        assert "is being trained" in str(in_thread(lambda: train(model)))
        with pytest.raises(RuntimeError, match="is being trained"):
            train(model)
        with training(model, nested=True):
            pass
        assert isinstance(in_thread(model.predict), RuntimeError)  # the nested claim has not ended ours
    assert in_thread(model.predict) == 1


def test_training_waits_until_running_reads_have_ended():
    model, order, started = Model(), [], threading.Event()

    def learn():
        started.set()
        with training(model):
            order.append("trained")

    with reading(model):
        learner = threading.Thread(target=learn)
        learner.start()
        started.wait(60)
        while not isinstance(in_thread(model.predict), RuntimeError):  # the learner has the claim
            pass
        assert order == []
        order.append("read")
    learner.join(60)
    assert order == ["read", "trained"]


def test_a_read_cannot_train_what_it_reads():
    model = Model()
    with reading(model), pytest.raises(RuntimeError, match="is predicting in this thread"):
        train(model)
    assert train(model) == "trained"


def test_errors_end_a_claim():
    model = Model()
    for claim in (reading, training):
        with pytest.raises(KeyError), claim(model):
            raise KeyError
    claim = training(model)
    claim.__enter__()
    del claim  # as when Ctrl-C hits before `with` has taken over
    assert train(model) == "trained"


def test_copies_and_pickles_start_free():
    model = Model()
    with training(model):
        twin, read = copy.deepcopy(model), pickle.loads(pickle.dumps(model))
        assert in_thread(lambda: train(twin)) == in_thread(lambda: train(read)) == "trained"
        assert isinstance(in_thread(lambda: copy.deepcopy(model)), RuntimeError)


def test_ctrl_c_ends_the_wait_for_readers():
    code = """
        import os, signal, threading
        from structsvm.guard import reading, training

        class Model: pass

        model, inside, leave = Model(), threading.Event(), threading.Event()

        def read():
            with reading(model):
                inside.set()
                leave.wait(60)

        reader = threading.Thread(target=read)
        reader.start()
        inside.wait(60)
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            with training(model):
                print("trained too early")
        except KeyboardInterrupt:
            print("interrupted")
        leave.set()
        reader.join()
        with training(model):
            print("free")
    """
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60, check=True
    )
    assert result.stdout.split() == ["interrupted", "free"]


def in_fork(work):
    """What a call returns in a forked child, as text."""
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            text = str(work())
        except BaseException as error:
            text = str(error)
        os.write(into, text.encode())
        os._exit(0)
    os.close(into)
    with os.fdopen(out) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return text


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_forked_child_forgets_the_readers_of_the_parent_and_refuses_half_trained_models():
    model, other, leave = Model(), Model(), threading.Event()
    inside = threading.Barrier(3)

    def hold(claim, held):
        with claim(held):
            inside.wait(60)
            leave.wait(60)

    threads = [threading.Thread(target=hold, args=pair) for pair in ((reading, model), (training, other))]
    for thread in threads:
        thread.start()
    inside.wait(60)
    try:
        assert in_fork(lambda: train(model)) == "trained"
        assert "was being trained in another thread when the process was forked" in in_fork(other.predict)
    finally:
        leave.set()
        for thread in threads:
            thread.join()
    assert other.predict() == 1
    with training(model):  # the thread that forks trains: its child may read, as a callback does
        assert in_fork(model.predict) == "1"


X, Y = np.random.default_rng(0).normal(size=(60, 4)), np.arange(60) % 3


@pytest.mark.parametrize("make", [lambda: LaRank(Multiclass()), LaRankClassifier])
def test_a_primal_needs_the_model_alone(make):
    """It computes slacks in the memory that training uses."""
    model = make().fit(X, Y)
    with reading(getattr(model, "optimizer_", model)):
        found = []
        thread = threading.Thread(target=lambda: found.append(model.primal(X, Y)))
        thread.start()
        time.sleep(0.05)
        assert not found
    thread.join(60)
    assert found == [model.primal(X, Y)]


def test_a_callback_predicts_and_measures_in_training():
    seen = []
    learner = LaRank(Multiclass(), epochs=2)
    learner.callback = lambda point: seen.append((len(learner.predict(X)), learner.gap() > 0)) and None
    learner.fit(X, Y)
    assert set(seen) == {(60, True)}
