"""How far sources agree with each other, token by token."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping
from itertools import combinations
from typing import NamedTuple

import numpy as np

from structsvm.teach.answers import cohen_kappa, kappa_by_type
from taggers.labels.schemes import OUTSIDE, split
from taggers.weak.sources import Votes

FEW = 20  # tokens about which a source and others speak, at least, before it is called wrong
SELDOM = 0.1  # the share of them on which some other source agrees


class Agreed(NamedTuple):
    """Two sources on the tokens that both label.

    tokens: their number. observed: the share of equal labels. kappa: Cohen's kappa of the labels. types: of
    each type of phrase, or label, against all others.
    """

    one: str
    two: str
    tokens: int
    observed: float
    kappa: float
    types: dict[str, float]


def agreements(votes: Mapping[str, Votes]) -> list[Agreed]:
    """Each pair of sources that label some tokens in common; sets of labels do not count."""
    names, codes = _codes(votes)
    found = []
    for one, two in combinations(codes, 2):
        a, b = codes[one], codes[two]
        both = (a >= 0) & (b >= 0)
        if both.any():
            pairs, counts = np.unique(a[both] * len(names) + b[both], return_counts=True)
            table = Counter({
                (names[pair // len(names)], names[pair % len(names)]): count
                for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True)
            })  # fmt: skip
            types = kappa_by_type(table, lambda label: split(label)[1] or label)
            types.pop(OUTSIDE, None)
            found.append(Agreed(one, two, table.total(), *cohen_kappa(table), types))
    return found


def warn_of_contradictions(votes: Mapping[str, Votes], *, phrases: bool) -> None:
    """Warn of sources whose labels hardly any other source shares where both label a phrase or token."""
    names, codes = _codes(votes)
    if phrases and OUTSIDE in names:
        codes = {name: np.where(row == names.index(OUTSIDE), -1, row) for name, row in codes.items()}
    wrong, example = [], ""
    for name, own in codes.items():
        others = np.array([row for other, row in codes.items() if other != name]).reshape(-1, len(own))
        touched = np.flatnonzero((own >= 0) & (others >= 0).any(axis=0))
        same = (others[:, touched] == own[touched]).any(axis=0)
        if len(touched) >= FEW and same.mean() < SELDOM:
            at = touched[~same][0]
            wrong.append(f"{name} (on {1 - same.mean():.0%} of {len(touched)} tokens)")
            example = f"the labels {names[own[at]]} and {names[others[:, at].max()]}"
    if wrong:
        what = f"these sources contradict all others that label the same tokens: {', '.join(wrong)}"
        warnings.warn(f"{what}; one token has {example}; check their types", stacklevel=3)


def _codes(votes: Mapping[str, Votes]) -> tuple[list[str], dict[str, np.ndarray]]:
    """The labels, and for each source the position of the label of each token; -1 for none and for sets."""
    flat = {name: [one for row in rows for one in row] for name, rows in votes.items()}
    names = sorted({one for row in flat.values() for one in row if isinstance(one, str)})
    number = {name: k for k, name in enumerate(names)}
    return names, {
        name: np.array([number[one] if isinstance(one, str) else -1 for one in row], np.int64)
        for name, row in flat.items()
    }
