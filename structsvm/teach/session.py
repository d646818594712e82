"""A session of teaching: choose a question, take the answer, learn it, choose the next one.

The session knows nothing about words; a `Learner` does. Every answer is written to the journal on disk before
it counts. The journal alone determines the state of a session, so you can run the same command after a crash
to continue.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np

from structsvm.files.errors import DataError
from structsvm.files.journal import Journal
from structsvm.teach.answers import Answer, Answers, Record, item_id
from structsvm.teach.progress import Progress

MOST_TABS = 64
QUEUE = 4  # the question, and those that the page shows after it
CANDIDATES = 32  # questions that are ranked again before one of them is chosen
SLICE = 25  # questions that `tidy` ranks at a time; an answer may wait for it, for a few milliseconds
WITHIN = 1.0  # a smaller margin than this is within the margin of the SVM
MOST_KEY = 64


class Guess(Protocol):
    """A model's answer to a question, as JSON for the page."""

    value: Any
    margins: list[float]


class Learner(Protocol):
    """The model of a session, and what it knows about questions and answers."""

    task: str
    kind: str  # how the page shows questions: spans, tokens or choice

    def fresh(self) -> Self:
        """The same learner before its first answer."""

    def add_name(self, name: str) -> str:
        """Make a label known; return it, or raise DataError for one that cannot be a label."""

    def names(self) -> list[str]:
        """The labels to choose from."""

    def check(self, item: Any, value: Any) -> Any:
        """A valid answer in its usual form, or DataError."""

    def valid(self, answer: Answer) -> bool:
        """Whether a journal can hold this question, value and guess; any label will do."""

    def learn(self, answers: Sequence[Answer]) -> None:
        """Learn answers; none of them may be skipped."""

    def tidy(self) -> None:
        """Keep the memory of the model within its bounds; called between answers."""

    def guess(self, items: Sequence[Any]) -> list[tuple[Any, list[float]]] | None:
        """For each question the answer and its margins; None if nothing is known yet."""

    def rank(self, items: Sequence[Any]) -> tuple[np.ndarray, np.ndarray] | None:
        """For each question how useful its answer is, and the smallest margin; None as in `guess`."""

    def doubt(self, answers: Sequence[Answer]) -> list[tuple[float, list[int]]]:
        """For each answer how much the model doubts it (positive if it disagrees), and where."""

    def count(self, guess: Any, value: Any) -> tuple[int, int, int]:
        """How many decisions of a guess are right, how many it has, and how many the answer has."""

    def units(self, one: Answer, two: Answer) -> list[tuple[Any, Any]]:
        """The decisions of two answers to a question, in pairs, to measure agreement."""

    def explain(self, item: Any, at: int) -> dict[str, Any]:
        """Why the model guesses what it does at one position, as JSON."""

    def alternatives(self, item: Any, n: int) -> list[tuple[float | None, Any]]:
        """The best answers with their scores, best first."""

    def save(self, path: str | Path) -> None:
        """Write a model file."""


@dataclass
class Question:
    """A question in the queue: the position of its item in the pool, and why it was chosen."""

    place: int
    why: str


class Session:
    """Ask about the items of a pool, and keep the answers in a journal.

    random: the share of questions that are drawn at random; their progressive score is an honest estimate of
    the model's score on the pool. All methods can be called from several threads.
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
        if not 0 <= random <= 1:
            raise ValueError(f"random must be between 0 and 1, got {random}")
        self.by, self.random = by, random
        self.lock = threading.RLock()
        self.answers = Answers(learner.task)
        self.progress = Progress()
        self.items: dict[str, Any] = {item_id(item): item for item in pool}
        self.ids = list(self.items)
        self.place = {id: place for place, id in enumerate(self.ids)}
        self._rng = np.random.default_rng(seed)
        self.open = np.ones(len(self.ids), bool)
        self._useful = self._rng.random(len(self.ids))
        self._margin = np.zeros(len(self.ids))
        self._ranked = np.full(len(self.ids), -1)  # the number of answers learned when it was ranked
        self._queue: list[Question] = []
        self._tabs: OrderedDict[str, tuple[str, str]] = OrderedDict()  # (item, why) on the screen of each tab
        self._first, self.learner = learner, learner.fresh()
        self._rebuilding = threading.Lock()
        self._stale = False  # whether the model has learned an answer that no longer counts
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
            self._set_open(id, False)
        self._learn(self.answers.given())

    # -- questions ------------------------------------------------------------------------------

    def question(self, tab: str, id: str | None = None) -> dict[str, Any] | None:
        """The question of a tab, as JSON: the one it already has, one that it asks for, or the next one.

        None if nothing is left to ask.
        """
        with self.lock:
            if id is not None:
                if id not in self.items and id not in self.answers.current:
                    raise DataError("there is no such question; go to the next one")
                self._show(tab, id, "review" if id in self.answers.current else "chosen")
            elif tab not in self._tabs or not self._is_shown(tab):
                self._release(tab)
                if self._fill():
                    chosen = self._queue.pop(0)
                    self._show(tab, self.ids[chosen.place], chosen.why)
                elif self._tabs:  # the last questions may be in tabs that were closed
                    self._show(tab, *next(iter(self._tabs.values())))
                else:
                    return None
            self._tabs.move_to_end(tab)
            self._fill()
            return self._questions([self._tabs[tab]])[0]

    def _is_shown(self, tab: str) -> bool:
        """Whether the question of a tab still needs an answer."""
        id, why = self._tabs[tab]
        return why == "review" or id not in self.answers.current

    def _show(self, tab: str, id: str, why: str) -> None:
        self._release(tab)
        if tab not in self._tabs and len(self._tabs) >= MOST_TABS:
            self._release(next(iter(self._tabs)))
        self._tabs[tab] = id, why
        self._set_open(id, False)
        self._queue = [question for question in self._queue if self.ids[question.place] != id]

    def _release(self, tab: str) -> None:
        """Remove the question from a tab; if it has no answer, it becomes open again."""
        if tab in self._tabs:
            id, _ = self._tabs.pop(tab)
            shown = any(other == id for other, _ in self._tabs.values())
            self._set_open(id, id not in self.answers.current and not shown)

    def _set_open(self, id: str, is_open: bool) -> None:
        if id in self.place:
            self.open[self.place[id]] = is_open

    def _questions(self, chosen: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
        """Questions (id and why) as JSON, with guesses."""
        answers = [self.answers.current.get(id) for id, _ in chosen]
        items = [self._item(id) for id, _ in chosen]
        found: list[dict[str, Any]] = [
            {"id": id, "item": item, "why": why, "answered": answer is not None}
            for (id, why), item, answer in zip(chosen, items, answers, strict=True)
        ]
        for shown, answer in zip(found, answers, strict=True):
            if answer is not None:
                shown["value"] = answer.value
        for shown, guess in zip(found, self.learner.guess(items) or (), strict=False):
            shown["guess"], shown["margins"] = guess
        return found

    def upcoming(self) -> list[dict[str, Any]]:
        """The next questions, with guesses."""
        with self.lock:
            self._fill()
            return self._questions([(self.ids[one.place], one.why) for one in self._queue[: QUEUE - 1]])

    def _fill(self) -> bool:
        """Fill the queue with open questions; False if there are none."""
        queue = [one for one in self._queue if self.open[one.place]]
        self._rank_again(np.array([one.place for one in queue], int))
        queue = [  # drop questions that the model is sure of by now, unless drawn at random
            one for one in queue if one.why == "random" or self._margin[one.place] < WITHIN
        ] or queue[:1]  # fmt: skip
        self._queue = queue
        while len(queue) < QUEUE:
            taken = [one.place for one in queue]
            free = self.open.copy()
            free[taken] = False
            places = np.flatnonzero(free)
            if not len(places):
                break
            queue.append(self._choose(places))
        return bool(queue)

    def _choose(self, places: np.ndarray) -> Question:
        """The next of these questions: at random, or the most useful one."""
        if self._rng.random() < self.random:
            return Question(int(self._rng.choice(places)), "random")
        most = min(CANDIDATES, len(places))
        best = places[np.argpartition(-self._useful[places], most - 1)[:most]]
        self._rank_again(best)
        return Question(int(best[np.argmax(self._useful[best])]), "margin")

    def _rank_again(self, places: np.ndarray) -> None:
        """Update the rank of those questions that were ranked before the last answer."""
        old = places[self._ranked[places] < len(self.answers.history)]
        if len(old):
            self._rank(old)

    def _rank(self, places: np.ndarray) -> bool:
        """Compute how useful these questions are now; False if the model knows nothing yet."""
        ranked = self.learner.rank([self.items[self.ids[place]] for place in places])
        if ranked is None:
            return False
        self._useful[places], self._margin[places] = ranked
        self._ranked[places] = len(self.answers.history)
        return True

    # -- answers --------------------------------------------------------------------------------

    def answer(self, tab: str, id: str, value: Any, key: str, *, again: bool = False) -> None:
        """Record the answer to a question and learn it; None skips the question.

        key: a name for this request; a second request with it changes nothing. again: whether the tab knew
        that the question has an answer; if it did not, and another tab has answered, DataError is raised.
        """
        with self.lock:
            if self._is_repeated(key):
                return
            known = self.answers.current.get(id)
            if known is None and id not in self.items:
                raise DataError("there is no such question; go to the next one")
            if known is not None and not again:
                self._release(tab)
                raise Answered("this question has been answered in another tab")
            item = self.items[id] if known is None else known.item
            if value is not None:
                value = self.learner.check(item, value)
            guess = self.learner.guess([item])
            why = self._tabs.get(tab, ("", ""))
            answer = Answer(
                id, item, value, None if guess is None else guess[0][0], why[1] if why[0] == id else "",
                self.by, round(time.time(), 3),
            )  # fmt: skip
            self._append(answer.record(key))
            self._count(answer)
            for other in [name for name, (shown, _) in self._tabs.items() if shown == id]:
                self._release(other)
            self._set_open(id, False)  # also after a restart, when no tab has asked for it
            if known is not None and known.value is not None and known.value != value:
                self._stale = True
            if value is not None and (known is None or known.value != value):
                self._learn([self.answers.current[id]])

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
                self._stale = True
            before = self.answers.current.get(answer.id)
            self.items.setdefault(answer.id, answer.item)  # a colleague's, or of an earlier file
            self._show(tab, answer.id, answer.why if before is None else "review")
            (shown,) = self._questions([self._tabs[tab]])
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
                for name in getattr(self.learner, "names_in", lambda value: ())(answer.value):
                    self.add_name(name)
                value = self.learner.check(answer.item, answer.value)
                checked.append(Answer(**{**vars(answer), "value": value}))
            self.journal.extend([answer.record("") for answer in checked])
            for answer in checked:
                self.answers.apply(answer.record(""))
                self._count(answer)
                self._set_open(answer.id, False)
            self._learn(checked)
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

    def _learn(self, answers: Sequence[Answer]) -> None:
        if answers:
            self.learner.learn(answers)

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
        if answer is None and id not in self.items:
            raise DataError("there is no such question; go to the next one")
        return self.items[id] if answer is None else answer.item

    def stats(self) -> dict[str, Any]:
        """Figures for the page; `certain` is the share of open questions outside the margin."""
        with self.lock:
            given = self.answers.n_given
            ranked = self.open & (self._ranked >= 0)
            seen = int(ranked.sum())
            sure = int((ranked & (self._margin >= WITHIN)).sum())
            current = not (self.open & (self._ranked < len(self.answers.history))).any()
            shown = {id for id, _ in self._tabs.values() if id not in self.answers.current}
            return {
                "answered": given, "skipped": len(self.answers.current) - given,
                "open": int(self.open.sum()) + len(shown), "can_undo": bool(self.answers.history),
                "certain": sure / seen if seen else None, "enough": bool(seen and sure == seen and current),
                **self.progress.summary(),
            }  # fmt: skip

    # -- work between the answers ---------------------------------------------------------------

    def tidy(self) -> bool:
        """Do some background work, usually for a few milliseconds; return True if there is more.

        If answers were changed or taken back, a new model learns all current answers; otherwise, some open
        questions are ranked with the current model.
        """
        if self._stale:
            self.rebuild()
        with self.lock:
            self.learner.tidy()
            old = np.flatnonzero(self.open & (self._ranked < len(self.answers.history)))
            if not len(old):
                return False
            oldest = old[np.argsort(self._ranked[old], kind="stable")[:SLICE]]
            return self._rank(oldest) and len(old) > SLICE

    def rebuild(self) -> None:
        """Replace the model by one that has learned the current answers only.

        You can answer questions meanwhile; the new model learns these answers at the end.
        """
        with self._rebuilding:
            self._rebuild()

    def _rebuild(self) -> None:
        with self.lock:
            self._stale = False
            learner, given = self._first.fresh(), self.answers.given()
            for name in self.answers.names:
                learner.add_name(name)
        try:
            if given:
                learner.learn(given)
        except BaseException:
            self._stale = True
            raise
        with self.lock:
            known = {answer.id: answer for answer in given}
            new = [answer for answer in self.answers.given() if known.get(answer.id) is not answer]
            for name in self.answers.names:
                learner.add_name(name)
            if new:
                learner.learn(new)
            self.learner = learner
            self._ranked[:] = -1

    def save(self, path: str | Path) -> None:
        """Write a model that has learned the current answers."""
        with self._rebuilding:  # not the model that a rebuild is about to replace
            if self._stale:
                self._rebuild()
            with self.lock:
                self.learner.save(path)

    def close(self) -> None:
        """Close the journal."""
        self.journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Answered(DataError):
    """The question was answered in another tab."""
