"""Report on a distilled tagger as one HTML page: what each source says, and what the tagger learned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from taggers.conlleval import Counts
from taggers.labels import schemes
from taggers.labels.label_encoding import choices
from taggers.labels.schemes import OUTSIDE
from taggers.report.page import STYLE, folded, section, table, tiles
from taggers.weak.agreement import agreements
from taggers.weak.distil import Distilled
from taggers.weak.sources import Votes

EXAMPLES = 20
CONTEXT = 5  # words around an example
Span = tuple[int, int, int, str]  # sentence, start, stop, type


@dataclass(frozen=True)
class Coverage:
    """The answers of a source: phrases or labels, and shares of them.

    tokens: the share of tokens with an answer. overlap: the share of its phrases that touch one of another
    source. conflict: the share that another source contradicts, by another type or other borders. student:
    the share that the tagger finds too. precision, recall: as the consensus estimates them, or None.
    gold: its counts on the gold sentences.
    """

    name: str
    phrases: int
    tokens: float
    overlap: float
    conflict: float
    student: float
    precision: float | None
    recall: float | None
    gold: Counts | None


def coverages(done: Distilled, predicted: Sequence[Sequence[str]]) -> list[Coverage]:
    """The coverage of each source."""
    found = {name: _spans(rows, done.phrases) for name, rows in done.votes.items()}
    student = set(_spans(predicted, done.phrases))
    total = sum(map(len, done.X))
    rows = []
    for name, spans in found.items():
        others = {
            at: span for other in found if other != name for span in found[other] for at in _tokens(span)
        }
        same = {span for other in found if other != name for span in found[other]}
        touched = [span for span in spans if any(at in others for at in _tokens(span))]
        against = [span for span in touched if span not in same]
        answers = sum(one is not None for row in done.votes[name] for one in row)
        n = max(len(spans), 1)
        estimate: tuple[float | None, float | None] = (None, None)
        if done.consensus is not None:
            estimate = done.consensus.overall(name)
        rows.append(
            Coverage(name, len(spans), answers / total, len(touched) / n, len(against) / n,
                     sum(span in student for span in spans) / n, *estimate, _on_gold(done, name))
        )  # fmt: skip
    return rows


def _on_gold(done: Distilled, name: str) -> Counts | None:
    if done.gold is None:
        return None
    first = len(done.X) - len(done.gold)
    gold, found = (set(_spans(rows, done.phrases)) for rows in (done.gold, done.votes[name][first:]))
    return Counts(len(gold), len(found), len(gold & found))


def _spans(rows: Votes | Sequence[Sequence[str]], phrases: bool) -> list[Span]:
    """The phrases of answers, or the labels of tokens; sets are left out."""
    spans: list[Span] = []
    for number, row in enumerate(rows):
        if phrases:
            known = [one if isinstance(one, str) else OUTSIDE for one in row]
            spans += [(number, start, stop, type_) for type_, start, stop in schemes.spans(known, "IOB2")]
        else:
            spans += [(number, k, k + 1, one) for k, one in enumerate(row) if isinstance(one, str)]
    return spans


def _tokens(span: Span) -> list[tuple[int, int]]:
    return [(span[0], at) for at in range(span[1], span[2])]


def html_report(done: Distilled, *, title: str) -> str:
    """Return the page."""
    predicted = done.tagger.predict(done.X)
    rows = coverages(done, predicted)
    flat = [one for row in done.labels for one in row]
    n = len(flat)
    gold = f"{len(done.gold):,} sentences with" if done.gold else "no"
    figures = [
        ("sentences", f"{len(done.X):,}"), ("sources", f"{len(rows)}"),
        ("tokens with one label", f"{sum(isinstance(one, str) for one in flat) / n:.1%}"),
        ("with a set of labels", f"{sum(isinstance(one, frozenset) for one in flat) / n:.1%}"),
        ("left open", f"{sum(one is None for one in flat) / n:.1%}"),
    ]  # fmt: skip
    if done.missing:
        figures.append(("missing names, tokens", f"{done.missing[-1]:.2%}"))
    parts = [
        section("Sources", SOURCES, _table(rows, done)),
        section("Agreement", AGREEMENT, _agreement(done)),
        section("Contradictions", "Answers that differ; the last row has the labels that the tagger learned.",
                _contradictions(done)),
        section("Learned beyond the sources", "Phrases that only the tagger finds.",
                _beyond(done, predicted)),
    ]  # fmt: skip
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head><body><main><h1>{escape(title)}</h1>"
        f"<p>A tagger that learned from {len(rows)} sources and {gold} gold labels.</p>"
        f"{tiles(figures)}{''.join(parts)}</main></body></html>\n"
    )


SOURCES = (
    "Coverage: the share of tokens with an answer. Overlap: the share of its phrases that touch one of "
    "another source. Conflict: the share that another source contradicts. Tagger: the share that the tagger "
    "finds too. Precision and recall are estimated from the answers alone, if there are several sources and "
    "one of them labels every token."
)

AGREEMENT = (
    "Cohen's kappa for each pair of sources on the tokens that both label, and for each type against all "
    "other labels: 0 for the agreement that is expected by chance, 1 for full agreement."
)


def _agreement(done: Distilled) -> str:
    """The agreement of each pair of sources, the lowest first."""
    pairs = sorted(agreements(done.votes), key=lambda pair: pair.kappa)
    types = sorted({type_ for pair in pairs for type_ in pair.types})
    rows = [
        _row(pair.one,
             [pair.two, f"{pair.tokens:,}", f"{pair.observed:.1%}", f"{pair.kappa:.2f}",
              *(f"{pair.types[one]:.2f}" if one in pair.types else "-" for one in types)], (1,))
        for pair in pairs
    ]  # fmt: skip
    return table(["source", "and", "tokens", "equal", "kappa", *types], rows, text=(0, 1)) if rows else ""


def _table(rows: Sequence[Coverage], done: Distilled) -> str:
    head = ["source", "phrases", "coverage", "overlap", "conflict", "tagger", "precision", "recall"]
    scored = any(row.gold is not None for row in rows)
    cells = []
    for row in rows:
        shares = [row.tokens, row.overlap, row.conflict, row.student, row.precision, row.recall]
        values = [f"{row.phrases:,}", *("-" if one is None else f"{one:.1%}" for one in shares)]
        if scored:
            values.append("-" if row.gold is None else f"{100 * row.gold.f1:.2f}")
        cells.append(_row(row.name, values))
    found = table([*head, *(["F1 on gold"] if scored else [])], cells)
    if done.consensus is not None:
        each = [
            _row(f"{name}: {kind}", [f"{p:.1%}", f"{r:.1%}"])
            for name in done.votes
            for kind, (p, r) in done.consensus.reliability(name).items()
        ]
        found += folded("Show each type", table(["source and type", "precision", "recall"], each, shown=100))
    return found


def _row(name: str, values: Sequence[str], text: Sequence[int] = ()) -> str:
    cells = "".join(
        f"<td{' class=text' if k in text else ''}>{escape(value)}</td>" for k, value in enumerate(values, 1)
    )
    return f'<tr><th scope="row" title="{escape(name)}">{escape(name)}</th>{cells}</tr>'


def _contradictions(done: Distilled) -> str:
    """Sentences in which sources contradict each other."""
    found = []
    for number, words in enumerate(done.X):
        votes = {name: rows[number] for name, rows in done.votes.items()}
        places = [k for k in range(len(words)) if _contradict([row[k] for row in votes.values()])]
        if not places:
            continue
        start, stop = max(places[0] - CONTEXT, 0), min(places[0] + CONTEXT + 1, len(words))
        left = range(stop - start + 1)
        lines = [
            _row(name, [_text(one) for one in row[start:stop]], left)
            for name, row in {**votes, "learned": done.labels[number]}.items()
        ]
        found.append(table([f"sentence {number}", *words[start:stop]], lines, text=left))
        if len(found) == EXAMPLES:
            break
    return "".join(found[:3]) + folded(f"Show {len(found) - 3} more", "".join(found[3:]))


def _contradict(answers: Sequence[Any]) -> bool:
    sets = [set(choices(one, ())) for one in answers if one is not None]
    return bool(sets) and not set.intersection(*sets)


def _text(label: Any) -> str:
    return "" if label is None else " or ".join(choices(label, ()))


def _beyond(done: Distilled, predicted: Sequence[Sequence[str]]) -> str:
    """The most frequent phrases that only the tagger finds."""
    if not done.phrases:
        return ""
    counts: Counter[tuple[str, str]] = Counter()
    for number, start, stop, type_ in _spans(predicted, phrases=True):
        said = {rows[number][k] for rows in done.votes.values() for k in range(start, stop)}
        if said <= {None, OUTSIDE}:
            counts[" ".join(done.X[number][start:stop]), type_] += 1
    rows = [_row(text, [type_, f"{count:,}"], (1,)) for (text, type_), count in counts.most_common(200)]
    return table(["phrase", "type", "times"], rows, text=(0, 1)) if rows else ""
