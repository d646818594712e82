"""Features joined with a label before, as y[-1]|w[0]: which rows they have for which label.

The cells alone give a number (a table of its own); number and label together give a key of the model's
feature table, and so a row of weights. Only pairs met in training have rows: frequency cut-off, pruning and
growth treat them like all features.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from structsvm.problems.sequence.bigrams import labels_before
from taggers.features._extract import Extractor
from taggers.features._lexicon import hash_string
from taggers.features._table import KeyTable
from taggers.features.extract import Features
from taggers.features.template import Template
from taggers.formats._columns import Columns

NONE = (
    "\n"  # stands for the label before the first token, and for one that is not known: no label is called so
)
FACTOR, HALF = np.uint64(0x9FB21C651E98DF25), np.uint64(32)


class History:
    """The bigram patterns of a template, and the numbers of what they have met.

    Parameters
    ----------
    template : its `bigrams` are used.
    numbers : the table from the key of a pattern with its cells' values to its number.
    clusters : of words, where the template asks for them.
    """

    def __init__(self, template: Template, numbers: KeyTable, clusters: Any = None) -> None:
        self.numbers = numbers
        self.patterns = template.bigrams
        self.distances = tuple(pattern.back for pattern in template.bigrams)
        self.extractor = Extractor(Template(template.bigrams), clusters)

    def ids(self, columns: Columns, *, grow: bool = False) -> np.ndarray:
        """int32, tokens x patterns: the number of each pattern at each token, -1 where it has none."""
        rows, _ = self.extractor.rows(columns, self.numbers, grow=grow, fixed=True)
        return rows.reshape(columns.n_tokens, len(self.patterns))

    def rows(self, table: KeyTable, labels: Sequence[str]) -> np.ndarray:
        """int32, numbers x (labels + 1): the rows of all pairs, the last column where no label is before."""
        keys = _mix(self.numbers.keys[:, None], _hashes(labels))
        return table.rows(keys.reshape(-1)).reshape(keys.shape)

    def learn(
        self, features: Features, codes: np.ndarray, table: KeyTable, labels: Sequence[str]
    ) -> Features:
        """Give rows to the pairs of the gold labels, and return where they occur, as features of tokens."""
        assert features.bigrams is not None
        ids, names = features.bigrams.ids, _hashes(labels)
        keys = np.zeros(ids.shape, np.uint64)
        for k, distance in enumerate(self.distances):
            before = labels_before(codes, features.sentence_ptr, distance, len(labels))
            known = ids[:, k] >= 0
            keys[known, k] = _mix(self.numbers.keys[ids[known, k]], names[before[known]])
        rows = table.rows(keys.reshape(-1), grow=True).reshape(keys.shape)
        token_ptr = np.concatenate([[0], np.cumsum((rows >= 0).sum(axis=1))])
        return Features(rows[rows >= 0], token_ptr, features.sentence_ptr)


def _hashes(labels: Sequence[str]) -> np.ndarray:
    return np.array([hash_string(name) for name in [*labels, NONE]], np.uint64)


def _mix(key: np.ndarray, value: np.ndarray) -> np.ndarray:
    """As in _hash.pxd."""
    mixed = (key ^ value) * FACTOR
    return mixed ^ (mixed >> HALF)
