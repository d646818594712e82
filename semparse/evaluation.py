"""How good a parser is: whole meanings right, candidates matched, and words given their symbols."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from corpora.bags import Bag
from semparse.meaning import MR, as_mr
from semparse.ospas import Ospas


@dataclass(frozen=True)
class Scores:
    """Right answers among those given and those wanted."""

    correct: int
    answered: int
    wanted: int

    @property
    def precision(self) -> float:
        return self.correct / self.answered if self.answered else 0.0

    @property
    def recall(self) -> float:
        return self.correct / self.wanted if self.wanted else 0.0

    @property
    def f1(self) -> float:
        total = self.answered + self.wanted
        return 2 * self.correct / total if total else 0.0

    def to_json(self) -> dict[str, Any]:
        return {**self.__dict__, "precision": self.precision, "recall": self.recall, "f1": self.f1}


def compare(answers: Iterable[Sequence[MR]], gold: Iterable[Sequence[MR]]) -> Scores:
    """Meanings against the right ones, sentence by sentence; nested ones count as a whole."""
    correct = answered = wanted = 0
    for given, right in zip(answers, gold, strict=True):
        correct += len(set(given) & set(right))
        answered += len(set(given))
        wanted += len(set(right))
    return Scores(correct, answered, wanted)


def parsing_scores(
    parser: Ospas, bags: Sequence[Bag], progress: Callable[[int, int], Any] | None = None
) -> Scores:
    """Parse the sentences that mean something, as `gold` says; the others are left out."""
    meant = [bag for bag in bags if bag.gold]
    answers = []
    for done, bag in enumerate(meant, 1):
        answers.append([parse.mr for parse in parser.parse(bag.sentence)])
        if progress is not None:
            progress(done, len(meant))
    return compare(answers, [[as_mr(mr) for mr in bag.gold or ()] for bag in meant])


def matching_scores(parser: Ospas, bags: Sequence[Bag]) -> Scores:
    """Match the sentences that have candidates, and compare with the right meanings of all."""
    known = [bag for bag in bags if bag.gold is not None]
    picks = [parser.match(bag.sentence, bag.candidates) if bag.candidates else None for bag in known]
    gold = [[as_mr(mr) for mr in bag.gold or ()] for bag in known]
    return compare([[] if pick is None else [pick] for pick in picks], gold)
