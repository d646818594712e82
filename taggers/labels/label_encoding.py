"""Gold labels as numbers: whole, missing (None), or one of several (a set), in the scheme that is learned."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, product
from typing import Any

import numpy as np

from taggers.labels import schemes
from taggers.labels._labels import Labels

OUTSIDE = schemes.OUTSIDE


def outer_scheme(y: Sequence[Sequence[Any]]) -> str:
    """The scheme that the complete sentences of y are written in; IOB2 where they have no phrase as yet."""
    whole = [labels for labels in y if all(isinstance(label, str) for label in labels)]
    return "IOB2" if set(chain.from_iterable(whole)) == {OUTSIDE} else schemes.detect(whole)


def encode_gold(
    y: Sequence[Sequence[Any]], labels: Labels, outer: str = "none", inner: str = "none"
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Codes and sets as `structsvm.problems.SequenceLabels` has them; new labels are added to `labels`."""
    if all(isinstance(label, str) for label in _distinct(y)):
        plain = y if outer == inner == "none" else [schemes.convert(names, outer, inner) for names in y]
        return labels.encode(plain, grow=True), []
    several: dict[tuple[str, ...], int] = {}
    parts = []
    everything: list[str] | None = None
    for number, sentence in enumerate(y):
        if all(isinstance(label, str) for label in sentence):
            parts.append(labels.encode([schemes.convert(sentence, outer, inner)], grow=True))
            continue
        if everything is None:
            everything = sorted({name for tokens in y for token in tokens for name in choices(token, ())})
        allowed = _inner_choices(sentence, everything, outer, inner, number)
        parts.append(np.array([_code(names, labels, several) for names in allowed], np.int32))
    sets = []
    for names in several:
        sets.append(np.zeros(len(labels), bool))
        sets[-1][labels.encode([names])] = True
    return np.concatenate([np.zeros(0, np.int32), *parts]), sets


def _distinct(y: Sequence[Sequence[Any]]) -> set[Any]:
    """The different labels of y; {None} where some are sets, which cannot be hashed."""
    try:
        return set(chain.from_iterable(y))
    except TypeError:
        return {None}


def choices(label: Any, everything: Sequence[str]) -> Sequence[str]:
    """The labels that a token may have: itself, all those given, or any."""
    if label is None:
        return everything
    if isinstance(label, str):
        return (label,)
    if (
        isinstance(label, (set, frozenset, tuple, list))
        and label
        and all(isinstance(name, str) for name in label)
    ):
        return sorted(label)
    raise ValueError(
        f"{label!r} is no label: give a str, None where it is not known, or a set of allowed ones"
    )


def _inner_choices(
    sentence: Sequence[Any], everything: Sequence[str], outer: str, inner: str, number: int
) -> list[tuple[str, ...] | None]:
    """For each token the labels of the inner scheme that it can have; None for any."""
    options = [choices(label, everything) for label in sentence]
    if outer == inner == "none":
        return [
            None if label is None else tuple(names) for label, names in zip(sentence, options, strict=True)
        ]
    allowed: list[tuple[str, ...] | None] = []
    for at, label in enumerate(sentence):
        before = options[at - 1] if at else (OUTSIDE,)
        after = options[at + 1] if at + 1 < len(options) else (OUTSIDE,)
        if label is None:
            allowed.append(None)
            continue
        triples = product(before, options[at], after)
        allowed.append(tuple(sorted({schemes.convert(triple, outer, inner)[1] for triple in triples})))
    return allowed


def _code(names: tuple[str, ...] | None, labels: Labels, several: dict[tuple[str, ...], int]) -> int:
    if names is None:
        return -1
    ids = labels.encode([names], grow=True)
    return int(ids[0]) if len(ids) == 1 else -2 - several.setdefault(names, len(several))


def inner_labels(classes: Sequence[str], outer: str, inner: str) -> list[str]:
    """All forms that labels can take in the inner scheme."""
    return list(classes) if outer == inner else schemes.Rewriter(list(classes), outer, inner).names


def loss_matrix(
    labels: Sequence[str], weight: dict[str, float] | None, outer: str, inner: str
) -> np.ndarray | None:
    """loss[right, answered]: the weight of the right label, given under its name or its type (B-x or x).

    Names are those of the outer scheme: B-x of IOB2 is B-x and S-x of IOBES.
    """
    if not weight:
        return None
    types = {label: label if inner == "none" else schemes.split(label)[1] for label in labels}
    factor = {label: float(weight.get(types[label], 1.0)) for label in labels}
    names = set(types.values())
    for label in set(labels) if inner == "none" else sorted(_outer_names(labels, outer, inner)):
        names.add(label)
        if label in weight:
            for form in _inner_forms(label, outer, inner):
                factor[form] = float(weight[label])
    missing = [name for name in weight if name not in names]
    if missing:
        raise ValueError(
            f"label_weight names {missing[0]!r}, but the labels are {', '.join(sorted(names - {''}))}"
        )
    if not all(0 < value < np.inf for value in factor.values()):
        raise ValueError("weights of labels must be numbers above 0")
    return np.array([factor[label] for label in labels])[:, None] * (1 - np.eye(len(labels)))


def _outer_names(labels: Sequence[str], outer: str, inner: str) -> list[str]:
    return list(labels) if outer == inner else schemes.Rewriter(labels, inner, outer).names


def _inner_forms(label: str, outer: str, inner: str) -> set[str]:
    """What a label can be in the inner scheme, by its neighbours."""
    if outer == inner or label == OUTSIDE:
        return {label}
    type_ = schemes.split(label)[1]
    around = (OUTSIDE, f"I-{type_}" if type_ else "I")
    triples = [
        triple for triple in product(around, (label,), around) if 1 not in schemes.violations(triple, outer)
    ]
    return {schemes.convert(triple, outer, inner)[1] for triple in triples}
