"""Scores of predicted labels, also as scorers for scikit-learn's model selection.

`accuracy_score`, `precision_score`, `recall_score`, `f1_score` and `classification_report` have the
names, arguments and results of seqeval, so that you can change the import and nothing else.

>>> span_f1([["B-NP", "I-NP", "O"]], [["B-NP", "I-NP", "O"]])
1.0
>>> precision_score([["B-NP", "I-NP", "O"]], [["B-NP", "I-NP", "B-NP"]])
0.5
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from taggers.conlleval import Counts, evaluate, phrases_by_sentence
from taggers.conlleval import phrases as phrases_of
from taggers.labels import schemes
from taggers.labels.label_encoding import GoldLabels, choices, split_by_sentence
from taggers.options import SCHEMES

Labels = Sequence[Sequence[Any]]
Figures = tuple[float, float, float, int]  # precision, recall, F1 and the number of gold phrases

AVERAGES = ("micro", "macro", "weighted")
COLUMNS = ("precision", "recall", "f1-score", "support")


class UndefinedMetricWarning(UserWarning):
    """Warning about a precision or recall that is a division by zero."""


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


def score_name(gold: GoldLabels, *, phrases: bool) -> str:
    """The measure that `score_ids` computes for these gold labels."""
    return "F1" if phrases and not gold.has_sets else "accuracy"


def score_ids(gold: GoldLabels, ids: np.ndarray, names: Sequence[str], *, phrases: bool = False) -> float:
    """The accuracy of predicted labels, given by their positions in `names`; with `phrases`, the F1.

    Tokens without a gold label are left out, as in `structsvm evaluate`. Where gold labels are sets, the
    score is the accuracy too.
    """
    counts = counts_of_ids(gold, ids, names, phrases=phrases)
    return score_counts(counts, score_name(gold, phrases=phrases))


def score_counts(counts: np.ndarray, name: str) -> float:
    """The accuracy or F1, by its name, of the rows of `counts_of_ids`."""
    total = Counts(*counts.sum(axis=0).tolist())
    return total.f1 if name == "F1" else total.correct / max(total.gold, 1)


def counts_of_ids(
    gold: GoldLabels, ids: np.ndarray, names: Sequence[str], *, phrases: bool = False
) -> np.ndarray:
    """Count the gold, found and correct phrases, or tokens, of each sentence, as `score_ids` does."""
    name = score_name(gold, phrases=phrases)
    if gold.partial is not None and name != "F1":
        pairs = zip(gold.partial, split_by_sentence(ids, names, gold.sentence_ptr), strict=True)
        rows = [
            [(1, 1, label in choices(one, ())) for one, label in zip(*pair, strict=True) if one is not None]
            for pair in pairs
        ]  # fmt: skip
        return np.array([np.sum(row, axis=0) if row else (0, 0, 0) for row in rows], np.int64).reshape(-1, 3)
    number = {label: k for k, label in enumerate(dict.fromkeys([*sorted(gold.distinct()), *names]))}
    right = gold.positions(list(number))
    found = np.array([number[label] for label in names], np.int64)[ids]
    known = right >= 0
    if name == "F1":
        sentence_ptr = np.append(0, np.cumsum(known))[gold.sentence_ptr]
        return phrases_by_sentence(right[known], found[known], list(number), sentence_ptr)
    running = np.cumsum([np.append(0, known), np.append(0, known & (right == found))], axis=1)
    return np.diff(running[:, gold.sentence_ptr], axis=1)[[0, 0, 1]].T


class Reliability(NamedTuple):
    """Tokens whose best labels have similar probabilities: their number, mean probability and accuracy."""

    low: float
    high: float
    tokens: int
    probability: float
    accuracy: float


def reliability(probable: np.ndarray, correct: np.ndarray, *, bins: int = 10) -> list[Reliability]:
    """Tokens grouped by the probability of their best labels into bins of equal width; no empty bins.

    Parameters
    ----------
    probable
        The probability of each token's best label.
    correct
        Whether that label is right.
    """
    place = np.minimum((np.asarray(probable, float) * bins).astype(int), bins - 1)
    tokens = np.bincount(place, minlength=bins)
    sums = (np.bincount(place, values, bins) for values in (probable, correct))
    rows = zip(tokens.tolist(), *(one.tolist() for one in sums), strict=True)
    return [
        Reliability(k / bins, (k + 1) / bins, n, probability / n, right / n)
        for k, (n, probability, right) in enumerate(rows)
        if n
    ]


def expected_error(table: Sequence[Reliability]) -> float:
    """The mean difference between probability and accuracy, weighted by the tokens of each bin."""
    total = sum(one.tokens for one in table)
    return sum(one.tokens * abs(one.probability - one.accuracy) for one in table) / max(total, 1)


def calibration_error(y: Labels, marginals: Sequence[Sequence[dict[str, float]]], *, bins: int = 10) -> float:
    """The expected calibration error: how far the probability of the best label is from its accuracy.

    The result is the mean difference between the two in the bins of `reliability`, weighted by their tokens.

    >>> round(calibration_error([["N", "V"]], [[{"N": 0.8, "V": 0.2}, {"N": 0.6, "V": 0.4}]]), 3)
    0.4
    """
    best = [max(token, key=token.__getitem__) for tokens in marginals for token in tokens]
    shares = [max(token.values()) for tokens in marginals for token in tokens]
    right = [label for labels in y for label in labels]
    known = np.array([label is not None for label in right], bool)
    correct = np.array([a == b for a, b in zip(best, right, strict=True)], float)[known]
    return expected_error(reliability(np.array(shares, float)[known], correct, bins=bins))


# -- the functions of seqeval -------------------------------------------------------------------


def accuracy_score(y_true: Labels, y_pred: Labels) -> float:
    """The share of tokens with the right label."""
    return token_accuracy(y_true, y_pred)


def precision_score(y_true: Labels, y_pred: Labels, **options: Any) -> Any:
    """The share of the predicted phrases that are correct; for the options see `f1_score`."""
    return _score(0, y_true, y_pred, **options)


def recall_score(y_true: Labels, y_pred: Labels, **options: Any) -> Any:
    """The share of the gold phrases that are predicted; for the options see `f1_score`."""
    return _score(1, y_true, y_pred, **options)


def f1_score(
    y_true: Labels,
    y_pred: Labels,
    *,
    average: str | None = "micro",
    suffix: bool = False,
    mode: str | None = None,
    sample_weight: Any = None,
    zero_division: str | float = "warn",
    scheme: Any = None,
) -> Any:
    """The harmonic mean of precision and recall of phrases.

    Parameters
    ----------
    average
        "micro" counts all phrases together, "macro" takes the mean over the types of phrases, "weighted"
        weights this mean by the gold phrases of each type, and None returns an array with a score for each
        type, in alphabetical order.
    suffix
        Whether labels are written PER-B instead of B-PER.
    mode
        "strict" counts only phrases whose labels are all valid in the scheme; by default labels out of place
        count, by the rules of conlleval.
    scheme
        For mode="strict", IOB1, IOB2, IOBES or BILUO (or BILOU), as a name or as the class of seqeval; by
        default it is detected.
    zero_division
        The precision where nothing was predicted, and the recall where there is nothing to predict; "warn"
        means 0 with a warning.
    """
    return _score(
        2, y_true, y_pred, average=average, suffix=suffix, mode=mode, sample_weight=sample_weight,
        zero_division=zero_division, scheme=scheme,
    )  # fmt: skip


def classification_report(
    y_true: Labels,
    y_pred: Labels,
    *,
    digits: int = 2,
    suffix: bool = False,
    output_dict: bool = False,
    mode: str | None = None,
    sample_weight: Any = None,
    zero_division: str | float = "warn",
    scheme: Any = None,
) -> str | dict[str, dict[str, Any]]:
    """Precision, recall, F1 and support of each type of phrases, as a text; with `output_dict`, as a dict.

    Parameters
    ----------
    digits
        Decimal places in the text. The other options are those of `f1_score`.
    """
    types = _counts(y_true, y_pred, suffix, mode, sample_weight, scheme)
    lines = {name: _figures(counts, zero_division) for name, counts in types.items()}
    averages = {f"{average} avg": _averaged(types, average, zero_division) for average in AVERAGES}
    if output_dict:
        return {name: dict(zip(COLUMNS, line, strict=True)) for name, line in (lines | averages).items()}
    width = max(map(len, (*lines, *averages)))
    text = f"{'':>{width}}  " + " ".join(f"{column:>9}" for column in COLUMNS) + "\n"
    for group in (lines, averages):
        text += "\n"
        for name, (*scores, support) in group.items():
            shown = [*(f"{score:>9.{digits}f}" for score in scores), f"{support:>9}"]
            text += f"{name:>{width}}  {' '.join(shown)}\n"
    return text


def _score(
    which: int,
    y_true: Labels,
    y_pred: Labels,
    *,
    average: str | None = "micro",
    suffix: bool = False,
    mode: str | None = None,
    sample_weight: Any = None,
    zero_division: str | float = "warn",
    scheme: Any = None,
) -> Any:
    """One of the figures: an average, or an array with one for each type."""
    types = _counts(y_true, y_pred, suffix, mode, sample_weight, scheme)
    if average is None:
        return np.array([_figures(counts, zero_division)[which] for counts in types.values()])
    return float(_averaged(types, average, zero_division)[which])


def _counts(
    y_true: Labels, y_pred: Labels, suffix: bool, mode: str | None, sample_weight: Any, scheme: Any
) -> dict[str, Counts]:
    """The counts of each type of phrases; the empty type is called _, as in seqeval."""
    if sample_weight is not None:
        raise ValueError("sample_weight has no effect on the scores of phrases; leave it out")
    if mode not in (None, "strict"):
        raise ValueError(f'mode must be None or "strict", got {mode!r}')
    y_true, y_pred = (_label_lists(y, suffix) for y in (y_true, y_pred))
    strict = None
    if mode == "strict":
        name = getattr(scheme, "__name__", scheme)
        strict = schemes.detect([*y_true, *y_pred]) if name is None else {"BILOU": "BILUO"}.get(name, name)
        if strict not in SCHEMES[1:]:
            known = ", ".join(SCHEMES[1:])
            raise ValueError(f"scheme must be one of {known}, got {strict!r}")
    types = evaluate(y_true, y_pred, strict=strict).types
    return dict(sorted((name or "_", counts) for name, counts in types.items()))


def _label_lists(y: Labels, suffix: bool) -> list[list[str]]:
    if any(isinstance(labels, str) for labels in y):
        raise TypeError("y must hold a list of labels for each sentence, got a list of labels")
    if not suffix:
        return [list(labels) for labels in y]
    return [["-".join(reversed(label.rsplit("-", 1))) for label in labels] for labels in y]


def _figures(counts: Counts, zero_division: str | float) -> Figures:
    precision, recall = counts.precision, counts.recall
    if not counts.found:
        precision = _undefined("precision", "predicted", zero_division)
    if not counts.gold:
        recall = _undefined("recall", "gold", zero_division)
    total = precision + recall
    return precision, recall, 2 * precision * recall / total if total else 0.0, counts.gold


def get_entities(seq: Sequence[Any], suffix: bool = False) -> list[tuple[str, int, int]]:
    """The phrases of a sentence as (type, first token, last token); several sentences count as one text.

    >>> get_entities(["B-PER", "I-PER", "O", "B-LOC"])
    [('PER', 0, 1), ('LOC', 3, 3)]
    """
    if any(isinstance(one, list) for one in seq):
        seq = [label for labels in seq for label in [*labels, schemes.OUTSIDE]]
    (labels,) = _label_lists([seq], suffix)
    return [(kind or "_", start, stop - 1) for kind, start, stop in phrases_of(labels)]


def _warning() -> type[Warning]:
    """Our warning, which is also that of scikit-learn if scikit-learn is imported: filters match it."""
    exceptions = sys.modules.get("sklearn.exceptions")
    if exceptions is None:
        return UndefinedMetricWarning
    kinds = (UndefinedMetricWarning, exceptions.UndefinedMetricWarning)
    return type("UndefinedMetricWarning", kinds, {})


def _undefined(figure: str, kind: str, zero_division: str | float) -> float:
    if zero_division == "warn":
        warnings.warn(
            f"the {figure} is set to 0 where there are no {kind} phrases; set zero_division to choose "
            "another value and silence this warning", _warning(), stacklevel=5,
        )  # fmt: skip
        return 0.0
    return float(zero_division)


def _averaged(types: dict[str, Counts], average: str, zero_division: str | float) -> Figures:
    if average not in AVERAGES:
        raise ValueError(f"average must be None or one of {', '.join(AVERAGES)}, got {average!r}")
    each = list(types.values())
    gold = sum(counts.gold for counts in each)
    if average == "micro" or not each:
        correct = sum(counts.correct for counts in each)
        return _figures(Counts(gold, sum(counts.found for counts in each), correct), zero_division)
    weights = [counts.gold for counts in each] if average == "weighted" and gold else None
    figures = [_figures(counts, zero_division)[:3] for counts in each]
    precision, recall, f1 = np.average(figures, axis=0, weights=weights).tolist()
    return precision, recall, f1, gold


def _scored(metric: Callable[[Labels, Labels], float], tagger: Any, X: Any, y: Labels) -> float:
    return metric(y, tagger.predict(X))


# For `scoring=` of GridSearchCV and cross_validate: one of them, or all at once.
SCORERS = {
    metric.__name__: partial(_scored, metric) for metric in (token_accuracy, sentence_accuracy, span_f1)
}
