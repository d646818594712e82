"""A dependency parser: greedy transitions find the tree, then each arc gets a label.

A third stage can search for a better tree. Its features include the greedy tree and its labels.
"""

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
from structsvm.signals import Stop
from structsvm.threads import for_each, in_threads, stoppable
from taggers.dependencies._graph import Graph
from taggers.dependencies._greedy import Arcs
from taggers.dependencies._labeller import Labels
from taggers.dependencies._lines import Lines
from taggers.dependencies.templates import (
    ARC_NUMBERS,
    ARC_PLACES,
    ARCS,
    ATTRIBUTES,
    GRAPH_NUMBERS,
    GRAPH_PLACES,
    GRAPHS,
    GUESSED,
    STATE_NUMBERS,
    STATE_PLACES,
    STATES,
    parse_templates,
)  # fmt: skip
from taggers.features._lexicon import hash_string
from taggers.features.extract import shares

MOST_LABELS = 1000
EPOCHS = 10
GRAPH_EPOCHS = 3
FOLDS = 5  # of jackknifing
FOLD_EPOCHS = (3, 2)  # of trees and of labels
NEIGHBOURS = 10  # sentences in the same fold
EXPLORED = 0.9  # how often training follows a prediction instead of the best right action, after one pass
SMALLEST = 2000  # tokens of a thread
WEIGHTS = 15  # of a feature of states
BLOCK = 10000  # features whose weights are copied together
PRUNED_PARTS = 0.25  # weights of parts of trees are smaller; chosen on two dev files
PRUNED = 2.5  # times as much as in taggers, whose weights are smaller; chosen on four dev files
META = Table(
    Field("labels", names(least=1, most=MOST_LABELS), "the labels of arcs"),
    Field("roots", Array(np.uint8, "labels", low=0, high=3), "1: labels of the root's child, 2: of others"),
    Field("states", text(), "the templates of the features of states"),
    Field("arcs", text(), "the templates of the features of labelled arcs"),
    Field("state_tags", Array(np.uint32, "states"), "the hash of each feature of states"),
    Field("arc_tags", Array(np.uint32, "arcs"), "the hash of each feature of arcs"),
    Field("graph", text(), "the templates of the features of parts of trees; empty for a greedy parser", ""),
    Field("graph_tags", Array(np.uint32, "parts"), "the hash of each feature of parts of trees", None),
    Field("reads", names(), "the columns that it reads if it is alone in its file", []),
    Field("report", mapped(), "sentences, tokens and passes of training"),
)
READ = ("upos", "xpos", "feats", "lemma")
DIGITS = str.maketrans("123456789", "000000000")
ROOT, NONE = np.uint64(hash_string("<root>")), np.uint64(hash_string("<none>"))
PUNCT, VERB = hash_string("PUNCT"), hash_string("VERB")
MIXER = np.uint64(0x9FB21C651E98DF25)


def _no_rows(width: int) -> SparseRows:
    return SparseRows.from_dense(np.zeros((0, width), np.float32))


Values = tuple[np.ndarray, Sequence[str]]  # for each token the position of its value in a list


@dataclass
class DependencyParser:
    """Finds the head of each word and the label of its arc; the trees are projective and have one root.

    labels: the labels of arcs. roots: for each label, 1 if a child of the root may have it, 2 if another
    word may, or 3. state_tags, arc_tags: the hash of each feature of states and of labelled arcs; their
    weights follow. states, arcs: the templates. graph, graph_tags, graph_weights: the same for the parts of
    trees; without a template, the trees stay those of greedy search. reads: the columns that a file must
    have if it holds only this parser.
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
    graph: str = ""
    graph_tags: np.ndarray = field(default_factory=partial(np.zeros, 0, np.uint32))
    graph_weights: SparseRows = field(default_factory=partial(_no_rows, WEIGHTS))

    @cached_property
    def machines(self) -> tuple[Arcs, Labels, Graph | None]:
        """The stages, with the weights as parsing needs them; they are made when they are first needed."""
        return self.arcs_machine(), self.labels_machine(), self.graph_machine() if self.graph else None

    @property
    def search(self) -> str:
        """How this parser searches for trees: `greedy`, `exact` or `accurate`."""
        if not self.graph:
            return "greedy"
        return "accurate" if self.graph_machine().second else "exact"

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

    def graph_machine(self, *, random_state: int = 0) -> Graph:
        """The stage that improves trees, with the weights of this parser."""
        cells = parse_templates(self.graph, GRAPH_PLACES, GRAPH_NUMBERS, ATTRIBUTES + GUESSED).cells
        graph = Graph(cells, PUNCT, VERB, random_state)
        graph.lines = Lines.of(self.graph_tags, *_cells(self.graph_weights))
        return graph

    @classmethod
    def empty(cls, labels: Sequence[str], roots: ArrayLike) -> DependencyParser:
        """A parser without weights."""
        none = np.zeros(0, np.uint32)
        rows = _no_rows(WEIGHTS), _no_rows(len(labels))
        return cls(list(labels), np.array(roots, np.uint8), none, rows[0], none, rows[1])

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
        arcs, labeller, graph = self.machines
        table = attributes(forms, values, guessed=graph is not None)
        ptr = np.ascontiguousarray(sentence_ptr, np.int64)
        heads, labels = np.zeros(len(forms), np.int32), np.zeros(len(forms), np.int32)

        def work(first: int, last: int) -> None:
            arcs.parse(table, ptr, heads, first, last)
            labeller.label(table, ptr, heads, labels, first, last)
            if graph is not None:
                self.guess(table, labels, int(ptr[first]), int(ptr[last]))
                graph.parse(table, ptr, heads, first, last)
                labeller.label(table, ptr, heads, labels, first, last)

        bounds = shares(ptr, max(min(jobs, len(forms) // SMALLEST), 1))
        tasks = [partial(work, a, b) for a, b in pairwise(bounds)]
        if len(tasks) == 1:
            work(bounds[0], bounds[-1])
        else:
            in_threads(tasks, jobs)
        return heads, labels

    def guess(self, table: np.ndarray, labels: np.ndarray, first: int, last: int) -> None:
        """Add the labels of the greedy trees of some words to their attributes."""
        hashes_ = np.array([hash_string(name) for name in self.labels], np.uint64)
        table[first + 2 : last + 2, len(ATTRIBUTES)] = hashes_[labels[first:last]]

    def compact(self, prune: float, dtype: str) -> DependencyParser:
        """This parser without weights up to PRUNED * prune, and without features that have no others."""
        states, kept = self.state_weights.compact(PRUNED * prune, dtype)
        arcs, known = self.arc_weights.compact(PRUNED * prune, dtype)
        parts, used = self.graph_weights.compact(PRUNED_PARTS * prune, dtype)
        return replace(
            self, state_tags=self.state_tags[kept], state_weights=states, arc_tags=self.arc_tags[known],
            arc_weights=arcs, graph_tags=self.graph_tags[used], graph_weights=parts,
        )  # fmt: skip

    def described(self) -> dict[str, Any]:
        """Describe the parser, as `structsvm inspect` shows it."""
        return {
            "labels": self.labels,
            "root": [name for name, may in zip(self.labels, self.roots.tolist(), strict=True) if may & 1],
            "arcs": f"{len(self.state_tags)} features, {len(self.state_weights.cells)} weights",
            "labels of arcs": f"{len(self.arc_tags)} features, {len(self.arc_weights.cells)} weights",
            "search": self.search,
            "parts of trees": f"{len(self.graph_tags)} features, {len(self.graph_weights.cells)} weights",
            "training": self.report,
        }  # fmt: skip

    def packed(self, dtype: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The arrays and metadata of this parser, for a file."""
        own = {one.name: getattr(self, one.name) for one in META.fields}
        stages = {"state": self.state_weights, "arc": self.arc_weights}
        if self.graph:
            stages["graph"] = self.graph_weights
        else:
            own |= {"graph_tags": None}
        arrays, meta = META.write(own)
        for name, weights in stages.items():
            arrays |= {f"{name}-{key}": value for key, value in weights.packed(dtype).items()}
        return arrays, meta

    @classmethod
    def unpacked(cls, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> DependencyParser:
        """The parser of `packed`; ValueError for arrays that do not fit together."""
        found = META.read(arrays, meta)
        sizes = {"state": WEIGHTS, "arc": len(found["labels"])}
        if found["graph_tags"] is not None:
            sizes["graph"] = WEIGHTS
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
        if bool(found["graph"]) != ("graph" in weights):
            raise ValueError("the parts of trees have templates or weights, but not both")
        if "graph" in weights:
            parts = {"graph_tags": found["graph_tags"], "graph_weights": weights["graph"]}
            parser = replace(parser, graph=found["graph"], **parts)
        _ = parser.machines  # checks the templates and the tags
        return parser


def dense_bytes(arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any], prefix: str) -> int:
    """The memory that the weights of a file take in the parser, where rows have weights of all labels."""
    sizes = {"state": 2 * 64, "arc": 4 * (len(meta["labels"]) + 16)}
    if f"{prefix}graph_tags" in arrays:
        sizes["graph"] = 2 * 64
    tables = sum(len(arrays[f"{prefix}{name}_tags"]) * size for name, size in sizes.items())
    return tables + sum(shared_bytes(arrays, f"{prefix}{name}-") for name in sizes)


def attributes(forms: Sequence[str], values: Mapping[str, Values], *, guessed: bool = False) -> np.ndarray:
    """The hash of each attribute of each word, after a row for the root and one for no word.

    guessed: with room for the labels of greedy trees.
    """
    places: dict[str, int] = {}
    at = np.fromiter((places.setdefault(form, len(places)) for form in forms), np.int32, len(forms))
    plain = [form.lower().translate(DIGITS) for form in places]
    words = np.array([hash_string(word) for word in plain], np.uint64)
    ends = np.array([hash_string(word[-3:]) for word in plain], np.uint64)
    upos, xpos, feats, lemma = (hashes(values.get(name), len(forms)) for name in READ)
    table = np.empty((len(forms) + 2, len(ATTRIBUTES) + guessed), np.uint64)
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
        if parser.graph:
            raise ValueError(
                f"a parser trained with --search {parser.search} cannot learn more; use --search greedy"
            )
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
    search: str = "greedy",
    random_state: int = 0,
    epochs: int = EPOCHS,
    jobs: int = 1,
) -> DependencyParser:
    """Learn from words with their tags, heads (0 is the root) and the labels of their arcs.

    search: `greedy`, `exact` or `accurate`, see GRAPHS. jobs: the number of threads that jackknife.
    """
    table = attributes(forms, values, guessed=search != "greedy")
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
    parser = _greedy(parser, table, ptr, heads, gold, random_state, (epochs, epochs))
    if search == "greedy":
        return parser
    guess = _jackknifed(parser, table, ptr, heads, gold, random_state, jobs)
    parser = replace(parser, graph=GRAPHS[search])
    graph = parser.graph_machine(random_state=random_state)
    for _ in range(GRAPH_EPOCHS):
        graph.epoch(table, ptr, guess, heads)
    tags = graph.lines.tags
    return replace(parser, graph_tags=tags, graph_weights=_rows(graph.averaged, tags, WEIGHTS))


def _greedy(
    parser: DependencyParser, table: np.ndarray, ptr: np.ndarray, heads: np.ndarray, gold: np.ndarray,
    random_state: int, epochs: tuple[int, int],
) -> DependencyParser:  # fmt: skip
    """Learn trees and then labels: one stage after the other, because their tables take much memory."""
    arcs = parser.arcs_machine(random_state=random_state)
    for epoch in range(epochs[0]):
        arcs.epoch(table, ptr, heads, EXPLORED if epoch else 0.0)
    parser = replace(parser, **_states(arcs))
    del arcs
    labeller = parser.labels_machine(learning=True, random_state=random_state)
    for _ in range(epochs[1]):
        labeller.epoch(table, ptr, heads, gold)
    return replace(parser, **_arcs(labeller))


def _jackknifed(
    parser: DependencyParser, table: np.ndarray, ptr: np.ndarray, heads: np.ndarray, gold: np.ndarray,
    random_state: int, jobs: int,
) -> np.ndarray:  # fmt: skip
    """Parse each sentence with a greedy parser that has not seen it; add the labels to the attributes."""
    n, lengths = len(ptr) - 1, np.diff(ptr)
    guess, labels = np.zeros_like(heads), np.zeros_like(heads)
    fold = np.arange(n) // min(NEIGHBOURS, max(n // FOLDS, 1)) % FOLDS
    empty = DependencyParser.empty(parser.labels, parser.roots)

    def trees(k: int) -> None:
        used = fold != k if n > 1 else fold == k
        words = np.repeat(used, lengths)
        own = np.ascontiguousarray(table[np.concatenate([[True, True], words])])
        bounds = np.concatenate([[0], np.cumsum(lengths[used])])
        one = _greedy(empty, own, bounds, heads[words], gold[words], random_state, FOLD_EPOCHS)
        arcs, labeller, _ = one.machines
        for sentence in np.flatnonzero(fold == k).tolist():
            arcs.parse(table, ptr, guess, sentence, sentence + 1)
            labeller.label(table, ptr, guess, labels, sentence, sentence + 1)

    stop = Stop()
    for_each(stoppable(trees, stop), min(FOLDS, n), jobs, stop)
    parser.guess(table, labels, 0, len(labels))
    return guess
