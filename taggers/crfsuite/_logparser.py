"""Read the messages of a training: the iterations, their losses and their scores on held-out data."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

NUMBERS = {
    "loss": (r"Loss: (\S+)", float),
    "feature_norm": (r"Feature norm: (\S+)", float),
    "error_norm": (r"Error norm: (\S+)", float),
    "active_features": (r"Active features: (\d+)", int),
    "linesearch_trials": (r"Line search trials: (\d+)", int),
    "linesearch_step": (r"Line search step: (\S+)", float),
    "time": (r"Seconds required for this iteration: (\S+)", float),
}
LABEL = re.compile(r" {4}(.+): \((\d+), (\d+), (\d+)\) \((\S+), (\S+), (\S+)\)")
AVERAGE = re.compile(r"Macro-average precision, recall, F1: \((\S+), (\S+), (\S+)\)")
ACCURACY = re.compile(r"(Item|Instance) accuracy: (\d+) / (\d+)")


class LabelScore(NamedTuple):
    """The counts and scores of a label; the scores are None without counts."""

    match: int
    model: int
    ref: int
    precision: float | None
    recall: float | None
    f1: float | None


class TrainLogParser:
    """Collects what the messages say.

    `feed` returns the name of what has just ended: start, featgen_end, prepared, iteration, optimization_end
    or end; `last_log` is the text of this part.
    """

    def __init__(self) -> None:
        self.log: list[str] = []
        self.events: list[tuple[str, int, int]] = []  # the name, and the part of the log
        self.iterations: list[dict[str, Any]] = []
        self.last_iteration: dict[str, Any] | None = None
        self.featgen_num_features: int | None = None
        self.featgen_percent = -2
        self.featgen_seconds: float | None = None
        self.training_seconds: float | None = None
        self.storing_seconds: float | None = None
        self._inside = False  # an iteration

    @property
    def last_log(self) -> str:
        """The messages of the part that ended last."""
        _, start, end = self.events[-1]
        return "".join(self.log[start:end])

    def feed(self, line: str) -> str | None:
        """Read a message; return the name of the part that it ends, if any."""
        self.log.append(line)
        event, end = self._read(line)
        if event is not None:
            self.events.append((event, self.events[-1][2] if self.events else 0, len(self.log) - end))
        return event

    def _read(self, line: str) -> tuple[str | None, int]:
        """The part that a line ends, and how many of the last lines belong to the next part."""
        if len(self.log) == 1:
            return "start", 0
        if line.startswith("Number of features:"):
            self.featgen_num_features = int(line.split()[-1])
        elif match := re.match(r"\*+ (?:Iteration|Epoch) #(\d+)", line):
            self.last_iteration = {"num": int(match[1]), "scores": {}}
            self.iterations.append(self.last_iteration)
            self._inside = True
            return ("prepared", 1) if len(self.iterations) == 1 else (None, 0)
        elif line == "\n" and self._inside:
            self._inside = False
            return "iteration", 0
        elif line.startswith("Total seconds"):
            self.training_seconds = float(line.split()[-1])
            return "optimization_end", 0
        elif line.startswith("Seconds required:"):
            seconds = float(line.split()[-1])
            if self.featgen_seconds is None:
                self.featgen_seconds = seconds
                return "featgen_end", 0
            self.storing_seconds = seconds
            return "end", 0
        elif self._inside and self.last_iteration is not None:
            self._read_iteration(line, self.last_iteration)
        return None, 0

    def _read_iteration(self, line: str, found: dict[str, Any]) -> None:
        for name, (pattern, kind) in NUMBERS.items():
            if match := re.match(pattern, line):
                found[name] = kind(match[1])
        if match := LABEL.match(line):
            scores = [None if "*" in text else float(text) for text in match.groups()[4:]]
            found["scores"][match[1]] = LabelScore(*map(int, match.groups()[1:4]), *scores)
        if match := AVERAGE.match(line):
            found |= zip(("avg_precision", "avg_recall", "avg_f1"), map(float, match.groups()), strict=True)
        if match := ACCURACY.match(line):
            right, total = int(match[2]), int(match[3])
            found[f"{match[1].lower()}_accuracy_float"] = right / total if total else 0.0
