"""Word classes: clusters of words with similar neighbours, found in the training text without its labels.

A word that occurs at least twice is described by its left and right neighbours: square roots of the
counts, with less weight for neighbours that all words share, scaled to length one. Spherical k-means,
started from the most frequent words, groups the main directions of this table (a singular value
decomposition). Nothing is random: the same text gives the same classes, bit for bit on the same BLAS
and processor.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

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
WORDS = Extractor(parse_template("w[0]"))


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

    def values(self, bits: int = 0) -> np.ndarray:
        """uint64: the value of each word in the lexicon, the hash of its class or of the first bits of it."""
        used, numbers = np.unique(self.numbers, return_inverse=True)
        hashes = [hash_string(self._name(number, bits)) for number in used.tolist()]
        return np.array(hashes, np.uint64)[numbers] if len(used) else np.zeros(0, np.uint64)

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


def find_word_classes(columns: Columns) -> WordClasses:
    """The classes of the words in the first column; none if there is too little text."""
    words, ids, counts = np.unique(_lower(columns), return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    n = int((counts >= LEAST_SEEN).sum())
    k = min(N_CLASSES, n // WORDS_PER_CLASS)
    if k < 2:
        return NONE
    rank = np.argsort(order, kind="stable")  # of each word among all, the most frequent first
    try:
        vectors = _directions(_neighbours(rank[ids], columns.sentence_ptr, n))
    except RuntimeError as error:  # ARPACK's
        warnings.warn(f"no word classes were found, so the tagger does not use any: {error}", stacklevel=2)
        return NONE
    numbers = _grouped(vectors, np.sqrt(counts[order[:n]]), k)
    return WordClasses(words[order[:n]], numbers.astype(np.uint16))


def _lower(columns: Columns) -> np.ndarray:
    """The hash of each word's lower-case form."""
    _, first, ids = np.unique(WORDS.keys(columns)[:, 0], return_index=True, return_inverse=True)
    texts = [columns.text(token).lower() for token in first.tolist()]
    return np.array([hash_string(text) for text in texts], np.uint64)[ids]


def _neighbours(ids: np.ndarray, sentence_ptr: np.ndarray, n: int) -> csr_array:
    """How often each of the first n words has which neighbours, weighted as described above."""
    from scipy.sparse import coo_array

    rare = min(n, NEIGHBOURS)
    edge, width = rare + 1, rare + 2
    known = np.minimum(ids, rare)
    left, right = np.roll(known, 1), np.roll(known, -1)
    filled = np.diff(sentence_ptr) > 0
    left[sentence_ptr[:-1][filled]] = right[sentence_ptr[1:][filled] - 1] = edge
    word, neighbour = np.tile(ids, 2), np.concatenate([left, width + right])
    keep = word < n
    counts = coo_array((np.ones(keep.sum()), (word[keep], neighbour[keep])), (n, 2 * width)).tocsr()
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
    centres = vectors[:k].copy()
    for _ in range(ROUNDS):
        nearest = np.argmax(vectors @ centres.T, axis=1)
        sums = np.zeros_like(centres)
        np.add.at(sums, nearest, vectors * weights[:, None])
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(lengths > 0, sums / np.maximum(lengths, 1e-12), centres)
    return np.argmax(vectors @ centres.T, axis=1)
