"""Show the progress of training on stderr."""

from __future__ import annotations

import time
from shutil import get_terminal_size
from typing import Any

from structsvm.cli.errors import counted


def sentence_bar() -> Any:
    """A bar that counts sentences; tqdm alone shows nothing on a terminal that reports no size."""
    from tqdm import tqdm

    width, height = get_terminal_size()
    return tqdm(unit=" sentences", leave=False, ncols=width, nrows=height)


class Progress:
    """A callback for taggers that, if `shown`, shows sentences, the objectives and held-out scores."""

    def __init__(self, *, shown: bool) -> None:
        self.bar: Any = None
        self.scores: list[float] = []
        self.final: float | None = None  # the held-out score of the saved model, if it differs from `scores`
        self.rivals: dict[str, float] = {}  # settings that were compared, with their scores
        self.start = time.perf_counter()
        self.epoch = self.seen = 0
        self.primal = shown  # asks for the primal in the last point of each pass
        self.gap = ""
        self.progressive = ""  # the score of predictions made before learning, in the first pass
        if shown:
            self.bar = sentence_bar()

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
        if point.gap == point.gap:
            after = f"after pass {point.epoch + 1}"
            self.gap = f", primal {point.primal:.1f} and gap {point.gap:.1f} {after}"
        scores = f", dev {100 * self.scores[-1]:.2f}" if self.scores else ""
        turn = f", round {point.round}" if point.round else ""
        told = f"pass {point.epoch + 1}{turn}, dual {point.dual:.1f}{self.gap}{self.progressive}{scores}"
        self.bar.set_postfix_str(told)

    def layer(self, name: str) -> None:
        """Begin a layer of a pipeline."""
        self.epoch = self.seen = 0
        self.gap = self.progressive = ""
        self.scores = []
        if self.bar is not None:
            self.bar.set_postfix_str("", refresh=False)
            self.bar.set_description_str(name, refresh=False)
            self.bar.reset()

    def scored(self, value: float) -> None:
        """Remember the score of a pass."""
        self.scores.append(value)

    def saved(self, value: float) -> None:
        """Remember the score of the model that was saved, with its bias and its rounded weights."""
        self.final = value

    def compared(self, settings: str, score: float) -> None:
        """Remember the best score of one of several taggers."""
        self.rivals[settings] = score

    def summary(self, tagger: Any, output: str, *, fit_bias: bool = False, calibrate: bool = False) -> str:
        """Describe the trained model in one line, with what --fit-bias and --calibrate have found."""
        report = tagger.model_.report
        parts = [
            f"{output}: {counted(report['sentences'], 'sentence')}, {counted(report['tokens'], 'token')}, "
            f"{counted(len(tagger.model_.names), 'label')}, {counted(report['features'], 'feature')}, "
            f"{counted(report['epochs'], 'pass')}"
        ]
        if tagger.C is None and "C" in tagger.model_.parameters:
            parts.append(f"C {tagger.model_.parameters['C']:g} (for these features)")
        if report["dual"] is not None:
            parts.append(f"dual {report['dual']:.2f}")
        if "gap" in report:
            parts.append(f"gap {report['gap']:.2f}")
        if "dev_score" in report:
            best = max(report["dev_scores"])
            name = report["dev_score"]
            after = report["dev_scores"].index(best) + 1
            if self.final is None:
                parts.append(f"best dev {name} {100 * best:.2f} after pass {after}")
            else:
                was = "without the bias " if tagger.bias_ or fit_bias else "before rounding "
                was += f"{100 * best:.2f} after pass {after}"
                parts.append(f"dev {name} of the saved model {100 * self.final:.2f} ({was})")
            if len(self.rivals) > 1:
                told = "; ".join(f"{settings} {100 * score:.2f}" for settings, score in self.rivals.items())
                parts.append(f"the best of ({told})")
        if fit_bias or tagger.bias_:
            parts.append(f"bias of O {tagger.model_.bias.get('O', 0.0):g}")
        if calibrate:
            parts.append(f"temperature of probabilities {tagger.model_.temperature:.2f}")
        return f"{', '.join(parts)}, {self.seconds:.2f} s"

    @property
    def seconds(self) -> float:
        """The time since the start."""
        return time.perf_counter() - self.start

    def close(self) -> None:
        """Remove the bar."""
        if self.bar is not None:
            self.bar.close()
