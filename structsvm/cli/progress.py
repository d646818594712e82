"""Show the progress of training on stderr."""

from __future__ import annotations

import time
from typing import Any

from structsvm.cli.errors import counted


class Progress:
    """A callback for taggers that shows sentences, the dual and scores on held-out data, if `shown`."""

    def __init__(self, *, shown: bool) -> None:
        self.bar: Any = None
        self.scores: list[float] = []
        self.start = time.perf_counter()
        self.epoch = self.seen = 0
        self.progressive = ""  # the score of predictions made before learning, in the first pass
        if shown:
            from tqdm import tqdm

            self.bar = tqdm(unit=" sentences", leave=False)

    def __call__(self, point: Any) -> None:
        if self.bar is None:
            return
        if point.epoch != self.epoch:
            self.seen = 0
        self.epoch = point.epoch
        self.bar.update(max(0, point.sentences - self.seen))
        self.seen = point.sentences
        if point.accuracy == point.accuracy:
            score, name = (point.f1, "F1") if point.f1 == point.f1 else (point.accuracy, "accuracy")
            self.progressive = f", progressive {name} {100 * score:.2f}"
        scores = f", dev {100 * self.scores[-1]:.2f}" if self.scores else ""
        told = f"pass {point.epoch + 1}, dual {point.dual:.1f}{self.progressive}{scores}"
        self.bar.set_postfix_str(told)

    def scored(self, value: float) -> None:
        """Remember the score of a pass."""
        self.scores.append(value)

    def summary(self, tagger: Any, output: str) -> str:
        """Describe the trained model in one line."""
        report = tagger.model_.report
        parts = [
            f"{output}: {counted(report['sentences'], 'sentence')}, {counted(report['tokens'], 'token')}, "
            f"{counted(len(tagger.classes_), 'label')}, {counted(report['features'], 'feature')}, "
            f"{counted(report['epochs'], 'pass')}"
        ]
        if report["dual"] is not None:
            parts.append(f"dual {report['dual']:.2f}")
        if "gap" in report:
            parts.append(f"gap {report['gap']:.2f}")
        if report["dev_scores"]:
            best = max(report["dev_scores"])
            name = report["dev_score"]
            after = report["dev_scores"].index(best) + 1
            parts.append(f"best dev {name} {100 * best:.2f} after pass {after}")
        return f"{', '.join(parts)}, {self.seconds:.2f} s"

    @property
    def seconds(self) -> float:
        """The time since the start."""
        return time.perf_counter() - self.start

    def close(self) -> None:
        """Remove the bar."""
        if self.bar is not None:
            self.bar.close()
