"""Measure how CoCoA+ scales, with 1 to 256 shards of CoNLL-2000 on one core, and estimate it for a cluster.

The estimate assumes that a worker takes the measured CPU time for a token, that a round changes all of w
(the bound: on this corpus it changes much less), and that every worker sends and receives these changes in a
tree at the stated bandwidth.
"""

from __future__ import annotations

import math
from typing import Any

from benchmarks.harness import child, cpu_timed, measurements, publish, table
from structsvm._dual.shard import put_weights, sparse_sum
from structsvm.optimizers.parallel import ShardLaRank, n_rounds
from structsvm.spaces.shards import padded

MODULE = "benchmarks.scaling"
SHARDS = (1, 4, 16, 64, 256)
PASSES = 4
BILLION, WEIGHTS, BANDWIDTH, ROUND_TRIP = 1e9, 20e6 * 24, 1.25e9, 0.05  # tokens, weights, bytes/s, s
BRANCHES = 8


def main(*, quick: bool = False) -> None:
    """Publish a table by shards, and the estimate."""
    shards = SHARDS[:3] if quick else SHARDS
    found = measurements(MODULE, [{"shards": k} for k in shards])
    rows = []
    for k, run in zip(shards, found, strict=True):
        for done, point in enumerate(run["passes"], 1):
            if done in (1, 2, PASSES):
                rows.append([
                    k, done, run["rounds"] * done, f"{point['argmax']:,}", f"{point['bytes'] / 1e6:.0f}",
                    f"{point['primal']:.0f}", f"{point['dual']:.0f}", f"{point['f1']:.2f}",
                    f"{point['cpu'] / k:.2f}",
                ])  # fmt: skip
    header = [
        "shards", "passes", "rounds", "argmax calls", "MB sent by all shards", "primal", "dual", "F1",
        "CPU s per shard",
    ]  # fmt: skip
    per_token = found[0]["passes"][0]["cpu"] / found[0]["tokens"]
    text = (
        "Exact inference, classic template, features seen at least three times, C = 0.1. The shards run in "
        "turn on one core and share one w. A shard sends 12 bytes for each weight that it changed in a "
        "round.\n\n"
        + table(header, rows)
        + f"\n\nOn paper, for {BILLION:.0e} tokens and {PASSES} passes of 20 rounds: {1e6 * per_token:.1f} "
        f"µs of CPU time for a token in a pass (measured with one shard), {WEIGHTS:.1e} weights of 8 bytes "
        f"as the most that a round sends to and from each node of a tree with {BRANCHES} branches, "
        f"{BANDWIDTH / 1e9:.2f} GB/s (10 Gbit/s), and {ROUND_TRIP} s for the scheduler in each round and "
        "level.\n\n"
        + table(["workers", "computing, h", "communication, h", "in all, h"], estimates(per_token))
    )
    publish(f"scaling{'-quick' if quick else ''}", text, found)


def estimates(per_token: float) -> list[list[Any]]:
    """Hours of computing and communication for a billion tokens, by the number of workers."""
    rows: list[list[Any]] = []
    for workers in (8, 64, 256):
        computing = PASSES * per_token * BILLION / workers / 3600
        levels = math.ceil(math.log(workers, BRANCHES))
        level = (BRANCHES + 1) * 8 * WEIGHTS / BANDWIDTH + ROUND_TRIP  # children send one after the other
        sending = PASSES * 20 * levels * level / 3600
        rows.append([workers, f"{computing:.2f}", f"{sending:.2f}", f"{computing + sending:.2f}"])
    return rows


class InTurn:
    """K shards that run one after the other on one core and share one w: after each, w is as before."""

    def __init__(self, problem: Any, X: Any, y: Any, n_weights: int, shards: int, **options: Any) -> None:
        import numpy as np

        self.w, self.agreed = (padded(n_weights) for _ in range(2))
        self.shards = []
        for k in range(shards):
            shard = ShardLaRank(problem, shard=k, shards=shards, n_weights=n_weights, dense=True, **options)
            shard.begin(X[k::shards], y[k::shards])
            shard._own().use(self.w)
            self.shards.append(shard)
        self.rates = np.ones(3)
        self.sent, self.cpu, self.argmax, self.losses = 0, 0.0, 0, 0.0

    def round(self) -> None:
        """Let all shards run one round, and add up their changes in a tree."""
        changes: list[Any] = []
        played = []
        for shard in self.shards:
            one, seconds = cpu_timed(shard.play)
            self.cpu += seconds
            put_weights(self.w, one["indices"], self.agreed[one["indices"]])
            changes.append((one["indices"], one["change"]))
            played.append(one)
        self.sent += sum(indices.nbytes + values.nbytes for indices, values in changes)
        while len(changes) > 1:
            changes = [sparse_sum(changes[k : k + BRANCHES]) for k in range(0, len(changes), BRANCHES)]
        ((indices, change),) = changes
        new = self.agreed[indices] + change
        for weights in (self.w, self.agreed):
            put_weights(weights, indices, new)
        self.argmax, self.losses = (sum(one[name] for one in played) for name in ("argmax", "losses"))

    def objectives(self) -> tuple[float, float]:
        """The primal and the dual of all shards together."""
        norm = float(self.w @ self.w) / 2
        return norm + sum(shard.slack_sum() for shard in self.shards), self.losses - norm


def measure(shards: int) -> dict[str, Any]:
    """Figures after each pass."""
    from corpora import find
    from structsvm.files import SparseRows
    from taggers import SequenceTagger, metrics
    from taggers.labels.files import read_labelled
    from taggers.labels.label_encoding import GoldLabels
    from taggers.sources.memory import MemorySource
    from taggers.trainer import new_optimizer, problem_of

    train, test = (read_labelled(find("conll2000") / f"{name}.txt").columns for name in ("train", "test"))
    gold, known = (GoldLabels.from_column(columns, columns.width - 1) for columns in (train, test))
    tagger = SequenceTagger(template="conll2000", cutoff=3, C=0.1, constrained=False)
    settings = tagger.settings()
    model = tagger._new_model(train, train.width - 1, gold.triples(), settings)
    source = MemorySource(train, gold)
    ((X, y),) = source.datasets(model, source.survey("label"), settings)
    problem = problem_of(new_optimizer(model, settings))
    n_weights = problem.offset + len(model.space) * problem.stride
    learner = InTurn(problem, X, y, n_weights, shards, C=0.1, n_reprocess=settings["reprocess"])
    points = []
    for _ in range(PASSES):
        for _ in range(n_rounds(shards)):
            learner.round()
        primal, dual = learner.objectives()
        rows = SparseRows.from_vector(learner.w[:n_weights], model.n_rows, problem.stride, problem.width)
        now = model.with_rows(rows)
        points.append({
            "cpu": learner.cpu, "argmax": learner.argmax, "bytes": learner.sent, "primal": primal,
            "dual": dual, "f1": 100 * metrics.score_ids(known, now.tag(test), now.names, phrases=True),
        })  # fmt: skip
    return {"passes": points, "rounds": n_rounds(shards), "tokens": train.n_tokens}


if __name__ == "__main__":
    child(measure)
