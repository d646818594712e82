"""Evidence about a sentence: candidates, how likely each is, and meanings that the sentence does not have."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from semparse.meaning import MR
from structsvm.validation import check_number

MOST_WEIGHT = 1e6


class Candidates(list[MR]):
    """The distinct candidates of a sentence, without those that are known to be wrong.

    weights: a number of at least 0 for each, such as the score of another parser. Only their ratios count;
    those of the same meaning add up, and a meaning of weight 0 is left out.
    """

    def __init__(
        self, mrs: Iterable[MR], weights: Sequence[float] | None = None, wrong: Iterable[MR] = ()
    ) -> None:
        mrs, bad = list(mrs), dict.fromkeys(wrong)
        self.wrong = tuple(bad)
        total: dict[MR, float] = {}
        for mr, weight in zip(mrs, [1.0] * len(mrs) if weights is None else weights, strict=True):
            total[mr] = total.get(mr, 0.0) + weight
        super().__init__(mr for mr, weight in total.items() if weight > 0 and mr not in bad)
        most = max((total[mr] for mr in self), default=1.0)
        self.logs = {} if weights is None else {mr: math.log(total[mr]) - math.log(most) for mr in self}

    @property
    def only_wrong(self) -> bool:
        """Whether all that is known is what the sentence does not mean."""
        return not self and bool(self.wrong)

    def weight(self, mr: MR) -> float:
        """The weight of a candidate, relative to the largest."""
        return math.exp(self.logs.get(mr, 0.0))

    def log_weights(self, alternatives: Iterable[Sequence[MR]]) -> np.ndarray:
        """For each alternative, several meanings or none, the sum of their log weights."""
        return np.array([sum(self.logs.get(mr, 0.0) for mr in some) for some in alternatives], float)


def check_weights(weights: Sequence[float], n: int, what: str) -> list[float]:
    """Raise ValueError unless there is a weight for each of n candidates, and one is above 0."""
    if isinstance(weights, str) or not isinstance(weights, Sequence | np.ndarray) or len(weights) != n:
        raise ValueError(f"{what} has {n} candidates; weights must be a list of {n} numbers")
    for weight in weights:
        check_number(weights=weight, low=0, high=MOST_WEIGHT)
    if n and not any(weights):
        raise ValueError(f"all weights of {what} are 0; leave out its candidates")
    return [float(weight) for weight in weights]
