"""Label bigrams: features joined with a previous label, such as y[-1]|w[0], and their rows of weights.

The cells alone give a number, from a table of their own. Number and label together give a key of the
model's feature table, and so a row of weights. Only pairs seen in training have rows: cutoff,
pruning and growth treat them like all other features.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from structsvm.problems.sequence import SequenceLabels, Sequences, labels_before
from taggers.features._extract import Extractor
from taggers.features._lexicon import hash_string
from taggers.features._table import KeyTable
from taggers.features.template import Template
from taggers.formats._columns import Columns

NONE = "\n"  # the label before the first token, and an unknown one: no label has this name
FACTOR, HALF = np.uint64(0x9FB21C651E98DF25), np.uint64(32)


class LabelBigrams:
    """The label bigrams of a template.

    Parameters
    ----------
    template : its `bigrams` are used.
    numbers : the table from the key of a pattern with the values of its cells to its number.
    knowledge : of the model, where the template needs it.
    """

    def __init__(self, template: Template, numbers: KeyTable, knowledge: Any = None) -> None:
        self.numbers = numbers
        self.patterns = template.bigrams
        self.distances = tuple(pattern.back for pattern in template.bigrams)
        self.extractor = Extractor(Template(template.bigrams), knowledge)

    def ids(self, columns: Columns, *, grow: bool = False) -> np.ndarray:
        """int32, tokens x patterns: the number of each pattern at each token, or -1."""
        rows, _ = self.extractor.rows(columns, self.numbers, grow=grow, fixed=True)
        return rows.reshape(columns.n_tokens, len(self.patterns))

    def rows(self, table: KeyTable, labels: Sequence[str]) -> np.ndarray:
        """int32, numbers x (labels + 1): the row of each pair; the last column is for no previous label."""
        keys = _mix(self.numbers.keys[:, None], _hashes(labels))
        return table.rows(keys.reshape(-1)).reshape(keys.shape)

    def learn(self, ids: np.ndarray, y: SequenceLabels, table: KeyTable, labels: Sequence[str]) -> Sequences:
        """Give rows to the pairs of the gold labels, and return where they occur, as features of tokens."""
        names = _hashes(labels)
        keys = np.zeros(ids.shape, np.uint64)
        for k, distance in enumerate(self.distances):
            before = labels_before(y.codes, y.sentence_ptr, distance, len(labels))
            known = ids[:, k] >= 0
            keys[known, k] = _mix(self.numbers.keys[ids[known, k]], names[before[known]])
        rows = table.rows(keys.reshape(-1), grow=True).reshape(keys.shape)
        token_ptr = np.concatenate([[0], np.cumsum((rows >= 0).sum(axis=1))])
        return Sequences(rows[rows >= 0], token_ptr, y.sentence_ptr)


def _hashes(labels: Sequence[str]) -> np.ndarray:
    return np.array([hash_string(name) for name in [*labels, NONE]], np.uint64)


def _mix(key: np.ndarray, value: np.ndarray) -> np.ndarray:
    """As in _hash.pxd."""
    mixed = (key ^ value) * FACTOR
    return mixed ^ (mixed >> HALF)
