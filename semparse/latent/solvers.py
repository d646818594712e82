"""Two ways to learn weights from bags: passive-aggressive steps of at most C, and LaRank.

Both ask `choose` for the right meaning of a sentence and its best rival. A bag is noise if none of its
candidates can be aligned, or if it probably lacks the meaning; it is skipped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from semparse.latent.alignment import lacks_meaning
from semparse.latent.bags import Wrong
from semparse.latent.features import View
from semparse.latent.model import LatentModel
from semparse.latent.problem import SATISFIED, LatentProblem
from semparse.latent.search import Found, Search
from structsvm.optimizers.curve import Point
from structsvm.optimizers.larank import LaRank


def choose(
    model: LatentModel, search: Search, several: list[Any], posteriors: np.ndarray, *, trusting: bool = True
) -> tuple[Found, Found] | None:
    """The latent meaning of a sentence and its best rival, unless their scores are far enough apart.

    The meaning is the likeliest by the alignment and, once there are weights to trust, by its score. Of a
    sentence with wrong meanings only, it is the best one that is not among them.
    """
    if isinstance(several, Wrong):
        return away_from(search, several) if trusting else None
    if lacks_meaning(posteriors):
        return None
    sayable = [
        (found, p)
        for units, p in zip(several, posteriors, strict=True)
        if units is not None and (found := search.align(units))
    ]
    aligned = [(found, p) for found, p in sayable if fits(model, search, found)]
    if not aligned:  # the words can say none of the candidates: noise
        return None
    right, _ = max(aligned, key=lambda pair: float(np.log(pair[1] + 1e-9)) + trusting * pair[0].score)
    rival = next((found for found in search.best(2) if found.meaning != right.meaning), None)
    return None if rival is None or right.score - rival.score >= 1 else (right, rival)


def away_from(search: Search, wrong: Wrong) -> tuple[Found, Found] | None:
    """The best meaning that is not wrong and the best wrong one, unless they are far enough apart."""
    rivals = [found for units in wrong if (found := search.align(units))]
    if not rivals:
        return None
    bad = {rival.meaning for rival in rivals}
    right = next((found for found in search.best(len(bad) + 1) if found.meaning not in bad), None)
    rival = max(rivals, key=lambda found: found.score)
    return None if right is None or right.score - rival.score >= 1 else (right, rival)


def fits(model: LatentModel, search: Search, found: Found) -> bool:
    """Whether a meaning is about one of the things that the sentence names, if it names any."""
    return (
        not model.on_topic
        or not search.view.named
        or not found.meaning
        or any(node.names_a_word() for node in search.nodes(found))
    )


def passive_aggressive(
    model: LatentModel, data: Sequence[Any], passes: int, rng: np.random.Generator, progress: Any
) -> None:
    """Passive-aggressive steps."""
    done = 0
    for number in range(passes):
        for i in rng.permutation(len(data)):
            step(model, *data[i], trusting=number > 0)
            done += 1
            progress(done, passes * len(data))


def step(
    model: LatentModel, view: View, several: list[Any], posteriors: np.ndarray, *, trusting: bool
) -> None:
    """One sentence: a passive-aggressive step if its hidden candidate and the rival are too close."""
    model.steps += 1
    search = model.search_with(view, {name: t.w for name, t in model.tables.all.items()})
    pair = choose(model, search, several, posteriors, trusting=trusting)
    if pair is None:
        return
    right, rival = pair
    change: Counter[tuple[str, int, int]] = Counter(right.features())
    change.subtract(rival.features())
    norm = sum(value * value for value in change.values())
    if norm == 0:
        return
    size = min(model.C, (1 - right.score + rival.score) / norm)
    for (table, feature, label), value in change.items():
        if value:
            model.tables.all[table].add(feature, label, size * value, model.steps)
    for table_ in model.tables.all.values():
        table_.changed()


def larank(
    model: LatentModel, data: Sequence[Any], passes: int, rng: np.random.Generator, progress: Any
) -> None:
    """The core's LaRank on the same constraints: each sentence once a pass, and `reprocess` old ones."""

    def report(at: Point) -> None:
        progress(at.epoch * len(data) + at.seen, passes * len(data))

    problem = LatentProblem(model.tables, model.search_with, partial(choose, model))
    optimizer = LaRank(
        problem, C=model.C, n_reprocess=model.reprocess, random_state=int(rng.integers(2**31)),
        callback=report,
    )  # fmt: skip
    optimizer.begin(data, [SATISFIED] * len(data))
    for number in range(passes):
        problem.trusting = number > 0
        optimizer.epoch()
    for name, w in problem.tables(optimizer.weights_).items():
        model.tables.all[name].w[:] = w
