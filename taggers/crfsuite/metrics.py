"""Scores of sequences of labels: those of scikit-learn on the joined sequences, as in sklearn-crfsuite."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any


def flatten(y: Iterable[Iterable[Any]]) -> list[Any]:
    """The labels of all sequences in one list."""
    return list(chain.from_iterable(y))


def _flat(name: str) -> Callable[..., Any]:
    """The function of sklearn.metrics with that name, for sequences of labels."""

    def score(y_true: Any, y_pred: Any, **options: Any) -> Any:
        try:
            from sklearn import metrics
        except ModuleNotFoundError as error:
            raise ImportError(
                'these scores need scikit-learn; install it with pip install "structsvm-nlp[sklearn]"'
            ) from error
        return getattr(metrics, name)(flatten(y_true), flatten(y_pred), **options)

    score.__name__ = score.__qualname__ = f"flat_{name}"
    score.__doc__ = f"Return sklearn.metrics.{name} of the labels of all sequences."
    return score


flat_accuracy_score = _flat("accuracy_score")
flat_precision_score = _flat("precision_score")
flat_recall_score = _flat("recall_score")
flat_f1_score = _flat("f1_score")
flat_fbeta_score = _flat("fbeta_score")
flat_classification_report = _flat("classification_report")


def sequence_accuracy_score(y_true: Sequence[Any], y_pred: Sequence[Any]) -> float:
    """Return the share of sequences whose labels are all right; 0 if there are none."""
    equal = sum(list(true) == list(found) for true, found in zip(y_true, y_pred, strict=True))
    return equal / len(y_true) if len(y_true) else 0
