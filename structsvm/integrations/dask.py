"""Train on a Dask cluster: the shards of CoCoA+ live on workers, and any worker may die.

The driver keeps w, and what the shards had learned at the end of the last epoch together with every w since.
A shard whose worker has died is rebuilt from these on another worker, where it repeats its rounds: a fault
changes no byte of the result.
"""

from __future__ import annotations

import copy
import uuid
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from distributed import CancelledError, Client, Future, KilledWorker, LocalCluster, get_worker

from structsvm import __version__
from structsvm._dual.shard import add_changes
from structsvm.optimizers.base import POINTS_PER_EPOCH
from structsvm.optimizers.parallel import ShardLaRank
from structsvm.problem import Problem

ATTEMPTS = 20  # to repeat a round, each after the death of a worker
LOST = (KilledWorker, CancelledError, OSError, TimeoutError)

_SHARDS: dict[tuple[str, int], ShardLaRank] = {}  # of this worker, by training and number


def connect(address: str) -> Client:
    """A client for `tcp://host:port`, or for `local:N`, a new cluster of N processes on this machine."""
    kind, _, count = address.partition(":")
    if kind == "local":
        if not count.isdecimal() or not int(count):
            raise ValueError(f"a local cluster is given as local:N, such as local:4, got {address!r}")
        cluster = LocalCluster(int(count), threads_per_worker=1, dashboard_address=None)
        client = Client(cluster)
        client.owned = cluster  # type: ignore[attr-defined]
        return client
    try:
        return Client(address, timeout=10, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"no Dask scheduler answers at {address!r}; start one with `dask scheduler`, or use local:N"
        ) from error


def disconnect(client: Client) -> None:
    """Close a client of `connect`, and the cluster that it started."""
    client.close()
    if (cluster := getattr(client, "owned", None)) is not None:
        cluster.close()


def check_workers(client: Client) -> list[str]:
    """The addresses of the workers; raise ValueError if there are none or one has another version of us."""
    workers = sorted(client.nthreads())
    if not workers:
        raise ValueError("the cluster has no workers; start some with `dask worker`")
    for worker, version in client.run(_version, on_error="return").items():
        if version != __version__:
            found = "no structsvm" if isinstance(version, Exception) else f"structsvm {version}"
            raise ValueError(
                f"worker {worker} has {found}, this process {__version__}; install the same version"
            )
    return workers


def _version() -> str:
    from structsvm import __version__

    return __version__


class DaskLaRank:
    """LaRank on shards that live on the workers of a Dask cluster; see `ParallelLaRank`.

    data: for each shard a future of its (X, y), which stay on the workers. n_weights: the length of w.
    options: those of `LaRank`. The result depends on the data of each shard and on the seed, not on where
    and how often a round runs.
    """

    def __init__(
        self, client: Client, problem: Problem, data: Sequence[Future], *, n_weights: int, **options: Any
    ) -> None:
        self.client, self.data = client, list(data)
        self.key = uuid.uuid4().hex
        n = len(self.data)
        self._make = [
            partial(ShardLaRank, problem, shard=k, shards=n, n_weights=n_weights, **options) for k in range(n)
        ]
        workers = check_workers(client)
        self._home = [workers[k % len(workers)] for k in range(n)]
        self.weights_ = np.zeros(n_weights)
        self.dual_, self.rounds, self.bytes = 0.0, 0, 0
        self._losses = 0.0
        self._snapshot: tuple[list[dict[str, np.ndarray]] | None, np.ndarray] = (None, self.weights_.copy())
        self._since: list[Any] = []  # the w and rates that shards have adopted since the snapshot
        self.last: list[dict[str, Any]] = []

    @property
    def epochs_done(self) -> int:
        """The number of complete epochs."""
        return self.rounds // POINTS_PER_EPOCH

    def epoch(self, each: Callable[[DaskLaRank], Any] = lambda _: None) -> None:
        """Make one pass over the data, in twenty rounds; `each` is called after every round."""
        for _ in range(POINTS_PER_EPOCH):
            self.round()
            each(self)
        # What shards have learned before this is never needed again.
        self._snapshot = self._ask(_snapshot), self.weights_.copy()
        self._since = []

    def round(self) -> None:
        """Let all shards run one round, and add up what they have learned."""
        self.last = played = copy.deepcopy(self._ask(_play))  # what the network delivers is not aligned
        changes = [(one["blocks"], one["change"]) for one in played]
        blocks, values, growth = add_changes(self.weights_, changes)
        losses = sum(one["losses"] for one in played)
        self.dual_ += losses - self._losses - growth
        self._losses = losses
        rates = np.mean([one["rates"] for one in played], axis=0)
        self.bytes += sum(blocks.nbytes + values.nbytes for blocks, values in changes)
        self._since.append((blocks, values, rates))
        self.rounds += 1

    @property
    def n_support_patterns_(self) -> int:
        """The number of patterns with a non-zero coefficient in w."""
        return sum(one["patterns"] for one in self.last)

    @property
    def n_argmax_(self) -> int:
        """Calls of the argmax during training."""
        return sum(one["argmax"] for one in self.last)

    def gap(self) -> float:
        """primal - dual over the data of all shards."""
        return self.primal() - self.dual_

    def primal(self) -> float:
        """||w||^2 / 2 plus the sum of C_i xi_i over the data of all shards."""
        return float(self.weights_ @ self.weights_ / 2 + sum(self._ask(_slack_sum)))

    def close(self) -> None:
        """Remove the shards from the workers."""
        self.client.run(_forget, self.key)

    def _ask(self, task: Callable[..., Any]) -> list[Any]:
        """Run a task on every shard, where it lives; shards that are lost are rebuilt."""
        answers: list[Any] = [None] * len(self.data)
        news = self._since[-1] if self._since else None
        replay: Any = None
        for _ in range(ATTEMPTS):
            missing = [k for k, answer in enumerate(answers) if answer is None]
            try:
                sent = self.client.submit(_same, (news, replay), pure=False)  # unlike scatter, it survives
                futures = [self._submit(task, k, sent) for k in missing]
                for k, (answer, worker) in zip(missing, self.client.gather(futures), strict=True):
                    answers[k], self._home[k] = answer, worker
            except LOST:
                self.client.wait_for_workers(1)
                workers = sorted(self.client.nthreads())
                self._home = [
                    home if home in workers else workers[k % len(workers)]
                    for k, home in enumerate(self._home)
                ]
            if all(answer is not None for answer in answers):
                return answers
            replay = (*self._snapshot, self._since)
        raise RuntimeError(f"workers died {ATTEMPTS} times in a row; give them more memory or less data each")

    def _submit(self, task: Callable[..., Any], k: int, sent: Future) -> Future:
        return self.client.submit(
            _on_shard, task, self.key, k, self._make[k], self.data[k], self.rounds, sent,
            pure=False, workers=[self._home[k]], allow_other_workers=True,
        )  # fmt: skip


# -- on a worker --------------------------------------------------------------------------------------


def _on_shard(
    task: Callable[..., Any], key: str, k: int, make: Callable[[], Any], data: Any, rounds: int, sent: Any
) -> tuple[Any, str]:
    """The answer of a shard that has played so many rounds, None if it is not here; and where it is."""
    news, replay = copy.deepcopy(sent)
    worker = get_worker().address
    shard: Any = _SHARDS.pop((key, k), None)  # an error or a second copy of this task finds no half of it
    repeated = shard is not None and task is _play and shard.played == rounds + 1
    if not repeated and (shard is None or shard.played != rounds):
        if rounds and replay is None:
            return None, worker
        shard = _rebuilt(make, data, *(replay or (None, None, [])))
    answer = shard.last if repeated else task(shard, news)
    _SHARDS[key, k] = shard
    return answer, worker


def _rebuilt(make: Callable[[], Any], data: Any, states: Any, weights: Any, since: list[Any]) -> Any:
    """A shard as it was, from its data, a snapshot, and all w that it has adopted since."""
    shard = make().begin(*copy.deepcopy(data))
    if states is not None:
        shard.rebuild(states[shard.shard], weights)
    for number, news in enumerate(since):
        shard.play()
        if number < len(since) - 1:  # `task` adopts the last one
            shard.adopt(*news)
    return shard


def _play(shard: ShardLaRank, news: Any) -> dict[str, Any]:
    if news is not None:
        shard.adopt(*news)
    return shard.play()


def _slack_sum(shard: ShardLaRank, news: Any) -> float:
    if news is not None:
        shard.adopt(*news)
    return shard.slack_sum()


def _snapshot(shard: ShardLaRank, news: Any) -> dict[str, np.ndarray]:
    if news is not None:
        shard.adopt(*news)
    return shard.snapshot()


def _same(data: Any) -> Any:
    return data


def _forget(key: str) -> None:
    for name in [name for name in _SHARDS if name[0] == key]:
        del _SHARDS[name]
