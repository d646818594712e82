"""The questions on the screens of browser tabs."""

from __future__ import annotations

from collections import OrderedDict

from structsvm.teach.answers import Answers
from structsvm.teach.questions import Question, Questions

MOST_TABS = 64


class Tabs:
    """The question of each tab, the tab that was used last at the end.

    A question on a screen is not open. If the tab leaves it without an answer, it is open again.
    """

    def __init__(self, questions: Questions, answers: Answers) -> None:
        self._questions, self._answers = questions, answers
        self._shown: OrderedDict[str, Question] = OrderedDict()

    def question(self, tab: str) -> Question | None:
        """The question of a tab, if it still needs an answer."""
        shown = self._shown.get(tab)
        return shown if shown and (shown.why == "review" or self._is_unanswered(shown.id)) else None

    def _is_unanswered(self, id: str) -> bool:
        return id not in self._answers.current

    def why(self, tab: str, id: str) -> str:
        """Why a tab shows a question; empty if it does not."""
        shown = self._shown.get(tab)
        return shown.why if shown and shown.id == id else ""

    def any(self) -> Question | None:
        """The question of the tab that was not used for the longest time."""
        return next(iter(self._shown.values()), None)

    def unanswered(self) -> set[str]:
        """The ids of the questions on screens that have no answer."""
        return {shown.id for shown in self._shown.values() if self._is_unanswered(shown.id)}

    def show(self, tab: str, question: Question) -> None:
        """Show a question in a tab."""
        self.release(tab)
        if len(self._shown) >= MOST_TABS:
            self.release(next(iter(self._shown)))
        self._shown[tab] = question
        self._questions.set_open(question.id, False)
        self._questions.skip(question.id)

    def use(self, tab: str) -> Question:
        """The question of a tab, which counts as used last from now on."""
        self._shown.move_to_end(tab)
        return self._shown[tab]

    def release(self, tab: str) -> None:
        """Remove the question from a tab."""
        if tab in self._shown:
            id = self._shown.pop(tab).id
            elsewhere = any(shown.id == id for shown in self._shown.values())
            self._questions.set_open(id, self._is_unanswered(id) and not elsewhere)

    def release_answered(self, id: str) -> None:
        """Remove a question that has an answer now from all tabs."""
        for tab in [tab for tab, shown in self._shown.items() if shown.id == id]:
            self.release(tab)
        self._questions.set_open(id, False)  # also after a restart, when no tab has asked for it
