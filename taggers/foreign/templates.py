"""Features of templates, read back from the strings by which other programs name them.

CRF++ and Wapiti replace the macros of a pattern by texts: ``U05:%x[-1,0]/%x[0,0]`` becomes ``U05:the/cat``.
The key of a feature follows from the texts, so each string is cut in all ways that fit its pattern.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np

from taggers.features._extract import Extractor
from taggers.features._table import KeyTable
from taggers.features.space import FeatureSpace
from taggers.features.template import MACRO, Cell, Pattern, Template
from taggers.foreign.weights import weight_rows
from taggers.formats._columns import Columns
from taggers.labels.space import MOST_LABELS, LabelSpace
from taggers.model import TaggerModel

MOST_MACROS = 200  # of a pattern
MOST_CUTS = 4  # for each string, on average
FILLER = "x"  # a text that no feature reads

# A function from a text to the distances from the sentence that it stands for: below 0 before it.
Outside = Callable[[str, int], list[int]]


def feature_keys(template: Template, strings: list[str], outside: Outside) -> tuple[np.ndarray, np.ndarray]:
    """The positions of strings, and a key for each way to read one; ValueError for strings of no pattern.

    outside: receives a text and the furthest offset of the template.
    """
    patterns = template.patterns
    pieces = [MACRO.split(pattern.text)[::3] for pattern in patterns]
    if (most := max(map(len, pieces), default=1) - 1) > MOST_MACROS:
        raise ValueError(f"a pattern has {most:,} macros; the most are {MOST_MACROS}")
    found: list[list[tuple[int, tuple[str, ...]]]] = [[] for _ in patterns]
    room = MOST_CUTS * len(strings) + 1000
    for number, text in enumerate(strings):
        known = False
        for p, parts in enumerate(pieces):
            for values in _cuts(text, parts) if text.startswith(parts[0]) else ():
                known, room = True, room - 1
                if room < 0:
                    raise ValueError(f"the feature {text!r} can be read in too many ways")
                found[p].append((number, values))
        if not known:
            raise ValueError(f"the feature {text!r} is of no pattern of its template")
    numbers, keys = [np.zeros(0, np.int64)], [np.zeros(0, np.uint64)]
    for pattern, rows in zip(patterns, found, strict=True):
        if not rows:
            continue
        numbers.append(np.array([number for number, _ in rows]))
        keys.append(_inside(pattern, [values for _, values in rows]))
    beyond = [
        (number, p, sentence, at)
        for p, rows in enumerate(found)
        for number, values in rows
        for sentence, at in _at_the_edge(template, patterns[p].cells, values, outside)
    ]
    if beyond:
        columns = Columns.from_sentences([sentence for _, _, sentence, _ in beyond])
        every = Extractor(template).keys(columns)
        places = columns.sentence_ptr[:-1] + np.array([at for *_, at in beyond])
        numbers.append(np.array([number for number, *_ in beyond]))
        keys.append(every[places, [p for _, p, _, _ in beyond]])
    pairs = np.empty(sum(map(len, keys)), [("number", np.int64), ("key", np.uint64)])
    pairs["number"], pairs["key"] = np.concatenate(numbers), np.concatenate(keys)
    pairs = np.unique(pairs)  # patterns of the same form share their features
    return pairs["number"], pairs["key"]


def _cuts(text: str, parts: list[str], start: int = 0) -> Iterator[tuple[str, ...]]:
    """The texts between the parts of a string, which has the first part at `start`, in all ways."""
    if not _fits(text, parts, start):
        return
    start += len(parts[0])
    if len(parts) == 1:
        yield ()
    elif len(parts) == 2:
        yield (text[start : len(text) - len(parts[1])],)
    else:
        at = text.find(parts[1], start + 1)
        while at >= 0 and _fits(text, parts[1:], at):  # so each way to begin leads to an end
            for rest in _cuts(text, parts[1:], at):
                yield (text[start:at], *rest)
            at = text.find(parts[1], at + 1)


def _fits(text: str, parts: list[str], start: int) -> bool:
    """Whether the parts follow one another from `start` to the end, with texts between them."""
    at = start + len(parts[0])
    for part in parts[1:-1]:
        at = text.find(part, at + 1)
        if at < 0:
            return False
        at += len(part)
    if len(parts) == 1:
        return at == len(text)
    return at < len(text) - len(parts[-1]) and text.endswith(parts[-1])


def _inside(pattern: Pattern, values: list[tuple[str, ...]]) -> np.ndarray:
    """The keys of a pattern whose cells have these values: a key depends on them, not on their places."""
    width = max(len(pattern.cells), 1)
    here = replace(pattern, cells=tuple(Cell(column, "", 0) for column in range(len(pattern.cells))))
    sentences = [[row if width > 1 else "".join(row) or FILLER] for row in values]
    columns = Columns.from_sentences(sentences)
    keys: np.ndarray = Extractor(Template((here,))).keys(columns)[:, 0]
    return keys


def _at_the_edge(
    template: Template, cells: tuple[Cell, ...], values: tuple[str, ...], outside: Outside
) -> Iterator[tuple[list[tuple[str, ...]], int]]:
    """Sentences at whose token the cells have these values, if some of them stand for no token."""
    furthest = max((abs(cell.offset) for cell in template.cells), default=0)
    distances = [outside(value, furthest) for value in values]
    pairs = [(cell.offset, d) for cell, some in zip(cells, distances, strict=True) for d in some]
    firsts = {d - offset for offset, d in pairs if offset <= d < 0}
    afters = {offset - d for offset, d in pairs if 0 < d <= offset}
    for first, after in product([None, *sorted(firsts)], [None, *sorted(afters)]):
        inner = [
            cell.offset for cell, some in zip(cells, distances, strict=True)
            if not any(d - cell.offset == first if d < 0 else cell.offset - d == after for d in some)
        ]  # fmt: skip
        if first is not None or after is not None:
            yield from _filled(
                template, cells, values, distances,
                max([0, *(-offset for offset in inner)]) if first is None else first,
                max([0, *inner]) if after is None else after,
            )  # fmt: skip


def _filled(
    template: Template,
    cells: tuple[Cell, ...],
    values: tuple[str, ...],
    distances: list[list[int]],
    first: int,
    after: int,
) -> Iterator[tuple[list[tuple[str, ...]], int]]:
    """A sentence with this many tokens before and after one whose cells have the values, if there is one."""
    n = first + 1 + after
    tokens = [[FILLER] * max(template.width, 1) for _ in range(n)]
    written: dict[tuple[int, int], str] = {}
    for cell, value, some in zip(cells, values, distances, strict=True):
        at = first + cell.offset
        if 0 <= at < n:
            if written.setdefault((at, cell.column), value) != value:
                return
            tokens[at][cell.column] = value
        elif (at if at < 0 else at - n + 1) not in some:
            return
    yield [tuple(token) for token in tokens], first


class Cells(NamedTuple):
    """Weights of features: the positions of their strings, labels, and values.

    A label is y, or L + p L + y for a pair of labels p, y, where L is their number.
    """

    number: np.ndarray
    label: np.ndarray
    value: np.ndarray


def model_of(
    template: Template, labels: list[str], strings: list[str], cells: Cells, outside: Outside
) -> TaggerModel:
    """A model. Strings that have weights for pairs of labels are those of patterns without cells."""
    L = len(labels)
    number, label, value = (array[np.argsort(cells.number, kind="stable")] for array in cells)
    pair = label >= L
    alone = np.zeros(len(strings), bool)
    alone[number[~pair]] = True
    own = np.flatnonzero(alone)
    numbers, keys = feature_keys(template, [strings[k] for k in own.tolist()], outside)
    numbers, table = own[numbers], KeyTable()
    rows = table.rows(keys, grow=True).astype(np.int64)
    names: list[str | None] = [None] * len(table)
    for row, at in zip(rows.tolist(), numbers.tolist(), strict=True):
        names[row] = strings[at]
    single = np.flatnonzero(~pair)  # of each key, those of its string
    starts = np.searchsorted(number[single], numbers)
    counts = np.searchsorted(number[single], numbers, "right") - starts
    taken = np.repeat(starts - np.append(0, np.cumsum(counts)[:-1])[: len(counts)], counts)
    taken = single[taken + np.arange(len(taken))]
    before, after = np.divmod(label[pair] - L, L)
    weights = weight_rows(
        np.concatenate([before, np.repeat(rows + L + 1, counts)]),
        np.concatenate([after, label[taken]]),
        np.concatenate([value[pair], value[taken]]), L, L + 1 + len(table),
    )  # fmt: skip
    space = FeatureSpace(template=template, table=table, names=names)
    return TaggerModel(space, LabelSpace(tuple(labels)), weights, likelihood=True)


def checked_labels(labels: list[str]) -> list[str]:
    """Labels of a model; raise ValueError for too many or equal ones."""
    if not 0 < len(labels) <= MOST_LABELS or len({*labels}) < len(labels):
        raise ValueError(f"it has {len(labels)} labels, which must differ and be at most {MOST_LABELS}")
    return labels


def integer(text: str) -> int:
    """A number of a text file, in at most 18 digits."""
    if not re.fullmatch(r"\d{1,18}", text):
        raise ValueError(f"{text[:40]!r} is not a number")
    return int(text)
