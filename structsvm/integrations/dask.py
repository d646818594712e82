"""Train on a Dask cluster: the shards of CoCoA+ live on workers, and any worker may die.

The driver keeps w, a snapshot of all shards at the end of an epoch, and the changes of w since then. If a
worker dies, its shards are rebuilt from these on another worker, where they repeat their rounds. So a fault
changes no byte of the result. A checkpoint holds the same on disk.

Within an epoch, workers fetch the changes of a round from each other and begin the next one, while the driver
adds them to its w.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import logging
import signal
import threading
import uuid
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from multiprocessing.resource_tracker import ensure_running
from pathlib import Path
from typing import Any, Self

import dask
import numpy as np
from distributed import CancelledError, Client, Future, KilledWorker, LocalCluster, get_client, get_worker
from distributed.comm.core import CommClosedError

from structsvm import LaRankClassifier, __version__
from structsvm._dual.shard import put_weights, sparse_sum
from structsvm.files import ModelFileError, SparseRows
from structsvm.files.atomic import atomic_write
from structsvm.optimizers.parallel import ShardLaRank, n_rounds
from structsvm.options import check_options
from structsvm.problem import Problem
from structsvm.spaces.shards import padded
from structsvm.training import passes

ATTEMPTS = 20  # to repeat a round, each after the death of a worker
BRANCHES = 8  # of the tree in which the changes of shards are added up
PATIENCE = 60  # seconds without any worker, any running task or any answer of the scheduler
REPLAY = 2  # times the size of w: if the changes since a snapshot take more memory, take a new one
LOST = (KilledWorker, CancelledError, OSError, TimeoutError)

_SHARDS: dict[tuple[str, int], ShardLaRank] = {}  # of this worker, by training and number
NOTHING_BEGUN: tuple[int, list[Future]] = (-1, [])
_CLOSED: set[str] = set()  # trainings, whose last tasks may still run


class ClusterLost(ConnectionError):
    """The scheduler or all workers have ended."""


@contextlib.contextmanager
def connected(address: str) -> Iterator[Client]:
    """A client of `connect` for a command: faults of the cluster raise ClusterLost, and Dask logs nothing."""
    _silence_logs()
    client = None
    try:
        client = connect(address)
        yield client
    except (KilledWorker, CancelledError, CommClosedError, TimeoutError, ClusterLost) as error:
        why = str(error) if isinstance(error, ClusterLost) else "its scheduler or its workers have ended"
        raise ClusterLost(
            f"lost the cluster {address}: {why}; run the command again; with --checkpoint FOLDER, training "
            "continues where it stopped"
        ) from None
    finally:
        _silence_logs()  # of modules imported since
        for opened in (client, getattr(client, "owned", None)):
            if opened is not None:
                with contextlib.suppress(Exception):  # the work is done, or another error is reported
                    opened.close()


def connect(address: str) -> Client:
    """A client for `tcp://host:port`, or for `local:N`, a new cluster of N processes on this machine."""
    kind, _, count = address.partition(":")
    if kind == "local":
        if not count.isdecimal() or not 0 < len(count.lstrip("0")) < 5:
            raise ValueError(f"a local cluster is given as local:N, such as local:4, got {address!r}")
        quiet = {"distributed.nanny.pre-spawn-environ.DASK_LOGGING__DISTRIBUTED": "critical"}
        with dask.config.set(quiet), _ctrl_c_later():
            cluster = LocalCluster(
                n_workers=int(count), threads_per_worker=1, dashboard_address="127.0.0.1:0"
            )
            client = Client(cluster)
        client.owned = cluster  # type: ignore[attr-defined]
        return client
    try:
        return Client(address, timeout=10, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"no Dask scheduler answers at {address!r}; start one with `dask scheduler`, or use local:N"
        ) from error


def _silence_logs() -> None:
    """Keep the logs of this process off the terminal: a command reports faults itself, in one sentence."""
    for name in [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    for name in ("asyncio", "tornado", "tornado.application"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


@contextlib.contextmanager
def _ctrl_c_later() -> Iterator[None]:
    """Handle signals after the processes of a cluster have started; Ctrl-C does not reach the processes.

    Ctrl-C goes to all processes of a terminal, but only this one can end the others in order.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "pthread_sigmask"):
        yield
        return
    ensure_running()  # otherwise the first process that starts would unblock Ctrl-C
    received: list[int] = []
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in handlers:
        signal.signal(number, lambda number, frame: received.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # inherited by threads and processes
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if received:
        signal.raise_signal(received[0])


def check_workers(client: Client) -> list[str]:
    """The addresses of the workers; raise ValueError if there are none, or if their versions differ."""
    workers = sorted(client.nthreads())
    if not workers:
        raise ValueError("the cluster has no workers; start some with `dask worker`")
    for worker, version in run_everywhere(client, _version).items():
        if version != __version__:
            found = "no structsvm" if isinstance(version, Exception) else f"structsvm {version}"
            raise ValueError(
                f"worker {worker} has {found}, this process {__version__}; install the same version"
            )
    return workers


def run_everywhere(client: Client, work: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
    """The result of a function on each worker, or the exception that it raised there."""
    results: dict[str, Any] = client.sync(
        client._run, work, *arguments, on_error="return", callback_timeout=PATIENCE
    )
    return results


def gathered(client: Client, futures: Sequence[Future]) -> list[Any]:
    """The results of futures; raise TimeoutError if no worker has run a task for too long.

    A round may take hours, and Dask notices workers that die. But it waits forever if no worker is left, or
    if a task gets lost between two workers.
    """
    loop: Any = client.loop
    found = asyncio.run_coroutine_threadsafe(
        client.gather(list(futures), asynchronous=True), loop.asyncio_loop
    )
    idle = 0
    try:
        while idle < 2:  # to be sure that this is not a moment between two tasks
            try:
                results: list[Any] = found.result(timeout=PATIENCE / 2)
                return results
            except TimeoutError:
                if found.done():  # of a task
                    raise
                here = all(future.status == "finished" for future in futures)  # the network is slow
                idle = 0 if here or any(client.processing().values()) else idle + 1
        raise TimeoutError(f"no worker of the cluster ran a task for {PATIENCE} seconds")
    finally:
        found.cancel()


def _version() -> str:
    return __version__


class DaskLaRank:
    """A `Learner`: LaRank on shards that live on the workers of a Dask cluster; see `ParallelLaRank`.

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
        self.n_weights, self.per_epoch = n_weights, n_rounds(n)
        self._weights = padded(n_weights)
        self.callback: Callable[[DaskLaRank], Any] | None = None  # called after every round
        self.dual_, self.rounds, self.epochs_done, self.bytes = 0.0, 0, 0, 0
        self.n_support_patterns_ = self.n_argmax_ = 0
        self.notes: dict[str, np.ndarray] = {}  # of the caller, for the checkpoint
        self._losses = 0.0
        # the shards, and w unless they had learned nothing
        self._snapshot: tuple[list[dict[str, np.ndarray]] | None, np.ndarray | None] = (None, None)
        self._since: list[Any] = []  # the changes of w and rates that shards have adopted since the snapshot
        self._begun: tuple[int, list[Future]] = NOTHING_BEGUN  # a round and its answers
        self._checkpoint: Checkpoint | None = None

    @property
    def weights_(self) -> np.ndarray:
        """w; valid until the next round."""
        return self._weights[: self.n_weights]

    def epoch(self) -> bool:
        """Make one pass over the data, in `per_epoch` rounds, or complete one that was resumed.

        `callback` is called after every round; if it returns a true value, the pass ends, and so does
        training.
        """
        if self.rounds == self.epochs_done * self.per_epoch and self._long_replay():
            self._settle()
        while self.rounds < (self.epochs_done + 1) * self.per_epoch:
            self.round()
            if self.callback is not None and self.callback(self):
                return True
        self.epochs_done += 1
        return False

    def save_pass(self) -> None:
        """Save a complete pass and the `notes`, if there is a folder for them; later rounds add to it."""
        if self._checkpoint is not None and self.rounds == self.epochs_done * self.per_epoch:
            self._settle()
            self._checkpoint.save_pass(self)

    def _long_replay(self) -> bool:
        """Whether the changes of w since the snapshot take so much memory that a new snapshot is due."""
        kept = sum(indices.nbytes + change.nbytes for indices, change, _ in self._since)
        return kept > REPLAY * self._weights.nbytes

    def _settle(self) -> None:
        """Take a snapshot of all shards; the rounds before it are never needed again."""
        self._snapshot, self._since = (self._ask(ShardLaRank.snapshot)[0], self._weights.copy()), []

    def round(self) -> None:
        """Let all shards run one round, and add up what they have learned."""
        played, (indices, change) = self._ask(ShardLaRank.play)
        growth = put_weights(self._weights, indices, self._weights[indices] + change)
        losses = sum(one["losses"] for one in played)
        self.dual_ += losses - self._losses - growth
        self._losses = losses
        self.bytes += sum(one["bytes"] for one in played)
        self.n_support_patterns_ = sum(one["patterns"] for one in played)
        self.n_argmax_ = sum(one["argmax"] for one in played)
        self._since.append((indices, change, _mean_rates(played)))
        self.rounds += 1
        if self._checkpoint is not None:
            self._checkpoint.save_round(self)

    def keep(self, folder: str | Path, training: str) -> None:
        """Save every round in a folder, and continue the training that is there; see also `save_pass`.

        training: a string that identifies the training; the checkpoint of another one is refused.
        """
        self._checkpoint = Checkpoint(Path(folder), training)
        self._checkpoint.load(self)

    def progress(self) -> np.ndarray:
        """The dual, its losses and the counts: what a checkpoint holds in addition to w and the shards."""
        return np.array([self.dual_, self._losses, self.n_support_patterns_, self.n_argmax_])

    def continue_from(
        self, states: list[dict[str, np.ndarray]] | None, weights: np.ndarray | None, since: list[Any],
        rounds: int, progress: np.ndarray,
    ) -> None:  # fmt: skip
        """Continue a training; the next task rebuilds the shards on the workers."""
        if weights is not None:
            self._weights[:] = weights
        self._snapshot, self._since, self.rounds = (states, weights), since, rounds
        self.epochs_done = (rounds - len(since)) // self.per_epoch
        for indices, change, _ in since:
            put_weights(self._weights, indices, self._weights[indices] + change)
        self.dual_, self._losses = map(float, progress[:2])
        self.n_support_patterns_, self.n_argmax_ = map(int, progress[2:])

    def gap(self) -> float:
        """primal - dual over the data of all shards."""
        return self.primal() - self.dual_

    def primal(self) -> float:
        """||w||^2 / 2 plus the sum of C_i xi_i over the data of all shards."""
        return float(self.weights_ @ self.weights_ / 2 + sum(self._ask(ShardLaRank.slack_sum)[0]))

    def weight_rows(self, n_rows: int, stride: int, n_labels: int) -> SparseRows:
        """The first rows of w in float32, `stride` weights each; rows beyond the end of w are empty."""
        return SparseRows.from_vector(self.weights_, n_rows, stride, n_labels)

    def unconverged(self) -> str:
        """Nothing to warn of: the number of passes is the only limit."""
        return ""

    def close(self) -> None:
        """Remove the shards from the workers."""
        self._begun = NOTHING_BEGUN
        with contextlib.suppress(*LOST, RuntimeError):  # a cluster that was lost holds no shards
            run_everywhere(self.client, _forget, self.key)

    def _ask(self, task: Callable[..., Any]) -> tuple[list[Any], Any]:
        """Run a task on all shards, rebuild lost ones; return the answers and the sum of the changes."""
        news = self._since[-1] if self._since else None
        replay: Any = None
        for _ in range(ATTEMPTS):
            try:
                (begun, answers), self._begun = self._begun, NOTHING_BEGUN
                if task is not ShardLaRank.play or begun != self.rounds:
                    # unlike what is scattered, a result survives
                    sent = self.client.submit(_same, (news, replay), pure=False)
                    answers = self._submit(task, self.rounds, sent)
                if task is ShardLaRank.play and (self.rounds + 1) % self.per_epoch:
                    self._begun = self.rounds + 1, self._submit(task, self.rounds + 1, answers)
                each, changes = _joined(gathered(self.client, answers))
                self._home = [worker for _, worker in each]
                if all(answer is not None for answer, _ in each):
                    return [answer for answer, _ in each], changes
            except LOST:
                self._move()
            replay, self._begun = (*self._snapshot, self._since), NOTHING_BEGUN
        raise ClusterLost(f"workers died {ATTEMPTS} times in a row; give them more memory or less data each")

    def _move(self) -> None:
        """Assign the shards of dead workers to live ones; if there are none, wait for one."""
        try:
            self.client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError as error:
            raise ClusterLost(f"the cluster has had no workers for {PATIENCE} seconds") from error
        except OSError as error:
            raise ClusterLost("its scheduler has ended") from error
        self.client.retry([future for future in self.data if future.status == "error"])
        workers = sorted(self.client.nthreads()) or self._home
        self._home = [
            home if home in workers else workers[k % len(workers)] for k, home in enumerate(self._home)
        ]

    def _submit(self, task: Callable[..., Any], rounds: int, sent: Any) -> list[Future]:
        """Run a task on all shards after `rounds` rounds; return a few futures that join their answers."""
        answers = [
            self.client.submit(
                _on_shard, task, self.key, k, self._make[k], self.data[k], rounds, sent,
                pure=False, workers=[self._home[k]], allow_other_workers=True,
            )
            for k in range(len(self.data))
        ]  # fmt: skip
        while len(answers) > BRANCHES:
            answers = [
                self.client.submit(_joined, answers[k : k + BRANCHES], pure=False)
                for k in range(0, len(answers), BRANCHES)
            ]
        return answers


class Checkpoint:
    """A folder that holds a training: a snapshot of the shards after a pass, and every later round.

    Each file is complete or absent, so the training can be resumed whenever its process dies.
    """

    def __init__(self, folder: Path, training: str) -> None:
        self.folder, self.training = folder, np.array(training)
        folder.mkdir(parents=True, exist_ok=True)

    def save_round(self, learner: DaskLaRank) -> None:
        indices, change, rates = learner._since[-1]
        self._save(f"round-{learner.rounds:06}.npz", {
            "indices": indices, "change": change, "rates": rates, "progress": learner.progress(),
        })  # fmt: skip

    def save_pass(self, learner: DaskLaRank) -> None:
        states, weights = learner._snapshot
        assert weights is not None  # the snapshot of a whole pass
        arrays = {f"shard.{k}.{name}": a for k, state in enumerate(states or []) for name, a in state.items()}
        arrays |= {f"note.{name}": note for name, note in learner.notes.items()}
        old = sorted(self.folder.glob("*.npz"))
        self._save(f"pass-{learner.rounds:06}.npz", {
            "weights": weights, "progress": learner.progress(), **arrays,
        })  # fmt: skip
        for path in old:
            path.unlink()

    def load(self, learner: DaskLaRank) -> None:
        """Load what the folder holds into a new learner."""
        passes, rounds = sorted(self.folder.glob("pass-*.npz")), sorted(self.folder.glob("round-*.npz"))
        states, weights, done, progress = None, None, 0, learner.progress()
        since: list[Any] = []
        if passes:
            arrays = self._load(passes[-1])
            done, weights, progress = _number(passes[-1]), arrays["weights"], arrays["progress"]
            states = [_under(f"shard.{k}.", arrays) for k in range(len(learner.data))]
            learner.notes = _under("note.", arrays)
        for path in rounds:
            if _number(path) == done + len(since) + 1:
                arrays = self._load(path)
                if "change" not in arrays:
                    raise ModelFileError(f"{path} has another layout; delete the folder to start again")
                since.append((arrays["indices"], arrays["change"], arrays["rates"]))
                progress = arrays["progress"]
        try:
            learner.continue_from(states, weights, since, done + len(since), progress)
        except (ValueError, TypeError) as error:
            raise ModelFileError(
                f"{self.folder}: a file is damaged ({error}); delete the folder to start again"
            ) from None

    def _save(self, name: str, arrays: dict[str, np.ndarray]) -> None:
        with atomic_write(self.folder / name) as file:
            np.savez(file, training=self.training, **arrays)  # type: ignore[arg-type]

    def _load(self, path: Path) -> dict[str, np.ndarray]:
        try:
            with np.load(path, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            same = str(arrays["training"]) == str(self.training)
        except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile) as error:
            raise ModelFileError(f"{path} is damaged ({error}); delete the folder to start again") from None
        if not same:
            raise ValueError(
                f"{self.folder} has the checkpoint of another training (other data, options or shards); use "
                "another folder, or delete it"
            )
        return arrays


def _number(path: Path) -> int:
    return int(path.stem.partition("-")[2])


def _under(prefix: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}


class DaskLaRankClassifier(LaRankClassifier):
    """A linear `LaRankClassifier` for Dask arrays and dataframes, whose rows stay on the workers.

    client: without one, the current client. After fit, `gap_` is the duality gap on all data.
    """

    client: Client | None = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on the partitions of X and y, which must be divided alike; y has one dimension."""
        check_options(self)
        if self.kernel != "linear" or self.tol is not None or sample_weight is not None or self.class_weight:
            raise ValueError("a cluster supports the linear kernel, without tol, sample and class weights")
        if self.probability:
            raise ValueError("a cluster does not calibrate probabilities; call calibrate after fit")
        client = self.client or get_client()
        rows, targets = (client.compute(list(np.ravel(data.to_delayed()))) for data in (X, y))
        if len(rows) != len(targets):
            raise ValueError(
                f"X has {len(rows)} partitions but y has {len(targets)}; divide both by rows, in the same way"
            )
        n = min(self.shards or len(check_workers(client)), len(rows))
        data = [client.submit(_stacked, rows[k::n], targets[k::n], pure=False) for k in range(n)]
        classes = np.unique(np.concatenate(gathered(client, [client.submit(_classes, one) for one in data])))
        optimizer = self._optimizer(X, classes, 1)
        empty = np.zeros((len(classes), X.shape[1]))
        optimizer.problem.prepare(empty, classes)
        learner = DaskLaRank(
            client, optimizer.problem, data, n_weights=optimizer.problem.n_features, C=self.C,
            schedule=optimizer.schedule, n_reprocess=optimizer.n_reprocess, random_state=self.random_state,
        )  # fmt: skip
        try:
            passes(learner, epochs=optimizer.epochs or 1)
            self.gap_ = learner.gap()
        finally:
            learner.close()
        return self._adopt(optimizer.start_from(learner.weights_), empty)

    def predict(self, X: Any) -> Any:
        """The class of each row: a Dask array for Dask data, otherwise an array."""
        if not hasattr(X, "to_delayed"):
            return super().predict(X)
        array = X.to_dask_array(lengths=True) if hasattr(X, "to_dask_array") else X
        return array.map_blocks(super().predict, dtype=self.classes_.dtype, drop_axis=1)


def _stacked(rows: list[Any], targets: list[Any]) -> tuple[Any, np.ndarray]:
    return np.concatenate([np.asarray(part) for part in rows]), np.concatenate([np.ravel(y) for y in targets])


def _classes(data: tuple[Any, np.ndarray]) -> np.ndarray:
    return np.unique(data[1])


# -- on a worker --------------------------------------------------------------------------------------


def _on_shard(
    task: Callable[..., Any], key: str, k: int, make: Callable[[], Any], data: Any, rounds: int, sent: Any
) -> tuple[list[tuple[Any, str]], Any]:
    """Run a task on a shard after `rounds` rounds; return its answer, its worker and its changes.

    sent: the answers of all shards in the last round; or its news from the driver, with what is needed to
    rebuild a shard. The answer is None if the shard is not on this worker and cannot be rebuilt from `sent`.
    """
    worker = get_worker().address
    if isinstance(sent, list):
        each, changes = _joined(sent)
        played = [answer for answer, _ in each]
        if any(answer is None for answer in played):
            return [(None, worker)], None
        news, replay = (*changes, _mean_rates(played)), None
    else:
        news, replay = sent[0], copy.deepcopy(sent[1])  # what the network delivers is not aligned
    shard: Any = _SHARDS.pop((key, k), None)  # an error or a second copy of this task finds no half of it
    repeated = shard is not None and task is ShardLaRank.play and shard.played == rounds + 1
    if not repeated and (shard is None or shard.played != rounds):
        if rounds and replay is None:
            return [(None, worker)], None
        shard = _rebuilt(make, data, *(replay or (None, None, [])))
    if news is not None and not repeated:
        shard.adopt(*news)
    answer = shard.last if repeated else task(shard)
    if key not in _CLOSED:
        _SHARDS[key, k] = shard
    if task is not ShardLaRank.play:
        return [(answer, worker)], None
    indices, change = answer["indices"], answer["change"]
    few = {name: value for name, value in answer.items() if name not in ("indices", "change")}
    return [(few | {"bytes": indices.nbytes + change.nbytes}, worker)], (indices, change)


def _mean_rates(played: list[dict[str, Any]]) -> np.ndarray:
    rates: np.ndarray = np.mean([one["rates"] for one in played], axis=0)
    return rates


def _joined(answers: Sequence[tuple[list[Any], Any]]) -> tuple[list[Any], Any]:
    """Join the answers of several shards, and add up their changes in order."""
    each = [one for few, _ in answers for one in few]
    changes = [change for _, change in answers if change is not None]
    if not changes:
        return each, None
    return each, sparse_sum(changes)


def _rebuilt(make: Callable[[], Any], data: Any, states: Any, weights: Any, since: list[Any]) -> Any:
    """Rebuild a shard from its data, a snapshot, and the changes of w that it has adopted since."""
    shard = make().begin(*copy.deepcopy(data))
    if states is not None:
        shard.rebuild(states[shard.shard], weights)
    for number, news in enumerate(since):
        shard.play()
        if number < len(since) - 1:  # `_on_shard` adopts the last one
            shard.adopt(*news)
    return shard


def _same(data: Any) -> Any:
    return data


def _forget(key: str) -> None:
    _CLOSED.add(key)
    for name in [name for name in _SHARDS if name[0] == key]:
        del _SHARDS[name]
