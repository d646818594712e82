"""Scores of predicted labels, also as scorers for scikit-learn's model selection.

>>> span_f1([["B-NP", "I-NP", "O"]], [["B-NP", "I-NP", "O"]])
1.0
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from taggers.conlleval import count_phrases, evaluate
from taggers.labels.label_encoding import GoldLabels, choices, split_by_sentence

Labels = Sequence[Sequence[Any]]


def token_accuracy(y: Labels, predicted: Labels) -> float:
    """The share of tokens with the right label, or an allowed one, among those with a gold label."""
    pairs = [
        pair
        for labels, others in zip(y, predicted, strict=True)
        for pair in zip(labels, others, strict=True)
        if pair[0] is not None
    ]
    return sum(label in choices(right, ()) for right, label in pairs) / max(len(pairs), 1)


def sentence_accuracy(y: Labels, predicted: Labels) -> float:
    """The share of sentences in which every label is right."""
    return evaluate(y, predicted).sequences.accuracy


def span_f1(y: Labels, predicted: Labels) -> float:
    """The F1 of phrases, as conlleval counts them."""
    return evaluate(y, predicted).f1


def score_ids(gold: GoldLabels, ids: np.ndarray, names: Sequence[str], *, phrases: bool = False) -> float:
    """The accuracy of predicted labels, given by their positions in `names`; with `phrases`, the F1.

    The F1 needs complete gold labels; without them the score is the accuracy too.
    """
    if gold.partial is not None:
        return token_accuracy(gold.partial, split_by_sentence(ids, names, gold.sentence_ptr))
    number = {name: k for k, name in enumerate(dict.fromkeys([*gold.names, *names]))}
    right = np.array([*(number[name] for name in gold.names), -1])[gold.ids]
    found = np.array([number[name] for name in names], np.int64)[ids]
    if phrases and gold.complete:
        return count_phrases(right, found, list(number), gold.sentence_ptr).f1
    known = right >= 0
    return int((right == found)[known].sum()) / max(int(known.sum()), 1)


def _scored(metric: Callable[[Labels, Labels], float], tagger: Any, X: Any, y: Labels) -> float:
    return metric(y, tagger.predict(X))


# For `scoring=` of GridSearchCV and cross_validate: one of them, or all at once.
SCORERS = {
    metric.__name__: partial(_scored, metric) for metric in (token_accuracy, sentence_accuracy, span_f1)
}
