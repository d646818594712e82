"""Measure the progress of a session: the speed of answering, and the score of the guesses."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

PAUSE = 120.0  # a longer gap between two answers is a pause
RECENT = 20  # answers that the speed is computed from
WINDOW = 50  # answers that a point of the curve is computed from
POINTS = 120  # of the curve, at most


Counts = tuple[int, int, int]  # the decisions that are right, guessed and wanted


class Step(NamedTuple):
    """One answer, and whether its question was drawn at random."""

    time: float
    random: bool
    counts: Counts | None


class Progress:
    """The progressive score: the model answers each question before it learns the right answer.

    It is the F1 of the decisions. If these are entities, it is the entity F1; if they are tokens, the
    accuracy.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._scored: list[int] = []  # the numbers of the answers with counts, from 1
        self._sums: list[Counts] = [(0, 0, 0)]  # of the counts up to each of these
        self._random: list[Counts] = []  # the counts of the random ones

    def add(self, time: float, why: str, counts: Counts | None) -> None:
        """Add an answer; an answer without counts does not change the score."""
        self.steps.append(Step(time, why == "random", counts))
        if counts is not None:
            (a, b, c), (right, guessed, wanted) = self._sums[-1], counts
            self._scored.append(len(self.steps))
            self._sums.append((a + right, b + guessed, c + wanted))
            if why == "random":
                self._random.append(counts)

    def undo(self) -> None:
        """Remove the last answer."""
        step = self.steps.pop()
        if step.counts is not None:
            self._scored.pop()
            self._sums.pop()
            if step.random:
                self._random.pop()

    def summary(self) -> dict[str, Any]:
        """Answers per minute, the curve of the score, and its estimate from random questions."""
        return {"per_minute": self.per_minute(), "curve": self.curve(), "estimate": self.estimate()}

    def per_minute(self) -> float | None:
        """The speed of the last answers, without pauses."""
        times = np.array([step.time for step in self.steps[-RECENT - 1 :]])
        gaps = np.diff(times)
        gaps = gaps[(gaps >= 0) & (gaps < PAUSE)]
        return None if not len(gaps) else round(60 / max(float(gaps.mean()), 0.05), 1)

    def curve(self) -> list[tuple[int, float]]:
        """(answers, score of the last WINDOW of them), at most POINTS points."""
        n = len(self._scored)
        if not n:
            return []
        points = []
        for end in np.unique(np.linspace(1, n, min(POINTS, n)).round().astype(int)).tolist():
            pairs = zip(self._sums[end], self._sums[max(0, end - WINDOW)], strict=True)
            right, guessed, wanted = (now - before for now, before in pairs)
            if guessed + wanted:
                points.append((self._scored[end - 1], round(2 * right / (guessed + wanted), 4)))
        return points

    def estimate(self) -> dict[str, float] | None:
        """The score of the last WINDOW random questions, with a 95% interval (Wilson's)."""
        counts = self._random[-WINDOW:]
        right, guessed, wanted = np.sum([(0, 0, 0), *counts], axis=0).tolist()
        n = (guessed + wanted) / 2
        if not n:
            return None
        p, z = right / n, 1.96
        middle = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
        return {
            "score": round(p, 4), "low": round(max(middle - half, 0), 4),
            "high": round(min(middle + half, 1), 4), "questions": len(counts),
        }  # fmt: skip
