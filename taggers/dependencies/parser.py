"""A dependency parser of two stages: greedy transitions find the tree, then each arc gets a label."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from structsvm.files.codec import Array, Field, Table, mapped, names, text
from structsvm.files.sparse_weights import SparseRows, shared_bytes
from structsvm.threads import in_threads
from taggers.dependencies._greedy import Arcs
from taggers.dependencies._labeller import Labels
from taggers.dependencies._lines import Lines
from taggers.dependencies.templates import (
    ARC_NUMBERS,
    ARC_PLACES,
    ARCS,
    ATTRIBUTES,
    STATE_NUMBERS,
    STATE_PLACES,
    STATES,
    parse_templates,
)  # fmt: skip
from taggers.features._lexicon import hash_string
from taggers.features.extract import shares

MOST_LABELS = 1000
EPOCHS = 5
EXPLORED = 0.9  # how often training follows a prediction instead of the best right action, after one pass
SMALLEST = 2000  # tokens of a thread
WEIGHTS = 15  # of a feature of states
BLOCK = 10000  # features whose weights are copied together
PRUNED = 2.5  # times as much as in taggers, whose weights are smaller; chosen on four dev files
META = Table(
    Field("labels", names(least=1, most=MOST_LABELS), "the labels of arcs"),
    Field("roots", Array(np.uint8, "labels", low=0, high=3), "1: labels of the root's child, 2: of others"),
    Field("states", text(), "the templates of the features of states"),
    Field("arcs", text(), "the templates of the features of labelled arcs"),
    Field("state_tags", Array(np.uint32, "states"), "the hash of each feature of states"),
    Field("arc_tags", Array(np.uint32, "arcs"), "the hash of each feature of arcs"),
    Field("reads", names(), "the columns that it reads if it is alone in its file", []),
    Field("report", mapped(), "sentences, tokens and passes of training"),
)
READ = ("upos", "xpos", "feats", "lemma")
DIGITS = str.maketrans("123456789", "000000000")
ROOT, NONE = np.uint64(hash_string("<root>")), np.uint64(hash_string("<none>"))
MIXER = np.uint64(0x9FB21C651E98DF25)

Values = tuple[np.ndarray, Sequence[str]]  # for each token the position of its value in a list


@dataclass
class DependencyParser:
    """Finds the head of each word and the label of its arc; the trees are projective and have one root.

    labels: the labels of arcs. roots: for each label, 1 if a child of the root may have it, 2 if another
    word may, or 3. state_tags, arc_tags: the hash of each feature of states and of labelled arcs; their
    weights follow. states, arcs: the templates. reads: the columns that a file must have if it holds only
    this parser.
    """

    labels: list[str]
    roots: np.ndarray
    state_tags: np.ndarray
    state_weights: SparseRows
    arc_tags: np.ndarray
    arc_weights: SparseRows
    states: str = STATES
    arcs: str = ARCS
    reads: list[str] = field(default_factory=list)
    report: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def machines(self) -> tuple[Arcs, Labels]:
        """Both stages, with the weights as parsing needs them; they are made when they are first needed."""
        return self.arcs_machine(), self.labels_machine()

    def arcs_machine(self, *, random_state: int = 0) -> Arcs:
        """The stage that finds trees, with the weights of this parser."""
        arcs = Arcs(*parse_templates(self.states, STATE_PLACES, STATE_NUMBERS), random_state)
        arcs.lines = Lines.of(self.state_tags, *_cells(self.state_weights))
        return arcs

    def labels_machine(self, *, learning: bool = False, random_state: int = 0) -> Labels:
        """The stage that labels arcs, with the weights of this parser; learning: it can learn more."""
        cells = parse_templates(self.arcs, ARC_PLACES, ARC_NUMBERS).cells
        labels = Labels(cells, self.roots, learning=learning, seed=random_state)
        labels.fill(self.arc_tags, *_cells(self.arc_weights))
        return labels

    @classmethod
    def empty(cls, labels: Sequence[str], roots: ArrayLike) -> DependencyParser:
        """A parser without weights."""
        none = np.zeros(0, np.uint32)
        states, arcs = (SparseRows.from_dense(np.zeros((0, n), np.float32)) for n in (WEIGHTS, len(labels)))
        return cls(list(labels), np.array(roots, np.uint8), none, states, none, arcs)

    def with_labels(self, roots: Mapping[str, int]) -> DependencyParser:
        """This parser, with more labels at the end; roots: who may have them, as in `DependencyParser`."""
        may = dict(zip(self.labels, self.roots.tolist(), strict=True))
        new = may | {name: bits | may.get(name, 0) for name, bits in roots.items()}
        if new == may:
            return self
        arcs = SparseRows(self.arc_weights.ptr, self.arc_weights.cells, len(new))
        return replace(self, labels=list(new), roots=np.array([*new.values()], np.uint8), arc_weights=arcs)

    def parse(
        self, forms: Sequence[str], values: Mapping[str, Values], sentence_ptr: np.ndarray, *, jobs: int = 1
    ) -> tuple[np.ndarray, np.ndarray]:
        """The head of each word, counted from 1 in its sentence, and the position of its label in `labels`.

        values: UPOS, XPOS, FEATS and lemmas, by the lower-case names of their columns; missing ones are `_`.
        """
        table = attributes(forms, values)
        ptr = np.ascontiguousarray(sentence_ptr, np.int64)
        heads, labels = np.zeros(len(forms), np.int32), np.zeros(len(forms), np.int32)

        arcs, labeller = self.machines

        def work(first: int, last: int) -> None:
            arcs.parse(table, ptr, heads, first, last)
            labeller.label(table, ptr, heads, labels, first, last)

        bounds = shares(ptr, max(min(jobs, len(forms) // SMALLEST), 1))
        tasks = [partial(work, a, b) for a, b in pairwise(bounds)]
        if len(tasks) == 1:
            work(bounds[0], bounds[-1])
        else:
            in_threads(tasks, jobs)
        return heads, labels

    def compact(self, prune: float, dtype: str) -> DependencyParser:
        """This parser without weights up to PRUNED * prune, and without features that have no others."""
        states, kept = self.state_weights.compact(PRUNED * prune, dtype)
        arcs, known = self.arc_weights.compact(PRUNED * prune, dtype)
        return DependencyParser(
            self.labels, self.roots, self.state_tags[kept], states, self.arc_tags[known], arcs, self.states,
            self.arcs, self.reads, self.report,
        )  # fmt: skip

    def described(self) -> dict[str, Any]:
        """Describe the parser, as `structsvm inspect` shows it."""
        return {
            "labels": self.labels,
            "root": [name for name, may in zip(self.labels, self.roots.tolist(), strict=True) if may & 1],
            "arcs": f"{len(self.state_tags)} features, {len(self.state_weights.cells)} weights",
            "labels of arcs": f"{len(self.arc_tags)} features, {len(self.arc_weights.cells)} weights",
            "training": self.report,
        }  # fmt: skip

    def packed(self, dtype: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The arrays and metadata of this parser, for a file."""
        own = {one.name: getattr(self, one.name) for one in META.fields}
        arrays, meta = META.write(own)
        for name, weights in (("state", self.state_weights), ("arc", self.arc_weights)):
            arrays |= {f"{name}-{key}": value for key, value in weights.packed(dtype).items()}
        return arrays, meta

    @classmethod
    def unpacked(cls, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> DependencyParser:
        """The parser of `packed`; ValueError for arrays that do not fit together."""
        found = META.read(arrays, meta)
        sizes = {"state": WEIGHTS, "arc": len(found["labels"])}
        weights = {
            name: SparseRows.unpacked(
                {key.removeprefix(f"{name}-"): value for key, value in arrays.items()
                 if key.startswith(f"{name}-")}, size)
            for name, size in sizes.items()
        }  # fmt: skip
        for name, rows in weights.items():
            if len(rows) != len(found[f"{name}_tags"]):
                raise ValueError(f"{len(rows)} rows of weights for {len(found[f'{name}_tags'])} features")
        for bit in (1, 2):
            if not (found["roots"] & bit).any():
                raise ValueError("no label for the child of the root, or none for other words")
        parser = cls(
            found["labels"], found["roots"], found["state_tags"], weights["state"], found["arc_tags"],
            weights["arc"], found["states"], found["arcs"], found["reads"], found["report"],
        )  # fmt: skip
        _ = parser.machines  # checks the templates and the tags
        return parser


def dense_bytes(arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any], prefix: str) -> int:
    """The memory that the weights of a file take in the parser, where rows have weights of all labels."""
    sizes = {"state": 2 * 64, "arc": 4 * (len(meta["labels"]) + 16)}
    tables = sum(len(arrays[f"{prefix}{name}_tags"]) * size for name, size in sizes.items())
    return tables + sum(shared_bytes(arrays, f"{prefix}{name}-") for name in sizes)


def attributes(forms: Sequence[str], values: Mapping[str, Values]) -> np.ndarray:
    """The hash of each attribute of each word, after a row for the root and one for no word."""
    places: dict[str, int] = {}
    at = np.fromiter((places.setdefault(form, len(places)) for form in forms), np.int32, len(forms))
    plain = [form.lower().translate(DIGITS) for form in places]
    words = np.array([hash_string(word) for word in plain], np.uint64)
    ends = np.array([hash_string(word[-3:]) for word in plain], np.uint64)
    upos, xpos, feats, lemma = (hashes(values.get(name), len(forms)) for name in READ)
    table = np.empty((len(forms) + 2, len(ATTRIBUTES)), np.uint64)
    table[0], table[1] = ROOT, NONE
    mixed = [upos * MIXER ^ other for other in (feats, xpos)]
    rows = (words[at], upos, mixed[0], lemma, mixed[1], ends[at]) if len(forms) else ()
    for column, row in enumerate(rows):
        table[2:, column] = row
    return table


def hashes(values: Values | None, n: int) -> np.ndarray:
    """The hash of the value of each word; missing values are ``_``."""
    if values is None:
        return np.full(n, hash_string("_"), np.uint64)
    ids, texts = values
    return np.array([hash_string(text or "_") for text in texts], np.uint64)[ids]


class Learner:
    """Learns a parser in passes over sentences, from the weights of another one or from none."""

    def __init__(self, parser: DependencyParser, *, random_state: int = 0) -> None:
        self.start, self.changed = parser, False
        self._arcs = parser.arcs_machine(random_state=random_state)
        self._labels = parser.labels_machine(learning=True, random_state=random_state)

    def epoch(
        self, table: np.ndarray, ptr: np.ndarray, heads: np.ndarray, labels: np.ndarray, *, explore: float
    ) -> float:
        """Make one pass over sentences in random order; return the share of right actions.

        table: see `attributes`. heads: of each word, counted from 1 in its sentence, -1 if unknown. labels:
        their positions, -1 if unknown. explore: how often the next state follows the prediction.
        """
        self.changed = True
        right = self._arcs.epoch(table, ptr, heads, explore)
        if len(heads) and heads.min() < 0:
            heads = heads.copy()
            for first, last in pairwise(ptr.tolist()):
                _complete(heads[first:last])
        self._labels.epoch(table, ptr, heads, labels)
        return float(right)

    def parser(self) -> DependencyParser:
        """The parser that has been learned so far."""
        self.changed = False
        return replace(self.start, **_states(self._arcs), **_arcs(self._labels))


def _states(arcs: Arcs) -> dict[str, Any]:
    tags = arcs.lines.tags
    return {"state_tags": tags, "state_weights": _rows(arcs.averaged, tags, WEIGHTS)}


def _arcs(labels: Labels) -> dict[str, Any]:
    tags = np.sort(labels.tags)
    return {"arc_tags": tags, "arc_weights": _rows(labels.averaged, tags, labels.n_labels)}


def _rows(weights: Callable[[np.ndarray], np.ndarray], tags: np.ndarray, width: int) -> SparseRows:
    """The rows of some features, which take much memory before they are sparse."""
    blocks = (weights(tags[k : k + BLOCK]) for k in range(0, len(tags), BLOCK))
    return SparseRows.from_blocks(blocks, len(tags), width)


def _cells(rows: SparseRows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return rows.ptr, rows.cells["label"], rows.cells["value"]


def _complete(heads: np.ndarray) -> None:
    """Attach the words of a sentence whose heads are unknown (-1) to the root's child, which may be one."""
    unknown = np.flatnonzero(heads < 0)
    if len(unknown) and not (heads == 0).any():
        heads[unknown[0]] = 0
    heads[heads < 0] = int(np.argmax(heads == 0)) + 1


def train_parser(
    forms: Sequence[str],
    values: Mapping[str, Values],
    sentence_ptr: np.ndarray,
    heads: np.ndarray,
    deprels: Sequence[str],
    *,
    random_state: int = 0,
    epochs: int = EPOCHS,
    callback: Callable[..., Any] | None = None,
) -> DependencyParser:
    """Learn from words with their tags, heads (0 is the root) and the labels of their arcs."""
    table = attributes(forms, values)
    ptr, heads = np.ascontiguousarray(sentence_ptr, np.int64), np.ascontiguousarray(heads, np.int32)
    labels = sorted(set(deprels))
    places = {name: k for k, name in enumerate(labels)}
    gold = np.array([places[name] for name in deprels], np.int32)
    roots = np.zeros(len(labels), np.uint8)
    np.bitwise_or.at(roots, gold, np.where(heads == 0, 1, 2).astype(np.uint8))
    if not (roots & 2).any():
        roots |= 2  # every sentence has one word
    report = {"sentences": len(ptr) - 1, "tokens": len(forms), "epochs": epochs}
    parser = replace(DependencyParser.empty(labels, roots), report=report)
    # One stage after the other, because the tables take much memory until the weights are sparse.
    arcs = parser.arcs_machine(random_state=random_state)
    for epoch in range(epochs):
        arcs.epoch(table, ptr, heads, EXPLORED if epoch else 0.0)
    parser = replace(parser, **_states(arcs))
    del arcs
    labeller = parser.labels_machine(learning=True, random_state=random_state)
    for _ in range(epochs):
        labeller.epoch(table, ptr, heads, gold)
    return replace(parser, **_arcs(labeller))
