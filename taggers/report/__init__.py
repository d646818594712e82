"""Report on a model as one self-contained HTML page: scores, errors, probabilities, weights, training curve.

The page needs no script and no network. Long parts are cut or collapsed: the page shows the most frequent
labels, the most frequent confusions and the errors about which the model is most confident.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape

from taggers.labels.schemes import split
from taggers.metrics import expected_error
from taggers.model import TaggerModel
from taggers.report.errors import Answers, confusions, label_scores, type_of, wrong_sentences
from taggers.report.page import STYLE, section, tiles
from taggers.report.probabilities import reliability
from taggers.report.weights import label_table, strongest_features, training_curve, transitions

__all__ = ["Answers", "html_report"]


def html_report(
    model: TaggerModel,
    *,
    title: str = "model",
    names: Sequence[str | None] | None = None,
    answers: Answers | None = None,
    top: int = 20,
) -> str:
    """Return the page.

    names: the names of the features, by default those kept in the model. answers: what the model predicted
    for a labelled file; without them the page has no scores and no errors. top: features shown per label.
    """
    phrases = model.labels.outer != "none"
    counts = _frequencies(model, answers, phrases)
    order = sorted(
        range(len(model.labels)),
        key=lambda k: (-counts[type_of(model.labels[k], phrases)], *reversed(split(model.labels[k]))),
    )
    parts = [
        section("Labels", *(label_table(model, order) if answers is None else label_scores(answers))),
        "" if answers is None else section("Confusions", *confusions(answers)),
        "" if answers is None else section("Errors", *wrong_sentences(answers)),
        "" if answers is None else section("Probabilities", *reliability(answers)),
        section("Transitions", *transitions(model, order)),
        section("Strongest features", *strongest_features(model, names or model.space.names, order, top)),
        section("Training", *training_curve(model.report)),
    ]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head><body><main><h1>{escape(title)}</h1><p>{escape(_summary(model))}</p>"
        f"{tiles(_figures(model, answers))}{''.join(parts)}</main></body></html>\n"
    )


def _frequencies(model: TaggerModel, answers: Answers | None, phrases: bool) -> Counter[str]:
    """Tokens of each label or phrase type in the gold labels; without these, the weights it has."""
    counts: Counter[str] = Counter()
    if answers is not None:
        for labels in answers.gold:
            counts.update(type_of(label, phrases) for label in labels)
        return counts
    for label in model.weights.cells["label"].tolist():
        counts[type_of(model.labels[label], phrases)] += 1
    return counts


def _summary(model: TaggerModel) -> str:
    space = model.labels
    how = "exact inference" if space.inference == "exact" else f"greedy inference of order {space.order}"
    scheme = "" if space.outer == "none" else f"; labels in {space.outer}, trained as {space.inner}"
    size = ", ".join(
        f"{model.report[name]:,} {name}"
        for name in ("sentences", "tokens")
        if model.report.get(name) is not None
    )
    trained = f" Trained on {size}." if size else ""
    return f"A sequence tagger with {how}{scheme}.{trained}"


def _figures(model: TaggerModel, answers: Answers | None) -> list[tuple[str, str]]:
    figures = []
    if answers is not None:
        scores = answers.evaluation
        if answers.phrases:
            figures.append(("F1 of phrases", f"{100 * scores.f1:.2f}"))
        figures.append(("accuracy of tokens", f"{100 * scores.accuracy:.2f}%"))
        if scores.unknown is not None and scores.unknown.total:
            figures.append(("accuracy on unknown words", f"{100 * scores.unknown.accuracy:.2f}%"))
        figures.append(("sentences without errors", f"{100 * scores.sequences.accuracy:.1f}%"))
        if answers.reliability:
            error = expected_error(answers.reliability)
            figures.append(("expected calibration error", f"{100 * error:.2f}%"))
    return [*figures, ("labels", f"{len(model.names):,}"), ("features", f"{len(model.space):,}")]
