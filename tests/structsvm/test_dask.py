"""A real Dask cluster of processes: the certificate, and faults that change no byte."""

import os
import signal

import numpy as np
import pytest

from structsvm import LaRank, LaRankClassifier, Multiclass
from structsvm.optimizers import ParallelLaRank
from tests.structsvm.helpers import noisy_classes

pytest.importorskip("distributed")
from distributed import Client, LocalCluster

from structsvm.integrations import dask as module
from structsvm.integrations.dask import ClusterLost, DaskLaRank, DaskLaRankClassifier, check_workers, connect

pytestmark = pytest.mark.filterwarnings("ignore")  # of Dask, about dead workers


@pytest.fixture(scope="module")
def client():
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster) as client:
        yield client


def data(n=120):
    X, y = noisy_classes(n)
    problem = Multiclass()
    problem.prepare(X, y)
    return problem, X, y


def shard_of(k, n, shards):
    _, X, y = data(n)
    return X[k::shards], y[k::shards]


def new(client, shards=3, **options):
    problem, X, _ = data()
    parts = [client.submit(shard_of, k, len(X), shards, pure=False) for k in range(shards)]
    return DaskLaRank(client, problem, parts, n_weights=problem.n_features, C=0.5, **options)


def test_shards_on_a_cluster_learn_what_threads_learn(client):
    problem, X, y = data()
    remote = new(client)
    for _ in range(8):
        remote.epoch()
    local = ParallelLaRank(problem, C=0.5, shards=3, epochs=8).fit(X, y)
    alone = LaRank(problem, C=0.5, gap_tolerance=0.01).fit(X, y)
    assert remote.dual_ == pytest.approx(local.dual_, rel=0.02)
    assert remote.gap() >= 0
    assert remote.dual_ <= alone.dual_ + 0.01 <= remote.primal() + 0.01
    assert remote.gap() == pytest.approx(remote.primal() - remote.dual_)
    remote.close()
    assert client.run(lambda: len(module._SHARDS)) == dict.fromkeys(client.nthreads(), 0)


def test_workers_killed_in_random_rounds_change_no_byte():
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster) as client:
        strike_down(client)


def strike_down(client):
    calm = new(client, schedule="adaptive")
    for _ in range(2):
        calm.epoch()
    deadly = set(np.random.default_rng(0).choice(range(1, calm.rounds), 3, replace=False).tolist())
    hurt = new(client, schedule="adaptive")

    def strike(optimizer):
        if optimizer.rounds in deadly:
            deadly.remove(optimizer.rounds)
            os.kill(client.run(os.getpid)[optimizer._home[optimizer.rounds % 3]], signal.SIGKILL)

    hurt.callback = strike
    for _ in range(2):
        hurt.epoch()
    assert not deadly
    assert hurt.weights_.tobytes() == calm.weights_.tobytes()
    assert hurt.dual_ == calm.dual_


def test_a_cluster_that_loses_all_workers_raises_an_error_instead_of_waiting(monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 1)
    options = {"processes": False, "dashboard_address": None}
    with LocalCluster(n_workers=1, threads_per_worker=1, **options) as cluster, Client(cluster) as client:
        learner = new(client, shards=1)
        learner.round()
        cluster.scale(0)
        with pytest.raises(ClusterLost, match="the cluster has had no workers for 1 seconds"):
            learner.epoch()


def test_a_local_cluster_has_as_many_processes_as_asked_for(monkeypatch):
    asked = {}
    monkeypatch.setattr(module, "LocalCluster", lambda **options: asked.update(options))
    monkeypatch.setattr(module, "Client", lambda cluster: type("Fake", (), {})())
    connect("local:3")
    assert asked["n_workers"] == 3
    assert asked["threads_per_worker"] == 1


def test_an_interrupted_round_is_repeated(client, monkeypatch):
    calm, stopped = new(client), new(client)
    calm.epoch()
    stopped.round()

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "gathered", interrupt)
    with pytest.raises(KeyboardInterrupt):
        stopped.round()
    monkeypatch.undo()
    stopped.epoch()
    assert stopped.weights_.tobytes() == calm.weights_.tobytes()
    assert stopped.dual_ == calm.dual_


def test_the_gap_can_be_computed_between_two_rounds(client):
    calm, asked = new(client), new(client)
    calm.epoch()
    asked.callback = lambda optimizer: optimizer.gap() < 0
    asked.epoch()
    assert asked.weights_.tobytes() == calm.weights_.tobytes()
    assert asked.gap() == pytest.approx(calm.gap())


def test_two_trainings_share_a_cluster(client):
    one, two = new(client), new(client, shards=2)
    one.epoch()
    two.epoch()
    again = new(client)
    again.epoch()
    assert again.weights_.tobytes() == one.weights_.tobytes()
    assert two.weights_.tobytes() != one.weights_.tobytes()


def test_errors_name_the_address_and_the_worker(client, monkeypatch):
    with pytest.raises(ValueError, match="no Dask scheduler answers at"):
        connect("tcp://127.0.0.1:9")
    with pytest.raises(ValueError, match="local:N, such as local:4, got 'local:x'"):
        connect("local:x")
    monkeypatch.setattr(module, "__version__", "9.9")
    with pytest.raises(ValueError, match=r"worker tcp://.* has structsvm .*, this process 9.9"):
        check_workers(client)


def test_a_tree_adds_up_what_the_shards_of_a_flat_sum_have_learned(client, monkeypatch):
    flat = new(client)
    flat.epoch()
    monkeypatch.setattr(module, "BRANCHES", 2)
    tree = new(client)
    tree.epoch()
    np.testing.assert_allclose(tree.weights_, flat.weights_, rtol=1e-9, atol=1e-12)


def test_a_worker_that_joins_and_one_without_data_change_no_byte(client):
    calm = new(client, shards=1)  # the second worker has no shard
    calm.epoch()
    grown = new(client, shards=1)
    grown.callback = lambda one: client.cluster.scale(3) if one.rounds == 2 else None
    grown.epoch()
    assert grown.weights_.tobytes() == calm.weights_.tobytes()
    client.cluster.scale(2)


def test_a_classifier_learns_from_dask_arrays_what_it_learns_from_numpy(client):
    arrays = pytest.importorskip("dask.array")
    X, y = noisy_classes(200)
    X, y = np.asarray(X, float), np.asarray(y)
    parts = arrays.from_array(X, chunks=(50, X.shape[1])), arrays.from_array(y, chunks=50)
    there = DaskLaRankClassifier(shards=2).fit(*parts)
    here = LaRankClassifier().fit(X, y)
    assert there.gap_ >= 0
    assert there.predict(parts[0]).compute().tolist() == there.predict(X).tolist()
    assert there.score(X, y) == pytest.approx(here.score(X, y), abs=0.05)
    with pytest.raises(ValueError, match="a cluster does not calibrate probabilities; call calibrate"):
        DaskLaRankClassifier(probability=True).fit(None, None)
    with pytest.raises(ValueError, match="X has 4 partitions but y has 1"):
        DaskLaRankClassifier().fit(parts[0], parts[1].rechunk(200))
