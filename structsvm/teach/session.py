"""A session of teaching: choose a question, take the answer, learn it, choose the next one.

The session knows nothing about words; a `Learner` does. Every answer is written to the journal on disk before
it counts. The journal alone determines the state of a session, so you can run the same command after a crash
to continue.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from structsvm.files.errors import DataError
from structsvm.files.journal import Journal
from structsvm.teach.answers import Answer, Answers, Record
from structsvm.teach.contract import Learner
from structsvm.teach.model import TaughtModel
from structsvm.teach.progress import Progress
from structsvm.teach.questions import SLICE, Question, Questions
from structsvm.teach.tabs import Tabs

MOST_KEY = 64


class Answered(DataError):
    """The question was answered in another tab."""


class Session:
    """Ask about the items of a pool, keep the answers in a journal, and teach them to a model.

    All methods can be called from several threads.

    Parameters
    ----------
    learner
        A learner that has learned nothing.
    pool
        The items to ask about.
    journal
        The file that holds the answers; it is created if it does not exist.
    by
        The name of the annotator.
    names
        Labels to choose from, besides those that the learner knows.
    random
        The share of questions that are drawn at random; their progressive score is an honest estimate of the
        model's score on the pool.
    seed
        The seed of the random choices.
    """

    def __init__(
        self,
        learner: Learner,
        pool: Sequence[Any],
        journal: str | Path,
        *,
        by: str = "",
        names: Sequence[str] = (),
        random: float = 0.1,
        seed: int = 0,
    ) -> None:
        self.by = by
        self.lock = threading.RLock()
        self.answers = Answers(learner.task)
        self.progress = Progress()
        self.questions = Questions(pool, random=random, seed=seed)
        self._tabs = Tabs(self.questions, self.answers)
        self._model = TaughtModel(learner, self.answers, self.lock, self.questions.forget_ranks)
        self.journal = Journal(journal)
        try:
            self._begin(names)
        except BaseException:
            self.journal.close()
            raise

    def _begin(self, names: Sequence[str]) -> None:
        """Read the journal, or begin one."""
        records, self.journal.records = self.journal.records, []
        if not records:
            self.journal.append(self.answers.first())
        self.answers.load(records, str(self.journal.path), self.learner.valid)
        for answer, _ in self.answers.history:
            self._count(answer)
        for name in self.answers.names:
            self.learner.add_name(name)
        for name in [*self.learner.names(), *names]:
            self.add_name(name)
        for id in self.answers.current:
            self.questions.set_open(id, False)
        self._model.learn(self.answers.given())

    @property
    def learner(self) -> Learner:
        """The model of the session."""
        return self._model.learner

    @property
    def _now(self) -> int:
        """The number of answers that the model has learned."""
        return len(self.answers.history)

    # -- questions ------------------------------------------------------------------------------

    def question(self, tab: str, id: str | None = None) -> dict[str, Any] | None:
        """The question of a tab, as JSON: the one it already has, one that it asks for, or the next one.

        None if nothing is left to ask.
        """
        with self.lock:
            if id is not None:
                self._item(id)
                self._tabs.show(tab, Question(id, "review" if id in self.answers.current else "chosen"))
            elif self._tabs.question(tab) is None:
                self._tabs.release(tab)
                # The last questions may be in tabs that were closed.
                chosen = self.questions.next(self.learner, self._now) or self._tabs.any()
                if chosen is None:
                    return None
                self._tabs.show(tab, chosen)
            shown = self._tabs.use(tab)
            return self._described([shown])[0]

    def _described(self, chosen: Sequence[Question]) -> list[dict[str, Any]]:
        """Questions as JSON, with guesses."""
        items = [self._item(question.id) for question in chosen]
        found: list[dict[str, Any]] = []
        for question, item in zip(chosen, items, strict=True):
            answer = self.answers.current.get(question.id)
            known = {} if answer is None else {"value": answer.value}
            found.append(
                {"id": question.id, "item": item, "why": question.why, "answered": bool(known), **known}
            )
        for shown, guess in zip(found, self.learner.guess(items) or (), strict=False):
            shown["guess"], shown["margins"] = guess
        return found

    def upcoming(self) -> list[dict[str, Any]]:
        """The next questions, with guesses."""
        with self.lock:
            return self._described(self.questions.upcoming(self.learner, self._now))

    # -- answers --------------------------------------------------------------------------------

    def answer(self, tab: str, id: str, value: Any, key: str, *, again: bool = False) -> None:
        """Record the answer to a question and learn it; None skips the question.

        key: a name for this request; a second request with it changes nothing. again: whether the tab knew
        that the question has an answer; if it did not, and another tab has answered, DataError is raised.
        """
        with self.lock:
            if self._is_repeated(key):
                return
            item, known = self._item(id), self.answers.current.get(id)
            if known is not None and not again:
                self._tabs.release(tab)
                raise Answered("this question has been answered in another tab")
            if value is not None:
                value = self.learner.check(item, value)
            guess = self.learner.guess([item])
            answer = Answer(
                id, item, value, None if guess is None else guess[0][0], self._tabs.why(tab, id),
                self.by, round(time.time(), 3),
            )  # fmt: skip
            self._append(answer.record(key))
            self._count(answer)
            self._tabs.release_answered(id)
            before = None if known is None else known.value
            if before is not None and before != value:
                self._model.is_stale = True
            if value is not None and before != value:
                self._model.learn([self.answers.current[id]])

    def undo(self, tab: str, key: str) -> dict[str, Any] | None:
        """Take back the last answer, and show its question again; None if there is no answer."""
        with self.lock:
            if self._is_repeated(key):
                return self.question(tab)
            if not self.answers.history:
                return None
            answer = self._append({"do": "undo", "key": key})
            assert answer is not None
            self.progress.undo()
            if answer.value is not None:
                self._model.is_stale = True
            before = self.answers.current.get(answer.id)
            self.questions.items.setdefault(answer.id, answer.item)  # a colleague's, or of an earlier file
            question = Question(answer.id, answer.why if before is None else "review")
            self._tabs.show(tab, question)
            (shown,) = self._described([question])
            shown["draft"] = answer.value
            return shown

    def add_name(self, name: Any, key: str = "") -> str:
        """Add a label."""
        with self.lock:
            if not isinstance(name, str):
                raise DataError("a label must be a string")
            added = self.learner.add_name(name)
            if added not in self.answers.names:
                self._append({"do": "name", "name": added, **({"key": key} if key else {})})
            return added

    def take(self, answers: Sequence[Answer]) -> int:
        """Record and learn answers from elsewhere (a labelled file, a colleague); return their number."""
        with self.lock:
            checked = []
            for answer in answers:
                for name in self.learner.names_in(answer.value):
                    self.add_name(name)
                checked.append(replace(answer, value=self.learner.check(answer.item, answer.value)))
            self.journal.extend([answer.record("") for answer in checked])
            for answer in checked:
                self.answers.apply(answer.record(""))
                self._count(answer)
                self.questions.set_open(answer.id, False)
            self._model.learn(checked)
            return len(checked)

    def _is_repeated(self, key: str) -> bool:
        if not isinstance(key, str) or not 0 < len(key) <= MOST_KEY:
            raise DataError(f"a request needs a key of 1 to {MOST_KEY} characters")
        return key in self.answers.keys

    def _append(self, record: Record) -> Answer | None:
        """Write a record to disk, then apply it."""
        self.journal.append(record)
        return self.answers.apply(record)

    def _count(self, answer: Answer) -> None:
        counts = None
        if answer.guess is not None and answer.value is not None and answer.why in ("margin", "random"):
            counts = self.learner.count(answer.guess, answer.value)
        self.progress.add(answer.time, answer.why, counts)

    # -- the rest of the page -------------------------------------------------------------------

    def doubts(self, n: int = 20) -> list[dict[str, Any]]:
        """The answers that the model doubts most, except those that were already reviewed."""
        with self.lock:
            given = [answer for answer in self.answers.given() if answer.why != "review"]
        found: list[tuple[float, int, list[int]]] = []
        for start in range(0, len(given), SLICE):
            part = given[start : start + SLICE]
            with self.lock:
                found += [(size, start + k, at) for k, (size, at) in enumerate(self.learner.doubt(part))]
        found = sorted([one for one in found if one[0] > 0], key=lambda one: (-one[0], one[1]))[:n]
        return [
            {"id": given[k].id, "item": given[k].item, "value": given[k].value, "doubt": size, "at": at}
            for size, k, at in found
        ]

    def explain(self, id: str, at: Any) -> dict[str, Any]:
        """Why the model guesses what it does at one position of a question."""
        with self.lock:
            if isinstance(at, bool) or not isinstance(at, int):
                raise DataError("a position must be an integer")
            return self.learner.explain(self._item(id), at)

    def alternatives(self, id: str, n: int = 4) -> list[tuple[float | None, Any]]:
        """The best answers to a question, best first."""
        with self.lock:
            return self.learner.alternatives(self._item(id), n)

    def _item(self, id: str) -> Any:
        answer = self.answers.current.get(id)
        if answer is None and id not in self.questions.items:
            raise DataError("there is no such question; go to the next one")
        return self.questions.items[id] if answer is None else answer.item

    def stats(self) -> dict[str, Any]:
        """Figures for the page; `certain` is the share of open questions outside the margin."""
        with self.lock:
            given = self.answers.n_given
            certain, enough = self.questions.certainty(self._now)
            return {
                "answered": given, "skipped": len(self.answers.current) - given,
                "open": self.questions.n_open + len(self._tabs.unanswered()),
                "can_undo": bool(self.answers.history), "certain": certain, "enough": enough,
                **self.progress.summary(),
            }  # fmt: skip

    # -- work between the answers ---------------------------------------------------------------

    def tidy(self) -> bool:
        """Do some background work, usually for a few milliseconds; return True if there is more.

        If answers were changed or taken back, a new model learns all current answers; otherwise, some open
        questions are ranked with the current model.
        """
        if self._model.is_stale:
            self.rebuild()
        with self.lock:
            self.learner.tidy()
            return self.questions.rank_oldest(self.learner, self._now)

    def rebuild(self) -> None:
        """Replace the model by one that has learned the current answers only.

        You can answer questions meanwhile; the new model learns these answers at the end.
        """
        self._model.rebuild()

    def save(self, path: str | Path) -> None:
        """Write a model that has learned the current answers."""
        self._model.save(path)

    def close(self) -> None:
        """Close the journal."""
        self.journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
