"""Docs as columns of hashes: spaCy's ids of strings are our hashes, so no string is touched on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from spacy.attrs import IDS, IS_SPACE, SENT_START
from spacy.strings import StringStore
from spacy.symbols import IDS as SYMBOLS
from spacy.tokens import Doc

from taggers._columns import Columns
from taggers._lexicon import hash_string

ATTRIBUTES = ("ORTH", "LOWER", "NORM", "LEMMA", "SHAPE", "PREFIX", "SUFFIX", "TAG", "POS", "DEP", "ENT_TYPE")
# Some names (NOUN, PERSON, ...) have small numbers in spaCy in place of hashes.
_NUMBERED = {number: hash_string(name) for name, number in SYMBOLS.items() if name}
_HASHES = np.array([_NUMBERED.get(number, 0) for number in range(max(_NUMBERED) + 1)], np.uint64)
_NAMES = {hash_string(name): name for name in SYMBOLS if name}


@dataclass(frozen=True)
class Batch:
    """The sentences of some docs, one after the other, without tokens of white space.

    places: of each token in its doc. owners: the doc of each sentence. lengths: of the docs, in tokens.
    """

    columns: Columns
    places: np.ndarray
    owners: list[int]
    lengths: list[int]

    def sentences(self) -> list[tuple[int, int, int]]:
        """Doc, first token and end of each sentence."""
        bounds = pairwise(self.columns.sentence_ptr.tolist())
        return [(owner, start, end) for owner, (start, end) in zip(self.owners, bounds, strict=True)]


def text_of(strings: StringStore) -> Callable[[int], str]:
    """A function from our hashes to texts."""
    return lambda key: _NAMES.get(key) or strings[key]


def hashes(ids: np.ndarray) -> np.ndarray:
    """spaCy's ids of strings as our hashes."""
    numbered = ids < len(_HASHES)
    if numbered.any():
        ids = ids.copy()
        ids[numbered] = _HASHES[ids[numbered].astype(np.intp)]
    return ids


def attribute_ids(names: Sequence[str]) -> list[int]:
    """spaCy's numbers of the attributes that can be columns."""
    for name in names:
        if name not in ATTRIBUTES:
            raise ValueError(f"no column can be {name!r}: give some of {', '.join(ATTRIBUTES)}")
    return [IDS[name] for name in names]


def read_docs(docs: Sequence[Doc], columns: Sequence[str], strings: StringStore) -> Batch:
    """The sentences of docs as columns; a doc without sentence boundaries is one sentence."""
    attributes = [*attribute_ids(columns), SENT_START, IS_SPACE]
    values = np.concatenate(
        [np.zeros((0, len(attributes)), np.uint64), *[d.to_array(attributes) for d in docs]]
    )
    lengths = [len(doc) for doc in docs]
    offsets = np.cumsum([0, *lengths])[:-1]
    filled = offsets[np.array(lengths, bool)]
    starts = values[:, -2] == 1
    starts[filled] = True
    sentence = np.cumsum(starts) - 1
    owner = np.repeat(np.arange(len(docs)), lengths)
    places = np.arange(len(values)) - np.repeat(offsets, lengths)
    space = values[:, -1] == 1
    if space.any():
        values, sentence, owner, places = (array[~space] for array in (values, sentence, owner, places))
    first = np.flatnonzero(np.diff(sentence, prepend=-1))
    keys = hashes(values[:, :-2])
    for column, name in enumerate(columns):
        if len(keys) and not keys[:, column].any():
            raise ValueError(
                f"no token has {name}, and the features are made of it: put a component that sets it "
                "before this one, or choose other columns"
            )
    found = Columns.from_keys(keys, np.append(first, len(keys)), text_of(strings), name="<docs>")
    return Batch(found, places, owner[first].tolist(), lengths)
