"""Word classes: clusters of words with similar neighbours, found in text without labels.

A word that occurs at least twice is described by its left and right neighbours: square roots of the
counts, with less weight for neighbours that all words share, scaled to length one. Spherical k-means,
started from the most frequent words, groups the main directions of this table (a singular value
decomposition). Nothing is random: the same text gives the same classes, bit for bit on the same BLAS
and processor.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from inspect import signature
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Any

import numpy as np

from structsvm.files.atomic import temporary_space
from taggers.features._extract import Extractor
from taggers.features._lexicon import hash_string
from taggers.features._table import KeyTable
from taggers.features.template import parse_template
from taggers.formats._columns import Columns

if TYPE_CHECKING:
    from scipy.sparse import csr_array

N_CLASSES = 200
DIMENSIONS = 50
NEIGHBOURS = 2000  # the most frequent words; all others are the same neighbour
LEAST_SEEN = 2  # a word that occurs once is treated like an unknown word
WORDS_PER_CLASS = 4  # at least, on average: a small text has fewer classes
ROUNDS = 15
MOST_WORDS = 3_000_000  # seen so far; beyond this, words that occurred once are forgotten
MOST_CLASSIFIED = 100_000
PART = 1 << 20  # tokens
IN_MEMORY = 1 << 26  # bytes; a longer text is kept in a temporary file
BLOCK = 1 << 13  # words
EDGE = np.array([-1], np.int32)  # between sentences
WORDS = Extractor(parse_template("w[0]"))


def word_keys(words: list[str]) -> np.ndarray:
    """The keys of words, as in `TaggerModel.words`."""
    return (WORDS.keys(Columns.from_sentences([words]))[:, 0] >> np.uint64(32)).astype(np.uint32)


def add_words(table: KeyTable, columns: Columns) -> KeyTable:
    """Add the keys of the words in columns to a table, and return it."""
    table.rows(WORDS.keys(columns)[:, 0], grow=True)
    return table


def merged(known: np.ndarray, more: np.ndarray) -> np.ndarray:
    """Sorted distinct keys of words with more of them."""
    if len(known):
        more = more[known.take(np.searchsorted(known, more), mode="clip") != more]
    if not len(more):
        return known
    more = np.sort(more[more != 0])
    more = more[np.diff(more, prepend=0) != 0]  # np.unique would import a part of NumPy, which takes a while
    return np.insert(known, np.searchsorted(known, more), more)


@dataclass(frozen=True)
class WordClasses:
    """The class of each word, by the hash of the word; words without a class are left out.

    A word is looked up as it is written, then in lower case. keys: uint64, or uint32 for their upper halves.
    numbers: the class of each word. names: those of the classes, such as the paths of a Brown clustering; a
    class without a name is called by its number.
    """

    keys: np.ndarray
    numbers: np.ndarray  # uint16 or uint32
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.numbers.shape != self.keys.shape or self.numbers.dtype not in (np.uint16, np.uint32):
            raise ValueError("every word must have exactly one class")
        if self.names and int(self.numbers.max(initial=0)) >= len(self.names):
            raise ValueError("every class must have a name")
        _ = self.table  # refuses keys that are not hashes

    @cached_property
    def table(self) -> KeyTable:
        return KeyTable(self.keys)

    @cached_property
    def hierarchical(self) -> bool:
        """Whether the names are paths of bits in a binary tree, so that their prefixes are classes too."""
        return bool(self.names) and all(map(PATH.fullmatch, self.names))

    @cached_property
    def known(self) -> tuple[np.ndarray, np.ndarray]:
        """The classes, and int32: of each word, the position of its class among them."""
        if self.names:
            return np.arange(len(self.names)), self.numbers.astype(np.int32)
        used, places = np.unique(self.numbers, return_inverse=True)
        return used, places.astype(np.int32)

    def values(self, bits: int = 0) -> np.ndarray:
        """uint64: the value of each class in the lexicon, the hash of its name or of the first bits of it."""
        if bits not in self._values:
            names = [self._name(number, bits) for number in self.known[0].tolist()]
            self._values[bits] = np.array([hash_string(name) for name in names], np.uint64)
        return self._values[bits]

    @cached_property
    def _values(self) -> dict[int, np.ndarray]:
        return {}

    def __call__(self, text: str, bits: int = 0) -> str | None:
        """The class of a word, as text, or the first bits of its path."""
        keys = np.array([hash_string(text), hash_string(text.lower())], np.uint64)
        row = next((row for row in self.table.rows(keys).tolist() if row >= 0), None)
        return None if row is None else self._name(int(self.numbers[row]), bits)

    def _name(self, number: int, bits: int) -> str:
        name = self.names[number] if self.names else str(number)
        return name[:bits] if bits else name

    def __getstate__(self) -> dict[str, Any]:
        return {"keys": self.keys, "numbers": self.numbers, "names": self.names}


NONE = WordClasses(np.zeros(0, np.uint64), np.zeros(0, np.uint16))
PATH = re.compile("[01]+")


class Text:
    """The words of a text: how often each occurs, and in a temporary file, which follow each other.

    Memory does not grow with the text: words beyond MOST_WORDS that occur once are forgotten.
    """

    def __init__(self) -> None:
        self.ids: dict[str, int] = {}  # of words in lower case
        self.counts = np.zeros(0, np.int64)  # by id
        self.n_tokens = 0
        # int32: the ids, with -1 before the first and after each sentence
        self._file = SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115
        self._file.write(EDGE.tobytes())

    def __enter__(self) -> Text:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def add(self, columns: Columns) -> None:
        """Read more sentences."""
        _, first, inverse, counts = np.unique(
            WORDS.keys(columns)[:, 0], return_index=True, return_inverse=True, return_counts=True
        )
        texts = [columns.text(token).lower() for token in first.tolist()]
        size = len(self.counts)
        ids = np.array([self.ids.setdefault(text, size + k) for k, text in enumerate(texts)], np.int64)
        if ids.max(initial=-1) >= size:
            self.counts = np.append(self.counts, np.zeros(len(texts), np.int64))
        np.add.at(self.counts, ids, counts)
        flat = np.full(columns.n_tokens + columns.n_sentences, -1, np.int32)
        sentence = np.repeat(np.arange(columns.n_sentences), np.diff(columns.sentence_ptr))
        flat[np.arange(columns.n_tokens) + sentence] = ids[inverse]
        with temporary_space():
            self._file.write(flat.tobytes())
        self.n_tokens += columns.n_tokens
        if len(self.ids) > MOST_WORDS:
            self.ids = {text: k for text, k in self.ids.items() if self.counts[k] > 1}

    def frequent(self, most: int) -> tuple[list[str], np.ndarray]:
        """The words that occur at least LEAST_SEEN times, the most frequent first, and their keys."""
        found = [(text, k) for text, k in self.ids.items() if self.counts[k] >= LEAST_SEEN]
        keys = np.array([hash_string(text) for text, _ in found], np.uint64)
        counts = self.counts[[k for _, k in found]] if found else np.zeros(0, np.int64)
        order = np.lexsort([keys, -counts])[:most]
        return [found[k][0] for k in order.tolist()], keys[order]

    def parts(self, size: int = PART) -> Iterator[np.ndarray]:
        """The ids of all sentences, in parts that begin and end with -1."""
        self._file.seek(0)
        rest = np.zeros(0, np.int32)
        while data := self._file.read(4 * size):
            rest = np.concatenate([rest, np.frombuffer(data, np.int32)])
            end = int(np.flatnonzero(rest == -1)[-1]) if (rest == -1).any() else 0
            if end:
                yield rest[: end + 1]
                rest = rest[end:]


_last: tuple[bytes, WordClasses] | None = None  # the layers of a pipeline learn from the same words


def find_word_classes(columns: Columns) -> WordClasses:
    """The classes of the words in the first column; none if there is too little text."""
    global _last
    same = sha256(WORDS.keys(columns).tobytes() + columns.sentence_ptr.tobytes()).digest()
    last = _last  # another thread may replace it
    if last is not None and last[0] == same:
        return last[1]
    with Text() as text:
        text.add(columns)
        found = learn_classes(text, N_CLASSES)[0]
    _last = same, found
    return found


def learn_classes(text: Text, k: int, *, named: bool = False) -> tuple[WordClasses, list[str]]:
    """At most k classes of the frequent words of a text, and these words; none if there is too little text.

    named: name the classes by their paths in a binary tree.
    """
    words, keys = text.frequent(MOST_CLASSIFIED)
    n, k = len(words), min(k, len(words) // WORDS_PER_CLASS)
    if k < 2:
        return NONE, []
    rank = np.full(len(text.counts) + 1, n)  # of each word among all; the last is never used
    rank[[text.ids[word] for word in words]] = np.arange(n)
    try:
        vectors = _directions(_weighted(_neighbours(text.parts(), rank, n)))
    except RuntimeError as error:  # ARPACK's
        warnings.warn(f"no word classes were found, so the tagger does not use any: {error}", stacklevel=2)
        return NONE, []
    weights = np.sqrt(text.counts[[text.ids[word] for word in words]])
    numbers = _grouped(vectors, weights, k)
    names = tuple(_paths(vectors, numbers, k)) if named else ()
    return WordClasses(keys, numbers.astype(np.uint16), names), words


def _neighbours(parts: Iterable[np.ndarray], rank: np.ndarray, n: int) -> csr_array:
    """How often each of the first n words has which neighbours, left and right."""
    from scipy.sparse import coo_array, csr_array

    rare = min(n, NEIGHBOURS)
    edge, width = rare + 1, rare + 2
    total = csr_array((n, 2 * width))
    waiting: list[csr_array] = []
    for ids in parts:
        word = rank[ids]
        known = np.where(ids < 0, edge, np.minimum(word, rare))
        keep = (ids >= 0) & (word < n)
        at = np.flatnonzero(keep)
        places = np.concatenate([known[at - 1], width + known[at + 1]])
        ones = np.ones(len(places))
        waiting.append(coo_array((ones, (np.tile(word[at], 2), places)), total.shape).tocsr())
        if sum(part.nnz for part in waiting) > total.nnz:
            total, waiting = sum(waiting, total), []
    return sum(waiting, total)


def _weighted(counts: csr_array) -> csr_array:
    """The table of neighbours, weighted as described above."""
    totals, common = counts.sum(axis=1), counts.sum(axis=0)
    counts.data = np.sqrt(counts.data) / np.sqrt(np.repeat(totals, np.diff(counts.indptr)))
    counts.data /= common[counts.indices] ** 0.25
    return counts


def _directions(table: csr_array) -> np.ndarray:
    """Each row by its main directions, of length one."""
    from scipy.linalg import svd
    from scipy.sparse.linalg import LinearOperator, eigsh

    size = table.shape[1]
    products = LinearOperator((size, size), matvec=lambda x: table.T @ (table @ x), dtype=np.float64)
    # svds would do, but it continues with random vectors when a part of the space is exhausted.
    seed = {"rng": 0} if "rng" in signature(eigsh).parameters else {}  # before SciPy 1.17 the seed is fixed
    _, right = eigsh(products, k=min(DIMENSIONS, min(table.shape) - 1), v0=np.ones(size), **seed)
    left, scale, _ = svd(table @ np.linalg.qr(right)[0], full_matrices=False)
    vectors = (left * scale)[:, ::-1]
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def group_vectors(vectors: np.ndarray, k: int) -> tuple[list[int], list[str]]:
    """The class of each vector, among at most k, and the path of each class in a binary tree."""
    k = min(k, len(vectors))
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    numbers = _grouped(unit, np.ones(len(unit)), k)
    return numbers.tolist(), _paths(unit, numbers, k)


def _paths(vectors: np.ndarray, numbers: np.ndarray, k: int) -> list[str]:
    """The path of each class: the nearest classes are joined until there is one (Ward's method)."""
    from scipy.cluster.hierarchy import linkage

    if k < 2:
        return ["0"] * k
    centres = np.zeros((k, vectors.shape[1]))
    np.add.at(centres, numbers, vectors)
    centres /= np.maximum(np.linalg.norm(centres, axis=1, keepdims=True), 1e-12)
    joins = linkage(centres, "ward")[:, :2].astype(int).tolist()
    paths = {k + len(joins) - 1: ""}
    for join in range(len(joins) - 1, -1, -1):  # from the root
        for bit, child in enumerate(joins[join]):
            paths[child] = paths[k + join] + str(bit)
    return [paths[number] for number in range(k)]


def _grouped(vectors: np.ndarray, weights: np.ndarray, k: int) -> np.ndarray:
    """The nearest of k centres for each vector; the first k vectors are the initial centres."""
    from scipy.sparse import csr_array

    centres = vectors[:k].copy()
    each = np.arange(len(vectors))
    for _ in range(ROUNDS):
        nearest = _nearest(vectors, centres)
        sums = csr_array((weights, (nearest, each)), (k, len(vectors))) @ vectors
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(lengths > 0, sums / np.maximum(lengths, 1e-12), centres)
    return _nearest(vectors, centres)


def _nearest(vectors: np.ndarray, centres: np.ndarray) -> np.ndarray:
    blocks = [vectors[start : start + BLOCK] for start in range(0, len(vectors), BLOCK)]
    return np.concatenate([np.argmax(block @ centres.T, axis=1) for block in blocks])
