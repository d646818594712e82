"""Sections of the report page that compare predicted labels with gold: scores, confusions, sentences."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import chain, groupby

import numpy as np

from taggers.conlleval import Counts, Evaluation
from taggers.conlleval import phrases as read_phrases
from taggers.labels.schemes import OUTSIDE, Span, split
from taggers.metrics import Reliability
from taggers.report.page import folded, heat, pair, table

PAIRS, MOST_PAIRS = 10, 40  # confusions shown, and shown in all
CONFUSED = 8  # rows and columns of the confusion matrix
WORDS = 3  # examples for a confusion
SENTENCES, MOST_SENTENCES = 8, 50  # shown, and shown in all
CONTEXT = 8  # words kept around an error


@dataclass(frozen=True)
class Answers:
    """Gold and predicted labels of a file, sentence by sentence.

    words: None where the file has features in place of words. margins: of all tokens, one after the other:
    how far the predicted label is ahead of the best other one. lines: where each sentence begins in the file.
    phrases: whether the labels mark phrases. reliability: for a calibrated model, tokens by the probability
    of their labels.
    """

    words: list[list[str]] | None
    gold: list[list[str]]
    predicted: list[list[str]]
    margins: np.ndarray
    lines: Sequence[int]
    evaluation: Evaluation
    phrases: bool
    reliability: Sequence[Reliability] = ()


def type_of(label: str, phrases: bool) -> str:
    """The type of a phrase label, with O for labels outside; any other label unchanged."""
    return (split(label)[1] or OUTSIDE) if phrases else label


def label_scores(answers: Answers) -> tuple[str, ...]:
    """Precision, recall and F1 by phrase type, or by label where labels mark no phrases."""
    by_label = _token_counts(answers)
    if not answers.phrases:
        return "Labels by frequency; the counts are tokens.", _scores("label", by_label)
    return (
        "Phrase types by frequency; the counts are phrases.",
        _scores("type", answers.evaluation.types),
        folded(f"Show all {len(by_label)} labels, counted in tokens", _scores("label", by_label)),
    )


def _token_counts(answers: Answers) -> dict[str, Counts]:
    gold = Counter(chain.from_iterable(answers.gold))
    found = Counter(chain.from_iterable(answers.predicted))
    missed: Counter[str] = Counter()
    for (label, _), count in answers.evaluation.errors.items():
        missed[label] += count
    return {label: Counts(gold[label], found[label], gold[label] - missed[label]) for label in gold | found}


def _scores(what: str, counts: dict[str, Counts]) -> str:
    rows = [
        f'<tr><th scope="row">{escape(name)}</th><td>{c.gold:,}</td><td>{c.found:,}</td>'
        f"<td>{100 * c.precision:.1f}</td><td>{100 * c.recall:.1f}</td><td>{100 * c.f1:.1f}</td>"
        f'<td class="bar"><i style="--s:{100 * c.f1:.0f}%"></i></td></tr>'
        for name, c in sorted(counts.items(), key=lambda item: (-item[1].gold, item[0]))
    ]
    return table((what, "gold", "predicted", "precision", "recall", "F1", ""), rows)


def confusions(answers: Answers) -> tuple[str, ...]:
    """The most frequent confusions with the words that they affect, and a confusion matrix."""
    found = answers.evaluation.confusions()
    if not found:
        return ("",)
    gold_counts = Counter(chain.from_iterable(answers.gold))
    examples = _examples(answers)
    head = ("gold", "predicted", "tokens", "of gold", *(["most often"] if answers.words else []))
    rows = [
        f'<tr><th scope="row">{escape(gold)}</th><td class="text">{escape(other)}</td><td>{count:,}</td>'
        f"<td>{100 * count / gold_counts[gold]:.1f}%</td>"
        + (f'<td class="text">{escape(examples[gold, other])}</td></tr>' if answers.words else "</tr>")
        for gold, other, count in found[:MOST_PAIRS]
    ]
    return (
        "How often one label is predicted instead of another.",
        pair(table(head, rows, PAIRS, text=(0, 1, 4)), _matrix(answers)),
    )


def _examples(answers: Answers) -> dict[tuple[str, str], str]:
    """The most frequent words of each confusion."""
    counts: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for words, gold, found in zip(answers.words or (), answers.gold, answers.predicted, strict=False):
        for word, label, other in zip(words, gold, found, strict=True):
            if label != other:
                counts[label, other][word] += 1
    return {pair: " · ".join(word for word, _ in seen.most_common(WORDS)) for pair, seen in counts.items()}


def _matrix(answers: Answers) -> str:
    """The confusion matrix by phrase type or label; empty if the list already shows everything."""
    counts: Counter[tuple[str, str]] = Counter()
    involved: Counter[str] = Counter()
    for (gold, other), count in answers.evaluation.errors.items():
        pair_of_types = type_of(gold, answers.phrases), type_of(other, answers.phrases)
        counts[pair_of_types] += count
        if pair_of_types[0] != pair_of_types[1]:
            involved.update(dict.fromkeys(pair_of_types, count))
    names = sorted(involved, key=lambda name: (-involved[name], name))[:CONFUSED]
    if len(names) < 3:
        return ""
    values = np.array([[counts[gold, other] for other in names] for gold in names])
    what, diagonal = "labels", ""
    if answers.phrases:
        what, diagonal = "types", " Grey cells count tokens of the right type with a wrong boundary."
    return (
        f"<h3>The {len(names)} most confused {what}</h3>"
        f"<p>Rows are gold, columns are predicted. Correct tokens are left out.{diagonal}</p>"
        + heat(names, names, values, ".0f", grey=lambda row, column: row == column)
    )


def wrong_sentences(answers: Answers) -> tuple[str, ...]:
    """Sentences with errors; the errors about which the model is most confident come first."""
    if answers.words is None:
        return ("",)
    found = []
    start = 0
    for number, gold in enumerate(answers.gold):
        spans = _spans(gold, answers.phrases), _spans(answers.predicted[number], answers.phrases)
        if wrong := _wrong_tokens(*spans):
            margin = float(answers.margins[[start + at for at in wrong]].max())
            found.append((margin, number, start, spans, wrong))
        start += len(gold)
    found.sort(key=lambda error: (-error[0], error[1]))
    blocks = [
        f'<div class="sentence"><small>line {answers.lines[number]}, margin {margin:.2f}</small>'
        f"{_marked(answers.words[number], *spans, wrong, answers.phrases)}</div>"
        for margin, number, start, spans, wrong in found[:MOST_SENTENCES]
    ]
    more = "".join(blocks[SENTENCES:])
    count = "1 sentence has" if len(found) == 1 else f"{len(found):,} sentences have"
    return (
        f"{count} errors. The most confident errors come first: the margin is the score of the "
        "predicted label minus the score of the best other one.",
        '<p class="key"><span class="gold">gold</span> <span class="found">predicted</span></p>'
        if blocks
        else "",
        *blocks[:SENTENCES],
        folded(f"Show {len(blocks) - SENTENCES} more", more),
    )


def _spans(labels: list[str], phrases: bool) -> list[Span]:
    return read_phrases(labels) if phrases else [(label, at, at + 1) for at, label in enumerate(labels)]


def _wrong_tokens(gold: list[Span], found: list[Span]) -> list[int]:
    """The tokens of all spans that are only in one of the two."""
    return sorted({at for _, start, end in set(gold) ^ set(found) for at in range(start, end)})


def _marked(words: list[str], gold: list[Span], found: list[Span], wrong: list[int], phrases: bool) -> str:
    """The sentence as text: correct phrases underlined, gold and predicted labels under each wrong word."""
    of_gold, of_found = _by_token(gold), _by_token(found)
    near = {at + step for at in wrong for step in range(-CONTEXT, CONTEXT + 1)}
    marked = set(wrong)

    def kind(at: int) -> tuple[str, object]:
        if at in marked:
            return "wrong", None
        if at not in near:
            return "far", None
        return ("right", of_gold[at]) if phrases and at in of_gold else ("plain", None)

    pieces = []
    for (what, _), group in groupby(range(len(words)), kind):
        places = list(group)
        text = escape(" ".join(words[at] for at in places))
        if what == "wrong":  # without spaces, so that the marks of a phrase join
            text = "".join(
                f'<span class="wrong"><b>{escape(words[at])}</b>{_mark("gold", of_gold.get(at), at)}'
                f"{_mark('found', of_found.get(at), at)}</span>"
                for at in places
            )
        pieces.append({"right": f'<span class="right">{text}</span>', "far": "…"}.get(what, text))
    return " ".join(pieces)


def _by_token(spans: list[Span]) -> dict[int, Span]:
    return {at: span for span in spans for at in range(span[1], span[2])}


def _mark(kind: str, span: Span | None, at: int) -> str:
    if span is None:
        return f'<span class="{kind} none">{OUTSIDE}</span>'
    type_, start, end = span
    ends = f"{' first' if at == start else ''}{' last' if at == end - 1 else ''}"
    return f'<span class="{kind}{ends}">{escape(type_) if at == start else ""}</span>'
