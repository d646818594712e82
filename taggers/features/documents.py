"""Attributes of a word in its document: how it is written there, and how a first round labelled it.

``doc_form`` says how the document writes the word. ``lower``: somewhere in lower case. ``inside``: with
capitals inside a sentence. ``both``: both of these. ``initial``: with capitals, but only at the beginning of
sentences. ``doc_label`` is the most frequent label of the other occurrences of the word, without prefixes
such as B-. It has no value if there are no other occurrences. The labels come from a first round, a tagger
without this attribute.

Documents end at ``-DOCSTART-`` and ``# newdoc``. If the data have no such marks, each document has a fixed
number of sentences. In spaCy, each Doc is a document. Files are read in parts of 1 MB. Each part begins a new
document, so memory does not grow with the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from taggers.features._extract import Extractor
from taggers.features._lexicon import hash_string
from taggers.features.attributes import DOCUMENT
from taggers.features.template import Template, parse_template
from taggers.formats._columns import Columns
from taggers.formats.base import MEMORY
from taggers.labels.schemes import split

FORM, LABEL = DOCUMENT
FORMS = ("initial", "lower", "inside", "both")
FILE_MARKS = (b"\n-DOCSTART-", b"\n# newdoc", b"\n#newdoc")
# The word and its lower-case form as features of the same name, so that equal texts have equal keys.
FORMS_OF_WORD = Extractor(
    Template(tuple(replace(p, identity="word") for p in parse_template("w[0], lower[0]").patterns))
)
MARK_KEY = FORMS_OF_WORD.keys(Columns.from_sentences([["-DOCSTART-"]]))[0, 0]


class Values(NamedTuple):
    """The values of an attribute: for each token the position in `names`, or -1 for none."""

    numbers: np.ndarray
    names: Sequence[str]

    def keys(self) -> np.ndarray:
        """uint64: their hashes, 0 for none."""
        return np.array([*map(hash_string, self.names), 0], np.uint64)[self.numbers]

    def texts(self) -> list[str]:
        """The names, empty for none."""
        names = [*self.names, ""]
        return [names[number] for number in self.numbers.tolist()]


def document_keys(values: Mapping[str, Values]) -> np.ndarray | None:
    """The values in the form that the extractor expects; None if there are none."""
    return np.stack([one.keys() for one in values.values()], axis=1) if values else None


def document_starts(columns: Columns) -> np.ndarray | None:
    """The first sentence of each document, or None if the data do not mark documents."""
    if columns.documents is not None:
        begins = [columns.documents]
    else:
        starts = columns.sentence_ptr[:-1]
        words = np.append(FORMS_OF_WORD.keys(columns)[:, 0], np.uint64(0))
        begins = [np.flatnonzero(words[starts] == MARK_KEY)]
        if columns.format is not MEMORY and len(columns):
            at = columns.spans[:, 0, 0][np.minimum(starts, len(columns) - 1)]
            begins.append(np.searchsorted(at, sorted(_marks(columns.data))))
    found = np.unique(np.concatenate(begins))
    found = found[found < columns.n_sentences]
    return found if len(found) else None


def document_numbers(columns: Columns, size: int) -> np.ndarray:
    """int64: the number of each token's document; without marks, a document has `size` sentences."""
    begins, numbers = document_starts(columns), np.arange(columns.n_sentences)
    numbers = numbers // size if begins is None else np.searchsorted(begins, numbers, "right")
    return np.repeat(numbers, np.diff(columns.sentence_ptr))


def _marks(data: bytes) -> Iterator[int]:
    """Where documents begin in a file."""
    for mark in FILE_MARKS:
        if data.startswith(mark[1:]):
            yield 0
        at = data.find(mark)
        while at >= 0:
            yield at + 1
            at = data.find(mark, at + 1)


def written_forms(columns: Columns, document: np.ndarray) -> Values:
    """The values of ``doc_form``, given the document of each token."""
    word, lower = FORMS_OF_WORD.keys(columns).T
    group, n = _grouped(document, lower)
    is_lower = word == lower
    inside = ~is_lower
    starts = columns.sentence_ptr[:-1]
    inside[starts[starts < len(columns)]] = False
    found = np.zeros(n, np.int64)
    found[group[is_lower]] |= 1
    found[group[inside]] |= 2
    return Values(found[group], FORMS)


def other_labels(columns: Columns, document: np.ndarray, ids: np.ndarray, names: Sequence[str]) -> Values:
    """The values of ``doc_label``, given the labels of a first round, as positions in `names`."""
    types = [split(name)[1] or name for name in names]
    kinds = list(dict.fromkeys(types))
    kind = np.array([kinds.index(one) for one in types], np.int64)[ids]
    group, n = _grouped(document, FORMS_OF_WORD.keys(columns)[:, 0])
    (best, most), (next_best, next_most) = _two_most_frequent(group, kind, n)
    # The most frequent label of the others, for a token that has the most frequent one itself.
    stays = (most - 1 > next_most) | ((most - 1 == next_most) & (best < next_best))
    other = np.where(stays, best, next_best)
    return Values(np.where(kind == best[group], other[group], best[group]), kinds)


def _two_most_frequent(group: np.ndarray, kind: np.ndarray, n: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """The most frequent kind of each of n groups and its count, and the second one; -1 and 0 for none."""
    width = int(kind.max(initial=0)) + 1
    pairs, counts = np.unique(group * width + kind, return_counts=True)
    groups, kinds = np.divmod(pairs, width)
    order = np.lexsort((kinds, -counts, groups))
    groups, kinds, counts = (np.append(array[order], -1) for array in (groups, kinds, counts))
    first = np.searchsorted(groups[:-1], np.arange(n))
    second = np.where(groups[first + 1] == np.arange(n), first + 1, -1)
    return [(kinds[at], np.maximum(counts[at], 0)) for at in (first, second)]


def _grouped(document: np.ndarray, keys: np.ndarray) -> tuple[np.ndarray, int]:
    """Number the distinct pairs of document and key; return the number of each token, and of all pairs."""
    _, word = np.unique(keys, return_inverse=True)
    found, group = np.unique(document * (len(keys) + 1) + word, return_inverse=True)
    return group, len(found)
