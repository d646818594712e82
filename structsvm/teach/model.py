"""The model of a session: it learns answer by answer, and is rebuilt if an answer changes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from structsvm.teach.answers import Answer, Answers
from structsvm.teach.contract import Learner


class TaughtModel:
    """A learner and the answers that it has learned.

    Parameters
    ----------
    learner
        A learner that has learned nothing.
    answers
        The answers of the session; others may add answers while they hold the lock.
    lock
        The lock of the session. `rebuild` releases it while the new model learns.
    rebuilt
        Called, with the lock, after a new learner has replaced the old one.
    """

    def __init__(
        self, learner: Learner, answers: Answers, lock: threading.RLock, rebuilt: Callable[[], None]
    ) -> None:
        self._first, self.learner = learner, learner.fresh()
        self._answers, self._lock, self._rebuilt = answers, lock, rebuilt
        self._rebuilding = threading.Lock()
        self.is_stale = False  # whether the model has learned an answer that no longer counts

    def learn(self, answers: Sequence[Answer]) -> None:
        """Learn answers; none of them may be skipped."""
        if answers:
            self.learner.learn(answers)

    def rebuild(self) -> None:
        """Replace the learner by one that has learned the current answers only.

        Other threads can add answers meanwhile; the new learner learns these at the end.
        """
        with self._rebuilding:
            self._rebuild()

    def _rebuild(self) -> None:
        with self._lock:
            self.is_stale = False
            learner, given = self._first.fresh(), self._answers.given()
            self._add_names(learner)
        try:
            if given:
                learner.learn(given)
        except BaseException:
            self.is_stale = True
            raise
        with self._lock:
            known = {answer.id: answer for answer in given}
            new = [answer for answer in self._answers.given() if known.get(answer.id) is not answer]
            self._add_names(learner)
            if new:
                learner.learn(new)
            self.learner = learner
            self._rebuilt()

    def _add_names(self, learner: Learner) -> None:
        for name in self._answers.names:
            learner.add_name(name)

    def save(self, path: str | Path) -> None:
        """Write a model that has learned the current answers."""
        with self._rebuilding:  # not the learner that a rebuild is about to replace
            if self.is_stale:
                self._rebuild()
            with self._lock:
                self.learner.save(path)
