"""CoCoA+: any number of threads gives the same bytes, the dual of all shards is exact, the gap certifies."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from structsvm import LaRank, LaRankClassifier, Multiclass
from structsvm._dual.shard import put_weights, sparse_sum
from structsvm.optimizers import ParallelLaRank
from structsvm.optimizers.parallel import SMALLEST, ShardLaRank, n_shards
from structsvm.problems.sequence import SequenceLabels, SequenceProblem, Sequences
from structsvm.signals import Stop, Stopped
from tests.structsvm.helpers import (
    SlowMulticlass,
    assert_invariants,
    assert_same_bytes,
    noisy_classes,
    state_of,
)


def sentences(n=60, seed=0):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 9, n)
    sentence_ptr = np.append(0, np.cumsum(lengths))
    rows = rng.integers(0, 40, (sentence_ptr[-1], 3)).astype(np.int32)
    codes = (rows[:, 0] % 5).astype(np.int32)
    token_ptr = 3 * np.arange(sentence_ptr[-1] + 1)
    return Sequences(rows.ravel(), token_ptr, sentence_ptr), SequenceLabels(codes, sentence_ptr)


PROBLEMS = {
    "classes": lambda: (Multiclass(), *noisy_classes(90)),
    "python": lambda: (SlowMulticlass(), *noisy_classes(45)),
    "exact": lambda: (SequenceProblem(5), *sentences()),
    "greedy": lambda: (SequenceProblem(5, inference="greedy", order=2), *sentences()),
}


@pytest.mark.parametrize("schedule", ["fixed", "adaptive"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_number_of_threads_changes_no_byte(name, schedule):
    problem, X, y = PROBLEMS[name]()
    one, two, four = (
        ParallelLaRank(problem, C=0.3, shards=4, jobs=jobs, schedule=schedule, epochs=2).fit(X, y)
        for jobs in (1, 2, 4)
    )
    for other in (two, four):
        assert_same_bytes(state_of(one), state_of(other))
        assert one.dual_ == other.dual_
        assert [p.dual for p in one.curve_] == [p.dual for p in other.curve_]


@pytest.mark.parametrize("shards", [1, 2, 7])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_dual_of_all_coefficients_is_the_one_kept_and_all_shards_reach_the_same_optimum(name, shards):
    problem, X, y = PROBLEMS[name]()
    alone = LaRank(problem, C=0.3, gap_tolerance=0.01).fit(X, y)
    together = ParallelLaRank(problem, C=0.3, shards=shards, gap_tolerance=0.01, jobs=2).fit(X, y)
    assert_invariants(together)
    assert 0 <= together.gap() < 0.01
    assert together.dual_ == pytest.approx(alone.dual_, abs=0.01)
    duals = [point.dual for point in together.curve_]
    assert duals == sorted(duals)


def test_adding_without_scaling_is_what_the_curvature_protects_from():
    problem, X, y = PROBLEMS["classes"]()
    optimizer = ParallelLaRank(problem, C=100.0, shards=8, jobs=1, epochs=1).fit(X, y)
    assert optimizer._machine.shards[0].sigma == 8
    assert optimizer.dual_ > 0


def test_slots_follow_the_order_of_the_data_and_weights_their_samples():
    problem, X, y = PROBLEMS["greedy"]()
    weight = np.arange(1.0, len(X) + 1)
    alone = LaRank(problem).begin(X, y, weight)
    together = ParallelLaRank(problem, shards=4).begin(X, y, weight)
    np.testing.assert_array_equal(alone._weight, together._weight)
    groups = [one._machine.oracle.groups(one._held) for one in (alone, together)]
    np.testing.assert_array_equal(*groups)
    assert together._machine.oracle.n_stored == len(X)


@pytest.mark.parametrize("name", ["classes", "exact", "greedy"])
def test_training_resumes_as_if_it_had_never_stopped(name):
    problem, X, y = PROBLEMS[name]()
    whole = ParallelLaRank(problem, shards=3, epochs=2, jobs=1).fit(X, y)
    half = ParallelLaRank(problem, shards=3, epochs=1, jobs=2).fit(X, y)
    resumed = ParallelLaRank(half.problem, shards=3).resume(half.state(), X, y)
    resumed.epoch()
    assert_same_bytes(state_of(whole), state_of(resumed))


@pytest.mark.parametrize("shards", [1, 2, 5])
def test_a_state_is_resumed_with_any_number_of_shards(shards):
    problem, X, y = PROBLEMS["exact"]()
    begun = ParallelLaRank(problem, shards=3, epochs=1).fit(X, y)
    make = (lambda p: LaRank(p)) if shards == 1 else (lambda p: ParallelLaRank(p, shards=shards))
    resumed = make(begun.problem).resume(begun.state(), X, y)
    assert resumed.dual_ == begun.dual_
    assert resumed.primal() == pytest.approx(begun.primal(), rel=1e-12)
    resumed.epoch()
    assert resumed.dual_ > begun.dual_
    assert_invariants(resumed)


def test_new_features_may_appear_later():
    problem, X, y = PROBLEMS["exact"]()
    optimizer = ParallelLaRank(problem, shards=3).partial_fit(X, y)
    before = len(optimizer.weights_)
    more, labels = sentences(seed=1)
    more.rows[:] += 17
    optimizer.partial_fit(more, labels)
    assert len(optimizer.weights_) > before
    assert_invariants(optimizer)


@pytest.mark.parametrize("name", PROBLEMS)
def test_all_copies_of_w_are_equal_after_a_round_even_if_shards_see_different_features(name):
    problem, X, y = PROBLEMS[name]()
    if isinstance(X, Sequences):
        owner = np.repeat(np.arange(len(X)) % 3, np.diff(X.sentence_ptr))
        X.rows.reshape(-1, 3)[:] += (owner * 400).astype(np.int32)[:, None]  # far apart, in other blocks
    optimizer = ParallelLaRank(problem, C=0.3, shards=3, jobs=2).begin(X, y)
    optimizer.epoch()
    first, *others = [shard.weights for shard in optimizer._machine.shards]
    assert first.any()
    for other in others:
        assert other.tobytes() == first.tobytes()
    assert_invariants(optimizer)


def test_data_are_refused_with_their_own_position_and_nothing_is_kept():
    X, y = noisy_classes(12)
    optimizer = ParallelLaRank(SlowMulticlass(classes=range(4)), shards=3).partial_fit(X, y)
    before, stored = state_of(optimizer), optimizer._machine.oracle.n_stored
    y[7] = 9
    with pytest.raises(ValueError, match=r"y\[7\] = "):
        optimizer.partial_fit(X, y)
    assert_same_bytes(before, state_of(optimizer))
    assert optimizer._machine.oracle.n_stored == stored


class Stubborn(SlowMulticlass):
    """Raises in the middle of a round, in a thread."""

    calls = 0

    def loss_augmented_argmax(self, x, y, w):
        type(self).calls += 1
        if self.calls == 100:
            raise RuntimeError("enough")
        return super().loss_augmented_argmax(x, y, w)


def test_an_error_in_a_thread_ends_the_round_and_leaves_a_valid_model():
    optimizer = ParallelLaRank(Stubborn(), shards=3, jobs=3)
    with pytest.raises(RuntimeError, match="enough"):
        optimizer.fit(*noisy_classes(90))
    assert_invariants(optimizer)
    assert optimizer.epoch() is False


def test_ctrl_c_ends_a_round_in_threads():
    problem, X, y = PROBLEMS["classes"]()

    def interrupt(point):
        signal.raise_signal(signal.SIGINT)

    optimizer = ParallelLaRank(problem, shards=4, jobs=2, callback=interrupt)
    with pytest.raises(KeyboardInterrupt):
        optimizer.fit(X, y)
    assert_invariants(optimizer)
    assert threading.active_count() < 4


def test_every_part_of_an_order_gives_all_shards_the_same_work():
    problem, X, y = PROBLEMS["exact"]()
    oracle = ParallelLaRank(problem, shards=3).begin(X, y)._machine.oracle
    given = np.random.default_rng(0).permutation(len(X))
    order = oracle.balanced(given)
    for (_, before), (_, after) in zip(oracle.split(given), oracle.split(order), strict=True):
        np.testing.assert_array_equal(before, after)
    tokens = np.diff(X.sentence_ptr)[order]
    for end in (20, 40):
        work = [tokens[:end][order[:end] % 3 == k].sum() / tokens[order % 3 == k].sum() for k in range(3)]
        assert max(work) - min(work) < 0.1
    assert oracle.shards[0].sizes(np.arange(2)).tolist() == np.diff(X.sentence_ptr)[[0, 3]].tolist()


def test_a_shard_of_its_own_reports_what_it_changed_and_the_sum_is_that_of_threads():
    problem, X, y = PROBLEMS["exact"]()
    n_weights = problem.offset + 40 * problem.stride
    alone = [
        ShardLaRank(problem, shard=k, shards=3, n_weights=n_weights, C=0.3).begin(X[k::3], y[k::3])
        for k in range(3)
    ]
    w = np.zeros(alone[0].n_weights)
    for _ in range(3):
        played = [shard.play() for shard in alone]
        for shard, one in zip(alone, played, strict=True):
            expected = w.copy()
            np.add.at(expected, one["indices"], 3 * one["change"])
            np.testing.assert_allclose(shard._machine.weights, expected, atol=1e-12)
            assert (np.diff(one["indices"]) > 0).all()
            assert one["change"].all()
        before = w @ w
        indices, change = sparse_sum([(one["indices"], one["change"]) for one in played])
        growth = put_weights(w, indices, w[indices] + change)
        assert growth == pytest.approx((w @ w - before) / 2)
        for shard in alone:
            for _ in range(2):  # a round is adopted once
                shard.adopt(indices, change, np.ones(3))
            np.testing.assert_array_equal(shard._machine.weights, w)
    for indices in ([len(w)], [0, 10**9, 7], [3, 3], [-1]):
        with pytest.raises(ValueError, match="do not fit"):
            put_weights(w, np.array(indices, np.int32), np.ones(len(indices)))


@pytest.mark.parametrize("dense", [False, True])
def test_a_shard_refuses_to_play_on_after_an_interrupted_round_until_it_begins_again(dense, monkeypatch):
    X, y = noisy_classes(200, 3, 6)
    options = {"shard": 0, "shards": 2, "n_weights": 18, "dense": dense, "C": 1.0}
    shard, twin = (ShardLaRank(Multiclass(classes=range(3)), **options).begin(X, y) for _ in range(2))
    steps, calls = shard._steps, iter(range(100))

    def interrupted(*arguments):
        steps(*arguments)
        if next(calls) == 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(shard, "_steps", interrupted)
    with pytest.raises(KeyboardInterrupt):
        shard.play()
    with pytest.raises(RuntimeError, match="round 0 was interrupted, and part of it is lost: begin again"):
        shard.play()
    machine = shard._machine
    machine.save_old()  # begins a round in which nothing has changed
    assert not len(machine.changes()[0])
    shard.begin(X, y)
    for _ in range(shard.points + 1):
        played, wanted = shard.play(), twin.play()
        np.testing.assert_array_equal(played["indices"], wanted["indices"])
        np.testing.assert_array_equal(played["change"], wanted["change"])


def is_stopped():
    """Whether training, which looks at Ctrl-C, ends early."""
    X, y = noisy_classes(3000, 5, 30)
    try:
        LaRank(Multiclass(), epochs=3, random_state=0).fit(X, y)
    except Stopped:
        return True
    return False


@pytest.mark.parametrize("inner_asks", [False, True])
def test_a_stop_within_another_leaves_the_outer_request_standing(inner_asks):
    outer, inner = Stop(), Stop()
    with outer:
        with inner, outer:
            outer.ask()
            outer.ask()
            if inner_asks:
                inner.ask()
        assert is_stopped()
    assert not is_stopped()
    with inner:
        assert inner.asked == inner_asks
        assert is_stopped() == inner_asks


def test_sparse_vectors_are_added_as_dense_ones():
    rng = np.random.default_rng(0)
    dense = rng.integers(-1, 2, (5, 50)) * rng.normal(size=(5, 50))
    dense[3] = 0
    indices, values = sparse_sum([(np.flatnonzero(row).astype(np.int32), row[row != 0]) for row in dense])
    np.testing.assert_array_equal(indices, np.flatnonzero(dense.any(axis=0)))
    np.testing.assert_array_equal(values, sum(dense)[indices])
    with pytest.raises(ValueError, match="as many values as indices"):
        sparse_sum([(np.arange(5, dtype=np.int32), np.ones(1))] * 2)


def test_small_data_sets_stay_in_one_shard():
    assert n_shards(None, 8, SMALLEST) == 1
    assert n_shards(None, 8, 4 * SMALLEST) == 4
    assert n_shards(3, 1, 5) == 3
    with pytest.raises(ValueError, match="shards must be an integer of at least 1"):
        n_shards(0, 1, 5)


def test_a_classifier_trains_in_threads_and_its_file_does_not_tell_how_many(tmp_path):
    X, y = noisy_classes(200)
    files = []
    for jobs in (1, 3):
        classifier = LaRankClassifier(shards=3, jobs=jobs).fit(X, y)
        classifier.save(tmp_path / str(jobs))
        files.append((tmp_path / str(jobs)).read_bytes())
    assert files[0] == files[1]
    loaded = LaRankClassifier.load(tmp_path / "1")
    assert (loaded.predict(X) == classifier.predict(X)).all()
    assert loaded.partial_fit(X, y).shards == 3
    assert classifier.score(X, y) == pytest.approx(LaRankClassifier().fit(X, y).score(X, y), abs=0.05)
    with pytest.raises(ValueError, match="shards has no effect with kernel="):
        LaRankClassifier(kernel="rbf", shards=2).fit(X, y)


def test_stored_patterns_with_impossible_shards_are_refused():
    X, y = noisy_classes(40)
    learner = ParallelLaRank(Multiclass(), shards=3, jobs=1).fit(X, y)
    oracle = learner._machine.oracle
    rows = oracle.rows(np.arange(6))
    for shard in (np.full(6, 0.5), np.zeros(5, np.int64)):
        with pytest.raises(ValueError, match="shards of the stored patterns"):
            oracle.add_rows(**rows | {"shard": shard})


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_waits_for_all_threads_and_leaves_w_complete(times):
    running = []

    class Slow(SlowMulticlass):
        def loss_augmented_argmax(self, x, y, w):
            if len(running) == 30:
                for _ in range(times):
                    os.kill(os.getpid(), signal.SIGINT)
                    time.sleep(0.05)
            running.append(1)
            return super().loss_augmented_argmax(x, y, w)

    X, y = noisy_classes(80)
    learner = ParallelLaRank(Slow(), C=0.5, shards=2, jobs=2)
    with pytest.raises(KeyboardInterrupt):
        learner.fit(X, y)
    machine = learner._machine
    seen = len(running)
    time.sleep(0.1)
    assert len(running) == seen  # no thread is left
    for shard in machine.shards:
        np.testing.assert_allclose(shard.weights, machine.weights)
    assert_invariants(learner)
