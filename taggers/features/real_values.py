"""Features with real values, in addition to those of a template: numbers in columns, vectors, user features.

``c2.value[0]`` is the number in the third column. A cell is a number, ``name:number`` for one of several
features, or ``_`` for none. For word vectors called ``vectors``, ``vectors[0]`` adds a feature for each
dimension; the vectors are scaled to length 1. Users add features as dicts, by a function or with the tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from structsvm.problems.sequence import Sequences
from taggers.features._lexicon import hash_string
from taggers.features._ready_features import number_rows
from taggers.features._table import KeyTable
from taggers.features.attributes import VALUE
from taggers.features.class_files import read_vector_file
from taggers.features.documents import FORMS_OF_WORD
from taggers.features.template import Pattern
from taggers.formats._columns import Columns

if TYPE_CHECKING:
    from taggers.features.knowledge import Knowledge

VECTORS = "vectors"


@dataclass(frozen=True)
class WordVectors:
    """Vectors by the keys of their words; a word is looked up as it is written, then in lower case."""

    keys: np.ndarray
    table: np.ndarray  # words x dimensions, float32 or float16

    def __post_init__(self) -> None:
        if self.table.ndim != 2 or self.table.shape[:1] != self.keys.shape or not self.table.shape[1]:
            raise ValueError("every word must have a vector")
        if not np.isfinite(self.table).all():
            raise ValueError("the numbers of a vector must be finite")
        _ = self.index  # refuses keys that are not hashes

    @cached_property
    def index(self) -> KeyTable:
        return KeyTable(self.keys)

    def rows(self, columns: Columns) -> np.ndarray:
        """The row of each token's vector, or -1."""
        word, lower = FORMS_OF_WORD.keys(columns).T
        rows = self.index.rows(word)
        missing = rows < 0
        rows[missing] = self.index.rows(lower[missing])
        return rows

    def features(self, columns: Columns, pattern: Pattern, table: KeyTable, *, grow: bool) -> Sequences:
        """The vector of each token, or of the token at the offset of the pattern, as features."""
        keys = [hash_string(name) for name in self.names(pattern)]
        row_of = table.rows(np.array(keys, np.uint64), grow=grow)
        rows = _shifted(self.rows(columns), columns.sentence_ptr, pattern.cells[0].offset)
        known = rows >= 0
        values = self.table[rows[known]][:, row_of >= 0].astype(np.float32)
        token_ptr = np.concatenate([[0], np.cumsum(known * values.shape[1])])
        return Sequences(
            np.tile(row_of[row_of >= 0], len(values)), token_ptr, columns.sentence_ptr, values.reshape(-1)
        )

    def names(self, pattern: Pattern) -> list[str]:
        """The names of the features of a pattern."""
        return [f"{pattern.text}[{j}]" for j in range(self.table.shape[1])]


def _shifted(rows: np.ndarray, sentence_ptr: np.ndarray, offset: int) -> np.ndarray:
    """For each token the row of the token at an offset in the same sentence, or -1."""
    sentence = np.repeat(np.arange(len(sentence_ptr) - 1), np.diff(sentence_ptr))
    at = np.arange(len(rows)) + offset
    inside = (at >= 0) & (at < len(rows))
    at = np.where(inside, at, 0)
    return np.where(inside & (sentence[at] == sentence), rows[at], -1) if len(rows) else rows


def read_vectors(source: Any, *, most: int | None = None) -> WordVectors:
    """Word vectors from a text file of word2vec, GloVe or fastText, a dict, or a spaCy pipeline."""
    if isinstance(source, (str, Path)):
        words, vectors = read_vector_file(source, most)
    elif isinstance(source, Mapping):
        words, vectors = list(source), list(source.values())
        if any(isinstance(vector, (str, Path)) for vector in vectors):
            raise ValueError("a dict of vectors must map names to files, or words to numbers, not both")
    elif hasattr(source, "vocab"):
        words, vectors = _from_spacy(source)
    else:
        raise ValueError(f"vectors must be a file, a dict or a spaCy pipeline, got {source!r}"[:300])
    words, vectors = words[:most], vectors[:most]
    if not words:
        raise ValueError("there are no word vectors; use a pipeline or a file that has some")
    widths = {len(vector) for vector in vectors}
    if len(widths) > 1:
        raise ValueError(f"vectors of {min(widths)} and {max(widths)} numbers; all need the same width")
    table = np.array(vectors, np.float32)
    keys = FORMS_OF_WORD.keys(Columns.from_sentences([words]))[:, 0]
    _, first = np.unique(keys, return_index=True)
    first = np.sort(first[keys[first] != 0])
    table = table[first]
    # Squares of float32 overflow.
    lengths = np.sqrt(np.einsum("ij,ij->i", table, table, dtype=np.float64))[:, None]
    return WordVectors(keys[first], (table / np.maximum(lengths, 1e-12)).astype(np.float32))


def _from_spacy(nlp: Any) -> tuple[list[str], list[np.ndarray]]:
    table = nlp.vocab.vectors
    pairs = [(nlp.vocab.strings[key], row) for key, row in table.key2row.items()]
    return [word for word, _ in pairs], [table.data[row] for _, row in pairs]


def real_features(
    columns: Columns,
    patterns: Sequence[Pattern],
    knowledge: Knowledge,
    own: list[list[Any]] | None,
    table: KeyTable,
    *,
    grow: bool = False,
) -> list[Sequences]:
    """The real-valued features: one data set for each pattern, then one for the features of the user."""
    from taggers.features.extract import encode_dicts

    found = []
    for pattern in patterns:
        (cell,) = pattern.cells
        if cell.attribute == VALUE:
            rows, token_ptr, values = number_rows(
                columns, cell.column, cell.offset, pattern.text, table, grow=grow
            )
            found.append(Sequences(rows, token_ptr, columns.sentence_ptr, values))
        else:
            vectors = knowledge.vectors[cell.attribute]
            found.append(vectors.features(columns, pattern, table, grow=grow))
    return found if own is None else [*found, encode_dicts(own, table, grow=grow)]


def real_names(
    columns: Columns, patterns: Sequence[Pattern], knowledge: Knowledge, own: list[list[Any]] | None
) -> set[str]:
    """The names from which the keys of these features are computed."""
    from taggers.features.extract import item_names

    names: set[str] = set()
    for pattern in patterns:
        (cell,) = pattern.cells
        if cell.attribute == VALUE:
            names |= {f"{pattern.text}:{text.rpartition(':')[0]}" for text in columns.texts(cell.column)}
        else:
            names |= set(knowledge.vectors[cell.attribute].names(pattern))
    return names.union(name for items in own or () for item in items for name in item_names(item))


def called(function: Callable[[list[Any], int], Any], columns: Columns) -> list[list[Any]]:
    """The features that a function gives each token, from the tokens of its sentence and its position."""
    texts = [columns.sentences(column) for column in range(columns.width)]
    sentences = texts[0] if len(texts) == 1 else [
        list(zip(*parts, strict=True)) for parts in zip(*texts, strict=True)
    ]  # fmt: skip
    return [[function(tokens, at) for at in range(len(tokens))] for tokens in sentences]
