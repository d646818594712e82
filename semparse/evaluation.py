"""Evaluate a parser: precision, recall and F1 of its parses and matches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from corpora.bags import Bag
from semparse.meaning import as_mr

Progress = Callable[[int, int], Any]  # how many are done, of how many


@dataclass(frozen=True)
class Score:
    """Counts with precision, recall and F1; a meaning counts only if it is completely right.

    The counts include only sentences that mean something. `nothing` is the number of other sentences, and
    `spurious` the number of meanings that were found in them; `overall` counts these as wrong answers.
    """

    correct: int
    answered: int
    gold: int
    nothing: int = 0
    spurious: int = 0

    @property
    def overall(self) -> Score:
        """The score over all sentences, also those that mean nothing."""
        return Score(self.correct, self.answered + self.spurious, self.gold)

    @property
    def precision(self) -> float:
        return self.correct / self.answered if self.answered else 0.0

    @property
    def recall(self) -> float:
        return self.correct / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        return 2 * self.correct / (self.answered + self.gold) if self.answered + self.gold else 0.0

    def __str__(self) -> str:
        return f"precision {self.precision:.3f}, recall {self.recall:.3f}, F1 {self.f1:.3f}"


def score_parses(parser: Any, bags: Iterable[Bag]) -> Score:
    """Parse every sentence whose meanings are known, also if it has none; count correct, predicted and gold
    meanings.
    """
    correct = answered = meant = nothing = spurious = 0
    for bag in bags:
        if bag.gold is None:
            continue
        gold = {as_mr(mr) for mr in bag.gold}
        found = {parse.mr for parse in parser.parse(bag.sentence)}
        if gold:
            correct += len(gold & found)
            answered += len(found)
            meant += len(gold)
        else:
            nothing += 1
            spurious += len(found)
    return Score(correct, answered, meant, nothing, spurious)


def seen(bags: Sequence[Bag], progress: Progress | None) -> Iterator[Bag]:
    """Yield the bags and report to `progress` how many there have been."""
    for done, bag in enumerate(bags, 1):
        yield bag
        if progress is not None:
            progress(done, len(bags))


def matches(
    parser: Any, bags: Sequence[Bag], parts: int | None, progress: Progress | None = None
) -> list[Any]:
    """The candidate that each sentence means, or None; parts: see `Ospas.match_apart` (without progress)."""
    if parts is None:
        return [parser.match(bag.sentence, bag.candidates) for bag in seen(bags, progress)]
    sentences, candidates = [bag.sentence for bag in bags], [bag.candidates for bag in bags]
    return list(parser.match_apart(sentences, candidates, parts=parts))


def score_matches(
    parser: Any,
    bags: Iterable[Bag],
    n_gold: int | None = None,
    *,
    parts: int | None = None,
    progress: Progress | None = None,
) -> Score:
    """Match every sentence with its candidates; `n_gold` also counts the meanings of sentences without a bag.

    parts: by parsers that learn from the other sentences, see `Ospas.match_apart`.
    """
    known = [bag for bag in bags if bag.gold is not None]  # unlike (), which says that no candidate is meant
    matched = [bag for bag in known if bag.candidates]
    picks = matches(parser, matched, parts, progress)
    gold = [{as_mr(mr) for mr in bag.gold or ()} for bag in matched]
    correct = sum(pick in meant for pick, meant in zip(picks, gold, strict=True))
    answered = sum(pick is not None for pick in picks)
    wanted = sum(len({as_mr(mr) for mr in bag.gold or ()}) for bag in known)
    return Score(correct, answered, wanted if n_gold is None else n_gold)
