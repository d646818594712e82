"""How far CoCoA+ goes: 1 to 64 shards of CoNLL-2000 in turn on one core, and an estimate for a cluster.

The estimate assumes that a worker takes the measured CPU time a token, that the corpus has the measured
number of changed bytes a round (a round on more data changes more of w, at most all of it, which is the
bound used), and that every worker sends and receives its changes in a tree at the stated bandwidth.
"""

from __future__ import annotations

import math
from functools import partial
from importlib import import_module
from typing import Any

from benchmarks.harness import child, cpu_timed, measurements, publish, table

MODULE = "benchmarks.scaling"
SHARDS = (1, 4, 16, 64)  # 256 copies of w take more than 12 GB on one machine
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
        "shards", "passes", "rounds", "argmax calls", "MB of changed blocks", "primal", "dual", "F1",
        "CPU s a shard",
    ]  # fmt: skip
    per_token = found[0]["passes"][0]["cpu"] / found[0]["tokens"]
    text = (
        "Exact inference, classic template, features seen at least three times, C = 0.1. \"MB of "
        "changed blocks\" bounds what all shards send: of a block of eight weights, only those that changed. "
        "256 shards were not run.\n\n"
        + table(header, rows)
        + f"\n\nOn paper, for {BILLION:.0e} tokens and {PASSES} passes of 20 rounds: {1e6 * per_token:.1f} "
        f"µs of CPU time a token and pass (measured with one shard), {WEIGHTS:.1e} weights of 8 bytes as the "
        f"most that a round sends to and from each node of a tree with {BRANCHES} branches, "
        f"{BANDWIDTH / 1e9:.2f} GB/s (10 Gbit/s) and {ROUND_TRIP} s for the scheduler a round and level.\n\n"
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


def _touched(machine: Any) -> int:
    """The blocks of w that a shard has changed in this round."""
    import numpy as np

    return int(np.bitwise_count(machine.touched_words()).sum())


def measure(shards: int) -> dict[str, Any]:
    """Figures after each pass."""
    from corpora import find
    from taggers import SequenceTagger
    from taggers.commands.training import read_labelled
    from taggers.conlleval import evaluate

    parallel: Any = import_module("structsvm.optimizers.parallel")
    train, test = (read_labelled(find("conll2000") / f"{name}.txt") for name in ("train", "test"))
    words, gold = test.sentences(0), test.sentences(2)
    X = [list(zip(*columns, strict=True)) for columns in zip(words, test.sentences(1), strict=True)]
    sent = [0]
    add_up = parallel.add_up

    def counted(w: Any, machines: Any, part: int = 0, parts: int = 1) -> float:
        if not part:
            sent[0] += sum(68 * _touched(machine) for machine in machines)
        return add_up(w, machines, part, parts)

    parallel.add_up = counted
    tagger = SequenceTagger(
        template="conll2000", cutoff=3, C=0.1, constrained=False, shards=shards, jobs=1, epochs=1
    )
    points, cpu = [], 0.0
    for done in range(PASSES):
        learn = tagger.resume if done else tagger.fit
        _, seconds = cpu_timed(partial(learn, train, train.width - 1))
        cpu += seconds
        optimizer = tagger.optimizer_
        points.append({
            "cpu": cpu, "argmax": optimizer.n_argmax_, "bytes": sent[0], "primal": optimizer.primal(),
            "dual": optimizer.dual_, "f1": 100 * evaluate(gold, tagger.predict(X)).f1,
        })  # fmt: skip
    return {"passes": points, "rounds": parallel.n_rounds(shards), "tokens": train.n_tokens}


if __name__ == "__main__":
    child(measure)
