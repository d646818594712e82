"""Explain the arcs of a tree: the features behind each head and each label, with their weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from taggers.dependencies.parser import (
    DIGITS,
    DependencyParser,
    Values,
    attributes,
)  # fmt: skip
from taggers.dependencies.templates import (
    ARC_NUMBERS,
    ARC_PLACES,
    ATTRIBUTES,
    GRAPH_NUMBERS,
    GRAPH_PLACES,
    GUESSED,
    STATE_NUMBERS,
    STATE_PLACES,
    parse_templates,
)

Reasons = list[tuple[str, float]]
LABELS = ("hlab", "pslab", "ps2lab", "glab")  # numbers of arcs that stand for labels
FAR = 100  # added to the distance of a word to its head
BETWEEN = "between"  # features of a part without a template


def explain_trees(
    parser: DependencyParser, forms: Sequence[str], values: Mapping[str, Values]
) -> list[dict[str, Any]]:
    """Return for each word of a sentence its head and label, and why.

    `head_features` and `label_features` are pairs of a feature and its weight, the largest first. Their
    weights add up to `head_margin` and `label_margin`, by which the parser preferred its choice to the
    best other one. They are empty, with the margin None, where no other choice was possible. With a search
    among all trees, the features of a head are those of the parts of the tree with this arc, and the margin
    is None.
    """
    if not forms:
        return []
    heads, ids = parser.parse(forms, values, np.array([0, len(forms)]))
    arcs, labeller, graph = parser.machines
    table = attributes(forms, values, guessed=graph is not None)
    words = _words(forms, values)
    found = [
        {"token": form, "head": int(head), "deprel": parser.labels[label]}
        for form, head, label in zip(forms, heads.tolist(), ids.tolist(), strict=True)
    ]
    actions = arcs.explain(table)
    if graph is None:
        names = _Names(parser.states, STATE_PLACES, STATE_NUMBERS, words)
        for word, (_, reasons) in zip(found, actions, strict=True):
            word["head_margin"], word["head_features"] = names.all(reasons)
    else:
        guess = np.array([head for head, _ in actions], np.int32)
        labels = np.array([label for label, _ in labeller.explain(table, guess)], np.int32)
        parser.guess(table, labels, 0, len(forms))
        for row, label in zip(words[2:], labels.tolist(), strict=True):
            row[GUESSED] = parser.labels[label]
        names = _Names(parser.graph, GRAPH_PLACES, GRAPH_NUMBERS, words, ATTRIBUTES + GUESSED)
        for word, parts in zip(found, graph.explain(table, guess, heads.tolist()), strict=True):
            word["head_margin"], word["head_features"] = None, names.parts(parts)
    names = _Names(parser.arcs, ARC_PLACES, ARC_NUMBERS, words, labels=parser.labels)
    for word, (_, reasons) in zip(found, labeller.explain(table, heads), strict=True):
        word["label_margin"], word["label_features"] = names.all(reasons)
    return found


def _words(forms: Sequence[str], values: Mapping[str, Values]) -> list[dict[str, str]]:
    """The attributes of the root, of no word and of each word, as the templates read them."""
    columns = {
        name: [texts[k] or "_" for k in ids.tolist()] for name, (ids, texts) in values.items() if len(ids)
    }
    rows = [dict.fromkeys(ATTRIBUTES + GUESSED, name) for name in ("<root>", "<none>")]
    for k, form in enumerate(forms):
        upos, xpos, feats, lemma = (
            columns[name][k] if name in columns else "_" for name in ("upos", "xpos", "feats", "lemma")
        )
        word = form.lower().translate(DIGITS)
        rows.append(
            {"w": word, "p": upos, "m": f"{upos} {feats}", "l": lemma, "x": f"{upos} {xpos}", "s": word[-3:]}
        )
    return rows


class _Names:
    """Names of features, such as ``s0.p+b0.p=DET|NOUN``, from templates and the words of a sentence."""

    def __init__(
        self, text: str, places: Sequence[str], numbers: Sequence[str], words: list[dict[str, str]],
        known: str = ATTRIBUTES, labels: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.cells = parse_templates(text, places, numbers, known).cells
        self.items, self.numbers, self.words = text.split(), numbers, words
        self.known, self.labels = known, [*labels, "<none>"]

    def all(self, reasons: tuple[float, np.ndarray, list[int], list[int]] | None) -> tuple[Any, Reasons]:
        if reasons is None:
            return None, []
        margin, weights, rows, facts = reasons
        return float(margin), _ranked(
            [(self.name(t, rows, facts), w) for t, w in enumerate(weights.tolist())]
        )

    def parts(self, parts: Sequence[tuple[int, int, np.ndarray, list[int], list[int]]]) -> Reasons:
        """The features of the parts of a tree; the machine sorts their templates by the kind of part."""
        order = sorted(range(len(self.cells)), key=lambda t: _kind(self.cells[t]))
        found: Reasons = []
        for first, n, weights, rows, facts in parts:
            named = weights[:n].tolist()
            found += [(self.name(order[first + k], rows, facts), w) for k, w in enumerate(named)]
            found += [(BETWEEN, float(weights[n:].sum()))]
        return _ranked(found)

    def name(self, template: int, rows: list[int], facts: list[int]) -> str:
        values = [
            self.words[rows[place]][self.known[at]] if place >= 0 else self._number(at, facts[at])
            for place, at in self.cells[template]
        ]
        return f"{self.items[template].partition('/')[0]}={'|'.join(values)}"

    def _number(self, at: int, value: int) -> str:
        if self.numbers[at] in LABELS:
            return self.labels[value]
        return str(value - FAR if self.numbers[at] == "dist" else value)


def _kind(cells: Sequence[tuple[int, int]]) -> int:
    """0 for features of arcs, 1 with a sibling, 2 with a grandparent."""
    places = {place for place, _ in cells}
    return 1 if GRAPH_PLACES.index("s") in places else 2 if GRAPH_PLACES.index("g") in places else 0


def _ranked(found: Reasons) -> Reasons:
    return sorted(((name, weight) for name, weight in found if weight), key=lambda pair: -abs(pair[1]))
