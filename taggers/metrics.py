"""Scores of labellings, and the same as scorers for scikit-learn's model selection, which is not imported.

>>> span_f1([["B-NP", "I-NP", "O"]], [["B-NP", "I-NP", "O"]])
1.0
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from taggers import encoding as data
from taggers.conlleval import evaluate

Labels = Sequence[Sequence[Any]]


def token_accuracy(y: Labels, predicted: Labels) -> float:
    """The share of tokens with the right label, among those with gold."""
    return data.accuracy(y, predicted)


def sentence_accuracy(y: Labels, predicted: Labels) -> float:
    """The share of sentences without a wrong label."""
    return evaluate(y, predicted).sequences.accuracy


def span_f1(y: Labels, predicted: Labels) -> float:
    """The F1 of phrases, as conlleval counts them."""
    return evaluate(y, predicted).f1


def _scored(metric: Callable[[Labels, Labels], float], tagger: Any, X: Any, y: Labels) -> float:
    return metric(y, tagger.predict(X))


# For `scoring=` of GridSearchCV and cross_validate: one of them, or all at once.
SCORERS = {
    metric.__name__: partial(_scored, metric) for metric in (token_accuracy, sentence_accuracy, span_f1)
}
