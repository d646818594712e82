"""How much of a score, or of the difference of two scores, is chance: bootstrap and randomization.

A test set is a sample of sentences; another sample would give another score. The bootstrap draws new samples
from the sentences of the test set. The randomization test swaps the answers of two models in random
sentences: if that often gives differences as large as the real one, the difference may be chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from taggers.conlleval import flat, phrases

SAMPLES = 1000
LEVEL = 95  # per cent of the samples that an interval holds
BLOCK = 1 << 22  # cells of the random matrices that are in memory at once


@dataclass(frozen=True)
class Interval:
    """A score with the range that holds `LEVEL` per cent of its bootstrap samples."""

    score: float
    low: float
    high: float
    samples: int
    sentences: int


@dataclass(frozen=True)
class Comparison:
    """Two scores, their difference (second minus first), and how likely chance alone gives it.

    p: the share of random swaps with a difference at least as large.
    """

    measure: str
    first: Interval
    second: Interval
    difference: Interval
    p: float

    @property
    def beyond_chance(self) -> bool:
        """Whether the interval of the difference excludes 0 and p is below 5 per cent."""
        return self.p < 0.05 and (self.difference.low > 0 or self.difference.high < 0)


def sentence_counts(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], *, spans: bool
) -> np.ndarray:
    """For each sentence: the gold, found and correct phrases, or twice the tokens and the correct tokens.

    Both have a score of 2 * correct / (gold + found), which is the F1 or the accuracy.
    """
    counts = np.zeros((len(gold), 3), np.int64)
    if not spans:
        for number, (labels, others) in enumerate(zip(gold, predicted, strict=True)):
            right = sum(a == b for a, b in zip(labels, others, strict=True))
            counts[number] = len(labels), len(labels), right
        return counts
    starts = np.array([0, *accumulate(len(labels) + 1 for labels in gold)], np.int64)
    groups = [set(phrases(flat(rows))) for rows in (gold, predicted)]
    for column, found in enumerate((*groups, groups[0] & groups[1])):
        places = np.array([start for _, start, _ in found], np.int64)
        counts[:, column] = np.bincount(
            np.searchsorted(starts, places, "right") - 1, minlength=len(gold)
        )[: len(gold)]  # fmt: skip
    return counts


def interval(counts: np.ndarray, *, samples: int = SAMPLES, random_state: int = 0) -> Interval:
    """The score of a test set and its bootstrap interval, from `sentence_counts`."""
    weights = _samples(len(counts), samples, random_state)
    drawn = np.concatenate([share_of(part @ counts) for part in weights])
    return _interval(float(share_of(counts.sum(axis=0))), drawn, len(counts))


def compare(
    first: np.ndarray,
    second: np.ndarray,
    *,
    measure: str = "F1",
    samples: int = SAMPLES,
    random_state: int = 0,
) -> Comparison:
    """Compare two models by their `sentence_counts` on the same sentences."""
    if len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} sentences cannot be compared; use one test set")
    pairs = [
        (share_of(weights @ first), share_of(weights @ second))
        for weights in _samples(len(first), samples, random_state)
    ]
    drawn = [np.concatenate(scores) for scores in zip(*pairs, strict=True)]
    real = [float(share_of(counts.sum(axis=0))) for counts in (first, second)]
    change = second - first
    as_large = 0
    rng = np.random.default_rng(random_state + 1)
    for size in _sizes(len(first), samples):
        moved = rng.integers(0, 2, (size, len(first)), np.int8).astype(np.float64) @ change
        swapped = share_of(second.sum(axis=0) - moved) - share_of(first.sum(axis=0) + moved)
        as_large += int((np.abs(swapped) >= abs(real[1] - real[0]) - 1e-12).sum())
    n = len(first)
    return Comparison(
        measure, _interval(real[0], drawn[0], n), _interval(real[1], drawn[1], n),
        _interval(real[1] - real[0], drawn[1] - drawn[0], n), (as_large + 1) / (samples + 1),
    )  # fmt: skip


def better(first: np.ndarray, second: np.ndarray, *, errors: float = 1.0, samples: int = 200) -> bool:
    """Whether the second score is higher by more than some bootstrap standard errors of the difference.

    first, second: as for `compare`.
    """
    gain = float(share_of(second.sum(axis=0)) - share_of(first.sum(axis=0)))
    if gain <= 0:
        return False
    drawn = [
        share_of(weights @ second) - share_of(weights @ first) for weights in _samples(len(first), samples, 0)
    ]
    return gain > errors * float(np.concatenate(drawn).std())


def _samples(n: int, samples: int, random_state: int) -> Iterator[np.ndarray]:
    """How often each of n sentences is in each sample, for some samples at a time."""
    rng = np.random.default_rng(random_state)
    for size in _sizes(n, samples):
        drawn = rng.integers(0, max(n, 1), (size, n))
        drawn += np.arange(size)[:, None] * n
        yield np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(np.float64)


def _sizes(n: int, samples: int) -> list[int]:
    step = max(1, BLOCK // max(n, 1))
    return [min(step, samples - at) for at in range(0, samples, step)]


def share_of(counts: np.ndarray) -> np.ndarray:
    """The score of counts, or of each row of counts, of `sentence_counts`."""
    total = counts[..., 0] + counts[..., 1]
    return np.asarray(2 * counts[..., 2] / np.maximum(total, 1))


def _interval(score: float, drawn: np.ndarray, sentences: int) -> Interval:
    tail = (100 - LEVEL) / 2
    low, high = np.percentile(drawn, [tail, 100 - tail]).tolist()
    return Interval(score, low, high, len(drawn), sentences)
