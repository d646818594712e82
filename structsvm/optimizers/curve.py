"""The training curve of an optimizer: a `Point` several times in each epoch."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

MOST_POINTS = 10_000  # of a whole curve; beyond that, every second point is dropped


class Point(NamedTuple):
    """A point of a training curve.

    primal: nan if it was not computed. If a callback's attribute `primal` is true, it is computed at the
    end of every epoch; this takes one argmax for each pattern.

    looks: the number of predictions that this pass made before it learned from them, the sum of their losses,
    and other counts of the problem. It is filled only in the first pass over new data.
    """

    seconds: float
    epoch: int
    seen: int
    dual: float
    primal: float
    n_support_patterns: int
    n_support_vectors: int
    n_argmax: int
    looks: tuple[float, ...] = ()

    @property
    def progressive(self) -> float:
        """The mean loss of the predictions that this pass made before learning; nan if there are none.

        PROCESSNEW predicts before it learns, so in the first pass over new data this is an honest estimate
        that needs no held-out data. For sequences it is the share of wrong tokens.
        """
        return self.looks[1] / self.looks[0] if self.looks and self.looks[0] else np.nan


Callback = Callable[[Point], object]
