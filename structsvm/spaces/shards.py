"""`ShardSpace`: a copy of w for each shard of the data. Threads train the shards, then add their changes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from structsvm._dual.blocks import Blocks
from structsvm._dual.dual import lengthened
from structsvm._dual.shard import LinearShard, add_up, agree
from structsvm.machine import Inputs, Machine, Outputs, Patterns, Places
from structsvm.problem import Problem
from structsvm.signals import Stop
from structsvm.spaces.linear import LINEAR, LinearSpace
from structsvm.threads import deferred, for_each, in_slices, in_threads, stoppable
from structsvm.validation import every, n_patterns

OUTPUTS, ENTRIES = ("alpha", "loss", "lengths"), ("indices", "values")  # of a dual's state
Work = Callable[[int, LinearShard, np.ndarray], None]  # visits slots of a shard
NO_SLOTS = np.empty(0, np.intp)
BLOCK = 8  # weights, as in `LinearShard`
PARTS = 16  # parts of w, which any number of threads can add up


@dataclass(frozen=True)
class ShardSpace(LinearSpace):
    """The space of `ParallelLaRank`, for a number of shards and of threads."""

    shards: int
    jobs: int

    def oracle(self, problem: Problem, *, rescaling: str, slack: str) -> Patterns:
        return ShardedPatterns(problem, self.shards, self.jobs, rescaling=rescaling, slack=slack)

    def machine(self, oracle: Patterns, *, C: float, tau: float, kappa: float, seed: int) -> Machine:
        return Shards(cast(ShardedPatterns, oracle), seed, self.jobs, C=C, tau=tau, kappa=kappa)


def shard_seed(seed: int, shard: int) -> int:
    """The seed of a shard's random draws."""
    return (seed + shard * 0xD1342543DE82EF95) % 2**64


def padded(n_weights: int) -> np.ndarray:
    """Zeros for this many weights, in whole blocks."""
    return np.zeros(-(-n_weights // BLOCK) * BLOCK)


class ShardedPatterns:
    """The patterns of all K shards: sample i belongs to shard i % K, slot s is slot s // K of shard s % K."""

    def __init__(self, problem: Any, n: int, jobs: int = 1, **form: str) -> None:
        self.problem, self.jobs, self.form = problem, jobs, form
        self.shards = [self.new() for _ in range(n)]

    def new(self) -> Any:
        """An empty store of the kind that shards have."""
        return LINEAR.oracle(self.problem, **self.form)

    @property
    def n_weights(self) -> int:
        return max(oracle.n_weights for oracle in self.shards)

    @property
    def n_shards(self) -> int:
        return len(self.shards)

    @property
    def n_stored(self) -> int:
        """Patterns held."""
        return sum(oracle.n_stored for oracle in self.shards)

    def split(self, slots: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each shard the positions of its slots, and the slots as it numbers them."""
        owner = slots % len(self.shards)
        chosen = [np.flatnonzero(owner == k) for k in range(len(self.shards))]
        return [(at, slots[at] // len(self.shards)) for at in chosen]

    def add(self, X: Inputs, y: Outputs) -> np.ndarray:
        n = len(self.shards)
        added, numbers = [NO_SLOTS] * n, [np.zeros(0)] * n

        def fill(k: int) -> None:
            oracle, part = self.shards[k], (every(X, k, n), every(y, k, n))
            if size := n_patterns(part[1]):
                slots = oracle.add(*part)
                added[k] = slots * n + k
                weights = oracle.slot_weights(slots, np.ones(size))  # of tokens
                numbers[k] = np.rint(oracle.slot_weights(slots, np.arange(float(size))) / weights) * n + k

        try:
            for_each(fill, n, self.jobs)
        except BaseException:
            for slots in added:
                self.discard(slots)
            self.new().add(X, y)  # raises again, and names the position in all of the data
            raise
        return np.concatenate(added)[np.argsort(np.concatenate(numbers), kind="stable")]

    def discard(self, slots: np.ndarray) -> None:
        for oracle, (_, own) in zip(self.shards, self.split(slots), strict=True):
            oracle.discard(own)

    def slot_weights(self, slots: np.ndarray, sample_weight: np.ndarray) -> np.ndarray:
        weights, n = np.empty(len(slots)), len(self.shards)
        for k, (at, own) in enumerate(self.split(slots)):
            if len(own):
                weights[at] = self.shards[k].slot_weights(own, np.ascontiguousarray(sample_weight[k::n]))
        return weights

    def groups(self, slots: np.ndarray) -> np.ndarray | None:
        starts = np.zeros(len(slots), bool)
        for oracle, (at, own) in zip(self.shards, self.split(slots), strict=True):
            if len(own):
                found = oracle.groups(own)
                if found is None:
                    return None
                starts[at[found]] = True
        return np.flatnonzero(starts)

    def balanced(self, slots: np.ndarray) -> np.ndarray:
        """Order the slots so that each stretch of them contains the same share of every shard's work.

        Within a shard, the order stays as it was.
        """
        before = np.empty(len(slots))  # the share of its shard's work that comes before each slot
        for oracle, (at, own) in zip(self.shards, self.split(slots), strict=True):
            sizes = oracle.sizes(own)
            before[at] = (np.cumsum(sizes) - sizes) / max(sizes.sum(), 1)
        return slots[np.argsort(before, kind="stable")]

    def watch(self, on: bool) -> None:
        for oracle in self.shards:
            oracle.watch(on)

    def looks(self) -> tuple[float, ...]:
        found = [oracle.looks() for oracle in self.shards]
        return tuple(map(sum, zip(*found, strict=False)))  # if one lacks counts, the sum lacks them too

    def rows(self, slots: np.ndarray) -> dict[str, Any]:
        whole, stored = self.new(), np.empty(len(slots), np.intp)
        for oracle, (at, own) in zip(self.shards, self.split(slots), strict=True):
            if len(own):
                stored[at] = whole.add_rows(**oracle.rows(own))
        return whole.rows(stored) | {"shard": slots % len(self.shards)}

    def add_rows(self, shard: np.ndarray | None = None, **rows: Any) -> np.ndarray:
        whole, n = self.new(), len(self.shards)
        stored = whole.add_rows(**rows)
        slots = np.empty(len(stored), np.intp)
        owner = np.arange(len(stored)) if shard is None else np.asarray(shard)
        if owner.dtype.kind not in "iu" or owner.shape != stored.shape:
            raise ValueError("the shards of the stored patterns are inconsistent")
        owner = owner % n
        for k, oracle in enumerate(self.shards):
            if (own := owner == k).any():
                slots[own] = oracle.add_rows(**whole.rows(stored[own])) * n + k
        return slots


class Shards:
    """A `Machine` made of shards, each with its own patterns, coefficients and copy of w.

    w is the sum of what the shards have learned, and `dual` the dual objective of all coefficients together.
    Memory: each shard holds a copy of w, or of its nonzero blocks; between rounds the copies are equal.
    """

    squared: bool
    block = sys.maxsize  # a call of visit is a round

    def __init__(self, oracle: ShardedPatterns, seed: int, jobs: int, **options: Any) -> None:
        self.oracle = oracle
        self.jobs = jobs
        n = len(oracle.shards)
        self.shards = [
            LinearShard(own, seed=shard_seed(seed, k), sigma=n, n_weights=oracle.n_weights, **options)
            for k, own in enumerate(oracle.shards)
        ]
        self.C, self.squared = options["C"], self.shards[0].squared
        self.dual = 0.0
        self._norms = np.zeros(0)  # squared, of the blocks of w as the first shard places them
        self._grow(oracle.n_weights)

    @property
    def weights(self) -> np.ndarray:
        return self.shards[0].weights

    def weights_at(self, places: Places) -> np.ndarray:
        return self.shards[0].weights_at(places)

    @property
    def blocks(self) -> Blocks | None:
        return self.shards[0].blocks

    @property
    def n_weights(self) -> int:
        return self.shards[0].n_weights

    # -- a round --------------------------------------------------------------------------------

    def round(self, slots: np.ndarray, work: Work) -> None:
        """Let every shard visit those of the slots that it owns, then add up what the shards have learned.

        The result does not depend on the number of threads. Interruptions end the round early.
        """
        stop, own, before = Stop(), [own for _, own in self.oracle.split(slots)], self.losses

        def play(k: int) -> None:
            for part in in_slices(own[k], 64):
                if stop.asked:
                    return
                work(k, self.shards[k], part)

        def settle() -> None:
            self.dual += self._add_up() - before

        with deferred(stop) if self.jobs > 1 else nullcontext():  # one thread looks for signals by itself
            try:
                self._each(stoppable(play, stop), len(self.shards), stop)
            finally:
                in_threads([settle], 1)  # Ctrl-C waits until w is complete

    def _each(self, work: Callable[[int], Any], n: int, stop: Stop | None = None) -> list[Any]:
        """The results of `work` for 0 to n - 1. If a call fails, set `stop` and wait for the others."""
        return for_each(work, n, self.jobs, stop)

    def _add_up(self) -> float:
        """Bring all copies of w up to date; return `losses` minus the growth of ||w||^2 / 2."""
        agree(self.shards, self._each)
        growth = self._each(lambda part: add_up(self._norms, self.shards, part, PARTS), PARTS)
        for shard in self.shards:
            shard.clear()
        return self.losses - sum(growth)

    def visit(self, slots: np.ndarray) -> None:
        self.round(slots, lambda _, shard, own: shard.visit(own))

    @property
    def losses(self) -> float:
        """The dual plus ||w||^2 / 2, apart from a constant."""
        return sum(shard.losses for shard in self.shards)

    # -- the training set -----------------------------------------------------------------------

    def admit(self, slots: np.ndarray, sample_weight: np.ndarray) -> None:
        self._grow(self.oracle.n_weights)
        for shard, (at, own) in zip(self.shards, self.oracle.split(slots), strict=True):
            shard.admit(own, np.ascontiguousarray(sample_weight[at]))

    def dismiss(self, slots: np.ndarray) -> None:
        for shard, (_, own) in zip(self.shards, self.oracle.split(slots), strict=True):
            shard.dismiss(own)

    def forget_patterns(self, n: int) -> None:
        """Drop n support patterns or a few more, the same share of each shard."""
        total = max(self.n_patterns, 1)
        for shard in self.shards:
            shard.forget_patterns(-(-n * shard.n_patterns // total))

    def forget_rows(self, row_of: np.ndarray, stride: int) -> None:
        for shard in self.shards:
            shard.forget_rows(row_of, stride)
        self._take_norms()

    def slacks(self, slots: np.ndarray, counted: bool = False) -> np.ndarray:
        xi, parts = np.empty(len(slots)), self.oracle.split(slots)
        self._grow(self.oracle.n_weights)

        def look(k: int) -> None:
            at, own = parts[k]
            xi[at] = self.shards[k].slacks(own, counted)

        stop = Stop()
        self._each(stoppable(look, stop), len(self.shards), stop)
        return self.slacks(slots, counted) if stop.asked else xi  # the signal handler may not raise

    def _grow(self, n_weights: int) -> None:
        """Make w and all its copies at least this long."""
        n_weights = max(n_weights, self.n_weights)
        for shard in self.shards:
            shard.grow(n_weights)
        self._norms = lengthened(self._norms if len(self._norms) else np.zeros(0), n_weights // BLOCK + 2)

    # -- results --------------------------------------------------------------------------------

    @property
    def norm(self) -> float:
        return self.shards[0].norm

    @property
    def n_patterns(self) -> int:
        return sum(shard.n_patterns for shard in self.shards)

    @property
    def n_vectors(self) -> int:
        return sum(shard.n_vectors for shard in self.shards)

    @property
    def n_argmax(self) -> int:
        return sum(shard.n_argmax for shard in self.shards)

    @property
    def tau(self) -> float:
        return self.shards[0].tau

    @tau.setter
    def tau(self, tau: float) -> None:
        for shard in self.shards:
            shard.tau = tau

    def primal_bound(self) -> float:
        return -np.inf

    # -- saved states ---------------------------------------------------------------------------

    def start_from(self, weights: np.ndarray) -> None:
        self._grow(len(weights))
        for shard in self.shards:
            shard.write(weights)
        self._take_norms()

    def _take_norms(self) -> None:
        agree(self.shards, self._each)
        self._norms = self.shards[0].block_norms()

    def state(self) -> dict[str, np.ndarray]:
        """The state as that of a `LinearDual`; a `LinearDual` or any number of shards can restore it."""
        n = len(self.shards)
        states = [shard.state() for shard in self.shards]
        for k, state in enumerate(states):
            state["slots"] = state["slots"] * n + k
        (weights, *_) = [state.pop("weights") for state in states]
        joined = {name: np.concatenate([state[name] for state in states]) for name in states[0]}
        return joined | {
            "weights": weights,
            "counters": np.sum([state["counters"] for state in states], axis=0),
            "objective": np.array([self.dual, sum(shard.cost for shard in self.shards)]),
        }

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self._grow(max(len(state["weights"]), self.oracle.n_weights))
        n, seeds = len(self.shards), state["rng"]
        for counts, names in ((state["counts"], OUTPUTS), (state["lengths"], ENTRIES)):
            room = {len(state[name]) for name in names}
            sound = counts.ndim == 1 and counts.dtype.kind in "iu" and len(room) == 1
            if not sound or not 0 <= counts.min(initial=0) <= counts.max(initial=0) <= max(room):
                raise ValueError("the training state has counts that do not fit its arrays")
        patterns = state["slots"] % n
        outputs = np.repeat(patterns, state["counts"])
        entries = np.repeat(outputs, state["lengths"])
        owners = dict.fromkeys(("slots", "upper", "counts"), patterns)
        owners |= dict.fromkeys(OUTPUTS, outputs) | dict.fromkeys(ENTRIES, entries)
        for k, shard in enumerate(self.shards):
            own = state | {name: state[name][owner == k] for name, owner in owners.items()}
            own["slots"] = own["slots"] // n
            own["rng"] = np.array([seeds[k] if len(seeds) == n else shard_seed(int(seeds[0]), k)], np.uint64)
            if k:  # the first shard keeps the counters of all
                own |= {name: np.zeros_like(state[name]) for name in ("counters", "objective")}
            shard.restore(own)
        self._take_norms()
        self.dual = float(state["objective"][0])
