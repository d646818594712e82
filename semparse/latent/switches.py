"""Options that training estimates: the odds of meaning nothing, and how much an answer must lead.

A part of the training data is held out, the last in the order of the data. For the odds of meaning nothing,
an alignment of the other sentences is as good as the held-out ones are likely. These odds are small if words
that seem to mean nothing come with one relation. For the threshold, a parser
learns from the other sentences and answers the held-out ones. An answer counts as right if it is among the
candidates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from semparse.latent.alignment import NULL, Alignment, Symbols
from semparse.meaning import MR

HELD, LEAST_HELD = 0.25, 200  # share of the sentences; their number, unless that is half of the sentences
LEAST = 40  # sentences; fewer keep the usual values
NOTHING = (0.4, 1.0, 2.0)
THRESHOLDS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
OFTEN, SOMETIMES, ALMOST_ALL, FAR = 5, 0.25, 0.7, 3.0  # sentences, shares, and standard deviations
RARE_NOTHING = 0.1  # if words that seem to mean nothing come with a relation
Answers = Callable[[list[str]], list[tuple[float, MR]]]  # of a sentence: leads and meanings


def first_held(n: int) -> int:
    """The place of the first of n sentences that is held out."""
    return n - max(int(HELD * n), min(LEAST_HELD, n // 2))


def best_nothing(
    X: Sequence[list[str]], bags: Sequence[list[Symbols]], iterations: int, usual: float
) -> float:
    """The least odds of meaning nothing that make held-out sentences likeliest."""
    if len(X) < LEAST:
        return usual
    at = first_held(len(X))

    def likelihood(nothing: float) -> float:
        alignment = Alignment()
        alignment.fit(X[:at], bags[:at], iterations, nothing)
        return alignment.log_likelihood(X[at:], bags[at:])

    return max(NOTHING, key=likelihood)


def passes_over(
    X: Sequence[list[str]], bags: Sequence[list[Symbols]], shares: Callable[[str], dict[str, float]]
) -> bool:
    """Whether a word that often means nothing comes with one relation: then that relation is meant.

    Sentences that mean nothing come with any relation, as often as others do.
    """
    heads = [{meant[0] for meant in bag if meant != [NULL]} for bag in bags]
    among = Counter(head for its in heads for head in its)
    places: dict[str, list[int]] = {}
    for place, x in enumerate(X):
        for word in set(x):
            places.setdefault(word, []).append(place)
    for word, its in places.items():
        if len(its) < OFTEN or shares(word).get(NULL, 0.0) < SOMETIMES:
            continue
        found = Counter(head for place in its for head in heads[place])
        head, n = max(found.items(), key=lambda pair: pair[::-1], default=("", 0))
        base = among[head] / len(X)
        if n >= ALMOST_ALL * len(its) and n > len(its) * base + FAR * (len(its) * base * (1 - base)) ** 0.5:
            return True
    return False


def best_threshold(answers: Answers, X: Sequence[list[str]], bags: Sequence[list[MR]]) -> float:
    """The smallest threshold with the best F1 of answers to held-out sentences.

    The number of sentences that mean something is taken to be the number of answers.
    """
    found = [
        (lead, mr in bag) for x, bag in zip(X, bags, strict=True) for lead, mr in answers(x)
    ]  # fmt: skip

    def f1(threshold: float) -> float:
        kept = [right for lead, right in found if lead >= threshold]
        return 2 * sum(kept) / max(len(kept) + len(found), 1)

    return max(THRESHOLDS, key=f1)
