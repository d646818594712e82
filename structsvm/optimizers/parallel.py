"""Train LaRank on several cores: CoCoA+ [Ma et al. 2015] with LaRank as the local solver."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from structsvm._dual.oracle import Oracle
from structsvm._dual.shard import LinearShard
from structsvm.machine import Patterns
from structsvm.optimizers.larank import LaRank
from structsvm.options import option, with_options
from structsvm.spaces.shards import Shards, ShardSpace, padded, shard_seed
from structsvm.threads import in_slices
from structsvm.validation import MOST_THREADS, check_count, n_threads

SMALLEST = 500  # samples of a shard: with fewer, threads cost more time than they save


def n_shards(shards: int | None, jobs: int, n_samples: int) -> int:
    """The number of shards: by default one for each job, or fewer for a small data set."""
    if shards is not None:
        check_count(shards=shards, low=1)
        return shards
    return max(1, min(n_threads(jobs), n_samples // SMALLEST))


def n_rounds(shards: int) -> int:
    """The rounds of an epoch.

    Two shards learn as well in 5 rounds as in 20 (development sets of chunking, NER and parts of speech), and
    shards wait for each other at the end of each round. In 3 rounds the scores stay the same too, but the gap
    shrinks more slowly. More shards must exchange what they learn more often.
    """
    return min(20, max(5, 5 * shards // 2))


@with_options
class ParallelLaRank(LaRank):
    """LaRank on shards of the data that are trained in parallel, by CoCoA+ [Ma et al. 2015].

    An epoch has 5 to 20 rounds. In a round every shard runs LaRank on its next patterns, with curvatures
    multiplied by the number of shards K; then the changes of all shards, divided by K, are added up. The dual
    never decreases and its coefficients stay feasible, so `gap` bounds the distance from the optimum as it
    does for LaRank. More shards need more epochs for the same gap.
    """

    shards: int = option(default=2, low=1, help="The number of shards; each holds a copy of w.")
    jobs: int = option(
        default=0, low=0, high=MOST_THREADS,
        help="The number of threads, 0 for all cores; it does not change the result.",
    )  # fmt: skip

    @property
    def points(self) -> int:  # type: ignore[override]
        """Rounds of an epoch."""
        return n_rounds(self.shards)

    @property
    def _space(self) -> ShardSpace:
        return ShardSpace(self.shards, n_threads(self.jobs))

    def _shuffled(self) -> np.ndarray:
        """Give all shards the same work in each round, because they wait for the slowest."""
        return self._shards().oracle.balanced(super()._shuffled())

    def _shards(self) -> Shards:
        return cast(Shards, self._fitted())

    def _visit(self, order: np.ndarray) -> None:
        rates = np.tile(self._rates, (self.shards, 1))
        self._shards().round(order, lambda k, shard, slots: self._steps(shard, slots, rates[k]))
        self._rates = rates.mean(axis=0)


@with_options
class ShardLaRank(LaRank):
    """One shard of a `ParallelLaRank` that runs in its own process.

    Its rounds are numbered from 0. Given its data, what it does in a round depends only on the rounds before
    and on what it adopted, so it can be rebuilt from a `snapshot` and the later changes of w.
    """

    shard: int = option(low=0, help="The number of this shard, from 0.")
    shards: int = option(low=1, help="The number of shards.")
    n_weights: int = option(low=0, help="The length of w.")
    dense: bool = option(default=False, help="Whether w is one array.")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.points = n_rounds(self.shards)
        self.n_weights = len(padded(self.n_weights))
        self.played = self.adopted = 0  # rounds
        self._playing = False  # True within a round, and after one that was interrupted
        self.last: dict[str, Any] = {}

    def _new_machine(self, oracle: Patterns, seed: int) -> LinearShard:
        return LinearShard(
            cast(Oracle, oracle), C=self.C, tau=self.tau, kappa=self.kappa, seed=shard_seed(seed, self.shard),
            sigma=self.shards, n_weights=self.n_weights, dense=self.dense,
        )  # fmt: skip

    def _own(self) -> LinearShard:
        return cast(LinearShard, self._fitted())

    def _reset(self) -> None:
        super()._reset()
        self.played, self.adopted, self._playing = 0, 0, False

    def adopt(self, indices: np.ndarray, change: np.ndarray, rates: np.ndarray) -> None:
        """Take over what all shards have learned in the last round, unless this was done before."""
        if self.adopted < self.played:
            self._own().adopt(indices, change)
            self._rates, self.adopted = rates.copy(), self.played

    def play(self) -> dict[str, Any]:
        """Run the next round; returns the changes of w and what the sum over all shards needs."""
        machine, (epoch, at) = self._own(), divmod(self.played, self.points)
        if self._playing:
            raise RuntimeError(f"round {self.played} was interrupted, and part of it is lost: begin again")
        self._playing = True
        if not at:
            self.epochs_done = epoch  # which the order depends on
            self._order = self._shuffled()
            machine.save_old()
        n = len(self._order)
        own = self._order[n * at // self.points : n * (at + 1) // self.points]
        for part in in_slices(own, 64):
            self._steps(machine, part, self._rates)
        indices, change = machine.changes()
        self.played, self._playing = self.played + 1, False
        self.last = {
            "indices": indices, "change": change, "rates": self._rates.copy(),
            "losses": machine.losses, "patterns": machine.n_patterns, "argmax": machine.n_argmax,
        }  # fmt: skip
        return self.last

    def slack_sum(self) -> float:
        """The shard's part of the primal, apart from ||w||^2 / 2."""
        machine = self._own()
        return self._objective(machine.slacks(self._held), self._weight) - machine.norm / 2

    def adopt_weights(self, weights: np.ndarray) -> None:
        """Start from the w of the other shards, after `begin`."""
        self._own().write(weights)

    def counts(self) -> tuple[float, int, int]:
        """The shard's part of the dual apart from ||w||^2 / 2, its support patterns and calls of argmax."""
        machine = self._own()
        return machine.losses, machine.n_patterns, machine.n_argmax

    def snapshot(self) -> dict[str, np.ndarray]:
        """The learned state, apart from w, at the end of an epoch."""
        state = self._own().state()
        del state["weights"]
        return state | {"played": np.array([self.played]), "rates": self._rates.copy()}

    def rebuild(self, snapshot: dict[str, np.ndarray], weights: np.ndarray) -> None:
        """Load a snapshot after `begin`, and the w of that moment."""
        machine = self._own()
        machine.restore({**snapshot, "weights": weights})
        machine.admit(self._held, self._weight)
        self.played = self.adopted = int(snapshot["played"][0])
        self._rates = snapshot["rates"].copy()
