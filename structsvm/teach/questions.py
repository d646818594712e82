"""The questions of a pool that have no answer yet, the most useful ones first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from structsvm.teach.answers import item_id
from structsvm.teach.contract import Learner

QUEUE = 4  # the question, and those that the page shows after it
CANDIDATES = 32  # questions that are ranked again before one of them is chosen
SLICE = 25  # questions that `rank_oldest` ranks; an answer may wait for it, for a few milliseconds
WITHIN = 1.0  # a smaller margin than this is within the margin of the SVM


class Question(NamedTuple):
    """A question: the id of its item, and why it was chosen (random, margin, chosen or review)."""

    id: str
    why: str


class Questions:
    """The items of a pool, which of them are open, and a queue of the next ones.

    An open question has no answer and is on no screen. A rank is valid until the model learns more: `now`
    is the number of answers that it has learned.

    Parameters
    ----------
    pool
        The items.
    random
        The share of questions that are drawn at random.
    seed
        The seed of the random choices.
    """

    def __init__(self, pool: Sequence[Any], *, random: float, seed: int) -> None:
        if not 0 <= random <= 1:
            raise ValueError(f"random must be between 0 and 1, got {random}")
        self.items: dict[str, Any] = {item_id(item): item for item in pool}
        self.ids = list(self.items)
        self._random = random
        self._rng = np.random.default_rng(seed)
        self._place = {id: place for place, id in enumerate(self.ids)}
        self._open = np.ones(len(self.ids), bool)
        self._useful = self._rng.random(len(self.ids))
        self._margin = np.zeros(len(self.ids))
        self._ranked = np.full(len(self.ids), -1)  # `now`, when it was ranked
        self._queue: list[tuple[int, str]] = []  # place and why

    @property
    def n_open(self) -> int:
        """The number of open questions."""
        return int(self._open.sum())

    def set_open(self, id: str, is_open: bool) -> None:
        """Open or close a question; one that is not in the pool is never open."""
        if id in self._place:
            self._open[self._place[id]] = is_open

    def skip(self, id: str) -> None:
        """Remove a question from the queue."""
        self._queue = [one for one in self._queue if self.ids[one[0]] != id]

    def next(self, learner: Learner, now: int) -> Question | None:
        """Remove the first question from the queue and return it; None if no question is open."""
        self._fill(learner, now)
        return Question(self.ids[self._queue[0][0]], self._queue.pop(0)[1]) if self._queue else None

    def upcoming(self, learner: Learner, now: int) -> list[Question]:
        """The questions after the one on the screen."""
        self._fill(learner, now)
        return [Question(self.ids[place], why) for place, why in self._queue[: QUEUE - 1]]

    def _fill(self, learner: Learner, now: int) -> None:
        """Fill the queue with open questions, if there are any."""
        queue = [one for one in self._queue if self._open[one[0]]]
        self._rank_again(np.array([place for place, _ in queue], int), learner, now)
        queue = [  # drop questions that the model is sure of by now, unless drawn at random
            (place, why) for place, why in queue if why == "random" or self._margin[place] < WITHIN
        ] or queue[:1]  # fmt: skip
        self._queue = queue
        while len(queue) < QUEUE:
            free = self._open.copy()
            free[[place for place, _ in queue]] = False
            places = np.flatnonzero(free)
            if not len(places):
                break
            queue.append(self._choose(places, learner, now))

    def _choose(self, places: np.ndarray, learner: Learner, now: int) -> tuple[int, str]:
        """The next of these questions: at random, or the most useful one."""
        if self._rng.random() < self._random:
            return int(self._rng.choice(places)), "random"
        most = min(CANDIDATES, len(places))
        best = places[np.argpartition(-self._useful[places], most - 1)[:most]]
        self._rank_again(best, learner, now)
        return int(best[np.argmax(self._useful[best])]), "margin"

    def _rank_again(self, places: np.ndarray, learner: Learner, now: int) -> None:
        """Update the rank of those questions that were ranked before the last answer."""
        old = places[self._ranked[places] < now]
        if len(old):
            self._rank(old, learner, now)

    def _rank(self, places: np.ndarray, learner: Learner, now: int) -> bool:
        """Compute how useful these questions are now; False if the model knows nothing yet."""
        ranked = learner.rank([self.items[self.ids[place]] for place in places])
        if ranked is None:
            return False
        self._useful[places], self._margin[places] = ranked
        self._ranked[places] = now
        return True

    def rank_oldest(self, learner: Learner, now: int) -> bool:
        """Rank some open questions whose rank is the oldest; True if there are more."""
        old = np.flatnonzero(self._open & (self._ranked < now))
        if not len(old):
            return False
        oldest = old[np.argsort(self._ranked[old], kind="stable")[:SLICE]]
        return self._rank(oldest, learner, now) and len(old) > SLICE

    def forget_ranks(self) -> None:
        """Make all ranks invalid, after a change of the model."""
        self._ranked[:] = -1

    def certainty(self, now: int) -> tuple[float | None, bool]:
        """The share of ranked open questions outside the margin, and whether that is all of them."""
        ranked = self._open & (self._ranked >= 0)
        seen = int(ranked.sum())
        sure = int((ranked & (self._margin >= WITHIN)).sum())
        current = not (self._open & (self._ranked < now)).any()
        return sure / seen if seen else None, bool(seen and sure == seen and current)
