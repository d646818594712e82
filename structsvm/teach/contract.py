"""`Learner`: the interface between a session of teaching and the model that it teaches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np

from structsvm.teach.answers import Answer


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

    def names_in(self, value: Any) -> list[str]:
        """The labels of an answer."""

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
